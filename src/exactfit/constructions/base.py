"""The protocol that every construction meets, and the first steps and last checks that they share.

Integer keys. Points are float64 numbers, hence whole after scaling by some power of two; so keys are computed
exactly and nothing depends on rounding. A direction is Gaussian, scaled by the smallest power of
two for which it does its work once its entries are rounded to integers: keys of N points then take
about 2 log2 N bits, as for a random direction over the reals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import Seed, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction, Trace
from ..construct.hyperplanes import stream
from ..data import Labelled, distinct_rows, refuse_conflicts
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import AssumptionError
from ..network import Decoder, Dense, Layer, Network
from ..network.weights import DIGITS, Dyadic, object_array, odd_parts
from ..outcome import Outcome

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
    >>> from exactfit.constructions.base import claim_output
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
    >>> from exactfit.constructions.base import spaced_levels
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


KEYS = 3  # the random stream of directions
DIRECTIONS = 8
EXACT = 2.0**53  # float64 holds every whole number up to this one


@dataclass(frozen=True, eq=False)
class Keys:
    """A key for every point: the whole part of <weights, x> + bias.

    Attributes
    ----------
    weights : list of int
    bias : int
        Such that the smallest key is 0.
    order : ndarray of int64, shape (n_points,)
        Points by increasing key.
    keys : list of int
        Increasing, one for each point in that order.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.base import distinct_points
    >>> from exactfit.constructions.base import distant_keys, whole_keys
    >>> points = distinct_points(np.array([[0.25], [1.0], [0.5]]), np.array([0, 1, 0]))
    >>> found = whole_keys(points, 0)
    >>> found.order, [w % 4 for w in found.weights], len(set(found.keys))
    (array([0, 2, 1]), [0], 3)
    >>> bool(np.diff(distant_keys(points, 0).keys).min() >= 2)
    True
    """

    weights: list[int]
    bias: int
    order: NDArray[np.int64]
    keys: list[int]

    @property
    def n_bits(self) -> int:
        """Bits of the largest key."""
        return max(1, self.keys[-1].bit_length())


def whole_keys(points: DistinctPoints, random_state: Seed) -> Keys:
    """Keys that differ, with weights for which <weights, x> itself is whole at every point."""
    return _search(points.X, _places(points.X), 1, random_state)


def distant_keys(points: DistinctPoints, random_state: Seed) -> Keys:
    """Keys that differ by at least 2; <weights, x> may have a fractional part."""
    return _search(points.X, 0, 2, random_state)


def _places(X: Floats) -> int:
    """Binary places after the point that the numbers have."""
    return max(0 if _is_whole(X[tile]) else -int(odd_parts(X[tile])[1].min()) for tile in row_tiles(X))


def _is_whole(values: Floats) -> bool:
    return bool((values == np.floor(values)).all())


def _search(X: Floats, shift: int, gap: int, random_state: Seed) -> Keys:
    """Keys <w 2^shift, x>, ``gap`` apart, with w from the shortest that separate; ends with probability 1."""
    root, places = seed_sequence(random_state), _places(X)
    for attempt in count():
        directions = stream(root, KEYS, attempt).standard_normal((DIRECTIONS, X.shape[1]))
        direction, scale = _most_open(X, directions, np.ldexp(1.0, -min(shift, 1000)) * gap)
        # From DIGITS + places + 2 on, values are multiples of 4: points that still meet need another direction.
        for weights in _integer_directions(direction, max(0, scale), places + 2 * DIGITS):
            keys = _keys(X, weights, shift)
            if min(np.diff(np.array(keys.keys, dtype=object))) >= gap:
                return keys
    raise AssertionError("unreachable")


def _most_open(X: Floats, directions: Floats, gap: float) -> tuple[Floats, int]:
    """The direction whose closest values are farthest apart, and a scale that may just not spread them enough."""
    size = int(np.frexp(np.abs(X).max())[1])
    with single_threaded_blas():
        values = np.sort(np.ldexp(X, -size) @ directions.T, axis=0)
    gaps = np.diff(values, axis=0).min(axis=0)
    best = int(np.argmax(gaps))
    open_gap = max(float(gaps[best]), float(np.abs(values[:, best]).max()) / EXACT, 5e-324)
    return directions[best], int(np.frexp(gap)[1]) - int(np.frexp(open_gap)[1]) - size - 1


def _integer_directions(direction: Floats, scale: int, more: int) -> Iterator[list[int]]:
    """Integer vectors ever closer to the direction, each about twice as long as the one before."""
    fixed = [int(value) for value in np.rint(np.ldexp(direction, DIGITS))]
    for power in range(scale, scale + more):
        weights = [_rounded(value << power, DIGITS) for value in fixed]
        if any(weights):
            yield weights


def _rounded(value: int, places: int) -> int:
    """The value over 2^places, to the nearest whole number."""
    return (value + (1 << (places - 1))) >> places


def _keys(X: Floats, weights: list[int], shift: int) -> Keys:
    """Exact keys for one direction, by increasing key."""
    scaled = [weight << shift for weight in weights]
    values = np.concatenate([_floors(X[tile], scaled) for tile in row_tiles(X)])
    order = np.argsort(values, kind="stable").astype(np.int64)
    low = int(values[order[0]])
    return Keys(scaled, -low, order, [int(value) - low for value in values[order]])


def _floors(tile: Floats, weights: list[int]) -> NDArray[np.generic]:
    """Whole parts of <weights, x>, in int64 where float64 provably does not round."""
    if _is_whole(tile) and float(np.abs(tile).max(initial=0)) * float(sum(map(abs, weights))) < EXACT:
        with single_threaded_blas():
            return np.asarray((tile @ np.array(weights, dtype=np.float64)).astype(np.int64))
    row = object_array(weights, (1, len(weights)))
    sums = Dyadic.of(tile).affine(row, object_array([0], (1,)))
    return np.asarray(sums.numerators[:, 0] >> sums.shift)
