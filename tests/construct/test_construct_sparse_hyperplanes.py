"""Sparse hyperplanes look at few features, separate the rows that they come from, and are the twin's."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import problems, seeds
from hypothesis import given
from hypothesis import strategies as st

from exactfit._support.parameters import seed_sequence
from exactfit.construct import Options, adaptive_width, fixed_width
from exactfit.construct.hyperplanes import HYPERPLANES, RandomPairs, make_sampler, spread_exponents, stream
from exactfit.exceptions import ParameterError
from exactfit.network import Sparse
from exactfit.network.sides import sides

SIZES = st.one_of(st.integers(1, 6), st.tuples(st.integers(1, 3), st.integers(3, 6)))
# The twin adds up fractions: products that float64 rounds away are not its subject.
NORMAL = tuple(kind for kind in ("grid", "halves", "interval", "any", "offset", "neighbours"))


def drawn(X, y, options, seed, count):
    return make_sampler(X, y, tuple(range(y.max() + 1)), options, seed_sequence(seed)).first(count)


def pairs_of_block(y, seed, block=0):
    """The rows that a block of hyperplanes comes from."""
    pairs = RandomPairs.of(y, tuple(range(y.max() + 1)))
    here, there = pairs.draw(stream(seed_sequence(seed), HYPERPLANES, block), 64)
    return here, there


def exact_sums(planes, X, rows):
    """<w, x> of hyperplane i at row ``rows[i]``, as fractions."""
    lines = planes.weights.toarray().tolist()
    return [
        sum((Fraction(w) * Fraction(float(x)) for w, x in zip(line, X[row], strict=True) if w), Fraction(0))
        for line, row in zip(lines, rows, strict=True)
    ]


@st.composite
def images(draw):
    """(X, y, shape): small images, many of which differ in few pixels."""
    shape = draw(st.sampled_from([(1, 1), (1, 5), (4, 1), (2, 2), (7, 8), (15, 14), (3, 4, 2), (14, 15, 3)]))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    X = np.repeat(rng.standard_normal((1, np.prod(shape))), draw(st.integers(3, 9)), axis=0)
    for r, row in enumerate(X):
        row[rng.integers(0, len(row), draw(st.integers(1, 30)))] = r
    return X, np.arange(len(X)) % draw(st.integers(2, 3)), shape


# ---- Against the twin ------------------------------------------------------------------------------------


@given(problems(kinds=NORMAL), SIZES, seeds, st.integers(1, 140))
def test_tables_give_the_hyperplanes_of_the_twin(problem, max_features, seed, count):
    X, y = problem
    options = Options(hyperplanes="sparse", max_features=max_features)
    planes = drawn(X, y, options, seed, count)
    W, B = zip(*itertools.islice(naive.hyperplanes(X, y, tuple(range(y.max() + 1)), options, seed), count), strict=True)
    assert planes.weights.dtype == np.float32
    np.testing.assert_array_equal(planes.weights.toarray(), np.array(W))
    assert planes.biases.tolist() == list(B)


@given(images(), SIZES, seeds, st.sampled_from([None, "float32"]))
def test_images_give_the_hyperplanes_of_the_twin(problem, max_features, seed, exact_in):
    X, y, shape = problem
    X = X.astype(np.float32).astype(np.float64)
    options = Options(hyperplanes="sparse", max_features=max_features, image_shape=shape, exact_in=exact_in)
    planes = drawn(X, y, options, seed, 64)
    W, B = zip(*itertools.islice(naive.hyperplanes(X, y, tuple(range(y.max() + 1)), options, seed), 64), strict=True)
    np.testing.assert_array_equal(planes.weights.toarray(), np.array(W))
    assert planes.biases.tolist() == list(B)


# ---- What each hyperplane is -----------------------------------------------------------------------------


@given(problems(), SIZES, seeds, st.sampled_from([None, "float64", "float32"]))
def test_every_hyperplane_separates_the_rows_that_it_comes_from(problem, max_features, seed, exact_in):
    X, y = problem
    if exact_in == "float32":
        X = X.astype(np.float32).astype(np.float64) + 0.0
        assume_distinct(X, y)
    planes = drawn(X, y, Options(hyperplanes="sparse", max_features=max_features, exact_in=exact_in), seed, 64)
    here, there = pairs_of_block(y, seed)
    for bias, *sums in zip(
        planes.biases.tolist(), exact_sums(planes, X, here), exact_sums(planes, X, there), strict=True
    ):
        assert sum(value + Fraction(bias) > 0 for value in sums) == 1
        assert exact_in != "float32" or float(np.float32(bias)) == bias


def assume_distinct(X, y):
    """Skip data in which rounding made rows of different labels equal."""
    from hypothesis import assume

    assume(all(y[i] == y[j] or (X[i] != X[j]).any() for i, j in itertools.combinations(range(len(y)), 2)))


@given(problems(max_features=6), SIZES, seeds)
def test_weights_are_integers_and_one_of_them_is_one(problem, max_features, seed):
    X, y = problem
    options = Options(hyperplanes="sparse", max_features=max_features)
    planes = drawn(X, y, options, seed, 100)
    assert sp.isspmatrix_csr(planes.weights) or planes.weights.format == "csr"
    assert planes.weights.has_canonical_format
    for start, stop in itertools.pairwise(planes.weights.indptr.tolist()):
        sizes = np.abs(planes.weights.data[start:stop])
        assert 1 <= len(sizes) <= options.feature_range[1]
        assert sizes.min() == 1
        assert (np.frexp(sizes)[0] == 0.5).all()


def test_the_number_of_features_is_uniform():
    X = np.random.default_rng(0).standard_normal((60, 20))
    y = np.arange(60) % 3
    for max_features, sizes in ((4, (1, 2, 3, 4)), ((2, 4), (2, 3, 4)), ((3, 3), (3,))):
        planes = drawn(X, y, Options(hyperplanes="sparse", max_features=max_features), 0, 6400)
        counts = np.bincount(np.diff(planes.weights.indptr))[1:]
        expected = 6400 / len(sizes)
        assert np.flatnonzero(counts).tolist() == [size - 1 for size in sizes]
        assert np.abs(counts[counts > 0] - expected).max() < 5 * np.sqrt(expected)


def test_both_sides_and_every_place_between_two_rows_are_alike():
    X, y = np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([0, 1])
    planes = drawn(X, y, Options(hyperplanes="sparse"), 0, 6400)
    signs = planes.weights.toarray()[:, 0]
    assert abs(np.mean(signs > 0) - 0.5) < 0.03
    thresholds = -planes.biases / signs
    assert np.abs(np.quantile(thresholds, [0.25, 0.5, 0.75]) - [0.75, 1.5, 2.25]).max() < 0.1


def test_one_hot_rows_are_separated_though_their_sums_may_be_equal():
    X, y = np.eye(6), np.arange(6) % 2
    planes = drawn(X, y, Options(hyperplanes="sparse", max_features=(2, 2)), 0, 640)
    weights = planes.weights.toarray()
    assert (np.count_nonzero(weights, axis=1) == 2).all()
    assert (weights.sum(axis=1) == 0).all(), "equal signs would give both rows the same sum"


def test_features_lie_in_a_window_that_holds_a_pixel_in_which_the_rows_differ():
    rng = np.random.default_rng(8)
    for shape, largest in (((28, 28), 14), ((32, 32, 3), 16), ((8, 8), 4)):
        X = rng.integers(0, 2, (40, int(np.prod(shape)))).astype(float)
        y = np.arange(40) % 2
        planes = drawn(X, y, Options(hyperplanes="sparse", max_features=(3, 6), image_shape=shape), 0, 64)
        here, there = pairs_of_block(y, 0)
        extents = []
        for line, a, b in zip(planes.weights.toarray(), here, there, strict=True):
            assert (X[a] != X[b])[line != 0].all()
            on = np.argwhere(line.reshape(*shape[:2], -1).any(axis=2))
            extents.append(int((on.max(axis=0) - on.min(axis=0) + 1).max()))
        assert largest - 3 < max(extents) <= largest


@given(problems(kinds=("grid", "halves", "interval")), st.lists(st.integers(-30, 30), min_size=3, max_size=3), seeds)
def test_units_of_features_do_not_matter(problem, powers, seed):
    X, y = problem
    options = Options(hyperplanes="sparse")
    bits = []
    for points in (X, np.ldexp(X, np.array(powers[: X.shape[1]]))):
        planes = drawn(points, y, options, seed, 64)
        bits.append(sides(points, planes.weights, planes.biases).to_bool())
    np.testing.assert_array_equal(*bits)


def test_spreads_do_not_follow_a_few_huge_values_or_many_zeros():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (2000, 3)) * [1.0, 1000.0, 1.0]
    X[::50, 0] = 1e12
    X[rng.random(2000) < 0.9, 2] = 0.0
    exponents = spread_exponents(X)
    assert exponents[0] - exponents[1] in (9, 10, 11)
    assert exponents[0] - exponents[2] in (-1, 0, 1)


# ---- Networks --------------------------------------------------------------------------------------------


@given(problems(), SIZES, seeds, st.sampled_from(["mask", "weighted"]), st.sampled_from([None, "all"]))
def test_algorithm_1_interpolates(problem, max_features, seed, detectors, target):
    X, y = problem
    options = Options(hyperplanes="sparse", max_features=max_features, detectors=detectors, target=target)
    made = adaptive_width(X, y, options, seed)
    assert made.outcome.interpolates
    assert isinstance(made.network.layers[0].weights, Sparse)


def test_sparse_points_are_never_made_dense_and_give_the_same_network():
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 300), density=0.05, random_state=np.random.default_rng(0), format="csr")
    y = rng.integers(0, 3, 60)
    y[np.asarray(abs(X).sum(axis=1)).ravel() == 0] = 0
    options = Options(hyperplanes="sparse", detectors="weighted", target="all")
    sparse_points, dense_points = (fixed_width(points, y, 200, options, 1) for points in (X, X.toarray()))
    assert sparse_points.network.digest == dense_points.network.digest


def test_images_of_another_shape_are_refused():
    X, y = np.zeros((2, 12)), np.array([0, 1])
    with pytest.raises(ParameterError, match=r"image_shape=\(3, 5\) is .* of 15 numbers, but rows of X have 12"):
        drawn(X, y, Options(hyperplanes="sparse", image_shape=(3, 5)), 0, 1)


@pytest.mark.parametrize("value", [0, -1, 2.5, "4", True, (0, 2), (3, 2), (1, 2, 3), None])
def test_numbers_of_features_that_make_no_sense_are_refused(value):
    with pytest.raises(ParameterError, match="max_features must be an integer >= 1 or a pair"):
        Options(hyperplanes="sparse", max_features=value)


# ---- How likely two points are separated (docs/sparse.md) ------------------------------------------------


def l1_distance(X, y, x, z):
    """The probability that a hyperplane with one feature separates two points, by its definition: over all pairs."""
    pairs = [(a, b) for a in range(len(y)) for b in range(len(y)) if y[a] != y[b]]
    total = 0.0
    for a, b in pairs:
        differ = np.flatnonzero(X[a] != X[b])
        for j in differ:
            low, high = sorted((X[a, j], X[b, j]))
            shared = min(max(x[j], z[j]), high) - max(min(x[j], z[j]), low)
            total += max(shared, 0.0) / (high - low) / len(differ)
    return total / len(pairs)


@pytest.fixture(scope="module")
def some_rows():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.standard_normal(12), 1000 * rng.integers(0, 4, 12), rng.random(12) < 0.3]).astype(float)
    return X, np.arange(12) % 3


def frequencies(X, y, points, max_features, count):
    """Of pairs of points: how often a hyperplane is off at the first and on at the second."""
    planes = drawn(X, y, Options(hyperplanes="sparse", max_features=max_features), 5, count)
    on = sides(points, planes.weights, planes.biases).to_bool()
    return np.array([[np.mean(~first & second) for second in on] for first in on])


def test_one_feature_separates_with_the_probability_of_the_l1_distance(some_rows):
    X, y = some_rows
    points = np.vstack([X, X[:6] + 0.25])  # new points too
    count = 64_000
    found = frequencies(X, y, points, 1, count)
    expected = np.array([[l1_distance(X, y, x, z) for z in points] for x in points]) / 2
    deviation = np.sqrt(expected * (1 - expected) / count) + 1e-9
    assert expected.max() > 0.2
    assert (np.abs(found - expected) < 5 * deviation + 1e-12).all()


def test_more_features_separate_every_pair_at_least_so_often(some_rows):
    X, y = some_rows
    count = 64_000
    found = frequencies(X, y, X, 4, count)
    n_pairs = np.count_nonzero(y[:, None] != y[None, :])
    for a, b in itertools.permutations(range(len(y)), 2):
        least = l1_distance(X, y, X[a], X[b]) / 8
        if y[a] != y[b]:
            least = max(least, 1 / n_pairs)
        assert found[a, b] > least - 5 * np.sqrt(least / count)
