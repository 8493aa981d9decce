"""Every kernel against its slow twin, at the widths where words begin and end."""

from __future__ import annotations

import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.errors import TypingError

from exactfit._kernels import counting, cover, nonzeros, rows, scores, sides, values
from exactfit._kernels.compile import compiled, popcount
from exactfit.network.bits import BitMatrix, last_word

WIDTHS = [1, 63, 64, 65, 127, 128, 129, 192, 193, 255, 256, 257, 320, 449, 511, 512, 513, 768, 769, 1100]
COLUMNS = [1, 511, 512, 513, 1030]
ALL = 2**64 - 1


def random_bits(seed, n_rows, n_bits, share=0.5):
    """Random bits; the first row all on, the last bit of every word (bit 63) on in the second."""
    bits = np.random.default_rng(seed).random((n_rows, n_bits)) < share
    bits[0] = True
    bits[1 % n_rows, 63::64] = True
    return bits


def masks_of(bits):
    return np.ascontiguousarray(BitMatrix.from_bool(bits).words.T)


def count_matrix(masks, points):
    return masks.astype(np.int64) @ points.T.astype(np.int64)


# ---- Counting --------------------------------------------------------------------------------------------


@compiled
def call_popcount(word):
    return popcount(word)


@pytest.mark.parametrize("word", [0, 1, 2**63, ALL, 2**63 - 1, 0x0123456789ABCDEF, 0xAAAAAAAAAAAAAAAA])
def test_popcount(word):
    assert call_popcount(np.uint64(word)) == word.bit_count()


def test_popcount_takes_words_only():
    with pytest.raises((TypeError, TypingError), match="popcount takes uint64"):
        call_popcount(np.int64(3))


@given(st.integers(0, ALL), st.integers(0, ALL), st.integers(0, ALL))
def test_full_adder_adds_every_position(a, b, c):
    low, carry = counting.full_add(np.uint64(a), np.uint64(b), np.uint64(c))
    for k in range(64):
        total = (a >> k & 1) + (b >> k & 1) + (c >> k & 1)
        assert total == (int(low) >> k & 1) + 2 * (int(carry) >> k & 1)


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_counts_at_every_width(n_bits):
    points, masks = random_bits(1, 40, n_bits), random_bits(2, 5, n_bits)
    words = BitMatrix.from_bool(points).words
    out = np.full((5, 40), -1)
    counting.count_all(words, 0, 40, masks_of(masks), 0, out)
    assert out.tolist() == [[naive.count(mask, point) for point in points] for mask in masks]
    tile = np.full(40, -1)
    counting.count_words(words, 0, len(words), 3, 30, masks_of(masks)[0], tile)
    assert tile[:27].tolist() == points[3:30].sum(axis=1).tolist()
    assert (tile[27:] == -1).all()


@pytest.mark.parametrize("n_columns", COLUMNS)
def test_counts_of_many_columns(n_columns):
    points, masks = random_bits(3, n_columns, 100), random_bits(4, 3, 100)
    out = np.full((3, n_columns), -1)
    counting.count_all(BitMatrix.from_bool(points).words, 0, n_columns, masks_of(masks), 0, out)
    np.testing.assert_array_equal(out, count_matrix(masks, points))


def test_counts_of_some_columns_leave_the_others_alone():
    points, masks = random_bits(5, 700, 70), random_bits(6, 2, 70)
    out = np.full((2, 700), -1)
    counting.count_all(BitMatrix.from_bool(points).words, 100, 650, masks_of(masks), 0, out)
    np.testing.assert_array_equal(out[:, 100:650], count_matrix(masks, points)[:, 100:650])
    assert (out[:, :100] == -1).all()
    assert (out[:, 650:] == -1).all()
    part = np.full((2, 600), -1)
    counting.count_all(BitMatrix.from_bool(points).words, 100, 650, masks_of(masks), 90, part)
    np.testing.assert_array_equal(part[:, 10:560], out[:, 100:650])
    assert (part[:, :10] == -1).all()
    assert (part[:, 560:] == -1).all()


