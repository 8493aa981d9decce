"""``certify``: prove again, from the finished network and the data alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..exceptions import DataError, ParameterError
from ..network import Network
from .detectors import Codes
from .digest import data_digest
from .record import ARITHMETICS, Arithmetic, Certificate
from .relu import prove_relu
from .rows import Points, as_labels, class_indices
from .threshold import prove_threshold
from .verdict import Verdict

EVALUATED = "by evaluation only"

Prover = Callable[[Network, Points, Codes, int | None], Verdict | None]

# One proof for each form of network, each of them None for any other form; a new form's proof goes here.
PROOFS: tuple[Prover, ...] = (prove_threshold, prove_relu)


def certify(
    model_or_network: Any, X: Any, y: Any, *, arithmetic: Arithmetic = "exact", n_jobs: int | None = None
) -> Certificate:
    """Prove that a network classifies every point correctly, from its numbers and the data alone.

    Every bit is decided by an evaluation of its own with a proved error bound, and in exact
    arithmetic where that leaves doubt; nothing of this is shared with the constructions. Whatever
    ``arithmetic`` is, the certificate also says whether every evaluation in float64 and in float32
    gives the right answers.

    Parameters
    ----------
    model_or_network : Network, or fitted estimator with ``network_`` and ``classes_``
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples
        Labels for an estimator, class indices for a network.
    arithmetic : {"exact", "float64", "float32"}
        In which arithmetic the points have to be right for the certificate to hold: in exact
        arithmetic on the stored numbers, or in every evaluation in a format, that is after
        rounding points and weights to it, with sums in any order.
    n_jobs : int or None
        Threads, as in scikit-learn.

    Returns
    -------
    Certificate
        For a network of a form that no proof is known for, or with a user's own activation,
        points are right if evaluating the network says so; the certificate's note says that.

    Raises
    ------
    DataError
        If X and y do not fit each other or the network, or hold NaN or infinity.
    ParameterError
        If another arithmetic than "exact" is asked for and there is no proof for the network's form.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import Network, certify
    >>> from exactfit._bits import BitMatrix
    >>> from exactfit.activations import THRESHOLD
    >>> from exactfit.network import Decoder, Dense, Layer, Masks
    >>> one = BitMatrix.from_bool(np.array([[True]]))
    >>> cut = Layer(Dense(np.array([[1.0]])), np.array([-0.5]), THRESHOLD)
    >>> detector = Layer(Masks(one, -1), np.array([1]), THRESHOLD)
    >>> output = Layer(Masks(one, -1), np.array([0]), None)
    >>> network = Network((cut, detector, output), Decoder("sign", (0, 1)))
    >>> certificate = certify(network, np.array([[0.25], [0.5], [0.75]]), [0, 1, 1])
    >>> certificate.holds, certificate.errors, certificate.slack
    (False, array([1]), 0.5)
    >>> certify(network, np.array([[0.25], [0.75]]), [0, 1], arithmetic="float32").holds
    True
    """
    if arithmetic not in ARITHMETICS:
        raise ParameterError(f"arithmetic must be one of {', '.join(map(repr, ARITHMETICS))}, got {arithmetic!r}")
    network, classes = _parts(model_or_network)
    points = Points.of(X)
    if points.shape[1] != network.n_features:
        raise DataError(f"X has {points.shape[1]} features, the network takes {network.n_features}")
    labels = as_labels(y, points.shape[0])
    verdict = _prove(network, points, class_indices(labels, classes), arithmetic, n_jobs)
    errors = np.flatnonzero(~verdict.right[arithmetic]).astype(np.int64)
    return Certificate(
        holds=len(errors) == 0,
        n_samples=points.shape[0],
        n_errors=len(errors),
        errors=errors,
        slack=verdict.slack,
        robust_radius=verdict.radius,
        arithmetic=arithmetic,
        proof="recomputed",
        float64_safe=verdict.is_safe("float64"),
        float32_safe=verdict.is_safe("float32"),
        data_digest=data_digest(points, labels),
        network_digest=network.digest,
        note=verdict.note,
    )


def _parts(model: Any) -> tuple[Network, Any]:
    """The network, and the labels of its classes (None for a bare network)."""
    if isinstance(model, Network):
        return model, None
    if hasattr(model, "network_") and hasattr(model, "classes_"):
        return model.network_, model.classes_
    if hasattr(model, "fit"):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit before certify")
    raise ParameterError(f"certify takes a Network or a fitted estimator, got {type(model).__name__}")


def _prove(network: Network, points: Points, codes: Codes, arithmetic: Arithmetic, n_jobs: int | None) -> Verdict:
    for prove in PROOFS:
        verdict = prove(network, points, codes, n_jobs)
        if verdict is not None:
            return verdict
    if arithmetic != "exact":
        raise ParameterError(f"there is no proof in {arithmetic} arithmetic for a network of this form: use 'exact'")
    return _evaluate(network, points, codes, n_jobs)


def _evaluate(network: Network, points: Points, codes: Codes, n_jobs: int | None) -> Verdict:
    """Right is what the network itself decides."""
    tiles = [network.decide(points.finite_tile(*piece), n_jobs=n_jobs) for piece in points.ranges()]
    decided = np.concatenate([np.empty(0, dtype=np.int64), *tiles])
    right = (decided == codes) & (codes >= 0)
    return Verdict({"exact": right}, slack=float("nan"), radius=None, note=EVALUATED)
