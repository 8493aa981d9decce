"""Repair: trained models on MNIST and on tables, beside fine-tuning and an override by the nearest neighbour."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from exactfit import RepairedClassifier, repair, save
from exactfit.lab.datasets import load_images

from .cases import Case, Options, Row, table_of

TRAINING, REPORTED = 60_000, 2_000  # training images; test images that are reported as failures
SIDE = 28
EPOCHS = 2  # of the convolutional network: minutes on a small machine
RATES, SEEDS, MOST_EPOCHS = (1e-4, 1e-3, 1e-2), range(5), 50
RADII = (2.0, 4.0, 6.0)  # within which the nearest failure overrides the model; images differ by about 6 to 10


def _mnist(options: Options) -> tuple[np.ndarray, np.ndarray]:
    images = load_images("mnist", options.data)
    X = (images.pixels.reshape(len(images.pixels), -1) / 255).astype(np.float32)
    size = TRAINING if options.size is None else options.size
    rows = np.r_[:size, TRAINING : len(X)]
    return X[rows], images.labels[rows].astype(np.int64)


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
    points, labels = torch.from_numpy(X), torch.from_numpy(y)
    optimiser = torch.optim.Adam(model.parameters(), 2e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(64):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(points[rows]), labels[rows]).backward()
            optimiser.step()
    return model.eval()


def _answers(model: Any, X: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X))
    import torch

    with torch.no_grad():
        parts = [model(part).argmax(dim=1) for part in torch.from_numpy(X).split(2000)]
    return np.asarray(torch.cat(parts).numpy())


MODELS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {"mlp": _mlp, "cnn": _convolutions}


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


def _sizes(repaired: RepairedClassifier) -> dict[str, Any]:
    """Kilobytes of the file, of which the model's own numbers are the rest of the patches'."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.exactfit"
        save(repaired, path)
        whole = path.stat().st_size
    patches = sum(part.nbytes for part in repaired.network_.patches.tensors().values())
    return {"file KB": round(whole / 1000), "patches KB": round(patches / 1000)}


def training_points(name: str) -> Callable[[Options], list[Row]]:
    """All training points of MNIST right."""

    def run(options: Options) -> list[Row]:
        X, y = _mnist(options)
        n = len(y) - 10_000
        model = MODELS[name](X[:n], y[:n])
        rows = []
        for reach in ("least", "full"):
            began = time.perf_counter()
            repaired = repair(model, X[:n], y[:n], reach=reach, exact_in="float32", random_state=0)
            seconds = time.perf_counter() - began
            told = repaired.report(X[n:], y[n:])
            assert (repaired.predict(X[:n]) == y[:n]).all()
            found = told.held_out
            assert found is not None
            rows.append({
                "model": name, "reach": reach, "wrong before": int((_answers(model, X[:n]) != y[:n]).sum()),
                "patched": told.n_wrong, "patches": repaired.n_patches_, "seconds": round(seconds, 1),
                "proved": repaired.certificate_.note or "whole", "mended": found.mended, "broken": found.broken,
                "test before": found.accuracy_before, "test after": found.accuracy_after, **_sizes(repaired),
            })  # fmt: skip
        return rows

    return run


def failures(name: str) -> Callable[[Options], list[Row]]:
    """Changed test images as reported failures; training images that were right have to stay so."""

    def run(options: Options) -> list[Row]:
        X, y = _mnist(options)
        n = len(y) - 10_000
        model = MODELS[name](X[:n], y[:n])
        reported = changed_images(X[n : n + REPORTED]), y[n : n + REPORTED]
        task = Task(model, (X[:n], y[:n]), reported, (X[n + REPORTED :], y[n + REPORTED :]))
        rows = [task.row(name, "as it was", 0.0, model)]
        for reach in ("least", 0.5):
            began = time.perf_counter()
            kept = task.kept
            given = np.concatenate([reported[0], X[:n][kept]]), np.concatenate([reported[1], y[:n][kept]])
            repaired = repair(model, *given, reach=reach, exact_in="float32", random_state=0)
            rows.append(task.row(name, f"repair, reach {reach}", time.perf_counter() - began, repaired))
        rows += [_overridden(task, name, radius) for radius in RADII]
        return rows

    return run