# ---- Cover -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bits", WIDTHS)
@pytest.mark.parametrize("n_columns", COLUMNS)
def test_lowest_counts_and_who_attains_them_first(n_bits, n_columns):
    points, masks = random_bits(7, n_columns, n_bits, 0.3), random_bits(8, 6, n_bits)
    counts = count_matrix(masks, points)
    start, stop = n_columns // 3, n_columns
    lowest, where = np.full(6, np.iinfo(np.int64).max), np.full(6, -1)
    cover.lowest_counts(BitMatrix.from_bool(points).words, start, stop, masks_of(masks), lowest, where)
    np.testing.assert_array_equal(lowest, counts[:, start:stop].min(axis=1))
    np.testing.assert_array_equal(where, start + counts[:, start:stop].argmin(axis=1))


@pytest.mark.parametrize("n_bits", [1023, 1024, 1025, 1600, 2111])
@pytest.mark.parametrize("seed", range(4))
def test_lowest_counts_where_most_columns_are_out_early(n_bits, seed):
    rng = np.random.default_rng(seed)
    density = rng.choice([0.02, 0.3, 0.9], p=[0.02, 0.18, 0.8], size=(3000, 1))
    points, masks = rng.random((3000, n_bits)) < density, random_bits(8, 6, n_bits)
    points[rng.integers(3000, size=40)] = points[rng.integers(3000, size=40)]
    points[2500:] &= ~masks[0] | (rng.random((500, n_bits)) < 0.01)
    counts = count_matrix(masks, points)
    lowest, where = np.full(6, np.iinfo(np.int64).max), np.full(6, -1)
    cover.lowest_counts(BitMatrix.from_bool(points).words, 0, 3000, masks_of(masks), lowest, where)
    np.testing.assert_array_equal(lowest, counts.min(axis=1))
    np.testing.assert_array_equal(where, counts.argmin(axis=1))


def test_lowest_counts_go_on_from_what_is_known():
    points, masks = random_bits(9, 1200, 130), random_bits(10, 4, 130)
    words, counts = BitMatrix.from_bool(points).words, count_matrix(masks, points)
    lowest, where = np.full(4, np.iinfo(np.int64).max), np.full(4, -1)
    for start, stop in [(0, 500), (500, 1200)]:
        cover.lowest_counts(words, start, stop, masks_of(masks), lowest, where)
    np.testing.assert_array_equal(lowest, counts.min(axis=1))
    np.testing.assert_array_equal(where, counts.argmin(axis=1))
    known = np.array([0, 1, counts[2].min(), 131])
    known[1] = max(1, counts[1].min() - 1)
    lowest, where = known.copy(), np.full(4, -7)
    cover.lowest_counts(words, 0, 1200, masks_of(masks), lowest, where)
    assert where.tolist() == [-7, -7, -7, int(counts[3].argmin())]
    assert lowest[:3].tolist() == known[:3].tolist()


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_masks_are_the_complements_of_the_anchors(n_bits):
    points = random_bits(11, 9, n_bits)
    columns = np.array([8, 0, 0, 3])
    out = np.empty((4, len(BitMatrix.from_bool(points).words)), dtype=np.uint64)
    cover.gather_masks(BitMatrix.from_bool(points).words, columns, last_word(n_bits), out)
    np.testing.assert_array_equal(out, masks_of(~points[columns]))


def turns_by_hand(heights, limits, places, uncovered):
    """Algorithm 2, lines 4-8, for candidates in order; heights has a row for all of them."""
    claimed, highest = [], []
    for row, limit, place in zip(heights, limits, places, strict=True):
        if not uncovered[place]:
            claimed.append(-1)
            highest.append(None)
            continue
        taken = [c for c in range(len(row)) if limit > 0 and uncovered[c] and row[c] < limit]
        for c in taken:
            uncovered[c] = False
        claimed.append(len(taken))
        highest.append(max((row[c] for c in taken), default=None))
    return claimed, highest


