"""The data of the experiments: by name, from a scikit-learn loader or a user's file; scaled, with digest and origin.

MNIST, Fashion-MNIST and CIFAR-10 come from files in a folder that the caller names, or that the
environment variable EXACTFIT_DATA names, else from OpenML through scikit-learn, which keeps a copy.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import largest_norm
from .._support.parameters import check_integer, shown
from ..data import data_digest, finite_points, mean_and_deviation, refuse_conflicts
from ..data.matrices import row_tiles
from ..exceptions import DataError, ParameterError
from ..geometry.theorem import make_parallel_lines
from ..tables import Encoding, read_table
from .experiment import READING, Experiment
from .images import KINDS, ImageKind, Images, checked_images, read_images, subfolders

if TYPE_CHECKING:
    from .option_sweep import OptionSweep

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

Scaled = Literal["unit", "standard", "none"]
Table = tuple[NDArray[Any], NDArray[Any]]

FOLDER_VARIABLE = "EXACTFIT_DATA"
SCALES = ("unit", "standard", "none")
ORDERS = ("given", "stratified")
LOADERS = ("load_", "make_", "fetch_")


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Labelled points, ready to be fitted.

    Attributes
    ----------
    X : ndarray of float64, shape (n_points, d)
    y : ndarray of int64, shape (n_points,)
        Class codes 0..K-1.
    name : str
    classes : tuple of str
        Names of the classes, by code.
    target : int or None
        The one class that gets detectors; None: all of them do.
    digest : str
        Version 1 of ``exactfit.data.data_digest``: seeds of trials, and so all stores, come from it.
    published : bool or None
        Whether these are the files as published; None for data made by a formula, or a user's.
    source : str
        Where the points come from.
    own : bool
        Whether they are a user's: a file, or data that scikit-learn ships or fetches.

    Examples
    --------
    >>> from exactfit.lab import load_dataset
    >>> moons = load_dataset("two-moons")
    >>> moons.X.shape, moons.target, moons.standing
    ((1000, 2), 1, 'generated')
    """

    X: Floats
    y: Codes
    name: str
    classes: tuple[str, ...]
    target: int | None
    digest: str
    published: bool | None
    source: str
    own: bool = False

    def __repr__(self) -> str:
        return f"<Dataset: {self.name}, {len(self.y):,} points, {self.X.shape[1]:,} features, {self.standing}>"

    @classmethod
    def of(cls, X: Floats, y: Codes, published: bool | None = None, **facts: Any) -> Dataset:
        """Points and labels with their digest."""
        return cls(X=X, y=y, digest=data_digest(X, y, version=1), published=published, **facts)

    @property
    def standing(self) -> str:
        """One word: published, other, own, or generated."""
        return "own" if self.own else {True: "published", False: "other", None: "generated"}[self.published]

    @property
    def remark(self) -> str | None:
        """What a reader of results has to know, in one line; None if there is nothing."""
        if self.published is not False:
            return None
        return f"{self.name}: {len(self.y)} images of the right shape, but not the published ones ({self.source})"

    def reordered(self, rows: NDArray[np.intp]) -> Dataset:
        """Some rows, in the given order, as a data set of its own."""
        X, y = self.X[rows], self.y[rows]
        return replace(self, X=X, y=y, digest=data_digest(X, y, version=1))


def load_dataset(name: str, data: str | os.PathLike[str] | None = None) -> Dataset:
    """One of the paper's data sets, or Fashion-MNIST, scaled as in its experiments.

    Parameters
    ----------
    name : str
        ``"two-moons"`` (1000 points), ``"two-moons-million"``, ``"two-moons-ten-million"``,
        ``"parallel-lines"``,
        ``"mnist"``, ``"mnist-1-vs-8"`` (or any two digits; the first is the target),
        ``"fashion-mnist"`` or ``"cifar10"``.
    data : path, optional
        Folder with the files of MNIST, Fashion-MNIST (in a folder ``fashion-mnist``) or
        CIFAR-10; that of EXACTFIT_DATA by default.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from exactfit.lab import load_dataset
    >>> lines = load_dataset("parallel-lines")
    >>> lines.X.shape, lines.classes
    ((20, 2), ('lower line', 'upper line'))
    """
    if name in _MADE:
        return _MADE[name]()
    if name in KINDS:
        images = load_images(name, data)
        return scale_images(images, name, images.labels.astype(np.int64))
    if pair := re.fullmatch(r"(.+)-([0-9]+)-vs-([0-9]+)", name):
        kind, first, second = pair.groups()
        if kind in KINDS and first != second:
            return _pair(load_images(kind, data), name, int(first), int(second))
    raise ParameterError(
        f"no data set is called {name!r}: choose from {', '.join(_MADE)}, {', '.join(KINDS)}, mnist-1-vs-8"
    )


