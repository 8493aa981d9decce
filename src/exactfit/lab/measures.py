"""What a comparison measures of every contender alike: how large it is, and how little changes an answer.

*Sizes.* Weights and biases of all layers are counted, the output's included. Zeros of a dense layer are numbers like
others; those of a sparse one are not stored, and neither are positions. Numbers that several units share are counted
each time, but once in ``distinct``. Bits are those of the plainest format that holds an array exactly: 1 for 0/1 masks,
``bit_length + 1`` for each whole number, else 32 for each if float32 holds them all, else 64.

*An upper bound of the robust radius.* From each probe, a training point, goes a segment to the nearest training point
of another label. Somewhere between the answers change; bisection finds such a place. The smallest distance over all
probes bounds the robust radius of whatever gives the answers, network or not, from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate.radius import Probes, nearest_others
from ..network import Layer
from ..network.weights import Masks, Sparse

Numbers = NDArray[Any]
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

WIDEST_FLOAT = 64  # bits: beyond them whole numbers are no shorter than float64
N_PROBES = 200  # enough to come near the smallest change, few enough for the slowest contender


@dataclass(frozen=True)
class Sizes:
    """Sizes of a network.

    Attributes
    ----------
    depth : int
        Layers with an activation, that is without the output.
    neurons : int
        Units of all layers, the output's included.
    parameters : int
        Weights and biases, zeros included.
    nonzero : int
        Those other than zero.
    distinct : int
        Different numbers other than zero, layer by layer: what is left when equal numbers of a layer are shared.
    bits_per_weight : int
        Bits of the widest weight or bias.
    total_bits : int
        Bits of all that is stored.
    largest_weight : float
        Largest absolute value; infinite beyond float64, where ``bits_per_weight`` tells.
    """

    depth: int
    neurons: int
    parameters: int
    nonzero: int
    distinct: int
    bits_per_weight: int
    total_bits: int
    largest_weight: float


@dataclass(frozen=True)
class _Layer:
    """The share of one layer."""

    nonzero: int
    distinct: int
    widest: int
    bits: int
    largest: float


def sizes(layers: Sequence[Layer]) -> Sizes:
    """Count what layers hold.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network.activations import THRESHOLD
    >>> from exactfit.lab.measures import sizes
    >>> from exactfit.network import Dense, Layer
    >>> cuts = Layer(Dense(np.array([[0.1, 3.0], [0.1, 0.0]])), np.array([-0.5, 0.25]), THRESHOLD)
    >>> output = Layer(Dense(np.array([[1.0, -1.0]])), np.array([0.0]), None)
    >>> sizes([cuts, output])
    Sizes(depth=1, neurons=3, parameters=9, nonzero=7, distinct=6, bits_per_weight=64, total_bits=325, largest_weight=3.0)
    """  # noqa: E501  (a record is printed in one line)
    parts = [_layer(layer) for layer in layers]
    return Sizes(
        depth=sum(layer.activation is not None for layer in layers),
        neurons=sum(layer.n_units for layer in layers),
        parameters=sum(layer.n_parameters for layer in layers),
        nonzero=sum(part.nonzero for part in parts),
        distinct=sum(part.distinct for part in parts),
        bits_per_weight=max(part.widest for part in parts),
        total_bits=sum(part.bits for part in parts),
        largest_weight=max(part.largest for part in parts),
    )


def _layer(layer: Layer) -> _Layer:
    weights, bias = _stored(layer), layer.bias
    (widest, bits), (bias_widest, bias_bits) = _weight_bits(layer, weights), bits_of(bias)
    return _Layer(
        nonzero=layer.weights.n_nonzero + int(np.count_nonzero(bias)),
        distinct=_n_different(weights, bias),
        widest=max(widest, bias_widest),
        bits=bits + bias_bits,
        largest=max(_largest(weights), _largest(bias)),
    )


def _stored(layer: Layer) -> Numbers:
    """The numbers that a layer's weights hold; of masks the two there are."""
    weights = layer.weights
    if isinstance(weights, Masks):
        return np.array([0, weights.sign] if weights.n_nonzero else [0])
    return np.ravel(weights.matrix.data if isinstance(weights, Sparse) else weights.values)


def _weight_bits(layer: Layer, stored: Numbers) -> tuple[int, int]:
    if isinstance(layer.weights, Masks):
        units, inputs = layer.weights.shape
        return 1, units * inputs
    return bits_of(stored)


def bits_of(values: Numbers) -> tuple[int, int]:
    """Bits of the widest of some numbers, and of all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.measures import bits_of
    >>> bits_of(np.array([0.0, -1.0, 5.0])), bits_of(np.array([0.5, 2.0])), bits_of(np.array([0.1, 2.0]))
    ((4, 7), (32, 64), (64, 128))
    """
    if not values.size:
        return 0, 0
    if values.dtype == object:
        each = [int(value).bit_length() + 1 for value in values.flat]
        return max(each), sum(each)
    if values.dtype.kind in "iu" or (values == np.trunc(values)).all():
        lengths = np.frexp(np.abs(values.astype(np.float64)))[1] + 1  # frexp's exponent is the bit length
        if lengths.max() <= WIDEST_FLOAT:
            return int(lengths.max()), int(lengths.sum())
    with np.errstate(over="ignore"):  # what overflows is not equal
        width = 32 if (values.astype(np.float32) == values).all() else WIDEST_FLOAT
    return width, width * values.size


def _n_different(weights: Numbers, bias: Numbers) -> int:
    """How many different numbers, zero left out."""
    if object in (weights.dtype, bias.dtype):
        return len({*weights.tolist(), *bias.tolist()} - {0})
    both = np.concatenate([np.unique(weights), np.unique(bias)])  # float32 and small integers turn into float64
    return int(np.count_nonzero(np.unique(both)))


def _largest(values: Numbers) -> float:
    if not values.size:
        return 0.0
    largest = np.abs(values).max()
    try:
        return float(largest)
    except OverflowError:
        return float("inf")


def choose_probes(X: Floats, codes: Codes, random_state: np.random.Generator, count: int = N_PROBES) -> Probes:
    """Segments from some points, drawn without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.measures import choose_probes
    >>> X, codes = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1])
    >>> probes = choose_probes(X, codes, np.random.default_rng(0))
    >>> probes.starts.ravel(), probes.ends.ravel()
    (array([0., 1., 3.]), array([3., 3., 1.]))
    """
    rows = np.sort(random_state.choice(len(codes), min(count, len(codes)), replace=False))
    return Probes(X[rows], X[nearest_others(X, codes, rows)])
