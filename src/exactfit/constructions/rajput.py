"""Rajput et al. 2021: threshold networks of random codes, whose weights are integers after the first layer.

1. Random hyperplanes give each point a code, until points of different labels differ in theirs.
2. Parities of random subsets of the code compress it to about 2 log2 N bits (two layers: how many bits of a subset are
   on, then whether that is odd).
3. The first bits choose one of about sqrt(N) buckets, one unit for each; the other bits, the *rest*, are copied.
4. Products of every bucket with every bit of the rest.
5. Sets: units that store one rest for each bucket, and fire on a point if that of its bucket is its own.
6. A point belongs to the class that has a set firing.

Faithful to the paper: the pipeline (hyperplanes, linear code, lift to about sqrt(N) dimensions in which about sqrt(N)
points at a time are independent, memorization), Gaussian weights in the first layer only, small integers after it.
Ours: the weights of each layer, which meet the published sizes; several classes (the paper has two): sets for every
class but the largest. Points of one label may share a code. Hyperplanes are drawn until codes differ; where 512 more do
not help, coordinate cuts through the points in question finish, so that any distinct points can be fitted.

Size, with n hyperplanes, subsets P_1..P_L, b buckets in use, r bits of rest and s sets: n, sum |P_i|, L, b + r, b (r +
1), s, o. Weights after the first layer are -1, 0 or 1 but for one of each stored rest, 1 - (bits that are on), and 1/2
in biases. So signals and sums are small: float64 is safe there at any size, and in the first layer as far as points
keep off the hyperplanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..construct import Construction, Trace
from ..construct.fallback_cuts import Stall
from ..construct.hyperplanes import GaussianSampler, Hyperplanes, stream
from ..data import Codes, Rows
from ..network import Dense, Layer, Masks, Network, Sparse
from ..network.activations import THRESHOLD
from ..network.bits import BitMatrix
from ..network.sides import sides
from .base import DistinctPoints, Published, claim_output, cut_planes, verified

Bits = NDArray[np.bool_]

PARITIES = 4  # the random stream of subsets


@dataclass(frozen=True)
class Rajput(Published):
    """A threshold network of six hidden layers: hyperplanes, parities, buckets, products, sets.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.rajput import Rajput
    >>> X, y = np.array([[0.0], [0.1], [0.2], [0.3]]), np.array([0, 2, 1, 1])
    >>> network = Rajput().construct(X, y, random_state=0).network
    >>> network.decide(X), len(network.layers)
    (array([0, 2, 1, 1]), 7)
    """

    name = "rajput"
    citation = (
        "Shashank Rajput, Kartik Sreenivasan, Dimitris Papailiopoulos, Amin Karbasi: An Exponential Improvement on the "
        "Memorization Capacity of Deep Threshold Networks, NeurIPS 2021"
    )
    activation = "threshold"
    labels = ("binary",)
    assumptions = "points of different labels are some distance apart (small distances cost width)"

    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> Construction:
        planes, n_drawn = _hyperplanes(points, root)
        bits = sides(points.X, planes.weights, planes.biases).to_bool()
        subsets, codes = _compress(bits, points.y, root)
        base = points.largest_class()
        stored = _Stored.of(codes[points.y != base], points.y[points.y != base])
        output, decoder = claim_output(stored.set_classes, np.ones(len(stored.set_classes)), base, points.n_classes)
        first = Layer(Dense(planes.weights), planes.biases, THRESHOLD)
        layers = (first, *_parities(subsets), *stored.layers(), output)
        trace = Trace(n_drawn=n_drawn, n_fallback_cuts=planes.count - n_drawn)
        return verified(Network(layers, decoder), points, trace)


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


def _hyperplanes(points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Hyperplanes, int]:
    """Hyperplanes that separate points of different labels, and the number of random ones among them."""
    # Blocks of 64 until labels are separated, then as few of the hyperplanes as separate as much.
    source = GaussianSampler(points.X, root, max_bias="radius", center=True)
    planes = source.blocks(0, 1).head(0)
    bits, stall = np.empty((len(points), 0), dtype=bool), Stall(0)
    for index in count():
        block = source.blocks(index, index + 1)
        planes = planes.append(block)
        bits = np.concatenate([bits, sides(points.X, block.weights, block.biases).to_bool()], axis=1)
        mixed = _mixed(bits, points.y)
        if mixed.any() and not (stall.due(planes.count) and stall.stalled(planes.count, int(mixed.sum()))):
            continue
        # The least number of hyperplanes that leave no more points mixed than all of them do.
        width, high = 1, int(bits.shape[1])
        while width < high:
            middle = (width + high) // 2
            enough = _mixed(bits[:, :middle], points.y).sum() <= mixed.sum()
            width, high = (width, middle) if enough else (middle + 1, high)
        random = planes.head(width)
        if mixed.any():
            pairs = _pairs(np.flatnonzero(mixed), _groups(bits[mixed, :width]), points.y)
            return random.append(cut_planes(points.X, pairs, np.float32)), width
        return random, width
    raise AssertionError("unreachable")


def _pairs(rows: Rows, groups: Rows, y: Codes) -> Iterator[tuple[Rows, Rows]]:
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
    length = max(1, int(np.ceil(2 * np.log2(n))))
    for attempt in count():
        if length + attempt >= width:
            return np.eye(width, dtype=bool), bits
        subsets = stream(root, PARITIES, attempt).integers(0, 2, (length + attempt, width)).astype(bool)
        subsets[~subsets.any(axis=1), 0] = True
        codes = (bits.astype(np.float32) @ subsets.T.astype(np.float32)).astype(np.int64) % 2 == 1
        if not _mixed(codes, y).any():
            return subsets, codes
    raise AssertionError("unreachable")


def _parities(subsets: Bits) -> tuple[Layer, Layer]:
    """Two layers: whether at least 1, 2, ... bits of each subset are on; whether their number is odd."""
    sizes = subsets.sum(axis=1)
    below = np.concatenate([np.arange(size) for size in sizes])
    counting = Layer(Masks(BitMatrix.from_bool(np.repeat(subsets, sizes, axis=0)), 1), -below, THRESHOLD)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    signs = sp.csr_array((1.0 - 2.0 * (below % 2), (owner, np.arange(len(owner)))), shape=(len(sizes), len(owner)))
    return counting, Layer(Sparse(signs), np.full(len(sizes), -0.5), THRESHOLD)


@dataclass(frozen=True, eq=False)
class _Stored:
    """Codes by bucket and set: no set has two of one bucket, and each set is of one class."""

    heads: Bits  # the first bits of a code, for every bucket in use
    rests: Bits  # the others, for every code
    bucket: Rows  # of every code
    member: Rows  # the set of every code
    set_classes: Rows  # the class of every set

    @classmethod
    def of(cls, codes: Bits, y: Codes) -> _Stored:
        """Distribute codes over as few sets as the fullest bucket of each class allows."""
        first = np.unique(_groups(codes), return_index=True)[1]
        codes, y = codes[first], y[first]
        head_bits = min(codes.shape[1], int(np.log2(len(codes)) / 2))
        bucket = _groups(np.pad(codes[:, :head_bits], ((0, 0), (0, 1))))
        heads = np.empty((bucket.max() + 1, head_bits), dtype=bool)
        heads[bucket] = codes[:, :head_bits]
        # The k-th code of a class in its bucket goes to the k-th set of that class.
        groups = y * len(heads) + bucket
        order = np.argsort(groups, kind="stable")
        rank = np.empty(len(groups), dtype=np.int64)
        rank[order] = np.arange(len(groups)) - np.searchsorted(groups[order], groups[order])
        names, member = np.unique(y * len(codes) + rank, return_inverse=True)
        return cls(heads, codes[:, head_bits:], bucket, member.astype(np.int64), names // len(codes))

    def layers(self) -> tuple[Layer, Layer, Layer]:
        """Layers of the buckets beside the bits of the rest, of their products, of the sets."""
        (n, head_bits), rest_bits = self.heads.shape, self.rests.shape[1]
        choose = sp.block_diag([sp.csr_array(2.0 * self.heads - 1.0), sp.eye_array(rest_bits)], format="csr")
        weights = sp.csr_array(choose, shape=(n + rest_bits, head_bits + rest_bits))
        bias = np.concatenate([0.5 - self.heads.sum(axis=1), np.full(rest_bits, -0.5)])
        # For every bucket: the bucket itself, then the bucket and each bit of the rest.
        buckets = np.repeat(np.eye(n, dtype=bool), rest_bits + 1, axis=0)
        bits = np.tile(np.eye(rest_bits + 1, rest_bits, -1, dtype=bool), (n, 1))
        masks = BitMatrix.from_bool(np.hstack([buckets, bits]))
        alone = np.tile(np.arange(rest_bits + 1) == 0, n)
        # A set's sum is 1/2 if the rest of the point's bucket is as stored, less by each bit that is not.
        stored = np.hstack([1.0 - self.rests.sum(axis=1, keepdims=True), 2.0 * self.rests - 1.0])
        columns = self.bucket[:, None] * (rest_bits + 1) + np.arange(rest_bits + 1)
        places = np.repeat(self.member, rest_bits + 1), columns.ravel()
        n_sets = len(self.set_classes)
        sets = sp.csr_array((stored.ravel(), places), shape=(n_sets, n * (rest_bits + 1)))
        return (
            Layer(Sparse(weights), bias, THRESHOLD),
            Layer(Masks(masks, 1), np.where(alone, 0, -1), THRESHOLD),
            Layer(Sparse(sets), np.full(n_sets, -0.5), THRESHOLD),
        )
