"""Cases for the playground's engine: points, hyperplanes and order, and what Python makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from exactfit.construct import Construction, Options, adaptive_width, fixed_width
from exactfit.construct.hyperplanes import ORDER, stream
from exactfit.network import Masks, Sparse

Case = dict[str, Any]


def network_of(made: Construction, X: np.ndarray) -> dict[str, Any]:
    """Everything that a page and Python must agree on."""
    first, detectors, _ = made.network.layers
    masks = detectors.weights
    weights = masks.bits.to_bool().astype(int) if isinstance(masks, Masks) else masks.values
    trace = made.trace
    starts = trace.support_starts.tolist()
    return {
        "bits": ["".join(map(str, row)) for row in first(X).to_bool().astype(int).tolist()],
        "weights": weights.tolist(),
        "limits": detectors.bias.tolist(),
        "anchors": trace.anchors.tolist(),
        "witnesses": trace.witnesses.tolist(),
        "coverage": trace.coverage.tolist(),
        "labels": trace.detector_classes.tolist(),
        "support": [trace.support[a:b].tolist() for a, b in pairwise(starts)],
        "shares": [trace.dual_coef[a:b].tolist() for a, b in pairwise(starts)],
        "uncovered": trace.uncovered.tolist(),
        "narrow": trace.without_margin.tolist(),
        "outcome": made.outcome.value,
        "answers": made.network.decide(X).tolist(),
    }


def case(name: str, X: Any, y: Any, planes: Any, recipe: Options, seed: int) -> Case:
    """A case for Algorithm 2 with given hyperplanes, in a random order."""
    X, y = np.asarray(X, float), np.asarray(y, int)
    weights, biases = np.asarray(planes[0], float), np.asarray(planes[1], float)
    order = np.random.default_rng(seed).permutation(len(y))
    made = fixed_width(X, y, options=recipe, hyperplanes=(weights, biases), order=order)
    return {
        "name": name, "points": X.tolist(), "labels": y.tolist(), "order": order.tolist(),
        "planes": np.column_stack([weights, biases]).tolist(),
        "detectors": recipe.detectors, "margin": made.trace.margin,
        "expected": network_of(made, X),
    }  # fmt: skip


def planes_of(made: Construction) -> list[list[float]]:
    """Weights and bias of every hyperplane."""
    first = made.network.layers[0]
    weights = first.weights.matrix.toarray() if isinstance(first.weights, Sparse) else first.weights.values
    return np.column_stack([weights, first.bias]).astype(float).tolist()


def order_of(y: np.ndarray, seed: int) -> list[int]:
    """All rows, class by class, as Python draws their order."""
    root, order = np.random.SeedSequence(seed), []
    for k in range(int(y.max()) + 1):
        rows = np.flatnonzero(y == k)
        order += rows[stream(root, ORDER, k).permutation(len(rows))].tolist()
    return order


def adaptive_case(name: str, X: Any, y: Any, recipe: Options, seed: int) -> Case:
    """A case for Algorithm 1: the page gets the hyperplanes that were drawn, and has to stop where Python did."""
    X, y = np.asarray(X, float), np.asarray(y, int)
    made = adaptive_width(X, y, recipe, seed)
    planes = planes_of(made)
    return {
        "name": name, "points": X.tolist(), "labels": y.tolist(), "order": order_of(y, seed), "adaptive": True,
        "planes": planes[: made.trace.n_drawn], "detectors": recipe.detectors, "margin": 0.0,
        "expected": {**network_of(made, X), "planes": planes},
    }  # fmt: skip


def sparse_case(name: str, X: Any, y: Any, recipe: Options, seed: int) -> Case:
    """A case in which the page draws the hyperplanes itself, from Python's seed, with either algorithm."""
    X, y = np.asarray(X, float), np.asarray(y, int)
    build = adaptive_width if recipe.is_adaptive else fixed_width
    made = build(X, y, options=recipe, random_state=seed)
    return {
        "name": name, "points": X.tolist(), "labels": y.tolist(), "order": order_of(y, seed),
        "adaptive": recipe.is_adaptive, "width": recipe.width, "seed": seed, "maxFeatures": recipe.max_features,
        "detectors": recipe.detectors, "margin": made.trace.margin,
        "expected": {**network_of(made, X), "planes": planes_of(made)},
    }  # fmt: skip