class Task:
    """Failures to mend, training images to keep, and test images that nobody speaks of."""

    def __init__(self, model: Any, training: Any, reported: Any, rest: Any) -> None:
        self.model, self.training, self.reported, self.rest = model, training, reported, rest
        self.kept = _answers(model, training[0]) == training[1]

    def row(self, name: str, how: str, seconds: float, model: Any) -> Row:
        """What came of a way to mend a model."""
        right = [_answers(model, X) == y for X, y in (self.training, self.reported, self.rest)]
        return {
            "model": name, "way": how, "seconds": round(seconds, 1),
            "failures right": f"{int(right[1].sum())} of {len(right[1])}",
            "training images broken": int((self.kept & ~right[0]).sum()), "rest right": float(right[2].mean()),
        }  # fmt: skip


class _Override:
    """The label of the nearest failure within a radius, else the model's."""

    def __init__(self, model: Any, X: np.ndarray, y: np.ndarray, radius: float) -> None:
        self.model, self.radius = model, radius
        self.nearest, self.labels = KNeighborsClassifier(1, algorithm="brute").fit(X, y), y

    def predict(self, X: np.ndarray) -> np.ndarray:
        away, places = self.nearest.kneighbors(X)
        return np.where(away[:, 0] < self.radius, self.labels[places[:, 0]], _answers(self.model, X))


def _overridden(task: Task, name: str, radius: float) -> Row:
    began = time.perf_counter()
    model = _Override(task.model, *task.reported, radius)
    return task.row(name, f"1-NN within {radius:g}", time.perf_counter() - began, model)


def fine_tuning(rate: float) -> Callable[[Options], list[Row]]:
    """The convolutional network trained on until every failure is right, from five seeds."""

    def run(options: Options) -> list[Row]:
        X, y = _mnist(options)
        n = len(y) - 10_000
        model = _convolutions(X[:n], y[:n])
        reported = changed_images(X[n : n + REPORTED]), y[n : n + REPORTED]
        task = Task(model, (X[:n], y[:n]), reported, (X[n + REPORTED :], y[n + REPORTED :]))
        rows = []
        for seed in SEEDS:
            began = time.perf_counter()
            tuned, epochs = _tuned(model, *reported, rate, seed)
            seconds = time.perf_counter() - began
            rows.append(task.row("cnn", f"fine-tuning, rate {rate:g}, seed {seed}, {epochs} epochs", seconds, tuned))
        return rows

    return run


def _tuned(model: Any, X: np.ndarray, y: np.ndarray, rate: float, seed: int) -> tuple[Any, int]:
    import torch
    from torch import nn

    torch.manual_seed(seed)
    tuned, points, labels = deepcopy(model).train(), torch.from_numpy(X), torch.from_numpy(y)
    optimiser = torch.optim.Adam(tuned.parameters(), rate)
    epochs = 0
    while epochs < MOST_EPOCHS and not (epochs and (_answers(tuned, X) == y).all()):
        epochs += 1
        for rows in torch.randperm(len(y)).split(64):
            optimiser.zero_grad()
            nn.functional.cross_entropy(tuned(points[rows]), labels[rows]).backward()
            optimiser.step()
    return tuned.eval(), epochs


def tables(options: Options) -> list[Row]:
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


def local(options: Options) -> list[Row]:
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


def show(console: Console, rows: Sequence[Row], options: Options) -> None:
    """One table for each case."""
    for keys in dict.fromkeys(tuple(row) for row in rows):
        console.print(table_of([row for row in rows if tuple(row) == keys]))


CASES = [
    Case("repair/local", local, show),
    Case("repair/tables", tables, show),
    *(Case(f"repair/training-{name}", training_points(name), show, needs_data=True) for name in MODELS),
    *(Case(f"repair/failures-{name}", failures(name), show, needs_data=True) for name in MODELS),
    *(Case(f"repair/fine-tuning-{rate:g}", fine_tuning(rate), show, needs_data=True) for rate in RATES),
]
