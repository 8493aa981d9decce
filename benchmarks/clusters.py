"""Fits of Dask collections on two worker processes, beside the same rows in memory on two threads: same network."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from exactfit import InterpolatingClassifier
from exactfit.distributed import DaskInterpolatingClassifier

from .cases import THREADS, Case, Data, Options, Row, digits, images, table_of

CHUNKS = 20  # as many as make a worker's share even, and each some megabytes


def chunks_on_disk(X: np.ndarray, folder: Path) -> Any:
    """A Dask array whose chunks every pass reads anew, as from data larger than memory."""
    import dask.array as da

    path = folder / "points.npy"
    np.save(path, X)
    edges = np.linspace(0, len(X), CHUNKS + 1).astype(int)

    def load(block_info: Any = None) -> np.ndarray:
        start, stop = block_info[None]["array-location"][0]
        return np.load(path, mmap_mode="r")[start:stop]

    lengths = tuple(np.diff(edges).tolist())
    return da.map_blocks(load, chunks=(lengths, (X.shape[1],)), dtype=X.dtype, meta=np.empty((0, 0), X.dtype))


def seconds_of(model: Any, X: Any, y: np.ndarray) -> float:
    """One fit."""
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began


def measure(name: str, data: Data, width: int) -> list[Row]:
    """The second fit of each: the first one loads kernels in every process."""
    from distributed import Client, LocalCluster

    X, y = data
    local = InterpolatingClassifier.paper(width=width, center=True, random_state=0, n_jobs=THREADS)
    alone = [seconds_of(local, X, y) for _ in range(2)][-1]
    cluster = LocalCluster(n_workers=THREADS, threads_per_worker=1, dashboard_address=None)
    with tempfile.TemporaryDirectory() as folder, cluster, Client(cluster) as client:
        model = DaskInterpolatingClassifier.paper(
            width=width, center=True, random_state=0, n_jobs=THREADS, client=client
        )
        chunks = chunks_on_disk(X, Path(folder))
        shared = [seconds_of(model, chunks, y) for _ in range(2)][-1]
    return [
        {
            "data": name, "points": f"{len(X):,}", "width": width, "in memory": f"{alone:.2f} s",
            "two workers": f"{shared:.2f} s", "ratio": f"{shared / alone:.2f}", "round trips": model.round_trips_,
            "same network": model.network_.digest == local.network_.digest,
        }
    ]  # fmt: skip


def measure_mnist(options: Options) -> list[Row]:
    """All images of MNIST."""
    return measure("MNIST", images("mnist", 70_000, options.data), 2000)


def measure_small(options: Options) -> list[Row]:
    """A fit of a moment: what a cluster costs in any case."""
    return measure("digits", digits(), 500)


# Points, hyperplanes and features: constants come from the first of each kind, the second checks them.
COSTS = [(400_000, 500, 2), (800_000, 1000, 2), (20_000, 500, 784), (30_000, 1000, 784)]


def measure_costs(options: Options) -> list[Row]:
    """Seconds of the phases of a fit of random points on two workers, by what they are proportional to."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=THREADS, threads_per_worker=1, dashboard_address=None)
    with tempfile.TemporaryDirectory() as folder, cluster, Client(cluster) as client:
        return [_phases(client, Path(folder), *sizes) for sizes in COSTS]


def _phases(client: Any, folder: Path, count: int, width: int, d: int) -> Row:
    """Nanoseconds of a core for every unit: a number of the data, a bit, a row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, d)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    X[:, 0] += y  # so that little is left to the cover step
    model = DaskInterpolatingClassifier.paper(width=width, center=True, random_state=0, n_jobs=THREADS, client=client)
    chunks = chunks_on_disk(X, folder)
    whole = [seconds_of(model, chunks, y) for _ in range(2)][-1]
    units = {"survey": count * d, "radius": count * d, "patterns": count * width, "digest": count * d}
    phases = model.phase_seconds_
    return {
        "points": f"{count:,}", "width": width, "features": d, "seconds": f"{whole:.2f}",
        **{f"{name}, ns": f"{1e9 * THREADS * phases[name] / unit:.2f}" for name, unit in units.items()},
        "digest, ns a row": f"{1e9 * THREADS * phases['digest'] / count:.0f}",
        "client": f"{whole - sum(phases.values()):.2f} s", "round trips": model.round_trips_,
    }  # fmt: skip


def show(console: Console, rows: Sequence[Row], options: Options) -> None:
    """One table."""
    console.print(table_of(rows))


def show_costs(console: Console, rows: Sequence[Row], options: Options) -> None:
    """One table."""
    console.print(table_of(rows))


CASES = [
    Case("dask/costs", measure_costs, show_costs),
    Case("dask/overhead", measure_small, show),
    Case("dask/mnist", measure_mnist, show, needs_data=True),
]
