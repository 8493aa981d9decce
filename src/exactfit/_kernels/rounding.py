"""Floating-point formats, what an evaluation of <w, x> + b may err by in one, and the bits that all of them agree on.

``certificate/paper_form.py`` states and proves the bound. Certificates and constructions share its formula and
nothing else.

Sure bits: a value v = <w, x> + b computed here, in float64, is off by at most B, the format's evaluations
by at most B' (``error_bound``, for w, x and b that the format holds). So v > B + B' is on in all of
them. B counts four times, so that a certificate, whose own float64 value may differ by 2 B from
this one and which then asks for v > B + B', never sees less than what is relied on here.

With a margin r a bit must moreover be the same wherever the point moves by at most r: its value then changes by at
most r |w|, and evaluations of it err by at most B' for a point of norm |x| + r.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compile import compiled

EXACT_INTEGERS = 2**53  # float64 holds every integer up to this one, and not the next


class Format(NamedTuple):
    """A floating-point format: unit roundoff, smallest normal number and its exponent, what sums stay below, digits.

    ``pad`` pays for underflow (see ``certificate/paper_form.py``).
    """

    unit: float
    tiny: float
    lowest: int
    huge: float
    digits: int
    pad: float


FLOAT64 = Format(2.0**-53, 2.0**-1022, -1022, 2.0**1022, 53, 2.0**-967)
FLOAT32 = Format(2.0**-24, 2.0**-126, -126, 2.0**126, 24, 2.0**-100)

ENLARGE = 1.0 + 2.0**-40  # more than the few roundings that a bound itself suffers


@compiled
def gamma(terms, unit):
    """(k u) / (1 - k u) with k = terms + 5, rounded up; infinite beyond k u = 1/4."""
    part = (terms + 5) * unit
    return part / (1.0 - part) * ENLARGE if part < 0.25 else np.inf


@compiled
def error_bound(factor, size, point_norm, plane_norm, form):
    """Return the error bound of an evaluation in a format; absolute products and bias add up to at most ``size``."""
    if not (size < form.huge and point_norm < form.huge and plane_norm < form.huge):
        return np.inf
    return factor * (size + form.pad * (point_norm + plane_norm + 1.0))


EXACT = Format(0.0, 2.0**-1022, -1022, 2.0**1022, 53, 0.0)  # no format: nothing is rounded
LARGER = 1.0 + 2.0**-20  # more than a certificate's own, coarser bounds can take away from a margin


class SurePlanes(NamedTuple):
    """A block of hyperplanes: weights in float64, biases, upper bounds of norms, weights that are not zero.

    Row j of the weights is ``weights[starts[j]:starts[j + 1]]``, for the features of the same places in
    ``features``, or for all where these are empty. ``columns`` is the only feature that a coordinate cut looks at
    (its weight, a power of two, in ``cuts``), -1 for any other hyperplane.
    """

    weights: Any
    starts: Any
    features: Any
    bias: Any
    norms: Any
    terms: Any
    columns: Any
    cuts: Any


@compiled
def line_of(planes, j, point):
    """Return the weights of a hyperplane and the numbers of a point that they meet."""
    first, last = planes.starts[j], planes.starts[j + 1]
    if planes.features.shape[0] == 0:
        return planes.weights[first:last], point[: last - first]  # none where no weight is stored at all
    met = np.empty(last - first)
    for k in range(first, last):
        met[k - first] = point[planes.features[k]]
    return planes.weights[first:last], met


@compiled
def is_sure(value, size, terms, point_norm, plane_norm, form):
    """Whether no evaluation in the format can turn the sign of the value."""
    here = error_bound(gamma(terms, FLOAT64.unit), size, point_norm, plane_norm, FLOAT64)
    there = error_bound(gamma(terms, form.unit), size, point_norm, plane_norm, form)
    return abs(value) > 4.0 * here + there


@compiled
def underflows(value, form):
    """Whether flushing to zero would change the value."""
    return 0.0 < abs(value) < form.tiny


@compiled
def cut_is_sure(entry, product, bias, form):
    """Whether product + bias > 0 has one answer only: one rounded addition keeps the sign of the exact one."""
    if not (abs(product) < form.huge and abs(bias) < form.huge):
        return False
    flushed = underflows(entry, form) or underflows(product, form) or underflows(bias, form)
    return not (flushed or underflows(product + bias, form))


@compiled
def closer_size(weights, point, bias):
    """Return an upper bound of sum |w_j x_j| + |b| (but for underflow), and the number of products other than zero."""
    total, terms = abs(bias), 0
    for j in range(point.shape[0]):
        if point[j] != 0.0 and weights[j] != 0.0:
            total += abs(weights[j] * point[j])
            terms += 1
    return total * (1.0 + (terms + 5) * 2.0**-52), terms


class SureRows(NamedTuple):
    """A tile of points in float64, upper bounds of their norms, and how many numbers of each are not zero."""

    points: Any
    norms: Any
    terms: Any


@compiled
def sure_bits(products, rows, margin, planes, form, start, on, maybe):
    """Bits of a tile of points from the products <w, x>: on in every evaluation, and on in some.

    With a margin: wherever points move by at most so much. Fills columns ``start``.. of the word-major arrays.
    """
    n, points, norms = planes.bias.shape[0], rows.points, rows.norms
    factors, factors64 = np.empty(n), np.empty(n)
    for j in range(n):
        factors[j], factors64[j] = gamma(planes.terms[j], form.unit), gamma(planes.terms[j], FLOAT64.unit)
    for i in range(points.shape[0]):
        moved = (norms[i] + margin) * LARGER
        for first in range(0, n, 64):
            word, open_word = np.uint64(0), np.uint64(0)
            for j in range(first, min(first + 64, n)):
                bias, column, plane = planes.bias[j], planes.columns[j], planes.norms[j]
                value = products[i, j] + bias
                size = norms[i] * plane + abs(bias)
                if margin > 0.0:
                    # No closer look at the features: the margin is far larger than what it could gain.
                    here = error_bound(factors64[j], size, norms[i], plane, FLOAT64)
                    there = error_bound(factors[j], moved * plane + abs(bias), moved, plane, form)
                    sure = abs(value) > 4.0 * here + (there + margin * plane) * LARGER
                elif column >= 0:
                    product = planes.cuts[j] * points[i, column]
                    sure = cut_is_sure(points[i, column], product, bias, form)
                    value = 1.0 if product > -bias else -1.0
                else:
                    # Nearly all are decided by norms alone; only the others cost a pass over the features.
                    sure = is_sure(value, size, min(rows.terms[i], planes.terms[j]), norms[i], plane, form)
                    if not sure:
                        weights, met = line_of(planes, j, points[i])
                        size, count = closer_size(weights, met, bias)
                        sure = is_sure(value, size, count, norms[i], plane, form)
                bit = np.uint64(1) << np.uint64(j - first)
                if not sure:
                    open_word |= bit
                elif value > 0:
                    word |= bit
            on[first // 64, start + i] = word
            maybe[first // 64, start + i] = word | open_word
