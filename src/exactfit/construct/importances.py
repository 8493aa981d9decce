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
    normals = detectors.normals
    planes, is_sparse = normals.tocsc() if sp.issparse(normals) else normals, sp.issparse(normals)
    losses, spreads = np.zeros(n_features), np.zeros(n_features, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the end of float64
        sums = detectors.first.sums(points)
        bits = detectors.activation(sums)
        before = np.einsum("rk,rk->k", bits, weights)
        for j in np.flatnonzero(moved.any(axis=0)).tolist():
            # The hyperplanes that look at the feature, and their weights.
            entries = slice(*planes.indptr[j : j + 2]) if is_sparse else slice(None)
            looking, own = (planes.indices[entries], planes.data[entries]) if is_sparse else (entries, planes[:, j])
            after = detectors.activation(sums[:, looking] + moved[:, [j]] * own)
            losses[j] = max(0.0, np.einsum("rk,rk->", after, weights[:, looking]) - before[looking].sum())
            spreads[j] = np.median(np.abs(moved[moved[:, j] != 0, j]))
    total = losses.sum()
    every = np.zeros((2, X.shape[1]), dtype=np.float32)  # zero where no hyperplane looks
    every[:, slice(None) if columns is None else columns] = (
        losses / total if 0 < total < np.inf else np.zeros(n_features),
        np.nan_to_num(spreads),
    )
    on_counts = np.rint(FULL * (bits > 0).mean(axis=0)).astype(np.int64)
    return {"importances": every[0], "spreads": every[1], "on_counts": on_counts}


def _lead(detectors: DetectorNetwork, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much each hyperplane, if it is on, lowers the lead of each point's answer."""

    def per_slack(some: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.asarray(detectors.take(some, detectors.limits[some]).dense_counters / detectors.spans[some][:, None])

    slack, outputs = detectors.slack(points), detectors.outputs
    clearest = slack.argmax(axis=0)
    if (outputs == outputs[0]).all():  # no detector speaks for the other class
        return np.asarray(per_slack(clearest) * np.sign(slack.max(axis=0))[:, None])
    of_others = np.where(outputs[:, None] == outputs[clearest], -np.inf, slack)
    return per_slack(clearest) - per_slack(of_others.argmax(axis=0))
