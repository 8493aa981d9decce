"""Data-quality commands: ``suspects`` finds wrong labels, ``repair`` puts patches into an ONNX model.

A repaired model is right on reported failures and a golden set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from .._support.console import echo, text_table
from ..exceptions import ContradictoryLabelsError, DataError
from .arguments import (
    EXISTING,
    Drop,
    Jobs,
    Json,
    LabelledSource,
    Output,
    Report,
    Seed,
    TableSource,
    argument,
    number_or,
    option,
    readable,
)
from .output import json_text, notify, print_certificate, print_json, show_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..tables import Table


@dataclass(frozen=True)
class RepairInputs(TableSource):
    """Rows that a model must get right: those that it gets wrong, and those that it has to keep."""

    label: Annotated[str | None, option("The column that holds the labels; y for .npz.")] = None
    drop: Drop = None
    keep: Annotated[
        Path | None, option("A further table: rows that must stay right.", callback=readable, metavar="DATA")
    ] = None

    def read(self) -> tuple[list[Table], NDArray[Any], NDArray[Any]]:
        """Both tables, and their rows below each other as points in the order of the first one's columns."""
        import numpy as np

        from ..tables import Encoding

        drop, paths = self.drop or (), [path for path in (self.data, self.keep) if path is not None]
        tables = [self.read_labelled(path, self.label, self.form(), drop=drop) for path in paths]
        encoding = Encoding.learn(tables[0], "none")
        for field in encoding.fields:
            if field.kind != "numeric":
                raise DataError(
                    f"column {field.name!r} of {tables[0].name} holds no numbers, and an ONNX model takes numbers: "
                    f"leave it out (--drop {field.name}), or write what the model sees"
                )
        labels = [table.labels for table in tables if table.labels is not None]
        if len({own.dtype.kind in "US" for own in labels}) > 1:
            raise DataError(f"the labels of {tables[0].name} and {tables[1].name} are of different kinds")
        return tables, np.concatenate([encoding.encode(table) for table in tables]), np.concatenate(labels)


def repair_command(
    model: Annotated[Path, argument("An ONNX model.", metavar="MODEL", **EXISTING)],
    source: RepairInputs,
    output: Output,
    patches: Annotated[Literal["ball", "mask", "weighted"], option("weighted: fewer, less local.")] = "ball",
    reach: Annotated[
        str,
        option(
            "How far patches go: least, full, or a fraction up to 1.",
            metavar="NUMBER",
            callback=number_or(float, "least", "full"),
        ),
    ] = "least",
    exact_in: Annotated[
        Literal["model", "float64", "float32"],
        option("Right in every evaluation in this format; model: in the one that it takes."),
    ] = "model",
    jobs: Jobs = None,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Put patches into an ONNX model that make it right on every row given, and prove it."""
    from ..export.onnx import to_onnx, write
    from ..repairs import RepairedClassifier
    from ..repairs.graphs import Graph

    new = output.required("a repaired model", ".onnx")
    (tables, X, labels), graph = source.read(), Graph.of(model)
    own_format: Any = str(graph.input_dtype)
    repaired = RepairedClassifier(
        graph, patches=patches, reach=reach, exact_in=own_format if exact_in == "model" else exact_in,
        n_jobs=jobs, random_state=seed,
    )  # fmt: skip
    try:
        repaired.fit(X, labels)
    except ContradictoryLabelsError as error:
        one, other = (_place(tables, row) for row in error.pairs[0])
        raise DataError(
            f"{one} and {other} hold equal points with different labels ({len(error.pairs)} such pairs in all): "
            "no model can be right on both; correct one, or leave it out"
        ) from error
    proto = to_onnx(repaired, own_format)
    wrong = Graph.of(proto).answers(X) != labels  # the last word has the runtime at hand
    if wrong.any():
        raise DataError(
            f"the runtime at hand answers {_place(tables, int(wrong.argmax()))} in another way than was proved"
        )
    write(proto, new)
    report = repaired.report()
    if json:
        print_json({"model": str(new), **report.to_dict(), "certificate": repaired.certificate_.to_dict()})
        return
    echo(str(report))
    print_certificate(repaired.certificate_)
    echo(f"model: {new}")


def _place(tables: list[Table], row: int) -> str:
    """Where a row of tables below each other is, for a message."""
    for table in tables:
        if row < len(table.rows):
            return f"{table.place(row)} of {table.name}"
        row -= len(table.rows)
    raise IndexError(row)


def suspects_command(
    source: LabelledSource,
    output: Report,
    model: Annotated[
        Literal["none", "random-forest", "logistic-regression", "gradient-boosting"],
        option("Also ask a model about every row, cross-validated; slower, and finds more."),
    ] = "none",
    pred_probs: Annotated[
        Path | None, option("Out-of-sample probabilities: NPY or CSV, a column a label.", **EXISTING)
    ] = None,
    width: Annotated[int, option("Hyperplanes.", min=1)] = 512,
    k: Annotated[int, option("How many neighbours to compare with.", min=1)] = 10,
    seed: Annotated[int, option("Seed of the hyperplanes and of the folds.", min=0)] = 0,
    jobs: Jobs = None,
    top: Annotated[int, option("How many rows to show, most suspicious first.", min=1)] = 20,
    json: Json = False,
) -> None:
    """List the rows whose labels look wrong, most suspicious first, with the rows that they contradict.

    Then rows that are there twice, nearly equal rows with different labels, and rows far from everything.
    """
    from ..suspects import find_suspects
    from ..tables.explained import SHOWN_COLUMNS
    from ..tables.table import speaking_of

    table, _, X, labels = source.encoded()
    with speaking_of(table):
        found = find_suspects(
            X, labels, pred_probs=_probabilities(pred_probs, table), model=_classifier(model, seed, jobs),
            width=width, k=k, random_state=seed, n_jobs=jobs, verbose=show_progress(),
        ).of_table(table)  # fmt: skip
    output.write_page(lambda shape: found.to_html(top, image_shape=shape))
    if json:
        return output.write(json_text(found.to_dict(top)), "the suspects")
    notices = [line for headline, cases in found.notices(top) for line in (headline, *map("  {}".format, cases))]
    output.write("\n".join([*text_table(found.listing(top, SHOWN_COLUMNS)), *notices]), "the suspects")
    if len(table.columns) > SHOWN_COLUMNS:
        notify(f"and {len(table.columns) - SHOWN_COLUMNS} more columns: --json and --report show them all")
    return None


def _classifier(name: str, seed: int, jobs: int | None) -> Any:
    """Return the classifier of a name, with scikit-learn's own settings."""
    if name == "none":
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    return {
        "random-forest": RandomForestClassifier(random_state=seed, n_jobs=jobs),
        "logistic-regression": LogisticRegression(max_iter=1000),
        "gradient-boosting": HistGradientBoostingClassifier(random_state=seed),
    }[name]


def _probabilities(path: Path | None, table: Table) -> NDArray[Any] | None:
    """Return the numbers of a file, a line for every row of the table's file or of those that are left."""
    if path is None:
        return None
    import numpy as np

    try:
        text = path.suffix != ".npy"
        found = np.loadtxt(path, delimiter=",", ndmin=2) if text else np.load(path, allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{path.name} must hold an array of numbers, NPY or CSV without a header: {error}") from error
    return found[table.rows] if len(found) == len(table) + table.n_dropped else found
