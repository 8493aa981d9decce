"""Fits beside the dense form and others: seconds, memory, and how near the machine's bare cost they come.

Every row runs exactfit and what it is compared with one after the other, each in a process of its own, on the same
data, hyperplanes and order; networks must be equal. Small fits and imports, where overhead is all there is, follow.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.neighbors import KNeighborsClassifier

from exactfit import InterpolatingClassifier
from exactfit._support.parameters import seed_sequence
from exactfit._support.processes import Reporter, run_alone
from exactfit.construct import Construction, Options, adaptive_width, cover, evidence, fixed_width
from exactfit.construct.hyperplanes import ORDER, make_sampler, stream
from exactfit.construct.unique_patterns import ClassOrder
from exactfit.data import choose_targets
from exactfit.network.detector_network import DetectorNetwork

from .cases import THREADS, Case, Data, Row, Settings, digits, images, moons, table_of
from .yardsticks import dense_fit, gemm_seconds, packing_rate, word_rates

SEED = 0  # of every fit
NEW_POINTS = 10_000  # to predict
PREFIXES = (10, 100, 1000)  # detectors that are compared where the dense form did not finish
LEAST_REPEATS, MOST_REPEATS = 3, 20  # of a fit, of which the median counts
ENOUGH_SECONDS = 15.0  # of repeats
WORDS = (8, 32, 79)  # of a row of bits: 500, 2,000 and 5,000 hyperplanes
BARE = (("bare_seconds", "{:.3g} s"), ("over_bare", "{:.2f} x"), ("word_rate", "{:.2g}"))
SMALL_REPEATS = 200  # of a fit of milliseconds, of which the median counts
IMPORT_REPEATS = 9  # of a new Python, of which the median counts
IMPORTS = ("import sklearn", "import exactfit", "from exactfit import InterpolatingClassifier")


@dataclass(frozen=True)
class Fit:
    """One row of the table."""

    name: str
    load: Callable[[str | None], Data]
    width: int
    max_bias: float
    against: Literal["dense", "fixed", "neighbours"] = "dense"
    needs_data: bool = False
    target: str = ""


FITS = [
    Fit("two-moons 1,000, n=500", lambda _: moons(1_000), 500, 1.0),
    Fit("digits, n=500", lambda _: digits(), 500, 0.5),
    Fit("mnist 20,000, n=2000", lambda f: images("mnist", 20_000, f), 2000, 0.5, needs_data=True, target=">= 20 x"),
    Fit("mnist 70,000, n=500", lambda f: images("mnist", 70_000, f), 500, 0.5, needs_data=True, target=">= 45 x"),
    Fit("mnist 70,000, n=5000", lambda f: images("mnist", 70_000, f), 5000, 0.5, needs_data=True, target=">= 38 x"),
    Fit("cifar-10 60,000, n=1500", lambda f: images("cifar10", 60_000, f), 1500, 0.5, needs_data=True),
    Fit("two-moons 1,000,000, n=2000", lambda _: moons(1_000_000), 2000, 1.0, target=">= 10 x, < 1 GB"),
    Fit("adaptive, mnist 70,000", lambda f: images("mnist", 70_000, f), 0, 0.5, "fixed", True, "<= 2 x fixed"),
    Fit("adaptive, two-moons 1,000,000", lambda _: moons(1_000_000), 0, 1.0, "fixed", target="< 2 min, < 2 GB"),
    Fit("predict 10,000, mnist, n=5000", lambda f: images("mnist", 70_000, f), 5000, 0.5, "neighbours", True, "> 1 x"),
]


def recipe(case: Fit, **options: Any) -> Options:
    """The paper's choices: no centring, lambda given."""
    return Options(max_bias=case.max_bias, center=False, n_jobs=THREADS, **options)


def warm_up(X: np.ndarray, y: np.ndarray, case: Fit) -> None:
    """Load every kernel before the clock starts: those for small problems, and those for large ones."""
    rows = np.concatenate([np.flatnonzero(y == k)[:20] for k in np.unique(y)])
    usual = cover.SMALL, evidence.WORTHWHILE
    for cover.SMALL, evidence.WORTHWHILE in ((0, usual[1]), (0, 0), usual):
        made = fixed_width(X[rows], y[rows], 100, recipe(case), SEED)
    adaptive_width(X[rows], y[rows], recipe(case), SEED)
    DetectorNetwork.of(made.network).class_slack(X[rows], n_jobs=THREADS)


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


