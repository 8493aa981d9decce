"""Commands about models: ``fit``, ``predict``, ``certify``, ``encode``, ``explain``, ``export``, ``info``."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .._support.console import echo
from ..exceptions import DataError, ExactfitError, ModelFileError, ParameterError
from .arguments import (
    EXISTING,
    Estimator,
    Jobs,
    Json,
    LabelledSource,
    ModelFile,
    Output,
    Report,
    TableSource,
    option,
    refuse_existing,
    write_file,
)
from .output import (
    SHOWN,
    ExitCode,
    json_text,
    notify,
    print_certificate,
    print_exhibit,
    print_json,
    print_model,
    print_rows,
    show_progress,
    telling_of_compiling,
)

if TYPE_CHECKING:
    from ..demo import Exhibit
    from ..tables import Table, TableModel

SHOWN_ROWS = 100  # of a file in parts, from which its columns are known


def fit_command(
    source: LabelledSource,
    output: Output,
    estimator: Estimator,
    backend: Annotated[
        Literal["local", "dask"], option("dask takes Parquet of numeric columns, in chunks of any size.")
    ] = "local",
    scheduler: Annotated[
        str | None, option("Address of a Dask scheduler, with --backend dask; without it, this machine.")
    ] = None,
    dry_run: Annotated[bool, option("Only say how each column is read; build and write nothing.", "--dry-run")] = False,
    json: Json = False,
) -> None:
    """Build a network that fits every row of a table; certify and save it."""
    from ..certificate import certify
    from ..demo import Exhibit
    from ..persistence import save
    from ..tables import TableModel
    from ..tables.explained import described
    from ..tables.table import speaking_of

    new = Path() if dry_run else output.required("the model")
    if scheduler is not None and backend != "dask":
        raise ParameterError("--scheduler goes with --backend dask")
    if backend == "dask":
        return _fit_chunked(source, estimator, scheduler, new, json)
    table, encoding, X, labels = source.encoded()
    columns = described(table, source.drop or ())
    if dry_run and json:
        return print_json({"columns": dict(columns)})
    if dry_run:
        return print_rows(["column", "read as"], columns)
    width = max(len(name) for name, _ in columns)
    notify("\n".join(f"  {name:<{width}}  {how}" for name, how in columns))
    notify(f"{table.name}: building and certifying ...")
    began = time.perf_counter()
    with telling_of_compiling():
        with speaking_of(table):
            classifier = estimator.classifier(labels).fit(X, labels)
        # Proved once more by other code, from the finished network and the table alone.
        classifier.certificate_ = certify(
            classifier, X, labels,
            given_up=classifier.certificate_.given_up, n_jobs=estimator.n_jobs, verbose=show_progress(),
        )  # fmt: skip
    seconds = time.perf_counter() - began
    save(TableModel.of(classifier, encoding, source.scale), new)
    shown = Exhibit(table.name, X, labels, classifier, classifier.certificate_.in_rows(table.rows))
    return _print_fit(shown, new, seconds, json, {"columns": dict(columns)})


def _fit_chunked(source: LabelledSource, estimator: Estimator, scheduler: str | None, new: Path, json: bool) -> None:
    """Fit a Parquet file or folder whose rows stay in chunks."""
    import numpy as np

    from ..demo import Exhibit
    from ..distributed import DaskInterpolatingClassifier
    from ..distributed.runner import dask_module
    from ..persistence import save
    from ..tables import Encoding, TableModel, read_table

    if source.label is None:
        raise ParameterError("say which column holds the labels: --label NAME")
    for name, given, right in (("--scale", source.scale, "none"), ("--missing", source.missing, "error")):
        if given != right:
            raise ParameterError(f"--backend dask takes numbers as they are: say {name} {right}")
    if source.categorical or source.date_part:
        raise ParameterError("--backend dask takes numeric columns only: leave out --categorical and --date-part")
    began = time.perf_counter()
    try:
        frame = dask_module("dask.dataframe").read_parquet(str(source.data))
    except (OSError, ValueError) as error:
        raise DataError(f"{source.data} is no Parquet file or folder: {error}") from error
    others = [source.label, *(source.drop or ())]
    for name in others:
        if name not in frame.columns:
            raise DataError(f"{source.data} has no column {name!r}: its columns are {', '.join(frame.columns)}")
    points = frame.drop(columns=others)
    connected = nullcontext() if scheduler is None else dask_module("distributed").Client(scheduler, timeout=30)
    with connected as client:
        labels = frame[source.label].compute().to_numpy()
        # Tables hold labels of text as text, which decides what --target-class means.
        labels = labels.astype(str) if labels.dtype == object else labels
        options = estimator.classifier(labels).get_params()
        model = DaskInterpolatingClassifier(client=client, **options).fit(points, labels)
        classifier = model.to_local()
        classifier.certificate_ = certificate = model.certify(points, labels)
        vars(classifier).pop("feature_names_in_", None)  # the encoding knows the columns
    # All columns are numbers as they are, so that a few rows tell the encoding.
    head = read_table(frame.head(SHOWN_ROWS, npartitions=-1), label=source.label, drop=source.drop or ())
    seconds = time.perf_counter() - began
    save(TableModel.of(classifier, Encoding.learn(head, "none"), "none"), new)
    nothing = np.broadcast_to(np.zeros(()), (certificate.n_samples, classifier.n_features_in_))  # but a shape
    _print_fit(Exhibit(source.data.name, nothing, np.empty(0), classifier, certificate), new, seconds, json, {})


def _print_fit(shown: Exhibit, new: Path, seconds: float, json: bool, more: dict[str, Any]) -> None:
    if json:
        rows, features = shown.X.shape
        sizes = {"rows": rows, "features": features, "classes": len(shown.model.classes_), **shown.sizes()}
        plain = {"data": shown.name, "model": str(new), **sizes, "seconds": seconds}
        print_json(plain | {"certificate": shown.certificate.to_dict()} | more)
    else:
        print_exhibit(shown, {"seconds": f"{seconds:.2f}"})
        echo(f"model: {new}")
    if not shown.certificate.holds:
        raise typer.Exit(ExitCode.FAILS)


def predict_command(
    model: ModelFile,
    source: TableSource,
    output: Output,
    scores: Annotated[
        bool, option("Also how clearly each class claims the row: above zero if it does.", "--scores")
    ] = False,
    claims: Annotated[
        bool, option("Also the class whose detectors claim the row; or none, or several.", "--claims")
    ] = False,
    json: Json = False,
) -> None:
    """Print the label of every row of a table, as CSV; columns are found by name, or by position without a header.

    Where no class or several claim a row, the label is that of the class that comes closest.
    """
    fitted = _load(model)
    table = source.read_for(fitted)
    classifier, points = fitted.classifier_, fitted.encode(table)
    rows, predictions = table.rows.tolist(), classifier.predict(points).tolist()
    claimed = [classifier.classes_[row].tolist() for row in classifier.claims(points)] if claims else []
    by_class: dict[str, list[float]] = {}
    if scores:
        # Of two classes there is one column, for the second.
        found, names = classifier.decision_function(points), classifier.classes_.tolist()
        columns = found.T if found.ndim == 2 else [found]
        by_class = {str(name): column.tolist() for name, column in zip(names[-len(columns) :], columns, strict=True)}
    if json:
        plain: dict[str, Any] = {"rows": rows, "predictions": predictions}
        plain |= {"claims": claimed} if claims else {}
        plain |= {"scores": by_class} if scores else {}
        return output.write(json_text(plain), "the predictions")
    table_columns: dict[str, list[Any]] = {"row": rows, "prediction": predictions}
    if claims:
        said = [str(one[0]) if len(one) == 1 else "several" if one else "none" for one in claimed]
        table_columns["claimed by"] = said
    table_columns |= {f"score {name}": values for name, values in by_class.items()}
    lines = [list(table_columns), *zip(*table_columns.values(), strict=True)]
    return output.write(_as_csv(lines), "the predictions")


def certify_command(
    model: ModelFile,
    source: TableSource,
    arithmetic: Annotated[
        Literal["exact", "float64", "float32"], option("exact, or every evaluation in a format.")
    ] = "exact",
    by: Annotated[
        Literal["output", "predict"], option("What decides the exit code: the network's own output, or predict.")
    ] = "output",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Prove, from network and data alone, that every row is classified as its label says.

    A row is right if its class claims it and no other does: so says the network's own output. On new rows predict
    may be right where none or several claim a row; how many it gets wrong is told beside it. Exit code 1: some row is
    wrong, by what --by says.
    """
    fitted = _load(model)
    table = source.read_for(fitted, labels=True)
    certificate = fitted.certify(table, arithmetic=arithmetic, n_jobs=jobs, verbose=show_progress())
    if json:
        print_json(certificate.to_dict() | {"rows_in_error": certificate.errors})
    else:
        print_certificate(certificate)
    # Rows that were given up in fitting are errors here, and the model's own certificate leaves them out.
    own = fitted.certificate_
    if own.data_digest == certificate.data_digest and not set(own.given_up).isdisjoint(certificate.errors):
        rows = ", ".join(map(str, own.given_up[:SHOWN].tolist())) + (" ..." if len(own.given_up) > SHOWN else "")
        notify(
            f"given up or overruled in fitting: {rows}; the model's own certificate (exactfit info) is about all others"
        )
    wrong = certificate.errors if by == "output" or certificate.mispredicted is None else certificate.mispredicted
    if len(wrong):
        first = int(table.rows.searchsorted(wrong[0]))
        what = "in error" if by == "output" else "that predict gets wrong"
        notify(f"the first row {what} is {table.place(first)} of {table.name}", "red")
        raise typer.Exit(ExitCode.FAILS)


