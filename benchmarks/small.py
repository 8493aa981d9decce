"""Small fits and imports, where overhead is all there is: ``python -m benchmarks.small``."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from exactfit import InterpolatingClassifier, fixed_width
from exactfit.construct.fixed import hyperplane_source
from exactfit.data import choose_targets

from . import dense
from .cases import CASES, Case
from .worker import SEED, candidate_orders, recipe

REPEATS = 200
IMPORTS = ("import sklearn", "import exactfit", "from exactfit import InterpolatingClassifier")
IMPORT_REPEATS = 9


def median(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds, after one run to warm up."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def dense_form(case: Case, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """The dense form on the same hyperplanes and order; drawing them is left out of its time."""
    targets = choose_targets(y, None)
    planes = hyperplane_source(X, y, targets, recipe(case), SEED).first(case.width)
    orders = candidate_orders(y, targets)
    return lambda: dense.fit(X, y, targets, planes.weights, planes.biases, orders, len(y))


def fits(console: Console) -> None:
    """One fit of each of the two smallest cases, three ways."""
    table = Table("case", "construct", "estimator", "dense form")
    for case in CASES[:2]:
        X, y = case.load(None)
        options = {"width": case.width, "max_bias": case.max_bias, "center": False, "random_state": SEED}
        model = InterpolatingClassifier(**options)
        ways = (
            partial(fixed_width, X, y, case.width, replace(recipe(case), n_jobs=1), SEED),
            partial(model.fit, X, y),
            dense_form(case, X, y),
        )
        table.add_row(case.name, *(f"{1e3 * median(way):.2f} ms" for way in ways))
    console.print(table)


def imports(console: Console) -> None:
    """Seconds of a new Python that only imports."""
    table = Table("statement", "seconds")
    times: dict[str, list[float]] = {statement: [] for statement in IMPORTS}
    for _ in range(IMPORT_REPEATS):
        for statement in IMPORTS:  # by turns, so that all see the same machine
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            times[statement].append(time.perf_counter() - began)
    for statement, seconds in times.items():
        table.add_row(statement, f"{np.median(seconds):.3f}")
    console.print(table)


def main() -> None:
    """Both tables."""
    console = Console()
    fits(console)
    imports(console)


if __name__ == "__main__":
    main()
