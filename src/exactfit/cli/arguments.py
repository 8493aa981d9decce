"""What every command takes: options are written once, and those that belong together are one record."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..exceptions import ParameterError
from ..options import Options, Shell
from .output import MEANINGS, ExitCode, notify, show_progress, state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..tables import Encoding, ReadOptions, Table, TableModel

# Words that options and arguments of a name take, for shells to offer; what checks them is the library.
CHOICES: dict[str, tuple[str, ...]] = {
    **{option.name: option.metadata["shell"].words for option in fields(Options)},
    "arithmetic": ("exact", "float64", "float32"),
    "backend": ("processes", "threads", "dask"),
    "date_part": ("year", "month", "day", "weekday", "hour", "minute"),
    "decimal": ("auto", ".", ","),
    "dtype": ("float64", "float32"),
    "experiment": (
        *("two-moons", "sample-size", "mnist-pairs", "mnist", "mnist-wide", "cifar10", "cifar10-wide"),
        *("parallel-lines", "all", "sample-size-beyond", "mnist-pairs-families"),
    ),
    "extent": ("quick", "paper", "committed"),
    "missing": ("error", "drop-rows", "impute", "indicator"),
    "scale": ("standard", "none"),
    "separator": ("auto", "tab"),
}
SHOWN_CODES = (ExitCode.FINE, ExitCode.FAILS, ExitCode.USAGE, ExitCode.DATA, ExitCode.INTERRUPTED)
CODES = "Exit codes: " + ", ".join(f"{code:d} {MEANINGS[code].split(':')[0]}" for code in SHOWN_CODES) + "."


def _remember_debug(value: bool) -> bool:
    state().debug |= value
    return value


def _remember_quiet(value: bool) -> bool:
    state().quiet |= value
    return value


Debug = Annotated[
    bool, typer.Option("--debug", callback=_remember_debug, is_eager=True, help="Show where an error arose.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_remember_quiet, is_eager=True, help="No messages but errors.")
]


@dataclass(frozen=True)
class Common:
    """What every command takes."""

    quiet: Quiet = False
    debug: Debug = False


def add_command(app: typer.Typer, function: Callable[..., None], example: str) -> None:
    """Make a function a command: records among its parameters become options; an example ends its help."""
    name = function.__name__.removesuffix("_command").replace("_", "-")
    app.command(name, epilog=f"Example: {example}\n\n{CODES}")(_spread(function))


def _spread(function: Callable[..., None]) -> Callable[..., None]:
    """The function with the fields of each record in place of the record, and the common options."""
    hints = get_type_hints(function, include_extras=True)
    given = inspect.signature(function).parameters
    records = {name: hints[name] for name in given if is_dataclass(hints[name])}
    parameters = []
    for name, parameter in given.items():
        if name in records:
            parameters += _of_record(records[name])
        else:
            parameters.append(_keyword(name, hints[name], parameter.default))
    parameters += _of_record(Common)

    def run(**values: Any) -> None:
        grouped = {
            name: record(**{field.name: values[field.name] for field in fields(record)})
            for name, record in records.items()
        }
        function(**grouped, **{name: values[name] for name in given if name not in records})

    run.__doc__, run.__name__ = function.__doc__, function.__name__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _of_record(record: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(record, include_extras=True)
    return [
        _keyword(field.name, hints[field.name], inspect.Parameter.empty if field.default is MISSING else field.default)
        for field in fields(record)
    ]


def _keyword(name: str, hint: Any, default: Any) -> inspect.Parameter:
    for told in getattr(hint, "__metadata__", ()) if name in CHOICES else ():
        told.autocompletion = _offered(CHOICES[name])
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _offered(words: tuple[str, ...]) -> Callable[[str], list[str]]:
    """What a shell offers for the beginning of a word."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def readable(path: Path | None) -> Path | None:
    """A file, a pipe, the dash that stands for standard input, or a folder of Parquet files."""
    if path is None:
        return None
    if str(path) != "-" and not path.exists():
        raise typer.BadParameter(f"file '{path}' does not exist.")
    if path.is_dir() and not any(path.glob("*.parquet")):
        raise typer.BadParameter(f"'{path}' is a folder.")
    return path


