"""Files of MNIST with few images, of random pixels."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from exactfit.lab.images import MNIST

MNIST_NAMES = MNIST.layouts[0]


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return head + array.astype(np.uint8).tobytes()


def toy_images(count: int, n_pixels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, n_pixels), dtype=np.uint8)
    return pixels, (np.arange(count) % 10).astype(np.uint8)


def write_mnist(
    folder: Path, *, packed: bool = True, names: tuple[str, ...] = MNIST_NAMES, seed: int = 0
) -> np.ndarray:
    folder.mkdir(parents=True, exist_ok=True)
    pixels, labels = toy_images(30, 784, seed)
    parts = [pixels[:20].reshape(-1, 28, 28), labels[:20], pixels[20:].reshape(-1, 28, 28), labels[20:]]
    for name, part in zip(names, parts, strict=True):
        contents = idx(part)
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(contents, mtime=0))
        else:
            (folder / name).write_bytes(contents)
    return pixels
