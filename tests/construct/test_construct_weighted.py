"""Weighted detectors: equal to their slow twin, and everything that they promise."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.attacks import evaluations
from helpers.problems import PROBLEMS, plain, problems, seeds, some_options
from helpers.weighted_twins import NaiveCover, distinct_twin
from hypothesis import given, settings
from hypothesis import strategies as st

import exactfit
from exactfit import InterpolatingClassifier, Options, adaptive_width, certify, fixed_width
from exactfit._support.threads import SERIAL, Threads
from exactfit.construct import weighted
from exactfit.construct.hyperplanes import Hyperplanes
from exactfit.construct.patterns import patterns_of, rounded
from exactfit.construct.weighted import BinaryPatterns, Effort, weighted_cover
from exactfit.exceptions import ConflictWarning, InterpolationWarning, NoGapError, ParameterError
from exactfit.geometry.theorem import make_alternating_line, make_parallel_lines
from exactfit.network import WeightedMasks
from exactfit.network.bits import BitMatrix
from exactfit.options import SAMPLERS

WEIGHTED = Options(detectors="weighted")


LARGEST_SUM = 2**24


@pytest.fixture
def impatient(monkeypatch):
    """Hard fits visit few points: the twin is slow."""
    monkeypatch.setattr(weighted, "PATIENCE", 2**8)


efforts = st.builds(
    Effort,
    neighbours=st.sampled_from([1, 3, 8, 300]),
    fewest=st.sampled_from([1, 10]),
    enough=st.sampled_from([50, 80, 97]),
    clean=st.sampled_from([60, 98]),
    most=st.sampled_from([1, 3, 2**14]),
    fresh=st.sampled_from([1, 5, 2000]),
    fresh_each=st.sampled_from([1, 10]),
    rounds=st.sampled_from([1, 5]),
    epochs=st.sampled_from([1, 5, 20]),
)


@st.composite
def cubes(draw):
    """Patterns, what may be on, and a target: duplicates over classes, few bits, one pattern in a class."""
    rng = np.random.default_rng(draw(seeds))
    n, m = draw(st.sampled_from([1, 3, 20, 65])), draw(st.integers(2, 40))
    on = np.unique(rng.random((m, n)) < draw(st.sampled_from([0.2, 0.5])), axis=0)
    if draw(st.booleans()) or len(on) < 2:
        on = np.concatenate([on, on[: max(1, len(on) // 3)]])
    on = on[rng.permutation(len(on))]
    maybe = on | (rng.random(on.shape) < 0.05) if draw(st.booleans()) else on
    start = draw(st.integers(0, len(on) - 2))
    stop = draw(st.integers(start + 1, len(on) - (start == 0)))
    return on, maybe, start, stop


@given(cube=cubes(), effort=efforts, seed=seeds, n_threads=st.sampled_from([1, 2]))
@settings(max_examples=300)
@pytest.mark.usefixtures("impatient")
def test_a_cover_is_that_of_the_twin(cube, effort, seed, n_threads):
    on, maybe, start, stop = cube
    rng = np.random.default_rng(seed)
    counts, order = rng.integers(1, 4, stop - start), start + rng.permutation(stop - start)
    words = BitMatrix.from_bool(on).words
    most = words if maybe is on else BitMatrix.from_bool(maybe).words
    with Threads(n_threads) as threads:
        whole = BinaryPatterns(words, most, on.shape[1], start, stop, threads)
        fast = weighted_cover(whole, counts, order, effort)
    slow = NaiveCover(on.astype(int).tolist(), maybe.astype(int).tolist(), start, stop, counts.tolist(), effort)
    slow.run(order.tolist())
    weights, supports = [v.tolist() for v in fast.weights], list(map(_pairs, fast.supports))
    found = list(zip(weights, fast.limits, fast.anchors, fast.witnesses, fast.coverage, supports, strict=True))
    assert found == [(d.weights, d.limit, d.anchor, d.witness, d.coverage, d.support) for d in slow.detectors]
    assert fast.uncovered.tolist() == sorted(slow.unclaimed)
    assert_cover(fast, on, maybe, start, stop)
    for seed_column in fast.uncovered.tolist():  # where weights fail, both masks do
        for v in whole.masks(seed_column):
            assert not whole.judge(v, np.ones(stop - start, dtype=np.int64)).claimed[seed_column - start]


def _pairs(support):
    return list(zip(support.columns.tolist(), support.dual_coef.tolist(), strict=True))


def assert_cover(cover, on, maybe, start, stop):
    """Limits, witnesses, anchors, bounds and support, worked out with NumPy's own products."""
    rest, claimed = np.r_[0:start, stop : len(on)], np.zeros(len(on), dtype=bool)
    parts = cover.weights, cover.limits, cover.anchors, cover.witnesses, cover.supports
    for weights, limit, anchor, witness, support in zip(*parts, strict=True):
        v = weights.astype(np.int64)
        low = on @ np.maximum(v, 0) + maybe @ np.minimum(v, 0)
        high = maybe @ np.maximum(v, 0) + on @ np.minimum(v, 0)
        assert (limit, witness) == (low[rest].min(), rest[low[rest].argmin()])
        assert high[anchor] < limit
        assert not claimed[anchor]
        assert start <= anchor < stop
        assert np.abs(v).max() <= 127
        assert np.abs(v).sum() + abs(limit) <= LARGEST_SUM
        inside = (support.columns >= start) & (support.columns < stop)
        assert ((support.dual_coef > 0) == inside).all()
        claimed[start:stop] |= high[start:stop] < limit
    assert cover.uncovered.tolist() == (start + np.flatnonzero(~claimed[start:stop])).tolist()


