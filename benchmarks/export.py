"""Size and speed of exports: ``python -m benchmarks.export --data FOLDER``.

A row for every data set, model and runtime: bytes of the file, training points in error in that runtime, and CPU
seconds per row, one row at a time and in batches, on one thread. 1-NN and a random forest of 100 trees are
scikit-learn's, exported by skl2onnx. Times are the best of three rounds over the same rows; errors are counted over
all rows for exactfit, and over the timed rows for the others.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from exactfit import InterpolatingClassifier, to_onnx, to_torch

from .cases import Data, digits, images, moons

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

ROUNDS, BATCH = 3, 256
SINGLE_ROWS, BATCHED_ROWS = 200, 2048
Predict = Callable[[Any], Any]


@dataclass(frozen=True)
class Row:
    """What came out for one export."""

    data: str
    model: str
    runtime: str
    size: int
    errors: int
    single: float
    batched: float


def through_onnx(proto: Any, dtype: str) -> tuple[int, Predict]:
    """Bytes of the file, and labels by onnxruntime on one thread."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    content = proto.SerializeToString()
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    name, label = session.get_inputs()[0].name, session.get_outputs()[0].name
    return len(content), lambda X: session.run([label], {name: X.astype(dtype, copy=False)})[0]


def through_torch(model: Any, dtype: str) -> tuple[int, Predict]:
    """Bytes of the saved state, and labels by PyTorch on one thread."""
    import torch

    torch.set_num_threads(1)
    module, file = to_torch(model, dtype), io.BytesIO()
    torch.save(module.state_dict(), file)

    def predict(X: Any) -> Any:
        with torch.no_grad():
            return module(torch.from_numpy(X.astype(dtype, copy=False)))[0].numpy()

    return file.getbuffer().nbytes, predict


def exports(X: Any, y: Any) -> Iterator[tuple[str, str, tuple[int, Predict]]]:
    """Model, runtime, and the export."""
    from skl2onnx import to_onnx as convert

    for name, options in (("exactfit", {}), ("exactfit, min_width=2000", {"min_width": 2000})):
        for dtype in ("float32", "float64"):
            model = InterpolatingClassifier(exact_in=dtype, random_state=0, **options).fit(X, y)
            size = f"{name} ({model.width_:,} hyperplanes, {model.n_detectors_:,} detectors)"
            yield size, f"onnxruntime {dtype}", through_onnx(to_onnx(model, dtype), dtype)
            if find_spec("torch"):
                yield size, f"PyTorch {dtype}", through_torch(model, dtype)
    first = X[:1].astype(np.float32)
    for name, rival, options in (
        ("1-NN", KNeighborsClassifier(1), {"zipmap": False, "optim": "cdist"}),
        ("random forest", RandomForestClassifier(100, random_state=0), {"zipmap": False}),
    ):
        fitted = rival.fit(X.astype(np.float32), y)
        proto = convert(fitted, first, target_opset=18, options={type(fitted): options})
        yield name, "onnxruntime float32", through_onnx(proto, "float32")


def seconds_per_row(predict: Predict, X: Any, size: int) -> float:
    """The best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for low in range(0, len(X), size):
            predict(X[low : low + size])
        best = min(best, time.process_time() - start)
    return best / len(X)


def measure(name: str, X: Any, y: Any) -> Iterator[Row]:
    """Every export of one data set."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    rows = np.random.default_rng(0).permutation(len(X))[:BATCHED_ROWS]
    for model, runtime, (size, predict) in exports(X, y):
        checked = np.arange(len(X)) if model.startswith("exactfit") else rows
        answers = [predict(X[checked[low : low + BATCH]]) for low in range(0, len(checked), BATCH)]
        errors = int(np.count_nonzero(np.concatenate(answers) != y[checked]))
        single = seconds_per_row(predict, X[rows[:SINGLE_ROWS]], 1)
        yield Row(name, model, runtime, size, errors, single, seconds_per_row(predict, X[rows], BATCH))


CASES: dict[str, Callable[[str], Data]] = {
    "digits": lambda _: digits(),
    "two-moons 100,000": lambda _: moons(100_000),
    "mnist 10,000": lambda folder: images("mnist", 10_000, folder),
}


def markdown(row: Row) -> str:
    """A line of the table in docs/export.md."""
    return (
        f"| {row.data} | {row.model} | {row.runtime} | {row.size / 1e6:.2f} | {row.errors} "
        f"| {row.single * 1e6:,.0f} | {row.batched * 1e6:,.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Size and speed of exports.")
    parser.add_argument("--data", default=os.environ.get("EXACTFIT_DATA", ""))
    parser.add_argument("--only", help="one case by name")
    parser.add_argument("--json", action="store_true", help="a line of JSON for every row")
    given = parser.parse_args()
    for name, load in CASES.items():
        if (given.only or name) != name or (name.startswith("mnist") and not given.data):
            continue
        for row in measure(name, *load(given.data)):
            print(json.dumps(asdict(row)) if given.json else markdown(row), flush=True)


if __name__ == "__main__":
    main()
