"""Patches: detectors that fire on points that a model got wrong, and on no given point of another label.

A patch network has the decoder ``one_hot``: it decides where patches of exactly one class fire. Its last layer
says which class each patch speaks for, the layer before has one unit for each patch: a ball over the squared norm
(``balls``), or a count of bits below a limit (``counts``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._kernels.rounding import FLOAT32, FLOAT64, Format
from .._support.parameters import check_number
from ..construct.construction import output_layer
from ..data import Codes, Floats, Matrix, Rows
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import ParameterError
from ..network import Layer, Masks, Network
from ..network.network import InputMap

KINDS = ("ball", "mask", "weighted")


@dataclass(frozen=True, eq=False)
class Targets:
    """Points that patches are for, among all given points.

    Attributes
    ----------
    X : ndarray or CSR matrix
        All given points, rounded to the asked format.
    codes : ndarray of int64
        Their class indices.
    rows : ndarray of int64
        Those that need a patch, ascending.
    n_classes : int
    exact_in : str or None
        The format in which patches have to be sure of given points; None: float64, as this package evaluates them.
    """

    X: Matrix
    codes: Codes
    rows: Rows
    n_classes: int
    exact_in: str | None

    @property
    def form(self) -> Format:
        """The format's constants."""
        return FLOAT32 if self.exact_in == "float32" else FLOAT64

    def points(self, rows: Rows) -> Floats:
        """Some of the points, dense."""
        return dense_rows(self.X, rows)


@dataclass(frozen=True, eq=False)
class Patches:
    """A patch network, and the point that each patch is anchored at.

    Attributes
    ----------
    network : Network
    anchors : ndarray of int64
        The given row of each patch.
    fires_within : ndarray of float64
        The distance from its anchor inside which each patch surely fires.
    silent_beyond : ndarray of float64
        The distance beyond which it surely does not; infinite where nothing is proved.
    """

    network: Network
    anchors: Rows
    fires_within: Floats
    silent_beyond: Floats

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def codes(self) -> Codes:
        """The class index of each patch."""
        return speakers(self.network)

    @property
    def are_balls(self) -> bool:
        """Whether each patch is a ball over the squared norm."""
        return self.network.input_map == "append_squared_norm"

    def fired(self, X: Matrix) -> tuple[Rows, Rows]:
        """Which patches fire on which rows of X: pairs (row, patch), row by row."""
        units = Network(self.network.layers[:-1], self.network.decoder, self.network.input_map)
        rows, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for tile in row_tiles(X) if len(self) else ():
            here, fired = np.nonzero(units(dense_rows(X, tile)))
            rows.append(tile.start + here)
            places.append(fired)
        return np.concatenate(rows), np.concatenate(places)

    def decided(self, fired: tuple[Rows, Rows], n_rows: int) -> Codes:
        """The class index that patches decide for each of so many rows, -1 where they decide none."""
        claims = np.zeros((n_rows, max(self.network.decoder.classes) + 1), dtype=bool)
        claims[fired[0], self.codes[fired[1]]] = True
        return np.where(claims.sum(axis=1) == 1, claims.argmax(axis=1), -1).astype(np.int64)


def speakers(network: Network) -> Codes:
    """The class index that each unit before the last layer speaks for."""
    weights = network.layers[-1].weights
    assert isinstance(weights, Masks)
    classes = np.array(network.decoder.classes, dtype=np.int64)
    return np.asarray(classes[weights.bits.to_bool().argmax(axis=0)])


def patch_network(layers: tuple[Layer, ...], codes: Codes, n_classes: int, input_map: InputMap = "identity") -> Network:
    """Units, the last layer of which are patches for the given classes, with the output that says so."""
    everyone = tuple(range(n_classes))
    output, decoder = output_layer(codes, everyone, n_classes)
    return Network((*layers, output), decoder, input_map)


def with_units(network: Network, units: Layer, codes: Codes) -> Network:
    """The network with other patches over what is before them."""
    n_classes = len(network.decoder.classes)
    return patch_network((*network.layers[:-2], units), codes, n_classes, network.input_map)


def share_of(reach: Any) -> float:
    """Reach as a share of what is possible: 0.0 for "least", 1.0 for "full"."""
    if reach in ("least", "full"):
        return float(reach == "full")
    try:
        return check_number("reach", reach, above=0.0, at_most=1.0)
    except ParameterError as error:
        raise ParameterError(f"reach must be 'least', 'full' or a share in (0, 1], got {reach!r}") from error
