"""Data of experiments: data sets by name, scikit-learn's loaders, and tables of one's own, scaled and in an order."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from exactfit import DataError, ParameterError, read_table
from exactfit.data import finite_points, refuse_conflicts
from exactfit.lab import Dataset, load_dataset
from exactfit.lab.datasets import scale_to_unit
from exactfit.tables import Encoding

from .experiment import READING, Experiment

SCALES = ("unit", "standard", "none")
ORDERS = ("given", "stratified")
LOADERS = ("load_", "make_", "fetch_")


def load_data(experiment: Experiment, folder: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """Load all data sets of an experiment: finite, and no equal points with different labels.

    Images come from the files in ``folder``, that of EXACTFIT_DATA by default.
    """
    found = [data for spec in experiment.data for data in _load(spec, folder, experiment.folder)]
    for data in found:
        finite_points(data.X)
        refuse_conflicts(data.X, data.y)
    return found


def _load(spec: Mapping[str, Any], folder: str | os.PathLike[str] | None, base: Path) -> list[Dataset]:
    """Load a data set, or one for each stratified order of it."""
    order, families = spec.get("order", ORDERS[0]), spec.get("families", 1)
    if order not in ORDERS:
        raise ParameterError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    if isinstance(families, bool) or not isinstance(families, int) or families < 1:
        raise ParameterError(f"families must be an integer >= 1, got {families!r}")
    if families > 1 and order != "stratified":
        raise ParameterError('families are stratified orders: they go with order = "stratified"')
    data = load_dataset(spec["name"], folder) if "name" in spec else _own(spec, base)
    if "target" in spec:
        label = str(spec["target"])
        if label not in data.classes or len(data.classes) != 2:
            classes = ", ".join(data.classes)
            raise ParameterError(f"target must be one of two classes: {data.name} has {classes}, got {label[:40]}")
        data = replace(data, target=data.classes.index(label))
    if order == "given":
        return [data]
    return [data.reordered(stratified_order(data.y, random_state=seed)) for seed in range(families)]


def stratified_order(y: NDArray[np.int64], random_state: int = 0) -> NDArray[np.intp]:
    """Return an order of the rows whose every beginning holds the classes in their proportions.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.data import stratified_order
    >>> y = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    >>> y[stratified_order(y)]
    array([0, 1, 0, 0, 1, 0, 0, 1, 0])
    """
    # Each class is shuffled, then the classes are merged evenly.
    rng = np.random.default_rng(random_state)
    place = np.empty(len(y))
    for k in range(int(y.max()) + 1):
        rows = rng.permutation(np.flatnonzero(y == k))
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(place, kind="stable")


def _own(spec: Mapping[str, Any], base: Path) -> Dataset:
    # Tables are standardised unless the experiment says otherwise; their encoding does it, for columns of numbers.
    scale = spec.get("scale", "standard" if "file" in spec else "unit")
    if scale not in SCALES:
        raise ParameterError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    name, X, labels, source = _from_loader(spec, scale) if "loader" in spec else _from_file(spec, base, scale)
    X = np.array(X, dtype=np.float64, order="C")
    if X.ndim != 2 or len(X) != len(labels) or not X.size:
        raise DataError(f"{name}: there must be a label for each row of features, got shapes {X.shape}, {labels.shape}")
    if scale != "none":
        scale_to_unit(X)
    classes, y = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{name}: there must be at least two classes")
    y, names = y.reshape(-1).astype(np.int64), tuple(map(str, classes.tolist()))
    own = not str(spec.get("loader", "")).startswith("make_")
    return Dataset.of(X, y, name=name, classes=names, target=None, source=source, own=own)


def _from_loader(spec: Mapping[str, Any], scale: str) -> tuple[str, Any, NDArray[Any], str]:
    name, arguments = str(spec["loader"]), dict(spec.get("arguments", {}))
    loader: Callable[..., Any] | None = getattr(datasets, name, None) if name.startswith(LOADERS) else None
    if loader is None:
        raise ParameterError(f"sklearn.datasets has no loader {name!r}: take one of its load_, make_ or fetch_")
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    if "return_X_y" in inspect.signature(loader).parameters:
        arguments["return_X_y"] = True
    loaded = loader(**arguments)
    if not isinstance(loaded, tuple) or len(loaded) != 2:
        raise DataError(f"sklearn.datasets.{name} does not return points and labels")
    X, y = loaded
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    X = StandardScaler().fit_transform(X) if scale == "standard" else X
    return name.split("_", 1)[1], X, np.asarray(y), f"sklearn.datasets.{name}({given})"


def _from_file(spec: Mapping[str, Any], base: Path, scale: str) -> tuple[str, Any, NDArray[Any], str]:
    path, label = base / str(spec["file"]), spec.get("label")
    if label is None and path.suffix != ".npz":
        raise ParameterError(f"say which column of {path.name} holds the labels: label = ...")
    table = read_table(path, label=label, **{name: spec[name] for name in READING if name in spec})
    if table.labels is None:
        raise DataError(f"{path.name} must hold an array of labels y beside X")
    encoding = Encoding.learn(table, "standard" if scale == "standard" else "none")
    return path.stem, encoding.encode(table), table.labels, f"file {path.name}"
