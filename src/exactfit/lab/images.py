"""MNIST, Fashion-MNIST and CIFAR-10 as they are published: read from disk, recognised by SHA-256.

MNIST and Fashion-MNIST come as four IDX files, gzip'ed or not, of the same names: those in a folder
with "fashion" in its name are Fashion-MNIST's. CIFAR-10 comes as six batches, in a binary version
and in a python version (pickles, read here without running any code of theirs). Images are
in the order of the files: training images first, then test images.

Whether images are the published ones is decided by their contents: they are written the way
the published files are, and these bytes are hashed. So the sums below recognise either
version of CIFAR-10, and downloads from elsewhere. Sums of MNIST and Fashion-MNIST were taken from
the published files; those of CIFAR-10's binary batches are the ones that torchvision for Ruby
checks its downloads against.
"""

from __future__ import annotations

import gzip
import hashlib
import pickle
import pickletools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

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
    """What is known of a data set of images: its files, its shape, its published sums."""

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
        """Whether the files that a folder holds can be this data set's: IDX files are called alike in two of them."""
        return not self.is_idx or ("fashion" in self.name) == ("fashion" in folder.resolve().name.lower())


_MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")

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
    layouts=(tuple(f"{name}.bin" for name in _BATCHES), _BATCHES),
)
KINDS = {kind.name: kind for kind in (MNIST, FASHION, CIFAR10)}


def read_images(kind: ImageKind, folder: Path) -> Images | None:
    """Images from the files in a folder or in one of its direct subfolders; None if they are not there."""
    for place in [folder, *subfolders(folder)]:
        for names in kind.layouts if kind.may_be_in(place) else ():
            paths = [_present(place, name) for name in names]
            if all(paths):
                return _read(kind, [path for path in paths if path is not None])
    return None


def subfolders(folder: Path) -> list[Path]:
    """The direct subfolders, sorted by name."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError as error:
        raise DataError(f"cannot look into the data folder {folder}: {error.strerror or error}") from error


def _present(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _read(kind: ImageKind, paths: Sequence[Path]) -> Images:
    if kind.is_idx:
        pixels = [read_idx(path, IDX_IMAGES).reshape(-1, kind.n_pixels) for path in paths[::2]]
        labels = [read_idx(path, IDX_LABELS) for path in paths[1::2]]
    else:
        pixels, labels = [], []
        for path in paths:
            batch = _binary_batch(path) if ".bin" in path.name else _python_batch(path)
            pixels.append(batch[0])
            labels.append(batch[1])
    return checked_images(
        kind, np.concatenate(pixels), np.concatenate(labels), f"files {paths[0].name} ... {paths[-1].name}"
    )


def checked_images(kind: ImageKind, pixels: Bytes, labels: Bytes, source: str) -> Images:
    """Images whose shape fits, looked up among the published ones."""
    if pixels.shape != (len(labels), kind.n_pixels) or len(labels) == 0:
        raise DataError(f"{source}: {kind.title} has {kind.n_pixels} pixels for each label, got shape {pixels.shape}")
    if labels.max() >= N_CLASSES:
        raise DataError(f"{source}: labels of {kind.title} are 0 to {N_CLASSES - 1}, got {labels.max()}")
    return Images(pixels, labels, is_published(kind, pixels, labels), source)


def is_published(kind: ImageKind, pixels: Bytes, labels: Bytes) -> bool:
    """Whether these are the published images, in the published order."""
    if len(labels) != sum(kind.parts):
        return False
    edges = pairwise([0, *accumulate(kind.parts)])
    parts = (part for low, high in edges for part in _as_files(kind, pixels[low:high], labels[low:high]))
    return all(hashlib.sha256(part).hexdigest() == known for part, known in zip(parts, kind.sums, strict=True))


def _as_files(kind: ImageKind, pixels: Bytes, labels: Bytes) -> Iterator[bytes]:
    """The published files' bytes, unpacked, for one part of the images."""
    if kind.is_idx:
        count = len(labels).to_bytes(4, "big")
        yield b"\0\0\x08\x03" + count + bytes([0, 0, 0, 28, 0, 0, 0, 28]) + pixels.tobytes()
        yield b"\0\0\x08\x01" + count + labels.tobytes()
    else:
        yield np.column_stack([labels, pixels]).tobytes()