def load_images(name: str, data: str | os.PathLike[str] | None = None) -> Images:
    """MNIST, Fashion-MNIST or CIFAR-10 as bytes, not scaled: from files in a folder, else from OpenML.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10"}
    data : path, optional
        Folder to look in, itself and its direct subfolders; that of EXACTFIT_DATA by default.

    Examples
    --------
    >>> from exactfit.lab.datasets import load_images
    >>> load_images("mnist").pixels.shape
    (70000, 784)
    """
    kind = KINDS[name]
    place = data if data is not None else os.environ.get(FOLDER_VARIABLE) or None
    found = read_images(kind, Path(place)) if place is not None else None
    return found or _download(kind, place)


def _download(kind: ImageKind, place: str | os.PathLike[str] | None) -> Images:
    """Through scikit-learn, which keeps what it fetched."""
    name, version = kind.openml
    try:
        fetched = _fetch(name, version)
        pixels, labels = _as_bytes(fetched.data), _as_bytes(fetched.target)
    except Exception as error:  # whatever a network, a server or a parser can raise
        raise DataError(_not_found(kind, place, error)) from error
    return checked_images(kind, pixels, labels, f"OpenML, {name} version {version}")


def _fetch(name: str, version: int) -> Any:
    """Read as bytes from the start: eight times less memory, and labels are numbers, not categories."""
    from sklearn.datasets import fetch_openml

    try:
        options: dict[str, Any] = {"parser": "pandas", "read_csv_kwargs": {"dtype": "uint8"}}
        return fetch_openml(name, version=version, as_frame=False, **options)
    except ImportError:  # without pandas: slower
        return fetch_openml(name, version=version, as_frame=False, parser="liac-arff")


def _as_bytes(values: Any) -> NDArray[np.uint8]:
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf":
        numbers = numbers.astype(np.float64)
    whole = numbers.astype(np.uint8)
    if not (whole == numbers).all():
        raise ValueError("not all values are whole numbers from 0 to 255")
    return whole


def _not_found(kind: ImageKind, place: str | os.PathLike[str] | None, error: Exception) -> str:
    wanted = " or ".join(f"{names[0]} ... {names[-1]}" for names in kind.layouts)
    if place is None:
        looked = f"no folder was named (--data or {FOLDER_VARIABLE})"
    else:
        inside = ", ".join(path.name for path in subfolders(Path(place))) or "none"
        looked = f"{place} and its subfolders ({inside}) do not hold all of its files ({wanted}; gzip'ed or not)"
    reason = " ".join(str(error).split()) or "no reason given"
    return (
        f"{kind.title} is not at hand: {looked}, and the download from OpenML failed "
        f"({type(error).__name__}: {reason}). Put the files in a folder and name it."
    )


def scale_images(images: Images, name: str, y: Codes, classes: tuple[str, ...] | None = None) -> Dataset:
    """Pixels to [0, 1], then all points to largest norm 1: float64, one copy in memory."""
    X = np.empty(images.pixels.shape)
    for tile in row_tiles(X):
        np.divide(images.pixels[tile], 255.0, out=X[tile])
    scale_to_unit(X)
    names, target = (tuple(map(str, range(int(y.max()) + 1))), None) if classes is None else (classes, 0)
    return Dataset.of(
        X, y, name=name, classes=names, target=target, published=images.published, source=images.source
    )  # fmt: skip


def scale_to_unit(X: Floats) -> Floats:
    """Divide by the largest norm of a row, in place."""
    origin = np.zeros(X.shape[1])
    radius = max((float(largest_norm(X[tile], origin)) for tile in row_tiles(X)), default=0.0)
    if not 0 < radius < np.inf:
        raise DataError(f"cannot scale points whose largest norm is {radius} to largest norm 1")
    for tile in row_tiles(X):
        X[tile] /= radius
    return X


def _pair(images: Images, name: str, first: int, second: int) -> Dataset:
    """Two classes only; the first is the target."""
    rows = np.flatnonzero(np.isin(images.labels, (first, second)))
    chosen = replace(images, pixels=images.pixels[rows], labels=images.labels[rows])
    if len(np.unique(chosen.labels)) < 2:
        raise DataError(f"{name}: there are no images of one of the two classes")
    codes = (chosen.labels != first).astype(np.int64)
    return scale_images(chosen, name, codes, classes=(str(first), str(second)))


def stratified_order(y: Codes, random_state: int = 0) -> NDArray[np.intp]:
    """An order of the rows whose every beginning holds the classes in their shares.

    Each class is shuffled, and the classes are merged evenly.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.datasets import stratified_order
    >>> y = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    >>> y[stratified_order(y)]
    array([0, 1, 0, 0, 1, 0, 0, 1, 0])
    """
    rng = np.random.default_rng(random_state)
    place = np.empty(len(y))
    for k in range(int(y.max()) + 1):
        rows = rng.permutation(np.flatnonzero(y == k))
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(place, kind="stable")


