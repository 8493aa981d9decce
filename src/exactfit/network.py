"""Networks as frozen data: the hub that every construction fills and everything else reads.

A :class:`Network` is a chain of :class:`Layer` s and a :class:`Decoder`. It holds
numbers and names only, never code of its own, so that every construction can be
saved, exported and certified alike. Calling it evaluates it: threshold layers by
exact sides and integer counts, real-valued layers by one fixed-order float64 sum.
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._bits import BitMatrix
from ._kernels.counting import count_all
from ._kernels.values import affine, masked_sums
from ._parallel import SERIAL, Threads
from ._sides import dense_rows, row_tiles, sides
from .activations import Activation, as_activation

Matrix = Any
Signal = BitMatrix | NDArray[Any]

ROW_TILE = 2048


@dataclass(frozen=True, eq=False)
class Dense:
    """Weights as a float32 or float64 array of shape (units, inputs)."""

    values: NDArray[Any]
    kind = "dense"

    @property
    def shape(self) -> tuple[int, int]:
        """Units and inputs."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def n_nonzero(self) -> int:
        """Weights other than zero."""
        return int(np.count_nonzero(self.values))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The numbers, for a digest or a file."""
        return {"values": self.values}


@dataclass(frozen=True, eq=False)
class Masks:
    """Weights 0 or ``sign``, packed: one row of ``bits`` per unit."""

    bits: BitMatrix
    sign: int
    kind = "masks"

    @property
    def shape(self) -> tuple[int, int]:
        """Units and inputs."""
        return self.bits.n_rows, self.bits.n_bits

    @property
    def n_nonzero(self) -> int:
        """Weights other than zero."""
        return int(np.bitwise_count(self.bits.words).sum())

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The numbers, for a digest or a file."""
        meta = np.array([self.bits.n_bits, self.sign], dtype=np.int64)
        return {"words": self.bits.words, "bits_sign": meta}


@dataclass(frozen=True, eq=False)
class Sparse:
    """Weights as a SciPy CSR array of shape (units, inputs)."""

    matrix: Any
    kind = "sparse"

    @property
    def shape(self) -> tuple[int, int]:
        """Units and inputs."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def n_nonzero(self) -> int:
        """Weights other than zero."""
        return int(self.matrix.count_nonzero())

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The numbers, for a digest or a file."""
        csr = sp.csr_array(self.matrix)
        csr.sort_indices()
        return {
            "data": csr.data,
            "indices": csr.indices.astype(np.int64),
            "indptr": csr.indptr.astype(np.int64),
            "shape": np.array(self.shape, dtype=np.int64),
        }


@dataclass(frozen=True, eq=False)
class Integers:
    """Weights as Python integers of any size: an object array of shape (units, inputs)."""

    values: NDArray[np.object_]
    kind = "integers"

    @property
    def shape(self) -> tuple[int, int]:
        """Units and inputs."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def n_nonzero(self) -> int:
        """Weights other than zero."""
        return sum(bool(value) for value in self.values.flat)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The numbers, for a digest or a file."""
        return {"text": integers_to_text(self.values), "shape": np.array(self.shape, dtype=np.int64)}


Weights = Dense | Masks | Sparse | Integers


def integers_to_text(values: NDArray[np.object_]) -> NDArray[np.uint8]:
    """Python integers as hexadecimal text in bytes."""
    return np.frombuffer(
        " ".join(f"{operator.index(value):x}" for value in values.ravel().tolist()).encode(), dtype=np.uint8
    )


