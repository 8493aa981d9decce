"""Balls as patches: in exact arithmetic they hold their targets, and no given point of another label."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit.exceptions import NoGapError
from exactfit.repairs.patches import Targets, ball_patches, centres_and_squares, lowered_balls


def square(x, c):
    return sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, c, strict=True))


@st.composite
def problems(draw):
    """Distinct points on a grid, some of them to be patched."""
    n, seed = draw(st.integers(3, 20)), draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    X = rng.permutation(np.stack(np.meshgrid(*[np.arange(-3.0, 3.0)] * 2), axis=-1).reshape(-1, 2))[:n]
    codes = np.concatenate([[0, 1], rng.integers(0, 3, n - 2)])
    rows = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    form = draw(st.sampled_from([None, "float32", "float64"]))
    return Targets(X, codes, rows, 3, form)


@given(problems(), st.sampled_from([0.0, 0.5, 1.0]))
def test_balls_hold_their_targets_and_nobody_else(targets, share):
    patches = ball_patches(targets, share, np.random.SeedSequence(0))
    centres, squares = centres_and_squares(patches)
    covered = set()
    for code, anchor, c, t in zip(patches.codes, patches.anchors, centres, squares, strict=True):
        assert targets.codes[anchor] == code
        assert c.tolist() == targets.X[anchor].tolist()
        inside = {row for row, x in enumerate(targets.X) if square(x, c) < Fraction(float(t))}
        assert {int(targets.codes[row]) for row in inside} == {int(code)}
        covered |= inside
    assert set(targets.rows.tolist()) <= covered
    fired = {(int(row), int(place)) for row, place in zip(*patches.fired(targets.X), strict=True)}
    assert fired == {
        (row, place)
        for place, (c, t) in enumerate(zip(centres, squares, strict=True))
        for row, x in enumerate(targets.X)
        if square(x, c) < Fraction(float(t))
    }


@given(problems())
def test_the_largest_balls_reach_nearly_to_the_nearest_point_of_another_label(targets):
    patches = ball_patches(targets, 1.0, np.random.SeedSequence(0))
    for code, c, t in zip(patches.codes, *centres_and_squares(patches), strict=True):
        nearest = min(square(x, c) for x, other in zip(targets.X, targets.codes, strict=True) if other != code)
        assert 0.99 * float(nearest) < t < nearest


def test_further_points_shrink_balls_and_drop_those_that_they_hit():
    X, codes = np.array([[0.0, 1.0], [5.0, 1.0], [9.0, 1.0]]), np.array([0, 0, 1])
    targets = Targets(X, codes, np.array([0, 1]), 2, None)
    patches = ball_patches(targets, 1.0, np.random.SeedSequence(1))
    (own,) = np.flatnonzero(patches.anchors == 0)
    fewer, kept = lowered_balls(patches, targets, np.array([[1.0, 1.0], [5.0, 1.0]]), np.array([1, 1]))
    assert kept.tolist() == [own]
    assert 0.99 < centres_and_squares(fewer)[1][0] < 1.0


def test_points_too_close_to_be_told_apart_are_named():
    X = np.array([[1e8, 0.0], [np.nextafter(1e8, 2e8), 0.0]])
    targets = Targets(X, np.array([0, 1]), np.array([0]), 2, None)
    with pytest.raises(NoGapError, match=r'balls around rows 0 would also claim.*use patches="mask"'):
        ball_patches(targets, 0.0, np.random.SeedSequence(0))
