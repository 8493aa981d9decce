"""The last steps that constructions share: an output that reads claims, evenly spaced levels, and the final check."""

from __future__ import annotations

import numpy as np

from ..construct import Construction, Trace
from ..exceptions import AssumptionError
from ..network import Decoder, Dense, Layer, Network
from ..outcome import Outcome
from .base import Codes, DistinctPoints, Floats


def largest_class(points: DistinctPoints) -> int:
    """The class with the most points, the lowest of several: the one that nothing needs to claim."""
    return int(np.bincount(points.y).argmax())


def claim_output(classes: Codes, signs: Floats, base: int, n_classes: int) -> tuple[Layer, Decoder]:
    """Read 0/1 units that claim points for classes: who is claimed by nobody belongs to ``base``.

    Parameters
    ----------
    classes : ndarray of int64, shape (n_units,)
        The class that each unit speaks for, never ``base``.
    signs : ndarray of float64, shape (n_units,)
        What each unit adds to its class's claims.
    base : int
    n_classes : int

    Returns
    -------
    Layer, Decoder
        One output of claims - 1/2 for two classes; else one for each class, that of ``base`` being 1/2 - all claims.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.claims import claim_output
    >>> layer, decoder = claim_output(np.array([0, 2]), np.ones(2), base=1, n_classes=3)
    >>> decoder(layer.sums(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])))
    array([ 0,  1,  2, -1])
    """
    if n_classes == 2:
        return Layer(Dense(signs[None, :].copy()), np.array([-0.5]), None), Decoder("sign", (base, 1 - base))
    weights = np.where(classes[None, :] == np.arange(n_classes)[:, None], signs[None, :], 0.0)
    weights[base] = -signs
    bias = np.full(n_classes, -0.5)
    bias[base] = 0.5
    return Layer(Dense(weights), bias, None), Decoder("one_hot", tuple(range(n_classes)))


def n_outputs(n_classes: int) -> int:
    """How many outputs :func:`claim_output` has."""
    return 1 if n_classes == 2 else n_classes


def spaced_levels(n_classes: int) -> Floats:
    """Evenly spaced numbers from -1 to 1, one for each class, for a network with one real output.

    Examples
    --------
    >>> from exactfit.constructions.claims import spaced_levels
    >>> spaced_levels(3)
    array([-1.,  0.,  1.])
    """
    return np.linspace(-1.0, 1.0, n_classes)


def verified(network: Network, points: DistinctPoints, trace: Trace) -> Construction:
    """The construction, if the network gives every point its class; else an error that names the rows.

    The recipes leave room for rounding, so this is the last line of defence: numbers near the ends of float64's range.
    """
    wrong = network.decide(points.X) != points.y
    if wrong.any():
        raise AssumptionError(
            "that float64 is fine enough for the recipe's numbers",
            points.rows[wrong],
            "Centre and scale the data, or use a construction that needs less precision.",
        )
    return Construction(network, Outcome.INTERPOLATES, trace)
