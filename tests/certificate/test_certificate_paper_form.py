"""Threshold networks: errors, slack and safety are the twin's, single changes are seen, bits open where they must."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers import certificate_twins as naive
from helpers.networks import changed, small_problem
from helpers.problems import PROBLEMS
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit import InterpolatingClassifier, Options, certify, fixed_width, load, save
from exactfit.network import Decoder, Masks, Network
from exactfit.network.bits import BitMatrix

HALF = Fraction(1, 2)


ALL = ("exact", "float64", "float32")


LAWS = ["gauss", "grid", "mixed", "cuts", "touching"]


problems = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from(LAWS), st.integers(1, 4), st.booleans())


def problem_of(drawn) -> tuple[Network, np.ndarray, np.ndarray]:
    seed, law, d, one_sided = drawn
    X, y, W, b = small_problem(np.random.default_rng(seed), d=d, classes=2 if one_sided else 3, law=law)
    return naive.built(X, y, W, b, one_sided=one_sided), X, y


def flipped(network: Network, index: int, unit: int, bit: int) -> Network:
    bits = network.layers[index].weights.bits.to_bool()
    bits[unit, bit] ^= True
    return changed(network, index, weights=Masks(BitMatrix.from_bool(bits), network.layers[index].weights.sign))


@given(problems)
def test_errors_slack_and_radius_are_those_of_the_naive_twin(drawn) -> None:
    network, X, y = problem_of(drawn)
    certificate = certify(network, X, y)
    wrong = naive.wrong_rows(network, X, y)
    assert certificate.errors.tolist() == wrong
    assert certificate.holds == (not wrong)
    assert (certificate.n_samples, certificate.n_errors) == (len(X), len(wrong))
    assert certificate.slack == naive.slack(network, X, y, HALF)
    assert certificate.note == ""
    square = naive.squared_radius(network, X)
    assert Fraction(certificate.robust_radius) ** 2 <= square
    if drawn[1] != "mixed":
        assert certificate.robust_radius >= math.sqrt(square) * (1 - 1e-9) - 1e-15


@given(problems)
def test_what_is_safe_is_right_and_float32_implies_nothing_less(drawn) -> None:
    network, X, y = problem_of(drawn)
    exact, in64, in32 = (certify(network, X, y, arithmetic=arithmetic) for arithmetic in ALL)
    assert set(exact.errors) <= set(in64.errors)
    assert set(exact.errors) <= set(in32.errors)
    assert (in64.holds, in32.holds) == (exact.float64_safe, exact.float32_safe)
    assert (exact.arithmetic, in64.arithmetic, in32.arithmetic) == ALL
    for other in (in64, in32):
        assert (other.float64_safe, other.float32_safe) == (exact.float64_safe, exact.float32_safe)
        assert (other.slack, other.robust_radius) == (exact.slack, exact.robust_radius)


@given(problems, st.sampled_from([np.float32, np.float64]))
def test_no_evaluation_contradicts_a_row_called_safe(drawn, form) -> None:
    network, X, y = problem_of(drawn)
    rng = np.random.default_rng(drawn[0])
    unsafe = set(certify(network, X, y, arithmetic=form.__name__).errors)
    with np.errstate(all="ignore"):
        for row in set(range(len(X))) - unsafe:
            for order in naive.ORDERS:
                assert naive.runtime(network, X[row], form, order, rng) == y[row]
            assert naive.runtime(network, X[row], form, naive.in_turn, rng, fused=True) == y[row]


@pytest.mark.parametrize("law", ["gauss", "grid", "cuts"])
@pytest.mark.parametrize("one_sided", [False, True])
def test_a_raised_limit_lets_its_witnesses_be_claimed(law, one_sided) -> None:
    X, y, W, b = small_problem(np.random.default_rng(5), n=14, classes=2 if one_sided else 3, law=law)
    network = naive.built(X, y, W, b, one_sided=one_sided)
    for detector in range(network.layers[1].n_units):
        limits = network.layers[1].bias.copy()
        limits[detector] += 1
        raised = changed(network, 1, bias=limits)
        errors = certify(raised, X, y).errors.tolist()
        assert errors == naive.wrong_rows(raised, X, y)
        touched = [row for row in range(len(X)) if naive.gaps(network, X[row])[detector] == 0]
        witnesses = [row for row in touched if not speaks_for(network, detector, y[row])]
        assert witnesses
        assert set(errors) >= set(witnesses)


def speaks_for(network: Network, detector: int, code: int) -> bool:
    if network.decoder.kind == "sign":
        return code == network.decoder.classes[0]
    return bool(network.layers[2].weights.bits.to_bool()[network.decoder.classes.index(code), detector])


@pytest.mark.parametrize("law", ["gauss", "grid"])
def test_every_flipped_mask_bit_is_seen_as_the_naive_twin_sees_it(law) -> None:
    X, y, W, b = small_problem(np.random.default_rng(2), n=7, points=7, law=law)
    network = naive.built(X, y, W, b)
    for index in (1, 2):
        units, bits = network.layers[index].weights.shape
        for unit in range(units):
            for bit in range(bits):
                other = flipped(network, index, unit, bit)
                certificate = certify(other, X, y)
                assert certificate.errors.tolist() == naive.wrong_rows(other, X, y)
                assert certificate.network_digest == other.digest != network.digest


@pytest.mark.parametrize("d", [1, 2, 17, 784])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150, 1e-306, 1e300])
def test_points_on_a_hyperplane_are_off_and_the_next_float_decides(d, scale) -> None:
    rng = np.random.default_rng(d)
    w = rng.integers(1, 5, d).astype(float)
    x = rng.integers(1, 5, d).astype(float) * scale
    b = -np.dot(w, x / scale) * scale
    X = np.array([x, x, x])
    X[1, 0], X[2, 0] = np.nextafter(x[0], np.inf), np.nextafter(x[0], 0.0)
    y = np.array([0 if naive.affine(w, point, b) <= 0 else 1 for point in X])
    assert naive.affine(w, X[1], b) > naive.affine(w, X[0], b) > naive.affine(w, X[2], b)
    network = naive.network_of([w], [b], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, X, y)
    assert certificate.holds
    assert certify(network, X, 1 - y).n_errors == 3
    assert Fraction(certificate.robust_radius) ** 2 <= naive.squared_radius(network, X)


def test_an_open_bit_matters_only_where_it_counts() -> None:
    x = np.array([-0.7, 0.9])
    W, b = np.array([[0.1, 0.3], [1.0, 1e-3]]), np.array([-(0.1 * -0.7 + 0.3 * 0.9), 0.0])

    def certificate(mask, label):
        network = naive.network_of(W, b, [mask], [1], [[True]], Decoder("sign", (0, 1)))
        return certify(network, [x], [label], arithmetic="float64")

    assert certificate([False, True], 0).holds
    counted = [certificate([True, True], label).holds for label in (0, 1)]
    assert counted == [False, False]


def test_counts_that_float32_cannot_hold_are_not_safe() -> None:
    network = naive.network_of([[1.0]], [0.0], [[True]], [2**25], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, np.array([[1.0]]), [0])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, False)


FORMATS = {"float64": np.float64, "float32": np.float32}


def moved(network: Network, unit: int, bit: int | None, amount: int) -> Network:
    """The network with one weight or limit (bit None) of a detector moved."""
    first, second, last = network.layers
    values, limits = second.weights.values.copy(), second.bias.copy()
    if bit is None:
        limits[unit] += amount
    else:
        values[unit, bit] = np.clip(int(values[unit, bit]) + amount, -127, 127)
    other = replace(second, weights=replace(second.weights, values=values), bias=limits)
    return Network((first, other, last), network.decoder)


@given(
    seed=st.integers(0, 30), width=st.sampled_from([3, 8, 30]), target=st.sampled_from([None, "all"]), data=st.data()
)
@settings(max_examples=60)
def test_single_changes_are_judged_as_fractions_judge_them(seed, width, target, data):
    X, y = PROBLEMS[data.draw(st.sampled_from(["two moons", "three classes", "grid"]))]()
    X, y = X[:18], y[:18]
    made = fixed_width(X, y, width, Options(detectors="weighted", target=target), seed).network
    if not made.widths[1]:
        return
    unit = data.draw(st.integers(0, made.widths[1] - 1))
    bit = data.draw(st.one_of(st.none(), st.integers(0, width - 1)))
    network = moved(made, unit, bit, data.draw(st.sampled_from([-200, -3, -1, 1, 2, 200])))
    same = (network.layers[1].weights.values == made.layers[1].weights.values).all()
    assert (network.digest == made.digest) == (bool(same) and bit is not None)
    certificate = certify(network, X, y)
    assert certificate.errors.tolist() == naive.wrong_rows(network, X, y)
    assert certificate.slack == naive.slack(network, X, y, Fraction(1, 2))
    assert certificate.holds == (not certificate.n_errors)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid"])
def test_what_is_proved_in_a_format_holds_in_every_order_of_sums(problem, form):
    X, y = PROBLEMS[problem]()
    X, y = X[:15].astype(form).astype(np.float64), y[:15]
    network = fixed_width(X, y, 25, Options(detectors="weighted", exact_in=form), 0).network
    errors = set(certify(network, X, y, arithmetic=form).errors.tolist())
    rng = np.random.default_rng(0)
    for row in sorted(set(range(len(X))) - errors):
        for order in naive.ORDERS:
            assert naive.runtime(network, X[row], FORMATS[form], order, rng) == y[row]
        assert naive.runtime(network, X[row], FORMATS[form], naive.in_turn, rng, fused=True) == y[row]


def test_sums_that_float32_may_round_are_not_proved_in_float32():
    X, y = PROBLEMS["two moons"]()
    made = fixed_width(X, y, 200, Options(detectors="weighted", exact_in="float32"), 0).network
    seen = X.astype(np.float32).astype(np.float64)
    assert certify(made, seen, y, arithmetic="float32").holds
    sizes = np.abs(made.layers[1].weights.values.astype(int)).sum(axis=1)
    rest = int(2**24 - sizes[0] - made.layers[1].bias[0])
    assert certify(moved(made, 0, None, rest), seen, y).float32_safe is not True
    assert not certify(moved(made, 0, None, rest + 1), seen, y, arithmetic="float32").holds


def test_a_saved_model_proves_the_same(tmp_path):
    X, y = PROBLEMS["three classes"]()
    model = InterpolatingClassifier(detectors="weighted", random_state=0).fit(X, y)
    save(model, tmp_path / "a.exactfit")
    again = load(tmp_path / "a.exactfit")
    assert again.network_.digest == model.network_.digest
    assert certify(again, X, y).holds
    for name in ("support", "dual_coef", "support_starts"):
        assert getattr(again.trace_, name).tolist() == getattr(model.trace_, name).tolist()
    assert again.detectors == "weighted"


@pytest.mark.parametrize(("form", "unit"), [(np.float32, 2.0**-24), (np.float64, 2.0**-53)])
@pytest.mark.parametrize("d", [2, 17, 784])
def test_bits_near_a_hyperplane_are_open_only_as_near_as_rounding_reaches(d, form, unit) -> None:
    rng = np.random.default_rng(d)
    w = rng.normal(size=d)
    x = rng.normal(size=(40, d)).astype(np.float32)
    direction = w / np.dot(w, w)
    steps = np.repeat(np.array([1e-2, 1.0, 10.0, 1e3 * d]), 10) * unit * (np.abs(x) @ np.abs(w))
    X = np.array([point + direction * (step - np.dot(w, point)) for point, step in zip(x, steps, strict=True)])
    network = naive.network_of([w], [0.0], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    y = np.array([0 if naive.affine(w, point, 0.0) <= 0 else 1 for point in X])
    unsafe = set(certify(network, X, y, arithmetic=form.__name__).errors)
    assert certify(network, X, y).holds
    assert unsafe >= set(range(10)) or form is np.float64  # where the points' own rounding is as large as the step
    assert not unsafe & set(range(30, 40))
    for row in set(range(40)) - unsafe:
        for order in naive.ORDERS:
            assert naive.runtime(network, X[row], form, order, rng) == y[row]


def test_ties_on_a_grid_are_safe_where_sums_are_exact() -> None:
    X, y, W, b = small_problem(np.random.default_rng(4), d=3, n=60, points=20, law="grid")
    X, first = np.unique(X, axis=0, return_index=True)
    network = naive.built(X, y[first], W, b)
    certificate = certify(network, X, y[first])
    assert certificate.robust_radius == 0.0
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, True)


@pytest.mark.parametrize(("step", "safe"), [(1, True), (4096, False)])
def test_ties_on_a_grid_are_open_where_products_have_too_many_digits(step, safe) -> None:
    low, high = float(step + 1), float(step + 3)
    network = naive.network_of([[low, -high]], [0.0], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, np.array([[high, low]]), [0])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, safe)
    scaled = certify(network, np.array([[high, low]]) * 2.0**-1070, [0])
    assert (scaled.holds, scaled.float64_safe, scaled.float32_safe) == (True, False, False)


def test_cuts_through_points_are_safe_where_the_points_are_float32_numbers() -> None:
    X = np.array([[0.1], [0.3], [0.7]])
    y = np.array([0, 1, 0])

    def certificate(points):
        W, b = np.array([[1.0], [-1.0]] * 3), np.repeat(points[:, 0], 2) * np.array([-1.0, 1.0] * 3)
        return certify(naive.built(points, y, W, b), points, y)

    narrow = certificate(X.astype(np.float32).astype(np.float64))
    assert (narrow.holds, narrow.float64_safe, narrow.float32_safe) == (True, True, True)
    assert certificate(X).float64_safe
    close = certificate(np.array([[0.1], [np.nextafter(0.1, 1)], [0.7]]))
    assert (close.holds, close.float64_safe, close.float32_safe) == (True, True, False)


@pytest.mark.parametrize(
    ("x", "b", "safe64", "safe32"),
    [
        ([1.5 * 2.0**-126, 0.0], -(2.0**-126), True, False),  # the difference is below the normal numbers
        ([2.0**-130, 0.0], 0.0, True, False),
        ([2.0, 0.0], -(2.0**-130), True, False),
        ([2.0, 1e39], -1.0, True, False),  # zero times infinity
        ([2.0, 0.0], -1e39, True, False),
        ([1.5 * 2.0**-1022, 0.0], -(2.0**-1022), False, False),
        ([2.0**-1030, 0.0], 0.0, False, False),
        ([2.0, 1.0], -2.0, True, True),
    ],
)
def test_cuts_are_open_where_a_format_ends(x, b, safe64, safe32) -> None:
    network = naive.network_of([[1.0, 0.0]], [b], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, [x], [int(x[0] + b > 0)])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, safe64, safe32)


@pytest.mark.parametrize("scale", [1e-42, 1e39])
def test_numbers_that_float32_cannot_hold_are_open(scale) -> None:
    W, b, X = np.array([[1.0, 1.0]]), np.array([0.0]), np.array([[1.0, 2.0], [-1.0, -2.0]]) * scale
    network = naive.network_of(W, b, [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    certificate = certify(network, X, [1, 0])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, False)
