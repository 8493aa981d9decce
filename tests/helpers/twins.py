"""Slow, obvious twins of kernels and algorithms: exact fractions, plain loops, one hyperplane at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from exactfit.network import Dense, Integers, Masks, Sparse, WeightedMasks

# ---- Slow, obvious twins of `construct.separation` and `construct.fallback_cuts`: every pair, one hyperplane at a time


def unpack(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Bits of one block: row per point, column per hyperplane."""
    return np.array([[(int(word) >> i) & 1 == 1 for i in range(64)] for word in words], dtype=bool).reshape(-1, 64)


def all_pairs(y: NDArray[np.int64], targets: Sequence[int]) -> NDArray[np.bool_]:
    """Whether (a, b) has to be separated, as a matrix."""
    wanted = np.isin(y, list(targets))
    return wanted[:, None] & (y[:, None] != y[None, :])


def open_after(is_open: NDArray[np.bool_], on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What one hyperplane leaves open (Algorithm 1, line 6)."""
    return is_open & ~(~on[:, None] & on[None, :])


def open_matrices(
    y: NDArray[np.int64], targets: Sequence[int], blocks: Sequence[NDArray[np.uint64]]
) -> list[NDArray[np.bool_]]:
    """The open pairs after 0, 1, 2, ... hyperplanes (Algorithm 1, lines 3-7)."""
    matrices = [all_pairs(y, targets)]
    for words in blocks:
        for on in unpack(words).T:
            matrices.append(open_after(matrices[-1], on))
    return matrices


def open_matrix(
    y: NDArray[np.int64], targets: Sequence[int], blocks: Sequence[NDArray[np.uint64]]
) -> NDArray[np.bool_]:
    """The open pairs after whole blocks: no bit off in a and on in b."""
    is_open = all_pairs(y, targets)
    for words in blocks:
        is_open &= (words[None, :] & ~words[:, None]) == 0
    return is_open


def n_group_pairs(is_open: NDArray[np.bool_], y: NDArray[np.int64], blocks: Sequence[NDArray[np.uint64]]) -> int:
    """How many pairs of groups are open, a group being the points of one class and pattern."""
    _, group = np.unique(np.stack([y.astype(np.uint64), *blocks]), axis=1, return_inverse=True)
    a, b = np.nonzero(is_open)
    return len(np.unique(group[a] * len(y) + group[b]))


def cut_separates(x_a: NDArray[np.float64], x_b: NDArray[np.float64], cut: tuple[int, int, float]) -> bool:
    """Whether a is on the off side of the cut and b on the positive one."""
    j, s, t = cut
    return bool(s * x_a[j] <= s * t < s * x_b[j])


def coordinate_cuts(
    X: NDArray[np.float64], pairs: Sequence[tuple[int, int]]
) -> list[tuple[tuple[int, int, float], int]]:
    """(feature, sign, threshold) and row of a cut for every pair that none before it separates."""
    cuts: list[tuple[tuple[int, int, float], int]] = []
    for a, b in pairs:
        if not any(cut_separates(X[a], X[b], cut) for cut, _ in cuts):
            with np.errstate(over="ignore"):
                j = int(np.argmax(np.abs(X[b] - X[a])))
            cuts.append(((j, 1 if X[b, j] > X[a, j] else -1, float(X[a, j])), a))
    return cuts


# ---- Slow, obvious twins of the kernels and the algorithms: exact fractions, plain loops, one hyperplane at a time -


HYPERPLANES, ORDER = 0, 1
U = 2.0**-53


# ---- Sides and counts ------------------------------------------------------------------------------------


def exact(w, x, b):
    """<w, x> + b as a fraction."""
    return sum((Fraction(float(wj)) * Fraction(float(xj)) for wj, xj in zip(w, x, strict=True)), Fraction(float(b)))


def side(w, x, b):
    """Whether x lies on the positive side; a point on the hyperplane does not."""
    return exact(w, x, b) > 0


def sides(X, W, B):
    """The side of every point (row) and hyperplane (column)."""
    return np.array([[side(w, x, b) for w, b in zip(W, B, strict=True)] for x in X], dtype=bool).reshape(len(X), len(B))


def count(mask, bits):
    """How many masked bits are on."""
    return sum(1 for m, bit in zip(mask, bits, strict=True) if m and bit)


# ---- Random hyperplanes ----------------------------------------------------------------------------------


def stream(seed, *key):
    """The random numbers of one purpose."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def ordered_sum(values):
    """Added up from the left, each step rounded (Python's own sum may do better than that)."""
    total = 0.0
    for value in values:
        total += float(value)
    return total


def dot(w, x):
    """<w, x>, products rounded and then added up from the left."""
    return ordered_sum(float(wj) * float(xj) for wj, xj in zip(w, x, strict=True))


def mean(X):
    """The mean of the rows, rounded once."""
    return np.array([float(sum(map(Fraction, column.tolist())) / len(X)) for column in np.asarray(X, float).T])


def norm(x):
    """Euclidean norm; scaled by a power of two, so that squares neither overflow nor vanish."""
    exponent = math.frexp(max(abs(float(xj)) for xj in x))[1]
    scaled = [math.ldexp(float(xj), -exponent) for xj in x]
    return math.ldexp(math.sqrt(dot(scaled, scaled)), exponent)


def radius(X, origin):
    """The largest distance from the origin."""
    return max(norm(x - origin) for x in X)


def gaussian_block(rng, X, options):
    """The paper's law."""
    origin = mean(X) if options.center else np.zeros(X.shape[1])
    reach = radius(X, origin) if options.max_bias == "radius" else options.max_bias
    weights = rng.standard_normal((64, X.shape[1])).astype(np.float32)
    biases = [reach * b for b in rng.uniform(-1.0, 1.0, 64)]
    return weights, [b - dot(w, origin) if options.center else b for w, b in zip(weights, biases, strict=True)]


def draw_pairs(rng, y, targets, count):
    """Rows of random points of target classes, and for each the row of a random point of another class."""
    members = {k: np.flatnonzero(y == k) for k in set(y.tolist())}
    others = {k: np.concatenate([members[j] for j in sorted(members) if j != k]) for k in targets}
    n_pairs = np.array([len(members[k]) * len(others[k]) for k in targets], dtype=float)
    classes = [targets[c] for c in rng.choice(len(targets), count, p=n_pairs / n_pairs.sum())]
    here = rng.integers(0, [len(members[k]) for k in classes])
    there = rng.integers(0, [len(others[k]) for k in classes])
    return [(members[k][h], others[k][t]) for k, h, t in zip(classes, here, there, strict=True)]


def halfway(a, normal):
    """The hyperplane through the middle of the way from a along the normal."""
    exponent = math.frexp(np.abs(normal).max())[1]
    weights = np.ldexp(normal, -exponent).astype(np.float32)
    return weights, -dot(weights, a + normal / 2)


def bisector_block(rng, X, y, targets):
    """Halfway between a random point of a target class and a random one of another class."""
    return [halfway(X[a], X[b] - X[a]) for a, b in draw_pairs(rng, y, targets, 64)]


def sparse_block(rng, X, y, targets, options):
    """A few features in which two rows differ, integer weights, and a threshold between the sums at both rows."""
    pairs = draw_pairs(rng, y, targets, 64)
    differ = [np.flatnonzero(X[a] != X[b]) for a, b in pairs]
    low, high = options.feature_range
    counts = rng.integers(low, high + 1, 64)
    keys = [dict(zip(features, rng.random(len(features)), strict=True)) for features in differ]
    exponents = np.zeros(X.shape[1], dtype=int) if options.image_shape else typical_exponents(X)
    if options.image_shape:
        keys = in_windows(rng, keys, options.image_shape)
    signs, places = 2 * rng.integers(0, 2, (64, high)) - 1, rng.random(64)
    planes = []
    for (a, b), own, count, sign, place in zip(pairs, keys, counts, signs, places, strict=True):
        features = sorted(own, key=own.get)[:count]
        scaled = [min(e - min(exponents[features]), 60) for e in exponents[features]]
        first = [int(s) * 2 ** int(e) for s, e in zip(sign, scaled, strict=False)]
        lone = features[:1], [int(sign[0])]
        for some, weights in ((features, first), (features, [*first[:-1], -first[-1]]), lone):
            sums = sorted(sum(w * Fraction(float(X[r, j])) for j, w in zip(some, weights, strict=True)) for r in (a, b))
            threshold = number_between(*sums, place, options.exact_in)
            if threshold is not None:
                break
        line = np.zeros(X.shape[1], dtype=np.float32)
        line[some] = weights
        planes.append((line, -threshold))
    return planes


def typical_exponents(X):
    """The power of two that brings the median difference of a feature near 1."""
    n = min(1024, len(X))
    rows = np.linspace(0, len(X) - 1, n).astype(int)
    step = math.ceil(3 * n / 8)
    while math.gcd(step, n) > 1:
        step += 1
    exponents = []
    for column in X.T:
        sizes = sorted(abs(float(column[rows[i]]) - float(column[rows[i - step]])) for i in range(n))
        sizes = [size for size in sizes if size]
        middle = min(sizes[len(sizes) // 2], np.finfo(float).max) if sizes else 1.0
        exponents.append(1 - math.frexp(middle)[1])
    return np.array(exponents)


def in_windows(rng, keys, shape):
    """Of each pair's features those in a random square around the one of smallest key."""
    height, width, n_channels = (*shape, 1)[:3]
    short = min(height, width)
    sides = rng.integers(max(1, 2 * short // 14), max(1, 7 * short // 14) + 1, 64)
    kept = keys
    for extent, line in ((height, lambda j: j // n_channels // width), (width, lambda j: j // n_channels % width)):
        middles = [line(min(own, key=own.get)) for own in keys]
        lows = [max(0, m - s + 1) for m, s in zip(middles, sides, strict=True)]
        corners = rng.integers(lows, [min(m, extent - s) + 1 for m, s in zip(middles, sides, strict=True)])
        kept = [
            {j: key for j, key in own.items() if corner <= line(j) < corner + side}
            for own, corner, side in zip(kept, corners, sides, strict=True)
        ]
    return kept


def number_between(low, high, place, exact_in):
    """A number of the format, at least ``low`` and below ``high``, at a place of the way; None if there is none."""
    number = np.float32 if exact_in == "float32" else np.float64
    first, last = number(float(low)), number(float(high))
    while Fraction(float(first)) < low:
        first = np.nextafter(first, number(np.inf))
    while Fraction(float(last)) >= high:
        last = np.nextafter(last, number(-np.inf))
    if first > last:
        return None
    middle = float(number((1.0 - place) * float(first) + place * float(last)))
    return min(max(middle, float(first)), float(last))


def hyperplanes(X, y, targets, options, seed):
    """Hyperplanes without end, one at a time."""
    block = 0
    while True:
        rng = stream(seed, HYPERPLANES, block)
        if options.hyperplanes == "bisector":
            weights, biases = zip(*bisector_block(rng, X, y, targets), strict=True)
        elif options.hyperplanes == "sparse":
            weights, biases = zip(*sparse_block(rng, X, y, targets, options), strict=True)
        else:
            weights, biases = gaussian_block(rng, X, options)
        yield from zip(np.asarray(weights).astype(np.float64), biases, strict=True)
        block += 1


# ---- What detectors count --------------------------------------------------------------------------------


class Counts:
    """The threshold activation: a mask's count at a point, which is its own bound from below and above."""

    def __init__(self, bits):
        self.bits = bits

    def low(self, anchor, point):
        return count(~self.bits[anchor], self.bits[point])

    high = low

    def stored(self, limit, _highest):
        return limit


class Values:
    """Real-valued activations: a mask's sum at a point, less or more what rounding may have done."""

    def __init__(self, X, W, B, bits, activation, n_terms=None):
        n, d = W.shape
        d = d if n_terms is None else n_terms  # the most products of a sum
        self.bits = bits
        self.values = [[float(activation(np.array([dot(w, x) + b]))[0]) for w, b in zip(W, B, strict=True)] for x in X]
        self.share = 2.0**-40 if activation.is_own else 1.05 * (n + 4) * U
        rate = 0.0 if activation.is_own else 1.05 * (d + 2) * U
        rough = [not is_single_power_of_two(w) for w in W]
        slope = rate * math.fsum(norm(w) for w, r in zip(W, rough, strict=True) if r)
        offset = rate * math.fsum(abs(b) for b, r in zip(B, rough, strict=True) if r) + (1e-300 if rate else 0.0)
        self.errors = [slope * norm(x) + offset for x in X]

    def value(self, anchor, point):
        return ordered_sum(v for v, on in zip(self.values[point], self.bits[anchor], strict=True) if not on)

    def low(self, anchor, point):
        v = self.value(anchor, point)
        return v - self.share * v - self.errors[point]

    def high(self, anchor, point):
        v = self.value(anchor, point)
        return v + self.share * v + self.errors[point]

    def stored(self, limit, highest):
        return roundest(highest, limit)

    def crowding(self, anchor, rest):
        """Points of the rest that are not for sure above the anchor."""
        own, found = self.high(anchor, anchor), []
        for point in rest:
            e = self.errors[point]
            lower = (self.high(anchor, point) - e) / (1 + self.share) * (1 - self.share) - e
            if lower * (1 - 1e-12) <= own:
                found.append(point)
        return found


def is_single_power_of_two(w):
    nonzero = [abs(float(wj)) for wj in w if wj != 0]
    return len(nonzero) == 1 and math.frexp(nonzero[0])[0] == 0.5


def roundest(low, high):
    """The largest number in (low, high] with as few significant bits as possible."""
    fraction, exponent = math.frexp(high)
    digits = int(fraction * 2**53)
    for dropped in range(52, -1, -1):
        number = math.ldexp(digits >> dropped << dropped, exponent - 53)
        if number > low:
            return number
    raise AssertionError("there is no number in between")


# ---- The second layer ------------------------------------------------------------------------------------


@dataclass
class Cover:
    anchors: list = field(default_factory=list)
    limits: list = field(default_factory=list)
    witnesses: list = field(default_factory=list)
    coverage: list = field(default_factory=list)
    uncovered: list = field(default_factory=list)
    n_rejected: int = 0

    def accept(self, evidence, anchor, limit, witness, claimed):
        self.anchors.append(anchor)
        self.limits.append(evidence.stored(limit, max(evidence.high(anchor, x) for x in [*claimed, anchor])))
        self.witnesses.append(witness)
        self.coverage.append(len(claimed))


def limit_of(evidence, anchor, rest):
    """The smallest count over the rest and the first to attain it; 0 where the anchor is not below it."""
    limit, witness = math.inf, None
    for x in rest:
        if evidence.low(anchor, x) < limit:
            limit, witness = evidence.low(anchor, x), x
    return (limit if evidence.high(anchor, anchor) < limit else 0), witness


def mask_cover(evidence, target, rest, order):
    """Algorithm 2, lines 2-10."""
    cover, uncovered = Cover(), set(target)
    for anchor in order:
        if anchor not in uncovered:
            continue
        limit, witness = limit_of(evidence, anchor, rest)
        if not limit > 0:
            cover.n_rejected += 1
            continue
        claimed = {x for x in uncovered if evidence.high(anchor, x) < limit}
        uncovered -= claimed
        cover.accept(evidence, anchor, limit, witness, claimed)
    cover.uncovered = sorted(uncovered)
    return cover


def choose_targets(y, target):
    sizes = np.bincount(y)
    if len(sizes) > 2 or target == "all":
        return list(range(len(sizes)))
    if target is None:
        return [0] if sizes[0] < sizes[1] else [1]
    return [target]


def cover_classes(evidence, y, targets, options, seed):
    """One versus many: a cover for every target class (Section 4.4)."""
    by_class = [int(row) for row in np.argsort(y, kind="stable")]
    covers = []
    for k in targets:
        target = [row for row in by_class if y[row] == k]
        rest = [row for row in by_class if y[row] != k]
        order = [target[place] for place in stream(seed, ORDER, k).permutation(len(target))]
        covers.append(mask_cover(evidence, target, rest, order))
    return covers


# ---- The algorithms --------------------------------------------------------------------------------------


@dataclass
class Made:
    """What a construction comes down to."""

    W: np.ndarray
    b: np.ndarray
    anchors: list
    limits: list
    witnesses: list
    coverage: list
    classes: list
    uncovered: list
    n_rejected: int
    n_fallback_cuts: int

    @property
    def width(self):
        return len(self.b)


def gather(X, W, B, bits, activation):
    return Counts(bits) if activation.is_threshold else Values(X, W, B, bits, activation)


def put_together(W, B, targets, covers, n_fallback_cuts):
    def joined(name):
        return [item for cover in covers for item in getattr(cover, name)]

    classes = [k for k, cover in zip(targets, covers, strict=True) for _ in cover.anchors]
    return Made(
        W, np.array(B), joined("anchors"), joined("limits"), joined("witnesses"), joined("coverage"), classes,
        sorted(joined("uncovered")), sum(cover.n_rejected for cover in covers), n_fallback_cuts,
    )  # fmt: skip


def algorithm_2(X, y, width, options, seed):
    """A first layer of given width; points may stay uncovered."""
    targets = choose_targets(y, options.target)
    source = hyperplanes(X, y, targets, options, seed)
    W, B = zip(*(next(source) for _ in range(width)), strict=True)
    W = np.array(W)
    evidence = gather(X, W, B, sides(X, W, B), options.s)
    return put_together(W, B, targets, cover_classes(evidence, y, targets, options, seed), 0)


def algorithm_1(X, y, options, seed, min_width=0, fallback_cuts=True):
    """One hyperplane at a time until all pairs are separated; coordinate cuts where that stalls."""
    targets = choose_targets(y, options.target)
    source = hyperplanes(X, y, targets, options, seed)
    is_open, were_open = all_pairs(y, targets), {}
    W, B, bits = np.empty((0, X.shape[1])), [], np.empty((len(X), 0), dtype=bool)
    while is_open.any() or len(B) < min_width:
        n = len(B)
        if n % 512 == 0:
            were_open[n] = int(is_open.sum())
            if fallback_cuts and n >= max(min_width, 1024) and 2 * were_open[n] > were_open[n - 512]:
                break
        w, b = next(source)
        on = sides(X, [w], [b])
        is_open = open_after(is_open, on[:, 0])
        W, B, bits = np.vstack([W, w]), [*B, b], np.hstack([bits, on])
    drawn = len(B)
    pairs = [(int(a), int(b)) for a, b in np.argwhere(is_open)]
    for _ in range(5):
        if pairs:
            W, B, bits = add_cuts(X, W, B, bits, options.s, pairs)
        evidence = gather(X, W, B, bits, options.s)
        covers = cover_classes(evidence, y, targets, options, seed)
        pairs = crowded_pairs(y, targets, evidence, covers)
        if not pairs:
            break
    return put_together(W, B, targets, covers, len(B) - drawn)


def add_cuts(X, W, B, bits, activation, pairs):
    """Cuts through the first point of every pair that none before separates."""
    worst = 0.0 if activation.is_threshold else max(Values(X, W, B, bits, activation).errors)
    for (feature, sign, threshold), _ in coordinate_cuts(X, pairs):
        scale = 1.0
        if worst > 0:
            gap = min(g for g in (sign * (float(x[feature]) - threshold) for x in X) if g > 0)
            scale = 2.0 ** max(0, math.frexp(32 * worst)[1] - math.frexp(gap)[1] + 1)
        w = np.zeros(X.shape[1])
        w[feature] = sign * scale
        b = -sign * scale * threshold
        W, B, bits = np.vstack([W, w]), [*B, b], np.hstack([bits, sides(X, [w], [b])])
    return W, B, bits


def crowded_pairs(y, targets, evidence, covers):
    """Uncovered points, each with the points of the rest that crowd it."""
    pairs = []
    for k, cover in zip(targets, covers, strict=True):
        rest = [row for row in range(len(y)) if y[row] != k]
        pairs += [(a, b) for a in cover.uncovered for b in evidence.crowding(a, rest)]
    return sorted(pairs)


def detector_slack(X, W, B, masks, limits, activation):
    """For every detector and point (limit - 1/2 - count) / (limit - lowest count), or (limit - value) / limit."""
    spans = [limit - sum(min(int(v), 0) for v in mask) for mask, limit in zip(masks, limits, strict=True)]
    slack = np.empty((len(masks), len(X)))
    for p, x in enumerate(X):
        if activation.is_threshold:
            bits = sides([x], W, B)[0]
            heights = [sum(int(v) for v, bit in zip(mask, bits, strict=True) if bit) + 0.5 for mask in masks]
        else:
            values = [float(activation(np.array([dot(w, x) + b]))[0]) for w, b in zip(W, B, strict=True)]
            heights = [ordered_sum(v for v, m in zip(values, mask, strict=True) if m) for mask in masks]
        slack[:, p] = [(m - height) / span for height, m, span in zip(heights, limits, spans, strict=True)]
    return slack


def class_slack(X, W, B, masks, limits, outputs, n_outputs, activation):
    """For every point and output the largest slack of its detectors."""
    best = np.full((len(X), n_outputs), -np.finfo(np.float64).max)
    for row, output in zip(detector_slack(X, W, B, masks, limits, activation), outputs, strict=True):
        best[:, output] = np.maximum(best[:, output], row)
    return best


def assert_same(construction, twin):
    """The construction is, number for number, what the twin came to."""
    first, detectors, _ = construction.network.layers
    trace = construction.trace
    np.testing.assert_array_equal(first.weights.values.astype(np.float64), twin.W)
    np.testing.assert_array_equal(first.bias, twin.b)
    assert trace.anchors.tolist() == twin.anchors
    assert detectors.bias.tolist() == twin.limits
    assert trace.witnesses.tolist() == twin.witnesses
    assert trace.coverage.tolist() == twin.coverage
    assert trace.detector_classes.tolist() == twin.classes
    assert trace.uncovered.tolist() == twin.uncovered
    assert trace.n_rejected == twin.n_rejected
    assert (trace.n_drawn, trace.n_fallback_cuts) == (twin.width - twin.n_fallback_cuts, twin.n_fallback_cuts)
    assert construction.outcome.interpolates == (not twin.uncovered)


# ---- Networks evaluated as written down: one unit after the other, in exact fractions ------------------------------


def rows_of(weights):
    """Weights as lists of fractions."""
    match weights:
        case Dense() | Integers():
            table = weights.values.tolist()
        case Sparse():
            table = weights.matrix.toarray().tolist()
        case WeightedMasks():
            table = (weights.sign * weights.values.astype(int)).tolist()
        case Masks():
            table = (weights.sign * weights.bits.to_bool().astype(int)).tolist()
    return [[Fraction(value) for value in row] for row in table]


def outputs(network, point):
    """Outputs for one point, as fractions."""
    values = [Fraction(value) for value in point]
    for layer in network.layers:
        biases = [Fraction(value) for value in layer.bias.tolist()]
        sums = [
            sum((w * v for w, v in zip(row, values, strict=True) if w), bias)
            for row, bias in zip(rows_of(layer.weights), biases, strict=True)
        ]
        if layer.activation is None:
            values = sums
        elif layer.activation.is_threshold:
            values = [Fraction(total > 0) for total in sums]
        else:
            values = [max(total, Fraction(0)) for total in sums]
    return values
