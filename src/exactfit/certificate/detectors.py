"""The paper's three layers, read back from a network: hyperplanes, detectors, claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bits import BitMatrix
from ..activations import Activation
from ..network import Decoder, Dense, Layer, Masks, Network
from .bounds import FirstLayer

Codes = NDArray[np.int64]

LARGEST_LIMIT = 2**60


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
        Position of the class that is meant when no detector fires; -1 if there is none.
    """

    planes: FirstLayer
    masks: BitMatrix
    limits: NDArray[Any]
    owners: Codes
    classes: tuple[int, ...]
    silent: int

    def positions(self, codes: Codes) -> Codes:
        """Where each class index stands among ``classes``, -1 where it does not."""
        positions = np.full(len(codes), -1, dtype=np.int64)
        for position, code in enumerate(self.classes):
            positions[codes == code] = position
        return positions


def read_detectors(network: Network, activation: Activation) -> Detectors | None:
    """The parts of a network of the paper's form with this activation throughout; None for any other network."""
    if len(network.layers) != 3 or network.input_map != "identity" or len(set(network.decoder.classes)) == 0:
        return None
    first, second, last = network.layers
    if not isinstance(first.weights, Dense) or first.bias.dtype.kind != "f" or first.activation != activation:
        return None
    claims = _claims(last, network.decoder)
    if claims is None or second.activation != activation or not _detects(second, activation):
        return None
    owners, used = np.nonzero(claims)
    return Detectors(
        planes=FirstLayer(first.weights.values, first.bias),
        masks=second.weights.bits.take(used),  # type: ignore[union-attr]  # _detects has looked
        limits=second.bias[used],
        owners=owners.astype(np.int64),
        classes=network.decoder.classes,
        silent=1 if network.decoder.kind == "sign" else -1,
    )


def _detects(layer: Layer, activation: Activation) -> bool:
    """Whether units are limit - masked sum: whole limits for bits, finite ones for numbers."""
    if not isinstance(layer.weights, Masks) or layer.weights.sign != -1:
        return False
    if activation.is_threshold:
        return layer.bias.dtype.kind == "i" and bool((np.abs(layer.bias) <= LARGEST_LIMIT).all())
    return layer.bias.dtype.kind == "f" and bool(np.isfinite(layer.bias).all())


def _claims(layer: Layer, decoder: Decoder) -> NDArray[np.bool_] | None:
    """Which class claims through which detectors, shape (classes that claim, detectors); None for other outputs."""
    weights, n_classes = layer.weights, len(decoder.classes)
    if not isinstance(weights, Masks) or layer.activation is not None or layer.bias.any():
        return None
    if len(set(decoder.classes)) != n_classes:
        return None
    expected = {"sign": (-1, 1, 2), "one_hot": (1, n_classes, n_classes)}.get(decoder.kind)
    if expected != (weights.sign, layer.n_units, n_classes):
        return None
    return weights.bits.to_bool()
