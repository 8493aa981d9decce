"""Slabs around hyperplanes through groups of points: Baum and Bubeck et al., and the repairs of general position."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import certificate_twins as naive_certificate
from helpers import twins as naive
from helpers.problems import DEGENERATE, chain_size, grid, n_outputs, simplex, size, spaced_levels, wide_labels
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine

from exactfit import AssumptionError, ParameterError, certify
from exactfit.constructions import Baum, Bubeck
from exactfit.constructions.base import distinct_points
from exactfit.constructions.slabs import ScaledPoints, class_slabs, slab_through


def position(slab, cloud, x) -> Fraction:
    """How far x lies from the middle of a slab, in exact arithmetic, less the slab's half-width."""
    value = naive.exact(cloud.weights(slab.normal[None, :])[0], x, -slab.center)
    return abs(Fraction(value)) - Fraction(slab.half_width)


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("most", [1, 3, 50])
def test_a_slab_holds_what_it_says_and_nothing_it_must_avoid(case, most) -> None:
    X, y = DEGENERATE[case]()
    cloud = ScaledPoints(X)
    own = np.flatnonzero(y == 1)
    free = (y == 1) & (np.arange(len(X)) % 2 == 0)
    slab = slab_through(cloud, own[:most], free, np.random.default_rng(0))
    assert own[0] in slab.inside
    assert set(slab.inside) <= set(own)
    places = [position(slab, cloud, x) for x in X]
    np.testing.assert_array_equal(np.flatnonzero([place < 0 for place in places]), slab.inside)
    assert min(abs(place) for place in places) > Fraction(slab.clearance) / 2


def test_points_in_general_position_all_go_on_one_hyperplane() -> None:
    X, _ = wide_labels()
    slab = slab_through(ScaledPoints(X), np.arange(10), np.zeros(len(X), dtype=bool), np.random.default_rng(0))
    np.testing.assert_array_equal(slab.inside, np.arange(10))


def test_a_group_on_which_another_point_lies_shrinks() -> None:
    """Linearly independent but affinely dependent: on the simplex, d points span all the others."""
    X, _ = simplex()
    cloud = ScaledPoints(X)
    assert cloud.rank == X.shape[1] - 1
    slab = slab_through(cloud, np.arange(6), np.zeros(len(X), dtype=bool), np.random.default_rng(0))
    np.testing.assert_array_equal(slab.inside, np.arange(5))


def test_scales_of_features_do_not_matter() -> None:
    X, y = wide_labels(d=5)
    scaled = X * 2.0 ** np.array([900, -900, 0, 300, -300])
    for constructor in (Baum(), Bubeck()):
        made, other = (constructor.construct(data, y, random_state=0).network for data in (X, scaled))
        np.testing.assert_array_equal(other.decide(scaled), y)
        assert made.widths == other.widths
        np.testing.assert_array_equal(made.layers[0].bias, other.layers[0].bias)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("mode", ["or", "sum"])
