"""Random 0/1 codes, then units over codes: Vershynin 2020, Rajput et al. 2021, Baum's slabs on codes; threshold.

All draw random hyperplanes, more and more of them, until the codes of points do for the second layer; pairs for which
they are not enough get a cut along a feature each, so any distinct points will do. More than two classes: all but the
largest are claimed, and a point belongs to the class that claims it.

**Vershynin**, simplified, two hidden layers. Faithful, in kind: points on a unit sphere. *Enrichment*: random units
that fire rarely, so that the codes of points that are not too close have few bits in common. *Perception*: a unit whose
weights are the sum of the codes of a batch of points fires on the batch and on no point of another class. The output is
an OR.

Ours: one layer of enrichment, where the paper stacks several and bounds the number of connections for points at a given
distance; that bound (exponential in the inverse square of the distance) is of no use as a size, so the width n doubles
from 256 until each code has a bit that no code of another class has beside the rest of it. Batches are filled greedily
in random order. Points need not lie on a sphere: the inverse stereographic projection

    x -> (2 z, |z|^2 - 1) / (|z|^2 + 1),    z = (x - mean) / (root mean square distance from the mean),

puts them there, and a half-space of the sphere is one of (x, |x|^2), which is what the network takes as input. A unit
fires on 5 % of the sphere. Units whose boundary comes so near to a point that rounding could matter are drawn anew.

Size, with n units (cuts included) and b batches: n, b, o, over d + 1 inputs. Float64: after the first layer all is
integers below 2^53. The time is about b N times the number of points to be claimed: for thousands of points.

**Lifted Baum**, a hybrid of our own: Vershynin and Rajput et al. lift points by a random threshold layer, which
restores general position; Baum's slabs (see ``slabs``) then take groups as large as the lift is wide, where those
papers have layers of small integer weights. No paper states this network or a bound for it. The hyperplanes have
Gaussian normals and biases uniform up to the radius, around the mean; their number n starts at the square root of twice
the number of points to be claimed, and doubles until no two points of different labels have equal codes.

Size, with n hyperplanes (cuts included) and g slabs: n, 2 g, o. Float64: the codes are exact sides, and a running error
bound proves the slabs. The random hyperplanes come as near to points as chance will have it.

**Rajput et al.**, six hidden layers, whose weights are integers after the first:

1. Random hyperplanes give each point a code, until points of different labels differ in theirs.
2. Parities of random subsets of the code compress it to about 2 log2 N bits (two layers: how many bits of a subset are
   on, then whether that is odd).
3. The first bits choose one of about sqrt(N) buckets, one unit for each; the other bits, the *rest*, are copied.
4. Products of every bucket with every bit of the rest.
5. Sets: units that store one rest for each bucket, and fire on a point if that of its bucket is its own.
6. A point belongs to the class that has a set firing.

Faithful to the paper: the pipeline (hyperplanes, linear code, lift to about sqrt(N) dimensions in which about sqrt(N)
points at a time are independent, memorization), Gaussian weights in the first layer only, small integers after it.
Ours: the weights of each layer, which meet the published sizes; points of one label may share a code.

Size, with n hyperplanes, subsets P_1..P_L, b buckets in use, r bits of rest and s sets: n, sum |P_i|, L, b + r, b (r +
1), s, o. Weights after the first layer are -1, 0 or 1 but for one of each stored rest, 1 - (bits that are on), and 1/2
in biases: float64 is safe there at any size, and in the first layer as far as points keep off the hyperplanes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from statistics import NormalDist

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS
from ..construct import Trace
from ..construct.fallback_cuts import Stall
from ..construct.hyperplanes import HYPERPLANES, ORDER, GaussianSampler, Hyperplanes, stream
from ..data import Codes, Floats, Rows, conflict_pairs, conflicts, mean
from ..data.point_set import U64
from ..exceptions import AssumptionError, DataError
from ..network import Dense, Layer, Masks, Network, Sparse
from ..network.activations import THRESHOLD
from ..network.bits import BitMatrix
from ..network.sides import sides
from .base import DistinctPoints, Published, claim_output, cut_planes, distinct_points, verified
from .slabs import class_slabs

WIDTH = 256  # of the sphere's units, to begin with
WIDEST = 4096  # random units: beyond this the width is not doubled again
RATE = 0.05  # chance that a random unit fires on a point
CLEARANCE = 4.0  # times the rounding error that a value must clear its threshold by
PATIENCE = 16  # draws for each unit wanted
PARITIES = 4  # the random stream of subsets

Bits = NDArray[np.bool_]
Overlaps = NDArray[np.int32]
Pairs = tuple[Rows, Rows]


def _doubled(
    width: int, draw: Callable[[int], Hyperplanes], left: Callable[[Hyperplanes], list[Pairs]]
) -> tuple[Hyperplanes, list[Pairs]]:
    """Random units, doubled until they separate all pairs that must be, and the pairs left."""
    while True:
        planes = draw(width)
        pairs = left(planes)
        if not pairs or 2 * width > WIDEST:
            return planes, pairs
        width *= 2


@dataclass(frozen=True)
class Vershynin(Published):
    """Sparse random codes, and a threshold unit for each batch of them; two classes, or each but one against the rest.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Vershynin
    >>> Vershynin().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (512, 9, 3)
    """

    name = "vershynin"
    citation = (
        "R. Vershynin, Memory capacity of neural networks with threshold and ReLU activations, SIAM Journal on "
        "Mathematics of Data Science 2 (2020), 1004-1033, arXiv:2001.06938"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        base, center = points.largest_class(), mean(points.X)
        with np.errstate(over="ignore", invalid="ignore"):
            inputs = np.column_stack([points.X, (points.X * points.X).sum(axis=1)])
            scale = float(np.sqrt(((points.X - center) ** 2).sum(axis=1).mean()))
        if not (0 < scale < np.inf and np.isfinite(inputs).all()):
            raise DataError("the data are too large or too small: their squares leave float64's range. Scale them.")

        def draw(width: int) -> Hyperplanes:
            found = Hyperplanes(np.empty((0, inputs.shape[1])), np.empty(0))
            for block in range(PATIENCE * width // WORD_BITS):
                found = found.append(sphere_units(center, scale, inputs, stream(root, HYPERPLANES, block)))
                if found.count >= width:
                    return found.first(width)
            spread = "that the points' spread is not tiny beside their distance from the origin"
            raise AssumptionError(spread, points.rows, "Centre the data.")

        def code_of(planes: Hyperplanes) -> NDArray[np.float32]:
            return sides(inputs, planes.weights, planes.biases).to_bool().astype(np.float32)

        def hidden_pairs(planes: Hyperplanes) -> list[Pairs]:
            """Pairs (other, own) such that the code of a point to be claimed lies within that of another class."""
            code, pairs = code_of(planes), []
            sizes = code.sum(axis=1)
            for target in points.classes_but(base):
                own = points.of_class(target)
                hidden = (_overlaps(code, own) == sizes[own, None]) & (points.y != target)
                if hidden.any():
                    places, others = np.nonzero(hidden)
                    pairs.append((others.astype(np.int64), own[places]))
            return pairs

        planes, pairs = _doubled(WIDTH, draw, hidden_pairs)
        n_drawn = planes.count
        if pairs:
            cuts = cut_planes(points.X, pairs)
            planes = planes.append(Hyperplanes(np.column_stack([cuts.weights, np.zeros(cuts.count)]), cuts.biases))
        code, found = code_of(planes), []
        for target in points.classes_but(base):
            own = stream(root, ORDER, target).permutation(points.of_class(target))
            overlaps = _overlaps(code, own)
            without = np.ascontiguousarray(overlaps[:, points.y != target])
            for batch, limit, coverage in batches(overlaps[:, own], without):
                found.append((code[own[batch]].sum(axis=0), limit, target, coverage))
        weights, limits, classes, coverages = map(np.array, zip(*found, strict=True))
        output, decoder = claim_output(classes, np.ones(len(classes)), base, points.n_classes)
        first = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        second = Layer(Dense(weights.astype(np.float64)), -(limits + 0.5), THRESHOLD)
        network = Network((first, second, output), decoder, "append_squared_norm")
        n_cuts = planes.count - n_drawn
        trace = Trace(coverage=coverages, detector_classes=classes, n_drawn=n_drawn, n_fallback_cuts=n_cuts)
        return verified(network, points), trace


def sphere_units(center: Floats, scale: float, inputs: Floats, rng: np.random.Generator) -> Hyperplanes:
    """Random units <g, point of the sphere> > tau, for Gaussian g, as affine functions of the inputs (x, |x|^2)."""
    normals = rng.standard_normal((WORD_BITS, len(center)))
    poles = rng.standard_normal(WORD_BITS)
    tau = NormalDist().inv_cdf(1 - RATE)
    curve = (poles - tau) / scale**2
    weights = 2 * normals / scale - 2 * curve[:, None] * center
    biases = curve * (center @ center) - 2 * (normals @ center) / scale - poles - tau
    weights = np.column_stack([weights, curve])
    # Kept are those that no point comes so near to that rounding, also of the squared norm, could matter.
    sizes = np.abs(inputs) @ np.abs(weights).T + np.abs(biases)
    bounds = CLEARANCE * (2 * inputs.shape[1] + 2) * U64 * sizes
    kept = (np.abs(inputs @ weights.T + biases) > bounds).all(axis=0)
    return Hyperplanes(weights[kept], biases[kept])


def _overlaps(code: NDArray[np.float32], own: Rows) -> Overlaps:
    """Count the bits that points of a class share with every point; integers below 2^24 are exact."""
    return (code[own] @ code.T).astype(np.int32)


def batches(within: Overlaps, without: Overlaps) -> Iterator[tuple[list[int], int, int]]:
    """Batches that cover a class, each with its largest sum over other points, and the number of points it adds."""
    # Given are overlaps of the points of a class with each other, and with all other points.
    todo = np.arange(len(within))
    # A point joins a batch if its unit still fires on all members and on no other class; one alone always does.
    while len(todo):
        batch: list[int] = []
        own, other = np.zeros(len(within), dtype=np.int64), np.zeros(without.shape[1], dtype=np.int64)
        for point in todo.tolist():
            own_next, other_next = own + within[point], other + without[point]
            if own_next[[*batch, point]].min() > other_next.max():
                batch.append(point)
                own, other = own_next, other_next
        limit = int(other.max())
        left = todo[own[todo] <= limit]
        yield batch, limit, len(todo) - len(left)
        todo = left


@dataclass(frozen=True)
class LiftedBaum(Published):
    """Slabs around groups of random 0/1 codes; two classes, or each but one against the rest.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import LiftedBaum
    >>> LiftedBaum().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (64, 10, 3)
    """

    name = "lifted-baum"
    citation = (
        "none: our own hybrid of the random lift of Vershynin (2020) and Rajput et al. (2021) with Baum's slabs (1988)"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        def codes(planes: Hyperplanes) -> Floats:
            return sides(points.X, planes.weights, planes.biases).to_bool().astype(np.float64)

        def equal_codes(planes: Hyperplanes) -> list[Pairs]:
            """Pairs with equal codes: the first point of each code with one of every other label."""
            found = conflict_pairs(conflicts(codes(planes), points.y), points.y)
            first, second = np.array(found, dtype=np.int64).reshape(-1, 2).T.copy()
            return [(first, second)] if found else []

        base = points.largest_class()
        # n + 2 N / n is least for n = sqrt(2 N), with N points to be claimed; rounded up to complete words.
        width = WORD_BITS * int(np.ceil(np.sqrt(2 * (points.y != base).sum()) / WORD_BITS))
        sampler = GaussianSampler(points.X, root, max_bias="radius", center=True)
        planes, pairs = _doubled(width, sampler.first, equal_codes)
        n_drawn = planes.count
        # Only the first point of each code is paired, so cuts may leave others to separate; each round separates some.
        while pairs:
            planes = planes.append(cut_planes(points.X, pairs))
            pairs = equal_codes(planes)
        # Every code once, with the row of the data that it came from first; so a trace's coverage counts codes.
        coded = distinct_points(codes(planes), points.y)
        coded = replace(coded, rows=points.rows[coded.rows])
        slabs, output, decoder, trace = class_slabs(coded, base, root)
        lift = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        trace = replace(trace, n_drawn=n_drawn, n_fallback_cuts=planes.count - n_drawn)
        return verified(Network((lift, slabs, output), decoder), points), trace


@dataclass(frozen=True)
class Rajput(Published):
    """Hyperplanes, parities, buckets, products, sets: six hidden layers; two classes, or each but one against the rest.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.constructions import Rajput
    >>> Rajput().construct(*load_iris(return_X_y=True), random_state=0).network.widths
    (55, 399, 15, 20, 104, 15, 3)
    """

    name = "rajput"
    citation = (
        "Shashank Rajput, Kartik Sreenivasan, Dimitris Papailiopoulos, Amin Karbasi: An Exponential Improvement on the "
        "Memorization Capacity of Deep Threshold Networks, NeurIPS 2021"
    )

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]:
        planes, n_drawn = _separating(points, root)
        bits = sides(points.X, planes.weights, planes.biases).to_bool()
        subsets, codes = _compress(bits, points.y, root)
        base = points.largest_class()
        claimed = points.y != base
        buckets, products, sets, classes = _store(codes[claimed], points.y[claimed])
        output, decoder = claim_output(classes, np.ones(len(classes)), base, points.n_classes)
        first = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        network = Network((first, *_parities(subsets), buckets, products, sets, output), decoder)
        return verified(network, points), Trace(n_drawn=n_drawn, n_fallback_cuts=planes.count - n_drawn)


def _groups(bits: Bits) -> Rows:
    """Return numbers of the rows of bits, equal where the rows are."""
    packed = np.packbits(bits, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    return np.unique(rows, return_inverse=True)[1].astype(np.int64)


def _mixed(bits: Bits, y: Codes) -> Bits:
    """Mask of the points that share their row of bits with a point of another label."""
    groups = _groups(bits)
    label, mixed = np.empty(groups.max() + 1, dtype=np.int64), np.zeros(groups.max() + 1, dtype=bool)
    label[groups] = y  # some label of each group
    mixed[groups[y != label[groups]]] = True
    return mixed[groups]


def _separating(points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Hyperplanes, int]:
    """Hyperplanes that separate points of different labels, and the number of random ones among them."""
    # Blocks of 64 until labels are separated or random ones no longer help, then as few as separate as much.
    sampler = GaussianSampler(points.X, root, max_bias="radius", center=True)
    planes = sampler.blocks(0, 1).first(0)
    bits, stall = np.empty((len(points), 0), dtype=bool), Stall(0)
    for index in count():
        block = sampler.blocks(index, index + 1)
        planes = planes.append(block)
        bits = np.concatenate([bits, sides(points.X, block.weights, block.biases).to_bool()], axis=1)
        mixed = _mixed(bits, points.y)
        if not mixed.any() or (stall.due(planes.count) and stall.stalled(planes.count, int(mixed.sum()))):
            break
    widths = range(1, planes.count)
    width = 1 + bisect_left(widths, True, key=lambda n: bool(_mixed(bits[:, :n], points.y).sum() <= mixed.sum()))
    planes = planes.first(width)
    if mixed.any():
        rows = np.flatnonzero(mixed)
        planes = planes.append(cut_planes(points.X, _pairs(rows, _groups(bits[rows, :width]), points.y), np.float32))
    return planes, width


def _pairs(rows: Rows, groups: Rows, y: Codes) -> Iterator[Pairs]:
    """All pairs of points of different labels within a group."""
    for group in np.unique(groups):
        members = rows[groups == group]
        for a in members:
            others = members[(y[members] != y[a]) & (members > a)]
            yield np.full(len(others), a), others


def _compress(bits: Bits, y: Codes, root: np.random.SeedSequence) -> tuple[Bits, Bits]:
    """Random subsets of the bits whose parities still separate labels, and these parities for every point."""
    # About 2 log2 N random parities separate N points; one more with every attempt, up to the bits themselves.
    n, width = bits.shape
    shortest = max(1, int(np.ceil(2 * np.log2(n))))
    for length in range(shortest, width):
        subsets = stream(root, PARITIES, length - shortest).integers(0, 2, (length, width)).astype(bool)
        subsets[~subsets.any(axis=1), 0] = True
        codes = (bits.astype(np.float32) @ subsets.T.astype(np.float32)).astype(np.int64) % 2 == 1
        if not _mixed(codes, y).any():
            return subsets, codes
    return np.eye(width, dtype=bool), bits


def _parities(subsets: Bits) -> tuple[Layer, Layer]:
    """Two layers: whether at least 1, 2, ... bits of each subset are on; whether their number is odd."""
    sizes = subsets.sum(axis=1)
    below = np.concatenate([np.arange(size) for size in sizes])
    counting = Layer(Masks(BitMatrix.from_bool(np.repeat(subsets, sizes, axis=0)), 1), -below, THRESHOLD)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    signs = sp.csr_array((1.0 - 2.0 * (below % 2), (owner, np.arange(len(owner)))), shape=(len(sizes), len(owner)))
    return counting, Layer(Sparse(signs), np.full(len(sizes), -0.5), THRESHOLD)


def _store(codes: Bits, y: Codes) -> tuple[Layer, Layer, Layer, Codes]:
    """Layers of the buckets beside the bits of the rest, of their products, of the sets; and the class of each set."""
    first = np.unique(_groups(codes), return_index=True)[1]
    codes, y = codes[first], y[first]
    head_bits = min(codes.shape[1], int(np.log2(len(codes)) / 2))
    bucket = _groups(np.pad(codes[:, :head_bits], ((0, 0), (0, 1))))
    heads, rests = np.empty((bucket.max() + 1, head_bits), dtype=bool), codes[:, head_bits:]
    heads[bucket] = codes[:, :head_bits]
    # As few sets as the fullest bucket of each class allows: the k-th code of a class in its bucket goes to the k-th
    # set of that class. So no set has two codes of one bucket, and each set is of one class.
    groups = y * len(heads) + bucket
    order = np.argsort(groups, kind="stable")
    rank = np.empty(len(groups), dtype=np.int64)
    rank[order] = np.arange(len(groups)) - np.searchsorted(groups[order], groups[order])
    names, member = np.unique(y * len(codes) + rank, return_inverse=True)
    n, rest_bits = len(heads), rests.shape[1]
    choose = sp.block_diag([sp.csr_array(2.0 * heads - 1.0), sp.eye_array(rest_bits)], format="csr")
    weights = sp.csr_array(choose, shape=(n + rest_bits, head_bits + rest_bits))
    bias = np.concatenate([0.5 - heads.sum(axis=1), np.full(rest_bits, -0.5)])
    # For every bucket: the bucket itself, then the bucket and each bit of the rest.
    buckets = np.repeat(np.eye(n, dtype=bool), rest_bits + 1, axis=0)
    bits = np.tile(np.eye(rest_bits + 1, rest_bits, -1, dtype=bool), (n, 1))
    products = BitMatrix.from_bool(np.hstack([buckets, bits]))
    limits = np.tile(np.where(np.arange(rest_bits + 1) == 0, 0, -1), n)
    # A set's sum is 1/2 if the rest of the point's bucket is as stored, less by each bit that is not.
    stored = np.hstack([1.0 - rests.sum(axis=1, keepdims=True), 2.0 * rests - 1.0])
    columns = bucket[:, None] * (rest_bits + 1) + np.arange(rest_bits + 1)
    places = np.repeat(member.astype(np.int64), rest_bits + 1), columns.ravel()
    sets = sp.csr_array((stored.ravel(), places), shape=(len(names), n * (rest_bits + 1)))
    return (
        Layer(Sparse(weights), bias, THRESHOLD),
        Layer(Masks(products, 1), limits, THRESHOLD),
        Layer(Sparse(sets), np.full(len(names), -0.5), THRESHOLD),
        names // len(codes),
    )
