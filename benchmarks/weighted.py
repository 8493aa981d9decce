"""Weighted detectors beside masks, on the same hyperplanes: how many, how accurate, how long.

Every row fits masks, then weights, with one seed, on two threads; kernels are compiled before. Accuracy is that
of ``predict``. Results are a Markdown table. ``--size`` says how many images, or points of a line, at most.
"""

from __future__ import annotations

import re
import resource
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from exactfit import InterpolatingClassifier
from exactfit.geometry.theorem import make_alternating_line, make_parallel_lines

from .cases import THREADS, Case, Data, Row, Settings, images, moons

SEED = 0  # of every fit but those that are repeated
NEW_IMAGES = 10_000  # the test images of MNIST, which stand behind the training images
SEEDS = 10  # fits of Two Moons
LINES = (10, 100, 1_000, 10_000, 100_000)  # points of a line


@dataclass(frozen=True)
class Comparison:
    """Data to fit, data to judge on if there are any, and options of both sides."""

    name: str
    load: Callable[[Settings], tuple[Data, Data | None]]
    options: dict[str, Any]
    seeds: int = 1
    needs_data: bool = False
    only_weighted: bool = False


def mnist(rows: int, options: Settings) -> tuple[Data, Data]:
    """Training images, and the test images."""
    X, y = images("mnist", 60_000 + NEW_IMAGES, options.data)
    rows = min(rows, options.size or rows)
    return (X[:rows], y[:rows]), (X[60_000:], y[60_000:])


def cifar(options: Settings) -> tuple[Data, None]:
    """All images of CIFAR-10, to be fitted."""
    return images("cifar10", options.size or 60_000, options.data), None


def random_labels(options: Settings) -> tuple[Data, None]:
    """Gaussian points whose labels mean nothing."""
    rng = np.random.default_rng(0)
    return (rng.standard_normal((2000, 50)), rng.integers(0, 2, 2000)), None


def lines(n: int, distance: float, options: Settings) -> tuple[Data, None]:
    """Parallel lines."""
    return make_parallel_lines(min(n, options.size or n), distance=distance), None


PAPER: dict[str, Any] = {"max_bias": 0.5, "center": False}
COMPARISONS = [
    Comparison("mnist 20,000, n=2000", partial(mnist, 20_000), PAPER | {"width": 2000}, needs_data=True),
    Comparison("mnist 60,000, n=2000", partial(mnist, 60_000), PAPER | {"width": 2000}, needs_data=True),
    Comparison("mnist 48,000, adaptive", partial(mnist, 48_000), {}, needs_data=True),
    Comparison("cifar-10 60,000, n=2000", cifar, PAPER | {"width": 2000}, needs_data=True, only_weighted=True),
    Comparison("random labels 2,000 x 50, n=500", random_labels, {"width": 500}),
    Comparison("random labels 2,000 x 50, n=1000", random_labels, {"width": 1000}),
    *(
        Comparison(f"lines {distance}, {n:,} points each, n=2000", partial(lines, n, distance), {"width": 2000})
        for distance in (0.1, 0.02)
        for n in LINES
    ),
    Comparison("alternating line 101, n=2000", lambda _: (make_alternating_line(51), None), {"width": 2000}),
    Comparison("two moons, adaptive", lambda o: (moons(o.size or 1_000_000), None), {}, seeds=SEEDS),
]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What comes out, and how many seconds it took."""
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def fitted(data: Data, options: dict[str, Any], detectors: str, seed: int) -> tuple[InterpolatingClassifier, float]:
    """A network, and the seconds of its fit."""
    own = {"center": True, "detectors": detectors, "n_jobs": THREADS, "random_state": seed}
    model = InterpolatingClassifier.paper(**own | options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # points that are missed are counted
        return timed(lambda: model.fit(*data))


def warm_up(data: Data, options: dict[str, Any], detectors: str) -> None:
    """Compile everything on a few points."""
    X, y = data
    few = np.concatenate([np.flatnonzero(y == label)[:20] for label in np.unique(y)])
    model, _ = fitted((X[few], y[few]), options, detectors, SEED)
    model.predict(X[few])


def side(comparison: Comparison, given: tuple[Data, Data | None], detectors: str) -> Row:
    """One column of masks or of weights: medians over the seeds."""
    data, new = given
    warm_up(data, comparison.options, detectors)
    counts, seconds, missed = [], [], 0
    for seed in range(SEED, SEED + comparison.seeds):
        model, took = fitted(data, comparison.options, detectors, seed)
        counts.append(model.n_detectors_)
        seconds.append(took)
        missed += model.certificate_.n_errors
    row: Row = {"detectors": counts, "seconds": float(np.median(seconds)), "missed": missed, "model": model}
    if new is not None:
        answers, took = timed(lambda: model.predict(new[0]))
        row |= {"accuracy": float(np.mean(answers == new[1])), "predict": took}
    return row


def measure(comparison: Comparison, options: Settings) -> list[Row]:
    """Masks, weights, and how they compare."""
    given = comparison.load(options)
    sides = {} if comparison.only_weighted else {"mask": side(comparison, given, "mask")}
    sides["weighted"] = side(comparison, given, "weighted")
    row: Row = {"case": comparison.name, "points": len(given[0][1])}
    for name in ("detectors", "missed", "accuracy", "seconds", "predict"):
        for detectors in ("mask", "weighted"):
            row[f"{name}, {detectors}"] = sides.get(detectors, {}).get(name)
    row["time ratio"] = "mask" in sides and sides["weighted"]["seconds"] / sides["mask"]["seconds"]
    row["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return [row]


def markdown(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """Rows with the same keys as a table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "| --- " + "| ---: " * (len(rows[0]) - 1) + "|"]
    lines += ["| " + " | ".join(cell(value) for value in row.values()) + " |" for row in rows]
    console.print("\n".join(lines), soft_wrap=True, markup=False, highlight=False)


def cell(value: Any) -> str:
    """A number to three or four digits; a range for several."""
    if isinstance(value, list):
        few, most = min(value), max(value)
        return f"{few:,}" if few == most else f"{few:,} to {most:,}"
    if isinstance(value, float):
        return f"{value:.4f}" if 0 < value < 1 else f"{value:.3g}"
    return "-" if value is None or value is False else f"{value:,}" if isinstance(value, int) else str(value)


def short(one: Comparison) -> str:
    """A name without spaces, as the command line takes it."""
    return re.sub(r"[^a-z0-9=.]+", "-", one.name)


CASES = [Case(f"weighted/{short(one)}", partial(measure, one), markdown, one.needs_data) for one in COMPARISONS]
