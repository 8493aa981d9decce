"""One side of one case, in a process of its own, so that its peak memory can be told. Prints JSON."""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from exactfit._support.options import seed_sequence
from exactfit.construct import Construction, Recipe, adaptive_width, cover, fixed_width, mutual
from exactfit.construct.evidence import ClassOrder
from exactfit.construct.hyperplanes import ORDER, stream
from exactfit.data import choose_targets
from exactfit.network.detectors import class_slack

from . import dense
from .cases import CASES, Case

SEED = 0
THREADS = 2
NEW_POINTS = 10_000
PREFIXES = (10, 100, 1000)
LEAST_REPEATS, MOST_REPEATS = 3, 20
ENOUGH_SECONDS = 15.0


def recipe(case: Case, **options: Any) -> Recipe:
    """The paper's choices: no centring, lambda given."""
    return Recipe(max_bias=case.max_bias, center=False, n_jobs=THREADS, **options)


def warm_up(X: np.ndarray, y: np.ndarray, case: Case) -> None:
    """Load every kernel before the clock starts: those for small problems, and those for large ones."""
    rows = np.concatenate([np.flatnonzero(y == k)[:20] for k in np.unique(y)])
    usual = cover.SMALL, mutual.WORTHWHILE
    for cover.SMALL, mutual.WORTHWHILE in ((0, usual[1]), (0, 0), usual):
        for selection in ("random", "greedy"):
            made = fixed_width(X[rows], y[rows], 100, recipe(case, selection=selection), SEED)
    adaptive_width(X[rows], y[rows], recipe(case), SEED)
    class_slack(made.network, X[rows], n_jobs=THREADS)


def candidate_orders(y: np.ndarray, targets: tuple[int, ...]) -> list[np.ndarray]:
    """Each target class's rows, in the order in which exactfit tries them."""
    order, orders = ClassOrder.of(y), []
    for k in targets:
        start, stop = order.target(k)
        orders.append(order.rows[start + stream(seed_sequence(SEED), ORDER, k).permutation(stop - start)])
    return orders


def fingerprint(detectors: list[tuple[int, int]]) -> dict[str, Any]:
    """Hashes by which two lists of detectors, or their beginnings, can be compared."""

    def digest(part: list[tuple[int, int]]) -> str:
        return hashlib.sha256(json.dumps(part).encode()).hexdigest()[:16]

    return {"digest": digest(detectors), "prefixes": {str(k): digest(detectors[:k]) for k in PREFIXES}}


def told(made: Construction, y: np.ndarray, seconds: float, all_limits: bool = False) -> dict[str, Any]:
    """What the parent process needs to know of a construction; greedy selection needs every point's limit."""
    limits, trace = made.network.layers[1].bias, made.trace
    detectors = [(int(row), int(limit)) for row, limit in zip(trace.anchors, limits, strict=True)]
    sizes, n_words = np.bincount(y), -(-made.network.widths[0] // 64)
    limits_of = sizes * (len(y) - sizes) if all_limits else len(y) - sizes[trace.detector_classes]
    must_count = n_words * int(limits_of.sum() + trace.coverage.sum())
    return {
        "seconds": seconds,
        "width": made.network.widths[0],
        "detectors": len(detectors),
        "examined": len(detectors) + trace.n_rejected,
        "missed": len(trace.uncovered),
        "words": must_count,
        **fingerprint(detectors),
    }


def run_exactfit(case: Case, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The side that is being measured."""
    warm_up(X, y, case)
    if case.width == 0:
        made, seconds = repeated(lambda: adaptive_width(X, y, recipe(case), SEED))
    else:
        selection = "greedy" if case.against == "random" else "random"
        made, seconds = repeated(lambda: fixed_width(X, y, case.width, recipe(case, selection=selection), SEED))
    if case.against == "neighbours":
        return {**told(made, y, 0.0), "seconds": _predict_seconds(made, X)}
    return told(made, y, seconds, all_limits=case.against == "random")


def repeated(fit: Callable[[], Construction]) -> tuple[Construction, float]:
    """What was made, and the median of several times."""
    times: list[float] = []
    while len(times) < LEAST_REPEATS or (len(times) < MOST_REPEATS and sum(times) < ENOUGH_SECONDS):
        began = time.perf_counter()
        made = fit()
        times.append(time.perf_counter() - began)
    return made, float(np.median(times))


def _predict_seconds(made: Construction, X: np.ndarray) -> float:
    new = _new_points(X)
    began = time.perf_counter()
    class_slack(made.network, new, n_jobs=THREADS).argmax(axis=1)
    return time.perf_counter() - began


def _new_points(X: np.ndarray) -> np.ndarray:
    """Points between pairs of training points: new, but like the data."""
    rng = np.random.default_rng(SEED)
    first, second = rng.integers(0, len(X), (2, NEW_POINTS))
    return (X[first] + X[second]) / 2


def run_other(case: Case, X: np.ndarray, y: np.ndarray, width: int, examined: int) -> dict[str, Any]:
    """What it is compared with: a fit of this width, or the dense form on so many candidates."""
    if case.against == "neighbours":
        model = KNeighborsClassifier(1, algorithm="brute").fit(X, y)
        began = time.perf_counter()
        model.predict(_new_points(X))
        return {"seconds": time.perf_counter() - began}
    if case.against == "dense":
        return run_dense(case, X, y, examined)
    warm_up(X, y, case)
    made, seconds = repeated(lambda: fixed_width(X, y, width, recipe(case), SEED))
    return told(made, y, seconds)


def run_dense(case: Case, X: np.ndarray, y: np.ndarray, examined: int) -> dict[str, Any]:
    """The dense form; on its first candidates only where all of them would take over five minutes."""
    targets = choose_targets(y, None)
    first = _layer(case, X, y)
    orders = candidate_orders(y, targets)
    repeats = 5 if len(y) <= 2000 else 1
    results = [dense.fit(X, y, targets, *first, orders, examined) for _ in range(repeats)]
    result = sorted(results, key=lambda one: one.cover_seconds)[repeats // 2]
    return {
        "seconds": result.first_layer_seconds + result.cover_seconds,
        "first_layer": result.first_layer_seconds,
        "each": result.cover_seconds / max(result.examined, 1),
        "examined": result.examined,
        "detectors": len(result.detectors),
        "complete": result.complete,
        **fingerprint(result.detectors),
    }


def _layer(case: Case, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The very hyperplanes that exactfit draws."""
    from exactfit.construct.fixed import hyperplane_source

    planes = hyperplane_source(X, y, choose_targets(y, None), recipe(case), SEED).first(case.width)
    return planes.weights, planes.biases


def peak_bytes() -> int:
    """The largest this process has been; Linux's ``ru_maxrss`` would count the parent before it started this one."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """``python -m benchmarks.worker CASE exactfit|other FOLDER WIDTH EXAMINED``."""
    index, side, folder, width, examined = sys.argv[1:]
    case = CASES[int(index)]
    X, y = case.load(folder or None)
    result = run_exactfit(case, X, y) if side == "exactfit" else run_other(case, X, y, int(width), int(examined))
    print(json.dumps({**result, "peak_bytes": peak_bytes(), "n": len(y), "d": X.shape[1]}))


if __name__ == "__main__":
    main()
