"""Masks and weighted detectors as patches: the package's own, over hyperplanes drawn for them.

Hyperplanes are drawn until every target is covered, and cuts along a feature finish the rest. A mask is anchored
at its target, at which its count is zero; so the least limit is one. A weighted detector's least limit is one more than
the greatest count at the targets that it is the first to claim.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.rounding import Format
from .._support.console import silent
from .._support.threads import Threads
from ..certificate.layers import facts_of
from ..certificate.radius import counted_with
from ..construct.cover import cover_classes, mask_cover
from ..construct.evidence import Columns, Counts, Evidence, Pieces
from ..construct.fallback_cuts import coordinate_cuts
from ..construct.hyperplanes import ORDER, GaussianSampler, Hyperplanes, stream
from ..construct.memory import Memory
from ..construct.patterns import Patterns, patterns_of
from ..construct.unique_patterns import ClassOrder, Cover
from ..data import Codes, Floats, Matrix, Rows
from ..exceptions import NoGapError
from ..network import Dense, Layer, Masks, Network, WeightedMasks
from ..network.activations import THRESHOLD
from ..network.detector_network import DetectorNetwork
from ..network.weights import weigh_words
from ..options import Options
from .patches import Patches, Targets, patch_network, with_units

WIDTHS = (256, 512, 1024)  # hyperplanes that are tried: the first tell most targets from the rest, cuts do the others


class ReachedCounts:
    """Evidence of masks whose limits go a fraction of the way from one to the largest that the rest allows."""

    # No kind of Counts: a cover may find the limits of those in compiled code of its own.
    def __init__(self, counts: Counts, reach: float) -> None:
        self.counts, self.reach = counts, reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self.counts, name)

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[NDArray[np.int64], Columns]:
        """Return limits of at least one where the rest allows it."""
        limits, witnesses = self.counts.limits(anchors, rest)
        return np.where(limits > 0, 1 + (self.reach * (limits - 1)).astype(np.int64), limits), witnesses


def count_patches(targets: Targets, reach: float, kind: str, root: np.random.SeedSequence, threads: Threads) -> Patches:
    """Build masks or weighted detectors that claim the targets."""
    sampler = GaussianSampler(targets.X, root, max_bias="radius", center=True)
    # Few hyperplanes make small files: more are drawn only where these leave a target uncovered.
    for width in WIDTHS:
        Memory.for_layer(targets.X).refuse_too_large(width)
        layer = _FirstLayer(targets, sampler.first(width), threads)
        covers, uncovered = layer.covers(reach, kind, root)
        if not len(uncovered):
            return layer.assembled(covers, kind)
    layer = _FirstLayer(targets, layer.planes.append(layer.cuts(uncovered)), threads)
    covers, uncovered = layer.covers(reach, kind, root)
    if len(uncovered):
        rows = ", ".join(map(str, np.sort(layer.rows[uncovered])[:10].tolist()))
        raise NoGapError(
            f"hyperplanes do not surely tell rows {rows} from points of other labels, as {targets.exact_in} rounds: "
            "scale or centre the data, use exact_in=None, or correct labels of points that are nearly equal"
        )
    return layer.assembled(covers, kind)


class _FirstLayer:
    """Hyperplanes, and all given points in columns: class by class, of each class the targets first."""

    def __init__(self, targets: Targets, planes: Hyperplanes, threads: Threads) -> None:
        self.targets, self.planes, self.threads = targets, planes, threads
        # A cover's targets are a range of columns, and so are the points of other classes on either side.
        is_other = np.ones(len(targets.codes), dtype=np.int64)
        is_other[targets.rows] = 0
        halves = 2 * targets.codes + is_other
        self.rows = np.argsort(halves, kind="stable")
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(halves, minlength=2 * targets.n_classes))])
        self.patterns = patterns_of(targets.X, planes, _in_format(targets), threads, self.rows)

    def covers(self, reach: float, kind: str, root: np.random.SeedSequence) -> tuple[list[Cover], Columns]:
        """Return a cover for every class that has targets, and the columns that are left."""
        covers = []
        for k in np.unique(self.targets.codes[self.targets.rows]).tolist():
            target = int(self.starts[2 * k]), int(self.starts[2 * k + 1])
            if kind == "weighted":
                covers.append(self._weighted(k, target, reach, root))
                continue
            order = target[0] + stream(root, ORDER, k).permutation(target[1] - target[0])
            ends = (0, target[0]), (int(self.starts[2 * k + 2]), len(self.rows))
            rest = [piece for piece in ends if piece[0] < piece[1]]
            counts = ReachedCounts(Counts(self.patterns.on, self.threads, self.patterns.maybe), reach)
            covers.append(mask_cover(cast("Evidence", counts), target, rest, order, silent))
        return covers, np.concatenate([cover.uncovered for cover in covers])

    def _weighted(self, k: int, target: tuple[int, int], reach: float, root: np.random.SeedSequence) -> Cover:
        """Cover the targets of one class by weighted detectors, then lower their limits."""
        rest = np.flatnonzero(self.targets.codes[self.rows] != k)
        columns = np.concatenate([np.arange(*target), rest])
        few, n_targets = self.patterns.take(columns), target[1] - target[0]
        classes = ClassOrder(np.arange(len(columns)), np.array([0, n_targets, len(columns)]))
        counts = Counts(few.on, self.threads, few.maybe)
        (cover,) = cover_classes(counts, classes, (0,), Options(detectors="weighted"), root)
        # Each limit falls to the least that claims the targets that no detector before claims, then goes up by reach.
        own, waiting = few.take(slice(0, n_targets)), np.ones(n_targets, dtype=bool)
        for place, (weights, limit) in enumerate(zip(cover.weights or (), cover.limits, strict=True)):
            highest = count_range(own, weights)[1]
            claimed = waiting & (highest < limit)
            least = int(highest[claimed].max()) + 1 if claimed.any() else limit
            cover.limits[place] = least + int(reach * (limit - least))
            waiting &= ~claimed
        cover.anchors = [int(columns[anchor]) for anchor in cover.anchors]
        cover.uncovered = columns[cover.uncovered]
        return cover

    def cuts(self, uncovered: Columns) -> Hyperplanes:
        """Return cuts along a feature between uncovered targets and the points of other labels that they claim."""
        codes, left, right = self.targets.codes[self.rows], [], []
        for column in uncovered:
            mask = self.patterns.maybe.take(np.array([column])).complement().to_bool()[0].astype(np.int8)
            least, _ = count_range(self.patterns, mask)
            others = np.flatnonzero((codes != codes[column]) & (least <= 0))
            left.append(np.full(len(others), self.rows[column], dtype=np.int64))
            right.append(self.rows[others].astype(np.int64))
        found = coordinate_cuts(self.targets.X, [(np.concatenate(left), np.concatenate(right))])
        weights = np.zeros((len(found), self.targets.X.shape[1]), dtype=np.float32)
        weights[np.arange(len(found)), found.feature] = found.sign
        return Hyperplanes(weights, -found.sign * found.threshold)

    def assembled(self, covers: list[Cover], kind: str) -> Patches:
        """Return the covers as a network."""
        columns = np.array([anchor for cover in covers for anchor in cover.anchors], dtype=np.intp)
        limits = np.array([limit for cover in covers for limit in cover.limits], dtype=np.int64)
        counters: Masks | WeightedMasks = Masks(self.patterns.maybe.take(columns).complement(), -1)
        if kind == "weighted":
            weights = [one for cover in covers for one in cover.weights or ()]
            counters = WeightedMasks(np.array(weights, dtype=np.int8).reshape(len(weights), self.planes.count), -1)
        first = Layer(Dense(self.planes.weights), self.planes.biases, THRESHOLD)
        rows = self.rows[columns].astype(np.int64)
        codes = self.targets.codes[rows]
        network = patch_network((first, Layer(counters, limits, THRESHOLD)), codes, self.targets.n_classes)
        return with_radii(network, rows, self.targets.points(rows), self.targets.form)


def _in_format(targets: Targets) -> Options:
    return Options(exact_in=targets.exact_in)  # type: ignore[arg-type]


def count_range(patterns: Patterns, weights: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the greatest count of every column in any evaluation."""
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    surely, perhaps = patterns.on.words, patterns.maybe.words
    least = weigh_words(surely, up).astype(np.int64) + weigh_words(perhaps, down)
    return least, weigh_words(perhaps, up).astype(np.int64) + weigh_words(surely, down)