def encode_command(
    model: ModelFile,
    source: TableSource,
    output: Output,
    labels: Annotated[Path | None, option("Also write the labels: one to a line, as CSV.", dir_okay=False)] = None,
) -> None:
    """Write the encoded points of a table as NPY, for a checker that shares nothing with exactfit."""
    import numpy as np

    new = output.required("the array")
    if labels is not None:
        refuse_existing(labels, output.force)
    fitted = _load(model)
    table = source.read_for(fitted, labels=labels is not None)
    buffer = io.BytesIO()
    np.save(buffer, fitted.encode(table))
    write_file(new, buffer.getvalue(), "the points")
    if labels is not None:
        _, names, _ = fitted.points_and_labels(table)
        write_file(labels, _as_csv([name] for name in names.tolist()).encode(), "the labels")


def explain_command(
    model: ModelFile,
    source: TableSource,
    output: Report,
    row: Annotated[list[int] | None, option("A row, from 0; may be repeated; all by default.", min=0)] = None,
    training: Annotated[
        Path | None, option("What the model was fitted to: shows the cells of its rows.", **EXISTING)
    ] = None,
    radii: Annotated[
        bool, option("Also prove how far each row may move without changing its answer.", "--radii")
    ] = False,
    json: Json = False,
) -> None:
    """Say which detectors and training rows each answer rests on, and what came closest."""
    fitted = _load(model)
    table = source.read_for(fitted)
    known = None if training is None else fitted.read_training(str(training), source.form())
    if training is None and len(table) == fitted.certificate_.n_samples:
        # The rows may be the training rows themselves, or others as many, without labels say.
        with suppress(ExactfitError):
            known = fitted.read_training(str(source.data), source.form())
    found = fitted.explain(_chosen_rows(table, row), known, radii=radii)
    output.write_page(lambda shape: found.to_html(image_shape=shape))
    if known is None:
        notify("--training FILE, what the model was fitted to, shows the cells of the rows behind the answers")
    if json:
        text = json_text([one.to_dict() for one in found])
    else:
        text = "\n".join(f"row {one.row}: {one}" for one in found[:])
    output.write(text, "the explanations")


