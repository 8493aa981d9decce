"""Small problems that tests share: strategies, points and labels, constructions, tables, images."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from exactfit import (
    DataError,
    InterpolatingClassifier,
    Network,
    Table,
    TableModel,
    read_table,
)
from exactfit import constructions as rivals
from exactfit._support.console import silent
from exactfit._support.threads import SERIAL, Executor
from exactfit.construct import Construction, Options, adaptive_width, fixed_width
from exactfit.construct.evidence import Counts
from exactfit.construct.hyperplanes import largest_distance
from exactfit.construct.patterns import patterns_of
from exactfit.construct.unique_patterns import NO_RANK, PatternGroups, UniquePatterns
from exactfit.construct.values import roundest
from exactfit.constructions import Constructor
from exactfit.data import ChunkedPoints, mean
from exactfit.data.equal import hashes_of
from exactfit.data.pairs import closest_pair
from exactfit.geometry.theorem import make_disc_moons
from exactfit.lab.images import MNIST
from exactfit.network import Dense, Sparse
from exactfit.network.activations import Activation
from exactfit.network.bits import BitMatrix
from exactfit.network.sides import sides
from helpers import twins as naive

# ---- Labelled points of every kind that a construction may meet, for hypothesis ------------------------------------


ONE_UP = float(np.nextafter(1.0, 2.0))

# Grids make ties, neighbours need rescue, and far from the origin everything is a close call.
COORDINATES = {
    "grid": st.integers(-2, 2).map(float),
    "halves": st.integers(-3, 3).map(lambda k: k / 2),
    "interval": st.floats(-1, 1, allow_subnormal=False).map(lambda v: round(v, 6)),
    "any": st.floats(-1e3, 1e3, allow_subnormal=False),
    "offset": st.integers(-3, 3).map(lambda k: 1e8 + k),
    "neighbours": st.sampled_from([0.0, 0.5, 1.0, ONE_UP]),
    "denormal": st.sampled_from([0.0, 5e-324, 1e-323, 1.0]),
}
# Real-valued activations cannot tell points apart that differ by a denormal number.
FOR_VALUES = tuple(kind for kind in COORDINATES if kind != "denormal")


@st.composite
def problems(draw, *, kinds=tuple(COORDINATES), max_points=10, max_features=3, max_classes=4):
    """(X, y): any number of points and features, equal points allowed where their labels agree."""
    d = draw(st.integers(1, max_features))
    coordinate = COORDINATES[draw(st.sampled_from(kinds))].map(lambda v: v + 0.0)  # -0.0 equals 0.0
    points = draw(st.lists(st.tuples(*[coordinate] * d), min_size=2, max_size=max_points, unique=True))
    n_classes = draw(st.integers(2, min(max_classes, len(points))))
    labels = [*range(n_classes), *(draw(st.integers(0, n_classes - 1)) for _ in points[n_classes:])]
    repeated = draw(st.lists(st.integers(0, len(points) - 1), max_size=3))
    rows = draw(st.permutations([*range(len(points)), *repeated]))
    return np.array([points[r] for r in rows]), np.array([labels[r] for r in rows])


seeds = st.integers(0, 2**32)


def some_options(**options):
    """Recipes of every kind, but for the options that are given."""
    choices = {
        "max_bias": st.sampled_from(["radius", 0.0, 0.5, 3.0]),
        "center": st.booleans(),
        "hyperplanes": st.sampled_from(["gaussian", "bisector"]),
        "target": st.sampled_from([None, "all"]),
        "n_jobs": st.sampled_from([1, 2]),
    }
    return st.builds(Options, **choices | {name: st.just(value) for name, value in options.items()})


# ---- Problems that the tests of constructions share, and the sizes of what is built for them -----------------------


def random_labels(n=150, d=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, k, n)


def three_labels(n=120, d=6, k=3, seed=0):
    return random_labels(n, d, k, seed)


def wide_labels(n=150, d=10, k=2, seed=0):
    return random_labels(n, d, k, seed)


def simplex(n=80, d=6):
    return np.random.default_rng(1).dirichlet(np.ones(d), n), np.arange(n) % 2


def grid(n=120):
    rng = np.random.default_rng(2)
    cells = np.unique(rng.integers(0, 3, (4 * n, 5)), axis=0)[:n].astype(float)
    return np.hstack([cells, cells[:, :2], np.ones((len(cells), 1))]), rng.integers(0, 2, len(cells))


def collinear(n=30):
    return np.outer(np.arange(float(n)), [1.0, 2.0, -0.5]) + 1.0, np.random.default_rng(3).integers(0, 3, n)


def fewer_points_than_features():
    return np.random.default_rng(4).standard_normal((5, 20)), np.array([0, 1, 0, 1, 2])


def one_feature(n=30):
    return np.arange(float(n))[:, None], np.arange(n) % 3


DEGENERATE = {f.__name__: f for f in (simplex, grid, collinear, fewer_points_than_features, one_feature)}


def size(network) -> tuple[int, int]:
    shapes = [layer.weights.shape for layer in network.layers]  # n_parameters leaves out the zeros of sparse layers
    return network.n_neurons, sum(units * (inputs + 1) for units, inputs in shapes)


def chain_size(n_features, *widths) -> tuple[int, int]:
    """Units (outputs included) and parameters of layers of these widths, each connected to all of the one before."""
    return sum(widths), sum((n + 1) * width for n, width in pairwise((n_features, *widths)))


def spaced_levels(n_classes):
    return np.linspace(-1.0, 1.0, n_classes)


def n_outputs(n_classes) -> int:
    return 1 if n_classes == 2 else n_classes


def random_problem(n, d, n_classes, seed=0, whole=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 50, (n, d)).astype(float) if whole else rng.standard_normal((n, d))
    X, rows = np.unique(X, axis=0, return_index=True)
    y = rng.integers(0, n_classes, n)[rows]
    y[:n_classes] = range(n_classes)
    return X, y


def nonzero(network):
    return sum(layer.weights.n_nonzero + np.count_nonzero(layer.bias) for layer in network.layers)


def widest(network):
    return max(abs(int(w)).bit_length() for layer in network.layers for w in [*layer.weights.values.flat, *layer.bias])


# ---- Two moons, as the tests of the geometry take them -------------------------------------------------------------


def moons(n: int = 300) -> tuple[Any, Any]:
    return make_moons(n, noise=0.05, random_state=0)


def unit_moons() -> tuple[Any, Any]:
    X, y = moons()
    return X / np.linalg.norm(X, axis=1).max(), y


# ---- Batches of disc_moons, for what takes a stream of points ------------------------------------------------------


def disc_moons(n: int, seed: int, noise: float = 0.2) -> tuple[Any, Any]:
    return make_disc_moons(n, noise=noise, random_state=seed)


def batches(n: int = 400, count: int = 3) -> list[tuple[Any, Any]]:
    return [disc_moons(n, 100 + k) for k in range(count)]


# ---- Inputs for the tests of kernels: bits at the widths where words begin and end, and close calls ----------------


WIDTHS = [1, 63, 64, 65, 127, 128, 129, 192, 193, 255, 256, 257, 320, 449, 511, 512, 513, 768, 769, 1100]
COLUMNS = [1, 511, 512, 513, 1030]
ALL = 2**64 - 1


def random_bits(seed, n_rows, n_bits, share=0.5):
    """Random bits; the first row all on, the last bit of every word (bit 63) on in the second."""
    bits = np.random.default_rng(seed).random((n_rows, n_bits)) < share
    bits[0] = True
    bits[1 % n_rows, 63::64] = True
    return bits


def masks_of(bits):
    return np.ascontiguousarray(BitMatrix.from_bool(bits).words.T)


def count_matrix(masks, points):
    return masks.astype(np.int64) @ points.T.astype(np.int64)


def masked_values(seed, n, n_columns, n_masks=4):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(n, n_columns)), rng.random(n_columns) * 1e-10, random_bits(seed, n_masks, n)


moderate = st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False),
    st.integers(-4, 4).map(float),
    st.floats(2.0**-440, 2.0**440),
).filter(lambda v: v == 0 or 2.0**-450 <= abs(v) <= 2.0**450)
any_float = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    moderate,
    st.builds(math.ldexp, st.floats(-1, 1), st.sampled_from([-600, -540, -480, -455, -445, 445, 455, 480, 540])),
    st.sampled_from([5e-324, 1.7e308]),
)


@st.composite
def close_calls(draw, numbers):
    """(x, w, b) with <w, x> + b far smaller than its terms, or zero."""
    d = draw(st.integers(1, 6))
    x = draw(st.lists(numbers, min_size=d, max_size=d))
    w = draw(st.lists(numbers, min_size=d, max_size=d))
    kind = draw(st.sampled_from(["plain", "rounded", "mirrored"]))
    b = draw(numbers)
    if kind == "mirrored":
        x, w, b = [*x, *x], [*w, *(-v for v in w)], draw(st.sampled_from([0.0, 5e-324, -5e-324, 1e-30, -1e-30]))
    elif kind == "rounded":
        rounded = naive.exact(w, x, 0.0)
        b = -float(rounded) if abs(rounded) < Fraction(1.7e308) else b
        steps = draw(st.integers(-2, 2))
        for _ in range(abs(steps)):
            b = math.nextafter(b, math.copysign(math.inf, steps))
    return np.array(x), np.array(w), b if math.isfinite(b) else 0.0


# ---- ONE list of ready-made constructions: certificate, persistence, export and clone tests all run over it --------


Build = Callable[[NDArray[Any], NDArray[Any], Any], Construction]
Problem = Callable[[], tuple[NDArray[np.float64], NDArray[np.int64]]]


def plain(*args: Any, **options: Any) -> InterpolatingClassifier:
    """A classifier whose defaults are those of a recipe: as few hyperplanes as it takes, masks."""
    defaults = {"min_width": 0, "hyperplanes": "gaussian", "target": None, "detectors": "mask"}
    return InterpolatingClassifier(*args, **defaults | options)


def squared_relu(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """An activation of one's own."""
    return np.maximum(t, 0.0) ** 2


