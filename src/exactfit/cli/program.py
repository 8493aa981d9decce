"""The program: its commands, its exit codes, and errors in one line."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from .._support.console import say
from .._version import __version__
from ..exceptions import ConstructionError, DataError, ExactfitError, ExactfitWarning, ModelFileError
from . import data_commands, lab_commands, model_commands, repair_commands
from .arguments import CODES, Debug, Quiet, add_command
from .output import MEANINGS, ExitCode, State, begin, notify

# The first entry that fits decides.
_CODES: tuple[tuple[type[Exception], ExitCode], ...] = (
    (DataError, ExitCode.DATA),
    (ModelFileError, ExitCode.DATA),
    (ConstructionError, ExitCode.FAILS),
    (ExactfitError, ExitCode.USAGE),
    (OSError, ExitCode.USAGE),
)

# What became of an option: it had two meanings.
OLD_TARGET = (
    "there is no option --target: --label names the column that holds the labels, and --target-class the class "
    "that gets detectors"
)

# typer names only this one of the parser's errors; its base is what every usage error is.
_UsageError: Any = typer.BadParameter.__bases__[0]

app = typer.Typer(
    help="Neural networks that fit your data exactly: built, not trained.",
    epilog="\n\n".join(["Exit codes:", *(f"{code:>4d}  {meaning}" for code, meaning in MEANINGS.items())]),
    pretty_exceptions_enable=False,
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"exactfit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    quiet: Quiet = False,
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before a command; their callbacks do the work."""


for _commands in (model_commands.COMMANDS, repair_commands.COMMANDS, data_commands.COMMANDS, lab_commands.COMMANDS):
    for _function, _example in _commands.items():
        add_command(app, _function, _example)
_trials = typer.Typer(help="Merge, pack and summarise the trials of sweeps.", no_args_is_help=True, epilog=CODES)
for _function, _example in lab_commands.TRIALS.items():
    add_command(_trials, _function, _example)
app.add_typer(_trials, name="trials")


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
    state = begin()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _tell_warning
            warnings.simplefilter("always", ExactfitWarning)
            return _run(given)
    except Exception as error:
        return _end(error, state)


def _end(error: Exception, state: State) -> int:
    if state.debug:
        traceback.print_exception(error)
    code, message = _explain(error)
    say(f"exactfit: {' '.join(message.split())}", "red")
    return code


def _tell_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning in one line, without the code that gave it."""
    notify(f"exactfit: {' '.join(str(message).split())}", "yellow")


def _run(given: list[str]) -> int:
    """The exit code of a command that raises no error of its own."""
    program = typer.main.get_command(app)
    try:
        code = program.main(args=given, prog_name="exactfit", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = ExitCode.INTERRUPTED
    except SystemExit as end:  # shell completion ends so; so do typer and rich when a pipe closes, with code 1
        code = end.code if end.code in (None, ExitCode.FINE) else _pipe_closed()
    except BrokenPipeError:
        code = _pipe_closed()
    if code == ExitCode.INTERRUPTED:
        say("exactfit: interrupted", "red")
    return int(code or ExitCode.FINE)


def _pipe_closed() -> ExitCode:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the last flush has to go somewhere
    return ExitCode.PIPE_CLOSED


def _explain(error: Exception) -> tuple[int, str]:
    """Exit code and message of an error."""
    if isinstance(error, _UsageError) and getattr(error, "option_name", None) == "--target":
        return ExitCode.USAGE, OLD_TARGET
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        hint = f" (try '{context.command_path} --help')" if context else ""
        return ExitCode.USAGE, f"{error.format_message()}{hint}"
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, str(error)
    return ExitCode.BUG, f"internal error, {type(error).__name__}: {error} (--debug shows where)"
