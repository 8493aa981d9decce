"""Sparse layers where there are no products of sparse matrices, as in ONNX: numbers are gathered, and added up.

Features come first: then a gathered feature is a line of the memory, one number for each point, and not one number in
each of many lines. Every product of a feature and a weight that some unit adds up is computed once: weights are mostly
+1 or -1. Units with the same number of weights are added up together. Units of many weights are rows of a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]

# Measured in onnxruntime (docs/export.md): one gathered number takes as long as so many products in a matrix.
GATHER_COST = 24
LONGEST = 32  # weights of a unit that is gathered: a graph has a node for each


@dataclass(frozen=True, eq=False)
class Gathers:
    """Units of a sparse layer: those to gather, in groups, and the others.

    Attributes
    ----------
    features, factors : ndarray
        Products that units add up, each once.
    groups : list of (units, terms)
        Units with the same number of weights, and the products of each: ``terms[k]`` are the k-th of all of them.
    wide : ndarray of int64
        Units that are rows of a matrix.
    columns : ndarray of int64
        Features that these look at.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from exactfit.export.gathers import Gathers
    >>> line = np.zeros(100)
    >>> line[[3, 50]] = 1.0, -1.0
    >>> found = Gathers.of(sp.csr_array(np.stack([line, np.ones(100)])))
    >>> found.features, found.factors, found.wide
    (array([ 3, 50]), array([ 1., -1.]), array([1]))
    """

    features: Places
    factors: NDArray[Any]
    groups: list[tuple[Places, Places]]
    wide: Places
    columns: Places

    @classmethod
    def of(cls, weights: Any) -> Gathers:
        """Sort the units of a CSR array, each of whose entries stands there once."""
        starts, lengths = weights.indptr[:-1].astype(np.int64), np.diff(weights.indptr)
        gathered = (lengths > 0) & (lengths <= LONGEST) & (GATHER_COST * lengths < weights.shape[1])
        entries = np.flatnonzero(np.repeat(gathered, lengths))
        products = np.stack([weights.indices[entries].astype(np.float64), weights.data[entries]])
        (features, factors), own = np.unique(products, axis=1, return_inverse=True)
        term = np.zeros(weights.nnz, dtype=np.int64)
        term[entries] = own.ravel()
        groups = []
        for length in np.unique(lengths[gathered]).tolist():
            units = np.flatnonzero(gathered & (lengths == length))
            groups.append((units, term[starts[units] + np.arange(length)[:, None]]))
        wide = np.flatnonzero(~gathered)
        # One column at least: runtimes differ about products over nothing.
        columns = np.unique(weights[wide].indices if weights[wide].nnz else [0]).astype(np.int64)
        return cls(features.astype(np.int64), factors.astype(weights.dtype), groups, wide, columns)

    @property
    def places(self) -> Places:
        """Where each unit is among those of the groups and the wide ones, one after the other."""
        return np.argsort(np.concatenate([*(units for units, _ in self.groups), self.wide]))
