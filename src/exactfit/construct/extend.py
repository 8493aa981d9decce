"""Lower the limits over a stream of further points (the paper's corollary for infinite sets).

The corollary builds a network on finitely many centres, but takes each limit as the minimum over the whole rest set.
Here the whole set comes in batches: detectors stay, limits fall to the minimum over all rest points that were seen, and
a detector whose limit falls to zero (with weights: to the sum of the negative ones), so that it can fire on nothing, is
dropped. So none fires on a rest point of the stream. That every target point still has a detector is what the corollary
promises with positive probability only: it is counted.

Limits fall until the last batch, so the target points are examined in a second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.limits import highest_sums, lowest_counts, lowest_sums
from .._support.console import Progress, progress_bar
from .._support.parameters import check_integer
from .._support.threads import SERIAL, Threads
from ..certificate import Certificate
from ..certificate.record import EVALUATED, STREAM_ALONE, method_of
from ..data import Digest, as_labels, as_points, class_indices, row_digests
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network import DetectorNetwork
from ..network.bits import BitMatrix
from ..network.sides import sides
from ..network.weights import weigh_words
from ..outcome import Outcome
from .construction import Construction, Trace
from .hyperplanes import Hyperplanes
from .patterns import rounded
from .values import Values

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]
Batches = Iterable[tuple[Any, Any]] | Callable[[], Iterable[tuple[Any, Any]]]
Tile = tuple[int, Floats, Codes]  # its first row, points and class codes

TILE_ROWS = 2048  # points whose counts over all detectors are held at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class Extension:
    """A construction with limits lowered over a stream, and what became of the points.

    Rows are those of the training data if they were given, then those of the stream, numbered on.

    Attributes
    ----------
    construction : Construction
        The new network; its trace's rows are numbered as here. The witness of a detector whose
        limit was not lowered is the old one; without training data that of a lowered one is -1.
    certificate : Certificate
        About all points that were given.
    n_training, n_streamed : int
    n_to_claim : int
        Points of classes that have detectors, or should have.
    n_uncovered : int
        Of these, how many no detector of their class claims.
    uncovered : ndarray of int64
        Their rows, the first ``most_reported`` of them.
    lowered, dropped : ndarray of int64
        Detectors of the old network whose limit fell, and those dropped because it fell to the lowest
        count that there is: zero, or the sum of the negative weights.
    classifier : InterpolatingClassifier or None
        If a classifier was extended: a copy of it with the new network, trace and certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import extend
    >>> from exactfit.construct import Options, adaptive_width
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> made = adaptive_width(X, y, Options(min_width=64), random_state=0)
    >>> extended = extend(made, [(np.array([[1.6], [0.9], [2.5]]), np.array([0, 1, 0]))], training=(X, y))
    >>> extended.n_uncovered, extended.certificate.holds
    (0, True)
    """

    construction: Construction
    certificate: Certificate
    n_training: int
    n_streamed: int
    n_to_claim: int
    n_uncovered: int
    uncovered: Rows
    lowered: Rows
    dropped: Rows
    classifier: Any = None

    def __repr__(self) -> str:
        return f"<Extension: {self}>"

    @property
    def claimed_share(self) -> float:
        """Fraction of the points to claim that a detector of their class claims."""
        return 1.0 - self.n_uncovered / self.n_to_claim if self.n_to_claim else 1.0

    def __str__(self) -> str:
        return (
            f"{self.n_streamed:,} points streamed: {len(self.lowered):,} limits lowered, "
            f"{len(self.dropped):,} detectors dropped, {self.construction.network.widths[1]:,} left; "
            f"{self.n_uncovered:,} of {self.n_to_claim:,} points to claim are without a detector"
        )


def extend(
    model: Any, batches: Batches, *, training: tuple[Any, Any] | None = None,
    most_reported: int = 10**6, n_jobs: int | None = None, verbose: bool = False,
) -> Extension:  # fmt: skip
    """Keep the detectors, and lower each limit to the minimum over a stream of further points.

    Memory is needed for one batch and its bits, not for the stream.

    Parameters
    ----------
    model : InterpolatingClassifier (fitted), or Construction
        The latter made by ``fixed_width`` or ``adaptive_width``.
    batches : iterable of (X, y), or function that returns one
        Points and labels; class codes for a construction. Gone through twice: an iterator that ends after the first
        time is refused, and so are batches that differ the second time.
    training : tuple (X, y), optional
        The points that the network was built for: with them, the report and the
        certificate cover these too.
    most_reported : int
        The most uncovered points that are listed; all are counted.
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    Extension
        With a new construction (a new network, with a digest of its own) and certificate, and for a
        classifier a new classifier.

    Notes
    -----
    What is proved is exact arithmetic on the stored numbers, also for a classifier with ``exact_in``, whose
    points are rounded to its format first. ``certify`` says more.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import extend
    >>> from exactfit.construct import fixed_width
    >>> from exactfit.geometry.theorem import make_disc_moons
    >>> X, y = make_disc_moons(200, noise=0.1, random_state=0)
    >>> made = fixed_width(X, y, 200, random_state=0)
    >>> print(extend(made, lambda: (make_disc_moons(1000, noise=0.1, random_state=k) for k in (1, 2)), training=(X, y)))
    2,000 points streamed: 4 limits lowered, 0 detectors dropped, 5 left; 0 of 1,099 points to claim are without
    a detector
    """
    old, labels = _construction_of(model)
    detectors = DetectorNetwork.of(old.network)
    if not detectors.speak_once:
        raise ParameterError("extend takes networks whose detectors speak for one class each")
    most_reported = check_integer("most_reported", most_reported, at_least=0)
    classes = tuple(sorted(detectors.decoder.classes))
    stream = Stream(batches, training, old.network.n_features, classes, labels)
    with progress_bar(verbose) as progress, Threads(n_jobs) as threads:
        passes = _Passes(_measure_of(detectors), getattr(model, "exact_in", None), stream, threads, progress)
        lowered = passes.lower(detectors)
        kept = np.flatnonzero(lowered.limits > detectors.floors)
        left = detectors.take(kept, lowered.limits[kept])
        claimed = passes.claim(left, lowered, most_reported)
    n_training = 0 if training is None else len(training[1])
    extended = _assemble(old, kept, lowered, claimed, n_training, training is not None)
    if labels is None:
        return extended
    classifier = copy(model)
    classifier._keep(extended.construction, labels, extended.certificate)  # warns like ``fit`` if points are missed
    return replace(extended, classifier=classifier)


def _construction_of(model: Any) -> tuple[Construction, NDArray[Any] | None]:
    """Return the construction, and the labels of its classes (None if these are class codes)."""
    if isinstance(model, Construction):
        return model, None
    if all(hasattr(model, name) for name in ("network_", "outcome_", "trace_", "classes_")):
        return Construction(model.network_, model.outcome_, model.trace_), model.classes_
    if hasattr(model, "fit") and hasattr(model, "fallback_cuts"):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit before extend")
    raise ParameterError(
        f"extend takes a Construction or a fitted InterpolatingClassifier, got {type(model).__name__}: of a table's "
        "model or a pipeline, take its classifier, and points as that sees them"
    )


class Stream:
    """Batches of points and class codes that can be gone through again, the training points first if given."""

    def __init__(
        self,
        batches: Batches,
        training: Any,
        n_features: int,
        classes: tuple[int, ...],
        labels: NDArray[Any] | None = None,
    ) -> None:
        if not callable(batches) and iter(batches) is batches:
            raise ParameterError(
                "batches are gone through twice, and this iterator ends after the first time: "
                "pass a list, or a function that returns a new iterator"
            )
        self.batches, self.training, self.n_features = batches, training, n_features
        self.classes, self.labels = classes, labels

    def __iter__(self) -> Iterator[tuple[Any, Codes]]:
        if self.training is not None:
            yield self._checked(self.training)
        for batch in self.batches() if callable(self.batches) else self.batches:
            yield self._checked(batch)

    def _checked(self, batch: Any) -> tuple[Any, Codes]:
        try:
            X, y = batch
        except (TypeError, ValueError) as error:
            raise DataError(f"a batch must be a pair (X, y): {error}") from error
        points = as_points(X, "a batch", self.n_features, or_none=True)
        labels = as_labels(y, points.shape[0])
        codes = class_indices(labels, None if self.labels is None else self.labels.tolist())
        unknown = np.flatnonzero(~np.isin(codes, self.classes))
        if len(unknown):
            row, what = unknown[0], "class codes" if self.labels is None else "labels"
            raise DataError(f"a batch has {what} that the network does not know: {labels[row]} in row {row}")
        return points, codes

    def named(self, codes: Codes) -> NDArray[Any]:
        """Return the labels of class codes, if the batches hold labels."""
        return codes if self.labels is None else self.labels[codes]

    def tiles(self, batch: tuple[Any, Codes], n_at_once: int) -> Iterator[list[Tile]]:
        """Yield rows of a batch as float64, some tiles at a time."""
        X, codes = batch
        waiting: list[Tile] = []
        for rows in row_tiles(X, TILE_ROWS):
            waiting.append((rows.start, dense_rows(X, rows), codes[rows]))
            if len(waiting) == n_at_once:
                yield waiting
                waiting = []
        if waiting:
            yield waiting


class Measure(Protocol):
    """Counts or values of points under masks or weights."""

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        """Return limits, lowered to what the points have at least, and the first point that did so (-1 for none)."""
        ...

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which detectors claim which points for certain, shape (detectors, points)."""
        ...


