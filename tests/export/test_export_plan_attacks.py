"""Attacks on what ``float32_safe`` claims: other orders of sums, FMA, permuted columns, batch sizes, moved points."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.attacks import evaluations, moves_towards
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, make_moons

from exactfit import InterpolatingClassifier, Network, certify, to_onnx, to_torch
from exactfit.lab import load_dataset
from exactfit.network import Dense

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
Points = NDArray[np.float32]

IMAGES = 400  # of MNIST
FEW = 24  # rows that are evaluated in every order: these are emulated in NumPy
BATCHES = (1, 3, 64, 10**6)
PERMUTATIONS = 3


def mnist() -> tuple[Any, Any]:
    if not os.environ.get("EXACTFIT_DATA"):
        pytest.skip("needs EXACTFIT_DATA")
    images = load_dataset("mnist")
    return images.X[:IMAGES], images.y[:IMAGES]


PROBLEMS = {
    "two moons": lambda: make_moons(300, noise=0.05, random_state=0),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: tuple(part[:600] for part in load_digits(return_X_y=True)),
    "mnist": mnist,
}


def permuted(network: Network, order: NDArray[np.intp]) -> Network:
    """The same network for points whose columns come in another order."""
    first, *others = network.layers
    assert isinstance(first.weights, Dense)
    weights = Dense(np.ascontiguousarray(first.weights.values[:, order]))
    return Network((replace(first, weights=weights), *others), network.decoder)


def in_onnx(network: Network, points: Points) -> Iterator[tuple[str, list[int]]]:
    """Answers of onnxruntime, batch by batch."""
    ort = pytest.importorskip("onnxruntime")
    proto = to_onnx(network, "float32")
    for threads in (1, 2):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for size in BATCHES:
            parts = [session.run(["label"], {"X": part})[0] for part in batches(points, size)]
            yield f"onnxruntime, {threads} threads, batches of {size}", np.concatenate(parts).tolist()


def in_torch(network: Network, points: Points) -> Iterator[tuple[str, list[int]]]:
    """Answers of PyTorch, batch by batch."""
    torch = pytest.importorskip("torch")
    module = to_torch(network, "float32")
    for size in BATCHES:
        parts = [module(torch.from_numpy(part))[0].numpy() for part in batches(points, size)]
        yield f"torch, batches of {size}", np.concatenate(parts).tolist()


def batches(points: Points, size: int) -> Iterator[Points]:
    """Parts of at most so many rows; of single rows only a few."""
    rows = points[:FEW] if size == 1 else points
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("detectors", ["mask", "weighted"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_evaluation_in_float32_changes_an_answer(name: str, detectors: str) -> None:
    X, y = PROBLEMS[name]()
    options = {"detectors": detectors, "exact_in": "float32", "margin": "10%"}
    model = InterpolatingClassifier.paper(center=True, random_state=0, **options).fit(X, y)
    certificate = certify(model, X, y, arithmetic="float32")
    assert certificate.holds
    assert certificate.float32_safe
    assert not len(certificate.narrow)
    codes, network, rng = np.searchsorted(model.classes_, y), model.network_, np.random.default_rng(0)
    points = np.asarray(X, dtype=np.float32)
    for moved in (points, *moves_towards(network, points, y, model.trace_.margin, rng, n_random=2)):
        seen = moved.astype(np.float32)
        few = rng.choice(len(X), FEW, replace=False)
        for how, found in evaluations(network, seen[few], "float32"):
            assert found.tolist() == codes[few].tolist(), how
        for how, answers in (*in_onnx(network, seen), *in_torch(network, seen)):
            assert answers == codes[: len(answers)].tolist(), how
    for _ in range(PERMUTATIONS):
        order = rng.permutation(X.shape[1])
        for how, answers in in_onnx(permuted(network, order), np.ascontiguousarray(points[:, order])):
            assert answers == codes[: len(answers)].tolist(), how