def with_radii(network: Network, anchors: Rows, points: Floats, form: Format) -> Patches:
    """Return patches with the radius inside which each surely fires; beyond which none does is not known."""
    # A patch fires while the counts of bits that can turn against it stay below its slack. Within a distance r of its
    # anchor a only bits of hyperplanes turn whose |<w, a> + b|, less the rounding error, is at most r |w|.
    found = DetectorNetwork.of(network)
    weights, biases = found.normals.astype(np.float64), found.biases
    norms, within = facts_of(weights).norms, np.zeros(len(anchors))
    unit = 8.0 * (weights.shape[1] + 16) * form.unit
    for place, point in enumerate(points):
        sums = weights @ point + biases
        lost = unit * (2.0 * norms * float(np.linalg.norm(point)) + np.abs(biases)) + form.pad
        distances = np.maximum(np.abs(sums) - lost, 0.0) / norms
        count = counted_with(found, place)
        against = np.where(sums > 0, np.maximum(-count, 0), np.maximum(count, 0))
        slack = found.limits[place] - int(count[sums > 0].sum())
        order = np.argsort(distances)
        turns = int(np.searchsorted(np.cumsum(against[order]), slack))
        reach = distances[order[turns]] if turns < len(order) else np.inf
        within[place] = min(reach, float(np.linalg.norm(point))) * (1.0 - 2.0**-40) if slack > 0 else 0.0
    return Patches(network, anchors, within, np.full(len(anchors), np.inf))


def lowered_counts(
    patches: Patches, given: Targets, X: Matrix, codes: Codes, threads: Threads
) -> tuple[Patches, NDArray[np.intp]]:
    """Lower limits over further points of other labels; return also the places of patches that can still fire."""
    found = DetectorNetwork.of(patches.network)
    planes = Hyperplanes(found.normals, found.biases)
    bits = patterns_of(X, planes, _in_format(given), threads)
    limits = found.limits.copy()
    # New points of the patch's own class need no lower limit.
    for place, code in enumerate(patches.codes):
        rest = np.flatnonzero(codes != code)
        if len(rest):
            least, _ = count_range(bits.take(rest), counted_with(found, place).astype(np.int8))
            limits[place] = min(limits[place], int(least.min()))
    kept = np.flatnonzero(limits > found.floors)
    units = Layer(found.counters.take(kept), limits[kept], THRESHOLD)
    network, anchors = with_units(patches.network, units, patches.codes[kept]), patches.anchors[kept]
    return with_radii(network, anchors, given.points(anchors), given.form), kept
