"""Exports in ONNX Runtime and PyTorch, on one thread; skipped by name where these are not installed."""

from __future__ import annotations

import warnings

import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

DTYPES = ("float64", "float32")


def session(source):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # others would spin while they wait for work
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run_onnx(proto, X):
    onnx.checker.check_model(proto, full_check=True)
    return session(proto.SerializeToString()).run(["label", "scores"], {"X": X})


def about(proto):
    return {entry.key: entry.value for entry in proto.metadata_props}


def run_torch(module, X):
    """Labels and scores of points, from a module of PyTorch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

    torch.set_num_threads(1)  # other tests run beside these
    label, scores = module(torch.from_numpy(X))
    return label.numpy(), scores.numpy()
