"""Commands about models: ``fit``, ``predict``, ``certify``, ``explain``, ``export`` and ``info``."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.console import tell
from ..exceptions import ModelFileError, ParameterError
from .options import (
    Columns,
    DataFile,
    Estimator,
    Jobs,
    Json,
    ModelFile,
    NewFile,
    Output,
    Reading,
    Scale,
    command,
    show_progress,
    tell_dropped,
)
from .state import ExitCode, say

if TYPE_CHECKING:
    from ..tables import Table, TableModel

Rows = Annotated[
    list[int] | None, typer.Option("--row", min=0, help="A row of the table, from 0; may be repeated; all by default.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to a program."""
    command(app, "exactfit fit train.csv --label label -o model.exactfit")(fit)
    command(app, "exactfit predict model.exactfit new.csv -o answers.csv")(predict)
    command(app, "exactfit certify model.exactfit train.csv")(certify)
    command(app, "exactfit explain model.exactfit new.csv --row 0")(explain)
    command(app, "exactfit export model.exactfit -o model.onnx")(export)
    command(app, "exactfit info model.exactfit")(info)


def fit(
    data: DataFile, columns: Columns, new: NewFile, reading: Reading, estimator: Estimator, scale: Scale = "standard",
    json: Json = False,
) -> None:  # fmt: skip
    """Build a network that fits every row of a table; certify and save it."""
    from ..demo import Exhibit
    from ..persistence import save
    from ..tables import TableModel
    from .output import print_exhibit, print_json

    new.check()
    table, labels = columns.read(data, reading)
    say(f"{table.name}: building and certifying (the first run compiles, which takes a while) ...")
    began = time.perf_counter()
    model = TableModel(estimator.classifier(labels), scale=scale).fit(table)  # type: ignore[arg-type]
    seconds = time.perf_counter() - began
    given_up = model.classifier_.certificate_.given_up
    certificate = model.classifier_.certificate_ = model.certify(
        table, given_up=given_up, n_jobs=estimator.jobs, verbose=show_progress()
    )
    save(model, new.output)
    shown = Exhibit(table.name, model.encode(table), labels, model.classifier_, certificate)
    if json:
        sizes = {"rows": len(table), "features": len(model.features_), "classes": len(model.classes_), **shown.sizes()}
        print_json(
            {
                "data": table.name,
                "model": str(new.output),
                **sizes,
                "seconds": seconds,
                "certificate": certificate.to_dict(),
            }
        )
    else:
        print_exhibit(shown, {"seconds": f"{seconds:.2f}"})
        tell(f"model: {new.output}")
    if not certificate.holds:
        raise typer.Exit(ExitCode.FAILS)


def predict(model: ModelFile, data: DataFile, output: Output, reading: Reading, json: Json = False) -> None:
    """Print the label of every row of a table, as CSV; columns are found by name, or by position without a header."""
    from .output import json_text

    output.check()
    fitted = load_table_model(model)
    table = fitted.read(str(data), form=reading.form())
    tell_dropped(table)
    labels = fitted.predict(table).tolist()
    if json:
        output.write(json_text({"rows": table.rows, "predictions": labels}), "the predictions")
    else:
        output.write(_as_csv(["row", "prediction"], zip(table.rows.tolist(), labels, strict=True)), "the predictions")


def certify(
    model: ModelFile,
    data: DataFile,
    reading: Reading,
    arithmetic: Annotated[str, typer.Option(help="exact, or in every evaluation in float64 or float32.")] = "exact",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Prove, from network and data alone, that every row is classified as its label says."""
    from .output import print_certificate, print_json

    fitted = load_table_model(model)
    table = fitted.read(str(data), labels=True, form=reading.form())
    tell_dropped(table)
    certificate = fitted.certify(table, arithmetic=arithmetic, n_jobs=jobs, verbose=show_progress())
    rows = [int(row) for row in table.rows[certificate.errors]]
    if json:
        print_json(certificate.to_dict() | {"rows_in_error": rows})
    else:
        print_certificate(certificate)
    if not certificate.holds:
        if rows[0] < len(table):
            say(f"the first row in error is {table.place(int(certificate.errors[0]))} of {table.name}", "red")
        raise typer.Exit(ExitCode.FAILS)


def explain(
    model: ModelFile,
    data: DataFile,
    output: Output,
    reading: Reading,
    row: Rows = None,
    json: Json = False,
) -> None:
    """Say which detectors and training rows stand behind each answer, and what came closest."""
    from .output import json_text

    output.check()
    fitted = load_table_model(model)
    table = chosen_rows(fitted.read(str(data), form=reading.form()), row)
    found = list(zip(table.rows.tolist(), fitted.explain(table), strict=True))
    if json:
        text = json_text([{"row": row, **one.to_dict()} for row, one in found])
    else:
        text = "\n".join(f"row {row}: {one}" for row, one in found)
    output.write(text, "the explanations")


def export(
    model: ModelFile,
    new: NewFile,
    dtype: Annotated[
        str, typer.Option(help="float64, or float32 (exact if fitted with --exact-in float32).")
    ] = "float64",
) -> None:
    """Write a model as an ONNX graph, scaling inside, columns and categories in its metadata."""
    from ..export import to_onnx

    new.check()
    if new.output.suffix != ".onnx":
        raise ParameterError(f"exports are ONNX files: give a name that ends in .onnx, not {new.output.name!r}")
    to_onnx(load_table_model(model), dtype, path=new.output)  # type: ignore[arg-type]
    tell(f"model: {new.output}")


def info(model: ModelFile, json: Json = False) -> None:
    """Print what a model file holds: columns, labels, sizes, options and certificate."""
    from .output import print_json, print_model

    fitted = load_table_model(model)
    if json:
        print_json(model_info(fitted))
    else:
        print_model(model.name, fitted)


def load_table_model(path: Path) -> TableModel:
    """The model of a file."""
    from ..persistence import load
    from ..tables import TableModel

    model = load(path)
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path.name} holds a {type(model).__name__} without the columns of a table: read it with exactfit.load"
        )
    return model


def model_info(fitted: TableModel) -> dict[str, Any]:
    """All of a model but its network's numbers, as JSON can hold it."""
    from ..network.activations import as_activation

    classifier = fitted.classifier_
    network = classifier.network_
    return {
        "columns": fitted.encoding_.to_dict()["columns"],
        "label": fitted.encoding_.label,
        "scale": fitted.scale,
        "classes": fitted.classes_.tolist(),
        "widths": list(network.widths),
        "neurons": network.n_neurons,
        "parameters": network.n_parameters,
        "outcome": classifier.outcome_.value,
        "options": {name: value for name, value in classifier.get_params(deep=False).items() if name != "activation"},
        "activation": as_activation(classifier.activation).name,
        "certificate": classifier.certificate_.to_dict(),
    }


def chosen_rows(table: Table, rows: list[int] | None) -> Table:
    """The rows that were asked for, or all."""
    import numpy as np

    if not rows:
        return table
    missing = sorted(set(rows) - set(table.rows.tolist()))
    if missing:
        raise ParameterError(f"{table.name} has no row {missing[0]} (rows are counted from 0, after the header)")
    return table.taken(np.flatnonzero(np.isin(table.rows, rows)))


def _as_csv(header: list[str], rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
