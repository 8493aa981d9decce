"""Separation, angles, coverings and the limit forecast, exact, beside scikit-learn's brute-force neighbours.

The distances of the latter are those of float64 arithmetic, not exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.metrics import pairwise_distances_argmin_min

from exactfit.geometry import angular_separation, limit_cover, mutual_covering, separation

from .cases import THREADS, Case, Data, Row, Settings, digits, images, moons

Measure = Callable[[Any, Any], Any]


def _separation(X: Any, y: Any) -> str:
    found = separation(X, y, n_jobs=THREADS)
    return f"{found.value:.6g} between rows {found.rows[0]} and {found.rows[1]}"


def _angle(X: Any, y: Any) -> str:
    return f"{angular_separation(X, y, n_jobs=THREADS).value:.7g}"


def _any_angle(X: Any, _: Any) -> str:
    return f"{angular_separation(X, n_jobs=THREADS).value:.7g}"


def _covering(X: Any, y: Any) -> str:
    found = mutual_covering(X, y, n_jobs=THREADS)
    return f"{found.n_target} + {found.n_rest} balls, {found.separation:.4g} apart, omega {found.omega:.3g}"


def _limit(X: Any, y: Any) -> str:
    return f"{limit_cover(X, y, n_jobs=THREADS).n_detectors} detectors"


def _neighbours(X: Any, y: Any) -> float:
    """Smallest distance between labels, each label's points against all others, in float64."""
    return min(float(pairwise_distances_argmin_min(X[y == k], X[y != k])[1].min()) for k in np.unique(y)[:-1].tolist())


def _two_digits(folder: str | None) -> Data:
    X, y = images("mnist", 70_000, folder)
    kept = np.isin(y, (1, 8))
    return X[kept], y[kept]


def measure(
    name: str, load: Callable[[str | None], Data], work: Measure, against: Measure | None, options: Settings
) -> list[Row]:
    """One row, measured once after a small run that compiles the kernels."""
    X, y = load(options.data)
    small = np.unique(np.linspace(0, len(y) - 1, 200).astype(int))
    work(X[small], y[small])
    wall, cpu = time.perf_counter(), time.process_time()
    result = work(X, y)
    row = {
        "case": name,
        "n": int(X.shape[0]),
        "d": int(X.shape[1]),
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "result": result,
    }
    if against is not None:
        wall = time.perf_counter()
        against(X, y)
        row["other_seconds"] = time.perf_counter() - wall
    return [row]


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """A line for every row."""
    for row in rows:
        other = f", scikit-learn {row['other_seconds']:.3g} s" if "other_seconds" in row else ""
        took = f"{row['seconds']:.3g} s ({row['cpu_seconds']:.3g} s of CPU){other}"
        console.print(f"{row['case']}: {took}; {row['result']}", highlight=False, soft_wrap=True)


def _case(name: str, load: Any, work: Measure, against: Measure | None = None, needs_data: bool = False) -> Case:
    return Case(f"geometry/{name}", partial(measure, name, load, work, against), show, needs_data)


CASES = [
    _case("separation-digits", lambda _: digits(), _separation, _neighbours),
    _case("separation-two-moons-1000000", lambda _: moons(1_000_000), _separation),
    _case("covering-two-moons-20000", lambda _: moons(20_000), _covering),
    _case("covering-digits", lambda _: digits(), _covering),
    _case("separation-mnist-10000", lambda f: images("mnist", 10_000, f), _separation, _neighbours, needs_data=True),
    _case("separation-mnist-70000", lambda f: images("mnist", 70_000, f), _separation, needs_data=True),
    _case("angle-mnist", lambda f: images("mnist", 70_000, f), _angle, needs_data=True),
    _case("angle-of-any-two-mnist", lambda f: images("mnist", 70_000, f), _any_angle, needs_data=True),
    _case("covering-mnist-1-vs-8", _two_digits, _covering, needs_data=True),
    _case("limit-mnist", lambda f: images("mnist", 70_000, f), _limit, needs_data=True),
]
