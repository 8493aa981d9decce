"""The program: its commands, how functions become such, its exit codes, and errors in one line."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from .._support.console import log
from .._version import __version__
from ..exceptions import ConstructionError, DataError, ExactfitError, ExactfitWarning, ModelFileError
from . import data_quality_commands as data_quality
from . import lab_commands as lab
from . import model_commands as models
from .arguments import option
from .output import ExitCode, notify, state

# Every command with an example, which ends its help, in the order of the list of commands.
COMMANDS: dict[Callable[..., None], str] = {
    models.fit_command: "exactfit fit train.csv --label label -o model.exactfit",
    models.predict_command: "exactfit predict model.exactfit new.csv -o answers.csv",
    models.certify_command: "exactfit certify model.exactfit train.csv",
    models.encode_command: "exactfit encode model.exactfit train.csv -o points.npy --labels labels.csv",
    models.explain_command: "exactfit explain model.exactfit new.csv --row 0",
    models.export_command: "exactfit export model.exactfit -o model.onnx",
    models.info_command: "exactfit info model.exactfit",
    data_quality.repair_command: "exactfit repair model.onnx failures.csv --keep golden.csv --label y -o repaired.onnx",
    lab.describe_command: "exactfit describe train.csv --label label --time-limit 60",
    lab.compare_command: "exactfit compare train.csv --label label --time-limit 10",
    lab.evaluate_command: "exactfit evaluate train.csv --label label --min-width 1024",
    data_quality.suspects_command: "exactfit suspects train.csv --label label --top 20",
    lab.demo_command: "exactfit demo -o pictures --seed 3",
    lab.playground_command: "exactfit playground --port 8000 --no-browser",
    lab.warm_up_command: "exactfit warm-up",
}
SHOWN_CODES = (ExitCode.FINE, ExitCode.FAILS, ExitCode.USAGE, ExitCode.DATA, ExitCode.INTERRUPTED)
CODES = "Exit codes: " + ", ".join(f"{code:d} {code.meaning.split(':')[0]}" for code in SHOWN_CODES) + "."

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


# Both may stand before a command or after it.
Debug = Annotated[bool, option("Show where an error arose.", "--debug")]
Quiet = Annotated[bool, option("No messages but errors.", "--quiet", "-q")]


def add_command(app: typer.Typer, function: Callable[..., None], example: str) -> None:
    """Make a function a command: fields of records among its parameters become options; an example ends its help."""
    hints = get_type_hints(function, include_extras=True)
    records: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    def run(quiet: bool, debug: bool, **values: Any) -> None:
        _remember(quiet, debug)
        for name, record in records.items():
            values[name] = record(**{field.name: values.pop(field.name) for field in fields(record)})
        function(**values)

    # typer reads a command's options off its signature.
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        of = {name: parameter} if name not in records else inspect.signature(records[name]).parameters
        kinds = hints if name not in records else get_type_hints(records[name], include_extras=True)
        parameters += [own.replace(annotation=kinds[part], kind=own.KEYWORD_ONLY) for part, own in of.items()]
    for name, kind in (("quiet", Quiet), ("debug", Debug)):
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = function.__doc__
    command = function.__name__.removesuffix("_command").replace("_", "-")
    app.command(command, epilog=f"Example: {example}\n\n{CODES}")(run)


app = typer.Typer(
    help="Neural networks that fit your data exactly: built, not trained.",
    epilog="\n\n".join(["Exit codes:", *(f"{code:>4d}  {code.meaning}" for code in ExitCode)]),
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
    version: Annotated[bool, option("Print the version.", "--version", callback=_print_version, is_eager=True)] = False,
) -> None:
    """Take the options that stand before a command."""
    _remember(quiet, debug)


def _remember(quiet: bool, debug: bool) -> None:
    state.quiet |= quiet
    state.debug |= debug


for _function, _example in COMMANDS.items():
    add_command(app, _function, _example)


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
    state.debug = state.quiet = False
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("always", ExactfitWarning)
            return _run(given)
    except Exception as error:
        if state.debug:
            traceback.print_exception(error)
        code, message = _explain(error)
        log(f"exactfit: {' '.join(message.split())}", "red")
        return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning in one line, without the code that gave it."""
    notify(f"exactfit: {' '.join(str(message).split())}", "yellow")


def _run(given: list[str]) -> int:
    """Run a command; return its exit code, also where it was interrupted or its reader stopped."""
    program = _program()
    try:
        code = program.main(args=given, prog_name="exactfit", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = ExitCode.INTERRUPTED
    except SystemExit as end:
        # Shell completion ends so; so do typer and rich when a pipe closes, with code 1.
        code = end.code if end.code in (None, ExitCode.FINE) else _pipe_closed()
    except BrokenPipeError:
        code = _pipe_closed()
    if code == ExitCode.INTERRUPTED:
        log("exactfit: interrupted", "red")
    return int(code or ExitCode.FINE)


def _program() -> Any:
    """Return the program and its commands, in whose help a flag has no value."""
    program: Any = typer.main.get_command(app)
    commands = [program]
    for command in commands:
        commands.extend(getattr(command, "commands", {}).values())
        for parameter in command.get_params(command.context_class(command)):
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
    return program


def _pipe_closed() -> ExitCode:
    # The last flush, when Python ends, has to go somewhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.PIPE_CLOSED


def _explain(error: Exception) -> tuple[int, str]:
    """Return exit code and message of an error."""
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        hint = f" (try '{context.command_path} --help')" if context else ""
        return ExitCode.USAGE, f"{error.format_message().replace('Value error, ', '')}{hint}"  # pydantic's words
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, str(error)
    return ExitCode.BUG, f"internal error, {type(error).__name__}: {error} (--debug shows where)"
