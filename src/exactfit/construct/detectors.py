"""The detectors of a finished network, and how further points stand to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import count_all
from .._kernels.cover import highest_sums, lowest_counts, lowest_sums
from .._support.threads import SERIAL
from ..exceptions import ParameterError
from ..network import Dense, Masks, Network
from ..network.activations import Activation
from ..network.bits import BitMatrix
from ..network.sides import sides
from .hyperplanes import Hyperplanes
from .values import Values

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Words = NDArray[np.uint64]


class Measure(Protocol):
    """How high points stand over masks, in bits or in values."""

    def lowest(self, points: Floats, masks: Words, limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        """The limits, lowered to what the points have at least, and the first point that did so (-1 for none)."""
        ...

    def claims(self, points: Floats, masks: Words, limits: NDArray[Any]) -> NDArray[np.bool_]:
        """Which detectors claim which points for certain, shape (detectors, points)."""
        ...


@dataclass(frozen=True, eq=False)
class _Bits:
    planes: Hyperplanes

    def lowest(self, points: Floats, masks: Words, limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        lows, where = limits.copy(), np.full(len(limits), -1)
        words = sides(points, self.planes.weights, self.planes.biases).words
        lowest_counts(words, 0, len(points), masks, lows, where)
        return lows, where

    def claims(self, points: Floats, masks: Words, limits: NDArray[Any]) -> NDArray[np.bool_]:
        words = sides(points, self.planes.weights, self.planes.biases).words
        counts = np.empty((len(masks), len(points)), dtype=np.int64)
        count_all(words, 0, len(points), masks, 0, counts)
        return np.asarray(counts < limits[:, None])


class _Numbers:
    def __init__(self, planes: Hyperplanes, activation: Activation) -> None:
        d = planes.weights.shape[1]
        nothing = BitMatrix.from_bool(np.empty((0, planes.count), dtype=bool))
        self.evidence = Values(np.empty((0, d)), np.arange(0), planes, nothing, activation, SERIAL)

    def lowest(self, points: Floats, masks: Words, limits: NDArray[Any]) -> tuple[NDArray[Any], Rows]:
        lows, where = limits.copy(), np.full(len(limits), -1)
        values, errors = self.evidence.values(points), self.evidence.errors(points)
        lowest_sums(values, errors, self.evidence.share, masks, 0, lows, where)
        return lows, where

    def claims(self, points: Floats, masks: Words, limits: NDArray[Any]) -> NDArray[np.bool_]:
        highs = np.empty((len(masks), len(points)))
        values, errors = self.evidence.values(points), self.evidence.errors(points)
        highest_sums(values, errors, self.evidence.share, masks, highs)
        return np.asarray(highs < limits[:, None])


@dataclass(frozen=True, eq=False)
class Detectors:
    """The detectors of a network of the paper's form: masks one row each, limits, and the class of each."""

    measure: Measure
    masks: Words
    limits: NDArray[Any]
    owners: Codes
    targets: tuple[int, ...]
    decoder_classes: tuple[int, ...]

    @classmethod
    def of(cls, network: Network) -> Detectors:
        """The parts, or an error if the network has another form."""
        form = [type(layer.weights) for layer in network.layers]
        activation = network.layers[0].activation
        if form != [Dense, Masks, Masks] or activation is None:
            raise ParameterError("extend takes networks made by fixed_width or adaptive_width only")
        first, detectors, output = network.layers
        assert isinstance(first.weights, Dense)
        assert isinstance(detectors.weights, Masks)
        assert isinstance(output.weights, Masks)
        planes = Hyperplanes(first.weights.values, first.bias)
        measure: Measure = _Bits(planes) if activation.is_threshold else _Numbers(planes, activation)
        classes = network.decoder.classes
        targets = classes[:1] if network.decoder.kind == "sign" else classes
        owners = np.asarray(targets, dtype=np.int64)[output.weights.bits.to_bool().argmax(axis=0)]
        masks = np.ascontiguousarray(detectors.weights.bits.words.T)
        return cls(measure, masks, detectors.bias, owners, targets, classes)

    def of_class(self, k: int) -> NDArray[np.intp]:
        """The detectors of a class."""
        return np.flatnonzero(self.owners == k)
