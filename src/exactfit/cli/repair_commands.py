"""The command ``repair``: patches into an ONNX model, so that it is right on reported failures and a golden set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.console import tell
from ..exceptions import ContradictoryLabelsError, DataError, ParameterError
from .arguments import Jobs, Json, NewFile, Seed, TableSource, as_number, readable
from .output import notify, print_certificate, print_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..repairs import RepairedClassifier
    from ..repairs.graphs import Graph
    from ..tables import Encoding, Table

OnnxFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="An ONNX model.")]


@dataclass(frozen=True)
class Failures(TableSource):
    """Rows that a model must get right: those that it gets wrong, and those that it has to keep."""

    label: Annotated[str | None, typer.Option(help="The column that holds the labels; y for .npz.")] = None
    drop: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out; may be repeated.")] = (
        None
    )
    keep: Annotated[
        Path | None,
        typer.Option(callback=readable, metavar="DATA", help="A further table: rows that must stay right."),
    ] = None

    def read(self) -> RepairData:
        """Both tables as points in the order of the first one's columns, and where each row stood."""
        import numpy as np

        from ..tables import Encoding

        tables = [self._table(path) for path in (self.data, self.keep) if path is not None]
        encoding = Encoding.learn(tables[0], "none")
        _refuse_categories(encoding, tables[0])
        labels = [table.labels for table in tables]
        if len({part.dtype.kind in "US" for part in labels if part is not None}) > 1:
            raise DataError(f"the labels of {tables[0].name} and {tables[1].name} are of different kinds")
        points = np.concatenate([encoding.encode(table) for table in tables])
        return RepairData(tables, points, np.concatenate(labels))  # type: ignore[arg-type]

    def _table(self, path: Path) -> Table:
        from ..tables import read_table

        if self.label is None and path.suffix != ".npz":
            raise ParameterError("say which column holds the labels: --label NAME")
        table = read_table(str(path), label=self.label, drop=self.drop or (), **asdict(self.form()))
        for note in table.notes:
            notify(f"{table.name}: {note}")
        if table.labels is None:
            raise ParameterError(f"{table.name} holds no labels: an array y is needed beside X")
        return table


def _refuse_categories(encoding: Encoding, table: Table) -> None:
    for field in encoding.fields:
        if field.categories is not None or field.dates is not None:
            raise DataError(
                f"column {field.name!r} of {table.name} holds no numbers, and an ONNX model takes numbers: "
                f"leave it out (--drop {field.name}), or write what the model sees"
            )


@dataclass(frozen=True, eq=False)
class RepairData:
    """Points of one or two tables, below each other."""

    tables: list[Table]
    X: NDArray[Any]
    labels: NDArray[Any]

    def place(self, row: int) -> str:
        """Where a row stood, for a message."""
        for table in self.tables:
            if row < len(table.rows):
                return f"{table.place(row)} of {table.name}"
            row -= len(table.rows)
        raise IndexError(row)


@dataclass(frozen=True)
class PatchOptions:
    """Options of ``RepairedClassifier``."""

    patches: Annotated[str, typer.Option(help="ball, mask, or weighted (fewer, less local).")] = "ball"
    reach: Annotated[str, typer.Option(help="How far patches go: least, full, or a share up to 1.")] = "least"
    exact_in: Annotated[
        str, typer.Option(metavar="FORMAT", help="Right in every evaluation in float32 or float64; model: as it takes.")
    ] = "model"
    jobs: Jobs = None
    seed: Seed = None

    def classifier(self, graph: Graph) -> RepairedClassifier:
        """The model, to be repaired with these options."""
        from ..repairs import RepairedClassifier

        return RepairedClassifier(
            graph,
            patches=self.patches,
            reach=self.reach if self.reach in ("least", "full") else as_number("--reach", self.reach, float),
            exact_in=str(graph.input_dtype) if self.exact_in == "model" else self.exact_in,
            n_jobs=self.jobs,
            random_state=self.seed,
        )


def repair_command(model: OnnxFile, source: Failures, new: NewFile, options: PatchOptions, json: Json = False) -> None:
    """Put patches into an ONNX model that make it right on every row given, and prove it."""
    from ..export.onnx import to_onnx, write
    from ..repairs.graphs import Graph

    new.check()
    if new.output.suffix != ".onnx":
        raise ParameterError(f"repaired models are ONNX files: give a name that ends in .onnx, not {new.output.name!r}")
    given, graph = source.read(), Graph.of(model)
    repaired = options.classifier(graph)
    try:
        repaired.fit(given.X, given.labels)
    except ContradictoryLabelsError as error:
        one, other = (given.place(row) for row in error.pairs[0])
        raise DataError(
            f"{one} and {other} hold equal points with different labels ({len(error.pairs)} such pairs in all): "
            "no model can be right on both; correct one, or leave it out"
        ) from error
    proto = to_onnx(repaired, str(graph.input_dtype))  # type: ignore[arg-type]
    _refuse_other_answers(Graph.of(proto), given)
    write(proto, new.output)
    _tell(repaired, new.output, json)


def _refuse_other_answers(graph: Graph, given: RepairData) -> None:
    """The last word has the runtime at hand."""
    import numpy as np

    wrong = np.flatnonzero(graph.answers(given.X) != given.labels)
    if len(wrong):
        raise DataError(f"the runtime at hand answers {given.place(int(wrong[0]))} in another way than was proved")


def _tell(repaired: RepairedClassifier, path: Path, json: bool) -> None:
    report = repaired.report()
    if json:
        print_json({"model": str(path), **report.to_dict(), "certificate": repaired.certificate_.to_dict()})
        return
    tell(str(report))
    print_certificate(repaired.certificate_)
    tell(f"model: {path}")


# Each with an example, which ends its help.
COMMANDS: dict[Callable[..., None], str] = {
    repair_command: "exactfit repair model.onnx failures.csv --keep golden.csv --label y -o repaired.onnx",
}