def _two_moons(name: str, count: int) -> Dataset:
    """ONE fixed set, scaled to largest norm 1; label 1 is the target."""
    from sklearn.datasets import make_moons

    X, y = make_moons(count, noise=0.05, random_state=0)
    X, y = scale_to_unit(np.ascontiguousarray(X)), y.astype(np.int64)
    source = f"sklearn.datasets.make_moons({count}, noise=0.05, random_state=0)"
    return Dataset.of(X, y, name=name, classes=("upper moon", "lower moon"), target=1, source=source)


def _parallel_lines() -> Dataset:
    """Two lines, ten points on each: the worst case for detectors."""
    X, y = make_parallel_lines(10, distance=0.1)
    classes, source = ("lower line", "upper line"), "two lines at distance 0.1"
    return Dataset.of(X, y, name="parallel-lines", classes=classes, target=1, source=source)


_MADE: dict[str, Callable[[], Dataset]] = {
    "two-moons": partial(_two_moons, "two-moons", 1000),
    "two-moons-million": partial(_two_moons, "two-moons-million", 1_000_000),
    "two-moons-ten-million": partial(_two_moons, "two-moons-ten-million", 10_000_000),
    "parallel-lines": _parallel_lines,
}


def load_data(experiment: Experiment | OptionSweep, folder: str | os.PathLike[str] | None = None) -> list[Dataset]:
    """All data sets of an experiment, checked: finite, and no equal points with different labels.

    Images come from the files in ``folder``, that of EXACTFIT_DATA by default.

    Examples
    --------
    >>> from exactfit.lab.experiment import paper_experiment
    >>> from exactfit.lab.datasets import load_data
    >>> [data.name for data in load_data(paper_experiment("parallel-lines"))]
    ['parallel-lines']
    """
    found = [data for spec in experiment.data for data in _load(spec, folder, experiment.folder or Path())]
    for data in found:
        finite_points(data.X)
        refuse_conflicts(data.X, data.y)
    return found


def _load(spec: Mapping[str, Any], folder: str | os.PathLike[str] | None, base: Path) -> list[Dataset]:
    """A data set, or one for each stratified order of it."""
    order = spec.get("order", "given")
    if order not in ORDERS:
        raise ParameterError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    data = load_dataset(spec["name"], folder) if "name" in spec else _own(spec, base)
    if "target" in spec:
        data = replace(data, target=_target(data, spec["target"]))
    families = check_integer("families", spec.get("families", 1), at_least=1)
    if order == "stratified":
        return [data.reordered(stratified_order(data.y, random_state=seed)) for seed in range(families)]
    if families > 1:
        raise ParameterError('families are stratified orders: they go with order = "stratified"')
    return [data]


def _target(data: Dataset, label: Any) -> int:
    if str(label) not in data.classes or len(data.classes) != 2:
        raise ParameterError(
            f"target must be one of two classes: {data.name} has {', '.join(data.classes)}, got {shown(label)}"
        )
    return data.classes.index(str(label))


def _own(spec: Mapping[str, Any], base: Path) -> Dataset:
    name, (X, labels), source = (_from_loader if "loader" in spec else _from_file)(spec, base)
    X = np.array(X, dtype=np.float64, order="C")
    if X.ndim != 2 or len(X) != len(labels) or not X.size:
        raise DataError(f"{name}: there must be a label for each row of features, got shapes {X.shape}, {labels.shape}")
    if _scale(spec) == "standard" and "loader" in spec:
        for column in X.T:
            middle, deviation = mean_and_deviation(np.ascontiguousarray(column))
            column[:] = (column - middle) / (deviation or 1.0)
    if _scale(spec) != "none":
        scale_to_unit(X)
    classes, y = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{name}: there must be at least two classes")
    y, names = y.reshape(-1).astype(np.int64), tuple(map(str, classes.tolist()))
    own = not str(spec.get("loader", "")).startswith("make_")
    return Dataset.of(X, y, name=name, classes=names, target=None, source=source, own=own)


def _scale(spec: Mapping[str, Any]) -> Scaled:
    """How points are scaled: tables are standardised unless the experiment says otherwise."""
    scale = spec.get("scale", "standard" if "file" in spec else "unit")
    if scale not in SCALES:
        raise ParameterError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return cast("Scaled", scale)


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
    """Points of a table: categories as indicators; numbers standardised, if that is how points are scaled."""
    path, label = base / str(spec["file"]), spec.get("label")
    if label is None and path.suffix != ".npz":
        raise ParameterError(f"say which column of {path.name} holds the labels: label = ...")
    table = read_table(path, label=label, **{name: spec[name] for name in READING if name in spec})
    if table.labels is None:
        raise DataError(f"{path.name} must hold an array of labels y beside X")
    encoding = Encoding.learn(table, "standard" if _scale(spec) == "standard" else "none")
    return path.stem, (encoding.encode(table), table.labels), f"file {path.name}"
