"""Repair: trained models on MNIST and on tables, beside fine-tuning and an override by the nearest neighbour."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache, partial
from io import BytesIO
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from exactfit import RepairedClassifier, repair, to_onnx
from exactfit.lab.datasets import load_images

from .cases import Case, Data, Row, Settings, table_of

TRAINING, REPORTED = 60_000, 2_000  # training images; test images that are reported as failures
SIDE = 28
EPOCHS = 2  # of the convolutional network: half a minute on one core
RATES, SEEDS, MOST_EPOCHS = (1e-4, 1e-3, 1e-2), range(5), 50
BATCH = 64  # images to a step of training
RADII = (2.0, 4.0, 6.0)  # within which the nearest failure overrides the model; images differ by about 6 to 10


@cache
def _mnist(options: Settings) -> tuple[Data, Data]:
    """Training images, test images."""
    images = load_images("mnist", options.data)
    X = (images.pixels.reshape(len(images.pixels), -1) / 255).astype(np.float32)
    size = TRAINING if options.size is None else options.size
    y = images.labels.astype(np.int64)
    return (X[:size], y[:size]), (X[TRAINING:], y[TRAINING:])


def _mlp(X: np.ndarray, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped early, and says so
        return MLPClassifier(100, max_iter=8, random_state=0).fit(X, y)


def _convolutions(X: np.ndarray, y: np.ndarray) -> Any:
    """Two convolutions and a linear layer, trained here."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Unflatten(1, (1, SIDE, SIDE)),
        nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 5, stride=2), nn.ReLU(), nn.Flatten(),
        nn.Linear(256, 10),
    )  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), 2e-3)
    for _ in range(EPOCHS):
        _epoch(model, optimiser, X, y)
    return model.eval()


def _epoch(model: Any, optimiser: Any, X: np.ndarray, y: np.ndarray) -> None:
    import torch
    from torch.nn.functional import cross_entropy

    points, labels = torch.from_numpy(X), torch.from_numpy(y)
    for rows in torch.randperm(len(y)).split(BATCH):
        optimiser.zero_grad()
        cross_entropy(model(points[rows]), labels[rows]).backward()
        optimiser.step()


def _answers(model: Any, X: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X))
    import torch

    with torch.no_grad():
        parts = [model(part).argmax(dim=1) for part in torch.from_numpy(X).split(2000)]
    return np.asarray(torch.cat(parts).numpy())


MODELS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {"mlp": _mlp, "cnn": _convolutions}


@cache
def _trained(name: str, options: Settings) -> Any:
    return MODELS[name](*_mnist(options)[0])


def changed_images(X: np.ndarray, seed: int = 0) -> np.ndarray:
    """Images shifted by up to three pixels, with noise, and a square of eight by eight pixels blacked out."""
    rng = np.random.default_rng(seed)
    out = np.empty_like(X)
    for row, image in enumerate(X.reshape(-1, SIDE, SIDE)):
        moved = np.roll(image, rng.integers(-3, 4, 2), axis=(0, 1))
        noisy = np.clip(moved + rng.normal(0, 0.1, moved.shape), 0, 1)
        top, left = rng.integers(4, SIDE - 12, 2)
        noisy[top : top + 8, left : left + 8] = 0
        out[row] = noisy.reshape(-1).astype(np.float32)
    return out


