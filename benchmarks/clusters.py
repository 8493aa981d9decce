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


def show(console: Console, rows: Sequence[Row], options: Options) -> None:
    """One table."""
    console.print(table_of(rows))


CASES = [
    Case("dask/overhead", measure_small, show),
    Case("dask/mnist", measure_mnist, show, needs_data=True),
]