def assert_is_the_twins(made, X, codes, recipe):
    """Detector by detector, given the hyperplanes: the twin walks the anchors' classes in its own way."""
    seen = rounded(X, recipe.exact_in)
    layer = made.network.layers[0]
    patterns = patterns_of(seen, Hyperplanes(layer.weights.values, layer.bias), recipe, SERIAL)
    on = patterns.on.to_bool()
    maybe = on if patterns.maybe is None else patterns.maybe.to_bool()
    firsts, places, starts = distinct_twin(on, maybe, codes)
    trace, values = made.trace, made.network.layers[1].weights.values
    at = 0
    for k in sorted(set(trace.detector_classes.tolist())):
        start, stop = starts[k], starts[k + 1]
        counts = np.bincount(places, minlength=len(firsts))[start:stop]
        few, most = on[firsts].astype(int).tolist(), maybe[firsts].astype(int).tolist()
        slow = NaiveCover(few, most, start, stop, counts.tolist(), Effort())
        slow.run([int(places[row]) for row in candidate_rows(codes, k, recipe)])
        for one in slow.detectors:
            rows = slice(*trace.support_starts[at : at + 2])
            assert values[at].tolist() == one.weights
            assert made.network.layers[1].bias[at] == one.limit
            assert (trace.anchors[at], trace.witnesses[at]) == (firsts[one.anchor], firsts[one.witness])
            assert trace.coverage[at] == one.coverage
            pairs = list(zip(trace.support[rows].tolist(), trace.dual_coef[rows].tolist(), strict=True))
            assert pairs == [(firsts[column], share) for column, share in one.support]
            at += 1
    assert at == len(values)


def candidate_rows(codes, k, recipe):
    """The rows of a class in the order that its own random stream gives."""
    from exactfit._support.parameters import seed_sequence
    from exactfit.construct.hyperplanes import ORDER, stream

    rows = np.flatnonzero(codes == k)
    return rows[stream(seed_sequence(0), ORDER, k).permutation(len(rows))]


@given(problem=problems(max_points=9), width=st.sampled_from([1, 4, 30]), data=st.data())
@settings(max_examples=100)
@pytest.mark.usefixtures("impatient")
def test_networks_of_any_small_data_are_the_twins(problem, width, data):
    X, codes = problem
    recipe = data.draw(some_options(detectors="weighted"))
    made = fixed_width(X, codes, width, recipe, 0)
    assert_is_the_twins(made, X, codes, recipe)


@pytest.mark.parametrize("exact_in", ["float64", "float32"])
@pytest.mark.parametrize("problem", ["two moons", "three classes"])
@pytest.mark.usefixtures("impatient")
def test_networks_with_open_bits_are_the_twins(problem, exact_in):
    X, codes = PROBLEMS[problem]()
    recipe = replace(WEIGHTED, exact_in=exact_in, target="all")
    assert_is_the_twins(fixed_width(X[:24], codes[:24], 40, recipe, 0), X[:24], codes[:24], recipe)


