"""``exactfit fit --backend dask``: Parquet files and folders of numeric columns, on a cluster or larger than memory."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from ..estimators import InterpolatingClassifier
    from ..tables import Table
    from .arguments import Estimator, LabelledSource

BACKENDS = ("local", "dask")
SHOWN_ROWS = 100  # of a file, from which its columns are known


@dataclass(frozen=True)
class Cluster:
    """Where a fit runs."""

    backend: Annotated[
        str, typer.Option("--backend", help="local, or dask: Parquet of numeric columns, in parts of any size.")
    ] = "local"
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, with --backend dask; without it, this machine.")
    ] = None

    @property
    def in_parts(self) -> bool:
        """Whether Dask is wanted."""
        if self.backend not in BACKENDS:
            raise ParameterError(f"--backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}")
        if self.scheduler is not None and self.backend != "dask":
            raise ParameterError("--scheduler goes with --backend dask")
        return self.backend == "dask"


def fit_in_parts(
    source: LabelledSource, estimator: Estimator, scheduler: str | None
) -> tuple[InterpolatingClassifier, Table, tuple[int, int]]:
    """The model of all rows with its certificate, a table of the first rows, and the shape of all points."""
    from ..distributed import DaskInterpolatingClassifier
    from ..distributed.runner import Runner, dask_module
    from ..distributed.shards import gathered_labels
    from ..tables import read_table

    _refuse_what_needs_all_rows(source)
    try:
        frame = dask_module("dask.dataframe").read_parquet(str(source.data))
    except (OSError, ValueError) as error:
        raise DataError(f"{source.data} is no Parquet file or folder: {error}") from error
    points = _columns(frame, source)
    connected = nullcontext() if scheduler is None else dask_module("distributed").Client(scheduler, timeout=30)
    with connected as client:
        labels = _plain(gathered_labels(frame[source.label], Runner(client)))
        options = estimator.classifier(labels).get_params()
        model = DaskInterpolatingClassifier(client=client, **options).fit(points, labels)
        made = model.to_local()
        made.certificate_ = model.certify(points, labels)
        vars(made).pop("feature_names_in_", None)  # the encoding knows the columns
    head = frame.head(SHOWN_ROWS, npartitions=-1)
    table = read_table(head, label=source.label, drop=source.drop or ())
    return made, table, (made.certificate_.n_samples, made.n_features_in_)


def _refuse_what_needs_all_rows(source: LabelledSource) -> None:
    """Options that a whole table in memory would be needed for."""
    if source.label is None:
        raise ParameterError("say which column holds the labels: --label NAME")
    for option, given, right in (("--scale", source.scale, "none"), ("--missing", source.missing, "error")):
        if given != right:
            raise ParameterError(f"--backend dask takes numbers as they are: say {option} {right}")
    if source.categorical or source.date_part:
        raise ParameterError("--backend dask takes numeric columns only: leave out --categorical and --date-part")


def _columns(frame: Any, source: LabelledSource) -> Any:
    """All columns but labels and those that are dropped."""
    unknown = [name for name in [source.label, *(source.drop or ())] if name not in frame.columns]
    if unknown:
        raise DataError(f"{source.data} has no column {unknown[0]!r}: its columns are {', '.join(frame.columns)}")
    return frame.drop(columns=[source.label, *(source.drop or ())])


def _plain(labels: Any) -> Any:
    """Labels as tables hold them: text as text."""
    import numpy as np

    plain = np.asarray(labels)
    return plain.astype(str) if plain.dtype == object else plain