def _contents(path: Path) -> bytes:
    """A file's bytes, unpacked if it is gzip'ed, whatever its name."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP_MAGIC
        with gzip.open(path) if packed else path.open("rb") as file:
            contents = bytes(file.read(MOST_BYTES + 1))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read ({error}): it may be incomplete, fetch it again") from error
    if len(contents) > MOST_BYTES:
        raise DataError(f"{path.name} holds more than {MOST_BYTES:,} bytes, and no published file does: fetch it again")
    return contents


def read_idx(path: Path, magic: int) -> Bytes:
    """The array of bytes in an IDX file, as published with MNIST and Fashion-MNIST.

    The head is a magic number (0x8 for bytes, then the number of dimensions) and the length
    of each dimension, all big-endian and four bytes long.
    """
    contents = _contents(path)
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


def _binary_batch(path: Path) -> tuple[Bytes, Bytes]:
    """Records of one byte for the label and 3072 for the pixels."""
    record = 1 + CIFAR10.n_pixels
    contents = np.frombuffer(_contents(path), dtype=np.uint8)
    if contents.size == 0 or contents.size % record:
        raise DataError(f"{path.name} is incomplete: {contents.size} bytes are no whole number of records of {record}")
    records = contents.reshape(-1, record)
    return records[:, 1:], records[:, 0]


def _python_batch(path: Path) -> tuple[Bytes, Bytes]:
    """A pickled dictionary with an array ``data`` of bytes and a list ``labels``."""
    import io

    try:
        contents = _contents(path)
        _refuse_unlike_batches(contents)
        batch = _OnlyArrays(io.BytesIO(contents), encoding="bytes").load()
        batch = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
        pixels, labels = batch["data"].values(), np.array(_numbers(batch["labels"]))
    except DataError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(f"{path.name} is not a batch of CIFAR-10's python version: {error!r}") from error
    if labels.dtype.kind not in "iu" or labels.ndim != 1 or labels.min() < 0 or labels.max() >= N_CLASSES:
        raise DataError(f"{path.name}: labels must be a list of whole numbers from 0 to {N_CLASSES - 1}")
    return pixels, labels.astype(np.uint8)


def _numbers(labels: Any) -> list[int]:
    """A flat list of whole numbers; NumPy would walk through any nesting."""
    if type(labels) is not list or not all(type(label) is int for label in labels):
        raise DataError(f"labels of CIFAR-10 must be a list of whole numbers from 0 to {N_CLASSES - 1}")
    return labels


def _refuse_unlike_batches(contents: bytes) -> None:
    """Refuse a pickle that does what no batch needs, before anything is made of it.

    Containers that stand in several places can be exponentially large, and tuples in tuples in tuples
    exhaust the stack when they are hashed. So containers may not be taken from the memo, and tuples are few.
    """
    known: set[int] = set()
    containers: set[int] = set()
    tuples, last = 0, ""
    for code, argument, _ in pickletools.genops(contents):
        name = code.name
        if name not in OPERATIONS:
            raise DataError(f"refused: a batch of CIFAR-10 that uses the operation {name}")
        if name == "MEMOIZE" or name.endswith("PUT"):
            place = len(known) if name == "MEMOIZE" else int(argument or 0)
            known.add(place)
            (containers.add if last in CONTAINERS else containers.discard)(place)
        tuples += name.startswith("TUPLE")
        if (name.endswith("GET") and int(argument or 0) in containers) or tuples > MOST_TUPLES:
            raise DataError("refused: a batch of CIFAR-10 with containers inside one another")
        last = name


class _Dtype:
    """Stands in for numpy.dtype in a pickle: keeps the name, does nothing."""

    def __init__(self, name: Any, *_: Any) -> None:
        self.name = name.decode() if isinstance(name, bytes) else name

    def __setstate__(self, state: Any) -> None:
        pass


class _Array:
    """Stands in for numpy.ndarray in a pickle: keeps shape, type and bytes."""

    def __init__(self, *_: Any) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def values(self) -> Bytes:
        """The array, if it is one of bytes in rows."""
        _, shape, dtype, in_columns, contents = self.state
        if dtype.name != "u1" or in_columns or len(shape) != 2:
            raise DataError("the pixels in a batch of CIFAR-10 must be bytes, row by row")
        return np.frombuffer(contents, dtype=np.uint8).reshape(shape)


def _latin1(text: str, encoding: str) -> bytes:
    """Bytes as Python 3 puts them in old pickles."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes encoded as {encoding}")
    return text.encode("latin1")


def _new_array(*_: Any) -> _Array:
    return _Array()


# Operations of pickles that hold a dictionary of strings, numbers, lists and an array, of every protocol.
CONTAINERS = frozenset(["TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "LIST", "DICT", "EMPTY_LIST", "EMPTY_DICT"])
OPERATIONS = CONTAINERS | {
    "PROTO", "FRAME", "MARK", "STOP", "EMPTY_TUPLE", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "GLOBAL",
    "STACK_GLOBAL", "REDUCE", "BUILD", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2",
    "LONG", "LONG1", "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET",
    "LONG_BINGET",
}  # fmt: skip
MOST_TUPLES = 1000  # the published batches have fewer than twenty

_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy._core.multiarray", "_reconstruct"): _new_array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _latin1,
}


class _StandIn:
    """A class or function that a pickle may call, and not change: what it sets here nobody sees."""

    __slots__ = ("_make",)

    def __init__(self, make: Any) -> None:
        self._make = make

    def __call__(self, *arguments: Any) -> Any:
        return self._make(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("a batch of CIFAR-10 that changes functions")


class _OnlyArrays(pickle.Unpickler):
    """Knows no class or function but stand-ins for arrays: a file cannot make it run anything."""

    def __init__(self, file: BinaryIO | Any, *, encoding: str) -> None:
        super().__init__(file, encoding=encoding)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise DataError(f"refused: a batch of CIFAR-10 that asks for {module}.{name}")
        return _StandIn(_ALLOWED[module, name])
