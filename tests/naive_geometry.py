"""Slow, obvious twins of the geometry: exact numbers, all pairs."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np


def square(x, y):
    """Squared distance, exactly."""
    return sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, y, strict=True))


def signed_cosine(x, y):
    """Cosine times its absolute value, exactly; None without a direction."""
    a, b = [Fraction(float(v)) for v in x], [Fraction(float(v)) for v in y]
    dot = sum(p * q for p, q in zip(a, b, strict=True))
    norms = sum(p * p for p in a) * sum(q * q for q in b)
    return dot * abs(dot) / norms if norms else None


def pairs(n, y):
    return [(i, j) for i, j in combinations(range(n), 2) if y is None or y[i] != y[j]]


def closest(X, y=None):
    """The closest pair, the lowest rows on a tie."""
    return min(pairs(len(X), y), key=lambda pair: (square(X[pair[0]], X[pair[1]]), pair))


def narrowest(X, y=None):
    """The pair with the smallest angle, the lowest rows on a tie; None if there is none."""
    angles = {pair: signed_cosine(X[pair[0]], X[pair[1]]) for pair in pairs(len(X), y)}
    return min((-value, pair) for pair, value in angles.items() if value is not None)[1]


def nearest_rows(X, y):
    """For every point the nearest one of another label, the lowest row on a tie."""
    n = len(X)
    return [min((square(X[i], X[j]), j) for j in range(n) if y[i] != y[j])[1] for i in range(n)]


def limit_cover(X, y, k, order):
    """Anchors of class k in the limit: rows in the given order, open balls up to the nearest other point."""
    waiting, anchors = {row for row in range(len(X)) if y[row] == k}, []
    nearest = nearest_rows(X, y)
    for row in order:
        if row in waiting:
            reach = square(X[row], X[nearest[row]])
            waiting -= {other for other in waiting if square(X[row], X[other]) < reach}
            anchors.append(row)
    return anchors


def admissible(radius, gap_square, max_bias, constant):
    """r <= constant t / sqrt(log(e max_bias / t)), with fifty digits."""
    with localcontext() as context:
        context.prec = 50
        t = (Decimal(gap_square.numerator) / Decimal(gap_square.denominator)).sqrt()
        if t == 0 or t >= Decimal(1).exp() * Decimal(max_bias):
            return False
        bound = Decimal(constant) * t / (1 + (Decimal(max_bias) / t).ln()).sqrt()
        return Decimal(radius) <= bound * (1 + Decimal(10) ** -40)


def broken_conditions(X, y, target, balls, max_bias, constant):
    """The conditions of a mutual covering that fail, as (condition, side, row); balls[side] = centres and radii."""
    broken = set()
    if max_bias < max(np.sqrt((np.asarray(X, dtype=float) ** 2).sum(axis=1))):
        broken.add(("max_bias", "both", -1))
    for side, other in (("target", "rest"), ("rest", "target")):
        members = [row for row in range(len(X)) if (y[row] == target) == (side == "target")]
        centers, radii = balls[side]
        broken |= {("class", side, row) for row in centers if row not in members}
        for row in members:
            if not any(square(X[row], X[c]) <= Fraction(float(r)) ** 2 for c, r in zip(centers, radii, strict=True)):
                broken.add(("cover", side, row))
        for c, r in zip(centers, radii, strict=True):
            gap = min(square(X[c], X[other_center]) for other_center in balls[other][0])
            if not admissible(float(r), gap, max_bias, constant):
                broken.add(("radius", side, c))
    return broken