OWN = Activation("squared_relu", squared_relu)
WIDTH = 200


def _fixed(recipe: Options, width: int, X: NDArray[Any], y: NDArray[Any], rng: Any) -> Construction:
    return fixed_width(X, y, width, recipe, rng)


def _adaptive(recipe: Options, min_width: int, X: NDArray[Any], y: NDArray[Any], rng: Any) -> Construction:
    return adaptive_width(X, y, replace(recipe, min_width=min_width), rng)


def _make(activation: str | Activation, width: str, law: str, target: str) -> tuple[str, Build]:
    name = activation if isinstance(activation, str) else "own"
    one_or_all: Any = "all" if target == "all" else None
    recipe = Options(activation=activation, hyperplanes=law, target=one_or_all)
    build = partial(_fixed, recipe, WIDTH) if width == "fixed" else partial(_adaptive, recipe, 0)
    return f"{name}-{width}-{law}-{target}", build


CONSTRUCTORS: dict[str, Build] = dict(
    [
        _make("threshold", "fixed", "gaussian", "one"),
        _make("threshold", "fixed", "bisector", "all"),
        _make("threshold", "adaptive", "gaussian", "all"),
        _make("threshold", "adaptive", "bisector", "one"),
        _make("relu", "fixed", "bisector", "all"),
        _make("relu", "fixed", "gaussian", "one"),
        _make("relu", "adaptive", "bisector", "one"),
        _make("relu", "adaptive", "gaussian", "all"),
        _make(OWN, "fixed", "gaussian", "all"),
        _make(OWN, "fixed", "bisector", "one"),
        _make(OWN, "adaptive", "gaussian", "one"),
        _make(OWN, "adaptive", "bisector", "all"),
        _make("threshold", "fixed", "sparse", "one"),
        _make("threshold", "adaptive", "sparse", "all"),
        _make("relu", "fixed", "sparse", "all"),
        _make(OWN, "adaptive", "sparse", "one"),
    ]
)
CONSTRUCTORS["weighted-fixed"] = partial(_fixed, Options(detectors="weighted", target="all"), WIDTH)
CONSTRUCTORS["weighted-adaptive"] = partial(_adaptive, Options(detectors="weighted", hyperplanes="bisector"), 0)
CONSTRUCTORS["weighted-sparse"] = partial(_fixed, Options(detectors="weighted", hyperplanes="sparse"), WIDTH)
CONSTRUCTORS["weighted-too-narrow"] = partial(_fixed, Options(detectors="weighted"), 2)
CONSTRUCTORS["threshold-wide"] = partial(_adaptive, Options(), 3 * WIDTH)
CONSTRUCTORS["threshold-paper"] = partial(_fixed, Options(center=False, max_bias=1.0), WIDTH)
# Too few hyperplanes: some points are missed, or all of them, and there may be no detector at all.
CONSTRUCTORS["threshold-too-narrow"] = partial(_fixed, Options(), 2)
CONSTRUCTORS["relu-too-narrow"] = partial(_fixed, Options(activation="relu", target="all"), 2)


