"""ReLU: every answer is that of exact arithmetic on the stored numbers, and certificates say the same of it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import certificate_twins as naive
from helpers.problems import PROBLEMS, any_float
from hypothesis import given
from hypothesis import strategies as st

from exactfit import InterpolatingClassifier, certify
from exactfit._kernels.signs import settle_ramps
from exactfit.construct import Options, adaptive_width
from exactfit.network import Decoder
from exactfit.network.activations import RELU
from exactfit.network.bits import BitMatrix
from exactfit.network.detector_network import SMALLEST, DetectorNetwork


def bisected(predict, one, other):
    """For pairs of points with different answers, two points as close as float64 has them on the way, the same way."""
    at = predict(one)
    rows = np.flatnonzero(at != predict(other))
    one, other, at = one[rows].copy(), other[rows].copy(), at[rows]
    for _ in range(1100):  # as many as it takes for points as far apart as 1e308 and 1e-308
        middle = one / 2 + other / 2
        if ((middle == one) | (middle == other)).all(axis=1).all():
            break
        same = predict(middle) == at
        one[same], other[~same] = middle[same], middle[~same]
    return np.concatenate([one, other])


def test_the_answer_at_a_limit_is_the_exact_one() -> None:
    X, y = np.random.default_rng(0).normal(size=(6, 2)), [0, 1, 0, 1, 0, 1]
    model = InterpolatingClassifier(
        random_state=0, activation="relu", detectors="mask", target=None, hyperplanes="gaussian"
    ).fit(X, y)
    x = np.array([[float.fromhex("0x1.dd15f2bd11e84p-3"), float.fromhex("-0x1.52de41ec22892p-4")]])
    assert naive.wrong_rows(model.network_, x, [1]) == []
    assert model.predict(x) == model.network_.decide(x) == model.explain(x).labels == [1]
    assert model.claims(x).tolist() == [[False, True]]
    assert certify(model, x, [1]).holds
    assert not certify(model, x, [0]).holds
    assert certify(model, x, [0]).mispredicted.tolist() == [0]


@pytest.mark.parametrize("target", [None, "all"])
def test_certificates_hold_for_answers_and_nothing_else_at_bisected_points(target) -> None:
    X, y = np.random.default_rng(0).normal(size=(6, 2)), np.array([0, 1, 0, 1, 0, 1])
    model = InterpolatingClassifier(
        random_state=0, activation="relu", detectors="mask", target=target,
        hyperplanes="gaussian",
    ).fit(X, y)  # fmt: skip
    rng, points = np.random.default_rng(1), np.empty((0, 2))
    while len(points) < 61_746:
        points = np.concatenate([points, bisected(model.predict, *rng.normal(size=(2, 20_000, 2)))])
    points = points[:61_746]
    answers = model.predict(points)
    right = {label: certify(model, points, np.full(len(points), label)) for label in (0, 1)}
    for label, certificate in right.items():
        holds = np.delete(np.arange(len(points)), certificate.errors)
        assert (answers[holds] == label).all()
        np.testing.assert_array_equal(np.flatnonzero(answers != label), certificate.mispredicted)
    if target is None:  # then a point is claimed or it is not: one of the two labels is proved
        assert set(right[0].errors) | set(right[1].errors) == set(range(len(points)))
        assert not set(right[0].errors) & set(right[1].errors)
        np.testing.assert_array_equal(model.network_.decide(points), answers)


@pytest.mark.parametrize("scale", [1.0, 1e-310, 1e-160, 1e160, 1e307])
@pytest.mark.parametrize("problem", ["two moons", "three classes"])
def test_answers_are_the_exact_ones_whatever_the_size_of_points(problem, scale) -> None:
    X, y = PROBLEMS[problem]()
    network = adaptive_width(X, y, Options(activation="relu", target="all"), random_state=0).network
    rng = np.random.default_rng(2)
    points = rng.normal(size=(40, X.shape[1])) * scale
    ends = bisected(network.decide, points, X[rng.integers(0, len(X), 40)])
    points = np.concatenate([points, ends])
    answers = network.decide(points)
    assert naive.wrong_rows(network, points, answers) == []
    claimed = answers >= 0
    np.testing.assert_array_equal(DetectorNetwork.of(network).predict_codes(points)[claimed], answers[claimed])
    assert certify(network, points[claimed], answers[claimed]).holds


@given(st.data())
def test_close_calls_are_settled_exactly(data) -> None:
    d, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    numbers = st.lists(any_float, min_size=d, max_size=d)
    points = np.array(data.draw(st.lists(numbers, min_size=2, max_size=2)))
    weights = np.array(data.draw(st.lists(numbers, min_size=n, max_size=n)))
    biases = np.array(data.draw(st.lists(any_float, min_size=n, max_size=n)))
    masks = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=2, max_size=2)))
    limits = np.array(data.draw(st.lists(any_float, min_size=2, max_size=2)))
    network = naive.network_of(weights, biases, masks, limits, np.eye(2), Decoder("one_hot", (0, 1)), RELU)
    rows, places = (part.ravel() for part in np.indices((2, 2)))
    fires, packed = np.zeros(4, dtype=bool), np.ascontiguousarray(BitMatrix.from_bool(masks).words.T)
    settle_ramps(points, weights, biases, packed, limits, rows, places, fires)
    expected = [naive.gaps(network, points[place])[row] > 0 for row, place in zip(rows, places, strict=True)]
    assert fires.tolist() == expected
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = network.detectors.gaps(points)
    assert (gaps > 0)[rows, places].tolist() == expected
    assert (gaps != 0).all()


@pytest.mark.parametrize("span", [1e-300, 1.0, 1e300])
def test_no_slack_vanishes_also_as_a_share(span) -> None:
    network = naive.network_of([[1.0]], [0.0], [[True]], [span], [[True]], Decoder("sign", (0, 1)), RELU)
    for point, fires in [(span, False), (np.nextafter(span, 0), True), (np.nextafter(span, np.inf), False)]:
        x = np.array([[point]])
        assert abs(DetectorNetwork.of(network).class_slack(x)).item() >= SMALLEST
        assert (DetectorNetwork.of(network).class_slack(x) > 0).item() == fires
        assert (DetectorNetwork.of(network).predict_codes(x) == 0).item() == fires
