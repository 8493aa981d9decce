"""The options that all of the paper's constructions share, checked once."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._support.progress import Progress, silent
from ..exceptions import ParameterError
from ..network.activations import Activation, as_activation

LAWS = ("gaussian", "bisector")
SELECTIONS = ("random", "greedy")
FORMATS = ("float64", "float32")


@dataclass(frozen=True)
class Recipe:
    """Options of the paper's constructions.

    Parameters
    ----------
    max_bias : "radius" or float >= 0
        lambda: biases are uniform on [-lambda, lambda]; ``"radius"`` takes the
        largest norm of the data (as drawn upon, that is after centring).
    center : bool
        Draw around the mean of the data instead of the origin (which is the paper's).
    hyperplanes : {"gaussian", "bisector"}
        The paper's law, or perpendicular bisectors of random opposite-label pairs.
    activation : str, Activation or named function
    selection : {"random", "greedy"}
        Anchors in the paper's random order, or always the one that claims most.
    greedy_memory : int
        Bytes that greedy selection may use for coverage rows.
    target : int, "all" or None
        Class index to build detectors for; ``"all"`` for every class. None: with two
        classes the rarer one (the last on a tie), else every class.
    exact_in : {None, "float64", "float32"}
        Be right in every evaluation in this format, not only in exact arithmetic: points, weights
        and biases are rounded to it, and a bit counts only where no order of sums can turn it.
    n_jobs : int or None
        Threads, as in scikit-learn.
    progress : callable
        Called as ``progress(what, done, total)``.

    Examples
    --------
    >>> from exactfit.construct import Recipe
    >>> Recipe(selection="best")
    Traceback (most recent call last):
    ...
    exactfit.exceptions.ParameterError: selection must be one of 'random', 'greedy', got 'best'
    """

    max_bias: Literal["radius"] | float = "radius"
    center: bool = True
    hyperplanes: str = "gaussian"
    activation: str | Activation | Callable[..., Any] = "threshold"
    selection: str = "random"
    greedy_memory: int = 2**28
    target: int | Literal["all"] | None = None
    exact_in: Literal["float64", "float32"] | None = None
    n_jobs: int | None = None
    progress: Progress = silent

    def __post_init__(self) -> None:
        check_choice("hyperplanes", self.hyperplanes, LAWS)
        check_choice("selection", self.selection, SELECTIONS)
        check_whole("greedy_memory", self.greedy_memory, at_least=1)
        if not isinstance(self.center, bool | np.bool_):
            raise ParameterError(f"center must be True or False, got {self.center!r}")
        if self.n_jobs is not None and (not _is_whole(self.n_jobs) or self.n_jobs == 0):
            raise ParameterError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}")
        self._check_max_bias()
        object.__setattr__(self, "activation", as_activation(self.activation))
        self._check_exact_in()

    def _check_max_bias(self) -> None:
        value = self.max_bias
        if isinstance(value, str):
            if value != "radius":
                raise ParameterError(f"max_bias must be 'radius' or a number >= 0, got {value!r}")
        elif not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
            raise ParameterError(f"max_bias must be 'radius' or a finite number >= 0, got {value!r}")

    def _check_exact_in(self) -> None:
        if self.exact_in is None:
            return
        if self.exact_in not in FORMATS:
            raise ParameterError(f"exact_in must be None, 'float64' or 'float32', got {self.exact_in!r}")
        if self.s.is_own:
            raise ParameterError(
                f"exact_in={self.exact_in!r} needs an activation whose rounding is known: "
                f"use 'threshold' or 'relu', or exact_in=None with {self.s.name!r}"
            )

    @property
    def s(self) -> Activation:
        """The activation, as the paper writes it."""
        return as_activation(self.activation)


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse anything but one of the allowed strings."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_whole(name: str, value: object, *, at_least: int) -> int:
    """Refuse anything but a whole number that is large enough."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < at_least:
        raise ParameterError(f"{name} must be a whole number >= {at_least}, got {value!r}")
    return int(value)