@given(st.integers(0, 10**6))
def test_candidates_take_turns(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    places = rng.choice(n, min(m, n), replace=False)
    heights = rng.integers(0, 6, (len(places), n)).astype(np.int32)
    heights[np.arange(len(places)), places] = 0
    limits = rng.integers(0, 5, len(places))
    uncovered = rng.random(n) < 0.8
    by_hand = uncovered.copy()
    expected, highest_expected = turns_by_hand(heights, limits, places, by_hand)
    claimed, highest = np.empty(len(places), dtype=np.int64), np.empty(len(places), dtype=np.int32)
    cover.take_turns(heights[limits > 0], limits, places, uncovered, claimed, highest)
    assert claimed.tolist() == expected
    assert uncovered.tolist() == by_hand.tolist()
    assert [h for h, e in zip(highest, highest_expected, strict=True) if e is not None] == [
        e for e in highest_expected if e is not None
    ]


@pytest.mark.parametrize("n_bits", [1, 63, 64, 65, 129])
def test_gains_count_uncovered_points_only(n_bits):
    claims = random_bits(12, 7, n_bits)
    uncovered = random_bits(13, 3, n_bits)[2]
    candidates = np.array([6, 2, 2, 0])
    out = np.empty(4, dtype=np.int64)
    cover.gains(masks_of(claims), masks_of(uncovered[None])[0], candidates, out)
    assert out.tolist() == [int((claims[k] & uncovered).sum()) for k in candidates]


def masked_values(seed, n, n_columns, n_masks=4):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(n, n_columns)), rng.random(n_columns) * 1e-10, random_bits(seed, n_masks, n)


@pytest.mark.parametrize("n_bits", [1, 63, 64, 65, 129])
def test_masked_sums_add_up_in_index_order(n_bits):
    columns, errors, masks = masked_values(14, n_bits, 30)
    expected = [[naive.ordered_sum(columns[mask, c]) for c in range(30)] for mask in masks]
    out = np.empty((4, 30))
    values.masked_sums(columns, masks_of(masks), out)
    assert out.tolist() == expected
    share = 1e-9
    cover.highest_sums(columns, errors, share, masks_of(masks), out)
    assert out.tolist() == [[v + share * v + e for v, e in zip(row, errors, strict=True)] for row in expected]
    lowest, where = np.full(4, np.inf), np.full(4, -1)
    cover.lowest_sums(columns, errors, share, masks_of(masks), 100, lowest, where)
    lows = np.array([[v - share * v - e for v, e in zip(row, errors, strict=True)] for row in expected])
    assert lowest.tolist() == lows.min(axis=1).tolist()
    assert where.tolist() == (100 + lows.argmin(axis=1)).tolist()


def test_lowest_sums_name_the_first_of_equals_and_keep_what_is_known():
    columns, errors = np.array([[2.0, 1.0, 1.0]]), np.zeros(3)
    masks = masks_of(np.ones((2, 1), dtype=bool))
    lowest, where = np.array([np.inf, 1.0]), np.array([-1, -5])
    cover.lowest_sums(columns, errors, 0.0, masks, 10, lowest, where)
    assert lowest.tolist() == [1.0, 1.0]
    assert where.tolist() == [11, -5]


