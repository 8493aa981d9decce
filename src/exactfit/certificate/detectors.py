"""The paper's three layers, read back from a network: hyperplanes, detectors, claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..network import Decoder, Dense, Layer, Masks, Network
from ..network.activations import Activation
from ..network.bits import BitMatrix
from .bounds import FirstLayer

Codes = NDArray[np.int64]

UNKNOWN, NO_CLASS = -1, -2
LARGEST_LIMIT = 2**60
LARGEST_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Detectors:
    """Which detector speaks for which class.

    Attributes
    ----------
    planes : FirstLayer
    masks : BitMatrix
        One row per claim: a detector, once for every class that it speaks for.
    limits : ndarray
        A detector fires when its masked sum is below its limit.
    owners : ndarray of int64
        Position of its class among the outputs.
    classes : tuple of int
        Class indices of the positions.
    silent : int
        Position of the class that is meant when no detector fires; NO_CLASS if there is none.
    """

    planes: FirstLayer
    masks: BitMatrix
    limits: NDArray[Any]
    owners: Codes
    classes: tuple[int, ...]
    silent: int

    def positions(self, codes: Codes) -> Codes:
        """Where each class index stands among ``classes``, UNKNOWN where it does not."""
        classes = np.asarray(self.classes, dtype=np.int64)
        order = np.argsort(classes)
        places = np.searchsorted(classes[order], codes).clip(max=len(classes) - 1)
        return np.where(classes[order[places]] == codes, order[places], UNKNOWN).astype(np.int64)


def read_detectors(network: Network, activation: Activation) -> Detectors | None:
    """The parts of a network of the paper's form with this activation throughout; None for any other network."""
    if len(network.layers) != 3 or network.input_map != "identity":
        return None
    first, second, last = network.layers
    if (first.activation, second.activation) != (activation, activation):
        return None
    planes, masks, claims = _planes(first), _masks(second, activation), _claims(last, network.decoder)
    if planes is None or masks is None or claims is None:
        return None
    owners, used = np.nonzero(claims)
    return Detectors(
        planes=planes,
        masks=masks.take(used),
        limits=second.bias[used],
        owners=owners.astype(np.int64),
        classes=network.decoder.classes,
        silent=1 if network.decoder.kind == "sign" else NO_CLASS,
    )


def _planes(layer: Layer) -> FirstLayer | None:
    """The hyperplanes of a dense layer of floats; None for others."""
    weights, bias = layer.weights, layer.bias
    if not isinstance(weights, Dense) or {weights.values.dtype.kind, bias.dtype.kind} != {"f"}:
        return None
    return FirstLayer(weights.values, bias)


def _masks(layer: Layer, activation: Activation) -> BitMatrix | None:
    """The masks of units limit - masked sum, limits whole for bits and finite for numbers; None for others."""
    weights, limits = layer.weights, layer.bias
    kind, largest = ("i", LARGEST_LIMIT) if activation.is_threshold else ("f", LARGEST_FLOAT)
    if not isinstance(weights, Masks) or weights.sign != -1 or limits.dtype.kind != kind:
        return None
    return weights.bits if bool(((limits >= -largest) & (limits <= largest)).all()) else None


def _claims(layer: Layer, decoder: Decoder) -> NDArray[np.bool_] | None:
    """Which class claims through which detectors, shape (classes that claim, detectors); None for other outputs."""
    weights, n_classes = layer.weights, len(decoder.classes)
    if not isinstance(weights, Masks) or layer.activation is not None or layer.bias.any():
        return None
    if n_classes == 0 or len(set(decoder.classes)) != n_classes:
        return None
    expected = {"sign": (-1, 1, 2), "one_hot": (1, n_classes, n_classes)}.get(decoder.kind)
    if expected != (weights.sign, layer.n_units, n_classes):
        return None
    return weights.bits.to_bool()