def draw_planes(rng: np.random.Generator, width: int, reach: float) -> Any:
    return rng.standard_normal((width, 2)).astype(np.float32), reach * rng.uniform(-1, 1, width)


def without_conflicts(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal points get the label of the first; then labels are made 0..K-1 again."""
    _, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
    y = y[first][inverse.reshape(-1)]
    if len(np.unique(y)) < 2:
        y = (X[0] == X).all(axis=1).astype(int)
    return X, np.unique(y, return_inverse=True)[1].reshape(-1)


def clouds(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray, Any]]:
    """Small problems of every kind, with hyperplanes."""
    n, classes, width = int(rng.integers(4, 40)), int(rng.integers(2, 5)), int(rng.integers(1, 90))
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, 2))
    yield "plain", *without_conflicts(X, y), draw_planes(rng, width, 2.0)
    X = rng.integers(-3, 4, (n, 2)) / 2
    yield "grid with duplicates", *without_conflicts(X, y), draw_planes(rng, width, 2.0)
    weights = rng.integers(-2, 3, (width, 2))
    biases = -(weights * X[rng.integers(0, n, width)]).sum(axis=1)
    yield "on hyperplanes", *without_conflicts(X, y), (weights, biases)
    X = rng.standard_normal((n, 2)) * 2.0 ** rng.integers(-3, 4)
    weights = rng.standard_normal((width, 2))
    biases = -(weights * X[rng.integers(0, n, width)]).sum(axis=1)
    yield "nearly on hyperplanes", *without_conflicts(X, y), (weights, np.nextafter(biases, rng.choice([-9, 9, 0])))
    scale = 10.0 ** rng.integers(-150, 150)
    X = rng.standard_normal((n, 2)) * scale
    yield "far scales", *without_conflicts(X, y), draw_planes(rng, width, 2 * scale)
    X = rng.standard_normal((classes, 2))
    yield "one point a class", X, np.arange(classes), draw_planes(rng, width, 2.0)
    X = np.column_stack([np.linspace(-1, 1, n), np.zeros(n)])
    yield "alternating line", X, np.arange(n) % min(classes, n), draw_planes(rng, width, 1.0)


def recipes(rng: np.random.Generator) -> Iterator[tuple[str, Options]]:
    yield "mask", Options()
    yield "weighted", Options(detectors="weighted")
    share = f"{float(rng.integers(1, 90))}%"
    yield "margin", Options(margin=share)
    yield "weighted margin", Options(detectors="weighted", margin=share)


def larger(rng: np.random.Generator) -> Iterator[Case]:
    """Problems in which one weighted detector is not enough, and a class has more patterns than neighbours."""
    for n, width, classes in ((1200, 60, 2), (700, 30, 2), (300, 40, 3), (400, 300, 4), (900, 250, 2)):
        X = rng.uniform(-1, 1, (n, 2))
        y = (np.floor(X * 3).astype(int).sum(axis=1) % classes).astype(int)
        flips = rng.integers(0, n, n // 50)
        y[flips] = (y[flips] + 1) % classes
        planes = draw_planes(rng, width, 1.5)
        for name, recipe in (("mask", Options()), ("weighted", Options(detectors="weighted"))):
            yield case(f"{n} points, {width} hyperplanes, {name}", X, y, planes, recipe, n)
    turn = np.linspace(0.5, 3.5, 150)[:, None] * math.pi
    arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) / 12
    X, y = np.concatenate([arm, -arm]), np.repeat([0, 1], 150)
    for recipe in (Options(detectors="weighted"), Options(detectors="weighted", margin="20%")):
        yield case("spirals", X, y, draw_planes(rng, 120, 1.0), recipe, 3)


def adaptive(rng: np.random.Generator) -> Iterator[Case]:
    for seed in range(12):
        n = int(rng.integers(3, 40))
        X, y = without_conflicts(rng.integers(-5, 6, (n, 2)) / 4, rng.integers(0, 2 + seed % 3, n))
        law = ("gaussian", "bisector")[seed % 2]
        recipe = Options(hyperplanes=law, detectors=("mask", "weighted")[seed % 2])
        yield adaptive_case(f"adaptive, {law}", X, y, recipe, seed)
    close = np.array([[1.0, 0.5], [np.nextafter(1.0, 2.0), 0.5], [1.0, np.nextafter(0.5, 0.0)], [0.3, 0.2], [0.1, 0.9]])
    for seed in range(3):
        yield adaptive_case("adaptive, with cuts", close, np.array([0, 1, 1, 0, 1]), Options(), seed)


def tables(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Points on which sparse hyperplanes have something to get wrong."""
    n, classes = int(rng.integers(4, 60)), int(rng.integers(2, 5))
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, 2))
    yield "plain", *without_conflicts(X, y)
    yield "raw scales", *without_conflicts(np.column_stack([4000 + 900 * X[:, 0], 0.01 * X[:, 1]]), y)
    yield "grid", *without_conflicts(rng.integers(-2, 3, (n, 2)) * 1.0, y)
    yield "one-hot column", *without_conflicts(np.column_stack([rng.integers(0, 2, n), rng.integers(0, 9, n)]), y)
    yield "sums without room", *without_conflicts(1 + rng.integers(0, 4, (n, 2)) * 2.0**-52, y)
    yield "sums that overflow", *without_conflicts(rng.choice([-1.7e308, 1.7e308, 1.6e308, 0.0], (n, 2)), y)
    yield "sums that round", *without_conflicts(rng.integers(0, 3, (n, 2)) * np.array([1e16, 1e-4]), y)
    yield "one feature", *without_conflicts(np.column_stack([rng.integers(0, 30, n), np.full(n, 7.0)]), y)


