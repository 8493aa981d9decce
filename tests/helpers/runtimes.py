"""Exports in ONNX Runtime and PyTorch, on one thread; skipped by name where these are not installed."""

from __future__ import annotations

import warnings

import pytest

from exactfit import to_onnx, to_torch

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


def import_torch():
    """PyTorch on one thread; skips where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.set_num_threads(1)  # other tests run beside these
    return torch


def run_torch(module, X):
    """Labels and scores of points, from a module of PyTorch."""
    label, scores = module(import_torch().from_numpy(X))
    return label.numpy(), scores.numpy()


RUNTIMES = ("onnx", pytest.param("torch", marks=pytest.mark.torch))


def exported(runtime, model, dtype):
    """A function from points to labels and scores, in one of the runtimes."""
    if runtime == "onnx":
        proto = to_onnx(model, dtype)
        onnx.checker.check_model(proto, full_check=True)
        there = session(proto.SerializeToString())
        return lambda X: there.run(["label", "scores"], {"X": X})
    import_torch()
    module = to_torch(model, dtype)
    return lambda X: run_torch(module, X)