def text_to_integers(text: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """The inverse of :func:`integers_to_text`."""
    return object_array([int(part, 16) for part in text.tobytes().decode("ascii").split()], shape)


def object_array(values: Sequence[int], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Python integers as an object array; NumPy must not turn them into its own."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _weights_from(kind: str, tensors: Mapping[str, NDArray[Any]]) -> Weights:
    if kind == "dense":
        return Dense(tensors["values"])
    if kind == "masks":
        n_bits, sign = (int(value) for value in tensors["bits_sign"])
        return Masks(BitMatrix(tensors["words"], n_bits), sign)
    if kind == "sparse":
        parts = tensors["data"], tensors["indices"], tensors["indptr"]
        matrix = sp.csr_array(parts, shape=tuple(int(size) for size in tensors["shape"]))
        matrix.check_format(full_check=True)  # a wild index would be read beyond the end of an array
        return Sparse(matrix)
    if kind == "integers":
        shape = tuple(int(size) for size in tensors["shape"])
        return Integers(text_to_integers(tensors["text"], shape))
    raise ValueError(f"unknown kind of weights {kind!r}")


@dataclass(frozen=True, eq=False)
class Layer:
    """Units ``activation(weights @ inputs + bias)``; linear where activation is None.

    A detector that fires when fewer than ``limit`` masked bits are on is a unit
    with weights -mask and bias ``limit``.
    """

    weights: Weights
    bias: NDArray[Any]
    activation: Activation | None

    def __post_init__(self) -> None:
        if self.bias.shape != self.weights.shape[:1]:
            raise ValueError(f"bias of shape {self.bias.shape} for weights of shape {self.weights.shape}")

    @property
    def n_units(self) -> int:
        """How many units."""
        return self.weights.shape[0]

    @property
    def n_parameters(self) -> int:
        """Weights and biases, zeros included."""
        units, inputs = self.weights.shape
        return units * (inputs + 1)

    def __call__(self, signal: Signal, threads: Threads = SERIAL) -> Signal:
        """Outputs for a signal of shape (points, inputs), as bits after a threshold."""
        if self.activation is not None and self.activation.is_threshold:
            return self._fire(signal, threads)
        sums = self.sums(signal)
        return sums if self.activation is None else _apply(self.activation, sums)

    def _fire(self, signal: Signal, threads: Threads) -> BitMatrix:
        weights = self.weights
        if isinstance(weights, Dense | Sparse):
            values = weights.values if isinstance(weights, Dense) else weights.matrix.toarray()
            return sides(_as_floats(signal), values, self.bias, threads=threads)
        return BitMatrix.from_bool(np.asarray(self.sums(signal) > 0, dtype=bool))

    def sums(self, signal: Signal) -> NDArray[Any]:
        """``weights @ signal + bias`` for every point, shape (points, units)."""
        weights = self.weights
        if isinstance(weights, Integers):
            return np.asarray(_as_integers(signal) @ weights.values.T + self.bias)
        if isinstance(weights, Masks):
            return np.asarray(self.bias + weights.sign * _masked(weights.bits, signal).T)
        values = weights.values if isinstance(weights, Dense) else weights.matrix.toarray()
        columns = np.ascontiguousarray(_as_floats(signal).T)
        out = np.empty((self.n_units, columns.shape[1]))
        affine(columns, values, self.bias.astype(np.float64), out)
        return out.T


def _apply(activation: Activation, sums: NDArray[Any]) -> NDArray[Any]:
    if sums.dtype == object:
        return np.where(sums > 0, sums, 0)
    return activation(sums)


def _as_floats(signal: Signal) -> NDArray[np.float64]:
    if isinstance(signal, BitMatrix):
        return signal.to_bool().astype(np.float64)
    if signal.dtype != object:
        return signal
    if any(abs(value) > 2**53 for value in signal.flat):
        raise ValueError("integers beyond 2^53 need a layer of integer weights next, or they would be rounded")
    return signal.astype(np.float64)


def _as_integers(signal: Signal) -> NDArray[np.object_]:
    if isinstance(signal, BitMatrix):
        return signal.to_bool().astype(np.int64).astype(object)
    if signal.dtype == object:
        return signal
    if not (signal == np.floor(signal)).all():
        raise ValueError("integer weights take whole numbers only")
    return object_array([int(value) for value in signal.flat], signal.shape)


def _masked(masks: BitMatrix, signal: Signal) -> NDArray[Any]:
    """Masked counts (bits) or sums (numbers), shape (masks, points)."""
    rows = np.ascontiguousarray(masks.words.T)
    if isinstance(signal, BitMatrix):
        counts = np.empty((masks.n_rows, signal.n_rows), dtype=np.int64)
        count_all(signal.words, 0, signal.n_rows, rows, counts)
        return counts
    sums = np.empty((masks.n_rows, signal.shape[0]))
    masked_sums(np.ascontiguousarray(signal.T), rows, sums)
    return sums


@dataclass(frozen=True)
class Decoder:
    """How outputs become a class index; a closed list.

    Parameters
    ----------
    kind : {"sign", "one_hot", "nearest"}
        - ``"sign"``: one output; negative means ``classes[0]``, else ``classes[1]``
          (sign(0) = +1, as in the paper).
        - ``"one_hot"``: one output per class, positive where the class claims the
          point; the class that claims it alone, or -1 if none or several do.
        - ``"nearest"``: one output; the class whose entry of ``levels`` is nearest.
    classes : tuple of int
        Class indices that the outputs stand for.
    levels : tuple of float
        For ``"nearest"`` only.
    """

    kind: Literal["sign", "one_hot", "nearest"]
    classes: tuple[int, ...]
    levels: tuple[float, ...] = ()

    def __call__(self, outputs: NDArray[Any]) -> NDArray[np.intp]:
        """Class index of every row of outputs, -1 where it is undecided."""
        classes = np.asarray(self.classes, dtype=np.intp)
        if self.kind == "sign":
            return np.asarray(classes[(outputs[:, 0] >= 0).astype(np.intp)])
        if self.kind == "one_hot":
            claims = np.asarray(outputs > 0, dtype=bool)
            alone = claims.sum(axis=1) == 1
            return np.where(alone, classes[claims.argmax(axis=1)], -1)
        gaps = np.abs(outputs[:, :1] - np.asarray(self.levels)[None, :])
        return np.asarray(classes[np.argmin(gaps, axis=1)])


InputMap = Literal["identity", "append_squared_norm"]


@dataclass(frozen=True, eq=False)
class Network:
    """A network: frozen numbers, any depth.

    Parameters
    ----------
    layers : tuple of Layer
        From input to output; the last one linear.
    decoder : Decoder
    input_map : {"identity", "append_squared_norm"}
        What happens to a point before the first layer.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import Network
    >>> from exactfit.activations import THRESHOLD
    >>> from exactfit.network import Decoder, Dense, Layer
    >>> half_line = Layer(Dense(np.array([[1.0]])), np.array([-0.5]), THRESHOLD)
    >>> output = Layer(Dense(np.array([[-1.0]])), np.array([0.0]), None)
    >>> network = Network((half_line, output), Decoder("sign", (1, 0)))
    >>> network.decide(np.array([[0.25], [0.5], [0.75]]))
    array([0, 0, 1])
    >>> network.widths, network.n_neurons, network.n_parameters
    ((1, 1), 2, 4)
    """

    layers: tuple[Layer, ...]
    decoder: Decoder
    input_map: InputMap = "identity"

    def __post_init__(self) -> None:
        for before, after in pairwise(self.layers):
            if after.weights.shape[1] != before.n_units:
                raise ValueError(f"a layer of {after.weights.shape[1]} inputs follows one of {before.n_units} units")

    @property
    def n_features(self) -> int:
        """How many features a point has."""
        return self.layers[0].weights.shape[1] - (self.input_map == "append_squared_norm")

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of every layer, the output last."""
        return tuple(layer.n_units for layer in self.layers)

    @property
    def n_neurons(self) -> int:
        """Units in all, output included."""
        return sum(self.widths)

    @property
    def n_parameters(self) -> int:
        """Weights and biases in all, zeros included."""
        return sum(layer.n_parameters for layer in self.layers)

    def __call__(self, X: Matrix, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Outputs for every row of X (dense or CSR), shape (rows, outputs)."""
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, the network takes {self.n_features}")
        with Threads(n_jobs) as threads:
            tiles = threads.map(lambda tile: self._forward(dense_rows(X, tile)), row_tiles(X, ROW_TILE))
        return np.concatenate(tiles) if tiles else np.empty((0, self.widths[-1]))

    def _forward(self, tile: NDArray[np.float64]) -> NDArray[Any]:
        signal: Signal = tile
        if self.input_map == "append_squared_norm":
            signal = np.column_stack([tile, (tile * tile).sum(axis=1)])
        for layer in self.layers:
            signal = layer(signal)
        return np.asarray(signal.to_bool() if isinstance(signal, BitMatrix) else signal)

    def decide(self, X: Matrix, *, n_jobs: int | None = None) -> NDArray[np.intp]:
        """Class index of every row of X, -1 where no class or several claim it."""
        return self.decoder(self(X, n_jobs=n_jobs))

    def header(self) -> dict[str, Any]:
        """The structure, as JSON can hold it."""
        return {
            "input_map": self.input_map,
            "decoder": {
                "kind": self.decoder.kind,
                "classes": [int(code) for code in self.decoder.classes],
                "levels": [float(level).hex() for level in self.decoder.levels],
            },
            "layers": [
                {
                    "weights": layer.weights.kind,
                    "activation": None if layer.activation is None else layer.activation.name,
                    "bias": "integers" if layer.bias.dtype == object else layer.bias.dtype.name,
                }
                for layer in self.layers
            ],
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The numbers, by name."""
        named: dict[str, NDArray[Any]] = {}
        for index, layer in enumerate(self.layers):
            for name, tensor in layer.weights.tensors().items():
                named[f"layers.{index}.weights.{name}"] = tensor
            whole = layer.bias.dtype == object
            named[f"layers.{index}.bias"] = integers_to_text(layer.bias) if whole else layer.bias
        return named

    @classmethod
    def from_parts(
        cls,
        header: Mapping[str, Any],
        tensors: Mapping[str, NDArray[Any]],
        activations: Callable[[str], Activation] = as_activation,
    ) -> Network:
        """The inverse of :meth:`header` and :meth:`tensors`."""
        layers = []
        for index, part in enumerate(header["layers"]):
            prefix = f"layers.{index}.weights."
            own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
            weights = _weights_from(part["weights"], own)
            bias = tensors[f"layers.{index}.bias"]
            if part["bias"] == "integers":
                bias = text_to_integers(bias, weights.shape[:1])
            activation = None if part["activation"] is None else activations(part["activation"])
            layers.append(Layer(weights, bias, activation))
        given = header["decoder"]
        levels = tuple(float.fromhex(level) for level in given["levels"])
        decoder = Decoder(given["kind"], tuple(given["classes"]), levels)
        return cls(tuple(layers), decoder, header["input_map"])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of structure and numbers, the same on every machine."""
        hasher = hashlib.sha256(json.dumps(self.header(), sort_keys=True).encode())
        for name, tensor in sorted(self.tensors().items()):
            little = np.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<"), copy=False)
            hasher.update(json.dumps([name, little.dtype.str, list(little.shape)]).encode())
            hasher.update(little.data if little.size else b"")
        return hasher.hexdigest()


__all__ = ["Decoder", "Dense", "Integers", "Layer", "Masks", "Network", "Sparse"]
