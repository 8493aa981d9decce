"""Counts of masked bits, sums in one fixed order, best slack, and weighted detectors, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import ALL, COLUMNS, WIDTHS, count_matrix, masked_values, masks_of, random_bits
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels import counting
from exactfit._kernels.radii import DetectorBatch
from exactfit.certificate.paper_form import FirstLayer, _CountProof
from exactfit.network.bits import BitMatrix, n_words


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 9, 40])
def test_affine_adds_features_in_order_and_then_the_bias(d, dtype):
    rng = np.random.default_rng(d)
    X, W, b = rng.standard_normal((21, d)), rng.standard_normal((13, d)).astype(dtype), rng.standard_normal(13)
    W[3] = 0.0
    W[4, : d // 2] = 0.0
    out = np.empty((13, 21))
    counting.affine(np.ascontiguousarray(X.T), W, b, out)
    assert out.tolist() == [[naive.dot(W[i], x) + b[i] for x in X] for i in range(13)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_weights_give_the_sums_of_dense_ones(dtype):
    rng = np.random.default_rng(17)
    X, b = rng.standard_normal((21, 40)), rng.standard_normal(13)
    W = sp.random_array((13, 40), density=0.3, random_state=rng, dtype=dtype, format="csr")
    W.data[:5] = 0.0  # stored, and yet zero
    out = np.empty((13, 21))
    counting.sparse_affine(np.ascontiguousarray(X.T), W.data, W.indices, W.indptr, b, out)
    assert out.tolist() == [[naive.dot(w, x) + b[i] for x in X] for i, w in enumerate(W.toarray())]


@pytest.mark.parametrize("n_bits", [1, 64, 65, 129])
def test_the_sum_under_a_mask_is_in_index_order(n_bits):
    columns, _, masks = masked_values(21, n_bits, 30)
    sums = np.full(30, np.nan)
    for mask, packed in zip(masks, masks_of(masks), strict=True):
        counting.sum_masked(columns, packed, sums)
        assert sums.tolist() == [naive.ordered_sum(columns[mask, c]) for c in range(30)]


@pytest.mark.parametrize("n_bits", [1, 64, 65, 129])
@pytest.mark.parametrize("n_columns", [1, 513])
def test_best_slack_of_counts(n_bits, n_columns):
    points, masks = random_bits(18, n_columns, n_bits), random_bits(19, 6, n_bits)
    limits, classes = np.arange(1, 7), np.array([0, 2, 0, 2, 2, 0])
    out = np.full((3, n_columns), -100.0)
    words = BitMatrix.from_bool(points).words
    for start, stop in [(0, n_columns // 2), (n_columns // 2, n_columns)]:
        counting.best_slack_counts(words, start, stop, masks_of(masks), limits, limits.astype(float), classes, out)
    slack = (limits[:, None] - 0.5 - count_matrix(masks, points)) / limits[:, None]
    np.testing.assert_array_equal(out[0], slack[classes == 0].max(axis=0).clip(-100))
    np.testing.assert_array_equal(out[2], slack[classes == 2].max(axis=0).clip(-100))
    assert (out[1] == -100).all()


EXTREMES = np.array([-128, -127, -1, 0, 1, 126, 127], dtype=np.int8)


def random_weights(seed, n_bits):
    """Weights of all sizes, the ends of the range among them."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(-127, 128, n_bits).astype(np.int8)
    chosen = rng.random(n_bits) < 0.3
    weights[chosen] = rng.choice(EXTREMES, int(chosen.sum()))
    return weights


def planes_of(weights):
    planes = np.empty((counting.PLANES, n_words(len(weights))), dtype=np.uint64)
    counting.weight_planes(weights, planes)
    return planes


