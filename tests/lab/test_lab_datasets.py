"""Data sets: by name, from a stand-in for OpenML, and what is refused."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import re
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.problems import toy_images, write_mnist

from exactfit.data import data_digest
from exactfit.demo import two_moons
from exactfit.exceptions import DataError, ParameterError
from exactfit.lab import load_dataset
from exactfit.lab.datasets import load_images, scale_to_unit


def test_scaled_to_the_unit_interval_and_then_to_largest_norm_one(tmp_path: Path) -> None:
    pixels = write_mnist(tmp_path)
    data = load_dataset("mnist", tmp_path)
    expected = pixels / 255.0
    expected /= np.sqrt((expected**2).sum(axis=1)).max()
    assert np.allclose(data.X, expected, rtol=1e-14)
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert np.sqrt((data.X**2).sum(axis=1)).max() == pytest.approx(1.0)
    assert data.digest == data_digest(data.X, data.y, version=1)
    assert (data.standing, data.target) == ("other", None)
    assert data.remark is not None
    assert "30 images" in data.remark


def test_two_digits_are_scaled_within_themselves(tmp_path: Path) -> None:
    pixels = write_mnist(tmp_path)
    data = load_dataset("mnist-1-vs-8", tmp_path)
    rows = [k for k in range(30) if k % 10 in (1, 8)]
    expected = pixels[rows] / 255.0
    assert np.allclose(data.X, expected / np.sqrt((expected**2).sum(axis=1)).max(), rtol=1e-14)
    assert data.y.tolist() == [0, 1] * 3
    assert (data.classes, data.target) == (("1", "8"), 0)


def test_two_kinds_of_clothes(tmp_path: Path) -> None:
    write_mnist(tmp_path / "fashion-mnist")
    data = load_dataset("fashion-mnist-1-vs-8", tmp_path)
    assert (data.classes, data.target, data.y.tolist()) == (("1", "8"), 0, [0, 1] * 3)
    assert load_dataset("fashion-mnist", tmp_path).X.shape == (30, 784)


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mnist(tmp_path / "mnist")
    monkeypatch.setenv("EXACTFIT_DATA", str(tmp_path))
    assert len(load_dataset("mnist").y) == 30


class OpenML(http.server.BaseHTTPRequestHandler):
    """A stand-in: one data set, as the server describes and sends it."""

    asked: list[str] = []  # noqa: RUF012  (one server at a time)
    files: dict[str, bytes] = {}  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.files.get(self.path.rstrip("/"))
        self.send_response(200 if body is not None else 404)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: Any) -> None:
        pass


def openml_files(pixels: np.ndarray, labels: np.ndarray) -> dict[str, bytes]:
    names = [f"pixel{k + 1}" for k in range(pixels.shape[1])]
    arff = io.StringIO()
    arff.write("@RELATION mnist\n")
    arff.writelines(f"@ATTRIBUTE {name} real\n" for name in names)
    arff.write("@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}\n@DATA\n")
    arff.writelines(",".join(map(str, [*row, label])) + "\n" for row, label in zip(pixels, labels, strict=True))
    body = arff.getvalue().encode()
    flags = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    flags |= {"data_type": "numeric", "is_target": "false"}
    features = [{"index": str(k), "name": name, **flags} for k, name in enumerate(names)]
    features.append({"index": "784", "name": "class"} | flags | {"data_type": "nominal", "is_target": "true"})
    described = {
        "id": "554", "name": "mnist_784", "version": "1", "format": "ARFF", "status": "active", "file_id": "7",
        "default_target_attribute": "class", "md5_checksum": hashlib.md5(body).hexdigest(), "description": "toy",
        "url": "https://www.openml.org/data/v1/download/7/mnist_784.arff",
    }  # fmt: skip
    listed = {"did": 554, "name": "mnist_784", "version": 1, "status": "active"}
    api = "/api/v1/json/data"
    return {
        f"{api}/list/data_name/mnist_784/limit/2/data_version/1": json.dumps({"data": {"dataset": [listed]}}).encode(),
        f"{api}/554": json.dumps({"data_set_description": described}).encode(),
        f"{api}/features/554": json.dumps({"data_features": {"feature": features}}).encode(),
        f"{api}/qualities/554": json.dumps(
            {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(len(labels))}]}}
        ).encode(),
        "/data/v1/download/7/mnist_784.arff": body,
        "/data/v1/download/7": body,  # scikit-learn before 1.7 makes the address from file_id
    }


@pytest.fixture
def openml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[OpenML]]:
    """A real server on this machine that scikit-learn is led to."""
    OpenML.asked, OpenML.files = [], {}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OpenML)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def here(request: Any, *args: Any, **options: Any) -> Any:
        url = request.full_url if isinstance(request, urllib.request.Request) else request
        local = re.sub(r"^https?://[^/]+", f"http://127.0.0.1:{server.server_port}", url)
        return urllib.request.urlopen(local, *args, **options)

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", here)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "kept"))
    monkeypatch.delenv("EXACTFIT_DATA", raising=False)
    yield OpenML
    server.shutdown()
    thread.join()
    server.server_close()


def test_download_from_openml_and_its_cache(openml: type[OpenML]) -> None:
    pixels, labels = toy_images(12, 784)
    openml.files = openml_files(pixels, labels)
    found = load_images("mnist")
    assert (found.pixels == pixels).all()
    assert (found.labels == labels).all()
    assert found.source == "OpenML, mnist_784 version 1"
    asked = len(openml.asked)
    assert asked > 0
    assert (load_images("mnist").pixels == pixels).all()
    assert len(openml.asked) == asked, "the second time comes from the cache"


def test_a_folder_without_the_files_leads_to_the_download(openml: type[OpenML], tmp_path: Path) -> None:
    openml.files = openml_files(*toy_images(12, 784))
    (tmp_path / "empty").mkdir()
    assert len(load_dataset("mnist", tmp_path / "empty").y) == 12


def test_neither_files_nor_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    monkeypatch.delenv("EXACTFIT_DATA", raising=False)
    with pytest.raises(DataError, match=r"no folder was named .*EXACTFIT_DATA.*no route to host"):
        load_dataset("mnist")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(DataError, match=r"subfolders \(elsewhere\).*train-images-idx3-ubyte"):
        load_dataset("mnist", tmp_path)
    with pytest.raises(DataError, match=r"data_batch_1\.bin"):
        load_dataset("cifar10", tmp_path)
    with pytest.raises(DataError, match="cannot look into the data folder"):
        load_dataset("mnist", tmp_path / "nowhere")


def test_a_download_of_another_shape_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fetched:
        data = np.full((3, 784), 0.5)
        target = np.array(["1", "2", "3"])

    monkeypatch.delenv("EXACTFIT_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *_, **__: Fetched)
    with pytest.raises(DataError, match="integers from 0 to 255"):
        load_dataset("mnist")


def test_two_moons_is_the_papers_set() -> None:
    data = load_dataset("two-moons")
    X, y = two_moons()
    assert (data.X == X).all()
    assert (data.y == y).all()
    assert (data.target, data.standing, data.remark) == (1, "generated", None)


def test_parallel_lines() -> None:
    data = load_dataset("parallel-lines")
    assert data.X.shape == (20, 2)
    assert np.ptp(data.X, axis=0).tolist() == [2.0, 0.1]


@pytest.mark.parametrize(
    "name", ["iris", "mnist-", "mnist-1-vs-1", "mnist-1-vs", "mnist-a-vs-b", "two-moons-1-vs-8", ""]
)
def test_unknown_names(name: str) -> None:
    with pytest.raises(ParameterError, match="no data set is called"):
        load_dataset(name)


@pytest.mark.parametrize("X", [np.zeros((3, 2)), np.full((3, 2), np.inf), np.empty((0, 2))])
def test_what_cannot_be_scaled(X: np.ndarray) -> None:
    with pytest.raises(DataError, match="largest norm"):
        scale_to_unit(X)