def export_command(
    model: ModelFile,
    output: Output,
    dtype: Annotated[
        Literal["float64", "float32"], option("float32 is exact if fitted with --exact-in float32.")
    ] = "float64",
) -> None:
    """Write a model as an ONNX graph, scaling inside, columns and categories in its metadata."""
    from ..export import to_onnx

    new = output.required("an export", ".onnx")
    to_onnx(_load(model), dtype, path=new)
    echo(f"model: {new}")


def info_command(model: ModelFile, json: Json = False) -> None:
    """Print what a model file holds: columns, labels, sizes, options and certificate."""
    from ..network.activations import as_activation

    fitted = _load(model)
    if not json:
        return print_model(model.name, fitted)
    classifier, network = fitted.classifier_, fitted.classifier_.network_
    return print_json(
        {
            "columns": fitted.encoding_.to_dict()["columns"],
            "label": fitted.encoding_.label,
            "scale": fitted.scale,
            "classes": fitted.classes_.tolist(),
            "widths": list(network.widths),
            "neurons": network.n_neurons,
            "parameters": network.n_parameters,
            "outcome": classifier.outcome_.value,
            "options": {
                name: value for name, value in classifier.get_params(deep=False).items() if name != "activation"
            },
            "activation": as_activation(classifier.activation).name,
            "certificate": fitted.certificate_.to_dict(),
        }
    )


def _load(path: Path) -> TableModel:
    """Load the model of a file."""
    from ..persistence import load
    from ..tables import TableModel

    model = load(path)
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path.name} holds a {type(model).__name__} without the columns of a table: read it with exactfit.load"
        )
    return model


def _chosen_rows(table: Table, rows: list[int] | None) -> Table:
    """Return the rows that were asked for, or all."""
    if not rows:
        return table
    missing = sorted(set(rows).difference(table.rows.tolist()))
    if missing:
        if missing[0] < len(table) + table.n_dropped:
            raise ParameterError(f"row {missing[0]} of {table.name} was left out for an empty cell")
        raise ParameterError(f"{table.name} has no row {missing[0]} (rows are counted from 0, after the header)")
    return table.taken(table.rows.searchsorted(sorted(set(rows))))


def _as_csv(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
