"""The options of the paper's constructions: one frozen record, checked when it is made.

Loading this loads nothing but the standard library, so that the command line can list its options at once.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .network.activations import Activation

SAMPLERS = ("gaussian", "bisector", "sparse")
DETECTORS = ("mask", "weighted", "auto")
CONFLICTS = ("raise", "majority")
FORMATS = ("float64", "float32")

# The paper's algorithms as they are published; width, biases and activation are what its experiments vary.
PAPER: dict[str, Any] = {
    "min_width": 0,
    "center": False,
    "hyperplanes": "gaussian",
    "detectors": "mask",
    "target": None,
    "margin": 0.0,
}
# Where the estimator differs from the record below. Measured on data sets that are not those of docs/accuracy.md,
# which says what they reach.
ACCURATE: dict[str, Any] = {
    "min_width": "auto",
    "hyperplanes": "sparse",
    "detectors": "auto",
    "target": "all",
}


@dataclass(frozen=True)
class Options:
    """Options of the paper's constructions, checked when they are written down.

    Each is described at :class:`~exactfit.InterpolatingClassifier`. Defaults differ in four of them: here they are
    ``min_width=0``, ``hyperplanes="gaussian"``, ``detectors="mask"`` and ``target=None``.

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
    >>> from exactfit import Options
    >>> Options(conflicts="drop")
    Traceback (most recent call last):
    ...
    exactfit.exceptions.ParameterError: conflicts must be one of 'raise', 'majority', got 'drop'
    """

    width: Literal["adaptive"] | int = "adaptive"
    _: KW_ONLY
    min_width: Literal["auto"] | int = 0
    max_width: int | None = None
    max_bias: Literal["radius"] | float = "radius"
    center: bool = True
    hyperplanes: str = "gaussian"
    max_features: int | tuple[int, int] = 4
    image_shape: tuple[int, ...] | None = None
    fallback_cuts: bool = True
    activation: str | Activation | Callable[..., Any] = "threshold"
    detectors: str = "mask"
    target: Any = None
    conflicts: str = "raise"
    noise: float = 0.0
    exact_in: Literal["float64", "float32"] | None = None
    margin: float | str = 0.0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def of(cls, model: Any) -> Options:
        """Return the options of an estimator, which has all of them as attributes."""
        return cls(**{option.name: getattr(model, option.name) for option in fields(cls)})

    @cached_property
    def s(self) -> Activation:
        """The activation."""
        from .network.activations import as_activation

        return as_activation(self.activation)

    @property
    def is_adaptive(self) -> bool:
        """Whether the width is found."""
        return isinstance(self.width, str)

    @property
    def has_margin(self) -> bool:
        """Whether points are to keep their answers when they move."""
        number = percentage(self.margin) if isinstance(self.margin, str) else self.margin
        return bool(number)

    @property
    def has_open_bits(self) -> bool:
        """Whether a bit may be open."""
        return self.exact_in is not None or self.has_margin

    @property
    def is_weighted(self) -> bool:
        """Whether detectors count with weights."""
        return self.detectors == "weighted" or (self.detectors == "auto" and self.s.is_threshold)

    @property
    def feature_range(self) -> tuple[int, int]:
        """The smallest and the largest number of features of a sparse hyperplane."""
        pair = self.max_features if isinstance(self.max_features, tuple | list) else (1, self.max_features)
        return int(pair[0]), int(pair[1])


def percentage(text: str) -> float | None:
    """Return the number before a per cent sign; None for any other text."""
    try:
        return float(text[:-1]) if text.endswith("%") else None
    except ValueError:
        return None


def _is_within(value: Any, bound: float) -> bool:
    """Return whether a value is a number from 0 to below the bound."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 <= float(value) < bound


def _check(options: Options) -> None:
    """Refuse values that an option does not take, and options that do not go together."""
    from ._support import parameters as check
    from .exceptions import ParameterError

    shown, is_integer, activation = check.shown, check.is_integer, options.s  # which refuses what is no activation

    def need(holds: bool, name: str, wanted: str) -> None:
        if not holds:
            raise ParameterError(f"{name} must be {wanted}, got {shown(getattr(options, name))}")

    check.check_flag("center", options.center)
    check.check_flag("fallback_cuts", options.fallback_cuts)
    check.check_choice("hyperplanes", options.hyperplanes, SAMPLERS)
    check.check_choice("detectors", options.detectors, DETECTORS)
    check.check_choice("conflicts", options.conflicts, CONFLICTS)
    check.check_integer_or("adaptive", "width", options.width, at_least=1)
    check.check_integer_or("auto", "min_width", options.min_width, at_least=0)
    if options.max_width is not None:
        check.check_integer("max_width", options.max_width, at_least=1)
    check.check_n_jobs(options.n_jobs)
    bias: Any = options.max_bias
    fine = bias == "radius" if isinstance(bias, str) else _is_within(bias, math.inf)
    need(fine, "max_bias", "'radius' or a finite number >= 0")
    shape: Any = options.image_shape
    is_shape = isinstance(shape, tuple | list) and len(shape) in (2, 3)
    fine = shape is None or (is_shape and all(is_integer(side) and side >= 1 for side in shape))
    need(fine, "image_shape", "(height, width) or (height, width, channels), integers >= 1")
    pair: Any = options.max_features if isinstance(options.max_features, tuple | list) else (1, options.max_features)
    fine = len(pair) == 2 and all(is_integer(one) for one in pair) and 1 <= pair[0] <= pair[1]
    need(fine, "max_features", "an integer >= 1 or a pair (low, high) of such, low <= high")
    need(_is_within(options.noise, 0.5), "noise", "a fraction of the points, at least 0 and below 0.5")
    margin: Any = options.margin
    if isinstance(margin, str):
        number = percentage(margin)
        fine = number is not None and 0 <= number <= 100
        need(fine, "margin", "a distance >= 0, or '0%' to '100%' as a text")
    else:
        need(_is_within(margin, math.inf), "margin", "a finite distance >= 0, or a text like '25%'")
    exact_in: Any = options.exact_in
    fine = exact_in is None or (isinstance(exact_in, str) and exact_in in FORMATS)
    need(fine, "exact_in", "None, 'float64' or 'float32'")

    if shape is not None and options.hyperplanes != "sparse":
        raise ParameterError(
            f"image_shape={shown(shape)} has no meaning for hyperplanes={options.hyperplanes!r}: "
            "leave it out, or use hyperplanes='sparse'"
        )
    smallest, largest = options.min_width, options.max_width
    if largest is not None and not isinstance(smallest, str) and largest < smallest:
        raise ParameterError(f"max_width={largest} is below min_width={smallest}")
    if options.is_weighted and not activation.is_threshold:
        raise ParameterError(
            'detectors="weighted" counts bits: use activation="threshold", '
            f'or detectors="mask" with {activation.name!r}'
        )
    if options.has_margin and not activation.is_threshold:
        raise ParameterError(
            f"a margin is proved for bits only: use activation='threshold', or margin=0 with {activation.name!r}"
        )
    if exact_in is not None and activation.is_own:
        raise ParameterError(
            f"exact_in={exact_in!r} needs an activation whose rounding is known: "
            f"use 'threshold' or 'relu', or exact_in=None with {activation.name!r}"
        )
