"""Options and arguments: each is written once, and those that belong together are one record.

A command that takes a record has all of its fields as options; ``program`` spreads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..exceptions import ParameterError
from ..options import ACCURATE, Options
from .output import notify, show_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..estimators import InterpolatingClassifier
    from ..tables import Encoding, ReadOptions, Table, TableModel


def argument(told: str, **settings: Any) -> Any:
    """Argument of a command, with its help."""
    return typer.Argument(help=told, **settings)


def option(told: str, *flags: str, **settings: Any) -> Any:
    """Option of a command, with its help."""
    return typer.Option(*flags, help=told, **settings)


def by_preset(name: str, told: str, *flags: str, **settings: Any) -> Any:
    """Option whose default depends on --preset: None here, and shown as the estimator has it."""
    return option(told, *flags, show_default=str(ACCURATE.get(name, getattr(Options, name))), **settings)


def readable(path: Path | None) -> Path | None:
    """Check a file, a pipe, the dash for standard input, or a folder of Parquet files."""
    if path is None:
        return None
    if str(path) != "-" and not path.exists():
        raise typer.BadParameter(f"file '{path}' does not exist.")
    if path.is_dir() and not any(path.glob("*.parquet")):
        raise typer.BadParameter(f"'{path}' is a folder.")
    return path


def number_or(kind: type[int] | type[float], *words: str) -> Callable[[str | None], Any]:
    """Return the reader of a number, or of one of the words that may stand for it."""

    # A callback of an option: errors of typer's parsers would show its words, not ours.
    def read(value: str | None) -> Any:
        try:
            return value if value is None or value in words else kind(value)
        except ValueError:
            raise typer.BadParameter(f"must be a number, or {' or '.join(words)}, got {value!r}") from None

    return read


def read_margin(value: str | None) -> Any:
    """Read a distance; a percentage is left to the library."""
    return value if value is None or value.endswith("%") else number_or(float, "25%")(value)


def read_integers(value: str | None) -> tuple[int, ...] | None:
    """Read integers with commas between them."""
    try:
        return None if value is None else tuple(map(int, value.split(",")))
    except ValueError:
        raise typer.BadParameter(f"must be integers as in 28,28 or 32,32,3, got {value!r}") from None


def read_features(value: str) -> int | tuple[int, ...]:
    """Read an integer, or the smallest and the largest with a comma between them."""
    try:
        numbers = tuple(map(int, value.split(",")))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 2):
        raise typer.BadParameter(f"must be an integer as in 4, or two as in 2,4, got {value!r}")
    return numbers[0] if len(numbers) == 1 else numbers


EXISTING: dict[str, Any] = {"exists": True, "dir_okay": False}  # of a file that is read
A_TABLE = (
    "A table: text with separators (CSV, or .gz), .npz (arrays X and y) or .parquet; - for text on standard input."
)
DataFile = Annotated[Path, argument(A_TABLE, callback=readable, metavar="DATA")]
ModelFile = Annotated[Path, argument("A file that exactfit fit wrote.", metavar="MODEL", **EXISTING)]
Json = Annotated[bool, option("Print JSON, for programs.", "--json")]
Jobs = Annotated[int | None, option("Threads; -1 for all cores. Changes no result.", "--jobs", "-j")]
Seed = Annotated[int | None, option("Same seed, same result; another one each time by default.", min=0)]
Drop = Annotated[list[str] | None, option("A column to leave out; may be repeated.", metavar="NAME")]
MaxBias = Annotated[
    str,
    option("Largest bias: radius (of the data), or a number.", metavar="NUMBER", callback=number_or(float, "radius")),
]
Conflicts = Annotated[Literal["raise", "majority"], option("What to do with equal rows of different labels.")]


@dataclass(frozen=True)
class Output:
    """File to write, in place of standard output where that will do; checked before any work is done."""

    output: Annotated[Path | None, option("The file to write.", "--output", "-o", dir_okay=False)] = None
    force: Annotated[bool, option("Replace the file if it exists.", "--force", "-f")] = False

    def __post_init__(self) -> None:
        # A fit of an hour must not end at a name that is taken.
        if self.output is not None:
            refuse_existing(self.output, self.force)

    def required(self, what: str, ending: str = "") -> Path:
        """Return the file, where standard output will not do; refuse a name without its ending."""
        if self.output is None:
            raise ParameterError(f"say where {what} goes: --output FILE (-o FILE)")
        if self.output.suffix != (ending or self.output.suffix):
            raise ParameterError(f"{what} needs a name that ends in {ending}, not {self.output.name!r}")
        return self.output

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
    image_shape: Annotated[
        str | None,
        option("In the page, rows are images: 28,28 or 32,32,3.", metavar="H,W[,C]", callback=read_integers),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.report is not None:
            refuse_existing(self.report, self.force)
        elif self.image_shape is not None:
            raise ParameterError("--image-shape is about the page: give --report FILE too")

    def write_page(self, page: Callable[[Any], str]) -> None:
        """Write the page that a function of the image shape makes, if one was asked for."""
        if self.report is not None:
            write_file(self.report, page(self.image_shape).encode(), "the report")


def refuse_existing(path: Path, force: bool) -> None:
    """Refuse to overwrite a file that is there, and a folder that is not."""
    if not path.parent.is_dir():
        raise ParameterError(f"{path} cannot be written: there is no folder {path.parent}; make it, or name another")
    if path.exists() and not force:
        raise ParameterError(f"{path} exists: give another name, or --force to replace it")


def write_file(path: Path, content: bytes, what: str) -> None:
    """Write a file, complete or not at all, and say so."""
    from .._support.processes import write_atomically

    write_atomically(path, content, what)
    notify(f"{path}: written")


@dataclass(frozen=True)
class TableSource:
    """A table, and how its cells are to be read."""

    data: DataFile
    separator: Annotated[str, option("Between the cells: a character, tab, or auto.")] = "auto"
    decimal: Annotated[Literal["auto", ".", ","], option("In numbers.")] = "auto"
    no_header: Annotated[bool, option("The first line is data; columns are 0, 1, ...", "--no-header")] = False
    missing: Annotated[
        Literal["error", "drop-rows", "impute", "indicator"], option("Empty cells; indicator is impute and mark.")
    ] = "error"
    missing_values: Annotated[
        list[str] | None,
        option(
            'Counts as an empty cell beside NA, N/A, ?, null, nan; may be repeated; "" leaves those out.',
            metavar="WORD",
        ),
    ] = None

    def form(self) -> ReadOptions:
        """Return it as the library takes it."""
        from ..tables import ReadOptions

        if self.data.is_dir():
            raise ParameterError(f"{self.data} is a folder: only exactfit fit --backend dask takes folders of Parquet")
        return ReadOptions(
            self.separator, not self.no_header, self.missing, self.decimal, tuple(self.missing_values or ())
        )  # fmt: skip

    def flags(self) -> list[str]:
        """Return it as the command line has it."""
        given = {one.name: getattr(self, one.name) for one in fields(self)[1:]}
        return [str(self.data), *as_flags(given, {one.name: one.default for one in fields(self)[1:]})]

    def read_for(self, model: TableModel, labels: bool = False) -> Table:
        """Read the columns that a model takes."""
        return _with_notes(model.read(str(self.data), labels=labels, form=self.form()))

    def read_labelled(self, path: Path, label: str | None, form: ReadOptions, **chosen: Any) -> Table:
        """Read a table with labels."""
        from ..tables import read_table

        if label is None and path.suffix != ".npz":
            raise ParameterError("say which column holds the labels: --label NAME")
        table = _with_notes(read_table(str(path), label=label, **chosen, **asdict(form)))
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
    scale: Annotated[
        Literal["standard", "none"], option("standard: centre numeric columns, divide by their deviation.")
    ] = "standard"

    def labelled(self) -> tuple[Table, NDArray[Any]]:
        """Read the table and its labels."""
        from ..tables.encoding import refuse_measure

        form = replace(self.form(), date_parts=tuple(self.date_part or ()))
        chosen = {"drop": self.drop or (), "categorical": self.categorical or ()}
        table = self.read_labelled(self.data, self.label, form, **chosen)
        refuse_measure(table)
        assert table.labels is not None
        return table, table.labels

    def encoded(self) -> tuple[Table, Encoding, NDArray[Any], NDArray[Any]]:
        """Read the table; return it, its encoding, and the points and labels that a network is fitted to."""
        from ..tables import Encoding

        table, labels = self.labelled()
        encoding = Encoding.learn(table, self.scale)
        return table, encoding, encoding.encode(table), labels


def _with_notes(table: Table) -> Table:
    """Show what was found out about a file, and how many rows were left out; return its table."""
    for note in table.notes:
        notify(f"{table.name}: {note}")
    return table


def as_label(text: str | None, labels: NDArray[Any]) -> Any:
    """Return a label as the table has it: 3 where labels are integers, "3" where they are text."""
    if text in (None, "all") or labels.dtype.kind not in "iu":
        return text
    try:
        return int(str(text))
    except ValueError:
        raise ParameterError(f"--target-class must be a number, as the labels are, got {text!r}") from None


@dataclass(frozen=True)
class Estimator:
    """Options of ``InterpolatingClassifier`` by their names there."""

    # None is an option that was not given: then the preset decides, which the help shows as the default.
    preset: Annotated[
        Literal["accurate", "paper"], option("Where options start from: measured, or as the paper has them.")
    ] = "accurate"
    width: Annotated[
        str,
        option(
            "Hyperplanes: adaptive, or a number (which may miss points).",
            metavar="N",
            callback=number_or(int, "adaptive"),
        ),
    ] = "adaptive"
    min_width: Annotated[
        str | None,
        by_preset(
            "min_width", "Adaptive: the least number of hyperplanes, or auto (16 to a row, at most 4096).", metavar="N",
            callback=number_or(int, "auto"),
        ),
    ] = None  # fmt: skip
    max_width: Annotated[int | None, option("Adaptive: give up beyond this number of hyperplanes.", min=1)] = None
    max_bias: MaxBias = "radius"
    center: Annotated[bool | None, by_preset("center", "Draw hyperplanes around the mean of the data.")] = None
    hyperplanes: Annotated[
        Literal["gaussian", "bisector", "sparse"] | None,
        by_preset("hyperplanes", "How they are drawn: gaussian (the paper's), bisector, or sparse (few features)."),
    ] = None
    max_features: Annotated[
        str,
        option(
            "For sparse: features of a hyperplane, from 1 to a number, or from low to high.", metavar="N|LOW,HIGH",
            callback=read_features,
        ),
    ] = "4"  # fmt: skip
    image_shape: Annotated[
        str | None,
        option(
            "For images: what a row is an image of, as 28,28 or 32,32,3.", metavar="H,W[,C]", callback=read_integers
        ),
    ] = None
    fallback_cuts: Annotated[bool, option("Adaptive: finish with cuts when random hyperplanes stall.")] = True
    activation: Annotated[Literal["threshold", "relu"], option("Of the first layer.")] = "threshold"
    detectors: Annotated[
        Literal["mask", "weighted", "auto"] | None,
        by_preset("detectors", "What detectors count with: mask (the paper's), or weighted (far fewer)."),
    ] = None
    target: Annotated[
        str | None,
        by_preset("target", "Two classes: the one that gets detectors, or all.", "--target-class", metavar="LABEL"),
    ] = None
    conflicts: Conflicts = "raise"
    noise: Annotated[
        float, option("Rows that may be given up, as a fraction below 0.5: labels may be wrong.", min=0)
    ] = 0.0
    exact_in: Annotated[
        Literal["float64", "float32"] | None, option("Stay exact in every evaluation in this format.")
    ] = None
    margin: Annotated[
        str | None,
        by_preset(
            "margin", "How far a row may move and keep its answer: a distance, or 25% of half the separation.",
            metavar="NUMBER|PERCENT", callback=read_margin,
        ),
    ] = None  # fmt: skip
    n_jobs: Jobs = None
    seed: Seed = None

    def classifier(self, labels: NDArray[Any]) -> InterpolatingClassifier:
        """Return the estimator with these options."""
        from ..estimators import InterpolatingClassifier

        given = {one.name: getattr(self, one.name) for one in fields(Options)}
        given |= {"target": as_label(self.target, labels), "random_state": self.seed, "verbose": int(show_progress())}
        preset: Any = InterpolatingClassifier if self.preset == "accurate" else InterpolatingClassifier.paper
        made: InterpolatingClassifier = preset(**{name: value for name, value in given.items() if value is not None})
        return made


def estimator_flags(options: Mapping[str, Any]) -> list[str]:
    """Return options of ``InterpolatingClassifier`` that are not its defaults, as the command line has them."""
    from ..estimators import InterpolatingClassifier

    # No text stands for the target None, which is the paper's.
    is_paper = options.get("target", "all") is None
    base = InterpolatingClassifier.paper() if is_paper else InterpolatingClassifier()
    values = InterpolatingClassifier(**{"verbose": base.verbose, **options})
    return ["--preset", "paper"] * is_paper + as_flags(values.get_params(), base.get_params())


def as_flags(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Return options with their values, those that are not defaults."""
    flags = []
    for name, value in given.items():
        flag = {"target": "target-class", "n_jobs": "jobs", "random_state": "seed"}.get(name, name.replace("_", "-"))
        if isinstance(value, bool) and value != defaults[name]:
            flags.append(f"--{flag}" if value else f"--no-{flag}")
        elif value != defaults[name]:
            for one in value if isinstance(value, list) else [value]:
                flags += [f"--{flag}", ",".join(map(str, one)) if isinstance(one, tuple) else str(one)]
    return flags
