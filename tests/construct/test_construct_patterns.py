"""With ``exact_in`` every training point is right in every IEEE evaluation in the format; certificates say so."""

from __future__ import annotations

import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.attacks import evaluations, first_layers, fma32, fma64
from helpers.problems import OWN, PROBLEMS, plain, problems, seeds, some_options
from helpers.twins import all_pairs, unpack
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import exactfit
from exactfit import InterpolatingClassifier, Options, adaptive_width, certify, fixed_width
from exactfit._kernels.rounding import FLOAT32, FLOAT64
from exactfit._support.threads import SERIAL, Threads
from exactfit.construct.hyperplanes import Hyperplanes
from exactfit.construct.patterns import Patterns, patterns_of, rounded
from exactfit.construct.separation import SurePairs
from exactfit.data import conflicts
from exactfit.exceptions import (
    ConflictWarning,
    ContradictoryLabelsError,
    DataError,
    InterpolationWarning,
    NoGapError,
    ParameterError,
)

FORMATS = ("float64", "float32")
UNITS = {"float64": FLOAT64, "float32": FLOAT32}


def neighbours(dtype):
    """Pairs of different labels, one number of the format apart."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.5, 1.0, (6, 3)).astype(dtype)
    near = X.copy()
    near[:, 1] = np.nextafter(near[:, 1], np.ones(1, dtype=dtype) * 2)
    return np.concatenate([X, near]).astype(np.float64), np.repeat([0, 1], 6)


def assert_right_everywhere(network, X, y, exact_in):
    seen = np.asarray(rounded(X, exact_in), dtype=np.float64)
    for name, codes in evaluations(network, seen, exact_in):
        assert codes.tolist() == np.asarray(y).tolist(), name
    assert network.decide(seen).tolist() == np.asarray(y).tolist()
    assert certify(network, seen, y, arithmetic=exact_in).holds


# ---- Bits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact_in", FORMATS)
@given(data=st.data())
@settings(max_examples=25)
def test_a_bit_is_sure_only_outside_the_bound_and_then_no_evaluation_turns_it(exact_in, data):
    X, y = data.draw(problems(max_points=6))
    assume(not conflicts(rounded(X, exact_in), y))
    made = fixed_width(rounded(X, exact_in), y, 10, data.draw(some_options()), data.draw(seeds))
    layer = made.network.layers[0]
    bias = layer.bias.astype(exact_in).astype(np.float64)
    planes = Hyperplanes(layer.weights.values, bias)
    patterns = patterns_of(rounded(X, exact_in), planes, Options(exact_in=exact_in), SERIAL)
    on, maybe = patterns.on.to_bool(), patterns.maybe.to_bool()
    event("some are open" if (on != maybe).any() else "all are sure")
    seen = np.asarray(rounded(X, exact_in), dtype=np.float64)
    exact, bound = exact_values(seen, planes), naive_bound(seen, planes, UNITS[exact_in])
    for i, j in np.ndindex(on.shape):
        assert on[i, j] <= (exact[i][j] > 0) <= maybe[i, j]
        if on[i, j] == maybe[i, j] and np.count_nonzero(planes.weights[j]) > 1:
            assert abs(exact[i][j]) > bound[i][j]
        subnormal = 0 < np.abs(seen[i]).max() < np.finfo(exact_in).tiny  # the bound's pad is far above such norms
        if abs(exact[i][j]) > 20 * bound[i][j] and not subnormal:  # and enough are sure
            assert on[i, j] == maybe[i, j]
    network = exactfit.Network(
        (type(layer)(layer.weights, bias, layer.activation), *made.network.layers[1:]), made.network.decoder
    )
    for name, values in first_layers(network, seen, exact_in):
        assert (on <= (values > 0)).all(), name
        assert ((values > 0) <= maybe).all(), name


def exact_values(X, planes):
    rows = [[Fraction(float(x)) for x in row] for row in X]
    return [
        [
            sum((Fraction(float(w)) * x for w, x in zip(weights, row, strict=True)), Fraction(float(b)))
            for weights, b in zip(planes.weights, planes.biases, strict=True)
        ]
        for row in rows
    ]


def naive_bound(X, planes, form):
    """gamma_(K+5) (sum |w_j x_j| + |b| + pad), as ``certificate.bounds`` proves it, with norms left out of the pad."""
    bounds = []
    for row in X:
        line = []
        for weights, b in zip(planes.weights, planes.biases, strict=True):
            products = [abs(Fraction(float(w)) * Fraction(float(x))) for w, x in zip(weights, row, strict=True)]
            part = Fraction(sum(p > 0 for p in products) + 5) * Fraction(form.unit)
            line.append(part / (1 - part) * (sum(products) + abs(Fraction(float(b))) + Fraction(form.pad)))
        bounds.append(line)
    return bounds


def test_fused_operations_are_emulated_exactly():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500)).astype(np.float32)
    for c in (rng.normal(size=500).astype(np.float32), -(a * b)):
        exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
        result = fma32(a, b, c)
        below, above = np.nextafter(result, np.float32(-9)), np.nextafter(result, np.float32(9))
        for value, got, low, high in zip(exact, result, below, above, strict=True):
            gap = abs(Fraction(float(got)) - value)
            assert gap <= min(abs(Fraction(float(low)) - value), abs(Fraction(float(high)) - value))
    x, y, z = rng.normal(size=(3, 500))
    for third in (z, -(x * y), np.nextafter(-(x * y), 9), z * 2.0 ** rng.integers(-150, 150, 500), z * 1e-300):
        exact = [Fraction(a) * Fraction(b) + Fraction(c) for a, b, c in zip(x, y, third, strict=True)]
        assert fma64(x, y, third).tolist() == [float(value) for value in exact]


@given(
    st.integers(2, 4), st.booleans(), st.integers(0, 2**32), st.sampled_from([0, 20, 2**24]), st.sampled_from([1, 2])
)
@settings(max_examples=15)
def test_pairs_are_separated_only_surely(n_classes, everyone, seed, budget, n_jobs):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 12)])
    targets = range(n_classes) if everyone else [1]
    is_open = all_pairs(y, targets)
    with Threads(n_jobs) as threads:
        pairs = SurePairs(y, targets, threads=threads, budget=budget)
        n = 0
        while n < 4 and not pairs.closed:
            maybe = rng.integers(0, 2**64, len(y), dtype=np.uint64)
            maybe[rng.random(len(y)) < 0.5] = np.uint64(2**64 - 1)
            on = maybe & rng.integers(0, 2**64, len(y), dtype=np.uint64)
            pairs.add(on, maybe)
            sure = unpack(on)[None, :, :] & ~unpack(maybe)[:, None, :]
            first = np.where(sure.any(axis=2), sure.argmax(axis=2), -1)
            last = 64 * n + int(first[is_open].max(initial=-1)) + 1
            is_open = is_open & ~sure.any(axis=2)
            n += 1
            assert pairs.closed == (not is_open.any())
            assert pairs.n_point_pairs() == is_open.sum()
            found = [(int(a), int(b)) for chunk in pairs.iter_point_pairs() for a, b in zip(*chunk, strict=True)]
            assert found == [(int(a), int(b)) for a, b in np.argwhere(is_open)]
        if pairs.closed:
            assert pairs.needed_width() == last


def test_exact_bits_are_kept_once():
    X, _ = PROBLEMS["two moons"]()
    planes = Hyperplanes(np.ones((70, 2), dtype=np.float32), np.linspace(-1, 1, 70))
    patterns = patterns_of(X, planes, Options(), SERIAL)
    assert patterns.maybe is patterns.on
    again = Patterns.from_blocks(patterns.blocks, 70).take(np.arange(5)).append(patterns.take(slice(0, 5)))
    assert again.maybe is again.on
    assert again.on.n_bits == 140


# ---- Networks --------------------------------------------------------------------------------------------

WAYS = {
    "paper": {},
    "both sides": {"target": "all"},
    "bisectors": {"hyperplanes": "bisector"},
    "relu": {"activation": "relu"},
    "relu bisectors": {"activation": "relu", "hyperplanes": "bisector", "target": "all"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("exact_in", FORMATS)
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid"])
def test_every_evaluation_is_right(problem, exact_in, way):
    X, y = PROBLEMS[problem]()
    options = Options(exact_in=exact_in, **WAYS[way])
    made = adaptive_width(X, y, options, 0)
    assert made.outcome.interpolates
    assert_right_everywhere(made.network, X, y, exact_in)
    if problem == "two moons":
        fixed = fixed_width(X, y, 150, options, 0)
        assert fixed.outcome.interpolates
        assert_right_everywhere(fixed.network, X, y, exact_in)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("exact_in", FORMATS)
def test_points_one_number_apart(exact_in, way):
    X, y = neighbours(exact_in)
    made = adaptive_width(X, y, Options(exact_in=exact_in, **WAYS[way]), 0)
    assert made.trace.n_fallback_cuts > 0
    assert_right_everywhere(made.network, X, y, exact_in)


@pytest.mark.parametrize("activation", ["threshold", "relu"])
@pytest.mark.parametrize(
    ("exact_in", "scale"), [("float32", 2.0**100), ("float32", 2.0**-80), ("float64", 2.0**990), ("float64", 2.0**-900)]
)
@pytest.mark.parametrize("problem", ["two moons", "neighbours"])
def test_large_and_small_numbers(problem, exact_in, scale, activation):
    X, y = neighbours(exact_in) if problem == "neighbours" else PROBLEMS[problem]()
    X = X * scale
    made = adaptive_width(X, y, Options(exact_in=exact_in, activation=activation), 0)
    assert_right_everywhere(made.network, X, y, exact_in)


@pytest.mark.parametrize("exact_in", FORMATS)
@given(problem=problems(max_points=8), data=st.data())
@settings(max_examples=25)
def test_whatever_the_points(problem, exact_in, data):
    X, y = problem
    recipe = data.draw(some_options(exact_in=exact_in, activation=data.draw(st.sampled_from(["threshold", "relu"]))))
    try:
        made = adaptive_width(X, y, recipe, data.draw(seeds))
    except (ContradictoryLabelsError, NoGapError) as refusal:
        event(type(refusal).__name__)
        assume(False)
    event("rescued" if made.trace.n_fallback_cuts else "drawn")
    assert_right_everywhere(made.network, X, y, exact_in)


def test_without_it_rounding_does_turn_answers():
    """The tests above can fail: the same points, the same evaluations, a network that was not built for them."""
    X, y = neighbours("float64")
    made = adaptive_width(X, y, Options(activation="relu"), 0)
    wrong = [name for name, codes in evaluations(made.network, X, "float32") if codes.tolist() != y.tolist()]
    assert wrong
    assert not certify(made.network, X, y, arithmetic="float32").holds


def test_where_every_bit_is_sure_the_network_is_the_same():
    X, y = PROBLEMS["three classes"]()
    plain, sure = (adaptive_width(X, y, Options(exact_in=form), 0) for form in (None, "float64"))
    assert sure.network.digest == plain.network.digest


def test_a_fixed_width_misses_points_that_some_evaluation_might_miss():
    X, y = neighbours("float32")
    made = fixed_width(X, y, 64, Options(exact_in="float32"), 0)
    assert len(made.trace.uncovered) == 6
    with pytest.warns(InterpolationWarning):
        model = plain(64, exact_in="float32", random_state=0).fit(X, y)
    assert model.certificate_.errors.tolist() == made.trace.uncovered.tolist()
    assert not model.certificate_.holds
    assert model.certificate_.float32_safe is False


def test_numbers_too_small_to_tell_apart():
    X, y = np.array([[1e-40], [2e-40]]), np.array([0, 1])
    with pytest.raises(NoGapError, match="scale the data up, so that labels differ by more than float32 rounds"):
        adaptive_width(X, y, Options(exact_in="float32"), 0)


def test_numbers_too_large():
    with pytest.raises(DataError, match="too large for float32: scale them down, or use exact_in"):
        adaptive_width(np.array([[1e39], [0.0]]), np.array([0, 1]), Options(exact_in="float32"), 0)


def test_sparse_points():
    X, y = PROBLEMS["three classes"]()
    X = X * (X > 0)
    made, same = (adaptive_width(one, y, Options(exact_in="float32"), 0) for one in (sp.csr_array(X), X))
    assert made.network.digest == same.network.digest


def test_threads_change_nothing():
    X, y = PROBLEMS["three classes"]()
    one, two = (adaptive_width(X, y, Options(exact_in="float32", n_jobs=n), 0) for n in (1, 2))
    assert one.network.digest == two.network.digest


# ---- The estimator ---------------------------------------------------------------------------------------


def test_points_that_float32_cannot_tell_apart_are_contradictions():
    X, y = neighbours("float64")
    with pytest.raises(ContradictoryLabelsError, match=r"equal points \(in float32\) with different labels") as caught:
        InterpolatingClassifier(exact_in="float32").fit(X, y)
    assert caught.value.pairs == tuple((k, k + 6) for k in range(6))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.exact_in, str(again)) == ("float32", str(caught.value))
    with pytest.raises(ContradictoryLabelsError, match="in float32"):
        adaptive_width(X, y, Options(exact_in="float32"))
    mixed = np.concatenate([X, X[:1] + 1]), np.append(y, 1)
    with pytest.warns(ConflictWarning):
        model = InterpolatingClassifier(exact_in="float32", conflicts="majority", random_state=0).fit(*mixed)
    lost = list(range(6, 12))
    assert model.certificate_.overruled.tolist() == lost
    assert certify(model, *mixed, arithmetic="float32").errors.tolist() == lost
    assert certify(model, *mixed, arithmetic="float32", given_up=lost).overruled.tolist() == lost


@pytest.mark.parametrize("exact_in", FORMATS)
@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_the_certificate_says_so_and_is_proved_again(exact_in, activation):
    X, y = PROBLEMS["two moons"]()
    model = InterpolatingClassifier(exact_in=exact_in, activation=activation, random_state=0).fit(X, y)
    first = model.certificate_
    assert (first.holds, first.proof, first.arithmetic, first.float64_safe) == (True, "construction", exact_in, True)
    assert first.float32_safe is (True if exact_in == "float32" else None)
    again = certify(model, X, y, arithmetic=exact_in)
    assert again.holds
    assert (again.data_digest, again.network_digest) == (first.data_digest, first.network_digest)
    assert model.predict(X).tolist() == y.tolist()


def test_predict_rounds_first():
    X, y = neighbours("float32")
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y)
    near = np.nextafter(X, 2.0)  # rounds back to X
    assert (near != X).any()
    assert model.predict(near).tolist() == y.tolist()
    assert model.decision_function(near).tolist() == model.decision_function(X).tolist()
    assert certify(model, near, y).holds
    with pytest.raises(DataError, match="too large for float32"):
        model.predict(np.full((1, 3), 1e300))


def test_saved_and_loaded(tmp_path):
    X, y = PROBLEMS["two moons"]()
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y)
    exactfit.save(model, tmp_path / "model")
    again = exactfit.load(tmp_path / "model")
    assert again.exact_in == "float32"
    assert again.certificate_.to_dict() == model.certificate_.to_dict()
    assert again.decision_function(X + 1e-9).tolist() == model.decision_function(X + 1e-9).tolist()


@pytest.mark.parametrize("exact_in", ["float16", "exact", 32, np.float32])
def test_formats_that_are_none(exact_in):
    with pytest.raises(ParameterError, match="exact_in must be None, 'float64' or 'float32'"):
        Options(exact_in=exact_in)


def test_an_activation_of_ones_own_has_no_proof():
    with pytest.raises(ParameterError, match="needs an activation whose rounding is known"):
        Options(exact_in="float64", activation=OWN)


@pytest.mark.data
def test_mnist():
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    from exactfit.lab import load_dataset

    data = load_dataset("mnist", folder)
    X, y = data.X[:4_000], data.y[:4_000]
    model = InterpolatingClassifier(exact_in="float32", hyperplanes="bisector", random_state=0).fit(X, y)
    assert certify(model, X, y, arithmetic="float32").holds
    W, b, x = (
        part.astype(np.float32) for part in (model.network_.layers[0].weights.values, model.network_.layers[0].bias, X)
    )
    patterns = patterns_of(x, Hyperplanes(W, b.astype(np.float64)), Options(exact_in="float32"), SERIAL)
    on, maybe = patterns.on.to_bool(), patterns.maybe.to_bool()
    columns = np.random.default_rng(0).permutation(x.shape[1])
    for values in (x @ W.T + b, x[:, columns] @ W[:, columns].T + b, x[:, ::-1] @ W[:, ::-1].T + b):
        assert (on <= (values > 0)).all()
        assert ((values > 0) <= maybe).all()


# ---- Overflow --------------------------------------------------------------------------------------------


def test_relu_values_that_overflow_are_refused():
    """A unit outside every mask is infinite in float32, and 0 times infinity is NaN: no claim may be made."""
    X, y = np.array([[0, 0], [1e-10, 0], [1e15, 1], [-1e15, 2]]), np.array([0, 1, 0, 1])
    with pytest.raises(NoGapError, match=r"overflow float32.*exact_in=\"float64\""):
        InterpolatingClassifier(activation="relu", exact_in="float32", random_state=0).fit(X, y)
    model = InterpolatingClassifier(activation="relu", exact_in="float64", random_state=0).fit(X, y)
    assert certify(model, X, y, arithmetic="float64").holds
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y)
    assert certify(model, X, y, arithmetic="float32").holds


@pytest.mark.parametrize("exact_in", FORMATS)
@pytest.mark.parametrize("seed", range(30))
def test_no_claim_about_relu_at_the_ends_of_a_format_is_denied(exact_in, seed):
    rng, top = np.random.default_rng(seed), {"float32": 38.0, "float64": 307.0}[exact_in]
    spread = rng.uniform(-top, top, (6, 2)) if seed % 2 else rng.uniform(top - 4, top)
    X, y = rounded(np.clip(rng.normal(size=(6, 2)), -3, 3) * 10.0**spread, exact_in), np.arange(6) % 2
    try:
        made = adaptive_width(X, y, Options(activation="relu", exact_in=exact_in), seed)
    except (NoGapError, DataError):
        return
    assert certify(made.network, X, y, arithmetic=exact_in).holds


def test_sums_beyond_float64_are_no_foreign_error():
    X, y = np.array([[8e307, 1.0], [-8e307, 2.0], [1.0, 8e307], [0.0, 1.0]]), np.array([0, 1, 0, 1])
    with pytest.raises(exactfit.ExactfitError, match=r"scale the data down|threshold"):
        adaptive_width(X, y, Options(activation="relu"), 0)


def test_a_remedy_is_one_that_is_left():
    X, y = np.array([[3e38], [3.1e38], [-3e38]]), np.array([0, 1, 0])
    with pytest.raises(NoGapError, match=r"scale the data|exact_in=None") as caught:
        adaptive_width(X, y, Options(exact_in="float32", max_bias=1.0, center=False), 0)
    assert "activation" not in str(caught.value)