def option(name: str, **settings: Any) -> Any:
    """An option of the constructions, as their record tells it."""
    shell: Shell = Options.__dataclass_fields__[name].metadata["shell"]
    told: dict[str, Any] = {"help": shell.help, **shell.settings, **settings}
    return typer.Option(*shell.flags, **told)


DataFile = Annotated[
    Path,
    typer.Argument(
        callback=readable, metavar="DATA",
        help="A table: text with separators (CSV), .npz (arrays X and y) or .parquet; - for text on standard input.",
    ),
]  # fmt: skip
ModelFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A file that exactfit fit wrote.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Jobs = Annotated[int | None, option("n_jobs")]
Seed = Annotated[int | None, typer.Option(min=0, help="Same seed, same result; another one each time by default.")]


@dataclass(frozen=True)
class NewFile:
    """A file that a command must write."""

    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="The file to write.")]
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file if it exists.")] = False

    def check(self) -> None:
        """Refuse to overwrite, before any work is done."""
        refuse_existing(self.output, self.force)


@dataclass(frozen=True)
class Output:
    """Where data go, if not to standard output."""

    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="A file, in place of standard output.")
    ] = None
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file if it exists.")] = False

    def check(self) -> None:
        """Refuse to overwrite, before any work is done."""
        if self.output is not None:
            refuse_existing(self.output, self.force)

    def write(self, text: str, what: str) -> None:
        """Print the text, or write the file."""
        from .._support.processes import write_whole

        if self.output is None:
            typer.echo(text, nl=not text.endswith("\n"))
        else:
            write_whole(self.output, (text if text.endswith("\n") else f"{text}\n").encode(), what)
            notify(f"{self.output}: written")


@dataclass(frozen=True)
class Report(Output):
    """Where data go, and a page beside them."""

    report: Annotated[
        Path | None, typer.Option("--report", dir_okay=False, help="Also write a page (HTML, one file) to look at.")
    ] = None
    image_shape: Annotated[
        str | None, typer.Option(metavar="H,W[,C]", help="In the page, rows are images: 28,28 or 32,32,3.")
    ] = None

    def check(self) -> None:
        """Refuse to overwrite, and a shape without a page, before any work is done."""
        super().check()
        if self.report is not None:
            refuse_existing(self.report, self.force)
        elif self.image_shape is not None:
            raise ParameterError("--image-shape is about the page: give --report FILE too")

    def write_page(self, page: Callable[[tuple[int, ...] | None], str]) -> None:
        """Write the page, if one was asked for."""
        from .._support.processes import write_whole

        if self.report is not None:
            write_whole(self.report, page(shape_of(self.image_shape)).encode(), "the report")
            notify(f"{self.report}: written")


def refuse_existing(path: Path, force: bool) -> None:
    """Refuse to overwrite a file that is there, and a folder that is not."""
    if not path.parent.is_dir():
        raise ParameterError(f"{path} cannot be written: there is no folder {path.parent}; make it, or name another")
    if path.exists() and not force:
        raise ParameterError(f"{path} exists: give another name, or --force to replace it")


