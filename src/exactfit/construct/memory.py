"""Say no before memory runs out, not after."""

from __future__ import annotations

from typing import Any

from .._support.memory import usable_memory
from ..data import PartedPoints
from ..exceptions import TooLargeError
from ..network.bits import n_words

WIDEST_WEIGHTED = 2**23  # hyperplanes: weights of size 1 and a limit then still add up to 2^24 at most


def _memory_for(X: Any) -> int:
    """Bytes that there are for a first layer: what this process may use, or what points elsewhere allow."""
    return X.memory if isinstance(X, PartedPoints) else usable_memory()


def bytes_for(width: int, n_points: int, d: int, open_bits: bool = False, detectors: str = "mask") -> int:
    """Bytes that a first layer takes: weights twice (as stored, as filtered), biases, packed patterns.

    Where bits may be open, weights are filtered in float64, and patterns are what is on and what may be. Weighted
    detectors need all of them once more, each pattern once, and again as rows for those that a fit looks at.
    """
    filtered, matrices = (8, 2) if open_bits else (4, 1)
    if detectors == "weighted":
        matrices = 2 * matrices + 1
    return width * ((4 + filtered) * d + 8) + matrices * 8 * n_words(width) * n_points


def largest_width(X: Any, open_bits: bool = False, detectors: str = "mask") -> int:
    """The width beyond which a first layer would fill half of the machine's memory, or weights would all be zero."""
    per_word = bytes_for(64, X.shape[0], X.shape[1], open_bits, detectors)
    widest = WIDEST_WEIGHTED if detectors == "weighted" else _memory_for(X)
    return min(widest, max(64, 64 * (_memory_for(X) // 2 // per_word)))


def refuse_too_large(width: int, X: Any, open_bits: bool = False, detectors: str = "mask") -> None:
    """Raise :class:`TooLargeError` if a first layer of this width cannot fit."""
    needed, there = bytes_for(width, X.shape[0], X.shape[1], open_bits, detectors), _memory_for(X)
    if detectors == "weighted" and width > WIDEST_WEIGHTED:
        raise TooLargeError(
            f'width={width} leaves no room for detectors="weighted", whose sums stay within 2^24: '
            f'at most {WIDEST_WEIGHTED} hyperplanes, or detectors="mask"'
        )
    if needed > there:
        raise TooLargeError(
            f"width={width} needs {needed:,} bytes for {X.shape[0]} points of {X.shape[1]} features, "
            f"there are {there:,}: choose a smaller width"
        )
