"""Small networks and problems that the tests of certificates share, and what they answer, by definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactfit.network import Decoder, Dense, Layer, Network
from exactfit.network.activations import THRESHOLD
from exactfit.network.weights import WeightedMasks


def whole(values) -> np.ndarray:
    array = np.array(values, dtype=object)
    return array.reshape(np.shape(values))


def line(activation, weights, bias, out, out_bias, decoder) -> Network:
    """Units of one input each, and an output."""
    first = Layer(Dense(np.array(weights, dtype=float)[:, None]), np.array(bias, dtype=float), activation)
    return Network(
        (first, Layer(Dense(np.array([out], dtype=float)), np.array([out_bias], dtype=float), None)), decoder
    )


STEPS = line(THRESHOLD, [1, 1], [-0.3, -0.7], [1, 1], 0, Decoder("nearest", (0, 1, 2), (0.0, 1.0, 2.0)))


def small_problem(rng: np.random.Generator, d: int = 2, n: int = 9, points: int = 10, classes: int = 3, law="gauss"):
    """Points on a grid or in general position, and hyperplanes of which some touch points."""
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, points - classes)])
    if law == "grid":
        X, W = rng.integers(-2, 3, (points, d)).astype(float), rng.integers(-2, 3, (n, d)).astype(float)
        return X, y, W, rng.integers(-3, 4, n).astype(float)
    X, W = rng.normal(size=(points, d)), rng.normal(size=(n, d)).astype(np.float32)
    b = rng.normal(size=n)
    if law == "mixed":
        X *= 10.0 ** rng.integers(-300, 300, (points, d))
        W = W.astype(np.float64) * 10.0 ** rng.integers(-300, 300, (n, d))
        b *= 10.0 ** rng.integers(-300, 300, n)
    if law == "cuts":
        axes, signs = rng.integers(0, d, n), rng.choice([-1.0, 1.0], n)
        W = np.zeros((n, d))
        W[np.arange(n), axes] = signs
        b = -signs * X[rng.integers(0, points, n), axes]
    if law == "touching":
        W = W.astype(np.float64)
        b = np.array([-np.dot(w, X[k]) for w, k in zip(W, rng.integers(0, points, n), strict=True)])
    return X, y, W, b


def changed(network: Network, index: int, **parts) -> Network:
    layers = list(network.layers)
    layers[index] = replace(layers[index], **parts)
    return Network(tuple(layers), network.decoder, network.input_map)


def weights_of(detectors) -> np.ndarray:
    if isinstance(detectors.counters, WeightedMasks):
        return detectors.counters.values.astype(np.int64)
    return detectors.counters.bits.to_bool().astype(np.int64)


def answer(detectors, bits: np.ndarray) -> int:
    """The class index of a pattern, -1 for none."""
    fires = weights_of(detectors) @ bits < detectors.limits
    claims = {int(owner) for owner in detectors.outputs[fires]}
    if detectors.decoder.kind == "sign":
        return detectors.decoder.classes[0] if claims else detectors.decoder.classes[1]
    return detectors.decoder.classes[claims.pop()] if len(claims) == 1 else -1


def distances_to(detectors, x: np.ndarray) -> np.ndarray:
    planes = detectors.normals.astype(np.float64)
    return np.abs(planes @ x + detectors.biases) / np.linalg.norm(planes, axis=1)