def weights_of(made):
    assert isinstance(made.network.layers[1].weights, WeightedMasks)
    return made.network.layers[1].weights.values.astype(np.int64), made.network.layers[1].bias


def assert_promises(made, X, codes):
    v, limits = weights_of(made)
    counts = v @ made.network.layers[0](X).to_bool().T.astype(np.int64)
    for k, (row, limit) in enumerate(zip(counts, limits, strict=True)):
        rest = codes != made.trace.detector_classes[k]
        assert limit == row[rest].min() == row[made.trace.witnesses[k]]
        assert row[made.trace.anchors[k]] < limit
        assert codes[made.trace.anchors[k]] == made.trace.detector_classes[k]
    assert (np.abs(v).sum(axis=1) + np.abs(limits) <= LARGEST_SUM).all()
    assert (np.abs(v) <= 127).all()


@given(problem=problems(), recipe=some_options(detectors="weighted"), seed=seeds)
def test_adaptive_width_keeps_its_guarantee(problem, recipe, seed):
    X, codes = problem
    made = adaptive_width(X, codes, recipe, seed)
    assert made.outcome.interpolates
    assert certify(made.network, X, codes).holds
    assert_promises(made, X, codes)
    plain = adaptive_width(X, codes, replace(recipe, detectors="mask"), seed)
    assert (plain.network.layers[0].weights.values == made.network.layers[0].weights.values).all()


@given(problem=problems(), recipe=some_options(detectors="weighted"), width=st.integers(1, 12), s=seeds)
def test_whenever_masks_interpolate_weights_do(problem, recipe, width, s):
    X, codes = problem
    made = fixed_width(X, codes, width, recipe, s)
    plain = fixed_width(X, codes, width, replace(recipe, detectors="mask"), s)
    assert set(made.trace.uncovered.tolist()) <= set(plain.trace.uncovered.tolist())
    assert set(certify(made.network, X, codes).errors.tolist()) == set(made.errors.tolist())
    assert_promises(made, X, codes)


@pytest.mark.parametrize("width", ["adaptive", 60])
@pytest.mark.parametrize("law", SAMPLERS)
@pytest.mark.parametrize("target", [None, "all"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_same_network_for_any_threads_dense_or_sparse(problem, target, law, width):
    X, y = PROBLEMS[problem]()
    options = {"detectors": "weighted", "hyperplanes": law, "width": width, "target": target, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterpolationWarning)
        if len(set(y)) > 2 and target is not None:
            pytest.skip("target is for two classes")
        one = InterpolatingClassifier(**options, n_jobs=1).fit(X, y)
        many = InterpolatingClassifier(**options, n_jobs=3).fit(X, y)
    assert one.network_.digest == many.network_.digest
    assert one.trace_.support.tolist() == many.trace_.support.tolist()
    if law == "gaussian":  # a mean of sparse points is another number
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterpolationWarning)
            dense = InterpolatingClassifier(**options, center=False, n_jobs=1).fit(X, y)
            sparse = InterpolatingClassifier(**options, center=False, n_jobs=1).fit(sp.csr_array(X), y)
        assert dense.network_.digest == sparse.network_.digest
        assert dense.predict(sp.csr_array(X)).tolist() == dense.predict(X).tolist()


def test_classes_large_enough_for_a_thread_each_give_the_same_network():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1200, 10)), rng.integers(0, 3, 1200)
    made = [fixed_width(X, y, 200, replace(WEIGHTED, n_jobs=n), 0) for n in (1, 2, 4)]
    assert len({one.network.digest for one in made}) == 1
    assert made[0].outcome.interpolates


@pytest.mark.parametrize("width", ["adaptive", 300])
def test_noise_gives_up_rows_and_fits_the_others(width):
    X, y = PROBLEMS["two moons"]()
    y = y.copy()
    y[[3, 40]] ^= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exactfit.ExactfitWarning)
        made = plain(detectors="weighted", noise=0.1, width=width, random_state=0).fit(X, y)
    given_up = made.certificate_.given_up
    assert set(given_up.tolist()) >= {3, 40}
    assert len(given_up) <= 6
    assert np.flatnonzero(made.predict(X) != y).tolist() == given_up.tolist()
    assert not set(given_up.tolist()) & set(made.trace_.support.tolist())