def told(made: Construction, y: np.ndarray, seconds: float) -> dict[str, Any]:
    """What the parent process needs to know of a construction."""
    limits, trace = made.network.layers[1].bias, made.trace
    detectors = [(int(row), int(limit)) for row, limit in zip(trace.anchors, limits, strict=True)]
    sizes, n_words = np.bincount(y), -(-made.network.widths[0] // 64)
    must_count = n_words * int((len(y) - sizes[trace.detector_classes]).sum() + trace.coverage.sum())
    return {
        "seconds": seconds,
        "width": made.network.widths[0],
        "detectors": len(detectors),
        "examined": len(detectors) + trace.n_rejected,
        "missed": len(trace.uncovered),
        "words": must_count,
        **fingerprint(detectors),
    }


def run_exactfit(case: Fit, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """The side that is being measured."""
    warm_up(X, y, case)
    if case.width == 0:
        made, seconds = repeated(lambda: adaptive_width(X, y, recipe(case), seed_sequence(SEED)))
    else:
        made, seconds = repeated(lambda: fixed_width(X, y, case.width, recipe(case), SEED))
    if case.against == "neighbours":
        return {**told(made, y, 0.0), "seconds": _predict_seconds(made, X)}
    return told(made, y, seconds)


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
    DetectorNetwork.of(made.network).class_slack(new, n_jobs=THREADS).argmax(axis=1)
    return time.perf_counter() - began


def _new_points(X: np.ndarray) -> np.ndarray:
    """Points between pairs of training points: new, but like the data."""
    rng = np.random.default_rng(SEED)
    first, second = rng.integers(0, len(X), (2, NEW_POINTS))
    return (X[first] + X[second]) / 2


def run_other(case: Fit, X: np.ndarray, y: np.ndarray, width: int, examined: int) -> dict[str, Any]:
    """What it is compared with: a fit of this width, or the dense form on so many candidates."""
    if case.against == "neighbours":
        model = KNeighborsClassifier(1, algorithm="brute").fit(X, y)
        began = time.perf_counter()
        model.predict(_new_points(X))
        return {"seconds": time.perf_counter() - began}
    if case.against == "dense":
        return run_dense(case, X, y, examined)
    warm_up(X, y, case)
    made, seconds = repeated(lambda: fixed_width(X, y, width, recipe(case), seed_sequence(SEED)))
    return told(made, y, seconds)


def run_dense(case: Fit, X: np.ndarray, y: np.ndarray, examined: int) -> dict[str, Any]:
    """The dense form; on its first candidates only where all of them would take over five minutes."""
    targets = choose_targets(y, None)
    first = _layer(case, X, y)
    orders = candidate_orders(y, targets)
    repeats = 5 if len(y) <= 2000 else 1
    results = [dense_fit(X, y, targets, *first, orders, examined) for _ in range(repeats)]
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


def _layer(case: Fit, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The very hyperplanes that exactfit draws."""
    planes = make_sampler(X, y, choose_targets(y, None), recipe(case), seed_sequence(SEED)).first(case.width)
    return planes.weights, planes.biases


def peak_memory() -> int:
    """The largest this process has been; Linux's ``ru_maxrss`` would count the parent before it started this one."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource  # not on Windows

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure_side(report: Reporter, index: int, side: str, folder: str | None, width: int, examined: int) -> None:
    """One side of a fit, in a process of its own, so that its peak memory can be told."""
    case = FITS[index]
    X, y = case.load(folder)
    report(n=len(y), d=X.shape[1])
    result = run_exactfit(case, X, y) if side == "exactfit" else run_other(case, X, y, width, examined)
    report(**result, peak_bytes=peak_memory())


def ratio_of(case: Fit, mine: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Ratio and, for the dense form, proof that the networks are equal."""
    if case.against != "dense":
        return {"other_seconds": other["seconds"], "note": ""}
    if other["complete"]:
        assert mine["digest"] == other["digest"], f"{case.name}: the networks differ"
        return {"other_seconds": other["seconds"], "note": "networks equal"}
    same = [k for k in mine["prefixes"] if int(k) <= other["detectors"]]
    assert all(mine["prefixes"][k] == other["prefixes"][k] for k in same), f"{case.name}: the networks differ"
    whole = other["first_layer"] + other["each"] * mine["examined"]
    each = other["each"] * mine["examined"] / mine["seconds"]
    note = (
        f"dense: first {other['examined']} of {mine['examined']} candidates, {each:.3g} x for each; "
        f"first {same[-1]} detectors equal"
    )
    return {"other_seconds": whole, "note": note}


def roofline(mine: dict[str, Any], rate: float, packing: float) -> float:
    """The bare cost: one GEMM, packing every entry, counting the words that must be counted."""
    gemm = gemm_seconds(mine["n"], mine["d"], mine["width"])
    return gemm + mine["n"] * mine["width"] / packing + mine["words"] / rate


def measure(index: int, options: Settings) -> list[Row]:
    """One row of the table."""
    case, (rate, packing) = FITS[index], rates()
    mine = run_alone(measure_side, index, "exactfit", options.data, 0, 0)
    other = run_alone(measure_side, index, "other", options.data, mine["width"], mine["examined"])
    row = {"case": case.name, "target": case.target, "against": case.against, **mine, **ratio_of(case, mine, other)}
    row["other_peak_bytes"] = other["peak_bytes"]
    row["other_detectors"] = other.get("detectors")
    row["ratio"] = row["other_seconds"] / row["seconds"]
    if case.against != "neighbours":
        row["bare_seconds"] = roofline(mine, rate, packing)
        row["over_bare"] = row["seconds"] / row["bare_seconds"]
        row["word_rate"] = mine["words"] / row["seconds"]
    return [row]


@cache
def rates() -> tuple[float, float]:
    """Word rate of the plain loop and packing rate, told beside those of the cover kernel, once in a run."""
    console = Console()
    table = Table("threads", "plain loop", *(f"cover, {n_words} words" for n_words in WORDS))
    for threads in (1, THREADS):
        plain, kernels = word_rates(threads, WORDS)
        table.add_row(str(threads), f"{plain / 1e9:.2f} G words/s", *(f"{rate / plain:.0%}" for rate in kernels))
    console.print(table)
    packing = packing_rate(THREADS)
    console.print(f"packing: {packing / 1e9:.2f} G entries/s on {THREADS} threads")
    return plain, packing


def show_fits(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """The table."""
    costs = ("seconds", "other", "ratio", "target", "bare", "over bare", "words/s", "peak", "other peak")
    table = Table("case", "against", *costs, "note")
    for row in rows:
        bare = [form.format(row[name]) if name in row else "" for name, form in BARE]
        detectors = f"{row['detectors']} against {row['other_detectors']} detectors" if row["other_detectors"] else ""
        table.add_row(
            row["case"], row["against"], f"{row['seconds']:.4g}", f"{row['other_seconds']:.4g}",
            f"{row['ratio']:.3g}", row["target"], *bare, f"{row['peak_bytes'] / 1e9:.2f} GB",
            f"{row['other_peak_bytes'] / 1e9:.2f} GB", row["note"] or detectors,
        )  # fmt: skip
    Console(width=max(console.width, 170)).print(table)


def median(work: Callable[[], object], repeats: int = SMALL_REPEATS) -> float:
    """Seconds, after one run to warm up."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def dense_form(case: Fit, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """The dense form on the same hyperplanes and order; drawing them is left out of its time."""
    targets = choose_targets(y, None)
    planes = make_sampler(X, y, targets, recipe(case), seed_sequence(SEED)).first(case.width)
    orders = candidate_orders(y, targets)
    return lambda: dense_fit(X, y, targets, planes.weights, planes.biases, orders, len(y))


def small_fit(index: int, options: Settings) -> list[Row]:
    """One fit of a small case, three ways."""
    case = FITS[index]
    X, y = case.load(None)
    model = InterpolatingClassifier.paper(width=case.width, max_bias=case.max_bias, random_state=SEED)
    ways = {
        "construct": partial(fixed_width, X, y, case.width, replace(recipe(case), n_jobs=1), SEED),
        "estimator": partial(model.fit, X, y),
        "dense form": dense_form(case, X, y),
    }
    return [{"case": case.name, **{way: f"{1e3 * median(work):.2f} ms" for way, work in ways.items()}}]


def imports(options: Settings) -> list[Row]:
    """Seconds of a new Python that only imports."""
    times: dict[str, list[float]] = {statement: [] for statement in IMPORTS}
    for _ in range(IMPORT_REPEATS):
        for statement in IMPORTS:  # by turns, so that all see the same machine
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            times[statement].append(time.perf_counter() - began)
    return [{"statement": statement, "seconds": f"{np.median(taken):.3f}"} for statement, taken in times.items()]


def show_small(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """Fits."""
    console.print(table_of(rows))


def show_imports(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """Imports."""
    console.print(table_of(rows))


SHORT = (
    "two-moons-1000",
    "digits",
    "mnist-20000",
    "mnist-70000-n500",
    "mnist-70000-n5000",
    "cifar10-60000",
    "two-moons-1000000",
    "adaptive-mnist",
    "adaptive-two-moons",
    "predict-mnist",
)
CASES = [
    *(
        Case(f"fit/{short}", partial(measure, index), show_fits, FITS[index].needs_data)
        for index, short in enumerate(SHORT)
    ),
    *(Case(f"small/{short}", partial(small_fit, index), show_small) for index, short in enumerate(SHORT[:2])),
    Case("small/imports", imports, show_imports),
]
