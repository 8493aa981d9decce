"""Hyperplanes and an order of candidates that are given instead of drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Labelled, Rows
from ..exceptions import ParameterError
from .hyperplanes import Hyperplanes
from .recipe import Recipe


@dataclass(frozen=True, eq=False)
class Given:
    """What is not left to chance; None where it is.

    Attributes
    ----------
    planes : Hyperplanes or None
    order : ndarray of int64 or None
        All rows, in the order in which they become candidates within their class.
    """

    planes: Hyperplanes | None = None
    order: Rows | None = None

    @classmethod
    def of(cls, hyperplanes: Any, order: Any) -> Given:
        """Check what a user gives; whether it fits the data shows :meth:`refuse_misfits`."""
        planes = None if hyperplanes is None else _as_hyperplanes(hyperplanes)
        return cls(planes, None if order is None else _as_order(order))

    def refuse_misfits(self, data: Labelled, options: Recipe) -> None:
        """Raise :class:`ParameterError` where data or options leave no meaning to what is given."""
        if self.planes is not None:
            _refuse_other_space(self.planes, data.X.shape[1], options.exact_in)
        if self.order is not None and not np.array_equal(np.sort(self.order), np.arange(len(data))):
            raise ParameterError(f"order must hold every row number from 0 to {len(data) - 1} once")
        if (self.planes is not None or self.order is not None) and (options.noise or options.n_networks > 1):
            raise ParameterError("given hyperplanes or order make one network of all rows: use noise=0, n_networks=1")


def _as_hyperplanes(pair: Any) -> Hyperplanes:
    """Weights and biases as they will be stored: float32 weights where these are exact."""
    try:
        weights, biases = (np.asarray(part, dtype=np.float64) for part in pair)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"hyperplanes must be a pair (weights, biases) of arrays of numbers: {error}") from error
    if weights.ndim != 2 or biases.shape != weights.shape[:1] or not len(biases):
        raise ParameterError(
            "hyperplanes must be weights of shape (width, n_features) and biases of shape (width,), "
            f"got {weights.shape} and {biases.shape}"
        )
    if not (np.isfinite(weights).all() and np.isfinite(biases).all()):
        raise ParameterError("hyperplanes must be finite: there is NaN or infinity among their weights or biases")
    return Hyperplanes(weights.astype(np.float32) if _held(weights) else weights, biases)


def _held(numbers: NDArray[np.float64]) -> bool:
    """Whether float32 holds them exactly."""
    with np.errstate(over="ignore"):
        return bool((numbers.astype(np.float32) == numbers).all())


def _as_order(order: Any) -> Rows:
    rows = np.asarray(order)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ParameterError(f"order must be a sequence of row numbers, got {rows.dtype} of shape {rows.shape}")
    return rows.astype(np.int64)


def _refuse_other_space(planes: Hyperplanes, n_features: int, exact_in: str | None) -> None:
    if planes.weights.shape[1] != n_features:
        raise ParameterError(
            f"hyperplanes have {planes.weights.shape[1]} weights each, but rows of X have {n_features} numbers"
        )
    if exact_in == "float32" and not (planes.weights.dtype == np.float32 and _held(planes.biases)):
        raise ParameterError("exact_in='float32' needs hyperplanes that float32 holds: round them, or use 'float64'")