def test_conflicts_take_the_majority():
    X, y = PROBLEMS["two moons"]()
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    y[0] ^= 1
    with pytest.raises(exactfit.ContradictoryLabelsError):
        InterpolatingClassifier(detectors="weighted").fit(X, y)
    with pytest.warns(ConflictWarning):
        made = InterpolatingClassifier(detectors="weighted", conflicts="majority", random_state=0).fit(X, y)
    assert made.certificate_.overruled.tolist() == [0]


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [1.0]], [0, 1]),
        ([[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1, 0]),
        (np.eye(5, 50), [0, 1, 2, 0, 1]),
        (np.random.default_rng(0).standard_normal((30, 2)), [1] + [0] * 29),
        ([[0.0, 0.0]] * 4 + [[1.0, 1.0]] * 3, [0] * 4 + [1] * 3),
    ],
    ids=["two points", "one dimension", "fewer points than dimensions", "one point in a class", "duplicates"],
)
@pytest.mark.parametrize("target", [None, "all"])
def test_odd_data(X, y, target):
    if len(set(y)) > 2:
        target = None
    X = np.asarray(X, dtype=np.float64)
    made = InterpolatingClassifier(detectors="weighted", target=target, random_state=0).fit(X, y)
    assert made.predict(X).tolist() == list(y)
    assert made.certificate_.holds
    assert certify(made, X, y).holds


def test_zero_and_negative_limits_score_as_they_fire():
    X, y = PROBLEMS["three classes"]()
    limits = []
    for seed in range(5):
        made = InterpolatingClassifier(detectors="weighted", width=200, random_state=seed).fit(X, y)
        limits += made.network_.layers[1].bias.tolist()
        scores = made.decision_function(X)
        assert ((scores > 0) == (y[:, None] == np.arange(3))).all()
        assert (scores <= 1).all()
        assert not made.abstains(X).any()
    assert min(limits) < 0


@pytest.mark.parametrize("distance", [0.1, 0.02])
@pytest.mark.parametrize("n", [10, 300])
def test_parallel_lines_need_one_detector(distance, n):
    X, y = make_parallel_lines(n, distance=distance)
    made = fixed_width(X, y, 2000, replace(WEIGHTED, max_bias=1.0, center=False), 0)
    assert made.network.widths[1] == 1
    assert fixed_width(X, y, 2000, Options(max_bias=1.0, center=False), 0).network.widths[1] > 1


def test_the_alternating_line_needs_few_detectors():
    X, y = make_alternating_line(51)
    assert len(X) == 101
    made = fixed_width(X, y, 2000, WEIGHTED, 0)
    assert made.outcome.interpolates
    assert made.network.widths[1] <= 3, "masks need fifty"


def test_random_labels_need_few_detectors():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2000, 50)), rng.integers(0, 2, 2000)
    made = fixed_width(X, y, 500, WEIGHTED, 0)
    assert made.outcome.interpolates
    assert made.network.widths[1] <= 12


def test_other_activations_are_refused():
    with pytest.raises(ParameterError, match='activation="threshold", or detectors="mask"'):
        Options(detectors="weighted", activation="relu")
    with pytest.raises(ParameterError, match="detectors must be one of 'mask', 'weighted'"):
        InterpolatingClassifier(detectors="heavy").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("exact_in", ["float64", "float32"])
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid"])
def test_every_evaluation_in_the_format_is_right(problem, exact_in):
    X, codes = PROBLEMS[problem]()
    made = adaptive_width(X, codes, replace(WEIGHTED, exact_in=exact_in), 0)
    seen = np.asarray(rounded(X, exact_in), dtype=np.float64)
    for name, found in evaluations(made.network, seen, exact_in):
        assert found.tolist() == codes.tolist(), name
    assert certify(made.network, seen, codes, arithmetic=exact_in).holds


@given(problem=problems(), seed=seeds, exact_in=st.sampled_from(["float64", "float32"]))
@settings(max_examples=25)
def test_exact_in_on_any_data(problem, seed, exact_in):
    X, codes = problem
    seen = np.asarray(rounded(X, exact_in), dtype=np.float64)
    try:
        made = adaptive_width(X, codes, replace(WEIGHTED, exact_in=exact_in), seed)
    except (NoGapError, exactfit.ContradictoryLabelsError, exactfit.WidthLimitError):
        return
    assert certify(made.network, seen, codes, arithmetic=exact_in).holds