# ---- Values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 9, 40])
def test_affine_adds_features_in_order_and_then_the_bias(d, dtype):
    rng = np.random.default_rng(d)
    X, W, b = rng.standard_normal((21, d)), rng.standard_normal((13, d)).astype(dtype), rng.standard_normal(13)
    W[3] = 0.0
    W[4, : d // 2] = 0.0
    out = np.empty((13, 21))
    values.affine(np.ascontiguousarray(X.T), W, b, out)
    assert out.tolist() == [[naive.dot(W[i], x) + b[i] for x in X] for i in range(13)]


# ---- Rows ------------------------------------------------------------------------------------------------


def test_rows_are_added_in_order():
    X = np.random.default_rng(15).standard_normal((50, 3)) * 10.0 ** np.arange(-8, 17).repeat(2)[:, None]
    totals = np.zeros(3)
    rows.add_rows(X[:20], totals)
    rows.add_rows(X[20:], totals)
    assert totals.tolist() == [naive.ordered_sum(column) for column in X.T]


@pytest.mark.parametrize("size", [1.0, 1e-320, 1e-300, 1e-170, 1e170, 1e300])
def test_norms_of_every_size(size):
    rng = np.random.default_rng(16)
    X, origin = size * rng.standard_normal((20, 7)), size * rng.standard_normal(7)
    X[4] = 0.0
    norms = np.empty(20)
    rows.norms_of(X, norms)
    assert norms.tolist() == [naive.norm(x) for x in X]
    for x, norm in zip(X, norms, strict=True):
        square = sum(Fraction(v) ** 2 for v in x.tolist())
        slack = Fraction(1, 10**14) * square + Fraction(5e-324) * Fraction(norm) * 3
        assert abs(Fraction(float(norm)) ** 2 - square) <= slack
    assert rows.largest_norm(X, np.zeros(7)) == norms.max()
    assert rows.largest_norm(X, origin) == naive.radius(X, origin)


def test_a_norm_beyond_float64_is_infinite():
    X = np.array([[1.0, 1.0], [1.7e308, 1.7e308]])
    assert rows.largest_norm(X, np.zeros(2)) == math.inf
    assert rows.largest_norm(X, np.array([-1e308, 0.0])) == math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_subtracted_in_order(dtype):
    rng = np.random.default_rng(17)
    W, point, b = rng.standard_normal((6, 9)).astype(dtype), rng.standard_normal(9), rng.standard_normal(6)
    expected = [float(b[i]) - naive.dot(W[i], point) for i in range(6)]
    rows.subtract_products(W, point, b)
    assert b.tolist() == expected


def hashed(X):
    hashes = np.empty(len(X), dtype=np.uint64)
    rows.hash_rows(np.ascontiguousarray(X, dtype=np.float64), hashes)
    return hashes.tolist()


def test_equal_rows_have_equal_hashes_and_zeros_have_no_sign():
    assert hashed([[0.0, 1.0], [-0.0, 1.0]])[0] == hashed([[5.0, 5.0], [-0.0, 1.0]])[1]


def test_different_rows_have_different_hashes():
    grid = np.array([[i, j, k] for i in range(-9, 10) for j in range(-9, 10) for k in range(-9, 10)])
    assert len(set(hashed(grid))) == len(grid)
    steps = np.nextafter(np.ones((1, 4)), np.where(np.eye(4) > 0, 2.0, 1.0))
    assert len(set(hashed(steps))) == 4


# ---- Scores ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bits", [1, 64, 65, 129])
@pytest.mark.parametrize("n_columns", [1, 513])
def test_best_slack_of_counts(n_bits, n_columns):
    points, masks = random_bits(18, n_columns, n_bits), random_bits(19, 6, n_bits)
    limits, classes = np.arange(1, 7), np.array([0, 2, 0, 2, 2, 0])
    out = np.full((3, n_columns), -100.0)
    words = BitMatrix.from_bool(points).words
    for start, stop in [(0, n_columns // 2), (n_columns // 2, n_columns)]:
        scores.best_slack_counts(words, start, stop, masks_of(masks), limits, limits.astype(float), classes, out)
    slack = (limits[:, None] - 0.5 - count_matrix(masks, points)) / limits[:, None]
    np.testing.assert_array_equal(out[0], slack[classes == 0].max(axis=0).clip(-100))
    np.testing.assert_array_equal(out[2], slack[classes == 2].max(axis=0).clip(-100))
    assert (out[1] == -100).all()


def test_best_slack_of_sums():
    columns, _, masks = masked_values(20, 70, 25, 5)
    limits, classes = np.array([40.0, 20.0, 18.5, 30.0, 1e-3]), np.array([1, 0, 1, 0, 0])
    out = np.full((2, 25), -1e9)
    scores.best_slack_sums(columns, masks_of(masks), limits, limits.astype(float), classes, out)
    slack = [
        [(limit - naive.ordered_sum(columns[mask, c])) / limit for c in range(25)]
        for limit, mask in zip(limits, masks, strict=True)
    ]
    for k in range(2):
        assert out[k].tolist() == np.array(slack)[classes == k].max(axis=0).tolist()


def test_slack_of_a_sum_at_its_limit_is_below_zero():
    out = np.full((1, 3), -1e9)
    below = np.nextafter(2.0, 0.0)
    scores.best_slack_sums(
        np.array([[2.0, below, np.nextafter(2.0, 3.0)]]), masks_of(np.ones((1, 1), dtype=bool)), np.array([2.0]),
        np.array([2.0]), np.array([0]), out,
    )  # fmt: skip
    assert (out[0] > 0).tolist() == [False, True, False]
    assert (out != 0).all()


# ---- Sides: the stages -----------------------------------------------------------------------------------


def test_signs_to_bits():
    rng = np.random.default_rng(21)
    for _ in range(20):
        numbers = rng.choice([-1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.inf, -np.inf, np.nan], 64)
        word = int(sides.signs(numbers))
        assert [word >> i & 1 == 1 for i in range(64)] == [v > 0 for v in numbers.tolist()]
    assert int(sides.signs(np.ones(64))) == ALL


def test_doubt_unless_the_size_exceeds_the_bound():
    numbers = np.zeros(64)
    slopes, errors = np.full(64, 0.5), np.full(64, 0.25)
    bound = 2.0 * 0.5 + 3.0 * 0.25
    up, down = np.nextafter(bound, 9), np.nextafter(bound, 0)
    numbers[:8] = bound, up, down, -bound, -up, np.inf, -np.inf, np.nan
    numbers[63] = 1e308
    word = int(sides.in_doubt(numbers, 2.0, slopes, 3.0, errors))
    assert [i for i in range(64) if not word >> i & 1] == [1, 4, 63]
    slopes[2], errors[4] = np.nan, np.inf
    word = int(sides.in_doubt(np.full(64, 1e300), 2.0, slopes, 3.0, errors))
    assert [i for i in range(64) if word >> i & 1] == [2, 4]


moderate = st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False),
    st.integers(-4, 4).map(float),
    st.floats(2.0**-440, 2.0**440),
).filter(lambda v: v == 0 or 2.0**-450 <= abs(v) <= 2.0**450)
any_float = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    moderate,
    st.builds(math.ldexp, st.floats(-1, 1), st.sampled_from([-600, -540, -480, -455, -445, 445, 455, 480, 540])),
    st.sampled_from([5e-324, 1.7e308]),
)


