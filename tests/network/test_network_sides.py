"""The side of a point is the one that exact arithmetic gives, for every size of numbers, layout, tile and thread."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exactfit._support.threads import Threads
from exactfit.data.matrices import dense_rows, row_tiles
from exactfit.network import sides as _sides
from exactfit.network.sides import LOW_DIMENSION, plain_sides, sides

DIMENSIONS = [1, 2, 17, 784, 3072]
TINY = float(np.nextafter(0.0, 1.0))


def assert_exact(X, W, B, **options):
    """By kernels for dense and sparse weights and, where the compiler would have to be loaded, without them."""
    # Rows that are equal have the same sides: fractions are slow, and some tests repeat a row often.
    different, place = np.unique(X, axis=0, return_inverse=True)
    biases, expected = np.asarray(B, dtype=np.float64), naive.sides(different, W, B)[place.reshape(-1)]
    for weights in (W, sp.csr_array(W)):
        np.testing.assert_array_equal(sides(X, weights, biases, **options).to_bool(), expected)
        few = plain_sides(dense_rows(X, slice(None)), weights, biases)
        if few is not None and "rows" not in options:
            np.testing.assert_array_equal(few, expected)


def of_size(rng, exponent, shape):
    """Random numbers of magnitude 10^-exponent to 10^exponent, all mixed."""
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(1, 10, shape) * 10.0 ** rng.uniform(-exponent, exponent, shape)


def tie(rng, d, exponent):
    """(x, w, b) with <w, x> + b = 0 exactly: terms in pairs that cancel, and one that the bias cancels."""
    half = (d - 1) // 2
    x, w = of_size(rng, exponent, half), of_size(rng, exponent, half)
    power = np.ldexp(1.0, int(rng.integers(-20, 20)))
    last = float(of_size(rng, min(exponent, 290), 1)[0])
    rest = d - 1 - 2 * half
    points = np.concatenate([x, x, [last], of_size(rng, exponent, rest)])
    weights = np.concatenate([w, -w, [power], np.zeros(rest)])
    order = rng.permutation(d)
    return points[order], weights[order], -power * last


def nudged(x, w, b, rng):
    """The same, one unit in the last place to either side: (x, w, b, whether it is on)."""
    j = int(rng.choice(np.flatnonzero(w)))
    for way in (-1, 1):
        moved = x.copy()
        moved[j] = np.nextafter(x[j], way * np.inf)
        yield moved, w, b, (way > 0) == (w[j] > 0)
        yield x, w, np.nextafter(b, way * np.inf), way > 0


@pytest.mark.parametrize("varying", [0, 1, 5, 19])
def test_columns_in_which_all_points_agree_change_nothing(varying):
    """With many hyperplanes they are left out of the filter; the reference point stands for them."""
    rng = np.random.default_rng(varying)
    X = np.repeat(of_size(rng, 3, (1, 20)), 70, axis=0)
    X[:, 3] = rng.choice([0.0, -0.0], 70)
    X[:, rng.permutation(np.delete(np.arange(20), 3))[:varying]] = rng.standard_normal((70, varying))
    W = rng.standard_normal((_sides.WIDE, 20)).astype(np.float32)
    B = np.array([-naive.dot(w, X[i % 70]) for i, w in enumerate(W)])
    assert_exact(X, W, B)


def test_a_column_that_varies_in_one_row_only_counts():
    X = np.zeros((300, 20))
    X[151, 7] = 1.0  # among those at which the filter does not look first
    W = np.ones((_sides.WIDE, 20), dtype=np.float32)
    assert_exact(X, W, np.full(_sides.WIDE, -0.5))


@pytest.mark.parametrize("exponent", [0, 8, 100, 300])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_point_on_the_hyperplane_is_off_and_one_ulp_decides(d, exponent):
    rng = np.random.default_rng(d + exponent)
    for _ in range(20 if d < 100 else 3):
        x, w, b = tie(rng, d, exponent)
        assert naive.exact(w, x, b) == 0
        assert not sides(x[None], w[None], np.array([b])).to_bool()[0, 0]
        assert not sides(-x[None], w[None], np.array([-b])).to_bool()[0, 0]
        for near_x, near_w, near_b, on in nudged(x, w, b, rng):
            assert sides(near_x[None], near_w[None], np.array([near_b])).to_bool()[0, 0] == on


@pytest.mark.parametrize("d", DIMENSIONS)
def test_close_calls_among_many_points(d):
    """Every point lies on or next to a hyperplane; with 64 rows and more the filter works around a reference point."""
    rng = np.random.default_rng(d)
    n_points = 70 if d <= 17 else 4
    X = rng.standard_normal((n_points, d))
    W = rng.standard_normal((4, d)).astype(np.float32)
    B = np.array([-naive.dot(w, X[i]) for i, w in enumerate(W)])
    assert_exact(X, W, B)


@pytest.mark.parametrize("d", [1, 2, 16, 17, 40])
@pytest.mark.parametrize("exponent", [1, 30, 300])
def test_sizes_of_all_kinds_mixed(d, exponent):
    rng = np.random.default_rng(d)
    X, W = of_size(rng, exponent, (70, d)), of_size(rng, exponent, (9, d))
    B = np.concatenate([[0.0, TINY, -TINY], of_size(rng, exponent, 6)])
    X[3], X[:, 0], W[4] = 0.0, X[0, 0], 0.0
    assert_exact(X, W, B)


any_number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1, 1),
    st.sampled_from([0.0, -0.0, TINY, -TINY, 2.0**-1022, 1.7e308, -1.7e308, 1.0, -1.0]),
)


@given(st.data(), st.integers(1, 4))
def test_any_numbers_in_few_dimensions(data, d):
    X = data.draw(hnp.arrays(np.float64, (3, d), elements=any_number))
    W = data.draw(hnp.arrays(np.float64, (4, d), elements=any_number))
    B = data.draw(hnp.arrays(np.float64, 4, elements=any_number))
    assert_exact(X, W, B)


@given(st.data(), st.integers(LOW_DIMENSION + 1, LOW_DIMENSION + 4))
def test_any_numbers_in_more_dimensions(data, d):
    X = data.draw(hnp.arrays(np.float64, (2, d), elements=any_number, fill=any_number))
    W = data.draw(hnp.arrays(np.float64, (3, d), elements=any_number, fill=any_number))
    B = data.draw(hnp.arrays(np.float64, 3, elements=any_number))
    assert_exact(X, W, B)


def mostly_zeros(rng, n_points, d, most):
    """Points with up to ``most`` numbers of all sizes, the rest zeros."""
    X = np.zeros((n_points, d))
    for row in X:
        places = rng.permutation(d)[: int(rng.integers(0, most + 1))]
        row[places] = of_size(rng, 3, len(places))
    return X


@pytest.mark.parametrize(("d", "most"), [(17, 3), (40, 8), (300, 20), (2000, 300)])
def test_points_that_are_mostly_zeros(d, most):
    rng = np.random.default_rng(d)
    X = mostly_zeros(rng, 70, d, most)
    W = rng.standard_normal((5, d)).astype(np.float32)
    B = np.array([-naive.dot(w, x) for w, x in zip(W, X, strict=False)])  # five of the points are close calls
    assert_exact(X, W, B)
    np.testing.assert_array_equal(sides(sp.csr_matrix(X), W, B).words, sides(X, W, B).words)


@pytest.mark.parametrize("n", [1, 65, 513, 1100])
def test_zeros_may_be_left_out_or_not(monkeypatch, n):
    rng = np.random.default_rng(n)
    X = mostly_zeros(rng, 600, 1000, 400) * (rng.random((600, 1)) < 0.5)
    W, B = rng.standard_normal((n, 1000)).astype(np.float32), rng.uniform(-1, 1, n)
    used = []
    monkeypatch.setattr(_sides, "_Nonzeros", lambda weights, make=_sides._Nonzeros: used.append(n) or make(weights))
    without = sides(X, W, B)
    monkeypatch.setattr(_sides, "MANY_ZEROS", 1000)
    np.testing.assert_array_equal(without.words, sides(X, W, B).words)
    assert used == [n]


@pytest.mark.parametrize("d", [3, 16, 17, 40])
def test_a_sum_that_overflows_on_the_way_keeps_its_sign(d):
    """2e308 is infinite in float64, 2e308 - 1.5e308 - 1.5e308 is not."""
    W = np.zeros((2, d))
    W[0, :3], W[1, :3] = (2.0, -1.5, -1.5), (-2.0, 1.5, 1.5)
    assert_exact(np.full((70, d), 1e308), W, np.zeros(2))


@pytest.mark.parametrize("d", [2, 3, 8, 16, 17, 20])
def test_weights_so_small_that_error_bounds_underflow(d):
    """Denormal weights against huge points: the products are of ordinary size, and so are their errors."""
    rng = np.random.default_rng(d)
    for _ in range(20):
        w, x = 1e-310 * rng.standard_normal(d), 1e300 * rng.standard_normal(d)
        X = np.tile(x, (12, 1))
        X[:, 0] *= 1 + np.arange(-6, 6) * 2.0**-53
        assert_exact(X, w[None], [-naive.dot(w, x)])


def test_a_case_in_which_rounding_turns_the_sign_of_denormal_weights():
    w = [float.fromhex(h) for h in ("0x0.018c67f8269dfp-1022", "0x0.00e61f70346bep-1022", "0x0.004de424c4e46p-1022")]
    x = [float.fromhex(h) for h in ("-0x1.e001ac9e7317bp+994", "0x1.16accb437e551p+997", "-0x1.02fb4d5c74973p+998")]
    assert naive.exact(w, x, 0.0) > 0
    assert w[0] * x[0] + w[1] * x[1] + w[2] * x[2] < -1e-26
    for zeros in (0, 5, 20):
        point, weights = np.array([x + [0.0] * zeros]), np.array([w + [0.0] * zeros])
        assert sides(point, weights, np.zeros(1)).to_bool()[0, 0]
        assert not sides(-point, weights, np.zeros(1)).to_bool()[0, 0]


@pytest.mark.parametrize("d", [1, 16, 17])
def test_denormal_points_and_biases(d):
    rng = np.random.default_rng(d)
    X = TINY * rng.integers(-5, 6, (70, d))
    W = rng.integers(-3, 4, (20, d)).astype(np.float32)
    assert_exact(X, W, TINY * rng.integers(-5, 6, 20))


@pytest.mark.parametrize("d", [1, 2, 16, 17, 64])
def test_grids_are_full_of_ties(d):
    rng = np.random.default_rng(d)
    X = rng.integers(-2, 3, (66, d)).astype(np.float64)
    W = rng.integers(-1, 2, (6, d)).astype(np.float32)
    B = rng.integers(-1, 2, 6).astype(np.float64)
    expected = naive.sides(X, W, B)
    on_a_hyperplane = np.array([[naive.exact(w, x, b) == 0 for w, b in zip(W, B, strict=True)] for x in X])
    assert on_a_hyperplane.any()
    assert not expected[on_a_hyperplane].any()
    assert_exact(X, W, B)


@pytest.mark.parametrize("d", [2, 17, 30])
def test_far_from_the_origin(d):
    rng = np.random.default_rng(d)
    X = 1e8 + rng.standard_normal((70, d))
    W = rng.standard_normal((8, d)).astype(np.float32)
    B = np.array([-naive.dot(w, X[i]) for i, w in enumerate(W)])
    assert_exact(X, W, B)


@pytest.mark.parametrize("d", [3, 20])
def test_zero_rows_and_zero_weights(d):
    X = np.array([np.zeros(d), np.ones(d), -np.zeros(d)])
    W = np.array([np.zeros(d), np.ones(d), -np.zeros(d), np.zeros(d)])
    B = np.array([0.0, 0.0, TINY, -TINY])
    expected = [[False, False, True, False], [False, True, True, False], [False, False, True, False]]
    assert sides(X, W, B).to_bool().tolist() == expected


@pytest.mark.parametrize("x", [1.0, 1e-300, 1e300, -3.25, 5e-324, 0.1])
def test_a_coordinate_cut_through_a_point_has_it_off_and_its_neighbour_on(x):
    for d in (1, 2, 20):
        X = np.zeros((3, d))
        X[:, -1] = np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)
        W = np.zeros((2, d), dtype=np.float32)
        W[:, -1] = 1, -1
        got = sides(X, W, np.array([-x, x])).to_bool()
        assert got.T.tolist() == [[False, False, True], [True, False, False]]


@pytest.mark.parametrize("d", [3, 20, 600])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type_and_layout_do_not_matter(d, dtype):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((80, d)) * (rng.random((80, d)) < 0.5)
    X = X.astype(np.float32)
    W = rng.standard_normal((70, d)).astype(dtype)
    B = -(X[:70].astype(np.float64) * W).sum(axis=1)
    expected = sides(X.astype(np.float64), W, B).words
    if d <= 20:
        assert_exact(X[:10], W[:10], B[:10])
    layouts = [
        X,
        np.asfortranarray(X),
        np.asfortranarray(X.astype(np.float64)),
        np.repeat(X, 2, axis=1)[:, ::2],
        sp.csr_matrix(X),
        sp.csr_array(X.astype(np.float64)),
    ]
    for layout in layouts:
        np.testing.assert_array_equal(sides(layout, W, B).words, expected)
    np.testing.assert_array_equal(sides(X, np.asfortranarray(W), B).words, expected)
    np.testing.assert_array_equal(sides(X, W.astype(np.float64), B).words, expected)


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 129, 1100])
def test_tiles_threads_and_batches_do_not_matter(d, n):
    rng = np.random.default_rng(n)
    X = rng.integers(-2, 3, (300, d)) / 2
    W = rng.integers(-3, 4, (n, d)).astype(np.float32)
    B = rng.integers(-2, 3, n) / 2
    expected = sides(X, W, B)
    assert (expected.n_rows, expected.n_bits) == (300, n)
    for tile in (1, 7, 64, 299, 1000):
        with Threads(2) as threads:
            np.testing.assert_array_equal(sides(X, W, B, tile=tile, threads=threads).words, expected.words)
    for part in (slice(0, 1), slice(5, 20), slice(100, 300)):
        np.testing.assert_array_equal(sides(X[part], W, B).words, expected.words[:, part])
    rows = rng.permutation(300)[:150]
    np.testing.assert_array_equal(sides(X, W, B, rows=rows, tile=40).words, expected.words[:, rows])
    np.testing.assert_array_equal(sides(X, W, B).head(1).words, sides(X, W[:1], B[:1]).words)


@pytest.mark.parametrize("d", [2, 30])
def test_nothing_in_gives_nothing_out(d):
    assert sides(np.empty((0, d)), np.ones((3, d)), np.zeros(3)).to_bool().shape == (0, 3)
    assert sides(np.ones((3, d)), np.empty((0, d)), np.zeros(0)).to_bool().shape == (3, 0)


@pytest.fixture
def left_in_doubt(monkeypatch):
    """Stop after the filter: what it leaves in doubt is collected, not settled."""
    found = []

    def settle(_tile, _columns, _planes, _lone, first_word, start, _words, doubtful):
        found.append((first_word, start, doubtful.copy()))

    monkeypatch.setattr(_sides.kernels, "settle", settle)

    def filtered(X, W, B):
        found.clear()
        decided = sides(X, W, B)
        words = np.zeros_like(decided.words)
        for first_word, start, doubtful in found:
            words[first_word : first_word + len(doubtful), start : start + doubtful.shape[1]] = doubtful
        return decided.to_bool(), type(decided)(words, decided.n_bits).to_bool()

    return filtered


@pytest.mark.parametrize("d", [1, 2, 16, 17, 300, 784])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_the_filter_is_never_wrong_about_what_it_decides(left_in_doubt, d, offset):
    """Points at distances of 1 down to 1e-18 from the hyperplanes, relative to their size."""
    rng = np.random.default_rng(d)
    n_points = 80 if d <= 17 else 6
    assert_never_wrong(left_in_doubt, offset + rng.standard_normal((n_points, d)), rng)


@pytest.mark.parametrize(("d", "most"), [(17, 3), (40, 8), (1300, 300)])
def test_the_filter_is_never_wrong_about_points_that_are_mostly_zeros(left_in_doubt, d, most):
    rng = np.random.default_rng(d)
    X = mostly_zeros(rng, 80, d, most)
    X[0, :most] = rng.standard_normal(most)
    assert_never_wrong(left_in_doubt, X, rng)


def assert_never_wrong(left_in_doubt, X, rng):
    W = rng.standard_normal((4, X.shape[1])).astype(np.float32)
    size = float(np.abs(X[0]) @ np.abs(W[0]))
    products = [[naive.exact(w, x, 0.0) for w in W] for x in X]
    for closeness in (1.0, 1e-3, 1e-6, 1e-7, 1e-8, 1e-12, 1e-15, 1e-16, 1e-18):
        B = np.array([-naive.dot(w, X[i]) + closeness * size * (-1) ** i for i, w in enumerate(W)])
        decided, doubt = left_in_doubt(X, W, B)
        expected = np.array([[p + Fraction(b) > 0 for p, b in zip(row, B, strict=True)] for row in products])
        np.testing.assert_array_equal(decided[~doubt], expected[~doubt])
        if closeness < 1e-16:
            assert doubt.any(), "such close calls cannot all have been decided"


@pytest.mark.parametrize(("d", "share"), [(2, 1e-6), (16, 1e-6), (17, 1e-4), (784, 1e-2), (3072, 1e-2)])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_the_filter_leaves_little_in_doubt_on_plain_data(left_in_doubt, d, share, offset):
    rng = np.random.default_rng(d)
    X = offset + rng.standard_normal((200, d))
    W = rng.standard_normal((128, d)).astype(np.float32)
    B = rng.uniform(-1, 1, 128) - W.sum(axis=1, dtype=np.float64) * offset
    _, doubt = left_in_doubt(X, W, B)
    assert doubt.mean() <= share


@pytest.mark.parametrize("d", [2, 16])
def test_one_huge_point_does_not_leave_the_others_in_doubt(left_in_doubt, d):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((300, d))
    X[7] *= 1e30
    _, doubt = left_in_doubt(X, rng.standard_normal((64, d)), rng.uniform(-1, 1, 64))
    assert doubt.mean() <= 1e-6


def test_rows_of_a_matrix_come_dense_and_in_order():
    X = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    for matrix in (X, np.asfortranarray(X), sp.csr_matrix(X), sp.csr_array(X)):
        for rows in (slice(1, 3), np.array([3, 0, 0])):
            taken = dense_rows(matrix, rows)
            assert (taken.dtype, taken.flags.c_contiguous) == (np.float64, True)
            np.testing.assert_array_equal(taken, X[rows])


@pytest.mark.parametrize("shape", [(1, 1), (4096, 2), (4097, 2), (10_000, 3), (40, 500_000)])
def test_row_tiles_walk_through_all_rows_in_order(shape):
    X = sp.csr_array(shape)
    tiles = row_tiles(X)
    assert [row for tile in tiles for row in range(tile.start, tile.stop)] == list(range(shape[0]))
    assert all((tile.stop - tile.start) * shape[1] <= 2**22 for tile in tiles)


def test_small_work_with_much_in_doubt_goes_to_the_kernels(monkeypatch):
    monkeypatch.setattr(_sides, "is_loaded", lambda: False)
    X, W, B = np.zeros((30, 20)), np.ones((20, 20)), np.zeros(20)
    monkeypatch.setattr(_sides, "FEW_IN_DOUBT", X.size - 201)
    assert plain_sides(X, W, B) is None
    assert not sides(X, W, B).to_bool().any()
    monkeypatch.setattr(_sides, "FEW_IN_DOUBT", X.size)
    assert not plain_sides(X, W, B).any()
