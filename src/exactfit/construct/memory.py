"""Widths of a first layer that options and memory allow."""

from __future__ import annotations

from dataclasses import dataclass

from .._kernels.counting import WORD_BITS
from .._support.threads import usable_memory
from ..data import ChunkedPoints, Matrix
from ..exceptions import TooLargeError
from ..options import Options

WIDEST_WEIGHTED = 2**23  # hyperplanes: weights of size 1 and a limit then still add up to 2^24 at most
# Hyperplanes that min_width="auto" draws at least: twice as many win nothing that is worth the time (docs/accuracy.md).
AUTO_WIDTH = 4096
AUTO_PER_ROW = 16  # hyperplanes to a row at most: very few rows tell few of them apart


@dataclass(frozen=True)
class Memory:
    """The bytes that a first layer takes, and those that are available for it."""

    available: int  # bytes that this process may use, or that points elsewhere allow
    shape: tuple[int, int]  # points and features
    n_here: int  # points whose patterns are all in this memory: of chunks only unique ones are, and counted later
    open_bits: bool = False
    weighted: bool = False
    max_features: int | None = None  # the most features of a sparse hyperplane; None: all look at all features

    @classmethod
    def for_layer(cls, X: Matrix, options: Options | None = None) -> Memory:
        """Return it for these points; without options for exact bits and masks."""
        chunked = isinstance(X, ChunkedPoints)
        available, n_here = (X.memory, 0) if chunked else (usable_memory(), int(X.shape[0]))
        if options is None:
            return cls(available, X.shape, n_here)
        most = options.feature_range[1] if options.hyperplanes == "sparse" else None
        return cls(available, X.shape, n_here, options.has_open_bits, options.is_weighted, most)

    def taken_by(self, width: int) -> int:
        """Return the bytes of a first layer: weights twice (as stored, as filtered), biases, packed patterns."""
        # Where bits may be open, weights are filtered in float64, and patterns are what is on and what may be. A weight
        # of a sparse hyperplane comes with the number of its feature, 8 bytes as stored and 16 as filtered; on average
        # it has half of the most that there may be. Unique patterns are a copy; weighted detectors need them once more,
        # as rows for those that a fit looks at.
        filtered, matrices = (8, 4) if self.open_bits else (4, 2)
        matrices += self.weighted
        words, weights = -(-width // WORD_BITS), (4 + filtered) * self.shape[1]
        if self.max_features is not None:
            weights = (8 + 16) * min(self.max_features, self.shape[1]) // 2
        return width * (weights + 8) + matrices * 8 * words * self.n_here

    def largest_width(self) -> int:
        """Return the width beyond which a layer would fill half of the memory, or weights would all be zero."""
        words = max(1, self.available // 2 // self.taken_by(WORD_BITS))
        return min(WIDEST_WEIGHTED if self.weighted else self.available, WORD_BITS * words)

    def refuse_too_large(self, width: int) -> None:
        """Raise :class:`TooLargeError` if a first layer of this width cannot fit."""
        if self.weighted and width > WIDEST_WEIGHTED:
            raise TooLargeError(
                f'width={width} leaves no room for detectors="weighted", whose sums stay within 2^24: '
                f'at most {WIDEST_WEIGHTED} hyperplanes, or detectors="mask"'
            )
        needed = self.taken_by(width)
        if needed > self.available:
            raise TooLargeError(
                f"width={width} needs {needed:,} bytes for {self.shape[0]} points of {self.shape[1]} features, "
                f"there are {self.available:,}: choose a smaller width"
            )


@dataclass(frozen=True)
class Widths:
    """The smallest and the largest width that a first layer may end at, and whether the largest was asked for."""

    smallest: int
    largest: int
    asked: bool

    @classmethod
    def of(cls, X: Matrix, options: Options) -> Widths:
        """Return the widths that options and memory allow; ``min_width="auto"`` becomes a number here."""
        asked, memory = options.max_width is not None, Memory.for_layer(X, options)
        if not options.is_adaptive:
            memory.refuse_too_large(int(options.width))
            return cls(int(options.width), int(options.width), True)
        affordable = memory.largest_width()
        largest = int(options.max_width) if options.max_width is not None else affordable
        auto = min(AUTO_WIDTH, AUTO_PER_ROW * X.shape[0], largest, affordable)
        smallest = auto if isinstance(options.min_width, str) else int(options.min_width)
        if smallest:
            memory.refuse_too_large(smallest)
        return cls(smallest, largest if asked else max(smallest, largest), asked)
