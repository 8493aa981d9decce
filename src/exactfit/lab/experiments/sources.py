"""The data of an experiment: one of the paper's sets, a scikit-learn loader, or a file of the user's."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...certificate import data_digest
from ...construct.labels import refuse_conflicts, refuse_not_finite
from ...exceptions import DataError, ParameterError
from ...tables import Encoding, read_table
from .datasets import Dataset, load_dataset, scale_to_unit, stratified_order
from .grid import Experiment

Table = tuple[NDArray[Any], NDArray[Any]]
SCALES = ("unit", "none")
ORDERS = ("given", "stratified")
LOADERS = ("load_", "make_", "fetch_")


def load_data(experiment: Experiment, folder: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """All data sets of an experiment, checked: finite, and no equal points with different labels.

    Parameters
    ----------
    experiment : Experiment
    folder : path, optional
        With the files of MNIST or CIFAR-10; that of EXACTFIT_DATA by default.

    Examples
    --------
    >>> from exactfit.lab.experiments.grid import paper_experiment
    >>> from exactfit.lab.experiments.sources import load_data
    >>> [data.name for data in load_data(paper_experiment("parallel-lines"))]
    ['parallel-lines']
    """
    found = [_load(spec, folder, experiment.folder or Path()) for spec in experiment.data]
    for data in found:
        refuse_not_finite(data.X)
        refuse_conflicts(data.X, data.y)
    return found


def _load(spec: Mapping[str, Any], folder: str | os.PathLike[str] | None, base: Path) -> Dataset:
    order = spec.get("order", "given")
    if order not in ORDERS:
        raise ParameterError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    data = load_dataset(spec["name"], folder) if "name" in spec else _own(spec, base)
    if "target" in spec:
        data = replace(data, target=_target(data, spec["target"]))
    return data.reordered(stratified_order(data.y)) if order == "stratified" else data


def _target(data: Dataset, label: Any) -> int:
    if str(label) not in data.classes or len(data.classes) != 2:
        raise ParameterError(
            f"target must be one of two classes: {data.name} has {', '.join(data.classes)}, got {label!r}"
        )
    return data.classes.index(str(label))


def _own(spec: Mapping[str, Any], base: Path) -> Dataset:
    name, (X, labels), source = (_from_loader if "loader" in spec else _from_file)(spec, base)
    X = np.array(X, dtype=np.float64, order="C")
    if X.ndim != 2 or len(X) != len(labels) or not X.size:
        raise DataError(f"{name}: there must be a label for each row of features, got shapes {X.shape}, {labels.shape}")
    scale = spec.get("scale", "unit")
    if scale not in SCALES:
        raise ParameterError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    if scale == "unit":
        scale_to_unit(X)
    classes, y = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{name}: there must be at least two classes")
    y = y.reshape(-1).astype(np.int64)
    names = tuple(map(str, classes.tolist()))
    digest = data_digest(X, y)
    return Dataset(X=X, y=y, name=name, classes=names, target=None, digest=digest, published=None, source=source)


def _from_loader(spec: Mapping[str, Any], _base: Path) -> tuple[str, Table, str]:
    from sklearn import datasets

    name, arguments = str(spec["loader"]), dict(spec.get("arguments", {}))
    loader: Callable[..., Any] | None = getattr(datasets, name, None) if name.startswith(LOADERS) else None
    if loader is None:
        raise ParameterError(f"sklearn.datasets has no loader {name!r}: take one of its load_, make_ or fetch_")
    if "return_X_y" in inspect.signature(loader).parameters:
        arguments["return_X_y"] = True
    loaded = loader(**arguments)
    if not isinstance(loaded, tuple) or len(loaded) != 2:
        raise DataError(f"sklearn.datasets.{name} does not return points and labels")
    X, y = loaded
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    shown = ", ".join(f"{key}={value!r}" for key, value in spec.get("arguments", {}).items())
    return name.split("_", 1)[1], (X, np.asarray(y)), f"sklearn.datasets.{name}({shown})"


def _from_file(spec: Mapping[str, Any], base: Path) -> tuple[str, Table, str]:
    """Points of a table as they are: categories as indicators, nothing scaled."""
    path, label = base / str(spec["file"]), spec.get("label")
    if label is None and path.suffix != ".npz":
        raise ParameterError(f"say which column of {path.name} holds the labels: label = ...")
    table = read_table(path, target=label)
    if table.labels is None:
        raise DataError(f"{path.name} must hold an array of labels y beside X")
    return path.stem, (Encoding.learn(table, "none").encode(table), table.labels), f"file {path.name}"
