"""Options and arguments: each is written once, and those that belong together are one record.

Options of the estimator are made from its own record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, asdict, dataclass, fields, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import ParameterError
from ..options import ACCURATE, PAPER, SHELL, Options
from .output import notify, show_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..estimators import InterpolatingClassifier
    from ..tables import Encoding, ReadOptions, Table, TableModel


def readable(path: Path | None) -> Path | None:
    """A file, a pipe, the dash that stands for standard input, or a folder of Parquet files."""
    if path is None:
        return None
    if str(path) != "-" and not path.exists():
        raise typer.BadParameter(f"file '{path}' does not exist.")
    if path.is_dir() and not any(path.glob("*.parquet")):
        raise typer.BadParameter(f"'{path}' is a folder.")
    return path


def argument(told: str, **settings: Any) -> Any:
    """An argument of a command, with what its help says."""
    return typer.Argument(help=told, **settings)


def option(told: str, *flags: str, **settings: Any) -> Any:
    """An option of a command, with what its help says."""
    return typer.Option(*flags, help=told, **settings)


def record_option(name: str, **settings: Any) -> Any:
    """An option of the constructions, as their record tells it."""
    shell = SHELL[name]
    return option(shell.help, *shell.flags, **{**shell.settings, **settings})


EXISTING: dict[str, Any] = {"exists": True, "dir_okay": False}  # of a file that is read
A_TABLE = (
    "A table: text with separators (CSV, or .gz), .npz (arrays X and y) or .parquet; - for text on standard input."
)
DataFile = Annotated[Path, argument(A_TABLE, callback=readable, metavar="DATA")]
ModelFile = Annotated[Path, argument("A file that exactfit fit wrote.", metavar="MODEL", **EXISTING)]
Json = Annotated[bool, option("Print JSON, for programs.", "--json")]
Jobs = Annotated[int | None, record_option("n_jobs")]
Seed = Annotated[int | None, option("Same seed, same result; another one each time by default.", min=0)]
Force = Annotated[bool, option("Replace the file if it exists.", "--force", "-f")]
Drop = Annotated[list[str] | None, option("A column to leave out; may be repeated.", metavar="NAME")]
BACKENDS = ("local", "dask")
Preset = Annotated[str, option("Where options start from: accurate (measured), or paper (as it is published).")]


@dataclass(frozen=True)
class NewFile:
    """A file that a command must write."""

    output: Annotated[Path, option("The file to write.", "--output", "-o", dir_okay=False)]
    force: Force = False

    def check(self) -> None:
        """Refuse to overwrite, before any work is done."""
        refuse_existing(self.output, self.force)

    def check_onnx(self, what: str) -> None:
        """The same, and refuse a name that is not one of an ONNX file."""
        self.check()
        if self.output.suffix != ".onnx":
            raise ParameterError(f"{what} are ONNX files: give a name that ends in .onnx, not {self.output.name!r}")


@dataclass(frozen=True)
class Output:
    """Where data go, if not to standard output."""

    output: Annotated[Path | None, option("A file, in place of standard output.", "--output", "-o", dir_okay=False)] = (
        None
    )
    force: Force = False

    def check(self) -> None:
        """Refuse to overwrite, before any work is done."""
        if self.output is not None:
            refuse_existing(self.output, self.force)

    def write(self, text: str, what: str) -> None:
        """Print the text, or write the file."""
        text = text if text.endswith("\n") else f"{text}\n"
        if self.output is None:
            typer.echo(text, nl=False)
        else:
            write_file(self.output, text.encode(), what)


@dataclass(frozen=True)
class Report(Output):
    """Where data go, and a page beside them."""

    report: Annotated[Path | None, option("Also write a page (HTML, one file) to look at.", dir_okay=False)] = None
    image_shape: Annotated[str | None, option("In the page, rows are images: 28,28 or 32,32,3.", metavar="H,W[,C]")] = (
        None
    )

    def check(self) -> None:
        """Refuse to overwrite, and a shape without a page, before any work is done."""
        super().check()
        if self.report is not None:
            refuse_existing(self.report, self.force)
        elif self.image_shape is not None:
            raise ParameterError("--image-shape is about the page: give --report FILE too")

    def write_page(self, page: Callable[[tuple[int, ...] | None], str]) -> None:
        """Write the page, if one was asked for."""
        if self.report is not None:
            write_file(self.report, page(shape_of(self.image_shape)).encode(), "the report")


def refuse_existing(path: Path, force: bool) -> None:
    """Refuse to overwrite a file that is there, and a folder that is not."""
    if not path.parent.is_dir():
        raise ParameterError(f"{path} cannot be written: there is no folder {path.parent}; make it, or name another")
    if path.exists() and not force:
        raise ParameterError(f"{path} exists: give another name, or --force to replace it")


def write_file(path: Path, octets: bytes, what: str) -> None:
    """Write a file, whole or not at all, and say so."""
    from .._support.processes import write_atomically

    write_atomically(path, octets, what)
    notify(f"{path}: written")


@dataclass(frozen=True)
class TableSource:
    """A table, and how its cells are to be read."""

    data: DataFile
    separator: Annotated[str, option("Between the cells: a character, tab, or auto.")] = "auto"
    decimal: Annotated[str, option("In numbers: a point, a comma, or auto.")] = "auto"
    no_header: Annotated[bool, option("The first line is data; columns are 0, 1, ...", "--no-header")] = False
    missing: Annotated[str, option("Empty cells: error, drop-rows, impute, or indicator (impute and mark).")] = "error"
    missing_values: Annotated[
        list[str] | None,
        option(
            'Counts as an empty cell beside NA, N/A, ?, null, nan; may be repeated; "" leaves those out.',
            metavar="WORD",
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

    def flags(self) -> list[str]:
        """As the command line has it."""
        given = {one.name: (getattr(self, one.name), one.default) for one in fields(self)[1:]}
        return [str(self.data), *(flag for name, pair in given.items() for flag in _flags(name, *pair))]

    def read_for(self, model: TableModel, labels: bool = False) -> Table:
        """The columns that a model takes."""
        return _told(model.read(str(self.data), labels=labels, form=self.form()))

    def read_labelled(self, path: Path, label: str | None, form: ReadOptions, **chosen: Any) -> Table:
        """A table with labels."""
        from ..tables import read_table

        if label is None and path.suffix != ".npz":
            raise ParameterError("say which column holds the labels: --label NAME")
        table = _told(read_table(str(path), label=label, **chosen, **asdict(form)))
        if table.labels is None:
            raise ParameterError(f"{table.name} holds no labels: an array y is needed beside X")
        return table


@dataclass(frozen=True)
class LabelledSource(TableSource):
    """A table with labels, and what its columns are."""

    label: Annotated[str | None, option("The column that holds the labels; y for .npz, where it need not be said.")] = (
        None
    )
    drop: Drop = None
    categorical: Annotated[
        list[str] | None, option("A column of categories that look like numbers; may be repeated.", metavar="NAME")
    ] = None
    date_part: Annotated[
        list[str] | None,
        option(
            "Of dates, beside the days: year, month, day, weekday, hour or minute; may be repeated.", metavar="PART"
        ),
    ] = None
    scale: Annotated[str, option("standard: centre numeric columns, divide by their deviation; or none.")] = "standard"

    def labelled(self) -> tuple[Table, NDArray[Any]]:
        """The table and its labels, read once."""
        from .._support.parameters import check_choice
        from ..tables.encoding import SCALINGS, refuse_measure

        check_choice("scale", self.scale, SCALINGS)
        form = replace(self.form(), date_parts=tuple(self.date_part or ()))
        chosen = {"drop": self.drop or (), "categorical": self.categorical or ()}
        table = self.read_labelled(self.data, self.label, form, **chosen)
        refuse_measure(table)
        assert table.labels is not None
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


def as_number(name: str, text: str, kind: type, words: Collection[str] = ()) -> Any:
    """A number, or one of the words that may stand for it."""
    try:
        return text if text in words else kind(text)
    except ValueError:
        raise ParameterError(f"{name} must be a number, or its default word, got {text!r}") from None


def shape_of(text: str | None) -> tuple[int, ...] | None:
    """Whole numbers with commas between them."""
    if text is None:
        return None
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise ParameterError(f"--image-shape must be whole numbers as in 28,28 or 32,32,3, got {text!r}") from None


def features_of(text: str) -> int | tuple[int, ...]:
    """A whole number, or the smallest and the largest with a comma between them."""
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 2):
        raise ParameterError(f"--max-features must be a whole number as in 4, or two as in 2,4, got {text!r}")
    return numbers[0] if len(numbers) == 1 else numbers


def as_label(text: str | None, labels: NDArray[Any]) -> Any:
    """A label as the table has it: 3 where labels are integers, "3" where they are text."""
    if text in (None, "all") or labels.dtype.kind not in "iu":
        return text
    return as_number("--target-class", str(text), int)


def _argument(one: Field[Any]) -> tuple[str, Any, Any]:
    """An option of the record as the command line takes it: its name there, its type, and its default.

    A default that a preset changes is None here, and only shown.
    """
    kind, default = SHELL[one.name].kind, ACCURATE.get(one.name, one.default)
    if one.name not in PAPER:
        return _name(one), Annotated[kind, record_option(one.name)], default
    shown = one.name if default is True else f"{default:g}" if default == 0 else default
    return _name(one), Annotated[kind | None, record_option(one.name, show_default=shown)], None


def _name(one: Field[Any]) -> str:
    """What an option is called on the command line, as a name in Python."""
    flags = SHELL[one.name].flags
    return flags[0].strip("-").replace("-", "_") if flags else one.name


_Arguments: Any = make_dataclass(
    "_Arguments",
    [("preset", Preset, "accurate"), *map(_argument, fields(Options)), ("seed", Seed, None)],
    frozen=True,
)


class Estimator(_Arguments):  # type: ignore[misc]  # its fields are made
    """Options of ``InterpolatingClassifier``; where None is no value, it stands for the default of the preset."""

    def classifier(self, labels: NDArray[Any]) -> InterpolatingClassifier:
        """The estimator with these options."""
        from ..estimators import InterpolatingClassifier

        presets: dict[str, Any] = {"accurate": InterpolatingClassifier, "paper": InterpolatingClassifier.paper}
        if self.preset not in presets:
            raise ParameterError(f"--preset must be accurate or paper, got {self.preset!r}")
        given = {one.name: self._value(one, labels) for one in fields(Options)}
        given |= {"random_state": self.seed, "verbose": int(show_progress())}
        made: InterpolatingClassifier = presets[self.preset](
            **{name: value for name, value in given.items() if value is not None}
        )
        return made

    def _value(self, one: Field[Any], labels: NDArray[Any]) -> Any:
        """An option as the estimator takes it."""
        given, shell = getattr(self, _name(one)), SHELL[one.name]
        if one.name == "target":
            return as_label(given, labels)
        if one.name == "image_shape":
            return shape_of(given)
        if one.name == "max_features":
            return features_of(str(given))
        if one.name == "margin":
            return given if given is None or given.endswith("%") else as_number("--margin", given, float)
        if shell.number is None or given is None:
            return given
        return as_number(f"--{one.name.replace('_', '-')}", given, shell.number, shell.words)


def estimator_flags(options: Mapping[str, Any]) -> list[str]:
    """Options of ``InterpolatingClassifier``, those that are not its defaults, as the command line has them."""
    from ..estimators import InterpolatingClassifier

    # No text stands for the target None, which is the paper's.
    preset = "paper" if options.get("target", "all") is None else "accurate"
    presets: dict[str, Any] = {"accurate": InterpolatingClassifier, "paper": InterpolatingClassifier.paper}
    base = presets[preset]().get_params()
    values = InterpolatingClassifier(**options).get_params()
    flags = [*_flags("preset", preset, "accurate"), *_flags("seed", values["random_state"], None)]
    return flags + [flag for one in fields(Options) for flag in _flags(_name(one), values[one.name], base[one.name])]


def _flags(name: str, value: Any, default: Any) -> list[str]:
    """One option with its value, unless that is its default."""
    flag = name.replace("_", "-")
    if value == default:
        return []
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    texts = value if isinstance(value, list) else [",".join(map(str, value)) if isinstance(value, tuple) else value]
    return [part for text in texts for part in (f"--{flag}", str(text))]


@dataclass(frozen=True)
class Cluster:
    """Where a fit runs."""

    backend: Annotated[str, option("local, or dask: Parquet of numeric columns, in parts of any size.")] = "local"
    scheduler: Annotated[
        str | None, option("Address of a Dask scheduler, with --backend dask; without it, this machine.")
    ] = None

    @property
    def in_parts(self) -> bool:
        """Whether Dask is wanted."""
        if self.backend not in BACKENDS:
            raise ParameterError(f"--backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}")
        if self.scheduler is not None and self.backend != "dask":
            raise ParameterError("--scheduler goes with --backend dask")
        return self.backend == "dask"
