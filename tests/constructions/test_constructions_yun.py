"""Yun, Sra, Jadbabaie: zigzags along a line."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import certificate_twins as naive_certificate
from helpers.problems import chain_size, size, spaced_levels
from sklearn.datasets import load_digits

from exactfit import AssumptionError, certify
from exactfit.constructions import Yun
from exactfit.constructions.base import distinct_points
from exactfit.constructions.line import Zigzags, lines, served_places


def random_labels(n, d=5, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.standard_normal((n, d)), rng.permutation(y)


@pytest.mark.parametrize("n", [*range(3, 27), 100, 500])
def test_every_number_of_points_is_fitted_at_the_size_of_the_formula(n) -> None:
    X, y = random_labels(n)
    network = Yun().construct(X, y, random_state=n).network
    np.testing.assert_allclose(network(X)[:, 0], spaced_levels(3)[y], atol=1e-8)
    places = 2 * max(1, round(np.sqrt(n) / 2))
    groups = -(-n // places)
    assert size(network) == chain_size(5, groups + 1, 2 * places, 1)
    assert network.n_neurons <= 4 * np.sqrt(n) + 6


@pytest.mark.parametrize("n", [2, 7, 16, 30])
def test_labels_are_met_in_exact_arithmetic(n) -> None:
    X, y = random_labels(n, k=2)
    network = Yun().construct(X, y, random_state=0).network
    for x, code in zip(X, y, strict=True):
        (output,) = naive_certificate.chain_outputs(network, x)
        assert abs(output - Fraction(2 * int(code) - 1)) < 1e-9


def test_second_layer_units_saturate_at_all_points_but_one_of_each_group() -> None:
    X, y = random_labels(64)
    network = Yun().construct(X, y, random_state=0).network
    first, second, _ = network.layers
    pairs = second(first(X))
    units = pairs[:, ::2] - pairs[:, 1::2] - 1.0
    served = np.abs(np.abs(units) - 1.0) > 1e-9
    inner = np.abs(spaced_levels(3)[y]) < 1  # at the other levels the served unit is at an end as well
    np.testing.assert_array_equal(served.sum(axis=1), inner)
    np.testing.assert_allclose(units.sum(axis=1) - 1.0, spaced_levels(3)[y], atol=1e-9)


@pytest.mark.parametrize(("groups", "places"), [(7, 6), (5, 2), (1, 4)])
def test_places_alternate_between_even_and_odd(groups, places) -> None:
    before, after = np.sort(np.random.default_rng(0).random((2, groups, places)), axis=2)
    served = served_places(before, after[:, ::-1])
    np.testing.assert_array_equal(np.sort(served, axis=1), np.tile(np.arange(places), (groups, 1)))
    assert ((served[1:] + served[:-1]) % 2 == 1).all()


def test_matching_places_by_height_keeps_weights_smaller(monkeypatch) -> None:
    X, y = random_labels(2500, d=10)
    targets, found = spaced_levels(3)[y], lines(distinct_points(X, y), np.random.SeedSequence(0), "points")

    def sizes():
        return np.array([Zigzags.through(line.values[line.order], targets[line.order]).size for line in found])

    def snake(before, after):
        """Every other group served backwards."""
        groups, places = before.shape
        return np.where(np.arange(groups)[:, None] % 2, np.arange(places)[::-1], np.arange(places))

    matched = sizes()
    monkeypatch.setattr("exactfit.constructions.line.served_places", snake)
    assert np.median(sizes() / matched) > 1


def test_the_line_of_the_smallest_zigzags_is_taken() -> None:
    X, y = random_labels(400)
    found = lines(distinct_points(X, y), np.random.SeedSequence(3), "points")
    sizes = [Zigzags.through(line.values[line.order], spaced_levels(3)[y[line.order]]).size for line in found]
    direction = Yun().construct(X, y, random_state=3).network.layers[0].weights.values[0]
    np.testing.assert_array_equal(direction, found[int(np.argmin(sizes))].direction)


def test_yun_on_all_digits() -> None:
    X, y = load_digits(return_X_y=True)
    network = Yun().construct(X, y, random_state=0).network
    assert certify(network, X, y).holds
    assert np.abs(network(X)[:, 0] - spaced_levels(10)[y]).max() < 1e-6


def test_points_that_float64_cannot_order_are_named() -> None:
    near = np.nextafter(1.0, 2.0)
    X = np.array([[1.0, 1.0], [near, 1.0], [1.0, near], [near, near], [3.0, 4.0]])
    with pytest.raises(AssumptionError) as refusal:
        Yun().construct(X, np.array([0, 1, 1, 0, 1]), random_state=0)
    assert set(refusal.value.rows) <= set(range(5))
    assert refusal.value.rows