def _rival(constructor: Constructor, X: NDArray[Any], y: NDArray[Any], rng: Any) -> Construction:
    return constructor.construct(X, y, rng)


# Published constructions; unlike those above they may refuse points too close together ("close pairs").
RIVALS: dict[str, Build] = {name: partial(_rival, constructor) for name, constructor in rivals.CONSTRUCTORS.items()}


def two_moons() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two classes in the plane."""
    X, y = make_moons(60, noise=0.1, random_state=0)
    return X, y.astype(np.int64)


def three_classes() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three classes in twenty dimensions, more than there are points of a class."""
    rng = np.random.default_rng(1)
    y = np.arange(45) % 3
    return rng.standard_normal((45, 20)) + y[:, None], y


def close_pairs() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points of different labels one float64 apart: nothing but coordinate cuts separates them."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.5, 1.0, (12, 3))
    near = X.copy()
    near[:, 1] = np.nextafter(near[:, 1], 2.0)
    return np.concatenate([X, near]), np.repeat([0, 1], 12)


def constructor_grid() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A chessboard, with some squares twice."""
    X = np.array([[i, j] for i in range(5) for j in range(4)] + [[0, 0], [4, 3], [0, 0]], dtype=np.float64)
    return X, X.sum(axis=1).astype(np.int64) % 2


PROBLEMS: dict[str, Problem] = {
    "two moons": two_moons,
    "three classes": three_classes,
    "close pairs": close_pairs,
    "grid": constructor_grid,
}


# ---- Covers over any table of counts: evidence for the code, for its twin, and tables of every kind ----------------


class CoverTable:
    """Evidence read from a table: what mask a counts at column x."""

    def __init__(self, masked_counts, cost=1, rounds=False):
        self.table, self._cost, self._rounds = masked_counts, cost, rounds
        self.n_limits = 0

    def cost(self, rest):
        return self._cost

    def limits(self, anchors, rest):
        self.n_limits += len(anchors)
        columns = np.concatenate([np.arange(*piece) for piece in rest])
        part = self.table[anchors][:, columns]
        lowest = part.min(axis=1)
        return np.where(self.table[anchors, anchors] < lowest, lowest, 0), columns[part.argmin(axis=1)]

    def select(self, columns):
        return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns

    def masked_counts(self, anchors, selected):
        return self.table[anchors][:, selected]

    def stored(self, limit, highest):
        return roundest(float(highest), float(limit)) if self._rounds else limit

    def stored_limits(self, limits, highest):
        return [self.stored(*pair) for pair in zip(limits, highest, strict=True)]


class TableTwin:
    def __init__(self, table):
        self.table = table.table
        self.stored = table.stored

    def low(self, anchor, point):
        return self.table[anchor, point]

    high = low


@st.composite
def tables(draw, max_target=40):
    """(table, target, rest pieces, order): columns of the rest before and after the target."""
    rng = np.random.default_rng(draw(st.integers(0, 10**9)))
    before, n, after = int(rng.integers(0, 8)), int(rng.integers(1, max_target)), int(rng.integers(1, 8))
    total = before + n + after
    high = int(rng.choice([2, 4, 12]))
    masked_counts = rng.integers(0, high, (total, total))
    if draw(st.booleans()):
        masked_counts = masked_counts * 0.3 + rng.integers(0, 2, (total, total))
    masked_counts[np.arange(total), np.arange(total)] = rng.integers(0, 2, total)
    target = (before, before + n)
    rest = [piece for piece in [(0, before), (before + n, total)] if piece[0] < piece[1]]
    cost = int(rng.choice([1, 2**17, 2**18, 2**25]))
    return CoverTable(masked_counts, cost, draw(st.booleans())), target, rest, before + rng.permutation(n)


def assert_same_cover(fast, slow):
    assert fast.anchors == slow.anchors
    assert fast.limits == slow.limits
    assert fast.witnesses == slow.witnesses
    assert fast.coverage == slow.coverage
    assert fast.uncovered.tolist() == list(slow.uncovered)
    assert fast.n_rejected == slow.n_rejected


def rows_of(rest):
    return [x for piece in rest for x in range(*piece)]


# ---- Points that stand for chunks elsewhere: whatever is asked of them is found by going over all rows --------------


class InChunks(ChunkedPoints):
    """An array in place of chunks."""

    def __init__(self, X, memory=2**30):
        self.X, self.shape, self.memory = X, X.shape, memory

    def __getitem__(self, rows):
        return self.X[rows]

    def mean(self):
        return mean(self.X)

    def radius(self, origin):
        return largest_distance(self.X, origin)

    def closest_pair(self, codes):
        return closest_pair(self.X, codes, Executor(SERIAL, silent))

    def hashed_rows(self):
        yield np.arange(len(self.X)), hashes_of(self.X)

    def _keys(self, planes, order):
        words = sides(self.X, planes.weights, planes.biases).words
        return [(int(code), *map(int, line)) for code, line in zip(order.codes(), words.T, strict=True)]

    def groups(self, planes, order, candidates):
        rows_of, by_row = {}, np.full(len(self.X), NO_RANK)
        for points in candidates.values():
            by_row[order.rows[points]] = np.arange(len(points))
        for row, key in enumerate(self._keys(planes, order)):
            rows_of.setdefault(key, []).append(row)
        keys = sorted(rows_of, key=lambda key: (key[0], rows_of[key][0]))
        found = PatternGroups(
            np.array([key[1:] for key in keys], dtype=np.uint64).T.copy(),
            np.array([key[0] for key in keys]),
            np.array([len(rows_of[key]) for key in keys]),
            np.array([rows_of[key][0] for key in keys]),
            np.array([by_row[rows_of[key]].min() for key in keys]),
        )
        return found if found.n_bytes <= self.memory else None

    def members(self, planes, order, groups):
        places = {
            (int(code), *map(int, line)): k
            for k, (code, line) in enumerate(zip(groups.codes, groups.words.T, strict=True))
        }
        found = [(row, places[key]) for row, key in enumerate(self._keys(planes, order)) if key in places]
        return tuple(np.array(found, dtype=np.int64).reshape(-1, 2).T)

    def unique_patterns(self, planes, order, candidates, threads):
        groups = self.groups(planes, order, candidates)
        return self.as_unique(planes, order, candidates, groups, threads)

    def as_unique(self, planes, order, candidates, groups, threads):
        column = np.argsort(order.rows)

        def members(columns):
            return np.sort(column[self.members(planes, order, groups.take(columns))[0]])

        evidence = Counts(BitMatrix(groups.words, planes.count), threads)
        named = replace(groups, firsts=column[groups.firsts])
        return UniquePatterns.of_groups(named, evidence, candidates, len(order.starts) - 1, members)

    def patterns(self, planes, options):
        return patterns_of(self.X, planes, options, SERIAL)


# ---- Networks of sparse hyperplanes, and the same networks with a dense first layer --------------------------------


def dense_twin(network: Network) -> Network:
    """The same numbers, zeros included, in a dense first layer."""
    first, *others = network.layers
    assert isinstance(first.weights, Sparse)
    dense = replace(first, weights=Dense(first.weights.rows.toarray()))
    return Network((dense, *others), network.decoder, network.input_map)


def twin_of(model: InterpolatingClassifier) -> InterpolatingClassifier:
    """A fitted classifier over the twin of its network."""
    other = copy(model)
    other.network_ = dense_twin(model.network_)
    return other


def documents(n: int, d: int, n_classes: int = 3, seed: int = 0):
    """Counts of words as text has them, in a CSR matrix: some words are frequent, a few tell the classes apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    words = np.minimum((rng.pareto(0.8, (n, 60)) * 20).astype(int), d - 1)
    own = d // 2 + 50 * y[:, None] + rng.integers(0, 50, (n, 8))
    features = np.concatenate([words, own], axis=1)
    rows = np.repeat(np.arange(n), features.shape[1])
    X = sp.csr_matrix((np.ones(features.size), (rows, features.ravel())), shape=(n, d))
    X.sum_duplicates()
    return X, y


