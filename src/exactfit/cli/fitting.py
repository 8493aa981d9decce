"""What commands that fit take: options of the estimator, made from its record, and where it runs.

``--backend dask`` is for Parquet files and folders of numeric columns, on a cluster or larger than memory.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import Field, dataclass, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import DataError, ParameterError
from ..options import ACCURATE, PAPER, Options, Shell
from .arguments import LabelledSource, Seed, as_label, as_number, option, shape_of
from .output import show_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..estimators import InterpolatingClassifier
    from ..tables import Table

BACKENDS = ("local", "dask")
SHOWN_ROWS = 100  # of a file, from which its columns are known
Preset = Annotated[
    str, typer.Option(help="Where options start from: accurate (measured), or paper (as it is published).")
]


def _argument(one: Field[Any]) -> tuple[str, Any, Any]:
    """An option of the record as the command line takes it: its name there, its type, and its default.

    A default that a preset changes is None here, and only shown.
    """
    kind, default = _shell(one).kind, ACCURATE.get(one.name, one.default)
    if one.name not in PAPER:
        return _name(one), Annotated[kind, option(one.name)], default
    shown = one.name if default is True else f"{default:g}" if default == 0 else default
    return _name(one), Annotated[kind | None, option(one.name, show_default=shown)], None


def _shell(one: Field[Any]) -> Shell:
    found: Shell = one.metadata["shell"]
    return found


def _name(one: Field[Any]) -> str:
    """What an option is called on the command line, as a name in Python."""
    flags = _shell(one).flags
    return flags[0].strip("-").replace("-", "_") if flags else one.name


_Arguments: Any = make_dataclass(
    "_Arguments", [("preset", Preset, "accurate"), *map(_argument, fields(Options)), ("seed", Seed, None)], frozen=True
)


class Estimator(_Arguments):  # type: ignore[misc]  # its fields are made
    """Options of ``InterpolatingClassifier``; where None is no value, it stands for the default of the preset."""

    def classifier(self, labels: NDArray[Any]) -> InterpolatingClassifier:
        """The estimator with these options."""
        from ..estimators import InterpolatingClassifier

        presets = {"accurate": InterpolatingClassifier, "paper": InterpolatingClassifier.paper}
        if self.preset not in presets:
            raise ParameterError(f"--preset must be accurate or paper, got {self.preset!r}")
        given = {one.name: self._value(one, labels) for one in fields(Options)}
        given |= {"random_state": self.seed, "verbose": int(show_progress())}
        return presets[self.preset](**{name: value for name, value in given.items() if value is not None})

    def _value(self, one: Field[Any], labels: NDArray[Any]) -> Any:
        """An option as the estimator takes it."""
        given, shell = getattr(self, _name(one)), _shell(one)
        if one.name == "target":
            return as_label(given, labels)
        if one.name == "image_shape":
            return shape_of(given)
        if one.name == "margin":
            return given if given is None or given.endswith("%") else as_number("--margin", given, float)
        if shell.number is None or given is None or given in shell.words:
            return given
        return as_number(f"--{one.name.replace('_', '-')}", given, shell.number)


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
    for name, given, right in (("--scale", source.scale, "none"), ("--missing", source.missing, "error")):
        if given != right:
            raise ParameterError(f"--backend dask takes numbers as they are: say {name} {right}")
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
