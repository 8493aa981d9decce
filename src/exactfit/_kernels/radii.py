"""How far a point may move before its answer can change: the compiled half of certified radii.

A move by t can only flip the bits within t of the point. So with the bits in order of their distance, a
detector's answer stands until enough of them lie in the first places: ``limit - count`` in |v| whose flip raises
the count of one that fires, ``count - limit + 1`` whose flip lowers it of one that does not. Only the least place
over many detectors (or the greatest) is wanted: one count over the places up to the best so far rules out
nearly every detector, and the few others shift that set bit by bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .certify import absolute_sum, masked_count
from .compile import compiled, popcount
from .enclosures import factors_of
from .rounding import error_bound, gamma

BELOW = 1.0 - 2.0**-50  # more than the few roundings that a distance suffers on its way
NO_DETECTOR = -1  # no detector sets a radius: it is infinite, or the point is wrong


class DetectorBatch(NamedTuple):
    """Detectors: masks as lines of words or weights as lines of int8, limits, and the outputs that they speak for."""

    counters: Any
    limits: Any
    owners: Any


@compiled
def distances_in(gaps, rows, points, planes, form, out):
    """Lower bounds of how far each point is from turning each bit in some evaluation in a format.

    A point moved by t has a norm of at most |x| + t, so its value errs by at most
    factor (|w| (|x| + t) + |b| + pad (|w| + |x| + t + 1)), while it changes by at most t |w|: linear in t.
    Where few features are looked at, sum |w_j x_j| + |w| t is used for |w| (|x| + t).
    In exact arithmetic: the distance to the hyperplane.
    """
    is_rounded, is_sparse = form.unit > 0.0, planes.features.shape[0] > 0
    for i in range(gaps.shape[0]):
        norm = points.norms[i]
        for j in range(gaps.shape[1]):
            plane, bias = planes.norms[j], abs(planes.bias[j])
            room, speed = gaps[i, j], plane
            if is_rounded:
                factor, size = gamma(planes.terms[j], form.unit), plane * norm
                if is_sparse:
                    weights, numbers = factors_of(planes, j, rows[i])
                    size = min(size, absolute_sum(weights, numbers)[0])
                room -= error_bound(factor, size + bias, norm, plane, form)
                speed = plane + factor * (plane + form.pad)
            if not room > 0.0:
                out[i, j] = 0.0
            elif plane == 0.0:
                out[i, j] = np.inf
            else:
                away = np.nextafter(room / speed * BELOW, 0.0)
                large = plane * (norm + away) + bias + norm + away
                out[i, j] = away if not is_rounded or large < form.huge else 0.0


@compiled
def bit_of(line, j):
    """Whether bit j of a line of words is on."""
    return (line[j // 64] >> np.uint64(j % 64)) & np.uint64(1) == np.uint64(1)


@compiled
def flip(line, j):
    """Turn bit j of a line of words."""
    line[j // 64] ^= np.uint64(1) << np.uint64(j % 64)


@compiled
def common(line, mask, near):
    """How many bits are on in all three."""
    count = 0
    for w in range(mask.shape[0]):
        count += popcount(line[w] & mask[w] & near[w])
    return count


@compiled
def longest_claim(off, on, order, batch, own):
    """Places until the last of a point's own firing detectors may fall silent, and that detector.

    A place p stands for the first p bits; beyond all of them: never. Zero if none fires.
    """
    n = order.shape[0]
    near = np.zeros_like(on)
    place, setter = 0, NO_DETECTOR
    for m in range(batch.limits.shape[0]):
        if batch.owners[m] != own or place > n:
            continue
        mask = batch.counters[m]
        need = batch.limits[m] - masked_count(on, mask)
        if need <= 0:
            continue
        count = common(off, mask, near)
        if setter != NO_DETECTOR and count >= need:
            continue
        while count < need and place < n:
            j = order[place]
            flip(near, j)
            place += 1
            if bit_of(mask, j) and bit_of(off, j):
                count += 1
        setter = m
        if count < need:
            place = n + 1
    return place, setter


@compiled
def first_intruder(on, order, batch, own):
    """Places until the first detector of another class may fire, and that detector; zero if one does already."""
    n = order.shape[0]
    near = np.zeros_like(on)
    for j in range(n):
        flip(near, j)
    place, setter = n + 1, NO_DETECTOR  # near holds the first place - 1 bits
    for m in range(batch.limits.shape[0]):
        if batch.owners[m] == own:
            continue
        mask = batch.counters[m]
        need = masked_count(on, mask) - batch.limits[m] + 1
        if need <= 0:
            return 0, m
        count = common(on, mask, near)
        if count < need:
            continue
        setter = m
        while count >= need:
            place -= 1
            j = order[place - 1]
            flip(near, j)
            if bit_of(mask, j) and bit_of(on, j):
                count -= 1
    return place, setter


@compiled
def places_until(need, way, signs, weights, order, most):
    """Places until flips can turn a weighted count up (way -1) or down (1) by ``need``; ``most`` + 1 if they cannot."""
    count = np.int64(0)
    for p in range(most):
        j = order[p]
        gain = way * np.int64(signs[j]) * np.int64(weights[j])
        count += gain if gain > 0 else 0
        if count >= need:
            return p + 1
    return most + 1


@compiled
def longest_weighted_claim(signs, order, batch, own):
    """As ``longest_claim``, for weights; signs are 1 where a bit is on and -1 where it is off."""
    n = order.shape[0]
    place, setter = 0, NO_DETECTOR
    for m in range(batch.limits.shape[0]):
        if batch.owners[m] == own and place <= n:
            need = batch.limits[m] - weighted_count(signs, batch.counters[m])
            p = places_until(need, -1, signs, batch.counters[m], order, n) if need > 0 else 0
            if p > place:
                place, setter = p, m
    return place, setter


@compiled
def first_weighted_intruder(signs, order, batch, own):
    """As ``first_intruder``, for weights."""
    n = order.shape[0]
    place, setter = n + 1, NO_DETECTOR
    for m in range(batch.limits.shape[0]):
        if batch.owners[m] != own:
            need = weighted_count(signs, batch.counters[m]) - batch.limits[m] + 1
            if need <= 0:
                return 0, m
            p = places_until(need, 1, signs, batch.counters[m], order, place - 1)
            if p < place:
                place, setter = p, m
    return place, setter


@compiled
def weighted_count(signs, weights):
    """The sum of the weights of the bits that are on."""
    count = np.int64(0)
    for j in range(weights.shape[0]):
        count += np.int64(weights[j]) if signs[j] > 0 else np.int64(0)
    return count


@compiled
def first_change(distances, order, claim, intrusion):
    """The radius and who sets it: whichever comes first, the end of all claims or an intrusion (place, detector)."""
    place, setter = claim if claim[0] <= intrusion[0] else intrusion
    if place > order.shape[0]:
        return np.inf, NO_DETECTOR
    return distances[order[place - 1]] if place > 0 else 0.0, setter


@compiled
def radii_of_masks(on, distances, orders, batch, own, silent, radii, setters):
    """A radius for every point, and the detector that sets it; ``silent`` is the class that no detector speaks for."""
    n = orders.shape[1]
    for i in range(on.shape[0]):
        off = on[i] ^ on[i]
        for j in range(n):
            if not bit_of(on[i], j):
                flip(off, j)
        claim = longest_claim(off, on[i], orders[i], batch, own[i]) if own[i] != silent else (n + 1, NO_DETECTOR)
        intrusion = first_intruder(on[i], orders[i], batch, own[i])
        radii[i], setters[i] = first_change(distances[i], orders[i], claim, intrusion)


@compiled
def radii_of_weights(on, distances, orders, batch, own, silent, radii, setters):
    """As ``radii_of_masks``, for weighted detectors."""
    n = orders.shape[1]
    signs = np.empty(n, np.int8)
    for i in range(on.shape[0]):
        for j in range(n):
            signs[j] = 1 if bit_of(on[i], j) else -1
        claim = longest_weighted_claim(signs, orders[i], batch, own[i]) if own[i] != silent else (n + 1, NO_DETECTOR)
        intrusion = first_weighted_intruder(signs, orders[i], batch, own[i])
        radii[i], setters[i] = first_change(distances[i], orders[i], claim, intrusion)