def sign_of(number):
    return (number > 0) - (number < 0)


@given(moderate, moderate)
def test_products_come_with_their_exact_remainder(a, b):
    product, remainder = sides._two_product(a, b)
    assert product == a * b
    assert Fraction(product) + Fraction(remainder) == Fraction(a) * Fraction(b)


@st.composite
def close_calls(draw, numbers):
    """(x, w, b) with <w, x> + b far smaller than its terms, or zero."""
    d = draw(st.integers(1, 6))
    x = draw(st.lists(numbers, min_size=d, max_size=d))
    w = draw(st.lists(numbers, min_size=d, max_size=d))
    kind = draw(st.sampled_from(["plain", "rounded", "mirrored"]))
    b = draw(numbers)
    if kind == "mirrored":
        x, w, b = [*x, *x], [*w, *(-v for v in w)], draw(st.sampled_from([0.0, 5e-324, -5e-324, 1e-30, -1e-30]))
    elif kind == "rounded":
        rounded = naive.exact(w, x, 0.0)
        b = -float(rounded) if abs(rounded) < Fraction(1.7e308) else b
        steps = draw(st.integers(-2, 2))
        for _ in range(abs(steps)):
            b = math.nextafter(b, math.copysign(math.inf, steps))
    return np.array(x), np.array(w), b if math.isfinite(b) else 0.0


@settings(max_examples=200)
@given(close_calls(any_float))
def test_float64_stage_is_right_or_says_that_it_does_not_know(call):
    x, w, b = call
    got = sides._float64_sign(x, w, b)
    assert got in (2, sign_of(naive.exact(w, x, b)))


