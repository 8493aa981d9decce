"""Certificates, and the verdicts on points that they are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, Steps, silent
from .._support.html import facts
from .._support.threads import Threads, single_threaded_blas
from ..data import Floats, Points
from ..network.activations import Activation

Flags = NDArray[np.bool_]
Found = TypeVar("Found")
Arithmetic = Literal["exact", "float64", "float32"]
ARITHMETICS: tuple[Arithmetic, ...] = get_args(Arithmetic)
Proof = Literal["construction", "recomputed"]
Method = Literal["counts", "running error bound", "double-double", "rational", "integer-exact", "evaluation"]
RadiusMethod = Literal["slack of detectors", "nearest hyperplane", "nearest sphere", "Lipschitz bound"]

SHOWN_ROWS = 10  # in texts, before "and so many more"
ROW_LISTS = ("errors", "given_up", "overruled", "narrow")  # what of a certificate names rows
EVALUATED = "by evaluation only"
GIVEN_ANSWERS = "given the model's answers"
STREAM_ALONE = "about streamed points alone, without the training data"
_SAFETY = {True: "safe in every evaluation", False: "not proved safe", None: "not examined"}


def method_of(activation: Activation) -> Method:
    """Return the method of a proof by construction."""
    if activation.is_own:
        return "evaluation"
    return "counts" if activation.is_threshold else "running error bound"


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate:
    """Points that a network classifies correctly, and the proof of it.

    Attributes
    ----------
    holds : bool
        Whether every point is right, those given up aside.
    n_samples, n_errors : int
    errors : ndarray of int64
        The rows that are not right, ascending, without those given up; and those that are right in the given arithmetic
        while ``predict``, which evaluates in float64, answers otherwise: the note then says how many.
    slack : float
        How close it was: the smallest distance between limit - 1/2 and count that decides a point; for real-valued
        activations the smallest proved distance between limit and value. NaN if not examined.
    robust_radius : float or None
        Moving every point by less than this Euclidean distance changes no answer. A lower
        bound; None if not examined. With ``radii`` their minimum.
    radii : ndarray of float64, or None if not asked for
        For every row a lower bound of how far the point may move, alone, without changing its answer: zero
        where it is wrong, NaN where it is given up.
    radius_row, radius_detector : int or None
        The row with the smallest of the radii, and the number of the detector that sets it, if one does.
    radius_upper : float or None
        By search, not by proof: some point has another answer so far away; so no radius that holds for all
        points is larger. None if not looked for, or not found.
    margin : float or None
        Every row that is right, but those of ``narrow``, keeps its answer wherever it moves by at most this
        Euclidean distance. None if there is no such claim.
    narrow : ndarray of int64
        Rows that are right without a proof of the margin, ascending.
    arithmetic : {"exact", "float64", "float32"}
        In exact arithmetic on the stored numbers, or in every evaluation in that format:
        in any order of sums, with or without fused multiply-adds or flushing to zero (but
        not in narrower formats that some hardware calls float32, such as TF32).
    proof : {"construction", "recomputed"}
        By the construction's own integers, or again from the network and the data alone.
    method : str or None
        What the proof rests on, the strongest means that any point needed: ``"counts"`` of exact
        bits; a ``"running error bound"`` in float64; pairs of float64 numbers (``"double-double"``);
        exact arithmetic on fractions (``"rational"``) or on integers (``"integer-exact"``); or
        ``"evaluation"``, which is no proof. None in certificates of versions that did not say.
    radius_method : str or None
        What the robust radius is: how far bits are that detectors cannot do without (``"slack of detectors"``),
        the distance to the ``"nearest hyperplane"`` or ``"nearest sphere"`` (or less), or a ``"Lipschitz
        bound"``: how far outputs are from changing the answer, over how fast they can change.
    float64_safe, float32_safe : bool or None
        Whether every point is right in every evaluation in that format; None if not examined.
    data_digest, network_digest : str
        SHA-256 of what the certificate is about.
    answers_digest : str or None
        Of patches before a model that is no chain of layers: SHA-256 of the answers of the model that are taken as
        given (class indices, little-endian int64). None: everything is proved.
    note : str
        What else there is to say, such as "by evaluation only".
    given_up : ndarray of int64
        Rows that the certificate says nothing about, ascending.
    mispredicted : ndarray of int64, or None if not examined
        Of the rows that are not right, those that ``predict`` gets wrong too. A row is right if the network's own
        output says so, that is if its class claims it and no other does; where none or several claim it, ``predict``
        takes the class that comes closest, and may be right.
    overruled : ndarray of int64
        Those of them that equal a row of another label, which the certificate is about: no function fits both.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import Certificate
    >>> missed = Certificate(
    ...     holds=False,
    ...     n_samples=4,
    ...     n_errors=1,
    ...     errors=np.array([2]),
    ...     slack=0.5,
    ...     proof="construction",
    ...     method="counts",
    ...     data_digest="4d9a",
    ...     network_digest="c03e",
    ... )
    >>> print(missed)
    certificate: fails for 1 of 4 points (proof: construction, exact arithmetic)
      rows in error  2
      method         counts
      slack          0.5
      robust radius  not examined
      float64        not examined
      float32        not examined
      data           sha256 4d9a
      network        sha256 c03e
    >>> Certificate.from_dict(missed.to_dict()).errors
    array([2])
    """

    holds: bool
    n_samples: int
    n_errors: int
    errors: NDArray[np.int64]
    slack: float = float("nan")
    robust_radius: float | None = None
    arithmetic: Arithmetic = "exact"
    proof: Proof
    method: Method | None = None
    radius_method: RadiusMethod | None = None
    float64_safe: bool | None = None
    float32_safe: bool | None = None
    data_digest: str
    network_digest: str
    note: str = ""
    given_up: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    overruled: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    mispredicted: NDArray[np.int64] | None = None
    radii: Floats | None = None
    radius_row: int | None = None
    radius_detector: int | None = None
    radius_upper: float | None = None
    margin: float | None = None
    narrow: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    answers_digest: str | None = None

    def __repr__(self) -> str:
        return f"<{self._headline()}>"

    def __str__(self) -> str:
        lines = [f"  {name:<13}  {text}" for name, text in self._details().items()]
        return "\n".join([self._headline(), *lines])

    def _repr_html_(self) -> str:
        return facts(self._headline(), self._details())

    def _headline(self) -> str:
        claimed, kept = self.n_samples - len(self.given_up), " kept" if len(self.given_up) else ""
        verdict = f"holds for all {claimed}{kept}" if self.holds else f"fails for {self.n_errors} of {claimed}{kept}"
        how = self.note or f"{self.arithmetic} arithmetic"
        return f"certificate: {verdict} points (proof: {self.proof}, {how})"

    def _details(self) -> dict[str, str]:
        without = f", but for rows {_shown(self.narrow)}" if len(self.narrow) else ""
        details = {
            "method": self.method or "not named",
            "slack": "not examined" if np.isnan(self.slack) else f"{self.slack:.6g}",
            "robust radius": self._radius_text(),
            **({} if self.margin is None else {"margin": f"{self.margin:.6g}{without}"}),
            "float64": _SAFETY[self.float64_safe],
            "float32": _SAFETY[self.float32_safe],
            "data": f"sha256 {self.data_digest}",
            "network": f"sha256 {self.network_digest}",
            **({} if self.answers_digest is None else {"given answers": f"sha256 {self.answers_digest}"}),
        }
        noise = np.setdiff1d(self.given_up, self.overruled)
        rows = {"rows in error": self.errors, "rows given up": noise, "overruled": self.overruled}
        shown = {name: _shown(some) for name, some in rows.items() if len(some)}
        if self.n_errors and self.mispredicted is not None:
            those = f": rows {_shown(self.mispredicted)}" if len(self.mispredicted) else ""
            shown["by predict"] = f"{len(self.mispredicted)} of them wrong{those}"
        return shown | details

    def _radius_text(self) -> str:
        if self.robust_radius is None:
            return "not examined"
        parts: list[str] = [self.radius_method or ""]
        parts += [] if self.radius_row is None else [f"row {self.radius_row}"]
        parts += [] if self.radius_detector is None else [f"detector {self.radius_detector}"]
        parts += [] if self.radius_upper is None else [f"at most {self.radius_upper:.6g}"]
        how = ", ".join(filter(None, parts))
        return f"{self.robust_radius:.6g}" + (f" ({how})" if how else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON can hold it; numbers that are not finite become strings."""
        return {name: _as_json(value) for name, value in vars(self).items()}

    def in_rows(self, rows: NDArray[np.int64] | None) -> Certificate:
        """Return the same with other numbers of rows: row k becomes ``rows[k]``; None: as they are."""
        if rows is None:
            return self
        named: dict[str, Any] = {name: rows[getattr(self, name)] for name in ROW_LISTS}
        named["mispredicted"] = None if self.mispredicted is None else rows[self.mispredicted]
        return replace(self, **named, radius_row=None if self.radius_row is None else int(rows[self.radius_row]))

    @classmethod
    def joined(cls, parts: Sequence[Certificate], data_digest: str) -> Certificate:
        """Join certificates of one network about consecutive parts of the rows, of which none is given up.

        Examples
        --------
        >>> import numpy as np
        >>> from exactfit import InterpolatingClassifier, certify
        >>> from exactfit.certificate import Certificate
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
        >>> model = InterpolatingClassifier(random_state=0).fit(X, y)
        >>> whole = certify(model, X, y)
        >>> parts = [certify(model, X[:3], y[:3]), certify(model, X[3:], y[3:])]
        >>> str(Certificate.joined(parts, whole.data_digest)) == str(whole)
        True
        """
        starts = np.cumsum([0, *(part.n_samples for part in parts)])
        named = [part.in_rows(start + np.arange(part.n_samples)) for start, part in zip(starts, parts, strict=False)]
        rows: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in named]) for name in ROW_LISTS}
        nearest = min(named, key=lambda part: np.inf if part.robust_radius is None else part.robust_radius)
        return replace(
            nearest,
            holds=all(part.holds for part in parts),
            n_samples=int(starts[-1]),
            n_errors=len(rows["errors"]),
            slack=min(part.slack for part in parts),
            float64_safe=_all_safe([part.float64_safe for part in parts]),
            float32_safe=_all_safe([part.float32_safe for part in parts]),
            radii=_joined([part.radii for part in parts]),
            mispredicted=_joined([part.mispredicted for part in named]),
            data_digest=data_digest,
            **rows,
        )

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """Make a certificate of what :meth:`to_dict` returns."""
        parts: dict[str, Any] = {name: np.asarray(plain.get(name, ()), dtype=np.int64) for name in ROW_LISTS}
        parts["slack"] = float(plain["slack"])
        for name in ("robust_radius", "radius_upper"):
            parts[name] = None if plain.get(name) is None else float(plain[name])
        if plain.get("radii") is not None:
            parts["radii"] = np.asarray([float(radius) for radius in plain["radii"]])
        if plain.get("mispredicted") is not None:
            parts["mispredicted"] = np.asarray(plain["mispredicted"], dtype=np.int64)
        return cls(**{**plain, **parts})


