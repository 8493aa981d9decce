"""ReLU networks: values, slack and safety are the twin's, and no evaluation contradicts a row called safe."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import certificate_twins as naive
from hypothesis import given
from hypothesis import strategies as st

from exactfit.certificate import certify
from exactfit.network import Decoder
from exactfit.network.activations import RELU

ALL = ("exact", "float64", "float32")


def problem(seed: int, scale: float = 1.0, one_sided: bool = False, n: int = 30):
    rng = np.random.default_rng(seed)
    classes = 2 if one_sided else 3
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 9 - classes)])
    X, W, b = rng.normal(size=(9, 2)) * scale, rng.normal(size=(n, 2)), rng.normal(size=n) * scale
    return naive.built(X, y, W, b, RELU, one_sided), X, y


problems = st.builds(
    problem,
    st.integers(0, 2**32 - 1),
    st.sampled_from([1.0, 1e-20, 1e20, 1e-200, 1e200, 1e-307]),
    st.booleans(),
    st.sampled_from([3, 10, 30]),
)


@given(problems)
def test_errors_slack_and_safety_agree_with_the_naive_twin(drawn) -> None:
    network, X, y = drawn
    exact, in64, in32 = (certify(network, X, y, arithmetic=arithmetic) for arithmetic in ALL)
    assert exact.errors.tolist() == naive.wrong_rows(network, X, y)
    assert exact.slack <= naive.slack(network, X, y, Fraction(0))
    assert exact.note == ""
    assert (exact.float64_safe, exact.float32_safe) == (in64.holds, in32.holds)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for certificate, form in ((in64, np.float64), (in32, np.float32)):
            assert set(exact.errors) <= set(certificate.errors)
            for row in set(range(len(X))) - set(certificate.errors):
                for order in naive.ORDERS:
                    assert naive.runtime(network, X[row], form, order, rng) == y[row]


def test_ordinary_data_are_safe_in_both_formats() -> None:
    network, X, y = problem(3, n=80)
    certificate = certify(network, X, y)
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, True)
    assert 0 < certificate.robust_radius < 1
    exact = float(naive.slack(network, X, y, Fraction(0)))
    assert certificate.slack == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("one_sided", [False, True])
def test_moving_points_within_the_radius_changes_no_answer(one_sided) -> None:
    network, X, y = problem(3, one_sided=one_sided, n=80)
    radius = certify(network, X, y).robust_radius
    assert radius > 0
    rng = np.random.default_rng(0)
    for _ in range(20):
        steps = rng.normal(size=X.shape)
        steps *= 0.999 * radius / np.linalg.norm(steps, axis=1, keepdims=True)
        assert certify(network, X + steps, y).holds


def test_the_radius_is_the_gap_over_the_slope() -> None:
    W, limits = np.array([[2.0], [0.0]]), [3.0]
    network = naive.network_of(W, np.zeros(2), [[True, True]], limits, [[True]], Decoder("sign", (0, 1)), RELU)
    for points, labels, radius in [([1.0, 4.0], [0, 1], 0.5), ([0.5, 1.75], [0, 1], 0.25), ([1.0], [1], 0.0)]:
        found = certify(network, np.array(points)[:, None], labels).robust_radius
        assert radius * (1 - 1e-12) <= found <= radius


@pytest.mark.parametrize("step", [-1, 0, 1])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_limits_at_and_beside_a_value_are_decided_exactly(step, scale) -> None:
    W, b = np.array([[1.0, 1.0], [3.0, -1.0], [-1.0, 0.0]]), np.zeros(3)
    X = np.array([[1.0, 2.0], [5.0, 5.0]]) * scale
    value = 4.0 * scale  # 1 + 2 and 3 - 2, in units of scale
    limit = value if step == 0 else np.nextafter(value, np.inf * step)
    network = naive.network_of(W, b, [[True, True, True]], [limit], [[True]], Decoder("sign", (0, 1)), RELU)
    wrong = naive.wrong_rows(network, X, [0, 1])
    assert certify(network, X, [0, 1]).errors.tolist() == wrong
    certificate = certify(network, X, [1, 1])
    assert certificate.errors.tolist() == naive.wrong_rows(network, X, [1, 1])
    is_exact = step == 0 and scale == 1.0  # small integers: no evaluation rounds
    assert (certificate.float64_safe, certificate.float32_safe) == (is_exact, is_exact)


def test_threads_and_blocks_change_nothing() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(1100, 5)), rng.integers(0, 2, 1100)
    W, b = rng.normal(size=(1100, 5)).astype(np.float32), rng.normal(size=1100)
    masks, limits = rng.random((600, 1100)) < 0.1, rng.uniform(20, 60, 600)
    claims = np.arange(2)[:, None] == rng.integers(0, 2, 600)[None, :]
    network = naive.network_of(W, b, masks, limits, claims, Decoder("one_hot", (0, 1)), RELU)
    one, two = (certify(network, X, y, n_jobs=jobs) for jobs in (1, 2))
    assert one.to_dict() == two.to_dict()
    assert one.errors.tolist() == np.flatnonzero(network.decide(X) != y).tolist()
    assert 0 < one.n_errors < 1100


@pytest.mark.parametrize(("form", "unit"), [(np.float32, 2.0**-24), (np.float64, 2.0**-53)])
def test_first_layers_that_cancel_are_given_their_errors(form, unit) -> None:
    rng = np.random.default_rng(0)
    called_safe = []
    for step in np.repeat([1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e5], 12) * rng.choice([-1.0, 1.0], 84):
        W, x = rng.normal(size=(5, 6)).astype(np.float32), rng.normal(size=6).astype(np.float32) * np.float32(100.0)
        b = rng.random(5) - W.astype(float) @ x.astype(float)
        b = b.astype(np.float32).astype(float)
        blank = naive.network_of(W, b, [[True] * 5], [1.0], [[True]], Decoder("sign", (0, 1)), RELU)
        limit = float(1 - naive.gaps(blank, x)[0]) + step * unit * 100.0
        network = naive.network_of(W, b, [[True] * 5], [limit], [[True]], Decoder("sign", (0, 1)), RELU)
        y = [0 if naive.gaps(network, x)[0] > 0 else 1]
        assert certify(network, [x], y).holds
        called_safe.append(certify(network, [x], y, arithmetic=form.__name__).holds)
        if called_safe[-1]:
            assert {naive.runtime(network, x, form, order, rng) for order in naive.ORDERS * 3} == set(y)
    assert not any(called_safe[:12])
    assert all(called_safe[-12:])


@pytest.mark.parametrize(("form", "unit"), [(np.float32, 2.0**-24), (np.float64, 2.0**-53)])
def test_sums_that_always_round_the_same_way_are_given_their_errors(form, unit) -> None:
    n, rng = 200, np.random.default_rng(0)
    W = np.full((n, 1), 1.5 * unit)  # added to one, this rounds to 2 unit
    W[0] = 1.0
    found = set()
    for steps in range(1, 120, 3):
        limit = 1.0 + (n - 1) * 1.5 * unit + steps * unit
        network = naive.network_of(W, np.zeros(n), [[True] * n], [limit], [[True]], Decoder("sign", (0, 1)), RELU)
        certificate = certify(network, [[1.0]], [0])
        assert certificate.errors.tolist() == naive.wrong_rows(network, [[1.0]], [0])
        found.add(naive.runtime(network, [1.0], form, naive.in_turn, rng))
        if naive.runtime(network, [1.0], form, naive.in_turn, rng) != 0:
            assert not (certificate.float32_safe if form is np.float32 else certificate.float64_safe)
    assert found == {0, 1}
