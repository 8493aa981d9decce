"""Radii: lower bounds for chains, from what is proved of their layers; and an upper bound, by search.

The search looks for points close by that have another answer. From a point goes a segment to a place with another
answer; somewhere between the answers change, and bisection finds where. Segments go to the nearest points of other
labels; and, where detectors are known, to the nearest place at which the bits have turned that the detector behind the
point's radius waits for (the least move that turns given bits is a least-distance problem, solved by non-negative least
squares). Nothing is proved by it: what is found is a move that changes an answer, so no larger radius can be certified.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.enclosures import LINEAR, STEP
from ..data import Codes, Floats
from ..network import Network
from ..network.detector_network import DetectorNetwork
from ..network.weights import WeightedMasks
from .layers import ChainLayer
from .record import RadiusMethod

Decide = Callable[[Floats], NDArray[Any]]

ROW_TILE = 4096  # points compared with all probes at a time: 200 x 4096 distances are 6.5 MB
ROUND_UP = 1.0 + 2.0**-50  # more than a few roundings
SMALL_SQUARE = 2.0**-960  # squares above it are right to the last bit: float64 loses digits below 2^-1022 only
PRECISION = 1e-6  # relative, of a change: the table shows three digits
MOST_STEPS = 200  # bisections; PRECISION is reached long before, unless a change is tiny
MOST_ROWS = 200  # attacked: those with the smallest radii
MOST_BITS = 200  # flipped at once: a least-distance problem of 200 constraints takes some milliseconds
BEYOND = (1.0 + 1e-9, 1.0 + 1e-6, 1.001, 1.1, 2.0)  # how far to go on behind the hyperplanes, in moves


@dataclass(frozen=True, eq=False)
class Reach:
    """Bound of how far points may move before an answer can change, from the sums of one layer."""

    # Layers with no activation or ReLU move their signals by at most the product of their spectral norms times as far
    # as the point moves, and a sum by no more than its weights times what each unit before it may move. So no bit of
    # the first threshold layer changes while a point moves by less than |<w, a> + b| over the smaller of the two, for
    # all of its units; and without a threshold layer, no answer while no output moves as far as the answer needs to
    # change. With squared norms appended, units of a threshold layer are spheres (or hyperplanes), and the distance to
    # each of them is known.

    layer: int  # the first threshold layer, or the output
    is_output: bool
    method: RadiusMethod | None  # None if there is no bound
    slopes: Floats  # by how much more than the point each of the layer's sums may move, at most

    @classmethod
    def of(cls, chain: Sequence[ChainLayer], squared: bool) -> Reach:
        """Return what bounds the radius of a chain."""
        kinds = [layer.kind for layer in chain]
        is_output = STEP not in kinds
        index = len(chain) - 1 if is_output else kinds.index(STEP)
        slopes, norm = chain[0].slopes * ROUND_UP, 1.0
        for before, layer in pairwise(chain[: index + 1]):
            # A sum moves by at most what all units before it do together, and by what the units may do one by one.
            norm *= before.norm * ROUND_UP
            grow = 1.0 + (layer.n_inputs + 32) * 2.0**-52
            one_by_one = layer.products(np.zeros((layer.n_inputs, 1)), slopes[:, None])[1][:, 0] * grow
            slopes = np.minimum(layer.slopes * norm, one_by_one) * ROUND_UP
        bends = is_output or bool(set(kinds[:index]) - {LINEAR})
        method: RadiusMethod | None = "Lipschitz bound" if bends else "nearest hyperplane"
        if squared:
            method = "nearest sphere" if index == 0 and not is_output else None
        elif not np.isfinite(slopes).all():
            method = None
        return cls(index, is_output, method, slopes)

    def of_sums(self, layer: ChainLayer, values: Floats, errors: Floats) -> Floats:
        """Return how far each point may move before a bit of this layer changes, from its sums and their radii."""
        gaps = np.maximum(np.abs(values) - errors, 0.0)
        if self.method != "nearest sphere":
            return self.of_gaps(gaps)
        # A unit is f(x) = <w, x> + c |x|^2 + b. With D = |grad f(x)| / |2 c| the distance to the centre and s = f / c,
        # the sphere f = 0 has the squared radius D^2 - s, and is |s| / (D + sqrt(D^2 - s)) away; there is none if D^2 <
        # s. Moreover |grad f|^2 = |w|^2 + 4 c (f - b). Everything is rounded to the side that makes the distance
        # smaller. The square of a tiny curvature is not right to the last bits, and what overflows is infinite or NaN:
        # then nothing is claimed.
        c, bias = layer.last_column[:, None], layer.units.bias[:, None]
        square = (np.maximum(layer.slopes**2 - c[:, 0] ** 2, 0.0) + 2.0**-50 * layer.slopes**2)[:, None]
        with np.errstate(all="ignore"):
            slope = square + 4.0 * c * (values - bias) + 4.0 * abs(c) * errors
            slope += 2.0**-48 * (square + 4.0 * abs(c) * (abs(values) + abs(bias)))
            quarter = 4.0 * c * c
            usable = (quarter > SMALL_SQUARE) & (quarter < np.inf) & (slope < np.inf)
            distance = np.where(usable, np.maximum(slope, 0.0) / quarter, np.inf)
            left = distance - values / c + errors / abs(c) + 2.0**-48 * (distance + abs(values / c))
            away = np.where(left <= 0.0, np.inf, gaps / abs(c) / (np.sqrt(distance) + np.sqrt(left)))
            flat = np.where(square > 0.0, gaps / np.sqrt(square), np.inf)
            away = np.where(gaps > 0.0, np.where(c == 0.0, flat, away), 0.0)
        return np.asarray(np.min(np.where(away > 0.0, away, 0.0), axis=0, initial=np.inf))  # NaN is no claim

    def of_gaps(self, gaps: Floats) -> Floats:
        """Return how far each point may move before an output moves by its gap."""
        flat = self.slopes[:, None] == 0.0
        with np.errstate(over="ignore"):  # a quotient beyond float64 is proved as far as float64 reaches
            quotients = np.minimum(gaps / np.where(flat, 1.0, self.slopes[:, None]), np.finfo(np.float64).max)
        reach = np.where(flat, np.inf, quotients)
        return np.asarray(np.min(reach, axis=0, initial=np.inf), dtype=np.float64)


# ---- By search -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Probes:
    """Segments from training points to their nearest points of another label, shape (n_probes, n_features)."""

    starts: Floats
    ends: Floats


def smallest_change(decide: Decide, probes: Probes, time_limit: float = np.inf) -> float | None:
    """Return the smallest move found that changes an answer, None if none was found.

    When the time is up, the smallest so far counts.
    """
    end = time.monotonic() + time_limit
    own = decide(probes.starts)
    crossing = np.flatnonzero(decide(probes.ends) != own)
    if not len(crossing):
        return None
    starts, own = probes.starts[crossing], own[crossing]
    ways = probes.ends[crossing] - starts
    low, high, lengths = np.zeros(len(starts)), np.ones(len(starts)), _lengths(ways)  # bounds: fractions of the way
    changes = lengths.copy()
    for _ in range(MOST_STEPS):
        # Bisection on all segments at once, but for those that cannot change before the smallest change so far.
        which = np.flatnonzero((high - low > PRECISION * high) & (low * lengths < changes.min()))
        if not len(which):
            break
        middle = (low[which] + high[which]) / 2
        points = starts[which] + middle[:, None] * ways[which]
        changed = decide(points) != own[which]
        low[which[~changed]] = middle[~changed]
        high[which[changed]] = middle[changed]
        changes[which[changed]] = _lengths((points - starts[which])[changed])
        if time.monotonic() > end:
            break
    return float(changes.min() * (1.0 + (starts.shape[1] + 4) * 2.0**-52))  # rounded up: it stays an upper bound


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def nearest_others(X: Floats, codes: Codes, rows: Codes) -> Codes:
    """Return the nearest point of another label for each of some rows; rounding may choose a near tie."""
    starts = X[rows]
    nearest, squares = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), np.inf)
    for low in range(0, len(codes), ROW_TILE):
        tile = X[low : low + ROW_TILE]
        # Squares less those of the starts: enough to compare.
        found = (tile * tile).sum(axis=1) - 2.0 * (starts @ tile.T)
        found[codes[rows][:, None] == codes[low : low + ROW_TILE]] = np.inf
        best = found.argmin(axis=1)
        closest = found[np.arange(len(rows)), best]
        better = closest < squares
        nearest[better], squares[better] = low + best[better], closest[better]
    return nearest


def attack(network: Network, X: Floats, codes: Codes, radii: Floats, setters: Codes | None) -> float | None:
    """Return the smallest move found that changes a right answer; None if none was found.

    Look at the rows with the smallest ``radii`` above zero; ``setters`` are the detectors behind them, -1 for none.
    """
    rows = np.flatnonzero(radii > 0)
    rows = rows[np.argsort(radii[rows], kind="stable")[:MOST_ROWS]]
    if not len(rows) or (codes == codes[0]).all():
        return None
    starts, ends = [X[rows]], [X[nearest_others(X, codes, rows)]]
    detectors = network.detectors
    if detectors is not None and setters is not None and detectors.activation.is_threshold:
        for row in rows[setters[rows] >= 0].tolist():
            move = least_move(detectors, X[row], int(setters[row]))
            if move is not None and np.isfinite(move).all():
                starts += [X[[row]]] * len(BEYOND)
                ends += [X[[row]] + factor * move for factor in BEYOND]
    return smallest_change(network.decide, Probes(np.concatenate(starts), np.concatenate(ends)))


def least_move(detectors: DetectorNetwork, point: Floats, row: int) -> Floats | None:
    """Return the least move that flips enough bits to change a detector's answer, None if too many."""
    W, b = detectors.normals.astype(np.float64), detectors.biases.astype(np.float64)
    norms = np.sqrt(W.multiply(W).sum(axis=1)) if sp.issparse(W) else np.linalg.norm(W, axis=1)
    values = W @ point + b
    on = values > 0
    weights = counted_with(detectors, row)
    count = int(weights[on].sum())
    fires = count < detectors.limits[row]
    gains = np.where(on, -weights, weights) * (1 if fires else -1)
    need = detectors.limits[row] - count if fires else count - detectors.limits[row] + 1
    order = np.argsort(np.abs(values) / norms, kind="stable")
    order = order[gains[order] > 0]
    n = int(np.searchsorted(np.cumsum(gains[order]), need)) + 1
    if n > min(len(order), MOST_BITS):
        return None
    chosen = order[:n]
    signs, rows, move = np.where(on[chosen], -1.0, 1.0), W[chosen], np.zeros_like(point)
    # A least move stays along the features that the hyperplanes look at.
    features = np.unique(rows.indices) if sp.issparse(rows) else np.arange(len(point))
    G = rows[:, features].toarray() if sp.issparse(rows) else rows
    found = least_distance(signs[:, None] * G, np.abs(values[chosen]))
    if found is None:
        return None
    move[features] = found
    return move


def counted_with(detectors: DetectorNetwork, row: int) -> Codes:
    """Return what a detector counts each bit with: 0 or 1, or its weights."""
    if isinstance(detectors.counters, WeightedMasks):
        return np.asarray(detectors.counters.values[row], dtype=np.int64)
    return np.asarray(detectors.counters.bits.take(np.array([row])).to_bool()[0], dtype=np.int64)


def least_distance(G: Floats, h: Floats) -> Floats | None:
    """Return the shortest z with G z >= h, None if there is none (Lawson and Hanson, 1974, chapter 23)."""
    from scipy.optimize import nnls

    scale = np.linalg.norm(G, axis=1)
    G, h = G / scale[:, None], h / scale
    unit = max(float(h.max(initial=0.0)), 5e-324)
    E = np.concatenate([G.T, h[None, :] / unit])
    f = np.zeros(len(E))
    f[-1] = 1.0
    try:
        solution, rest = nnls(E, f)
    except (RuntimeError, np.linalg.LinAlgError):  # too many iterations; SciPy before 1.15 may meet a singular matrix
        return None
    if rest < 1e-12:
        return None
    left = E @ solution - f
    return np.asarray(-left[:-1] / left[-1] * unit)