# ---- Tables that tests share ---------------------------------------------------------------------------------------


def fitted_table(data: Any, label: str | None = None, scale: Any = "standard", **options: Any) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0, **options), scale=scale).fit(data, label=label)


def people() -> tuple[Any, Any]:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 9, 60), "town": rng.choice(["Ulm", "Bonn"], 60)})
    return frame, pd.Series(np.where((frame["age"] > 40) ^ (frame["town"] == "Ulm"), "yes", "no"))


def fitted_to(X: Any, y: Any, **options: Any) -> TableModel:
    return TableModel(InterpolatingClassifier(random_state=0, **options)).fit(X, y)


# ---- Tables as text: what is read from them, and what is said when they cannot be read -----------------------------


def table_of(path: Path, content: str | bytes, **options: Any) -> Table:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **options)


def error_of(path: Path, content: str | bytes, kind: type[Exception] = DataError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        table_of(path, content, **options)
    return str(caught.value)


def cells(table: Table) -> dict[str, list[Any]]:
    """Numbers and categories, as they stood in the file."""
    return {
        column.name: column.values.tolist()
        if column.categories is None
        else [column.categories[code] for code in column.values]
        for column in table.columns
    }


# ---- Files of MNIST with few images, of random pixels --------------------------------------------------------------


MNIST_NAMES = MNIST.layouts[0]


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return head + array.astype(np.uint8).tobytes()


def toy_images(count: int, n_pixels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, n_pixels), dtype=np.uint8)
    return pixels, (np.arange(count) % 10).astype(np.uint8)