def sparse(rng: np.random.Generator) -> Iterator[Case]:
    for turn in range(8):
        for kind, X, y in tables(rng):
            detectors, features = ("mask", "weighted")[turn % 2], (1, 2, 4)[turn % 3]
            given = {"hyperplanes": "sparse", "detectors": detectors, "max_features": features}
            width = int(rng.integers(1, 200))
            yield sparse_case(f"sparse, {kind}, {turn}", X, y, Options(width, **given), turn)
            yield sparse_case(f"sparse, adaptive, {kind}, {turn}", X, y, Options(**given), turn)
            if kind in ("plain", "raw scales", "grid"):
                share = Options(width, margin=f"{float(rng.integers(1, 90))}%", **given)
                yield sparse_case(f"sparse, margin, {kind}, {turn}", X, y, share, turn)
    X = np.round(1000 * rng.uniform(-1, 1, (1500, 2)))
    y = (np.floor(X / 700).astype(int).sum(axis=1) % 2).astype(int)
    yield sparse_case("sparse, spread of some rows", X, y, Options(300, hyperplanes="sparse", detectors="weighted"), 9)


def all_cases(seed: int, rounds: int = 12) -> list[Case]:
    """Several hundred cases, the same for the same seed."""
    rng = np.random.default_rng(seed)
    cases = [
        case(f"{kind}, {name}, {turn}", X, y, planes, recipe, turn)
        for turn in range(rounds)
        for kind, X, y, planes in clouds(rng)
        for name, recipe in recipes(rng)
    ]
    return [*cases, *larger(rng), *adaptive(rng), *sparse(rng)]
