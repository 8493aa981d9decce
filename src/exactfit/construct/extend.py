"""Lower the limits over a stream of further points (the paper's corollary for infinite sets).

The corollary builds a network on finitely many centres, but takes each limit as the minimum over the whole rest set.
Here the whole set comes in batches: detectors stay, limits fall to the minimum over all rest points that were seen, and
a detector whose limit falls to zero (with weights: to the sum of the negative ones), so that it can fire on nothing, is
dropped. So none fires on a rest point of the stream. That every target point still has a detector is what the corollary
promises with positive probability only: it is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, progress_bar
from .._support.parameters import check_integer
from .._support.threads import SERIAL, Threads
from ..certificate import Certificate
from ..certificate.record import STREAM_ALONE
from ..data import Codes, Floats, Rows, as_labels, as_points, class_indices, new_digest, row_digests
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from ..network import DetectorNetwork
from ..network.bits import BitMatrix
from ..outcome import Outcome
from .construction import Construction
from .hyperplanes import Hyperplanes
from .patterns import rounded
from .values import Values

Tile = tuple[int, Floats, Codes]  # its first row, points and class codes
Batches = Iterable[tuple[Any, Any]] | Callable[[], Iterable[tuple[Any, Any]]]

TILE_ROWS = 2048  # points whose counts over the detectors of a class are held at a time


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
    most_reported = check_integer("most_reported", most_reported, at_least=0)
    if not callable(batches) and iter(batches) is batches:
        raise ParameterError(
            "batches are gone through twice, and this iterator ends after the first time: "
            "pass a list, or a function that returns a new iterator"
        )
    with progress_bar(verbose) as progress, Threads(n_jobs) as threads:
        stream = _Stream(batches, training, detectors, labels, getattr(model, "exact_in", None), threads, progress)
        # Limits fall until the last batch, so target points are examined in a second pass.
        limits, lowest_rows, n_rows, fingerprint = stream.lowered_limits()
        kept = np.flatnonzero(limits > detectors.floors)
        left = detectors.take(kept, limits[kept])
        coverage, uncovered, n_to_claim, digest = stream.claims(left, n_rows, fingerprint, most_reported)
    fell, n_uncovered, trace = lowest_rows >= 0, n_to_claim - int(coverage.sum()), old.trace
    n_training = 0 if training is None else len(training[1])
    witnesses = np.where(fell, -1 if training is None else lowest_rows, trace.witnesses)
    support: dict[str, Any] = {}
    if len(trace.support_starts):
        starts, sizes = trace.support_starts, np.diff(trace.support_starts)
        own = np.repeat(np.isin(np.arange(len(sizes)), kept), sizes)
        support = {"support": trace.support[own], "dual_coef": trace.dual_coef[own]}
        support["support_starts"] = np.concatenate([starts[:1], np.cumsum(sizes[kept])])
    trace = replace(
        trace, anchors=trace.anchors[kept], witnesses=witnesses[kept], coverage=coverage,
        detector_classes=trace.detector_classes[kept], uncovered=uncovered, **support,
        without_margin=trace.without_margin[:0], margin=0.0,  # limits that fall leave no proof of it
    )  # fmt: skip
    made = Construction(left, Outcome.POINTS_MISSED if n_uncovered else Outcome.INTERPOLATES, trace, uncovered)
    certificate = made.certificate(n_rows, digest, None)
    notes = [certificate.note, "" if training is not None else STREAM_ALONE]
    if len(uncovered) < n_uncovered:
        notes.append(f"only the first {len(uncovered)} rows in error are listed")
    # A limit is the count at its witness, so the smallest slack is known only if the witness is among the points.
    slack = np.nan if training is None else certificate.slack
    certificate = replace(certificate, n_errors=n_uncovered, slack=slack, note="; ".join(filter(None, notes)))
    classifier = None
    if labels is not None:
        classifier = copy(model)
        classifier._keep(made, labels, certificate)  # warns like ``fit`` if points are missed
    return Extension(
        construction=made, certificate=certificate, n_training=n_training, n_streamed=n_rows - n_training,
        n_to_claim=n_to_claim, n_uncovered=n_uncovered, uncovered=trace.uncovered, lowered=np.flatnonzero(fell),
        dropped=np.setdiff1d(np.arange(len(fell)), kept), classifier=classifier,
    )  # fmt: skip


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


@dataclass(frozen=True, eq=False)
class _Stream:
    """Batches of points and labels, the training points first if given; and the two passes over them."""

    batches: Batches
    training: Any
    network: DetectorNetwork
    labels: NDArray[Any] | None
    exact_in: str | None
    threads: Threads
    progress: Progress

    def _waves(self) -> Iterator[tuple[list[Tile], NDArray[np.uint8]]]:
        """Yield tiles of rows, one for each thread, with the digests of all their rows."""
        batches, n_rows = self.batches() if callable(self.batches) else self.batches, 0
        for batch in chain([] if self.training is None else [self.training], batches):
            X, codes = self._checked(batch)
            named = codes if self.labels is None else self.labels[codes]
            tiles = row_tiles(X, TILE_ROWS)
            for at in range(0, len(tiles), self.threads.count):
                some = tiles[at : at + self.threads.count]
                wave = [(n_rows + rows.start, dense_rows(X, rows), codes[rows]) for rows in some]
                digests = [row_digests(points, named[rows]) for rows, (_, points, _) in zip(some, wave, strict=True)]
                yield wave, np.concatenate(digests)
            n_rows += len(codes)

    def _checked(self, batch: Any) -> tuple[Any, Codes]:
        try:
            X, y = batch
        except (TypeError, ValueError) as error:
            raise DataError(f"a batch must be a pair (X, y): {error}") from error
        points = as_points(X, "a batch", self.network.n_features, or_none=True)
        labels = as_labels(y, points.shape[0])
        codes = class_indices(labels, None if self.labels is None else self.labels.tolist())
        unknown = np.flatnonzero(~np.isin(codes, self.network.decoder.classes))
        if len(unknown):
            row, what = unknown[0], "class codes" if self.labels is None else "labels"
            raise DataError(f"a batch has {what} that the network does not know: {labels[row]} in row {row}")
        return points, codes

    def _seen(self, points: Floats) -> Floats:
        """Return points as a classifier with ``exact_in`` sees them."""
        return np.asarray(rounded(points, self.exact_in), dtype=np.float64)

    def lowered_limits(self) -> tuple[NDArray[Any], Rows, int, str]:
        """Return limits lowered to the least count over the rest, rows that did so (or -1), and facts of all rows."""
        limits, witnesses = self.network.limits.copy(), np.full(len(self.network.limits), -1)
        digest, n_rows = new_digest(), 0
        for wave, digests in self._waves():
            digest.update(digests)
            for (start, _, codes), (lows, where) in zip(wave, self.threads.map(self._lowest, wave), strict=True):
                better = lows < limits
                limits[better], witnesses[better] = lows[better], start + where[better]
                n_rows = start + len(codes)
            self.progress("limits", n_rows, None)
        return limits, witnesses, n_rows, digest.hexdigest()

    def _lowest(self, tile: Tile) -> tuple[NDArray[Any], Rows]:
        """Return the least count of each detector over the rest of a tile, and the first place that has it."""
        points, codes, network = self._seen(tile[1]), tile[2], self.network
        lows, where = network.limits.copy(), np.full(len(network.limits), -1)
        for k, code in enumerate(network.classes):
            own, rest = network.of_output(k), np.flatnonzero(codes != code)
            if not len(own) or not len(rest):
                continue
            counts = network.take(own, network.limits[own]).counts(points[rest])
            if not network.activation.is_threshold:
                # Not above the exact sums either: these differ by no more than the bounds of ``values``.
                planes = Hyperplanes(network.normals, network.biases)
                none = BitMatrix.from_bool(np.empty((0, planes.count), dtype=bool))
                bounds = Values(points, rest, planes, none, network.activation, SERIAL)
                counts = counts - bounds.share * counts - bounds.errors(points[rest])
            at = counts.argmin(axis=1)
            lows[own], where[own] = counts[np.arange(len(own)), at], rest[at]
        return lows, where

    def claims(self, left: DetectorNetwork, n_rows: int, fingerprint: str, most: int) -> tuple[Rows, Rows, int, str]:
        """Return how many points each detector is the first to claim, rows that none claims, and facts of all rows."""
        coverage, missed = np.zeros(len(left.limits), dtype=np.int64), np.empty(0, dtype=np.int64)
        check, digest, n_to_claim = new_digest(), new_digest((n_rows, left.n_features)), 0
        for wave, digests in self._waves():
            check.update(digests)
            digest.update(digests)
            for (start, _, codes), firsts in zip(
                wave, self.threads.map(partial(self._firsts, left), wave), strict=True
            ):
                coverage += np.bincount(firsts[firsts >= 0], minlength=len(coverage))
                n_to_claim += int((firsts >= -1).sum())
                missed = np.concatenate([missed, start + np.flatnonzero(firsts == -1)])[:most]
                self.progress("points", start + len(codes), n_rows)
        if check.hexdigest() != fingerprint:
            raise DataError("the batches gave other points the second time: seed them, so that they repeat")
        return coverage, missed, n_to_claim, digest.hexdigest()

    def _firsts(self, left: DetectorNetwork, tile: Tile) -> Rows:
        """Return for every point the first detector of its class that claims it; -1 for none, -2 if it needs none."""
        points, codes = self._seen(tile[1]), tile[2]
        firsts = np.full(len(codes), -2, dtype=np.int64)
        for k, code in enumerate(left.classes):
            own, target = left.of_output(k), np.flatnonzero(codes == code)
            firsts[target] = -1
            if len(own) and len(target):
                fires = left.take(own, left.limits[own]).gaps(points[target]) > 0
                claimed = fires.any(axis=0)
                firsts[target[claimed]] = own[fires[:, claimed].argmax(axis=0)]
        return firsts
