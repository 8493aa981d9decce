"""Exactness, attacked in bulk and counted: ``python -m benchmarks reliability --size 1000000000``.

*Sides*: every side of every point and hyperplane of random networks, and every answer, beside exact integers: numbers
are cut into pieces of some bits, whose products BLAS adds up without rounding. *Orders*: networks with ``exact_in``,
evaluated on their training points with sums in other orders, with and without fused multiply-adds. *Moves*: training
points moved by just below their certified radii. Nothing may differ. A case goes on with new networks until it has
counted ``--size`` sums; the rows say how many networks, sums and answers there were.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_moons

from exactfit import ExactfitError, Network, certify
from exactfit.construct import Construction, Options, adaptive_width, fixed_width
from exactfit.network.sides import sides

from .cases import Case, Row, Settings
from .weighted import markdown

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.attacks import evaluations, moves_towards

SUMS = 10**7  # in a case, unless --size says more
ENTRIES = 2**22  # products of a tile: 32 MB
ON_PLANES = 20  # hyperplanes that a point is put on: sides are hardest to tell there
EXACT_BITS = 53  # of a whole number that float64 holds
LAWS = ("gaussian", "bisector")
Points = np.ndarray


@dataclass
class Tally:
    """What a case has seen so far."""

    networks: int = 0
    sums: int = 0
    answers: int = 0
    different: int = 0

    def row(self, what: str) -> list[Row]:
        """The one row of a case."""
        return [{"what": what, "networks": self.networks, "sums": self.sums, "answers": self.answers}
                | {"different": self.different}]  # fmt: skip


def problem(rng: np.random.Generator) -> tuple[Points, np.ndarray]:
    """Points of one of several kinds, with labels of two or three classes: smooth ones, whole ones, real ones."""
    kind, n, k = rng.integers(5), int(rng.integers(50, 600)), int(rng.integers(2, 4))
    if kind == 0:
        X = rng.standard_normal((n, int(rng.integers(1, 65))))
    elif kind == 1:
        X = rng.integers(0, 50, (n, int(rng.integers(2, 30)))).astype(np.float64)
    elif kind == 2:
        X = rng.standard_normal((n, 5)) * 2.0 ** rng.integers(-20, 20, 5) + rng.standard_normal(5)
    elif kind == 3:
        X, y = make_moons(n, noise=0.1, random_state=int(rng.integers(2**31)))
        return X, y
    else:
        X, y = load_digits(return_X_y=True)
        few = rng.permutation(len(X))[:n]
        return X[few], y[few]
    X = np.unique(X, axis=0)
    return X, np.arange(len(X)) % k if rng.random() < 0.5 else (X @ rng.standard_normal(X.shape[1]) > 0).astype(int)


def until_enough(
    tally: Tally, options: Settings, make: Callable[[Any, np.random.Generator], Any]
) -> Iterator[tuple[Points, np.ndarray, Any]]:
    """Problems, and a network for each one for which there is one, until so many sums are counted."""
    for number in itertools.count():
        rng = np.random.default_rng(number)
        X, y = problem(rng)
        if len(np.unique(y)) > 1:
            with suppress(ExactfitError):  # exact_in may have no network, or none so narrow, for points so close
                made = make((X, y), rng)
                yield X, y, made
                tally.networks += 1
        if tally.sums >= (options.size or SUMS):
            return


# ---- Sides, by exact integers ---------------------------------------------------------------------------------


def pieces(values: np.ndarray, bits: int) -> tuple[list[np.ndarray], int]:
    """Whole numbers below 2^bits in size, lowest first, that make up the values in units of 2^unit; and the unit."""
    mantissas, exponents = np.frexp(values[values != 0])
    if not len(mantissas):
        return [values], 0
    whole = (mantissas * 2.0**EXACT_BITS).astype(np.int64)
    trailing = np.log2((whole & -whole).astype(np.float64)).astype(np.int64)  # zero bits at the end
    unit = int((exponents - EXACT_BITS + trailing).min())
    count = -(-(int(exponents.max()) - unit) // bits)
    rest, found = np.ldexp(values, -unit), []
    for place in reversed(range(count)):
        top = np.trunc(np.ldexp(rest, -bits * place))
        rest = rest - np.ldexp(top, bits * place)
        found.append(top)
    assert not rest.any()
    return found[::-1], unit


def exact_sides(X: Points, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Whether <w, x> + b > 0, by sums of whole numbers none of which is rounded."""
    ones = np.hstack([X, np.ones((len(X), 1))])
    planes = np.hstack([weights, biases[:, None]]).astype(np.float64)
    bits = (EXACT_BITS - ones.shape[1].bit_length()) // 2
    (of_points, _), (of_planes, _) = pieces(ones, bits), pieces(planes, bits)
    sums = [np.zeros((len(X), len(planes)), dtype=np.int64) for _ in range(len(of_points) + len(of_planes) - 1)]
    for (i, left), (j, right) in itertools.product(enumerate(of_points), enumerate(of_planes)):
        if left.any() and right.any():
            sums[i + j] += (left @ right.T).astype(np.int64)
    carry, below = np.zeros_like(sums[0]), np.zeros(sums[0].shape, dtype=bool)
    for part in sums[:-1]:
        with_carry = part + carry
        carry = with_carry >> bits  # towards minus infinity: what is left below is never negative
        below |= (with_carry & (2**bits - 1)) != 0
    top = sums[-1] + carry
    return (top > 0) | ((top == 0) & below)


