"""Activations, zero up to zero and positive beyond; and decoders, from outputs to classes.

The paper allows every s with s(t) = 0 for t <= 0 and s(t) > 0 for t > 0.
:data:`THRESHOLD` and :data:`RELU` are the standard two; bring your own as
``Activation(name, function)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import shown
from ..exceptions import ParameterError
from .weights import object_array

Floats = NDArray[np.float64]

# Where a user's own function is tried: zero up to zero, positive beyond, for sizes that data have.
_NEGATIVE_PROBES = np.array([0.0, -0.0, -1e-300, -1e-8, -0.5, -1.0, -3.0, -1e3, -1e8, -1e300])
_POSITIVE_PROBES = np.array([1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 7.5, 1e2, 1e3])


def _step(t: Floats) -> Floats:
    return (t > 0).astype(np.float64)


def _ramp(t: Floats) -> Floats:
    return np.maximum(t, 0.0)


@dataclass(frozen=True)
class Activation:
    """A named activation function.

    Parameters
    ----------
    name : str
        Under which name a saved model refers to it.
    function : callable
        Elementwise function from a float64 array to one of the same shape;
        zero for t <= 0 and positive for t > 0 of ordinary size. It must give
        the same result for an element whatever else is in the array.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import Activation
    >>> squared = Activation("squared_relu", lambda t: np.maximum(t, 0.0) ** 2)
    >>> squared(np.array([-1.0, 3.0]))
    array([0., 9.])
    >>> Activation("identity", lambda t: t)
    Traceback (most recent call last):
    ...
    exactfit.exceptions.ParameterError: activation 'identity' must be zero for t <= 0, but is -1e-300 at t = -1e-300
    """

    name: str
    function: Callable[[Floats], Any]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError(f"an activation's name must be a non-empty string, got {shown(self.name)}")
        if not callable(self.function):
            raise ParameterError(f"activation {self.name!r} needs a callable, got {shown(self.function)}")
        low = self._probe(_NEGATIVE_PROBES)
        high = self._probe(_POSITIVE_PROBES)
        wrong = np.flatnonzero(low != 0)
        if wrong.size:
            self._refuse("zero for t <= 0", _NEGATIVE_PROBES[wrong[0]], low[wrong[0]])
        wrong = np.flatnonzero(~((high > 0) & np.isfinite(high)))
        if wrong.size:
            self._refuse("positive and finite for t > 0", _POSITIVE_PROBES[wrong[0]], high[wrong[0]])

    def _probe(self, probes: Floats) -> Floats:
        try:
            values = np.asarray(self.function(probes.copy()), dtype=np.float64)
        except Exception as error:
            raise ParameterError(f"activation {self.name!r} failed on a float64 array: {error}") from error
        if values.shape != probes.shape:
            raise ParameterError(
                f"activation {self.name!r} must keep the shape of its input: gave {values.shape} for {probes.shape}"
            )
        return values

    def _refuse(self, rule: str, probe: float, value: float) -> None:
        raise ParameterError(f"activation {self.name!r} must be {rule}, but is {value} at t = {probe}")

    def __call__(self, t: Floats) -> Floats:
        """Apply the function to every element."""
        return np.asarray(self.function(t), dtype=np.float64)

    @cached_property
    def is_threshold(self) -> bool:
        """Whether this is the built-in threshold, whose values are single bits."""
        return self.function is _step

    @cached_property
    def is_relu(self) -> bool:
        """Whether this is the built-in ReLU, whose rounding errors are bounded."""
        return self.function is _ramp

    @cached_property
    def is_own(self) -> bool:
        """Whether a user brought it along."""
        return not (self.is_threshold or self.is_relu)


THRESHOLD = Activation("threshold", _step)
RELU = Activation("relu", _ramp)
_STANDARD = {activation.name: activation for activation in (THRESHOLD, RELU)}


def as_activation(given: str | Activation | Callable[[Floats], Any]) -> Activation:
    """Turn a name, an :class:`~exactfit.Activation` or a named function into an :class:`~exactfit.Activation`.

    Examples
    --------
    >>> from exactfit.network.activations import as_activation
    >>> as_activation("relu").name
    'relu'
    """
    if isinstance(given, Activation):
        return given
    if isinstance(given, str):
        if given not in _STANDARD:
            raise ParameterError(
                f"activation must be one of {', '.join(map(repr, _STANDARD))}, "
                f"an Activation or a named function, got {shown(given)}"
            )
        return _STANDARD[given]
    name = getattr(given, "__name__", None)
    if not callable(given) or name is None or name == "<lambda>":
        raise ParameterError(
            f"activation {shown(given)} has no name to be saved under: pass exactfit.Activation(name, function)"
        )
    if name in _STANDARD:
        raise ParameterError(f"the name {name!r} belongs to a built-in activation: rename the function")
    return Activation(name, given)


DecoderKind = Literal["sign", "one_hot", "nearest", "argmax"]


@dataclass(frozen=True)
class Decoder:
    """Rule by which outputs become a class index.

    Parameters
    ----------
    kind : {"sign", "one_hot", "nearest", "argmax"}
        - ``"sign"``: one output; negative means ``classes[0]``, else ``classes[1]``
          (sign(0) = +1, as in the paper).
        - ``"one_hot"``: one output per class, positive where the class claims the
          point; the class that claims it alone, or -1 if none or several do.
        - ``"nearest"``: one output; the class whose entry of ``levels`` is nearest.
        - ``"argmax"``: one output per class; the class of the largest, the first of equals.
    classes : tuple of int
        Class indices that the outputs stand for.
    levels : tuple of float
        For ``"nearest"`` only.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import Decoder
    >>> Decoder("sign", (1, 0))(np.array([[-2.0], [0.0]]))
    array([1, 0])
    >>> Decoder("one_hot", (0, 1))(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([ 0, -1])
    """

    kind: DecoderKind
    classes: tuple[int, ...]
    levels: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"<Decoder: {self.kind!r} for {len(self.classes):,} classes>"

    def __call__(self, outputs: NDArray[Any]) -> NDArray[np.intp]:
        """Return the class index of every row of outputs, -1 where it is undecided."""
        classes = np.asarray(self.classes, dtype=np.intp)
        if self.kind == "sign":
            return np.asarray(classes[(outputs[:, 0] >= 0).astype(np.intp)])
        if self.kind == "one_hot":
            claims = np.asarray(outputs > 0, dtype=bool)
            alone = claims.sum(axis=1) == 1
            return np.where(alone, classes[claims.argmax(axis=1)], -1)
        if self.kind == "argmax":
            return np.asarray(classes[np.argmax(outputs, axis=1)])
        levels = np.asarray(self.levels)
        if outputs.dtype == object:  # no rounding after layers that never round
            levels = object_array([Fraction(level) for level in self.levels], levels.shape)
        gaps = np.abs(outputs[:, :1] - levels[None, :])
        return np.asarray(classes[np.argmin(gaps, axis=1)])