def test_baum_has_the_size_of_its_formula(mode, k) -> None:
    X, y = wide_labels(k=k)
    made = Baum(mode).construct(X, y, random_state=0)
    n_slabs = len(made.trace.coverage)
    assert size(made.network) == chain_size(10, 2 * n_slabs, n_outputs(k) if mode == "or" else 1)
    counts = np.sort(np.bincount(y))[:-1]
    assert n_slabs <= sum(-(-count // 10) for count in counts)
    assert made.trace.coverage.sum() == counts.sum()


@pytest.mark.parametrize("mode", ["or", "sum"])
@pytest.mark.parametrize("case", DEGENERATE)
def test_baum_is_exact_where_general_position_fails(case, mode) -> None:
    X, y = DEGENERATE[case]()
    network = Baum(mode).construct(X, y, random_state=0).network
    assert [naive_certificate.chain_answer(network, x) for x in X] == y.tolist()


def test_slabs_may_overlap_unless_they_are_summed() -> None:
    X, y = grid()
    base = int(np.bincount(y).argmax())
    caught = {}
    for exclusive in (False, True):
        edges, *_ = class_slabs(distinct_points(X, y), base, np.random.SeedSequence(0), exclusive=exclusive)
        lower, upper = edges(X).to_bool()[:, ::2], edges(X).to_bool()[:, 1::2]
        caught[exclusive] = (lower & ~upper).sum(axis=1)
        assert (caught[exclusive][y == base] == 0).all()
        assert (caught[exclusive][y != base] >= 1).all()
    assert caught[False].max() > 1  # a sum would count these twice
    assert caught[True].max() == 1


def test_smaller_groups_have_wider_slabs() -> None:
    X, y = load_wine(return_X_y=True)
    widths, radii = [], []
    for most in (13, 4, 1):
        network = Baum(group_size=most).construct(X, y, random_state=0).network
        certificate = certify(network, X, y)
        assert certificate.holds
        assert certificate.float64_safe
        widths.append(network.widths[0])
        radii.append(certificate.robust_radius)
    assert widths == sorted(widths)
    assert radii == sorted(radii)


@pytest.mark.parametrize("mode", ["or", "sum"])
def test_baum_on_all_digits(mode) -> None:
    X, y = load_digits(return_X_y=True)
    made = Baum(mode).construct(X, y, random_state=0)
    certificate = certify(made.network, X, y)
    assert certificate.holds
    assert certificate.float64_safe
    assert np.median(made.trace.coverage) > 30  # of 61 dimensions: some digits lie in the span of others


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 24), st.sampled_from(["or", "sum"]))
def test_baum_on_small_grids(seed, d, n, mode) -> None:
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(-2, 3, (n, d)), axis=0).astype(float)
    if len(X) < 2:
        return
    y = np.concatenate([[0, 1], rng.integers(0, 2, len(X) - 2)])
    network = Baum(mode).construct(X, y, random_state=seed).network
    assert [naive_certificate.chain_answer(network, x) for x in X] == y.tolist()


@pytest.mark.parametrize("wrong", [{"mode": "and"}, {"group_size": 0}, {"group_size": 2.5}])
def test_baum_refuses_wrong_options(wrong) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Baum(**wrong)


@pytest.mark.parametrize("constructor", [Baum(), Baum("sum"), Bubeck()])
def test_points_too_close_for_float64_are_named(constructor) -> None:
    X = np.array([[5.0, 5.0], [1.0, 1.0], [3.0, 3.0], [1.0, np.nextafter(1.0, 2.0)]])
    with pytest.raises(AssumptionError, match="rows 1, 3") as refusal:
        constructor.construct(X, np.array([0, 0, 0, 1]), random_state=0)
    assert refusal.value.rows == (1, 3)


@pytest.mark.parametrize("k", [2, 4])
def test_bubeck_has_the_size_of_its_formula(k) -> None:
    X, y = wide_labels(k=k)
    made = Bubeck().construct(X, y, random_state=0)
    n_groups = len(made.trace.coverage)
    assert size(made.network) == chain_size(10, 4 * n_groups, 1)
    assert n_groups <= 15  # ceil(150 / 10)
    assert made.trace.coverage.sum() == 150


@pytest.mark.parametrize("case", DEGENERATE)
def test_bubeck_has_the_labels_at_all_points_in_exact_arithmetic(case) -> None:
    X, y = DEGENERATE[case]()
    network = Bubeck().construct(X, y, random_state=0).network
    levels = spaced_levels(y.max() + 1)
    for x, code in zip(X, y, strict=True):
        (output,) = naive_certificate.chain_outputs(network, x)
        assert abs(output - Fraction(levels[code])) < 1e-6


def test_groups_of_several_labels_carry_an_affine_function() -> None:
    """Nine of ten points in one group, of nine labels: the slope cannot be zero."""
    X, y = np.random.default_rng(0).standard_normal((10, 12)), np.arange(10)
    network = Bubeck().construct(X, y, random_state=0).network
    assert network.widths == (8, 1)
    tilted, plain = network.layers[0].weights.values[:2]
    assert np.abs(tilted - plain).max() > 0
    np.testing.assert_array_equal(network.decide(X), y)


def test_bubeck_on_all_digits() -> None:
    X, y = load_digits(return_X_y=True)
    network = Bubeck().construct(X, y, random_state=0).network
    certificate = certify(network, X, y)
    assert certificate.holds
    assert certificate.float64_safe
    assert np.abs(network(X)[:, 0] - spaced_levels(10)[y]).max() < 1e-6
