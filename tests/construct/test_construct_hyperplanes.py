"""Hyperplanes follow their law, come from the seed alone, block by block, and are the twin's to the last bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import problems, seeds
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from exactfit._support.parameters import seed_sequence
from exactfit.construct import Options
from exactfit.construct.hyperplanes import (
    BisectorSampler,
    GaussianSampler,
    Hyperplanes,
    RandomPairs,
    largest_distance,
    make_sampler,
    stream,
)
from exactfit.data import mean
from exactfit.exceptions import DataError

RECIPES = st.builds(
    Options,
    max_bias=st.sampled_from(["radius", 0.0, 0.5]),
    center=st.booleans(),
    hyperplanes=st.sampled_from(["gaussian", "bisector"]),
)
LAWS = {law: Options(hyperplanes=law) for law in ("gaussian", "bisector")}


def drawn(X, y, targets, options, seed, count):
    return make_sampler(X, y, tuple(targets), options, seed_sequence(seed)).first(count)


def gaussian_source(X, seed=0, max_bias="radius", center=True):
    return GaussianSampler(X, seed_sequence(seed), max_bias=max_bias, center=center)


# ---- Seeds -----------------------------------------------------------------------------------------------


def test_a_stream_depends_on_root_and_key_only():
    root = seed_sequence(5)
    first = stream(root, 0, 3).random(4).tolist()
    stream(root, 0, 2).random(100)
    root.spawn(7)
    assert stream(root, 0, 3).random(4).tolist() == first
    others = [stream(root, 0, 4), stream(root, 1, 3), stream(root, 0), stream(seed_sequence(6), 0, 3)]
    assert all(other.random(4).tolist() != first for other in others)


def test_seeds_of_every_kind():
    assert seed_sequence(7).entropy == 7
    given_sequence = np.random.SeedSequence(3).spawn(2)[1]
    assert seed_sequence(given_sequence) is given_sequence
    spawned = stream(given_sequence, 0).random(3).tolist()
    assert spawned != stream(np.random.SeedSequence(3), 0).random(3).tolist()
    assert seed_sequence(None).entropy != seed_sequence(None).entropy


def test_a_generator_gives_a_new_root_each_time_and_the_same_ones_again():
    roots = [
        [seed_sequence(rng).entropy for _ in range(2)] for rng in (np.random.default_rng(1), np.random.default_rng(1))
    ]
    assert roots[0] == roots[1]
    assert roots[0][0] != roots[0][1]


# ---- Against the twin ------------------------------------------------------------------------------------


@given(problems(), RECIPES, seeds, st.integers(1, 140))
def test_the_same_as_one_at_a_time(problem, options, seed, count):
    X, y = problem
    targets = naive.choose_targets(y, "all")
    planes = drawn(X, y, targets, options, seed, count)
    source = naive.hyperplanes(X, y, targets, options, seed)
    W, B = zip(*itertools.islice(source, count), strict=True)
    assert planes.weights.dtype == np.float32
    np.testing.assert_array_equal(planes.weights, np.array(W))
    assert planes.biases.tolist() == list(B)


@pytest.mark.parametrize("options", LAWS.values(), ids=LAWS)
def test_sparse_and_float32_data_give_the_same_hyperplanes(options):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 6)) < 0.5, rng.standard_normal((30, 6)), 0.0).astype(np.float32)
    y = np.arange(30) % 2
    expected = drawn(X.astype(np.float64), y, [0, 1], options, 1, 100)
    for same in (X, np.asfortranarray(X), sp.csr_array(X), sp.csr_matrix(X.astype(np.float64))):
        planes = drawn(same, y, [0, 1], options, 1, 100)
        np.testing.assert_array_equal(planes.weights, expected.weights)
        np.testing.assert_array_equal(planes.biases, expected.biases)


@pytest.mark.parametrize("options", LAWS.values(), ids=LAWS)
def test_the_first_are_the_same_whatever_comes_after(options):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((20, 6)), np.arange(20) % 2
    source = make_sampler(X, y, (0,), options, seed_sequence(3))
    many = source.first(300)
    for count in (1, 63, 64, 65, 128, 299):
        few = source.first(count)
        assert few.count == count
        np.testing.assert_array_equal(few.weights, many.weights[:count])
        np.testing.assert_array_equal(few.biases, many.biases[:count])
    np.testing.assert_array_equal(source.blocks(2, 3).weights, many.weights[128:192])


def test_mean_and_radius_of_more_rows_than_a_tile_has():
    X = np.random.default_rng(2).standard_normal((9000, 2)) + 3
    center = mean(X)
    np.testing.assert_array_equal(center, naive.mean(X))
    assert largest_distance(X, center) == naive.radius(X, center)
    np.testing.assert_array_equal(mean(sp.csr_array(X)), center)


# ---- The law ---------------------------------------------------------------------------------------------


def test_gaussian_weights_and_uniform_biases():
    X = np.random.default_rng(3).standard_normal((10, 4))
    planes = gaussian_source(X, max_bias=2.5, center=False).first(6400)
    weights = planes.weights.astype(np.float64)
    assert stats.kstest(weights.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(planes.biases, "uniform", (-2.5, 5.0)).pvalue > 1e-3
    assert np.abs(np.corrcoef(np.column_stack([weights, planes.biases]), rowvar=False) - np.eye(5)).max() < 0.06
    assert len(np.unique(weights)) > 0.99 * weights.size


def test_biases_reach_as_far_as_the_data():
    X = np.random.default_rng(4).standard_normal((50, 3)) + 5
    far = np.linalg.norm(X, axis=1).max()
    biases = gaussian_source(X, center=False).first(3200).biases
    assert 0.99 * far < np.abs(biases).max() <= far
    center = X.mean(axis=0)
    planes = gaussian_source(X, center=True).first(3200)
    around = planes.biases + planes.weights @ center
    near = np.linalg.norm(X - center, axis=1).max()
    assert 0.99 * near < np.abs(around).max() <= near * (1 + 1e-12)


def test_no_bias_means_through_the_origin_or_the_mean():
    X = np.random.default_rng(5).standard_normal((20, 3)) + 1
    assert not gaussian_source(X, max_bias=0.0, center=False).first(100).biases.any()
    planes = gaussian_source(X, max_bias=0.0, center=True).first(100)
    assert np.abs(planes.weights @ X.mean(axis=0) + planes.biases).max() < 1e-13


def test_bisectors_lie_halfway_with_the_target_on_the_off_side():
    X = np.array([[0.0, 0.0], [3.0, 1.0]])
    planes = BisectorSampler(X, RandomPairs.of(np.array([0, 1]), (0,)), seed_sequence(0)).first(64)
    values = planes.weights @ X.T + planes.biases[:, None]
    np.testing.assert_allclose(values[:, 0], -values[:, 1], rtol=1e-6)
    assert (values[:, 0] < 0).all()
    assert ((np.abs(planes.weights).max(axis=1) >= 0.5) & (np.abs(planes.weights).max(axis=1) < 1)).all()


@pytest.mark.parametrize("targets", [(0, 1, 2), (2, 0)])
def test_bisectors_take_every_ordered_pair_alike(targets):
    X = np.array([[1.0], [2.0], [4.0], [8.0], [16.0], [32.0]])
    y = np.array([0, 2, 1, 0, 0, 2])
    planes = BisectorSampler(X, RandomPairs.of(y, targets), seed_sequence(1)).first(6400)
    middles = -planes.biases / planes.weights[:, 0].astype(np.float64)
    found = {}
    for middle, sign in zip(np.round(2 * middles).astype(int), np.sign(planes.weights[:, 0]), strict=True):
        found[int(middle), int(sign)] = found.get((int(middle), int(sign)), 0) + 1
    pairs = [(a, b) for a in range(6) for b in range(6) if y[a] != y[b] and y[a] in targets]
    expected = {(int(X[a, 0] + X[b, 0]), int(np.sign(X[b, 0] - X[a, 0]))) for a, b in pairs}
    assert found.keys() == expected
    assert stats.chisquare(list(found.values())).pvalue > 1e-3


def test_bisectors_of_points_of_any_size():
    for size in (5e-324, 1e-300, 1.0, 1e300):
        X = size * np.array([[1.0, 2.0], [3.0, 1.0]])
        planes = BisectorSampler(X, RandomPairs.of(np.array([0, 1]), (0, 1)), seed_sequence(0)).first(64)
        assert np.isfinite(planes.weights).all()
        assert np.isfinite(planes.biases).all()
        assert (np.abs(planes.weights).max(axis=1) >= 0.5).all()


@pytest.mark.parametrize(
    "options",
    [
        Options(), Options(center=False), Options(hyperplanes="bisector"),
    ],
)  # fmt: skip
def test_data_that_overflow_are_refused_with_a_remedy(options):
    X = np.array([[1.7e308, 1.7e308], [-1.7e308, 1.7e308], [1.7e308, 0.0]])
    with pytest.raises(DataError, match=r"too large.*Scale them down"):
        drawn(X, np.array([0, 1, 1]), [0, 1], options, 0, 64)


# ---- Hyperplanes as data ---------------------------------------------------------------------------------


def test_head_and_append():
    few = Hyperplanes(np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32), np.array([5.0, 6.0]))
    more = Hyperplanes(np.array([[7.0, 8.0]]), np.array([9.0]))
    assert few.first(1).weights.tolist() == [[1.0, 2.0]]
    assert few.first(1).count == 1
    joined = few.append(more)
    assert joined.weights.tolist() == [[1.0, 2.0], [3.0, 4.0], [7.0, 8.0]]
    assert joined.biases.tolist() == [5.0, 6.0, 9.0]
    assert joined.weights.dtype == np.float64
    assert few.append(few).weights.dtype == np.float32
