"""MNIST, Fashion-MNIST and CIFAR-10 (binary version) from their files, recognised by SHA-256.

Images are recognised by their contents: they are written the way the published files are, and these bytes are hashed.
So downloads from elsewhere are recognised too. Sums of MNIST and Fashion-MNIST were taken from the published files;
those of CIFAR-10's batches are the ones that torchvision for Ruby checks its downloads against.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError

Bytes = NDArray[np.uint8]

N_CLASSES = 10  # of every kind
GZIP_MAGIC = b"\x1f\x8b"
MOST_BYTES = 2**28  # of a file, unpacked: five times the largest published one, 47 MB
IDX_LABELS, IDX_IMAGES = 0x801, 0x803  # magic numbers: bytes in one dimension, in three


@dataclass(frozen=True, eq=False)
class Images:
    """Images as bytes, one per row, with their classes 0..9; where they came from, and whether as published."""

    pixels: Bytes
    labels: Bytes
    published: bool
    source: str


@dataclass(frozen=True)
class ImageKind:
    """Data set of images: its files, its shape, its published sums."""

    name: str
    title: str
    n_pixels: int
    parts: tuple[int, ...]
    sums: tuple[str, ...]
    openml: tuple[str, int]
    layouts: tuple[tuple[str, ...], ...]

    @property
    def is_idx(self) -> bool:
        """Whether images and labels are in IDX files of their own."""
        return self.n_pixels == 28 * 28

    def may_be_in(self, folder: Path) -> bool:
        """Return whether the folder can be this data set's: IDX files have the same names in two of them."""
        return not self.is_idx or ("fashion" in self.name) == ("fashion" in folder.resolve().name.lower())


_MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)

