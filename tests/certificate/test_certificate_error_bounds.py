"""Bits are open only as near a hyperplane as rounding reaches, and where a format ends."""

from __future__ import annotations

import naive_certificate as naive
import numpy as np
import pytest
from small_networks import small_problem

from exactfit.certificate import certify
from exactfit.network import Decoder


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