def write_mnist(
    folder: Path, *, packed: bool = True, names: tuple[str, ...] = MNIST_NAMES, seed: int = 0
) -> np.ndarray:
    folder.mkdir(parents=True, exist_ok=True)
    pixels, labels = toy_images(30, 784, seed)
    parts = [pixels[:20].reshape(-1, 28, 28), labels[:20], pixels[20:].reshape(-1, 28, 28), labels[20:]]
    for name, part in zip(names, parts, strict=True):
        contents = idx(part)
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(contents, mtime=0))
        else:
            (folder / name).write_bytes(contents)
    return pixels


# ---- A small table ------------------------------------------------------------------------------------------------


def write_points(folder: Path) -> None:
    """Points of the plane with two labels."""
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{y:.3f},{'ab'[int(x > y)]}" for x, y in rng.normal(size=(40, 2))]
    (folder / "points.csv").write_text("\n".join(["x,y,kind", *rows]), encoding="utf-8")


# ---- Data and constructors for comparisons -------------------------------------------------------------------------


X, Y = make_moons(60, noise=0.05, random_state=0)
WIDTH = 200


class Base:
    """What the protocol asks of a constructor, for the ones below."""

    name: ClassVar[str] = "base"
    citation: ClassVar[str] = "this file"

    def construct(self, X: Any, y: Any, random_state: Any = None) -> Any:
        return fixed_width(X, y, WIDTH, random_state=random_state)


@dataclass(frozen=True)
class Good(Base):
    name: ClassVar[str] = "good"
