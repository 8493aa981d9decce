"""Separation, angles, coverings and the limit forecast: ``python -m benchmarks.geometry``.

``rows`` gives a dictionary for every case: name, points, features, seconds, CPU seconds, and
what came out. Separation is compared with scikit-learn's brute-force nearest neighbours,
whose distances are those of float64 arithmetic, not exact.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min

from exactfit import angular_separation, limit_cover, mutual_covering, separation

from .cases import Data, digits, images, moons

THREADS = 2


@dataclass(frozen=True)
class Case:
    """One row."""

    name: str
    load: Callable[[str | None], Data]
    measure: Callable[[Any, Any], str]
    against: Callable[[Any, Any], object] | None = None
    needs_data: bool = False


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


CASES = [
    Case("separation, digits", lambda _: digits(), _separation, _neighbours),
    Case("separation, two-moons 1,000,000", lambda _: moons(1_000_000), _separation),
    Case("covering, two-moons 20,000", lambda _: moons(20_000), _covering),
    Case("covering, digits", lambda _: digits(), _covering),
    Case("separation, mnist 10,000", lambda f: images("mnist", 10_000, f), _separation, _neighbours, needs_data=True),
    Case("separation, mnist 70,000", lambda f: images("mnist", 70_000, f), _separation, needs_data=True),
    Case("angle, mnist 70,000", lambda f: images("mnist", 70_000, f), _angle, needs_data=True),
    Case("angle of any two, mnist 70,000", lambda f: images("mnist", 70_000, f), _any_angle, needs_data=True),
    Case("covering, mnist 1 against 8", _two_digits, _covering, needs_data=True),
    Case("limit forecast, mnist 70,000", lambda f: images("mnist", 70_000, f), _limit, needs_data=True),
]


def row_of(case: Case, folder: str | None) -> dict[str, Any]:
    """One case, measured once after a small run that compiles the kernels."""
    X, y = case.load(folder)
    small = np.unique(np.linspace(0, len(y) - 1, 200).astype(int))
    case.measure(X[small], y[small])
    wall, cpu = time.perf_counter(), time.process_time()
    result = case.measure(X, y)
    row = {
        "case": case.name,
        "n": int(X.shape[0]),
        "d": int(X.shape[1]),
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "result": result,
    }
    if case.against is not None:
        wall = time.perf_counter()
        case.against(X, y)
        row["other_seconds"] = time.perf_counter() - wall
    return row


def rows(folder: str | None = None, only: tuple[str, ...] = ("",)) -> list[dict[str, Any]]:
    """All cases whose data are there."""
    chosen = [case for case in CASES if any(word in case.name for word in only)]
    return [row_of(case, folder) for case in chosen if folder or not case.needs_data]


def main() -> None:
    """A line for every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("EXACTFIT_DATA", ""), help="folder with MNIST")
    parser.add_argument("--only", nargs="*", default=[""], help="run cases whose name contains one of these words")
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args()
    found = []
    for case in CASES:
        if not any(word in case.name for word in options.only):
            continue
        if case.needs_data and not options.data:
            print(f"skipped: {case.name} (needs --data or EXACTFIT_DATA)")
            continue
        found.append(row := row_of(case, options.data or None))
        other = f", scikit-learn {row['other_seconds']:.3g} s" if "other_seconds" in row else ""
        print(
            f"{row['case']}: {row['seconds']:.3g} s ({row['cpu_seconds']:.3g} s of CPU){other}; {row['result']}",
            flush=True,
        )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
