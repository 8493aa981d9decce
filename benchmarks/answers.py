"""How answers do elsewhere: exports in their runtimes.

*Exports* (docs/export.md): a row for every data set, model and runtime: bytes of the file, training points in error in
that runtime, and CPU seconds per row, one row at a time and in batches, on one thread. 1-NN and a random forest of 100
trees are scikit-learn's, exported by skl2onnx. Times are the best of three rounds over the same rows; errors are
counted over all rows for exactfit, and over the timed rows for the others.

*Sparse* (docs/export.md): exports of a first layer of sparse hyperplanes (1 to 4 features each, at random) and ten
detectors, and of the same network with a dense first layer: bytes of the file, and CPU milliseconds for a call with one
row and with 1,000, the median of some.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from rich.console import Console
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from exactfit import InterpolatingClassifier, Network, to_onnx, to_torch
from exactfit.network import BitMatrix, Decoder, Dense, Layer, Masks, Sparse
from exactfit.network.activations import THRESHOLD

from .cases import Case, Data, Row, Settings, digits, images, moons

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

Predict = Callable[[Any], Any]
Floats = NDArray[np.float64]

ROUNDS, BATCH = 3, 256  # the best of so many rounds counts; rows in a batch
SINGLE_ROWS, BATCHED_ROWS = 200, 2048  # rows that are timed one at a time, and in batches
SHARES = (0.01, 0.05, 0.10)  # of labels that are wrong
SEEDS = 5  # draws of them, averaged
FOLDS = 5
ITERATIONS = 100  # of the regression: more changed no digit that is shown


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
            model = InterpolatingClassifier.paper(center=True, exact_in=dtype, random_state=0, **options).fit(X, y)
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


def measure_exports(name: str, load: Callable[[str | None], Data], options: Settings) -> list[Row]:
    """Every export of one data set."""
    X, y = load(options.data)
    X = np.ascontiguousarray(X, dtype=np.float64)
    rows, found = np.random.default_rng(0).permutation(len(X))[:BATCHED_ROWS], []
    for model, runtime, (size, predict) in exports(X, y):
        checked = np.arange(len(X)) if model.startswith("exactfit") else rows
        answers = [predict(X[checked[low : low + BATCH]]) for low in range(0, len(checked), BATCH)]
        errors = int(np.count_nonzero(np.concatenate(answers) != y[checked]))
        single, batched = seconds_per_row(predict, X[rows[:SINGLE_ROWS]], 1), seconds_per_row(predict, X[rows], BATCH)
        found.append(
            {"data": name, "model": model, "runtime": runtime, "size": size, "errors": errors,
             "single": single, "batched": batched}
        )  # fmt: skip
    return found


def show_exports(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """The lines of the table in docs/export.md."""
    for row in rows:
        print(
            f"| {row['data']} | {row['model']} | {row['runtime']} | {row['size'] / 1e6:.2f} | {row['errors']} "
            f"| {row['single'] * 1e6:,.0f} | {row['batched'] * 1e6:,.1f} |"
        )


# Hyperplanes and features: images, and tables.
LAYERS = {"sparse/images": (8000, 784), "sparse/tables": (4096, 20), "sparse/wide-tables": (4096, 64)}
CALLS = {1: 51, 1000: 9}  # rows of a call, and how many calls
MOST_FEATURES, DETECTORS = 4, 10


def random_network(width: int, n_features: int, dense: bool) -> Network:
    """A network of sparse hyperplanes at random, as a sparse layer or a dense one."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, MOST_FEATURES + 1, width)
    features = np.concatenate([np.sort(rng.choice(n_features, count, replace=False)) for count in counts])
    signs = rng.choice(np.array([-1.0, 1.0], dtype=np.float32), len(features))
    weights = sp.csr_array((signs, features, np.concatenate([[0], np.cumsum(counts)])), shape=(width, n_features))
    first = Layer(Dense(weights.toarray()) if dense else Sparse(weights), rng.uniform(-255, 255, width), THRESHOLD)
    masks = Masks(BitMatrix.from_bool(rng.random((DETECTORS, width)) < 0.5), -1)
    second = Layer(masks, np.full(DETECTORS, width // 4), THRESHOLD)
    last = Layer(Masks(BitMatrix.from_bool(np.eye(DETECTORS, dtype=bool)), 1), np.zeros(DETECTORS, np.int64), None)
    return Network((first, second, last), Decoder("one_hot", tuple(range(DETECTORS))))


def measure_sparse(width: int, n_features: int, options: Settings) -> list[Row]:
    """Both forms of a first layer in every runtime."""
    found: list[Row] = []
    for dtype in ("float32", "float64"):
        for form in ("sparse", "dense"):
            network = random_network(width, n_features, form == "dense")
            runtimes = {"onnxruntime": through_onnx(to_onnx(network, dtype), dtype)}
            if find_spec("torch"):
                runtimes["PyTorch"] = through_torch(network, dtype)
            for runtime, (size, predict) in runtimes.items():
                times = {n: milliseconds(predict, n, n_features, dtype) for n in CALLS}
                found.append(
                    {"shape": f"{width:,} over {n_features:,}", "form": form, "runtime": f"{runtime} {dtype}",
                     "size": size, "single": times[1], "batched": times[1000]}
                )  # fmt: skip
    return found


def milliseconds(predict: Predict, n_rows: int, n_features: int, dtype: str) -> float:
    """The median of some calls with so many rows; before the first one much is not there yet."""
    X = np.random.default_rng(1).integers(0, 256, (n_rows, n_features)).astype(dtype)
    predict(X)
    taken = []
    for _ in range(CALLS[n_rows]):
        start = time.process_time()
        predict(X)
        taken.append(time.process_time() - start)
    return 1000 * float(np.median(taken))


def show_sparse(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """The lines of the table in docs/export.md."""
    for row in sorted(rows, key=lambda row: (row["shape"], row["runtime"])):
        print(
            f"| {row['shape']} | {row['runtime']} | {row['form']} | {row['size'] / 1e6:.2f} "
            f"| {row['single']:.2f} | {row['batched']:.1f} |"
        )


def _ten_thousand(folder: str | None) -> Data:
    return images("mnist", 10_000, folder)


def _cases(group: str, measure: Any, show: Any, loads: dict[str, Callable[[str | None], Data]]) -> list[Case]:
    return [
        Case(f"{group}/{name}", partial(measure, name, load), show, needs_data=load is _ten_thousand)
        for name, load in loads.items()
    ]


CASES = [
    *_cases("export", measure_exports, show_exports, {
        "digits": lambda _: digits(), "two-moons-100000": lambda _: moons(100_000), "mnist-10000": _ten_thousand,
    }),
    *(Case(name, partial(measure_sparse, *shape), show_sparse) for name, shape in LAYERS.items()),
]  # fmt: skip