def near_planes(X: Points, W: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> Points:
    """Points, and each of them put on some hyperplanes, as well as float64 can."""
    chosen = rng.integers(len(W), size=ON_PLANES * len(X))
    points, normals = np.tile(X, (ON_PLANES, 1)), W[chosen].astype(np.float64)
    off = np.einsum("ij,ij->i", points, normals) + b[chosen]
    return np.vstack([X, points - (off / np.einsum("ij,ij->i", normals, normals))[:, None] * normals])


def answers_of(network: Network, on: np.ndarray) -> np.ndarray:
    """Class indices by counting, from the sides."""
    second, last = network.layers[1:]
    weights = second.weights.bits.to_bool() if hasattr(second.weights, "bits") else second.weights.values
    fires = second.bias > on.astype(np.int64) @ weights.astype(np.int64).T
    return network.decoder(
        last.weights.sign * (fires.astype(np.int64) @ last.weights.bits.to_bool().T.astype(np.int64))
    )


def some_network(data: tuple[Points, np.ndarray], rng: np.random.Generator) -> Network:
    """Of a few hundred hyperplanes, of any law and kind of detectors."""
    recipe = Options(hyperplanes=LAWS[rng.integers(len(LAWS))], detectors=("mask", "weighted")[rng.integers(2)])
    return fixed_width(*data, int(rng.integers(64, 513)), recipe, int(rng.integers(2**31))).network


def sides_beside_integers(options: Settings) -> list[Row]:
    """Sides and answers of points and of points on hyperplanes."""
    tally = Tally()
    for X, _, network in until_enough(tally, options, some_network):
        first = network.layers[0]
        W, b = np.asarray(first.weights.values), np.asarray(first.bias, dtype=np.float64)
        points, step = near_planes(X, W, b, np.random.default_rng(tally.networks)), max(1, ENTRIES // len(W))
        for start in range(0, len(points), step):
            tile = points[start : start + step]
            exact = exact_sides(tile, W, b)
            tally.different += int(np.count_nonzero(sides(tile, W, b).to_bool() != exact))
            tally.different += int(np.count_nonzero(network.decide(tile) != answers_of(network, exact)))
            tally.sums += exact.size
            tally.answers += len(tile)
    return tally.row("sides and answers beside exact integers")


# ---- Other orders of summation --------------------------------------------------------------------------------


def safe_network(data: tuple[Points, np.ndarray], rng: np.random.Generator) -> tuple[Construction, str]:
    """One that is to answer alike in every evaluation in a format."""
    format_ = ("float32", "float64")[rng.integers(2)]
    activation = ("threshold", "relu")[rng.integers(2)]
    kind = ("mask", "weighted")[rng.integers(2)] if activation == "threshold" else "mask"
    recipe = Options(exact_in=format_, activation=activation, detectors=kind, max_width=2000, center=True)
    return adaptive_width(*data, recipe, int(rng.integers(2**31))), format_


def other_orders(options: Settings) -> list[Row]:
    """Answers on training points, in every order that ``tests/evaluations.py`` knows."""
    tally = Tally()
    for X, y, (made, format_) in until_enough(tally, options, safe_network):
        network = made.network
        codes, width = np.searchsorted(np.unique(y), y), network.widths[0]
        step = max(1, ENTRIES // (width * max(X.shape[1], network.widths[1])))
        for start in range(0, len(X), step):
            tile = slice(start, start + step)
            for _, found in evaluations(network, X[tile], format_):
                tally.different += int(np.count_nonzero(found != codes[tile]))
                tally.sums += len(found) * width
                tally.answers += len(found)
    return tally.row("answers in other orders of summation")


# ---- Moves inside radii ---------------------------------------------------------------------------------------


def moves_inside(options: Settings) -> list[Row]:
    """Answers of points that moved by just below their own radius."""
    tally = Tally()
    for X, y, network in until_enough(tally, options, some_network):
        codes, rng = np.searchsorted(np.unique(y), y), np.random.default_rng(tally.networks)
        radii = certify(network, X, codes, radii=True).radii
        for moved in moves_towards(network, X, codes, radii, rng, n_random=50):
            tally.different += int(np.count_nonzero((network.decide(moved) != codes) & (radii > 0)))
            tally.sums += len(moved) * network.widths[0]
            tally.answers += int(np.count_nonzero(radii > 0))
    return tally.row("answers of points moved inside their radii")


CASES = [
    Case(f"reliability/{name}", partial(run), markdown)
    for name, run in {
        "sides": sides_beside_integers,
        "orders": other_orders,
        "moves": moves_inside,
    }.items()
]
