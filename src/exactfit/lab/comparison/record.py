"""What comes out of a comparison: one row for each contender."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..._support.frames import as_frame
from .contender import Kind
from .table import to_text


@dataclass(frozen=True, kw_only=True)
class Row:
    """How one contender did; None stands for what is not known.

    Attributes
    ----------
    name : str
    kind : {"construction", "trained network", "not a network"}
    depth, neurons, parameters, nonzero, distinct, bits_per_weight, total_bits, largest_weight
        See :class:`~exactfit.lab.comparison.sizes.Sizes`.
    robust_radius : float or None
        Moving every training point by less than this Euclidean distance changes no answer: a lower bound.
    radius_method : str
        How that is known.
    radius_upper : float or None
        The smallest change found that changes an answer; see :mod:`~exactfit.lab.comparison.radius`.
    build_seconds : float or None
        Wall time of the construction alone: without start-up, compilation, and what follows.
    accuracy : float or None
        Share of the points held out that the network itself gets right; undecided ones are wrong.
    certified : bool
        Whether every training point is proved to be right.
    proof : str
        By which method.
    reason : str
        Why something is missing.

    Examples
    --------
    >>> from exactfit.lab.comparison import Row
    >>> Row(name="baum", kind="construction", reason="time limit of 60 s, while building").certified
    False
    """

    name: str
    kind: Kind
    depth: int | None = None
    neurons: int | None = None
    parameters: int | None = None
    nonzero: int | None = None
    distinct: int | None = None
    bits_per_weight: int | None = None
    total_bits: int | None = None
    largest_weight: float | None = None
    robust_radius: float | None = None
    radius_method: str = ""
    radius_upper: float | None = None
    build_seconds: float | None = None
    accuracy: float | None = None
    certified: bool = False
    proof: str = ""
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; numbers that are not finite become strings."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Comparison:
    """A table: one row for each construction and baseline, all built on the same points.

    Attributes
    ----------
    rows : tuple of Row
        In the order asked for.
    n_samples, n_held_out : int
        Points to build on, points held out.
    n_features, n_classes : int
    time_limit : float
        Seconds for each row.
    memory_limit : int
        Bytes for each row.
    random_state : int
    missing : tuple of str
        Names that did not get their turn, because the comparison was interrupted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> comparison = exactfit.compare(*load_iris(return_X_y=True), ["huang", "1-nn"])
    >>> [(row.name, row.certified, row.depth) for row in comparison.rows]
    [('huang', True, 1), ('1-nn', False, None)]
    >>> comparison["1-nn"].radius_method
    'half the separation, exact'
    """

    rows: tuple[Row, ...]
    n_samples: int
    n_held_out: int
    n_features: int
    n_classes: int
    time_limit: float
    memory_limit: int
    random_state: int
    missing: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int | None = None) -> str:
        """The table as text, at most ``width`` columns wide (as the terminal by default)."""
        return to_text(self, width)

    @property
    def smallest(self) -> Row | None:
        """The certified network of fewest bits."""
        return self._first(lambda row: row.total_bits)

    @property
    def most_robust(self) -> Row | None:
        """The certified network of largest proved robust radius."""
        return self._first(lambda row: None if row.robust_radius is None else -row.robust_radius)

    @property
    def fastest(self) -> Row | None:
        """The certified network built in the shortest time."""
        return self._first(lambda row: row.build_seconds)

    def _first(self, key: Callable[[Row], float | None]) -> Row | None:
        ranked = [(value, row) for row in self.rows if row.certified and (value := key(row)) is not None]
        return min(ranked, key=lambda pair: pair[0])[1] if ranked else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "rows"}
        return {**plain, "missing": list(self.missing), "rows": [row.to_dict() for row in self.rows]}

    def to_frame(self) -> Any:
        """A pandas frame, one line for each row, indexed by name."""
        columns = {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(Row)}
        return as_frame(columns).set_index("name")
