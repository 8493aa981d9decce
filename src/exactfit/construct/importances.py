"""Features that matter: some training rows, and what their answers lose with other values of a feature.

The lead of an answer at a row x is the slack of the detector that claims x most clearly, less that of the clearest
detector of any other class. The importance of feature j is the mean over training rows of

    lead(x) - lead(x with x_j of another row),

the two detectors being those of x, or zero if that is negative; importances are divided by their sum. So units do not
matter, and a feature that no hyperplane looks at, or that never changes, has 0. Weights alone would say less: the
hyperplanes that look at a feature which tells nothing have weights too, but of both signs, which cancel in the lead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data import Matrix
from ..data.matrices import dense_rows
from ..network import Network
from ..network.detector_network import DetectorNetwork

MOST_ROWS, FEWEST_ROWS = 256, 32
ENTRIES = 2**21  # of rows times weights that are looked at, if these are enough rows: some hundredths of a second
CELLS = 2**22  # of dense rows: 32 MB
FULL = 255  # what on_counts are shares of, so that a file holds them in bytes


def importances(network: Network, X: Matrix) -> dict[str, Any]:
    """Return what a trace says about features and hyperplanes: ``importances``, ``spreads`` and ``on_counts``."""
    # Of very many features, as text has, only those that some hyperplane looks at are made dense.
    detectors, columns = DetectorNetwork.of(network).narrow
    if not detectors.n_detectors:
        return {}
    n_features = X.shape[1] if columns is None else len(columns)
    n_weights = detectors.hyperplanes.n_nonzero + detectors.counters.n_nonzero // 64
    most = max(FEWEST_ROWS, min(MOST_ROWS, ENTRIES // max(1, n_weights), CELLS // max(1, n_features)))
    points = dense_rows(X, np.linspace(0, X.shape[0] - 1, min(most, X.shape[0])).astype(np.intp), columns)
    with np.errstate(over="ignore"):
        moved = np.random.default_rng(0).permutation(points) - points
    weights = _lead(detectors, points)
    planes = detectors.normals.tocsc() if sp.issparse(detectors.normals) else detectors.normals
    losses, spreads = np.zeros(n_features), np.zeros(n_features, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the end of float64
        sums = detectors.first.sums(points)
        bits = detectors.activation(sums)
        before = np.einsum("rk,rk->k", bits, weights)
        for j in np.flatnonzero(moved.any(axis=0)).tolist():
            looking, own = _column(planes, j)
            after = detectors.activation(sums[:, looking] + moved[:, [j]] * own)
            losses[j] = max(0.0, np.einsum("rk,rk->", after, weights[:, looking]) - before[looking].sum())
            spreads[j] = np.median(np.abs(moved[moved[:, j] != 0, j]))
    total = losses.sum()
    shares = losses / total if 0 < total < np.inf else np.zeros(n_features)
    on_counts = np.rint(FULL * (bits > 0).mean(axis=0)).astype(np.int64)
    found = {"importances": shares.astype(np.float32), "spreads": np.nan_to_num(spreads)}
    return {name: _placed(values, columns, X.shape[1]) for name, values in found.items()} | {"on_counts": on_counts}


def _placed(values: NDArray[np.float32], columns: NDArray[np.int64] | None, size: int) -> NDArray[np.float32]:
    """Return numbers of some columns as those of all, zero elsewhere."""
    every = np.zeros(size, dtype=np.float32)
    every[slice(None) if columns is None else columns] = values
    return every


def _lead(detectors: DetectorNetwork, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much each hyperplane, if it is on, lowers the lead of each point's answer."""
    slack, outputs = detectors.slack(points), detectors.outputs
    clearest = slack.argmax(axis=0)
    weights = _per_slack(detectors, clearest)
    if (outputs == outputs[0]).all():  # no detector speaks for the other class
        return np.asarray(weights * np.sign(slack.max(axis=0))[:, None])
    of_others = np.where(outputs[:, None] == outputs[clearest], -np.inf, slack)
    return weights - _per_slack(detectors, of_others.argmax(axis=0))


def _per_slack(detectors: DetectorNetwork, some: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the weights of detectors, in units of their slack."""
    return np.asarray(detectors.take(some, detectors.limits[some]).dense_counters / detectors.spans[some][:, None])


def _column(planes: Any, j: int) -> tuple[Any, NDArray[Any]]:
    """Return which hyperplanes look at a feature, and with which weights."""
    if not sp.issparse(planes):
        return slice(None), planes[:, j]
    part = slice(*planes.indptr[j : j + 2])
    return planes.indices[part], planes.data[part]
