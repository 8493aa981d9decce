"""Networks made of networks: several of the paper's form side by side in one, or patches that overrule a model.

Side by side, the one network has all hyperplanes and all detectors; a detector counts with zeros at the hyperplanes of
others. So its outputs add up what fires in any of them, and it claims what one of them claims.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import as_points
from ..exceptions import ParameterError
from .bits import BitMatrix
from .network import Layer, Matrix, Network
from .weights import Dense, Masks, WeightedMasks

Counters = Masks | WeightedMasks


def side_by_side(networks: Sequence[Network]) -> Network:
    """One network that holds them all, in their order."""
    firsts, seconds, lasts = zip(*(network.layers for network in networks), strict=True)
    planes = Dense(np.concatenate([_dense(layer) for layer in firsts]))
    places = np.cumsum([0, *(layer.n_units for layer in firsts)]).tolist()
    counters = _joined(
        [_placed(layer.weights, *place, places[-1]) for layer, place in zip(seconds, pairwise(places), strict=True)]
    )
    claims = np.concatenate([layer.weights.bits.to_bool() for layer in lasts], axis=1)
    layers = (
        replace(firsts[0], weights=planes, bias=np.concatenate([layer.bias for layer in firsts])),
        replace(seconds[0], weights=counters, bias=np.concatenate([layer.bias for layer in seconds])),
        replace(lasts[0], weights=Masks(BitMatrix.from_bool(claims), lasts[0].weights.sign)),
    )
    return replace(networks[0], layers=layers)


def _dense(layer: Layer) -> NDArray[Any]:
    assert isinstance(layer.weights, Dense)
    return layer.weights.values


def _placed(counters: Any, start: int, stop: int, width: int) -> Counters:
    """Detectors over ``width`` hyperplanes, of which those from ``start`` to ``stop`` are their own."""
    if isinstance(counters, WeightedMasks):
        wide = np.zeros((len(counters.values), width), dtype=np.int8)
        wide[:, start:stop] = counters.values
        return WeightedMasks(wide, counters.sign)
    bits = np.zeros((counters.bits.n_rows, width), dtype=bool)
    bits[:, start:stop] = counters.bits.to_bool()
    return Masks(BitMatrix.from_bool(bits), counters.sign)


def _joined(parts: Sequence[Counters]) -> Counters:
    sign = parts[0].sign
    if any(isinstance(part, WeightedMasks) for part in parts):
        return WeightedMasks(np.concatenate([_weights(part) for part in parts]), sign)
    words = [part.bits.words for part in parts if isinstance(part, Masks)]
    return Masks(BitMatrix(np.ascontiguousarray(np.concatenate(words, axis=1)), parts[0].shape[1]), sign)


def _weights(counters: Counters) -> NDArray[np.int8]:
    """Weights, those of masks 0 and 1."""
    return counters.values if isinstance(counters, WeightedMasks) else counters.bits.to_bool().astype(np.int8)


@dataclass(frozen=True, eq=False)
class SwitchedNetwork:
    """Patches before a model: the answer is the patches' where they have one, and the model's elsewhere.

    Parameters
    ----------
    patches : Network
        With the decoder ``"one_hot"``: it decides where patches of exactly one class fire.
    model : Network or None
        None for a model that is not a chain of layers: then this holds the patches only, and cannot decide.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import Decoder, Dense, Layer, Network
    >>> from exactfit.network.activations import THRESHOLD
    >>> from exactfit.network.parts import SwitchedNetwork
    >>> model = Network((Layer(Dense(np.array([[0.0], [1.0]])), np.zeros(2), None),), Decoder("argmax", (0, 1)))
    >>> above_two = Layer(Dense(np.array([[1.0]])), np.array([-2.0]), THRESHOLD)
    >>> output = Layer(Dense(np.array([[1.0], [0.0]])), np.zeros(2), None)
    >>> patches = Network((above_two, output), Decoder("one_hot", (0, 1)))
    >>> SwitchedNetwork(patches, model).decide(np.array([[-1.0], [1.0], [3.0]]))
    array([0, 1, 0])
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
        """How many features a point has."""
        return self.patches.n_features

    @property
    def parts(self) -> dict[str, Network]:
        """The chains by name."""
        return {"patches": self.patches} | ({} if self.model is None else {"model": self.model})

    @property
    def n_neurons(self) -> int:
        """Units of both chains."""
        return sum(part.n_neurons for part in self.parts.values())

    @property
    def n_parameters(self) -> int:
        """Weights and biases of both chains, zeros included."""
        return sum(part.n_parameters for part in self.parts.values())

    def decide(self, X: Matrix, *, n_jobs: int | None = None) -> NDArray[np.intp]:
        """Class index of every row of X, as :class:`Network` takes it; -1 where neither patches nor model decide."""
        if self.model is None:
            raise ParameterError("the model behind these patches is no chain of layers: ask the repaired classifier")
        points = as_points(X, n_features=self.n_features, or_none=True)
        patched, answers = (part.decide(points, n_jobs=n_jobs, checked=True) for part in (self.patches, self.model))
        return overruled(patched, answers)

    def header(self) -> dict[str, Any]:
        """The structure, as JSON can hold it."""
        return {name: part.header() for name, part in self.parts.items()}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The numbers, by name."""
        return {f"{name}.{key}": value for name, part in self.parts.items() for key, value in part.tensors().items()}

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> SwitchedNetwork:
        """The inverse of :meth:`header` and :meth:`tensors`."""
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
    """The switch: the patches' class index where there is one, else the model's."""
    return np.where(patched >= 0, patched, answers).astype(np.intp)
