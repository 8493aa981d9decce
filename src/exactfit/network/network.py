"""Networks as frozen data: what every construction makes, and everything else reads.

A :class:`Network` is a chain of :class:`Layer` s and a :class:`Decoder`. It holds numbers and names only, never code
of its own, so that every construction can be saved, exported and certified alike. Calling it evaluates it: threshold
layers by exact sides and integer counts, real-valued layers by one float64 sum in a fixed order, layers of integer
weights without rounding.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._kernels.counting import affine, count_all, masked_sums, sparse_affine
from .._kernels.rounding import EXACT_INTEGERS
from .._kernels.rows import squared_norms
from .._support.html import boxes, element, joined
from .._support.threads import SERIAL, Threads
from ..data.matrices import as_points, dense_rows, row_tiles
from ..exceptions import DataError, ParameterError
from .activations import Activation, Decoder, as_activation
from .bits import BitMatrix
from .sides import sides
from .weights import (
    Dense,
    Dyadic,
    Integers,
    Masks,
    Sparse,
    WeightedMasks,
    Weights,
    integers_to_text,
    text_to_integers,
    weigh_words,
    weights_from,
)

if TYPE_CHECKING:
    from .detector_network import DetectorNetwork

Matrix = Any
Signal = BitMatrix | NDArray[Any] | Dyadic

ROW_TILE = 2048  # points per piece of work
TILE_NUMBERS = 2**23  # outputs of a wide layer held as numbers by each thread: 64 MB


@dataclass(frozen=True, eq=False)
class Layer:
    """Units ``activation(weights @ inputs + bias)``; linear where activation is None.

    A detector that fires when fewer than ``limit`` masked bits are on is a unit
    with weights -mask and bias ``limit``.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import THRESHOLD, Dense, Layer
    >>> Layer(Dense(np.array([[1.0, -1.0]])), np.array([0.5]), THRESHOLD)
    <Layer: 1 units of 2 inputs, dense, threshold>
    """

    weights: Weights
    bias: NDArray[Any]
    activation: Activation | None

    def __repr__(self) -> str:
        units, inputs = self.weights.shape
        name, kind = "linear" if self.activation is None else self.activation.name, self.weights.kind
        if isinstance(self.weights, Sparse):
            kind = f"sparse with {self.weights.rows.nnz:,} weights"
        return f"<Layer: {units:,} units of {inputs:,} inputs, {kind}, {name}>"

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.bias)

    @property
    def n_parameters(self) -> int:
        """Weights and biases, zeros included; of a sparse layer the weights that it holds."""
        units, inputs = self.weights.shape
        n_weights = self.weights.rows.nnz if isinstance(self.weights, Sparse) else units * inputs
        return units + int(n_weights)

    def __call__(self, signal: Signal, threads: Threads = SERIAL) -> Signal:
        """Return outputs for a signal of shape (points, inputs), as bits after a threshold."""
        weights = self.weights
        if self.activation is None or not self.activation.is_threshold:
            if isinstance(weights, Integers):
                exact = self._exact_sums(signal) if self.activation is None else self._exact_sums(signal).clipped()
                # A chain of integer layers passes numerators on, with their power of two if they need one.
                return exact if exact.shift else exact.numerators
            sums = self.sums(signal)
            return sums if self.activation is None else self.activation(sums)
        if isinstance(weights, Dense | Sparse):
            rows = weights.values if isinstance(weights, Dense) else weights.rows
            return sides(_as_floats(signal), rows, self.bias, threads=threads)
        # The sign of a sum over a power of two is that of its numerator.
        values = self._exact_sums(signal).numerators if isinstance(weights, Integers) else self.sums(signal)
        return BitMatrix.from_bool(np.asarray(values > 0, dtype=bool))

    def sums(self, signal: Signal) -> NDArray[Any]:
        """Return ``weights @ signal + bias`` for every point, shape (points, units)."""
        weights = self.weights
        if isinstance(weights, Integers):
            return self._exact_sums(signal).numbers()
        if isinstance(weights, Masks):
            return np.asarray(self.bias + weights.sign * self._masked_sums(weights.bits, signal).T)
        if isinstance(weights, WeightedMasks) and isinstance(signal, BitMatrix):
            counts = np.empty((self.n_units, signal.n_rows), dtype=np.int64)
            for row, own in zip(weights.values, counts, strict=True):
                own[:] = weigh_words(signal.words, row)
            return np.asarray(self.bias + weights.sign * counts.T)
        columns, bias = np.ascontiguousarray(_as_floats(signal).T), self.bias.astype(np.float64)
        out = np.empty((self.n_units, columns.shape[1]))
        if isinstance(weights, WeightedMasks):
            affine(columns, weights.sign * weights.values.astype(np.float64), bias, out)
        elif isinstance(weights, Dense):
            affine(columns, weights.values, bias, out)
        else:
            rows = weights.rows
            sparse_affine(columns, rows.data, rows.indices, rows.indptr, bias, out)
        return out.T

    def _masked_sums(self, masks: BitMatrix, signal: Signal) -> NDArray[Any]:
        """Return counts of masked bits, or sums of masked numbers, shape (masks, points)."""
        rows = np.ascontiguousarray(masks.words.T)
        if isinstance(signal, BitMatrix):
            counts = np.empty((masks.n_rows, signal.n_rows), dtype=np.int64)
            count_all(signal.words, 0, signal.n_rows, rows, 0, counts)
            return counts
        values = _as_floats(signal)
        sums = np.empty((masks.n_rows, values.shape[0]))
        masked_sums(np.ascontiguousarray(values.T), rows, sums)
        return sums

    def _exact_sums(self, signal: Signal) -> Dyadic:
        """Return the sums of a layer of integer weights, which are never rounded."""
        assert isinstance(self.weights, Integers)
        if isinstance(signal, BitMatrix):
            signal = signal.to_bool().astype(np.int64)
        return (signal if isinstance(signal, Dyadic) else Dyadic.of(signal)).affine(self.weights.values, self.bias)


def _as_floats(signal: Signal) -> NDArray[np.float64]:
    """Return a signal in float64; refuse numbers that it would round."""
    if isinstance(signal, BitMatrix):
        return signal.to_bool().astype(np.float64)
    if isinstance(signal, Dyadic):
        raise DataError("fractions need a layer of integer weights next, or they might be rounded")
    if signal.dtype != object:
        return signal
    if any(abs(value) > EXACT_INTEGERS for value in signal.flat):
        raise DataError("integers beyond 2^53 need a layer of integer weights next, or they would be rounded")
    return signal.astype(np.float64)


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
    >>> from exactfit.network.activations import THRESHOLD
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
        shapes = [layer.weights.shape for layer in self.layers]
        for number, (layer, shape) in enumerate(zip(self.layers, shapes, strict=True)):
            if layer.bias.shape != shape[:1]:
                raise ValueError(f"layer {number} has a bias of shape {layer.bias.shape} for weights of shape {shape}")
        for (units, _), (_, inputs) in pairwise(shapes):
            if inputs != units:
                raise ValueError(f"a layer of {inputs} inputs follows one of {units} units")

    def __repr__(self) -> str:
        widths = ", ".join(f"{width:,}" for width in self.widths)
        return f"<Network: {self.n_features:,} features, layers of {widths} units, {self.decoder!r}>"

    def _repr_html_(self) -> str:
        names = ("hyperplanes", "detectors", "outputs") if self.detectors else ("units",) * len(self.layers)
        sizes = zip(self.widths, names, strict=True)
        drawn = [(f"{self.n_features:,} features", self.n_features), *((f"{n:,} {name}", n) for n, name in sizes)]
        about = f"{self.n_neurons:,} units, {self.n_parameters:,} parameters, {len(self.decoder.classes)} classes"
        return joined([element("strong", about), boxes(drawn)])

    @property
    def n_features(self) -> int:
        """Number of features of a point."""
        return self.layers[0].weights.shape[1] - (self.input_map == "append_squared_norm")

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of every layer, the output last."""
        return tuple(len(layer.bias) for layer in self.layers)

    @cached_property
    def detectors(self) -> DetectorNetwork | None:
        """The same network with its detectors, if it is of the paper's form; None for any other."""
        from .detector_network import read_detectors

        return read_detectors(self)

    @property
    def n_neurons(self) -> int:
        """Number of units, output included."""
        return sum(self.widths)

    @property
    def n_parameters(self) -> int:
        """Number of weights and biases, zeros included, except those that sparse layers leave out."""
        return sum(layer.n_parameters for layer in self.layers)

    def __call__(self, X: Matrix, *, n_jobs: int | None = None, checked: bool = False) -> NDArray[Any]:
        """Return outputs for every row of X, shape (rows, outputs)."""
        # Parameters
        # ----------
        # X : array, sparse matrix or frame of shape (rows, n_features)
        #     There may be no rows.
        # n_jobs : int or None
        #     Threads, as in scikit-learn.
        # checked : bool
        #     Whether X is known to be an array or CSR matrix of finite numbers, which saves validation.
        points = X if checked else as_points(X, n_features=self.n_features, or_none=True)
        with Threads(n_jobs) as threads:
            tiles = threads.map(lambda tile: self._forward(dense_rows(points, tile)), row_tiles(points, self._row_tile))
        return np.concatenate(tiles) if tiles else np.empty((0, self.widths[-1]))

    @property
    def _row_tile(self) -> int:
        """Points per piece of work: fewer where the outputs of a wide layer have to be numbers, not bits."""
        wide = [before.n_units for before, after in pairwise(self.layers) if not isinstance(after.weights, Masks)]
        return max(1, min(ROW_TILE, TILE_NUMBERS // max([1, *wide])))

    def _forward(self, tile: NDArray[np.float64]) -> NDArray[Any]:
        signal: Signal = tile
        if self.input_map == "append_squared_norm":
            squares = np.empty((len(tile), 1))
            squared_norms(tile, squares[:, 0])
            signal = np.concatenate([tile, squares], axis=1)
        for layer in self.layers:
            signal = layer(signal)
        if isinstance(signal, Dyadic):
            return signal.numbers()
        return np.asarray(signal.to_bool() if isinstance(signal, BitMatrix) else signal)

    def decide(self, X: Matrix, *, n_jobs: int | None = None, checked: bool = False) -> NDArray[np.intp]:
        """Return the class index of every row of X, -1 where no class or several claim it; parameters as for a call.

        Exact for the paper's form with thresholds or ReLU; for other networks it is what the outputs of a call say.
        """
        found = self.detectors
        # Counts of bits are exact in the layers' integers; only ReLU needs the detectors' exact comparison.
        if found is None or not found.activation.is_relu:
            return self.decoder(self(X, n_jobs=n_jobs, checked=checked))
        points = X if checked else as_points(X, n_features=self.n_features, or_none=True)
        with Threads(n_jobs) as threads:
            tiles = threads.map(lambda tile: found.claims(dense_rows(points, tile)), row_tiles(points, self._row_tile))
        claims = np.concatenate([np.empty((0, self.widths[-1]), dtype=bool), *tiles])
        return self.decoder(np.where(claims, -1 if self.decoder.kind == "sign" else 1, 0))

    def header(self) -> dict[str, Any]:
        """Return the structure, as JSON can hold it."""
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
        """Return the numbers, by name."""
        named: dict[str, NDArray[Any]] = {}
        for index, layer in enumerate(self.layers):
            named |= {f"layers.{index}.weights.{name}": tensor for name, tensor in layer.weights.tensors().items()}
            is_object = layer.bias.dtype == object
            named[f"layers.{index}.bias"] = integers_to_text(layer.bias) if is_object else layer.bias
        return named

    @classmethod
    def from_parts(
        cls,
        header: Mapping[str, Any],
        tensors: Mapping[str, NDArray[Any]],
        activations: Callable[[str], Activation] = as_activation,
    ) -> Network:
        """Make a network of what :meth:`header` and :meth:`tensors` return."""
        layers = []
        for index, part in enumerate(header["layers"]):
            prefix = f"layers.{index}.weights."
            own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
            weights = weights_from(part["weights"], own)
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
        # Little-endian and contiguous, whatever the machine and the layout; types and shapes count too.
        hasher = hashlib.sha256(json.dumps(self.header(), sort_keys=True).encode())
        for name, tensor in sorted(self.tensors().items()):
            little = np.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<"), copy=False)
            hasher.update(json.dumps([name, little.dtype.str, list(little.shape)]).encode())
            hasher.update(little.data if little.size else b"")
        return hasher.hexdigest()


@dataclass(frozen=True, eq=False)
class SwitchedNetwork:
    """Patches before a model: the answer is the patches' where they have one, and the model's elsewhere.

    Parameters
    ----------
    patches : Network
        With the decoder ``"one_hot"``: it decides where patches of exactly one class fire.
    model : Network or None
        None for a model that is not a chain of layers: then this holds the patches only, and cannot decide.
    """

    patches: Network
    model: Network | None

    def __post_init__(self) -> None:
        if self.patches.decoder.kind != "one_hot":
            raise ValueError(f"patches decide one_hot, not {self.patches.decoder.kind!r}")
        if self.model is not None and self.model.n_features != self.n_features:
            raise ValueError(f"patches of {self.n_features} features for a model of {self.model.n_features}")

    def __repr__(self) -> str:
        return f"<SwitchedNetwork: {self.patches!r} before {self.model or 'a model that is not a chain'!r}>"

    @property
    def n_features(self) -> int:
        """Number of features of a point."""
        return self.patches.n_features

    @property
    def parts(self) -> dict[str, Network]:
        """Both chains, by name."""
        return {"patches": self.patches} | ({} if self.model is None else {"model": self.model})

    @property
    def n_neurons(self) -> int:
        """Number of units of both chains."""
        return sum(part.n_neurons for part in self.parts.values())

    @property
    def n_parameters(self) -> int:
        """Number of weights and biases of both chains, zeros included."""
        return sum(part.n_parameters for part in self.parts.values())

    def decide(self, X: Matrix, *, n_jobs: int | None = None) -> NDArray[np.intp]:
        """Return the class index of every row of X, -1 where neither patches nor model decide."""
        if self.model is None:
            raise ParameterError("the model behind these patches is no chain of layers: ask the repaired classifier")
        points = as_points(X, n_features=self.n_features, or_none=True)
        patched, answers = (part.decide(points, n_jobs=n_jobs, checked=True) for part in (self.patches, self.model))
        return overruled(patched, answers)

    def header(self) -> dict[str, Any]:
        """Return the structure, as JSON can hold it."""
        return {name: part.header() for name, part in self.parts.items()}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the numbers, by name."""
        return {f"{name}.{key}": value for name, part in self.parts.items() for key, value in part.tensors().items()}

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> SwitchedNetwork:
        """Make a network of what :meth:`header` and :meth:`tensors` return."""
        own = {
            name: {key.removeprefix(f"{name}."): value for key, value in tensors.items() if key.startswith(f"{name}.")}
            for name in ("patches", "model")
        }
        model = Network.from_parts(header["model"], own["model"]) if "model" in header else None
        return cls(Network.from_parts(header["patches"], own["patches"]), model)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the digests of both chains."""
        text = ",".join(f"{name}:{part.digest}" for name, part in self.parts.items())
        return hashlib.sha256(text.encode()).hexdigest()


def overruled(patched: NDArray[Any], answers: NDArray[Any]) -> NDArray[np.intp]:
    """Return the patches' class index where there is one, else the model's."""
    return np.where(patched >= 0, patched, answers).astype(np.intp)
