"""Weighted detectors with ``exact_in``: exports are right on every training row, in ONNX and PyTorch."""

from __future__ import annotations

import os

import pytest
from helpers.problems import PROBLEMS
from sklearn.datasets import load_digits

from exactfit import InterpolatingClassifier, to_onnx, to_torch

os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


DATA = PROBLEMS | {"digits": digits}


@pytest.mark.torch
@pytest.mark.parametrize("exact_in", ["float64", "float32"])
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid", "digits"])
@pytest.mark.parametrize("hyperplanes", ["bisector", "sparse"])
def test_every_row_is_right_in_onnx_and_torch(hyperplanes, problem, exact_in):
    onnx, ort = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    torch = pytest.importorskip("torch")
    X, y = DATA[problem]()
    model = InterpolatingClassifier(
        hyperplanes=hyperplanes, detectors="weighted", exact_in=exact_in, random_state=0
    ).fit(X, y)
    assert model.certificate_.holds
    points = X.astype(exact_in)
    proto = to_onnx(model, dtype=exact_in)
    onnx.checker.check_model(proto, full_check=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    runtime = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert runtime.run(["label"], {"X": points})[0].tolist() == y.tolist()
    singly = [runtime.run(["label"], {"X": points[k : k + 1]})[0][0] for k in range(0, len(X), 7)]
    assert singly == y[::7].tolist()
    label, _ = to_torch(model, dtype=exact_in)(torch.from_numpy(points))
    assert label.tolist() == y.tolist()