def rounded_down(values: Floats) -> float:
    """Return the smallest of some numbers that carry a few roundings, made a lower bound again."""
    smallest = max(0.0, float(np.min(values, initial=np.inf)))
    return smallest if np.isinf(smallest) else float(np.nextafter(smallest * (1.0 - 2.0**-50), 0.0))


def all_rounded_down(values: Floats) -> Floats:
    """Return numbers that carry a few roundings, made lower bounds again."""
    lower = np.where(np.isinf(values), values, np.nextafter(values * (1.0 - 2.0**-50), 0.0))
    return np.maximum(lower, 0.0)


def _all_safe(parts: list[bool | None]) -> bool | None:
    return None if None in parts else all(parts)


def _as_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_as_json(number) for number in value.tolist()]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _shown(rows: NDArray[np.int64]) -> str:
    more = len(rows) - SHOWN_ROWS
    shown = ", ".join(str(row) for row in rows[:SHOWN_ROWS])
    return f"{shown} and {more} more" if more > 0 else shown


@dataclass(frozen=True, eq=False)
class Verdict:
    """Points that are right in "exact" arithmetic; in "float64" and "float32", if every evaluation says so."""

    right: dict[Arithmetic, Flags]
    slack: float
    radius: float | None
    method: Method = "counts"
    radius_method: RadiusMethod | None = None
    note: str = ""
    radii: Floats | None = None
    setters: NDArray[np.int64] | None = None  # the detector behind each radius, -1 for none

    def is_safe(self, arithmetic: Arithmetic) -> bool | None:
        """Return whether all points are right, None if not examined."""
        return bool(self.right[arithmetic].all()) if arithmetic in self.right else None


