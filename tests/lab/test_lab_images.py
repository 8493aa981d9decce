"""MNIST, Fashion-MNIST and CIFAR-10 from files: every form of them, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import idx, toy_images, write_mnist

from exactfit.exceptions import DataError
from exactfit.lab import images, load_dataset
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
    monkeypatch.setattr("sklearn.datasets.fetch_openml", None)  # so that a download fails
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


def test_cifar_from_binary_batches(tmp_path: Path) -> None:
    pixels, labels = write_cifar_binary(tmp_path / "cifar-10-batches-bin")
    found = load_images("cifar10", tmp_path)
    assert (found.pixels == pixels).all()
    assert (found.labels == labels).all()


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


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_BYTES", 2**16)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(2**20)))
    with pytest.raises(DataError, match="more than 65,536 bytes"):
        images.contents_of(path)
