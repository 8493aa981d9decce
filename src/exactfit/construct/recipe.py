"""Recipes: options of the paper's constructions, checked, and how wide a first layer they and memory allow."""

from __future__ import annotations

import numbers
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any

import numpy as np

from .._kernels.counting import WORD_BITS
from .._support.parameters import check_choice, check_flag, check_n_jobs, check_whole, check_whole_or, is_whole, shown
from .._support.threads import usable_memory
from ..data import Matrix, PartedPoints
from ..exceptions import ParameterError, TooLargeError
from ..network.activations import as_activation
from ..options import CONFLICTS, DETECTORS, FORMATS, LAWS, Options

WIDEST_WEIGHTED = 2**23  # hyperplanes: weights of size 1 and a limit then still add up to 2^24 at most
# Hyperplanes that min_width="auto" draws at least: twice as many win nothing that is worth the time (docs/accuracy.md).
AUTO_WIDTH = 4096
AUTO_PER_ROW = 16  # hyperplanes to a row at most: very few rows tell few of them apart


@dataclass(unsafe_hash=True)
class Recipe(Options):
    """Options of the paper's constructions, checked when they are written down.

    Each is described at :class:`~exactfit.InterpolatingClassifier`.

    Attributes
    ----------
    s : Activation
        The activation, as the paper writes it.
    is_adaptive : bool
        Whether the width is found, not given.
    has_margin : bool
        Whether points are to keep their answers when they move.
    is_weighted : bool
        Whether detectors count with weights: ``detectors="auto"`` means so where they count bits.
    has_open_bits : bool
        Whether a bit may be open: surely neither on nor off.

    Examples
    --------
    >>> from exactfit.construct import Recipe
    >>> Recipe(conflicts="drop")
    Traceback (most recent call last):
    ...
    exactfit.exceptions.ParameterError: conflicts must be one of 'raise', 'majority', got 'drop'
    """

    def __post_init__(self) -> None:
        self.s = as_activation(self.activation)
        _check_kinds(self)
        _check_max_bias(self.max_bias)
        _check_image_shape(self)
        self.feature_range = feature_range(self.max_features)
        _check_noise(self.noise)
        self.is_adaptive, self.has_margin = isinstance(self.width, str), _distance(self.margin) > 0
        self.has_open_bits = self.exact_in is not None or self.has_margin
        self.is_weighted = self.detectors == "weighted" or (self.detectors == "auto" and self.s.is_threshold)
        _check_agreement(self)
        self._is_written = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Options that were checked stay as they are."""
        if getattr(self, "_is_written", False):
            raise FrozenInstanceError(f"cannot change {name!r} of a recipe: use dataclasses.replace")
        super().__setattr__(name, value)


def recipe_of(options: Options) -> Recipe:
    """Options as a recipe: that checks them, unless they are one already."""
    if isinstance(options, Recipe):
        return options
    return Recipe(**{option.name: getattr(options, option.name) for option in fields(Options)})


def _check_kinds(options: Options) -> None:
    """What can be said of an option without looking at others."""
    check_flag("center", options.center)
    check_flag("rescue", options.rescue)
    check_choice("hyperplanes", options.hyperplanes, LAWS)
    check_choice("detectors", options.detectors, DETECTORS)
    check_choice("conflicts", options.conflicts, CONFLICTS)
    check_whole_or("adaptive", "width", options.width, at_least=1)
    check_whole_or("auto", "min_width", options.min_width, at_least=0)
    if options.max_width is not None:
        check_whole("max_width", options.max_width, at_least=1)
    check_n_jobs(options.n_jobs)


def _check_image_shape(options: Options) -> None:
    shape = options.image_shape
    whole = shape is None or (
        isinstance(shape, tuple | list) and len(shape) in (2, 3) and all(is_whole(side) and side >= 1 for side in shape)
    )
    if not whole:
        raise ParameterError(
            f"image_shape must be (height, width) or (height, width, channels), whole numbers >= 1, got {shown(shape)}"
        )
    if shape is not None and options.hyperplanes != "sparse":
        raise ParameterError(
            f"image_shape={shown(shape)} has no meaning for hyperplanes={options.hyperplanes!r}: leave it out, "
            "or use hyperplanes='sparse'"
        )


def feature_range(max_features: Any) -> tuple[int, int]:
    """Return the smallest and the largest number of features of a sparse hyperplane."""
    pair = max_features if isinstance(max_features, tuple | list) else (1, max_features)
    if len(pair) != 2 or not all(is_whole(one) for one in pair) or not 1 <= pair[0] <= pair[1]:
        raise ParameterError(
            f"max_features must be a whole number >= 1 or a pair (low, high) of such, low <= high, "
            f"got {shown(max_features)}"
        )
    return int(pair[0]), int(pair[1])


def _check_max_bias(value: Any) -> None:
    if isinstance(value, str):
        if value != "radius":
            raise ParameterError(f"max_bias must be 'radius' or a number >= 0, got {shown(value)}")
    elif not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
        raise ParameterError(f"max_bias must be 'radius' or a finite number >= 0, got {shown(value)}")


def _check_noise(noise: Any) -> None:
    if not isinstance(noise, numbers.Real) or isinstance(noise, bool) or not 0 <= float(noise) < 0.5:
        raise ParameterError(f"noise must be a fraction of the points, at least 0 and below 0.5, got {shown(noise)}")


def percentage(text: str) -> float | None:
    """The number before a per cent sign; None for any other text."""
    try:
        return float(text[:-1]) if text.endswith("%") else None
    except ValueError:
        return None


def _distance(margin: Any) -> float:
    """The number in a margin, be it a distance or a share; refuses what is neither."""
    if isinstance(margin, str):
        share = percentage(margin)
        if share is None or not 0 <= share <= 100:
            raise ParameterError(f"margin must be a distance >= 0, or '0%' to '100%' as a text, got {shown(margin)}")
        return share
    if not isinstance(margin, numbers.Real) or isinstance(margin, bool) or not 0 <= float(margin) < np.inf:
        raise ParameterError(f"margin must be a finite distance >= 0, or a text like '25%', got {shown(margin)}")
    return float(margin)


def _check_agreement(recipe: Recipe) -> None:
    """Options that do not go together."""
    smallest, largest = recipe.min_width, recipe.max_width
    if largest is not None and not isinstance(smallest, str) and largest < smallest:
        raise ParameterError(f"max_width={largest} is below min_width={smallest}")
    activation, exact_in = recipe.s, recipe.exact_in
    if recipe.is_weighted and not activation.is_threshold:
        raise ParameterError(
            'detectors="weighted" counts bits: use activation="threshold", '
            f'or detectors="mask" with {activation.name!r}'
        )
    if recipe.has_margin and not activation.is_threshold:
        raise ParameterError(
            f"a margin is proved for bits only: use activation='threshold', or margin=0 with {activation.name!r}"
        )
    if exact_in is None:
        return
    if not isinstance(exact_in, str) or exact_in not in FORMATS:
        raise ParameterError(f"exact_in must be None, 'float64' or 'float32', got {shown(exact_in)}")
    if activation.is_own:
        raise ParameterError(
            f"exact_in={exact_in!r} needs an activation whose rounding is known: "
            f"use 'threshold' or 'relu', or exact_in=None with {activation.name!r}"
        )


@dataclass(frozen=True)
class Memory:
    """What a first layer takes, and what there is for it.

    Attributes
    ----------
    there : int
        Bytes that this process may use, or that points elsewhere allow.
    shape : tuple of int
        Points and features.
    n_here : int
        Points whose patterns are all in this memory: of points in parts only distinct ones are, and counted later.
    open_bits, weighted : bool
        Whether bits may be open, and detectors have weights.
    max_features : int or None
        The most features of a sparse hyperplane; None: all hyperplanes look at all features.
    """

    there: int
    shape: tuple[int, int]
    n_here: int
    open_bits: bool = False
    weighted: bool = False
    max_features: int | None = None

    @classmethod
    def for_layer(cls, X: Matrix, options: Recipe | None = None) -> Memory:
        """For a first layer over these points; without options, of bits that are never open, for masks."""
        parted = isinstance(X, PartedPoints)
        there, n_here = (X.memory, 0) if parted else (usable_memory(), int(X.shape[0]))
        if options is None:
            return cls(there, X.shape, n_here)
        most = options.feature_range[1] if options.hyperplanes == "sparse" else None
        return cls(there, X.shape, n_here, options.has_open_bits, options.is_weighted, most)

    def taken_by(self, width: int) -> int:
        """Bytes that a first layer takes: weights twice (as stored, as filtered), biases, packed patterns.

        Where bits may be open, weights are filtered in float64, and patterns are what is on and what may be. A weight
        of a sparse hyperplane comes with the number of its feature, 8 bytes as stored and 16 as filtered; on average
        it has half of the most that there may be. Weighted detectors need all patterns once more, each pattern once,
        and again as rows for those that a fit looks at.
        """
        filtered, matrices = (8, 2) if self.open_bits else (4, 1)
        if self.weighted:
            matrices = 2 * matrices + 1
        words, weights = -(-width // WORD_BITS), (4 + filtered) * self.shape[1]
        if self.max_features is not None:
            weights = (8 + 16) * min(self.max_features, self.shape[1]) // 2
        return width * (weights + 8) + matrices * 8 * words * self.n_here

    def largest_width(self) -> int:
        """The width beyond which a first layer would fill half of the memory, or weights would all be zero."""
        words = max(1, self.there // 2 // self.taken_by(WORD_BITS))
        return min(WIDEST_WEIGHTED if self.weighted else self.there, WORD_BITS * words)

    def refuse_too_large(self, width: int) -> None:
        """Raise :class:`TooLargeError` if a first layer of this width cannot fit."""
        if self.weighted and width > WIDEST_WEIGHTED:
            raise TooLargeError(
                f'width={width} leaves no room for detectors="weighted", whose sums stay within 2^24: '
                f'at most {WIDEST_WEIGHTED} hyperplanes, or detectors="mask"'
            )
        needed = self.taken_by(width)
        if needed > self.there:
            raise TooLargeError(
                f"width={width} needs {needed:,} bytes for {self.shape[0]} points of {self.shape[1]} features, "
                f"there are {self.there:,}: choose a smaller width"
            )


@dataclass(frozen=True)
class Widths:
    """Between what widths a first layer may end, and whether the largest one was asked for."""

    smallest: int
    largest: int
    asked: bool

    @classmethod
    def of(cls, X: Matrix, options: Recipe) -> Widths:
        """The widths that options and memory allow."""
        asked, memory = options.max_width is not None, Memory.for_layer(X, options)
        if not options.is_adaptive:
            memory.refuse_too_large(int(options.width))
            return cls(int(options.width), int(options.width), True)
        room = memory.largest_width()
        largest = int(options.max_width) if options.max_width is not None else room
        auto = min(AUTO_WIDTH, AUTO_PER_ROW * X.shape[0], largest, room)
        smallest = auto if isinstance(options.min_width, str) else int(options.min_width)
        if smallest:
            memory.refuse_too_large(smallest)
        return cls(smallest, largest if asked else max(smallest, largest), asked)
