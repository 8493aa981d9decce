"""Every way to evaluate a network in a floating-point format that a runtime might choose: orders of sums, with FMA.

NumPy rounds each operation correctly, so these are true IEEE evaluations; fused multiply-adds are emulated exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactfit import Network
from exactfit.network import Sparse, WeightedMasks

Array = NDArray[Any]
Sum = Callable[[Array], Array]  # over the last axis


def forwards(terms: Array) -> Array:
    total = np.zeros(terms.shape[:-1], dtype=terms.dtype)
    for k in range(terms.shape[-1]):
        total = total + terms[..., k]
    return total


def backwards(terms: Array) -> Array:
    return forwards(terms[..., ::-1])


def pairwise(terms: Array) -> Array:
    while terms.shape[-1] > 1:
        if terms.shape[-1] % 2:
            terms = np.concatenate([terms, np.zeros_like(terms[..., :1])], axis=-1)
        terms = terms[..., ::2] + terms[..., 1::2]
    return terms[..., 0]


def in_lanes(terms: Array) -> Array:
    """As a vector unit does: four partial sums, joined at the end."""
    return pairwise(np.stack([forwards(terms[..., k::4]) for k in range(4)], axis=-1))


def shuffled(terms: Array) -> Array:
    return forwards(terms[..., np.random.default_rng(0).permutation(terms.shape[-1])])


def largest_first(terms: Array) -> Array:
    return forwards(np.take_along_axis(terms, np.argsort(-np.abs(terms), axis=-1), axis=-1))


SUMS: dict[str, Sum] = {
    name.__name__: name for name in (forwards, backwards, pairwise, in_lanes, shuffled, largest_first)
}


def fma32(a: Array, b: Array, c: Array) -> Array:
    """round(a b + c) in float32: the product is exact in float64, the sum is rounded to odd there, then once more.

    Rounding to odd keeps what the second rounding needs to know (Boldo and Melquiond 2008).
    """
    p, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    return _sum_to_odd(p, c).astype(np.float32)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """The same in float64: a b as two numbers (Dekker), and what is below the last sum rounded to odd.

    The algorithm is the one of Boldo and Melquiond too; where something might leave its range, fractions decide.
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (a, b, c)))
    with np.errstate(all="ignore"):
        high, low = _product(a, b)
        above, below = _sum(c, low)
        total, rest = _sum(high, above)
        fused = total + _sum_to_odd(below, rest)
    near = np.all([(part == 0) | ((np.abs(part) > 1e-100) & (np.abs(part) < 1e100)) for part in (a, b, c)], axis=0)
    for place in zip(*np.nonzero(~near), strict=True):
        fused[place] = float(Fraction(a[place]) * Fraction(b[place]) + Fraction(c[place]))
    return fused


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and what that left out."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    p = a * b
    high_a, high_b = 134217729.0 * a, 134217729.0 * b
    high_a, high_b = high_a - (high_a - a), high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    return p, low_a * low_b - (((p - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _sum_to_odd(a: Array, b: Array) -> Array:
    """a + b; where that is not exact, the neighbour whose last bit is one."""
    s, error = _sum(a, b)
    even = s.view(np.int64) % 2 == 0
    return np.where((error != 0) & even, np.nextafter(s, np.where(error > 0, np.inf, -np.inf)), s)


def _rounded(values: Array, dtype: str) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def first_layers(network: Network, X: Array, dtype: str) -> Iterator[tuple[str, Array]]:
    """<w, x> + b for all points and hyperplanes, in every way."""
    layer = network.layers[0]
    weights = layer.weights.rows.toarray() if isinstance(layer.weights, Sparse) else layer.weights.values
    W, b, x = (_rounded(part, dtype) for part in (weights, layer.bias, X))
    terms = x[:, None, :] * W[None, :, :]
    with_bias = np.concatenate([np.broadcast_to(b[None, :, None], (*terms.shape[:2], 1)), terms], axis=-1)
    for name, add in SUMS.items():
        yield f"{name}, bias last", add(terms) + b
        yield f"{name}, bias among them", add(with_bias)
    yield "matrix product", x @ W.T + b
    fma = fma32 if dtype == "float32" else fma64
    for name, order, begin in [("forwards", 1, b), ("backwards", -1, b), ("from zero", 1, np.zeros_like(b))]:
        total = np.broadcast_to(begin, terms.shape[:2])
        for j in range(W.shape[1])[::order]:
            total = fma(np.broadcast_to(x[:, j, None], total.shape), np.broadcast_to(W[:, j], total.shape), total)
        yield f"fused, {name}", total if begin is b else total + b


def evaluations(network: Network, X: Array, dtype: str) -> Iterator[tuple[str, Array]]:
    """Class indices of all points, for a network of the paper's form, in every way."""
    activation = network.layers[0].activation
    for name, values in first_layers(network, X, dtype):
        if activation.is_threshold:
            yield name, _decide(network, network.layers[1].bias - (values > 0) @ _masks(network).T.astype(np.int64))
            continue
        ramps = np.maximum(values, 0)[:, None, :] * _masks(network)[None, :, :].astype(dtype)
        limits = _rounded(network.layers[1].bias, dtype)
        for inner in (forwards, pairwise, backwards):
            yield f"{name}, {inner.__name__}", _decide(network, limits - inner(ramps))
            within = np.concatenate([np.broadcast_to(limits[None, :, None], (*ramps.shape[:2], 1)), -ramps], axis=-1)
            yield f"{name}, {inner.__name__} from the limit", _decide(network, inner(within))


def _masks(network: Network) -> Array:
    """What detectors count with: masks, or weights."""
    weights = network.layers[1].weights
    return np.asarray(weights.values if isinstance(weights, WeightedMasks) else weights.bits.to_bool())


def _decide(network: Network, above: Array) -> Array:
    output = network.layers[2]
    fired = (above > 0).astype(np.int64) @ output.weights.bits.to_bool().T.astype(np.int64)
    return np.asarray(network.decoder(output.weights.sign * fired))