MNIST = ImageKind(
    name="mnist",
    title="MNIST",
    n_pixels=28 * 28,
    parts=(60_000, 10_000),
    sums=(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    openml=("mnist_784", 1),
    layouts=(_MNIST_FILES, tuple(name.replace("-idx", ".idx") for name in _MNIST_FILES)),
)
FASHION = replace(
    MNIST,
    name="fashion-mnist",
    title="Fashion-MNIST",
    sums=(
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    openml=("Fashion-MNIST", 1),
)
CIFAR10 = ImageKind(
    name="cifar10",
    title="CIFAR-10",
    n_pixels=3 * 32 * 32,
    parts=(10_000,) * 6,
    sums=(
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    ),
    openml=("CIFAR_10", 1),
    layouts=((*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"),),
)
KINDS = {kind.name: kind for kind in (MNIST, FASHION, CIFAR10)}


def read_images(kind: ImageKind, folder: Path) -> Images | None:
    """Read images from the files in a folder or in one of its direct subfolders; None if they are not there."""
    for place in [folder, *subfolders(folder)]:
        # All files of one naming, each packed or not: half a data set is not one.
        for names in kind.layouts if kind.may_be_in(place) else ():
            found = [[path for path in (place / name, place / f"{name}.gz") if path.is_file()] for name in names]
            if all(found):
                return _read(kind, [paths[0] for paths in found])
    return None


def subfolders(folder: Path) -> list[Path]:
    """Return the direct subfolders, sorted by name."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise DataError(f"cannot look into the data folder {folder}: {error.strerror or error}") from error


def _read(kind: ImageKind, paths: list[Path]) -> Images:
    if kind.is_idx:
        pixels = np.concatenate([read_idx(path, IDX_IMAGES).reshape(-1, kind.n_pixels) for path in paths[::2]])
        labels = np.concatenate([read_idx(path, IDX_LABELS) for path in paths[1::2]])
    else:
        records = np.concatenate([_binary_batch(path) for path in paths])
        pixels, labels = records[:, 1:], records[:, 0]
    return checked_images(kind, pixels, labels, f"files {paths[0].name} ... {paths[-1].name}")


def checked_images(kind: ImageKind, pixels: Bytes, labels: Bytes, source: str) -> Images:
    """Return images whose shape fits, looked up among the published ones."""
    if pixels.shape != (len(labels), kind.n_pixels) or len(labels) == 0:
        raise DataError(f"{source}: {kind.title} has {kind.n_pixels} pixels for each label, got shape {pixels.shape}")
    if labels.max() >= N_CLASSES:
        raise DataError(f"{source}: labels of {kind.title} are 0 to {N_CLASSES - 1}, got {labels.max()}")
    return Images(pixels, labels, is_published(kind, pixels, labels), source)


def is_published(kind: ImageKind, pixels: Bytes, labels: Bytes) -> bool:
    """Return whether these are the published images, in the published order."""
    if len(labels) != sum(kind.parts):
        return False
    # One after the other: the first part that differs ends it.
    edges = pairwise([0, *accumulate(kind.parts)])
    parts = (part for low, high in edges for part in _as_files(kind, pixels[low:high], labels[low:high]))
    return all(hashlib.sha256(part).hexdigest() == known for part, known in zip(parts, kind.sums, strict=True))


def _as_files(kind: ImageKind, pixels: Bytes, labels: Bytes) -> Iterator[bytes]:
    """Yield the published files' bytes, unpacked, for one part of the images."""
    if kind.is_idx:
        count = len(labels).to_bytes(4, "big")
        yield b"\0\0\x08\x03" + count + bytes([0, 0, 0, 28, 0, 0, 0, 28]) + pixels.tobytes()
        yield b"\0\0\x08\x01" + count + labels.tobytes()
    else:
        yield np.column_stack([labels, pixels]).tobytes()


def contents_of(path: Path) -> bytes:
    """Return a file's bytes, unpacked if it is gzip'ed, whatever its name."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP_MAGIC
        with gzip.open(path) if packed else path.open("rb") as file:
            # A small gzip file can unpack to more than memory holds: no more is read than any published file has.
            contents = bytes(file.read(MOST_BYTES + 1))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read ({error}): it may be incomplete, fetch it again") from error
    if len(contents) > MOST_BYTES:
        raise DataError(f"{path.name} holds more than {MOST_BYTES:,} bytes, and no published file does: fetch it again")
    return contents


def read_idx(path: Path, magic: int) -> Bytes:
    """Return the array of bytes in an IDX file, as published with MNIST and Fashion-MNIST."""
    # The head is a magic number (0x8 for bytes, then the number of dimensions) and the length of each dimension, all
    # big-endian and four bytes long.
    contents = contents_of(path)
    n_dimensions = magic & 0xFF
    head = np.frombuffer(contents[: 4 * (1 + n_dimensions)], dtype=np.uint8)
    numbers = head[: len(head) // 4 * 4].view(">u4").astype(np.int64)
    if len(numbers) != 1 + n_dimensions or int(numbers[0]) != magic:
        raise DataError(f"{path.name} is not an IDX file of bytes in {n_dimensions} dimensions")
    shape = tuple(int(length) for length in numbers[1:])
    body = np.frombuffer(contents, dtype=np.uint8, offset=4 * (1 + n_dimensions))
    if body.size != int(np.prod(shape)):
        raise DataError(f"{path.name} is incomplete: {body.size} bytes for shape {shape}, fetch it again")
    if n_dimensions == 3 and shape[1:] != (28, 28):
        raise DataError(f"{path.name} holds images of {shape[1]} x {shape[2]} pixels, the published ones have 28 x 28")
    return body.reshape(shape)


def _binary_batch(path: Path) -> Bytes:
    """Return records of one byte for the label and 3072 for the pixels."""
    record = 1 + CIFAR10.n_pixels
    contents = np.frombuffer(contents_of(path), dtype=np.uint8)
    if contents.size == 0 or contents.size % record:
        raise DataError(f"{path.name} is incomplete: {contents.size} bytes are no whole number of records of {record}")
    return contents.reshape(-1, record)
