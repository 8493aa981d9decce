"""Fits of data on disk that are larger than a worker: Two Moons, and images of ones and nines; ``--size`` of them.

Data are generated in chunks, each from a seed of its own, and written to a temporary folder. Two worker processes with
a memory limit read them anew in every pass; their peak and that of the client are measured by the system.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import make_moons

from exactfit import certify
from exactfit.distributed import DaskInterpolatingClassifier
from exactfit.lab import load_dataset

from .cases import THREADS, Case, Data, Row, Settings, table_of
from .clusters import Watch, client_of_workers

MOONS, IMAGES = 100_000_000, 2_000_000  # points, unless --size says otherwise
SMALL = 1_000_000  # points of the fit that time per point is compared with
MOONS_CHUNK, IMAGES_CHUNK = 500_000, 10_000  # points: 8 MB each on disk
WORKER_MEMORY = "1.5GB"
SHIFT, NOISE = 2, 20  # pixels to each side, and levels of grey up and down

Make = Callable[[int, int], Data]


def moons_chunk(chunk: int, size: int) -> Data:
    """Two Moons with noise 0.05."""
    X, y = make_moons(size, noise=0.05, random_state=chunk)
    return X, y.astype(np.int8)


def ones_and_nines(folder: str | None) -> Make:
    """Images of MNIST's digits 1 and 9, each moved by some pixels and with noise, seeded by chunk."""
    data = load_dataset("mnist", folder)
    chosen = np.flatnonzero(np.isin(data.y, (1, 9)))
    images, labels = data.X[chosen].reshape(-1, 28, 28), data.y[chosen].astype(np.int8)
    grey = np.rint(images / images.max() * 255).astype(np.int16)

    def make(chunk: int, size: int) -> Data:
        rng = np.random.default_rng(chunk)
        rows = rng.integers(0, len(grey), size)
        moves = rng.integers(0, 2 * SHIFT + 1, (size, 2))
        wide = np.pad(grey[rows], ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (28, 28), axis=(1, 2))
        moved = windows[np.arange(size), moves[:, 0], moves[:, 1]]
        noisy = moved + rng.integers(-NOISE, NOISE + 1, moved.shape)
        return np.clip(noisy, 0, 255).astype(np.uint8).reshape(size, 784), labels[rows]

    return make


def written(make: Make, size: int, chunk: int, folder: Path) -> tuple[Any, Any]:
    """Chunks on disk as Dask arrays of points and labels."""
    import dask.array as da

    count = -(-size // chunk)
    lengths = tuple(min(chunk, size - k * chunk) for k in range(count))
    for k, length in enumerate(lengths):
        for name, part in zip("Xy", make(k, length), strict=True):
            np.save(folder / f"{name}{k}.npy", part)
    first = np.load(folder / "X0.npy", mmap_mode="r")

    def load(name: str, block_info: Any = None) -> np.ndarray:
        return np.load(folder / f"{name}{block_info[None]['chunk-location'][0]}.npy")

    X = da.map_blocks(load, "X", chunks=(lengths, (first.shape[1],)), dtype=first.dtype, meta=first[:0])
    y = da.map_blocks(load, "y", chunks=(lengths,), dtype=np.int8, meta=np.empty(0, np.int8))
    return X, y


def forget_peak() -> None:
    """Have the system count the peak of this process anew, where it can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> int:
    """Megabytes that this process has held at most since it was started, or since :func:`forget_peak`.

    Of its own memory: what getrusage tells of a child has the peak of its parent in it.
    """
    try:
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure(name: str, data: tuple[Any, Any], width: int | str, prove: bool = False) -> Row:
    """One fit, perhaps its proof, on fresh workers, whose kernels are compiled by a small fit before."""
    X, y = data
    with client_of_workers(memory_limit=WORKER_MEMORY) as client:
        model = DaskInterpolatingClassifier.paper(
            width=width, center=True, random_state=0, n_jobs=THREADS, client=client
        )
        model.fit(X.blocks[0], y.blocks[0])
        forget_peak()
        client.run(forget_peak)
        watch = Watch.start(client)
        model.fit(X, y)
        seconds, taken = watch.read()
        proof = _proved(model, X, y, client) if prove else {}
        peaks = client.run(peak_mb)
    return {
        "data": name, "points": f"{len(X):,}", "width": model.network_.widths[0], "asked": width,
        "detectors": model.network_.widths[1], "interpolates": model.interpolates_, "fit": f"{seconds:.1f} s",
        "a point": f"{1e6 * seconds / len(X):.2f} us", "processors, a point": f"{1e6 * taken / len(X):.2f} us",
        **proof, "round trips": model.round_trips_, "worker MB": max(peaks.values()), "client MB": peak_mb(),
    }  # fmt: skip


def _proved(model: Any, X: Any, y: Any, client: Any) -> Row:
    watch = Watch.start(client)
    proof = certify(model, X, y)
    seconds, taken = watch.read()
    return {"proof": f"{seconds:.1f} s", "processors": f"{taken:.0f} s", "holds": proof.holds}


def measure_moons(options: Settings) -> list[Row]:
    """Adaptive and n = 1000, beside the same for a million points."""
    size = options.size or MOONS
    with tempfile.TemporaryDirectory() as folder:
        X, y = written(moons_chunk, size, MOONS_CHUNK, Path(folder))
        few = X[:SMALL], y[:SMALL]
        return [measure("Two Moons", data, width) for width in ("adaptive", 1000) for data in (few, (X, y))]


def measure_images(options: Settings) -> list[Row]:
    """n = 1000."""
    with tempfile.TemporaryDirectory() as folder:
        data = written(ones_and_nines(options.data), options.size or IMAGES, IMAGES_CHUNK, Path(folder))
        return [measure("ones and nines", data, 1000, prove=True)]


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """One table."""
    console.print(table_of(rows))


CASES = [
    Case("larger/moons", measure_moons, show),
    Case("larger/images", measure_images, show, needs_data=True),
]