@dataclass(frozen=True)
class TableSource:
    """A table, and how its cells are to be read."""

    data: DataFile
    separator: Annotated[str, typer.Option(help="Between the cells: a character, tab, or auto.")] = "auto"
    decimal: Annotated[str, typer.Option(help="In numbers: a point, a comma, or auto.")] = "auto"
    no_header: Annotated[bool, typer.Option("--no-header", help="The first line is data; columns are 0, 1, ...")] = (
        False
    )
    missing: Annotated[
        str, typer.Option(help="Empty cells: error, drop-rows, impute, or indicator (impute and mark).")
    ] = "error"
    missing_values: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help='Counts as an empty cell beside NA, N/A, ?, null, nan; may be repeated; "" leaves those out.',
        ),
    ] = None

    def form(self) -> ReadOptions:
        """As the library takes it; progress is for people at a terminal."""
        from ..tables import ReadOptions

        if self.data.is_dir():
            raise ParameterError(f"{self.data} is a folder: only exactfit fit --backend dask takes folders of Parquet")
        return ReadOptions(
            self.separator, not self.no_header, self.missing, show_progress(),  # type: ignore[arg-type]
            self.decimal, tuple(self.missing_values or ()),
        )  # fmt: skip

    def read_for(self, model: TableModel, labels: bool = False) -> Table:
        """The columns that a model takes."""
        return _told(model.read(str(self.data), labels=labels, form=self.form()))


@dataclass(frozen=True)
class LabelledSource(TableSource):
    """A table with labels, and what its columns are."""

    label: Annotated[
        str | None, typer.Option(help="The column that holds the labels; y for .npz, where it need not be said.")
    ] = None
    drop: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out; may be repeated.")] = (
        None
    )
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column of categories that look like numbers; may be repeated."),
    ] = None
    date_part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Of dates, beside the days: year, month, day, weekday, hour or minute; may be repeated.",
        ),
    ] = None
    scale: Annotated[
        str, typer.Option(help="standard: centre numeric columns, divide by their deviation; or none.")
    ] = "standard"

    def labelled(self) -> tuple[Table, NDArray[Any]]:
        """The table and its labels, read once."""
        from .._support.parameters import check_choice
        from ..tables import read_table
        from ..tables.columns import refuse_measure
        from ..tables.encoding import SCALINGS

        if self.label is None and self.data.suffix != ".npz":
            raise ParameterError("say which column holds the labels: --label NAME")
        check_choice("scale", self.scale, SCALINGS)
        chosen: dict[str, Any] = {"label": self.label, "drop": self.drop or (), "categorical": self.categorical or ()}
        form = replace(self.form(), date_parts=tuple(self.date_part or ()))
        table = _told(read_table(str(self.data), **chosen, **asdict(form)))
        if table.labels is None:
            raise ParameterError(f"{table.name} holds no labels: an array y is needed beside X")
        refuse_measure(table)
        return table, table.labels

    def encoded(self) -> Encoded:
        """The table, its labels, and the points that a network is fitted to: read and encoded once."""
        from ..tables import Encoding

        table, labels = self.labelled()
        encoding = Encoding.learn(table, self.scale)  # type: ignore[arg-type]
        return Encoded(table, encoding, encoding.encode(table), labels)


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """A table, how its rows become points, those points, and their labels."""

    table: Table
    encoding: Encoding
    X: NDArray[Any]
    labels: NDArray[Any]


def _told(table: Table) -> Table:
    """The table, once it is said what was found out about its file, and how many rows were left out."""
    for note in table.notes:
        notify(f"{table.name}: {note}")
    return table


def as_number(name: str, text: str, kind: type) -> Any:
    """A number that may also be a word."""
    try:
        return kind(text)
    except ValueError:
        raise ParameterError(f"{name} must be a number, or its default word, got {text!r}") from None


def bias_of(text: str) -> Any:
    """The word radius, or a number."""
    return text if text == "radius" else as_number("--max-bias", text, float)


def shape_of(text: str | None) -> tuple[int, ...] | None:
    """Whole numbers with commas between them."""
    if text is None:
        return None
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise ParameterError(f"--image-shape must be whole numbers as in 28,28 or 32,32,3, got {text!r}") from None


def as_label(text: str | None, labels: NDArray[Any]) -> Any:
    """A label as the table has it: 3 where labels are integers, "3" where they are text."""
    if text in (None, "all") or labels.dtype.kind not in "iu":
        return text
    return as_number("--target-class", str(text), int)
