"""Data sets by name: the paper's, Fashion-MNIST, and a million points of Two Moons; scaled, with digest and source.

MNIST, Fashion-MNIST and CIFAR-10 come from files in a folder that the caller names, or that the environment variable
EXACTFIT_DATA names, else from OpenML through scikit-learn, which keeps a copy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.rows import largest_norm
from ..data import data_digest
from ..data.matrices import row_tiles
from ..exceptions import DataError, ParameterError
from ..geometry.theorem import make_parallel_lines
from .images import KINDS, ImageKind, Images, checked_images, read_images, subfolders

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

FOLDER_VARIABLE = "EXACTFIT_DATA"


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
        """Return points and labels with their digest."""
        return cls(X=X, y=y, digest=data_digest(X, y, version=1), published=published, **facts)

    @property
    def standing(self) -> str:
        """Origin in a word: published, other, own, or generated."""
        return "own" if self.own else {True: "published", False: "other", None: "generated"}[self.published]

    @property
    def remark(self) -> str | None:
        """Warning to readers of results that images are not the published ones; None if they are."""
        if self.published is not False:
            return None
        return f"{self.name}: {len(self.y)} images of the right shape, but not the published ones ({self.source})"

    def reordered(self, rows: NDArray[np.intp]) -> Dataset:
        """Return some rows, in the given order, as a data set of its own."""
        X, y = self.X[rows], self.y[rows]
        return replace(self, X=X, y=y, digest=data_digest(X, y, version=1))


def load_dataset(name: str, data: str | os.PathLike[str] | None = None) -> Dataset:
    """Load one of the paper's data sets, or Fashion-MNIST, scaled as in its experiments.

    Parameters
    ----------
    name : str
        ``"two-moons"`` (1000 points), ``"two-moons-million"``, ``"two-moons-ten-million"``, ``"parallel-lines"``,
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
    """Load MNIST, Fashion-MNIST or CIFAR-10 as bytes, not scaled: from files in a folder, else from OpenML.

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
    """Fetch images through scikit-learn, which keeps what it fetched."""
    from sklearn.datasets import fetch_openml

    name, version = kind.openml
    try:
        # Read as bytes from the start: eight times less memory, and labels are numbers, not categories.
        fetched = fetch_openml(
            name, version=version, as_frame=False, parser="pandas", read_csv_kwargs={"dtype": "uint8"}
        )
        pixels, labels = _as_bytes(fetched.data), _as_bytes(fetched.target)
    except Exception as error:  # whatever a network, a server or a parser can raise
        raise DataError(_not_found(kind, place, error)) from error
    return checked_images(kind, pixels, labels, f"OpenML, {name} version {version}")


def _as_bytes(values: Any) -> NDArray[np.uint8]:
    # Labels may come as text. A cast wraps around in silence, so numbers are compared with what became of them.
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf":
        numbers = numbers.astype(np.float64)
    integers = numbers.astype(np.uint8)
    if not (integers == numbers).all():
        raise ValueError("not all values are integers from 0 to 255")
    return integers


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
    """Scale pixels to [0, 1], then all points to largest norm 1."""
    # Tile by tile: one copy in float64 is all that memory has to hold.
    X = np.empty(images.pixels.shape)
    for tile in row_tiles(X):
        np.divide(images.pixels[tile], 255.0, out=X[tile])
    scale_to_unit(X)
    names, target = (tuple(map(str, range(int(y.max()) + 1))), None) if classes is None else (classes, 0)
    return Dataset.of(
        X, y, name=name, classes=names, target=target, published=images.published, source=images.source
    )  # fmt: skip


def scale_to_unit(X: Floats) -> Floats:
    """Divide points by the largest norm of one of them, in place."""
    # By a kernel that adds up in one order: the digest, and with it seeds and stores, rest on the last bit.
    origin = np.zeros(X.shape[1])
    radius = max((float(largest_norm(X[tile], origin)) for tile in row_tiles(X)), default=0.0)
    if not 0 < radius < np.inf:
        raise DataError(f"cannot scale points whose largest norm is {radius} to largest norm 1")
    for tile in row_tiles(X):
        X[tile] /= radius
    return X


def _pair(images: Images, name: str, first: int, second: int) -> Dataset:
    """Return two classes only; the first is the target."""
    rows = np.flatnonzero(np.isin(images.labels, (first, second)))
    chosen = replace(images, pixels=images.pixels[rows], labels=images.labels[rows])
    if len(np.unique(chosen.labels)) < 2:
        raise DataError(f"{name}: there are no images of one of the two classes")
    # Scaled within themselves, as in the paper: the largest norm is that of these two classes.
    codes = (chosen.labels != first).astype(np.int64)
    return scale_images(chosen, name, codes, classes=(str(first), str(second)))


def _two_moons(name: str, count: int) -> Dataset:
    """Return one fixed set, scaled to largest norm 1; label 1 is the target."""
    from sklearn.datasets import make_moons

    X, y = make_moons(count, noise=0.05, random_state=0)
    X, y = scale_to_unit(np.ascontiguousarray(X)), y.astype(np.int64)
    source = f"sklearn.datasets.make_moons({count}, noise=0.05, random_state=0)"
    return Dataset.of(X, y, name=name, classes=("upper moon", "lower moon"), target=1, source=source)


def _parallel_lines() -> Dataset:
    """Return two lines, ten points on each: the worst case for detectors."""
    X, y = make_parallel_lines(10, distance=0.1)
    classes, source = ("lower line", "upper line"), "two lines at distance 0.1"
    return Dataset.of(X, y, name="parallel-lines", classes=classes, target=1, source=source)


_MADE: dict[str, Callable[[], Dataset]] = {
    "two-moons": partial(_two_moons, "two-moons", 1000),
    "two-moons-million": partial(_two_moons, "two-moons-million", 1_000_000),
    "two-moons-ten-million": partial(_two_moons, "two-moons-ten-million", 10_000_000),
    "parallel-lines": _parallel_lines,
}
