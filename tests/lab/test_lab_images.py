"""MNIST, Fashion-MNIST and CIFAR-10 from files: every form of them, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.problems import idx, toy_images, write_mnist

from exactfit.exceptions import DataError
from exactfit.lab import datasets, images, load_dataset
from exactfit.lab.datasets import load_images
from exactfit.lab.images import CIFAR10, MNIST


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("inside", ["", "mnist", "anything"])
@pytest.mark.parametrize("names", MNIST.layouts)
def test_mnist_from_idx_files(tmp_path: Path, packed: bool, inside: str, names: tuple[str, ...]) -> None:
    pixels = write_mnist(tmp_path / inside, packed=packed, names=names)
    found = load_images("mnist", tmp_path)
    assert (found.pixels == pixels).all()
    assert found.labels.tolist() == [k % 10 for k in range(30)]
    assert not found.published


@pytest.mark.parametrize("inside", ["fashion-mnist", "FashionMNIST"])
def test_folders_tell_fashion_mnist_from_mnist(tmp_path: Path, inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mnist(tmp_path / inside, seed=1)
    pixels = write_mnist(tmp_path / "mnist")
    assert (load_images("mnist", tmp_path).pixels == pixels).all()
    for folder in (tmp_path, tmp_path / inside):
        assert (load_images("fashion-mnist", folder).pixels == toy_images(30, 784, seed=1)[0]).all()
    monkeypatch.setattr(datasets, "_fetch", None)  # so that a download fails
    for kind, folder in (("fashion-mnist", tmp_path / "mnist"), ("mnist", tmp_path / inside)):
        with pytest.raises(DataError, match="not at hand"):
            load_images(kind, folder)


def write_cifar_binary(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    pixels, labels = toy_images(24, 3072)
    records = np.column_stack([labels, pixels])
    for k, name in enumerate(CIFAR10.layouts[0]):
        (folder / name).write_bytes(records[4 * k : 4 * k + 4].tobytes())
    return pixels, labels


def old_pickle(pixels: np.ndarray, labels: list[int]) -> bytes:
    """As Python 2 wrote the published batches: protocol 2, byte strings, numpy.core."""
    raw = pixels.tobytes()
    return (
        b"\x80\x02}("
        b"U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
        + b"M" + len(pixels).to_bytes(2, "little") + b"M" + (3072).to_bytes(2, "little") + b"\x86"
        + b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + b"T" + len(raw).to_bytes(4, "little") + raw + b"tb"
        + b"U\x06labels]("
        + b"".join(b"K" + bytes([label]) for label in labels)
        + b"eu."
    )  # fmt: skip


@pytest.mark.parametrize("how", ["python 2", "python 3, protocol 2", "python 3, protocol 4"])
def test_both_versions_of_cifar_hold_the_same(tmp_path: Path, how: str) -> None:
    pixels, labels = write_cifar_binary(tmp_path / "bin" / "cifar-10-batches-bin")
    python = tmp_path / "py" / "cifar-10-batches-py"
    python.mkdir(parents=True)
    for k, name in enumerate(CIFAR10.layouts[1]):
        own, codes = pixels[4 * k : 4 * k + 4], labels[4 * k : 4 * k + 4].tolist()
        batch = {b"data": own, b"labels": codes, b"batch_label": b"toy"}
        protocol = 2 if how.endswith("2") else 4
        contents = old_pickle(own, codes) if how == "python 2" else pickle.dumps(batch, protocol=protocol)
        (python / name).write_bytes(contents)
    from_binary, from_python = load_images("cifar10", tmp_path / "bin"), load_images("cifar10", tmp_path / "py")
    assert (from_binary.pixels == pixels).all()
    assert (from_python.pixels == pixels).all()
    assert (from_python.labels == labels).all()


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo evil > evil.txt",)


def test_a_pickle_cannot_run_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in CIFAR10.layouts[1]:
        (tmp_path / name).write_bytes(pickle.dumps({b"data": Evil(), b"labels": [1]}))
    with pytest.raises(DataError, match=r"refused.*system"):
        load_images("cifar10", tmp_path)
    assert not (tmp_path / "evil.txt").exists()


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"not a pickle",
        pickle.dumps([1, 2]),
        pickle.dumps({"data": 3, "labels": [1]}),
        pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": ["cat"]}),
        pickle.dumps({b"data": np.zeros((1, 3072), np.float64), b"labels": [1]}),
        pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [10]}),
    ],
)
def test_other_pickles_are_refused(tmp_path: Path, contents: bytes) -> None:
    for name in CIFAR10.layouts[1]:
        (tmp_path / name).write_bytes(contents)
    with pytest.raises(DataError):
        load_images("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("name", "contents", "says"),
    [
        ("train-images-idx3-ubyte", idx(np.zeros((20, 28, 28)))[:-5], "incomplete"),
        ("train-images-idx3-ubyte", b"\0\0", "not an IDX file"),
        ("train-images-idx3-ubyte", idx(np.zeros(20)), "not an IDX file"),
        ("train-images-idx3-ubyte", idx(np.zeros((20, 14, 56))), "14 x 56"),
        ("train-images-idx3-ubyte", gzip.compress(idx(np.zeros((20, 28, 28))), mtime=0)[:-9], "incomplete"),
        ("train-labels-idx1-ubyte", idx(np.zeros(19)), "pixels for each label"),
        ("train-labels-idx1-ubyte", idx(np.full(20, 10)), "0 to 9"),
    ],
)
def test_damaged_idx_files_are_refused(tmp_path: Path, name: str, contents: bytes, says: str) -> None:
    write_mnist(tmp_path, packed=False)
    (tmp_path / name).write_bytes(contents)
    with pytest.raises(DataError, match=says):
        load_images("mnist", tmp_path)


def test_a_damaged_binary_batch_is_refused(tmp_path: Path) -> None:
    write_cifar_binary(tmp_path)
    (tmp_path / "test_batch.bin").write_bytes(b"\0" * 3072)
    with pytest.raises(DataError, match="no whole number of records"):
        load_images("cifar10", tmp_path)


def test_published_images_are_recognised_by_their_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels, labels = write_cifar_binary(tmp_path)
    sums = tuple(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in CIFAR10.layouts[0])
    known = replace(CIFAR10, parts=(4,) * 6, sums=sums)
    assert images.is_published(known, pixels, labels)
    assert not images.is_published(known, pixels[::-1], labels)
    assert not images.is_published(known, pixels[:20], labels[:20])
    monkeypatch.setitem(images.KINDS, "cifar10", known)
    assert load_dataset("cifar10", tmp_path).standing == "published"


@pytest.mark.data
def test_the_published_mnist_is_recognised() -> None:
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    found = load_images("mnist", folder)
    assert found.published
    assert found.pixels.shape == (70_000, 784)
    assert np.bincount(found.labels).tolist() == [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]


@pytest.mark.data
def test_the_published_fashion_mnist_is_recognised() -> None:
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder or not list(Path(folder).glob("fashion-mnist/train-images*")):
        pytest.skip("EXACTFIT_DATA names no folder with fashion-mnist in it")
    found = load_images("fashion-mnist", folder)
    assert found.published
    assert found.pixels.shape == (70_000, 784)
    assert np.bincount(found.labels).tolist() == [7000] * 10


def nested_tuples(depth: int) -> bytes:
    """A dictionary whose key is a tuple of twice the same tuple, and so on."""
    return b"}(" + b"q".join([b"K\x01", *[b"\x00h\x00h\x00\x86"] * depth]) + b"\x00K\x02u."


BOMBS = {
    "shared tuples": nested_tuples(60),
    "deep tuples": b"}(K\x01" + b"\x85" * 10**6 + b"K\x02u.",
    "shared lists": b"}(U\x04datacnumpy\nndarray\nU\x06labels]q\x00K\x01a" + b"]q\x00(h\x00h\x00e" * 60 + b"u.",
    "nested labels": pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "labels": [[1]]}),
    "changed classes": b"cnumpy\nndarray\n}U\x06valuesK\x01sb.",
    "changed functions": b"c_codecs\nencode\n}U\x01xK\x01sb.",
    "objects": b"\x80\x02cnumpy\nndarray\n)\x81.",
    "extension": b"\x82\x01.",
    "persistent": b"Pabc\n.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_pickle_that_would_take_forever_is_refused_at_once(name: str, tmp_path: Path) -> None:
    before = dict(vars(images._Array)), dict(vars(images._latin1))
    for file in CIFAR10.layouts[1]:
        (tmp_path / file).write_bytes(BOMBS[name])
    with pytest.raises(DataError):
        load_images("cifar10", tmp_path)
    assert (dict(vars(images._Array)), dict(vars(images._latin1))) == before


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_BYTES", 2**16)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(2**20)))
    with pytest.raises(DataError, match="more than 65,536 bytes"):
        images._contents(path)
