"""Data-quality commands: ``suspects`` finds wrong labels, ``repair`` puts patches into an ONNX model.

A repaired model is right on reported failures and a golden set.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .._support.console import echo, text_table
from ..exceptions import ContradictoryLabelsError, DataError
from .arguments import (
    EXISTING,
    Drop,
    Encoded,
    Jobs,
    Json,
    LabelledSource,
    NewFile,
    Report,
    Seed,
    TableSource,
    argument,
    as_number,
    option,
    readable,
)
from .output import json_text, notify, print_certificate, print_json, print_rows, show_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..repairs import RepairedClassifier
    from ..repairs.graphs import Graph
    from ..suspects import Suspects
    from ..tables import Encoding, Table

OnnxFile = Annotated[Path, argument("An ONNX model.", metavar="MODEL", **EXISTING)]


@dataclass(frozen=True)
class RepairInputs(TableSource):
    """Rows that a model must get right: those that it gets wrong, and those that it has to keep."""

    label: Annotated[str | None, option("The column that holds the labels; y for .npz.")] = None
    drop: Drop = None
    keep: Annotated[
        Path | None, option("A further table: rows that must stay right.", callback=readable, metavar="DATA")
    ] = None

    def read(self) -> RepairData:
        """Both tables as points in the order of the first one's columns, and where each row stood."""
        import numpy as np

        from ..tables import Encoding

        drop, paths = self.drop or (), [path for path in (self.data, self.keep) if path is not None]
        tables = [self.read_labelled(path, self.label, self.form(), drop=drop) for path in paths]
        encoding = Encoding.learn(tables[0], "none")
        _refuse_categories(encoding, tables[0])
        labels = [table.labels for table in tables]
        if len({part.dtype.kind in "US" for part in labels if part is not None}) > 1:
            raise DataError(f"the labels of {tables[0].name} and {tables[1].name} are of different kinds")
        points = np.concatenate([encoding.encode(table) for table in tables])
        return RepairData(tables, points, np.concatenate(labels))  # type: ignore[arg-type]


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

    patches: Annotated[str, option("ball, mask, or weighted (fewer, less local).")] = "ball"
    reach: Annotated[str, option("How far patches go: least, full, or a share up to 1.")] = "least"
    exact_in: Annotated[
        str, option("Right in every evaluation in float32 or float64; model: as it takes.", metavar="FORMAT")
    ] = "model"
    jobs: Jobs = None
    seed: Seed = None

    def classifier(self, graph: Graph) -> RepairedClassifier:
        """The model, to be repaired with these options."""
        from ..repairs import RepairedClassifier

        return RepairedClassifier(
            graph,
            patches=self.patches,
            reach=as_number("--reach", self.reach, float, ("least", "full")),
            exact_in=str(graph.input_dtype) if self.exact_in == "model" else self.exact_in,
            n_jobs=self.jobs,
            random_state=self.seed,
        )


def repair_command(
    model: OnnxFile, source: RepairInputs, new: NewFile, options: PatchOptions, json: Json = False
) -> None:
    """Put patches into an ONNX model that make it right on every row given, and prove it."""
    from ..export.onnx import to_onnx, write
    from ..repairs.graphs import Graph

    new.check_onnx("repaired models")
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
    wrong = Graph.of(proto).answers(given.X) != given.labels  # the last word has the runtime at hand
    if wrong.any():
        raise DataError(
            f"the runtime at hand answers {given.place(int(wrong.argmax()))} in another way than was proved"
        )
    write(proto, new.output)
    report = repaired.report()
    if json:
        print_json({"model": str(new.output), **report.to_dict(), "certificate": repaired.certificate_.to_dict()})
        return
    echo(str(report))
    print_certificate(repaired.certificate_)
    echo(f"model: {new.output}")


class ModelOptions(StrEnum):
    """Classifiers that suspects can be found with."""

    NONE = "none"
    RANDOM_FOREST = "random-forest"
    LOGISTIC_REGRESSION = "logistic-regression"
    GRADIENT_BOOSTING = "gradient-boosting"


@dataclass(frozen=True)
class SuspectOptions:
    """Options of ``find_suspects``."""

    model: Annotated[
        ModelOptions, option("Also ask a model about every row, cross-validated; slower, and finds more.")
    ] = ModelOptions.NONE
    pred_probs: Annotated[
        Path | None, option("Out-of-sample probabilities: NPY or CSV, a column a label.", **EXISTING)
    ] = None
    width: Annotated[int, option("Hyperplanes.", min=1)] = 512
    k: Annotated[int, option("How many neighbours to compare with.", min=1)] = 10
    seed: Annotated[int, option("Seed of the hyperplanes and of the folds.", min=0)] = 0
    jobs: Jobs = None

    def at(self, given: Encoded) -> Suspects:
        """What they say."""
        from ..suspects import find_suspects

        return find_suspects(
            given.X, given.labels, pred_probs=_probabilities(self.pred_probs, given.table),
            model=_rater(self.model, self.seed, self.jobs), width=self.width, k=self.k, random_state=self.seed,
            n_jobs=self.jobs, verbose=show_progress(),
        ).of_table(given.table)  # fmt: skip


def suspects_command(
    source: LabelledSource,
    output: Report,
    options: SuspectOptions,
    top: Annotated[int, option("How many rows to show, most suspicious first.", min=1)] = 20,
    json: Json = False,
) -> None:
    """List the rows whose labels look wrong, most suspicious first, with the rows that they contradict.

    Then rows that are there twice, nearly equal rows with different labels, and rows far from everything.
    """
    from ..tables.table import speaking_of

    output.check()
    given = source.encoded()
    with speaking_of(given.table):
        found = options.at(given)
    output.write_page(lambda shape: found.to_html(top, image_shape=shape))
    if json:
        output.write(json_text(found.to_dict(top)), "the suspects")
    else:
        _print_suspects(found, top, output, len(given.table.columns))


def _print_suspects(found: Suspects, top: int, output: Report, n_columns: int) -> None:
    """A table of the rows, then what else was noticed."""
    from ..tables.explained import SHOWN_COLUMNS

    header, *rows = found.listing(top, SHOWN_COLUMNS)
    notices = [line for headline, cases in found.notices(top) for line in (headline, *map("  {}".format, cases))]
    if output.output is None:
        print_rows(header, rows)
        for notice in notices:
            echo(notice)
    else:
        output.write("\n".join([*text_table([header, *rows]), *notices]), "the suspects")
    if n_columns > SHOWN_COLUMNS:
        notify(f"and {n_columns - SHOWN_COLUMNS} more columns: --json and --report show them all")


def _rater(name: ModelOptions, seed: int, jobs: int | None) -> Any:
    """The classifier of a name, with scikit-learn's own settings."""
    if name is ModelOptions.NONE:
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    return {
        ModelOptions.RANDOM_FOREST: RandomForestClassifier(random_state=seed, n_jobs=jobs),
        ModelOptions.LOGISTIC_REGRESSION: LogisticRegression(max_iter=1000),
        ModelOptions.GRADIENT_BOOSTING: HistGradientBoostingClassifier(random_state=seed),
    }[name]


def _probabilities(path: Path | None, table: Table) -> NDArray[Any] | None:
    """Numbers of a file, a line for every row of the table's file or of those that are left."""
    if path is None:
        return None
    import numpy as np

    try:
        text = path.suffix != ".npy"
        found = np.loadtxt(path, delimiter=",", ndmin=2) if text else np.load(path, allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{path.name} must hold an array of numbers, NPY or CSV without a header: {error}") from error
    return found[table.rows] if len(found) == len(table) + table.n_dropped else found