def naive_counts(weights, bits):
    return [sum(int(v) for v, bit in zip(weights, row, strict=True) if bit) for row in bits]


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_weights_come_back_from_their_planes(n_bits):
    weights = random_weights(n_bits, n_bits)
    bits = np.array([BitMatrix(plane[:, None], n_bits).to_bool()[0] for plane in planes_of(weights)]).astype(int)
    worth = np.array([1, 2, 4, 8, 16, 32, 64, -128])
    assert (worth @ bits).tolist() == weights.tolist()


@pytest.mark.parametrize("n_bits", WIDTHS)
def test_weigh_is_the_product_with_the_bits(n_bits):
    bits, weights = random_bits(n_bits, 7, n_bits), random_weights(n_bits + 1, n_bits)
    out = np.empty(7, dtype=np.int32)
    counting.weigh(BitMatrix.from_bool(bits).words, 0, 7, planes_of(weights), out)
    assert out.tolist() == naive_counts(weights, bits)


@pytest.mark.parametrize("n_columns", COLUMNS)
def test_weigh_pieces_of_columns(n_columns):
    bits, weights = random_bits(3, n_columns, 70), random_weights(4, 70)
    words, expected = BitMatrix.from_bool(bits).words, bits.astype(np.int64) @ weights.astype(np.int64)
    for start, stop in [(0, n_columns), (n_columns // 3, n_columns), (n_columns, n_columns)]:
        out = np.empty(stop - start, dtype=np.int32)
        counting.weigh(words, start, stop, planes_of(weights), out)
        assert out.tolist() == expected[start:stop].tolist()


@pytest.mark.parametrize("n_bits", [1, 63, 64, 65, 130])
def test_sums_over_set_bits(n_bits):
    bits = random_bits(5, 4, n_bits)
    sums = np.random.default_rng(6).integers(-(2**55), 2**55, 64 * n_words(n_bits))
    for row, packed in zip(bits, masks_of(bits), strict=True):
        expected = sum(int(s) for s, bit in zip(sums, row, strict=False) if bit)
        assert int(counting.sum_set(sums, packed)) == expected
        more = sums.copy()
        counting.add_to_set(more, packed, -17)
        assert more.tolist() == [
            int(s) - 17 * int(j < n_bits and row[min(j, n_bits - 1)]) for j, s in enumerate(sums.tolist())
        ]


@pytest.mark.parametrize("n_columns", COLUMNS)
@pytest.mark.parametrize("n_bits", [1, 64, 129])
def test_hamming_distances(n_bits, n_columns):
    bits = random_bits(7, n_columns, n_bits)
    words = BitMatrix.from_bool(bits).words
    start, seed = n_columns // 3, n_columns // 2
    out = np.full(n_columns - start, -1)
    counting.hamming(words, start, n_columns, np.ascontiguousarray(words[:, seed]), out)
    assert out.tolist() == (bits[start:] != bits[seed]).sum(axis=1).tolist()


def test_equal_columns_have_equal_hashes_and_others_do_not():
    bits = random_bits(9, 300, 130)
    twice = np.concatenate([bits, bits])
    out = np.zeros(600, dtype=np.uint64)
    for line in BitMatrix.from_bool(twice).words:
        counting.hash_line(line, out)
    assert out[:300].tolist() == out[300:].tolist()
    assert len(set(out.tolist())) == len(np.unique(bits, axis=0))


def naive_descend(bits, caps, shares, visit, goal, epochs, tolerance):
    """Dual coordinate descent, f worked out anew at every step."""
    n, shares, visit = bits.shape[1], list(shares), list(visit)
    agree = [[int((a == b).sum()) for b in bits] for a in bits]
    largest = 0
    for _ in range(epochs):
        largest, kept = 0, []
        for i in visit:
            f = sum(share * a for share, a in zip(shares, agree[i], strict=True))
            step = (goal - f) // n if caps[i] > 0 else -((goal + f) // n)
            low, high = min(caps[i], 0), max(caps[i], 0)
            new = min(max(shares[i] + step, low), high)
            if new == shares[i] and abs(step) > 2 * tolerance:
                continue
            kept.append(i)
            largest, shares[i] = max(largest, abs(new - shares[i])), new
        visit = kept
        if largest <= tolerance:
            break
    return shares, largest


@pytest.mark.parametrize("seed", range(12))
def test_descent_step_by_step(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.choice([1, 5, 64, 100])), int(rng.integers(2, 14))
    bits = rng.random((m, n)) < 0.5
    caps = np.where(rng.random(m) < 0.5, 2 * 2048, -(2**14) * 2048)
    shares, sums, totals = np.zeros(m, dtype=np.int64), np.zeros(64 * n_words(n), dtype=np.int64), np.zeros(2, np.int64)
    visit, epochs, goal = rng.permutation(m), int(rng.choice([1, 3, 20])), 2048 * n
    expected, largest = naive_descend(bits, caps.tolist(), shares.tolist(), visit.tolist(), goal, epochs, 20)
    ones = bits.sum(axis=1)
    step = counting.descend(masks_of(bits), ones, caps, shares, visit.copy(), sums, totals, (n, goal, epochs, 20))
    assert (shares.tolist(), int(step)) == (expected, largest)
    assert sums[:n].tolist() == (shares @ bits).tolist()
    assert totals.tolist() == [shares.sum(), (shares * ones).sum()]


@pytest.mark.parametrize("n_columns", [1, 513])
def test_best_slack_of_weights(n_columns):
    bits, rows = random_bits(10, n_columns, 129), np.array([random_weights(k, 129) for k in range(5)])
    limits, owners = np.array([-300, 0, 12, 5000, -8]), np.array([0, 2, 0, 2, 2])
    spans = limits - np.minimum(rows, 0).sum(axis=1, dtype=np.int64).astype(float)
    planes = np.array([planes_of(row) for row in rows])
    out = np.full((3, n_columns), -100.0)
    words = BitMatrix.from_bool(bits).words
    for piece in [(0, n_columns // 2), (n_columns // 2, n_columns)]:
        counting.best_slack_weights(words, *piece, planes, limits, spans, owners, out)
    counts = rows.astype(np.int64) @ bits.T.astype(np.int64)
    slack = (limits[:, None] - 0.5 - counts) / spans[:, None]
    for k in (0, 2):
        assert out[k].tolist() == slack[owners == k].max(axis=0).clip(-100).tolist()
    assert (out[1] == -100).all()


@pytest.mark.parametrize("n_bits", [1, 63, 64, 65, 130])
def test_the_proof_counts_open_bits_for_the_worse(n_bits):
    on, weights = random_bits(11, 6, n_bits, 0.4), np.array([random_weights(k, n_bits) for k in range(4)])
    maybe = on | (np.random.default_rng(12).random(on.shape) < 0.3)
    low, high = masks_of(on), masks_of(maybe)
    limits, owners, own = np.array([5, -7, 0, 100]), np.array([0, 1, 0, 1]), np.array([0, 1, 2, 0, 1, 2])
    batch, n = DetectorBatch(weights, limits, owners), weights.shape[1]
    proof = _CountProof(FirstLayer(np.ones((n, 1)), np.zeros(n)), own, own == -2, batch, None)
    most, least = proof._counts(low, high), proof._counts(high, low)
    for i in range(6):
        for m, v in enumerate(weights):
            free = [int(w) for w, a, b in zip(v, on[i], maybe[i], strict=True) if b and not a]
            base = naive_counts(v, on[i : i + 1])[0]
            assert most[i, m] == base + sum(w for w in free if w > 0)
            assert least[i, m] == base + sum(w for w in free if w < 0)
    inside, outside = proof._best(limits - most, limits - least, own, own == -2)
    for i in range(6):
        mine = [limits[m] - most[i, m] for m in range(4) if owners[m] == own[i]]
        other = [limits[m] - least[i, m] for m in range(4) if owners[m] != own[i]]
        assert not mine or inside[i] == max(mine)
        assert outside[i] == max(other)