def _graph(model: Any) -> Any:
    """A model as an ONNX graph in float32, for any number of rows."""
    import onnx

    if hasattr(model, "predict"):
        from skl2onnx import to_onnx as converted

        return converted(model, np.zeros((1, SIDE * SIDE), np.float32), options={id(model): {"zipmap": False}})
    import torch

    file, point = BytesIO(), torch.zeros(1, SIDE * SIDE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the newer exporter needs one package more
        torch.onnx.export(
            model, (point,), file, dynamo=False, input_names=["X"], output_names=["scores"],
            dynamic_axes={"X": {0: "rows"}, "scores": {0: "rows"}},
        )  # fmt: skip
    return onnx.load_model_from_string(file.getvalue())


def _sizes(model: Any, repaired: RepairedClassifier, data: Data) -> Row:
    """Kilobytes of the ONNX files of the model and of model and patches, which need an ONNX model or a chain."""
    before = _graph(model)
    if repaired.network_.model is None:
        repaired = RepairedClassifier(before, **_options(repaired)).fit(*data)
    after = to_onnx(repaired, "float32")
    return {f"{name} KB": round(len(graph.SerializeToString()) / 1000) for name, graph in
            (("model", before), ("with patches", after))}  # fmt: skip


def _options(repaired: RepairedClassifier) -> dict[str, Any]:
    return {name: value for name, value in repaired.get_params(deep=False).items() if name != "model"}


def training_points(name: str, options: Settings) -> list[Row]:
    """All training points of MNIST right."""
    data, new = _mnist(options)
    model, rows = _trained(name, options), []
    wrong = int((_answers(model, data[0]) != data[1]).sum())
    for reach in ("least", "full"):
        began = time.perf_counter()
        repaired = repair(model, *data, reach=reach, exact_in="float32", random_state=0)
        seconds = time.perf_counter() - began
        told = repaired.report(*new)
        found = told.held_out
        assert found is not None
        assert (repaired.predict(data[0]) == data[1]).all()
        rows.append({
            "model": name, "reach": reach, "wrong before": wrong, "patched": told.n_wrong,
            "patches": repaired.n_patches_, "seconds": round(seconds, 1),
            "proved": repaired.certificate_.note or "whole", "mended": found.mended, "broken": found.broken,
            "test before": found.accuracy_before, "test after": found.accuracy_after, **_sizes(model, repaired, data),
        })  # fmt: skip
    return rows


class Task:
    """Changed test images as failures to mend, training images to keep, and test images that nobody speaks of."""

    def __init__(self, name: str, options: Settings) -> None:
        self.training, (X, y) = _mnist(options)
        self.name, self.model = name, _trained(name, options)
        self.reported = changed_images(X[:REPORTED]), y[:REPORTED]
        self.rest = X[REPORTED:], y[REPORTED:]
        self.kept = _answers(self.model, self.training[0]) == self.training[1]

    def row(self, way: str, seconds: float, model: Any, epochs: int | str = "") -> Row:
        """What came of a way to mend a model."""
        right = [_answers(model, X) == y for X, y in (self.training, self.reported, self.rest)]
        return {
            "model": self.name, "way": way, "epochs": epochs, "seconds": round(seconds, 1),
            "failures right": int(right[1].sum()), "training images broken": int((self.kept & ~right[0]).sum()),
            "others right": round(100 * float(right[2].mean()), 2),
        }  # fmt: skip

    def timed(self, way: str, make: Callable[[], Any]) -> Row:
        """What comes of a way to mend a model, and how long it takes."""
        began = time.perf_counter()
        model = make()
        return self.row(way, time.perf_counter() - began, model)


def failures(name: str, options: Settings) -> list[Row]:
    """Reported failures; training images that were right have to stay so."""
    task = Task(name, options)
    kept = [part[task.kept] for part in task.training]
    given = [np.concatenate(parts) for parts in zip(task.reported, kept, strict=True)]
    rows = [task.row("as it was", 0.0, task.model)]
    for reach in ("least", 0.5):
        mend = partial(repair, task.model, *given, reach=reach, exact_in="float32", random_state=0)
        rows.append(task.timed(f"repair, reach {reach}", mend))
    for radius in RADII:
        rows.append(task.timed(f"1-NN within {radius:g}", partial(_Override, task.model, *task.reported, radius)))
    return rows


class _Override:
    """The label of the nearest failure within a radius, else the model's."""

    def __init__(self, model: Any, X: np.ndarray, y: np.ndarray, radius: float) -> None:
        self.model, self.radius = model, radius
        self.nearest, self.labels = KNeighborsClassifier(1, algorithm="brute").fit(X, y), y

    def predict(self, X: np.ndarray) -> np.ndarray:
        away, places = self.nearest.kneighbors(X)
        return np.where(away[:, 0] < self.radius, self.labels[places[:, 0]], _answers(self.model, X))


def fine_tuning(rate: float, options: Settings) -> list[Row]:
    """The convolutional network trained on until every failure is right, from five seeds.

    On the failures alone, and with as many training images that it gets right beside them in every epoch.
    """
    task = Task("cnn", options)
    return [_ranges([_fine_tuned(task, rate, seed, beside) for seed in SEEDS]) for beside in (False, True)]


def _fine_tuned(task: Task, rate: float, seed: int, beside: bool) -> Row:
    import torch

    torch.manual_seed(seed)
    rng, kept = np.random.default_rng(seed), np.flatnonzero(task.kept)
    began, epochs, (X, y) = time.perf_counter(), 0, task.reported
    model = deepcopy(task.model).train()
    optimiser = torch.optim.Adam(model.parameters(), rate)
    while epochs < MOST_EPOCHS and not (epochs and (_answers(model, X) == y).all()):
        epochs += 1
        rows = rng.choice(kept, len(y) if beside else 0, replace=False)
        more = [part[rows] for part in task.training]
        _epoch(model, optimiser, *(np.concatenate(parts) for parts in zip(task.reported, more, strict=True)))
    how = ", training images beside" if beside else ""
    return task.row(f"fine-tuning, rate {rate:g}{how}", time.perf_counter() - began, model.eval(), epochs)


def _ranges(rows: Sequence[Row]) -> Row:
    """Several rows as one, with the range of every number."""
    merged = {name: sorted({row[name] for row in rows}) for name in rows[0]}
    return {name: found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}" for name, found in merged.items()}


def tables(options: Settings) -> list[Row]:
    """Forest and boosting on two real tables: ten held-out rows that they get wrong, all training rows to keep."""
    rows = []
    for load in (load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        X, held_out, y, labels = train_test_split(X, y, test_size=0.5, random_state=0)
        for model in (RandomForestClassifier(20, random_state=0), GradientBoostingClassifier(random_state=0)):
            model.fit(X, y)
            wrong = np.flatnonzero(model.predict(held_out) != labels)[:10]
            rest = np.delete(np.arange(len(labels)), wrong)
            kept = model.predict(X) == y
            given = np.concatenate([held_out[wrong], X[kept]]), np.concatenate([labels[wrong], y[kept]])
            began = time.perf_counter()
            repaired = repair(model, *given, random_state=0)
            seconds = time.perf_counter() - began
            found = repaired.report(held_out[rest], labels[rest]).held_out
            assert found is not None
            rows.append({
                "table": load.__name__.removeprefix("load_"), "model": type(model).__name__, "rows": len(given[1]),
                "failures": len(wrong), "right after": int((repaired.predict(held_out[wrong]) == labels[wrong]).sum()),
                "kept rows broken": int((repaired.predict(X[kept]) != y[kept]).sum()), "seconds": round(seconds, 2),
                "held out": found.n_rows, "mended": found.mended, "broken": found.broken,
            })  # fmt: skip
    return rows


PAIRS: list[tuple[Any, Callable[..., Any]]] = [
    (LogisticRegression(C=1e-4), load_digits),
    (MLPClassifier(30, max_iter=60, random_state=0), load_digits),
    (RandomForestClassifier(10, max_depth=6, random_state=0), load_digits),
    (RandomForestClassifier(10, max_depth=3, random_state=0), load_breast_cancer),
    (GradientBoostingClassifier(n_estimators=5, random_state=0), load_breast_cancer),
    (GradientBoostingClassifier(n_estimators=1, max_depth=1, random_state=0), load_wine),
    (LogisticRegression(), lambda return_X_y: make_moons(2000, noise=0.3, random_state=0)),
    (MLPClassifier(20, max_iter=60, random_state=0), lambda return_X_y: make_moons(2000, noise=0.3, random_state=0)),
]


def local(options: Settings) -> list[Row]:
    """With the default reach: answers that change on held-out rows, for models and data of several kinds."""
    rows = []
    for model, load in PAIRS:
        X, y = load(return_X_y=True)
        X, held_out, y, labels = train_test_split(X, y, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        name = getattr(load, "__name__", "").removeprefix("load_")
        for kind in ("ball", "mask", "weighted"):
            repaired = repair(model, X, y, patches=kind, random_state=0)
            found = repaired.report(held_out, labels).held_out
            assert found is not None
            rows.append({
                "data": "moons" if name == "<lambda>" else name, "model": type(model).__name__, "patches": kind,
                "wrong": len(repaired.repair_.targets), "number": repaired.n_patches_, "held out": found.n_rows,
                "mended": found.mended, "broken": found.broken,
            })  # fmt: skip
    return rows


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """One table for each case."""
    for keys in dict.fromkeys(tuple(row) for row in rows):
        console.print(table_of([row for row in rows if tuple(row) == keys]))


CASES = [
    Case("repair/local", local, show),
    Case("repair/tables", tables, show),
    *(Case(f"repair/training-{name}", partial(training_points, name), show, needs_data=True) for name in MODELS),
    *(Case(f"repair/failures-{name}", partial(failures, name), show, needs_data=True) for name in MODELS),
    *(Case(f"repair/fine-tuning-{rate:g}", partial(fine_tuning, rate), show, needs_data=True) for rate in RATES),
]