@settings(max_examples=200)
@given(close_calls(any_float))
def test_compensated_stage_is_right_or_says_that_it_does_not_know(call):
    x, w, b = call
    got = sides._compensated_sign(x, w, b)
    assert got in (2, sign_of(naive.exact(w, x, b)))


@settings(max_examples=200)
@given(close_calls(any_float))
def test_long_accumulator_is_always_right(call):
    x, w, b = call
    limbs = np.full(sides.LIMBS, 12345, dtype=np.int64)  # what an earlier call left behind
    assert sides._exact_sign(x, w, b, limbs) == sign_of(naive.exact(w, x, b))


@given(any_float, any_float, any_float, st.booleans())
def test_single_weight_stage_is_right_or_says_that_it_does_not_know(x, w, b, on_it):
    if on_it and math.isfinite(w * x):
        b = -w * x
    assert sides._lone_sign(x, w, b) in (2, sign_of(Fraction(w) * Fraction(x) + Fraction(b)))


@settings(max_examples=200)
@given(close_calls(any_float))
def test_all_stages_together(call):
    x, w, b = call
    nonzero = np.flatnonzero(w)
    lone = int(nonzero[0]) if len(nonzero) == 1 else -1
    limbs = np.zeros(sides.LIMBS, dtype=np.int64)
    for which in {lone, -1}:
        assert sides.positive(x, w, b, which, limbs) == naive.side(w, x, b)


def test_each_stage_decides_what_it_is_there_for():
    """Nothing would be wrong if a stage always passed on, but all would be slow."""
    rng = np.random.default_rng(22)
    for _ in range(50):
        x, w = rng.standard_normal(50), rng.standard_normal(50)
        near = -naive.dot(w, x)
        size = float(np.abs(w) @ np.abs(x))
        assert sides._float64_sign(x, w, near + 1e-12 * size) == 1
        assert sides._float64_sign(x, w, near - 1e-12 * size) == -1
        assert sides._float64_sign(x, w, near) == 2
        both = np.concatenate([x, x]), np.concatenate([w, -w])
        assert sides._compensated_sign(*both, 1e-25) == 1
        assert sides._compensated_sign(*both, -1e-25) == -1
        assert sides._compensated_sign(*both, 0.0) == 2
    grid_x, grid_w = rng.integers(-5, 6, 40).astype(float), rng.integers(-5, 6, 40).astype(np.float32)
    assert sides._compensated_sign(grid_x, grid_w, -float(grid_x @ grid_w)) == 0
    for x in (0.1, 1e8, 0.0):
        assert [sides._lone_sign(x, s, -s * x) for s in (1.0, -1.0, 0.25)] == [0, 0, 0]
        assert sides._lone_sign(x, 1.0, -math.nextafter(x, 1e9)) == -1
        assert sides._lone_sign(x, 1.0, -math.nextafter(x, -1e9)) == 1


@pytest.mark.parametrize("terms", [1, 3, 200])
def test_long_accumulator_at_the_ends_of_its_range(terms):
    limbs = np.zeros(sides.LIMBS, dtype=np.int64)
    for size in (5e-324, 2.0**-1022, 1.7e308):
        for last in (0.0, 5e-324, -5e-324, 1.7e308, -1.7e308):
            x = np.concatenate([np.full(terms, size), np.full(terms, -size)])
            w = np.concatenate([np.full(2 * terms, size)])
            for points in (x, np.abs(x), -np.abs(x)):
                assert sides._exact_sign(points, w, last, limbs) == sign_of(naive.exact(w, points, last))