@dataclass(frozen=True, eq=False)
class _Bits:
    planes: Hyperplanes

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        lows, where = limits.copy(), np.full(len(limits), -1)
        words = sides(points, self.planes.weights, self.planes.biases).words
        lowest_counts(words, 0, len(points), counters, lows, where)
        return lows, where

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        words = sides(points, self.planes.weights, self.planes.biases).words
        counts = np.empty((len(counters), len(points)), dtype=np.int64)
        count_all(words, 0, len(points), counters, 0, counts)
        return np.asarray(counts < limits[:, None])


@dataclass(frozen=True, eq=False)
class _Weights:
    planes: Hyperplanes

    def _counts(self, points: Floats, weights: NDArray[Any]) -> Rows:
        words = sides(points, self.planes.weights, self.planes.biases).words
        return np.array([weigh_words(words, row) for row in weights], dtype=np.int64).reshape(len(weights), len(points))

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        counts = self._counts(points, counters)
        where = counts.argmin(axis=1)
        lows = counts[np.arange(len(counts)), where]
        return np.minimum(lows, limits), np.where(lows < limits, where, -1)

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(self._counts(points, counters) < limits[:, None])


class _Values:
    def __init__(self, planes: Hyperplanes, activation: Any) -> None:
        d = planes.weights.shape[1]
        nothing = BitMatrix.from_bool(np.empty((0, planes.count), dtype=bool))
        self.sums = Values(np.empty((0, d)), np.arange(0), planes, nothing, activation, SERIAL)

    def lowest(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        lows, where = limits.copy(), np.full(len(limits), -1)
        values, errors = self.sums.values(points), self.sums.errors(points)
        lowest_sums(values, errors, self.sums.share, counters, 0, lows, where)
        return lows, where

    def claims(self, points: Floats, counters: NDArray[Any], limits: NDArray[Any]) -> NDArray[np.bool_]:
        highs = np.empty((len(counters), len(points)))
        values, errors = self.sums.values(points), self.sums.errors(points)
        highest_sums(values, errors, self.sums.share, counters, highs)
        return np.asarray(highs < limits[:, None])


def _measure_of(detectors: DetectorNetwork) -> Measure:
    """Return counts for the threshold, values for everything else."""
    planes = Hyperplanes(detectors.normals, detectors.biases)
    if detectors.are_weighted:
        return _Weights(planes)
    return _Bits(planes) if detectors.activation.is_threshold else _Values(planes, detectors.activation)


@dataclass(frozen=True, eq=False)
class _Lowered:
    limits: NDArray[Any]
    witnesses: Rows
    n_rows: int
    fingerprint: str


@dataclass(frozen=True, eq=False)
class _Claimed:
    coverage: Rows
    n_to_claim: int
    n_uncovered: int
    uncovered: Rows
    digest: str


@dataclass(frozen=True, eq=False)
class _Passes:
    """The two passes over a stream."""

    measure: Measure
    exact_in: Any
    stream: Stream
    threads: Threads
    progress: Progress

    def _seen(self, points: Floats) -> Floats:
        """Return points as a classifier with ``exact_in`` sees them."""
        return np.asarray(rounded(points, self.exact_in), dtype=np.float64)

    def lower(self, detectors: DetectorNetwork) -> _Lowered:
        """Lower every limit to the minimum over all rest points: the first pass."""
        limits, witnesses = detectors.limits.copy(), np.full(len(detectors.limits), -1)
        digest, n_rows = Digest(), 0
        for batch in self.stream:
            for wave in self.stream.tiles(batch, self.threads.count):
                found = self.threads.map(partial(self._on_rest, detectors, limits), wave)
                for (start, points, own), (lows, where) in zip(wave, found, strict=True):
                    better = lows < limits
                    limits[better], witnesses[better] = lows[better], n_rows + start + where[better]
                    digest.add(points, self.stream.named(own))
            n_rows += len(batch[1])
            self.progress("limits", n_rows, None)
        return _Lowered(limits, witnesses, n_rows, digest.hexdigest())

    def _on_rest(self, detectors: DetectorNetwork, limits: NDArray[Any], tile: Tile) -> tuple[NDArray[Any], Rows]:
        points, codes = self._seen(tile[1]), tile[2]
        lows, where = limits.copy(), np.full(len(limits), -1)
        for k, code in enumerate(detectors.classes):
            own, rest = detectors.of_output(k), np.flatnonzero(codes != code)
            if len(own) and len(rest):
                lows[own], at = self.measure.lowest(points[rest], detectors.counter_rows[own], limits[own])
                where[own] = np.where(at >= 0, rest[at], -1)
        return lows, where

    def claim(self, detectors: DetectorNetwork, lowered: _Lowered, most: int) -> _Claimed:
        """Count the target points that the remaining detectors claim: the second pass."""
        coverage, missed = np.zeros(len(detectors.limits), dtype=np.int64), [np.empty(0, dtype=np.int64)]
        check, digest = Digest(), Digest((lowered.n_rows, self.stream.n_features))
        n_rows = n_to_claim = n_uncovered = listed = 0
        for batch in self.stream:
            for wave in self.stream.tiles(batch, self.threads.count):
                found = self.threads.map(partial(self._on_targets, detectors), wave)
                for (start, points, own), firsts in zip(wave, found, strict=True):
                    rows = row_digests(points, self.stream.named(own))
                    check.join(rows)
                    digest.join(rows)
                    coverage += np.bincount(firsts[firsts >= 0], minlength=len(coverage))
                    n_to_claim += int((firsts >= -1).sum())
                    here = n_rows + start + np.flatnonzero(firsts == -1)
                    n_uncovered += len(here)
                    missed.append(here[: most - listed])
                    listed += len(missed[-1])
            n_rows += len(batch[1])
            self.progress("points", n_rows, lowered.n_rows)
        if check.hexdigest() != lowered.fingerprint:
            raise DataError("the batches gave other points the second time: seed them, so that they repeat")
        return _Claimed(coverage, n_to_claim, n_uncovered, np.concatenate(missed), digest.hexdigest())

    def _on_targets(self, detectors: DetectorNetwork, tile: Tile) -> Rows:
        """Return for every point the first detector that claims it; -1 for none, -2 if it needs none."""
        points, codes = self._seen(tile[1]), tile[2]
        firsts = np.full(len(codes), -2, dtype=np.int64)
        for k, code in enumerate(detectors.classes):
            own, target = detectors.of_output(k), np.flatnonzero(codes == code)
            firsts[target] = -1
            if not len(own) or not len(target):
                continue
            claims = self.measure.claims(points[target], detectors.counter_rows[own], detectors.limits[own])
            claimed = claims.any(axis=0)
            firsts[target[claimed]] = own[claims[:, claimed].argmax(axis=0)]
        return firsts


def _assemble(
    old: Construction, kept: NDArray[np.intp], lowered: _Lowered, claimed: _Claimed, n_training: int,
    with_training: bool,
) -> Extension:  # fmt: skip
    fell = lowered.witnesses >= 0
    witnesses = np.where(fell, lowered.witnesses if with_training else -1, old.trace.witnesses)
    trace = replace(
        old.trace, anchors=old.trace.anchors[kept], witnesses=witnesses[kept], coverage=claimed.coverage,
        detector_classes=old.trace.detector_classes[kept], uncovered=claimed.uncovered, **_support(old.trace, kept),
        without_margin=old.trace.without_margin[:0], margin=0.0,  # limits that fall leave no proof of it
    )  # fmt: skip
    outcome = Outcome.POINTS_MISSED if claimed.n_uncovered else Outcome.INTERPOLATES
    fewer = DetectorNetwork.of(old.network).take(kept, lowered.limits[kept])
    made = Construction(replace(fewer, units=None), outcome, trace)
    return Extension(
        construction=made,
        certificate=_certificate(made, claimed, lowered.n_rows, with_training),
        n_training=n_training,
        n_streamed=lowered.n_rows - n_training,
        n_to_claim=claimed.n_to_claim,
        n_uncovered=claimed.n_uncovered,
        uncovered=claimed.uncovered,
        lowered=np.flatnonzero(fell),
        dropped=np.setdiff1d(np.arange(len(fell)), kept),
    )


def _support(trace: Trace, kept: NDArray[np.intp]) -> dict[str, Any]:
    """Return the support of the detectors that are kept; nothing for masks."""
    if not len(trace.support_starts):
        return {}
    entries = np.concatenate(
        [np.empty(0, dtype=np.int64), *(np.arange(*trace.support_starts[k : k + 2]) for k in kept)]
    )
    sizes = np.diff(trace.support_starts)[kept]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return {"support": trace.support[entries], "dual_coef": trace.dual_coef[entries], "support_starts": starts}


def _certificate(made: Construction, claimed: _Claimed, n_samples: int, with_training: bool) -> Certificate:
    """Return the certificate that the two passes prove."""
    activation = made.network.layers[0].activation
    assert activation is not None
    notes = ([EVALUATED] if activation.is_own else []) + ([] if with_training else [STREAM_ALONE])
    if len(claimed.uncovered) < claimed.n_uncovered:
        notes.append(f"only the first {len(claimed.uncovered)} rows in error are listed")
    # A threshold detector's limit is the count at its witness, so the smallest slack is 1/2, if the witness is among
    # the points.
    exact_slack = 0.5 if len(made.trace.anchors) else np.inf
    return Certificate(
        holds=claimed.n_uncovered == 0,
        n_samples=n_samples,
        n_errors=claimed.n_uncovered,
        errors=claimed.uncovered,
        slack=exact_slack if activation.is_threshold and with_training else np.nan,
        proof="construction",
        method=method_of(activation),
        data_digest=claimed.digest,
        network_digest=made.network.digest,
        note="; ".join(notes),
    )
