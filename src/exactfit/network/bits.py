"""Bits of many rows, packed 64 to a word. Only this file knows the bit order.

Bit ``i`` of a row is bit ``i % 64`` of its word ``i // 64``. Words are stored
word-major, ``words[w, row]``: the cover kernels run along rows, and a further
block of 64 hyperplanes is one more line of memory. Bits beyond ``n_bits`` are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import WORD_BITS

Words = NDArray[np.uint64]
Map = Callable[[Callable[[int], None], range], Iterable[Any]]


def n_words(n_bits: int) -> int:
    """Return the number of words that hold ``n_bits`` bits."""
    return -(-n_bits // WORD_BITS)


def last_word(n_bits: int) -> np.uint64:
    """Return the bits in use in the last word."""
    return np.uint64(2**64 - 1) >> np.uint64(-n_bits % WORD_BITS)


@dataclass(frozen=True, eq=False)
class BitMatrix:
    """A matrix of bits, one row per point (or mask), packed.

    Parameters
    ----------
    words : ndarray of uint64, shape (ceil(n_bits / 64), n_rows)
    n_bits : int
        Bits per row.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.bits import BitMatrix
    >>> bits = BitMatrix.from_bool(np.array([[True, False, True]]))
    >>> bits.words
    array([[5]], dtype=uint64)
    >>> bits.complement().to_bool()
    array([[False,  True, False]])
    """

    words: Words
    n_bits: int

    def __post_init__(self) -> None:
        words = self.words
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[0] != n_words(self.n_bits):
            raise ValueError(f"{self.n_bits} bits do not fit words of {words.dtype} and shape {words.shape}")
        if self.n_bits % WORD_BITS and bool(np.any(words[-1] & ~last_word(self.n_bits))):
            raise ValueError(f"bits beyond the first {self.n_bits} are set")

    def __repr__(self) -> str:
        return f"<BitMatrix: {self.n_rows:,} rows of {self.n_bits:,} bits>"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.words.shape[1])

    @classmethod
    def from_bool(cls, bits: NDArray[np.bool_]) -> BitMatrix:
        """Pack a boolean array of shape (n_rows, n_bits)."""
        rows, width = bits.shape
        # packbits makes bytes; little-endian bytes, eight at a time, are words with bit 0 first.
        padded = np.zeros((rows, n_words(width) * WORD_BITS), dtype=bool)
        padded[:, :width] = bits
        packed = np.packbits(padded, axis=1, bitorder="little")
        return cls(np.ascontiguousarray(packed.view("<u8").astype(np.uint64).T), width)

    @classmethod
    def of_words(
        cls, words_by_block: Sequence[Words], n_bits: int, rows: NDArray[np.intp] | None = None, over: Map = map
    ) -> BitMatrix:
        """Join arrays with one word of every row, for all rows or some; ``over`` maps, perhaps on threads."""
        # Written once: of many rows another copy takes as long as a part of a fit.
        count = n_words(n_bits)
        words = np.empty((count, len(words_by_block[0]) if rows is None else len(rows)), dtype=np.uint64)

        def fill(w: int) -> None:
            if rows is None:
                words[w] = words_by_block[w]
            else:
                np.take(words_by_block[w], rows, out=words[w], mode="clip")  # any other mode would copy once more

        list(over(fill, range(count)))
        words[-1:] &= last_word(n_bits)
        return cls(words, n_bits)

    def to_bool(self) -> NDArray[np.bool_]:
        """Unpack to a boolean array of shape (n_rows, n_bits)."""
        packed = np.ascontiguousarray(self.words.T).astype("<u8").view(np.uint8)
        return np.unpackbits(packed, axis=1, bitorder="little", count=self.n_bits).astype(bool)

    def take(self, rows: NDArray[np.intp] | slice) -> BitMatrix:
        """Return the given rows, in the given order."""
        return BitMatrix(np.ascontiguousarray(self.words[:, rows]), self.n_bits)

    def head(self, n_bits: int) -> BitMatrix:
        """Return the first ``n_bits`` bits of every row."""
        words = self.words[: n_words(n_bits)].copy()
        if n_bits % WORD_BITS:
            words[-1] &= last_word(n_bits)
        return BitMatrix(words, n_bits)

    def complement(self) -> BitMatrix:
        """Return the bits turned."""
        words = ~self.words
        if self.n_bits % WORD_BITS:
            words[-1] &= last_word(self.n_bits)
        return BitMatrix(words, self.n_bits)
