"""Distances against fractions, over all pairs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.certificate_twins import square
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels import distances as kernels

seeds = st.integers(0, 10**6)


def points_of(rng, n, d, kind):
    """Points in [-1, 1]: any, on a grid (many ties), or next to each other."""
    if kind == "grid":
        return rng.integers(-2, 3, (n, d)) / 2
    X = rng.uniform(-1, 1, (n, d))
    return X if kind == "any" else 0.5 + np.ldexp(X, -40)


kinds = st.sampled_from(["any", "grid", "close"])


def share_of(d):
    return 1.01 * (d + 8) * 2.0**-53


@given(seeds, st.integers(1, 11), kinds)
def test_squares_err_by_a_share_of_themselves(seed, d, kind):
    rng = np.random.default_rng(seed)
    X, Y = points_of(rng, 6, d, kind), points_of(rng, 6, d, kind)
    out = np.empty(6)
    kernels.pair_squares(X, Y, out)
    for x, y, found in zip(X, Y, out.tolist(), strict=True):
        exact = square(x, y)
        assert abs(Fraction(found) - exact) <= Fraction(share_of(d)) * exact
        assert found == kernels.direct(x, y)


def test_reach_is_never_below_a_square_of_equal_distance():
    share, true_share = share_of(4), Fraction(4 + 2, 2**53)  # what `direct` can err by in four dimensions
    for value in (1e-12, 0.3, 4.0):
        assert Fraction(kernels.reach(value, share)) >= Fraction(value) * (1 + true_share) / (1 - true_share)


def block_of(rng, n, m, d, kind, triangle):
    """Both sides of a block with products in float64, and their classes."""
    left = points_of(rng, n, d, kind)
    right = left if triangle else points_of(rng, m, d, kind)
    lows = [(X * X).sum(axis=1) * (1 - 1e-14) - 1e-15 for X in (left, right)]
    norms = [np.sqrt((X * X).sum(axis=1)) * (1 + 1e-12) for X in (left, right)]
    classes = [rng.integers(0, 3, len(X)) for X in (left, right)]
    if triangle:
        classes[1] = classes[0]
    return (left @ right.T)[None], (left, right), lows, (norms[0], norms[1] * 1e-14), classes


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("triangle", [True, False])
@given(seed=seeds, kind=kinds, d=st.integers(1, 6))
def test_scan_finds_every_pair_that_may_be_closest(shared, triangle, seed, kind, d):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 9)), int(rng.integers(1, 150))
    products, points, lows, norms, classes = block_of(rng, n, m, d, kind, triangle)
    m = n if triangle else m
    bounds = [np.full(1 if shared else len(X), np.inf) for X in points]
    if triangle and not shared:
        bounds[1] = bounds[0]
    sides = [kernels.BlockSide(*of_side) for of_side in zip(points, lows, norms, classes, bounds, strict=True)]
    room = kernels.Found(np.empty(n * m, np.int32), np.empty(n * m, np.int32), np.empty(n * m))
    count = kernels.scan(products, *sides, shared, triangle, share_of(d), room)
    found = set(zip(room.left[:count].tolist(), room.right[:count].tolist(), strict=True))
    squares = {
        (i, j): square(points[0][i], points[1][j])
        for i in range(n)
        for j in range(i + 1 if triangle else 0, m)
        if classes[0][i] != classes[1][j]
    }
    assert found <= set(squares)
    assert len(found) == count
    assert all(room.squares[k] == kernels.direct(points[0][i], points[1][j])
               for k, (i, j) in enumerate(zip(room.left[:count], room.right[:count], strict=True)))  # fmt: skip
    groups = {(end, pair[end]) for pair in squares for end in (0, 1)}
    if shared or triangle:  # one bound for all pairs, or for those that share a point on any side
        groups = {(None, None)} if shared else {(None, place) for _, place in groups}
    for end, place in groups if squares else ():
        ends = (0, 1) if end is None else (end,)
        own = {pair: value for pair, value in squares.items() if place is None or place in {pair[e] for e in ends}}
        assert {pair for pair, value in own.items() if value == min(own.values())} <= found


def test_scan_rules_out_what_the_bounds_exclude():
    X = np.array([[0.0], [0.25], [1.0]])
    side = kernels.BlockSide(X, (X * X)[:, 0], np.zeros(3), np.arange(3), np.array([0.07]))
    room = kernels.Found(np.empty(9, np.int32), np.empty(9, np.int32), np.empty(9))
    assert kernels.scan((X @ X.T)[None], side, side, True, True, share_of(1), room) == 1
    assert (room.left[0], room.right[0], room.squares[0]) == (0, 1, 0.0625)


@given(seeds)
def test_record_keeps_what_may_still_be_nearest(seed):
    rng = np.random.default_rng(seed)
    points, squares = rng.integers(0, 4, 20), rng.integers(1, 5, 20) / 4
    bounds, kept = np.full(4, np.inf), np.empty(20, dtype=bool)
    kernels.record(points, squares, bounds, share_of(2), kept)
    for p in range(4):
        best = np.inf
        for k in np.flatnonzero(points == p):
            assert kept[k] == (squares[k] <= best)
            best = min(best, squares[k])
        assert bounds[p] == pytest.approx(best, rel=1e-12)


@given(seeds, kinds, st.integers(1, 5))
def test_squares_end_on_the_right_side_of_their_limits(seed, kind, d):
    rng = np.random.default_rng(seed)
    X, Y = points_of(rng, 5, d, kind), points_of(rng, 7, d, kind)
    exact = [[square(x, y) for y in Y] for x in X]
    limits = np.array([float(row[int(rng.integers(7))]) for row in exact])
    norms = [np.sqrt((Z * Z).sum(axis=1)) * (1 + 1e-12) for Z in (X, Y)]
    noise = 1e-6 * rng.uniform(-1, 1, (5, 7)) * norms[0][:, None] * norms[1]
    values = np.array(exact, dtype=float) + noise
    rows, columns = np.empty(35, dtype=np.int64), np.empty(35, dtype=np.int64)
    margins = kernels.Margins(1e-12, 1e-5, share_of(d))
    centres = kernels.Centres(X, norms[0]), kernels.Centres(Y, norms[1])
    count, n_direct = kernels.settle_squares(values, limits, *centres, margins, rows, columns)
    close = set(zip(rows[:count].tolist(), columns[:count].tolist(), strict=True))
    assert count <= n_direct <= 35
    for i in range(5):
        for j in range(7):
            if (i, j) not in close:
                assert (Fraction(float(values[i, j])) < Fraction(limits[i])) == (exact[i][j] < Fraction(limits[i]))
    few = kernels.settle_squares(values, limits, *centres, margins, rows[:1], columns[:1])
    assert few[0] >= count


@given(seeds, st.sampled_from(["any", "grid", "close", "wide"]), st.integers(1, 4))
def test_distances_are_compared_exactly(seed, kind, d):
    rng = np.random.default_rng(seed)
    wide = kind == "wide"
    a, b, c, e = (points_of(rng, 8, d, "any" if wide else kind) for _ in range(4))
    if wide:
        a, b, c, e = (np.ldexp(Z, rng.integers(-500, 500, Z.shape)) for Z in (a, b, c, e))
    c[:3], e[:3] = b[:3], a[:3]
    signs = np.empty(8, dtype=np.int64)
    kernels.compare_pairs(a, b, c, e, signs)
    for k in range(8):
        first, second = square(a[k], b[k]), square(c[k], e[k])
        assert signs[k] == (first > second) - (first < second)
    starts, winners = np.array([0, 3, 4, 8]), np.empty(3, dtype=np.int64)
    kernels.first_closest(a, b, starts, winners)
    for low, high, winner in zip(starts, starts[1:], winners, strict=False):
        assert winner == min(range(low, high), key=lambda k: (square(a[k], b[k]), k))


@given(seeds)
def test_largest_projections_of_components(seed):
    rng = np.random.default_rng(seed)
    projections = rng.standard_normal((9, 3))
    indptr, members = np.array([0, 2, 2, 6]), rng.integers(0, 9, 6)
    centres, out = np.array([-1, 4, 5]), np.empty((3, 3))
    kernels.largest_of_components(projections, centres, indptr, members, out)
    for c in range(3):
        origin = 0.0 if centres[c] < 0 else projections[centres[c]]
        shifted = np.abs(projections[members[indptr[c] : indptr[c + 1]]] - origin)
        assert out[c].tolist() == shifted.max(axis=0, initial=0.0).tolist()
