"""The command line. Every command calls public functions and prints what they return.

Data go to standard output, messages to standard error, colours to terminals only.

Exit codes::

    0    fine
    1    a claim does not hold: a certificate fails, or no interpolating network came out
    2    usage: an option, a missing package, a file that cannot be written
    3    data or a file that cannot be used
    70   a mistake in exactfit itself
    130  interrupted
    141  whoever read the output stopped reading

A new command is a function below with ``@app.command()``. It imports what it needs inside,
so that ``exactfit --help`` stays quick, and raises: ``main`` turns errors into one line and a code.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import say as _say
from ._console import tell as _print
from ._version import __version__
from .exceptions import ConstructionError, DataError, ExactfitError, ModelFileError
from .reproduction import commands as experiments

if TYPE_CHECKING:
    from .demo import Exhibit


DEMO = Path("exactfit-demo")


class ExitCode(IntEnum):
    """How the program ends; see the top of this file."""

    FINE = 0
    FAILS = 1
    USAGE = 2
    DATA = 3
    BUG = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


# The first entry that fits decides.
_CODES: tuple[tuple[type[Exception], ExitCode], ...] = (
    (DataError, ExitCode.DATA),
    (ModelFileError, ExitCode.DATA),
    (ConstructionError, ExitCode.FAILS),
    (ExactfitError, ExitCode.USAGE),
    (OSError, ExitCode.USAGE),
)

# typer names only this one of the parser's errors; its base is what every usage error is.
_UsageError: Any = typer.BadParameter.__bases__[0]


@dataclass
class _State:
    """What all commands share."""

    debug: bool = False


app = typer.Typer(
    help="Neural networks that fit your data exactly: built, not trained.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _remember_debug(context: typer.Context, value: bool) -> bool:
    context.obj.debug |= value
    return value


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"exactfit {__version__}")
        raise typer.Exit


Debug = Annotated[
    bool, typer.Option("--debug", callback=_remember_debug, is_eager=True, help="Show where an error arose.")
]


@app.callback()
def _options(
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before a command; their callbacks do the work."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the picture.")] = DEMO,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the hyperplanes.")] = 0,
    debug: Debug = False,
) -> None:
    """Fit Two Moons and handwritten digits; print sizes and certificates, draw a picture."""
    from . import demo as show

    shown = []
    for name in show.DATA:
        _say(f"{name}: building and certifying (the first run compiles, which takes a while) ...")
        shown.append(show.exhibit(name, seed))
        _print_exhibit(shown[-1])
    _print(f"picture: {show.draw(shown[0], output)}")
    if not all(each.certificate.holds for each in shown):
        raise typer.Exit(ExitCode.FAILS)


def _print_exhibit(shown: Exhibit) -> None:
    _print(shown.headline(), "bold")
    for name, size in shown.sizes().items():
        _print(f"  {name:<13}  {size}")
    first, *rest = str(shown.certificate).splitlines()
    _print(first, "green" if shown.certificate.holds else "bold red")
    _print("\n".join([*rest, ""]))


experiments.register(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; those of this process by default.

    Examples
    --------
    >>> from exactfit.cli import main
    >>> main(["--version"])
    exactfit ...
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    state = _State()
    try:
        return _run(given, state)
    except Exception as error:
        if state.debug:
            traceback.print_exception(error)
        code, message = _explain(error)
        _say(f"exactfit: {' '.join(message.split())}", "red")
        return code


def _run(given: list[str], state: _State) -> int:
    """The exit code of a command that raises no error of its own."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=given, prog_name="exactfit", standalone_mode=False, obj=state)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = ExitCode.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # typer and rich exit when a pipe closes, and only then
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the last flush has to go somewhere
        return ExitCode.PIPE_CLOSED
    if code == ExitCode.INTERRUPTED:
        _say("exactfit: interrupted", "red")
    return int(code or ExitCode.FINE)


def _explain(error: Exception) -> tuple[int, str]:
    """Exit code and message of an error."""
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        hint = f" (try '{context.command_path} --help')" if context else ""
        return ExitCode.USAGE, f"{error.format_message()}{hint}"
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, str(error)
    return ExitCode.BUG, f"internal error, {type(error).__name__}: {error} (--debug shows where)"
