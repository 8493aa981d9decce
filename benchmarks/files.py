"""How large the files of models of MNIST are: masks, weights, and other models that know every training image.

Every model is fitted to 60,000 images; its file is the one that ``exactfit.save`` writes, a pickle for scikit-learn's.
The ONNX file is in float32 for all: ``exactfit.to_onnx``, or skl2onnx for scikit-learn's models.
"""

from __future__ import annotations

import pickle
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from exactfit import InterpolatingClassifier, save, to_onnx

from .cases import THREADS, Case, Data, Row, Settings
from .weighted import NEW_IMAGES, PAPER, SEED, fitted, markdown, mnist

FOREST_TREES = 100  # scikit-learn's default
MLP_UNITS = 100  # scikit-learn's default
MLP_EPOCHS = 200  # at most: it takes fewer until no training image is wrong


def neighbour(X: np.ndarray, y: np.ndarray) -> Any:
    """The training images themselves."""
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1).fit(X, y)


def forest(X: np.ndarray, y: np.ndarray) -> Any:
    """Trees with pure leaves, each grown on all images, so that no training image is wrong."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(FOREST_TREES, bootstrap=False, random_state=SEED, n_jobs=THREADS).fit(X, y)


def trained(X: np.ndarray, y: np.ndarray) -> Any:
    """A network trained until no training image is wrong."""
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier((MLP_UNITS,), random_state=SEED)
    for _ in range(MLP_EPOCHS):
        model.partial_fit(X, y, classes=np.unique(y))
        if (model.predict(X) == y).all():
            return model
    raise ArithmeticError(f"some training images are still wrong after {MLP_EPOCHS} epochs")


def detectors(kind: str, X: np.ndarray, y: np.ndarray) -> Any:
    """Masks or weights on 2000 hyperplanes."""
    return fitted((X, y), PAPER | {"width": 2000}, kind, SEED)[0]


MODELS = {
    "mask": partial(detectors, "mask"),
    "weighted": partial(detectors, "weighted"),
    "1-nn": neighbour,
    "forest": forest,
    "mlp-100": trained,
}


def write(model: Any, features: int, folder: Path) -> tuple[Path, Path]:
    """The model's file and its ONNX file."""
    saved, exported = folder / "model", folder / "model.onnx"
    if isinstance(model, InterpolatingClassifier):
        save(model, saved)
        to_onnx(model, "float32", path=exported)
        return saved, exported
    from skl2onnx import to_onnx as converted

    saved.write_bytes(pickle.dumps(model))
    graph = converted(model, np.zeros((1, features), dtype=np.float32), options={id(model): {"zipmap": False}})
    exported.write_bytes(graph.SerializeToString())
    return saved, exported


def measure(name: str, options: Settings) -> list[Row]:
    """One model: megabytes of both files, how many of the first training images it has wrong, and accuracy."""
    (X, y), new = mnist(60_000, options)
    model = MODELS[name](X, y)
    with tempfile.TemporaryDirectory() as folder:
        saved, exported = (path.stat().st_size / 1e6 for path in write(model, X.shape[1], Path(folder)))
    return [{"model": name, "file MB": saved, "ONNX MB": exported} | _answers(model, (X, y), new)]


def _answers(model: Any, data: Data, new: Data) -> Row:
    wrong = int(np.count_nonzero(model.predict(data[0][:NEW_IMAGES]) != data[1][:NEW_IMAGES]))
    return {"wrong of 10,000 training images": wrong, "accuracy": float(np.mean(model.predict(new[0]) == new[1]))}


CASES = [Case(f"weighted-files/{name}", partial(measure, name), markdown, needs_data=True) for name in MODELS]
