"""ONNX files in ONNX Runtime, on one thread; skipped by name where they are not installed."""

from __future__ import annotations

import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

DTYPES = ("float64", "float32")


def session(source):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # others would spin while they wait for work
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(proto, X):
    onnx.checker.check_model(proto, full_check=True)
    return session(proto.SerializeToString()).run(["label", "scores"], {"X": X})


def about(proto):
    return {entry.key: entry.value for entry in proto.metadata_props}
