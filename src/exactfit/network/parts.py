"""Networks of the paper's form side by side in one, and each of them again.

The one network has all hyperplanes and all detectors; a detector counts with zeros at the hyperplanes of
others. So its outputs add up what fires in any of them, and it claims what one of them claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bits import BitMatrix
from .network import Layer, Network
from .weights import Dense, Masks, WeightedMasks

Starts = NDArray[np.int64]
Counters = Masks | WeightedMasks


def starts_of(sizes: Sequence[int]) -> Starts:
    """Where each of some parts begins, and the end of the last."""
    return np.cumsum([0, *sizes]).astype(np.int64)


def side_by_side(networks: Sequence[Network]) -> Network:
    """One network that holds them all, in their order."""
    firsts, seconds, lasts = zip(*(network.layers for network in networks), strict=True)
    planes = Dense(np.concatenate([_dense(layer) for layer in firsts]))
    places = starts_of([layer.n_units for layer in firsts])
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


def parts_of(network: Network, hyperplanes: Starts, detectors: Starts) -> tuple[Network, ...]:
    """The networks that :func:`side_by_side` put into one; itself where nothing says that there are several."""
    if not len(hyperplanes):
        return (network,)
    return tuple(
        _part(network, slice(*planes), slice(*rows))
        for planes, rows in zip(pairwise(hyperplanes.tolist()), pairwise(detectors.tolist()), strict=True)
    )


def _part(network: Network, planes: slice, rows: slice) -> Network:
    first, second, last = network.layers
    assert isinstance(second.weights, Masks | WeightedMasks)
    assert isinstance(last.weights, Masks)
    claims = BitMatrix.from_bool(last.weights.bits.to_bool()[:, rows])
    layers = (
        replace(first, weights=Dense(_dense(first)[planes]), bias=first.bias[planes]),
        replace(second, weights=_cut(second.weights, planes, rows), bias=second.bias[rows]),
        replace(last, weights=Masks(claims, last.weights.sign)),
    )
    return replace(network, layers=layers)


def _cut(counters: Counters, planes: slice, rows: slice) -> Counters:
    if isinstance(counters, WeightedMasks):
        return WeightedMasks(np.ascontiguousarray(counters.values[rows, planes]), counters.sign)
    return Masks(BitMatrix.from_bool(counters.bits.take(rows).to_bool()[:, planes]), counters.sign)


def are_apart(network: Network, hyperplanes: Starts, detectors: Starts) -> bool:
    """Whether every detector counts with hyperplanes of its own part only."""
    weights = network.layers[1].weights
    assert isinstance(weights, Masks | WeightedMasks)
    return weights.n_nonzero == sum(
        part.layers[1].weights.n_nonzero for part in parts_of(network, hyperplanes, detectors)
    )
