"""Bits of rows, packed: nothing is lost, and nothing appears beyond the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exactfit.network.bits import BitMatrix, last_word, n_words

WIDTHS = [1, 2, 63, 64, 65, 127, 128, 129, 200]

bool_matrices = hnp.arrays(bool, st.tuples(st.integers(0, 5), st.integers(0, 140)))


def random_bits(n_rows, n_bits, seed=0):
    return np.random.default_rng(seed).random((n_rows, n_bits)) < 0.5


@pytest.mark.parametrize(("n_bits", "words"), [(0, 0), (1, 1), (63, 1), (64, 1), (65, 2), (128, 2), (129, 3)])
def test_number_of_words(n_bits, words):
    assert n_words(n_bits) == words


@pytest.mark.parametrize(
    ("n_bits", "word"), [(1, 1), (2, 3), (63, 2**63 - 1), (64, 2**64 - 1), (65, 1), (128, 2**64 - 1)]
)
def test_bits_in_use_in_the_last_word(n_bits, word):
    assert int(last_word(n_bits)) == word


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 62, 63, 64, 127, 128])
def test_bit_i_is_bit_i_mod_64_of_word_i_div_64(bit):
    flags = np.zeros((3, 130), dtype=bool)
    flags[1, bit] = True
    words = BitMatrix.from_bool(flags).words
    assert words.shape == (3, 3)
    assert [int(word) for word in words[:, 1]] == [
        2 ** (bit - 64 * w) if 0 <= bit - 64 * w < 64 else 0 for w in range(3)
    ]
    assert not words[:, [0, 2]].any()


@given(bool_matrices)
def test_packing_and_unpacking_give_the_bits_back(bits):
    packed = BitMatrix.from_bool(bits)
    assert (packed.n_rows, packed.n_bits) == bits.shape
    np.testing.assert_array_equal(packed.to_bool(), bits)


@given(bool_matrices)
def test_complement_turns_every_bit_and_none_beyond(bits):
    turned = BitMatrix.from_bool(bits).complement()
    np.testing.assert_array_equal(turned.to_bool(), ~bits)
    assert int(np.bitwise_count(turned.words).sum()) == int((~bits).sum())


@given(bool_matrices, st.data())
def test_head_keeps_the_first_bits(bits, data):
    n_bits = data.draw(st.integers(0, bits.shape[1]))
    np.testing.assert_array_equal(BitMatrix.from_bool(bits).head(n_bits).to_bool(), bits[:, :n_bits])


def test_head_leaves_the_matrix_as_it_was():
    bits = np.ones((2, 100), dtype=bool)
    packed = BitMatrix.from_bool(bits)
    packed.head(70)
    np.testing.assert_array_equal(packed.to_bool(), bits)


def test_take_gives_rows_in_the_given_order_and_again():
    bits = random_bits(6, 70)
    rows = np.array([5, 0, 0, 3])
    taken = BitMatrix.from_bool(bits).take(rows)
    np.testing.assert_array_equal(taken.to_bool(), bits[rows])
    assert taken.words.flags.c_contiguous
    np.testing.assert_array_equal(BitMatrix.from_bool(bits).take(slice(1, 3)).to_bool(), bits[1:3])


@pytest.mark.parametrize("n_bits", [1, 63, 65])
def test_bits_beyond_the_last_are_refused(n_bits):
    words = np.zeros((n_words(n_bits), 2), dtype=np.uint64)
    words[-1, 1] = np.uint64(1) << np.uint64(n_bits % 64)
    with pytest.raises(ValueError, match=f"bits beyond the first {n_bits} are set"):
        BitMatrix(words, n_bits)


@pytest.mark.parametrize(
    "words",
    [np.zeros((1, 2), dtype=np.int64), np.zeros(2, dtype=np.uint64), np.zeros((2, 2), dtype=np.uint64)],
    ids=["signed", "one axis", "too many words"],
)
def test_words_that_do_not_fit_are_refused(words):
    with pytest.raises(ValueError, match="64 bits do not fit"):
        BitMatrix(words, 64)


def test_is_frozen():
    packed = BitMatrix.from_bool(random_bits(2, 3))
    with pytest.raises(AttributeError):
        packed.n_bits = 4
