"""The protocol that every construction meets, and the first steps that all of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._support.options import Seed
from ..construct import Construction
from ..data import Labelled, distinct_rows, refuse_conflicts
from ..network.sides import dense_rows

Matrix = Any
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Labels = Literal["binary", "multiclass", "real"]


@runtime_checkable
class Constructor(Protocol):
    """A way to build a network that fits labelled points: a frozen dataclass whose fields are its options.

    Attributes
    ----------
    name : str
        Short and lower case, as ``compare`` and the command line write it.
    citation : str
        Authors, title, where and when.
    activation : {"threshold", "relu"}
    labels : tuple of {"binary", "multiclass", "real"}
        What the published recipe fits. Here y always holds class indices 0..K-1; with more than
        two classes, a recipe for two is used once for each class against the rest.
    assumptions : str
        What must be true of the points, beyond equal points having equal labels.
    randomized : bool
        Whether another seed may give another network.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Constructor, Huang
    >>> isinstance(Huang(), Constructor)
    True
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> Huang().construct(X, y, random_state=0).network.decide(X)
    array([0, 1, 0])
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    labels: ClassVar[tuple[Labels, ...]]
    assumptions: ClassVar[str]
    randomized: ClassVar[bool]

    @property
    def activation(self) -> Any:
        """Of the hidden layers; an option for some."""
        ...

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array of class indices 0..K-1
        random_state : int, Generator, SeedSequence or None

        Returns
        -------
        Construction

        Raises
        ------
        DataError
            If the points cannot be used: not finite, of one class only, or
            (:class:`~exactfit.ContradictoryLabelsError`) equal with different labels.
        AssumptionError
            If the recipe needs more of the points than they have; it names the rows.
        """
        ...


@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """Distinct points with their class indices, and the rows of the data that they came from.

    Attributes
    ----------
    X : ndarray of float64, shape (n_points, n_features)
        Every point once, in the order of first appearance.
    y : ndarray of int64
    rows : ndarray of int64
        The first row of the data that holds each point.
    n_classes : int
    """

    X: Floats
    y: Codes
    rows: NDArray[np.int64]
    n_classes: int

    def __len__(self) -> int:
        return len(self.y)

    def of_class(self, code: int) -> NDArray[np.int64]:
        """Positions of the points of a class."""
        return np.flatnonzero(self.y == code).astype(np.int64)


def distinct_points(X: Matrix, y: Any) -> DistinctPoints:
    """Check the data and keep each point once.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    y : array of class indices 0..K-1

    Returns
    -------
    DistinctPoints

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.base import distinct_points
    >>> points = distinct_points(np.array([[2.0], [1.0], [2.0]]), np.array([1, 0, 1]))
    >>> points.X.ravel(), points.y, points.rows
    (array([2., 1.]), array([1, 0]), array([0, 1]))
    """
    data = Labelled.of_codes(X, y)
    refuse_conflicts(data.X, data.codes)
    rows, _ = distinct_rows(data.X, data.codes)
    return DistinctPoints(dense_rows(data.X, rows), data.codes[rows], rows, len(data.classes))