def test_settling_changes_open_bits_only():
    rng = np.random.default_rng(23)
    X, W, b = rng.integers(-2, 3, (5, 3)) / 2, rng.integers(-2, 3, (70, 3)) / 2, rng.integers(-1, 2, 70) / 2
    truth = naive.sides(X, W, b)
    wrong = BitMatrix.from_bool(~truth)
    opened = rng.random((5, 70)) < 0.5
    open_bits = BitMatrix.from_bool(opened).words.copy()
    words = np.zeros((4, 9), dtype=np.uint64)
    words[1:3, 2:7] = wrong.words
    lone = np.full(134, -1, dtype=np.int64)
    shifted_W, shifted_b = np.vstack([np.zeros((64, 3)), W]), np.concatenate([np.zeros(64), b])
    sides.settle(X, shifted_W, shifted_b, lone, 1, 2, words, open_bits)
    np.testing.assert_array_equal(BitMatrix(words[1:3, 2:7].copy(), 70).to_bool(), np.where(opened, truth, ~truth))
    assert not open_bits.any()
    words[1:3, 2:7] = 0
    assert not words.any()


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200, 1e-307, 1.7e308, 0.0])
def test_rows_are_scaled_to_size_one(size):
    rng = np.random.default_rng(24)
    X = size * rng.uniform(-1, 1, (12, 5))
    scaled, factors, norms = np.empty((12, 5), dtype=np.float32), np.empty(12), np.empty(12)
    sides.scale_rows(X, np.zeros(5), np.arange(5), scaled, factors, norms)
    if size in (1e-307, 1.7e308):
        assert (norms == np.inf).all(), "such factors would leave the range of float64"
        return
    for x, row, factor, norm in zip(X, scaled, factors, norms, strict=True):
        assert math.frexp(factor)[0] == 0.5
        largest = Fraction(factor) * max(abs(Fraction(v)) for v in x.tolist())
        assert largest == 0 if size == 0 else Fraction(1, 2) <= largest < 1
        for v, s in zip(x.tolist(), row.tolist(), strict=True):
            assert abs(Fraction(s) - Fraction(factor) * Fraction(v)) <= Fraction(2) ** -24 * abs(Fraction(s))
        assert Fraction(norm) ** 2 >= sum((Fraction(factor) * Fraction(v)) ** 2 for v in x.tolist())


@pytest.mark.parametrize("block", [1, 7, 8, 9, 256])
@pytest.mark.parametrize("n", [1, 64, 130])
def test_products_of_what_is_not_zero(n, block):
    """Whole numbers, so that sums are exact in any order; rows with 0 to 40 of them."""
    rng = np.random.default_rng(n)
    X = np.array([rng.permutation(np.repeat([1, 0], [k, 50 - k])) for k in range(41)])
    X = (X * rng.integers(1, 9, X.shape)).astype(np.float32)
    weights = rng.integers(-8, 9, (n, 50)).astype(np.float32)
    starts, features = np.empty(len(X) + 1, dtype=np.int64), np.empty(np.count_nonzero(X), dtype=np.int64)
    values, total = np.empty(len(features), dtype=np.float32), np.zeros((len(X), n), dtype=np.float32)
    nonzeros.find_nonzeros(X, starts, features, values)
    assert starts.tolist() == [0, *np.cumsum(np.count_nonzero(X, axis=1))]
    assert features.tolist() == np.nonzero(X)[1].tolist()
    assert values.tolist() == X[np.nonzero(X)].tolist()
    nonzeros.multiply_nonzeros(starts, features, values, np.ascontiguousarray(weights.T), block, total)
    np.testing.assert_array_equal(total, X.astype(np.int64) @ weights.T.astype(np.int64))


@settings(max_examples=200)
@given(close_calls(any_float))
def test_shifted_biases_come_with_a_true_error_bound(call):
    origin, w, b = call
    shifted, errors = np.empty(1), np.empty(1)
    sides.shift_biases(w[None], np.array([b]), origin, shifted, errors)
    if errors[0] < np.inf:
        assert abs(Fraction(float(shifted[0])) - naive.exact(w, origin, b)) <= Fraction(float(errors[0]))


def test_shifted_biases_are_sharp_on_plain_data():
    rng = np.random.default_rng(25)
    W, b, origin = rng.standard_normal((30, 100)).astype(np.float32), rng.standard_normal(30), rng.standard_normal(100)
    shifted, errors = np.empty(30), np.empty(30)
    sides.shift_biases(W, b, origin, shifted, errors)
    assert (errors <= 1e-15 * np.abs(shifted) + 1e-25).all()
