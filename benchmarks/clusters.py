"""Fits of Dask collections on two worker processes, beside the same rows in memory on two threads: same network."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from exactfit import InterpolatingClassifier
from exactfit.construct.hyperplanes import GaussianSampler
from exactfit.construct.unique_patterns import PatternGroups
from exactfit.distributed import DaskInterpolatingClassifier, tasks

from .cases import THREADS, Case, Data, Row, Settings, digits, images, table_of

# Bytes from which malloc gives memory back, and asks the system for each piece alone: Dask's default of 64 KB for the
# first fixes the second at 128 KB, and every array of a task is then memory that the system has to clear first.
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25}
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


@contextmanager
def client_of_workers(**options: Any) -> Iterator[Any]:
    """Worker processes of one thread each, with Dask's setting for malloc undone (docs/distributed.md)."""
    import dask
    from distributed import Client, LocalCluster

    with dask.config.set({"distributed.nanny.pre-spawn-environ": MALLOC}):
        cluster = LocalCluster(n_workers=THREADS, threads_per_worker=1, dashboard_address=None, **options)
    with cluster, Client(cluster) as client:
        yield client


@dataclass(frozen=True)
class Watch:
    """Seconds, and seconds of all processors that this process and the workers of a client took."""

    client: Any
    began: float
    taken: float

    @classmethod
    def start(cls, client: Any) -> Watch:
        """From now on."""
        return cls(client, time.perf_counter(), cls._taken(client))

    @staticmethod
    def _taken(client: Any) -> float:
        there = {} if client is None else client.run(time.process_time)
        return time.process_time() + sum(there.values())

    def read(self) -> tuple[float, float]:
        """Both."""
        return time.perf_counter() - self.began, self._taken(self.client) - self.taken


def second_fit(model: Any, X: Any, y: np.ndarray, client: Any = None) -> tuple[float, float]:
    """What a fit takes when kernels are loaded in every process."""
    model.fit(X, y)
    watch = Watch.start(client)
    model.fit(X, y)
    return watch.read()


def measure(name: str, data: Data, width: int) -> list[Row]:
    """Both ways."""
    X, y = data
    local = InterpolatingClassifier.paper(width=width, center=True, random_state=0, n_jobs=THREADS)
    alone, here = second_fit(local, X, y)
    with tempfile.TemporaryDirectory() as folder, client_of_workers() as client:
        model = DaskInterpolatingClassifier.paper(
            width=width, center=True, random_state=0, n_jobs=THREADS, client=client
        )
        shared, there = second_fit(model, chunks_on_disk(X, Path(folder)), y, client)
    return [
        {
            "data": name, "points": f"{len(X):,}", "width": width, "in memory": f"{alone:.2f} s",
            "two workers": f"{shared:.2f} s", "ratio": f"{shared / alone:.2f}",
            "processors": f"{here:.2f} s, {there:.2f} s", "round trips": model.round_trips_,
            "same network": model.network_.digest == local.network_.digest,
        }
    ]  # fmt: skip


def measure_mnist(options: Settings) -> list[Row]:
    """All images of MNIST."""
    return measure("MNIST", images("mnist", 70_000, options.data), 2000)


def measure_small(options: Settings) -> list[Row]:
    """A fit of a moment: what a cluster costs in any case."""
    return measure("digits", digits(), 500)


# Points, hyperplanes and features: a chunk that constants come from, then a fit that they are held against.
COSTS = [((100_000, 500, 2), (1_000_000, 1000, 2)), ((5_000, 500, 784), (40_000, 1000, 784))]


def random_points(count: int, d: int) -> Data:
    """Gaussian points, told apart by their first feature, so that little is left to the cover step."""
    X = np.random.default_rng(0).normal(size=(count, d))
    y = (X[:, 0] > 0).astype(np.int64)
    X[:, 0] += y
    return X, y


def processor_seconds(work: Any) -> float:
    """Of this thread, whatever else the machine does; the second time, when kernels are loaded."""
    took = []
    for _ in range(2):
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return took[-1]


def chunk_costs(count: int, width: int, d: int) -> dict[str, float]:
    """Seconds of a processor for every unit of each task: a number of the data, a bit, a row."""
    X, y = random_points(count, d)
    planes = GaussianSampler(X, np.random.SeedSequence(0), max_bias="radius", center=True).first(width)
    codes, ranks = y.astype(np.uint8), np.arange(count, dtype=np.uint32)
    own = tasks.Own(0, codes, ranks)
    quarters = np.array_split(np.arange(count), 4)
    parts = [tasks.groups_of_chunk(X[q], planes, tasks.Own(int(q[0]), codes[q], ranks[q])) for q in quarters]
    return {
        "survey": processor_seconds(lambda: tasks.survey_chunk(X, True)) / (count * d),
        "radius": processor_seconds(lambda: tasks.radius_of_chunk(X, None, X.mean(axis=0))) / (count * d),
        "patterns": processor_seconds(lambda: tasks.groups_of_chunk(X, planes, own)) / (count * width),
        "digest": processor_seconds(lambda: tasks.digests_of_chunk(X, y)) / count,
        "joining": processor_seconds(lambda: PatternGroups.joined(parts)) / sum(map(len, parts)),
    }


def measure_costs(options: Settings) -> list[Row]:
    """Constants from one chunk, and what they foretell of a larger fit beside what its workers took."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, client_of_workers() as client:
        for (few, narrow, d), (count, width, _) in COSTS:
            cost = chunk_costs(few, narrow, d)
            numbers = {"survey": count * d, "radius": count * d, "patterns": count * width, "digest": count}
            X, y = random_points(count, d)
            model = DaskInterpolatingClassifier.paper(width=width, center=True, random_state=0, client=client)
            model.fit(chunks_on_disk(X, Path(folder)), y)
            began, here = sum(client.run(time.process_time).values()), time.process_time()
            model.fit(chunks_on_disk(X, Path(folder)), y)
            here, took = time.process_time() - here, sum(client.run(time.process_time).values()) - began
            rows.append(
                {
                    "features": d, "survey": f"{1e9 * cost['survey']:.1f} ns a number",
                    "radius": f"{1e9 * cost['radius']:.1f} ns a number",
                    "patterns": f"{1e9 * cost['patterns']:.2f} ns a bit",
                    "digest": f"{1e9 * cost['digest']:.0f} ns a row",
                    "joining": f"{1e9 * cost['joining']:.0f} ns a pattern",
                    "fit": f"{count:,} points, n = {width}",
                    "foretold": f"{sum(cost[name] * unit for name, unit in numbers.items()):.1f} s",
                    "workers took": f"{took:.1f} s", "client took": f"{here:.2f} s",
                }
            )  # fmt: skip
    return rows


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """One table."""
    console.print(table_of(rows))


def show_costs(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """One table."""
    console.print(table_of(rows))


CASES = [
    Case("dask/costs", measure_costs, show_costs),
    Case("dask/overhead", measure_small, show),
    Case("dask/mnist", measure_mnist, show, needs_data=True),
]
