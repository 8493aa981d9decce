"""Distances that points may move before their answers can change: the compiled half of certified radii.

A move by t can only flip the bits within t of the point. So with the bits in order of their distance, a
detector's answer stands until enough of them lie in the first places: ``limit - count`` in weights whose flip raises
the count of one that fires, ``count - limit + 1`` whose flip lowers it of one that does not. Only the least place
over the detectors of other classes (and the greatest over those of the own class) is wanted, and hardly any detector
is looked at beyond the best place so far.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .certify import absolute_sum, factors_of
from .compile import compiled
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
    """Lower bounds of how far each point is from turning each bit in some evaluation in a format."""
    # In exact arithmetic (``rounding.EXACT``): the distance to the hyperplane.
    # A point moved by t has a norm of at most |x| + t, so its value errs by at most
    # factor (|w| (|x| + t) + |b| + pad (|w| + |x| + t + 1)), while it changes by at most t |w|: linear in t.
    # Where few features are looked at, sum |w_j x_j| + |w| t is used for |w| (|x| + t).
    is_rounded, is_sparse = form.unit > 0.0, planes.features.shape[0] > 0
    for i in range(gaps.shape[0]):
        norm = points.norms[i]
        for j in range(gaps.shape[1]):
            plane, bias = planes.norms[j], abs(planes.bias[j])
            left, speed = gaps[i, j], plane
            if is_rounded:
                factor, size = gamma(planes.terms[j], form.unit), plane * norm
                if is_sparse:
                    weights, numbers = factors_of(planes, j, rows[i])
                    size = min(size, absolute_sum(weights, numbers)[0])
                left -= error_bound(factor, size + bias, norm, plane, form)
                speed = plane + factor * (plane + form.pad)
            if not left > 0.0:
                out[i, j] = 0.0
            elif plane == 0.0:
                out[i, j] = np.inf
            else:
                away = np.nextafter(left / speed * BELOW, 0.0)
                large = plane * (norm + away) + bias + norm + away
                out[i, j] = away if not is_rounded or large < form.huge else 0.0


@compiled
def bit_of(line, j):
    """Bit j of a line of words, as 0 or 1."""
    return np.int64((np.uint64(line[j // 64]) >> np.uint64(j % 64)) & np.uint64(1))


@compiled
def places_until(need, way, on, counter, is_mask, order, most):
    """Places until flips can turn a count up (way 1) or down (-1) by ``need``; ``most`` + 1 if they cannot."""
    gained = np.int64(0)
    for p in range(most):
        j = order[p]
        weight = bit_of(counter, j) if is_mask else np.int64(counter[j])
        gained += max(way * (1 - 2 * bit_of(on, j)) * weight, 0)
        if gained >= need:
            return p + 1
    return most + 1


@compiled
def find_radii(on, distances, orders, margins, batch, largest, own, silent, radii, setters):
    """Find a radius for every point, and the detector that sets it; ``silent`` points need none."""
    # ``margins[i, m]`` is limit - count; ``largest`` the largest weight, 0 for masks.
    n, is_mask = orders.shape[1], largest == 0
    for i in range(on.shape[0]):
        # A place p stands for the first p bits; n + 1: never. The own class holds until the last of its detectors may
        # fall silent, and others stay away until the first of theirs may fire.
        last, keeper = n + 1 if silent[i] else 0, NO_DETECTOR
        first, intruder = n + 1, NO_DETECTOR
        for m in range(margins.shape[1]):
            margin = margins[i, m]
            if batch.owners[m] == own[i]:
                if margin > 0 and last <= n:
                    place = places_until(margin, 1, on[i], batch.counters[m], is_mask, orders[i], n)
                    if place > last:
                        last, keeper = place, m
            elif margin > 0:
                first, intruder = 0, m
                break
            elif 1 - margin <= (first - 1) * max(largest, 1):  # else even the largest gains do not suffice in time
                place = places_until(1 - margin, -1, on[i], batch.counters[m], is_mask, orders[i], first - 1)
                if place < first:
                    first, intruder = place, m
        place, setters[i] = (last, keeper) if last <= first else (first, intruder)
        radii[i] = 0.0 if place == 0 else np.inf if place > n else distances[i, orders[i, place - 1]]
        if place > n:
            setters[i] = NO_DETECTOR