@dataclass(frozen=True)
class ProofEffort:
    """Threads, progress callback, and radii of a proof."""

    n_jobs: int | None = None
    progress: Progress = silent
    radii: Arithmetic | None = None  # arithmetic in which every point gets a radius


def map_tiles(points: Points, size: int, effort: ProofEffort, judge: Callable[[Floats, slice], Found]) -> list[Found]:
    """Return the results of ``judge`` for all points, ``size`` rows at a time."""
    steps = Steps(effort.progress, "points", points.shape[0])

    def work(piece: tuple[int, int]) -> Found:
        with np.errstate(all="ignore"):  # overflow leaves an entry to exact arithmetic
            found = judge(points.tile(*piece), slice(*piece))
        steps.add(piece[1] - piece[0])
        return found

    with single_threaded_blas(), Threads(effort.n_jobs) as threads:
        return threads.map(work, points.ranges(size))


def join_tiles(tiles: Sequence[Verdict], method: Method, radius_method: RadiusMethod) -> Verdict:
    """Join the verdicts on tiles in order, each with a radius."""
    none = np.empty(0, dtype=bool)
    return Verdict(
        right={name: np.concatenate([none, *(tile.right[name] for tile in tiles)]) for name in ARITHMETICS},
        slack=min((tile.slack for tile in tiles), default=float("inf")),
        radius=min((tile.radius for tile in tiles if tile.radius is not None), default=float("inf")),
        method=method,
        radius_method=radius_method,
        radii=_joined([tile.radii for tile in tiles]),
        setters=_joined([tile.setters for tile in tiles]),
    )


def _joined(parts: list[Any]) -> NDArray[Any] | None:
    return np.concatenate(parts) if parts and all(part is not None for part in parts) else None
