"""The paper's form, read back from a network: hyperplanes, detectors, whom each speaks for, and its slack.

Whoever looks into a network of this form reads it here: classifiers (:func:`class_slack` is what they
predict from), explanations, certificates, ``extend``, exports, checks of loaded files. Reading is shared,
decisions are not: a certificate takes the numbers from here, and proves with code of its own.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.compile import is_loaded
from .._kernels.counting import best_slack_counts, best_slack_weights, count_all, masked_sums
from .._kernels.signs import settle_ramps
from .._support.threads import SERIAL, Threads
from ..data.matrices import dense_rows
from ..exceptions import ParameterError
from .activations import Activation
from .network import Decoder, Layer, Network
from .sides import U64, is_small, sides
from .weights import Dense, Masks, Sparse, WeightedMasks, weigh_words

Matrix = Any
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# The slack of an output without detectors: below that of any detector, and JSON and float64 arithmetic can hold it.
LOWEST = float(np.finfo(np.float64).min)
# The least size of a slack, so that none is zero: a value at its limit has slack -SMALLEST, since it does not fire.
SMALLEST = float(np.finfo(np.float64).tiny)
UNKNOWN, NO_CLASS = -1, -2  # no position among the classes: of a class that the network has not, of none at all
LARGEST_LIMIT = 2**60  # limit - count stays within int64, with room for adding and for a mark of "none"
WIDEST, EXACT_FLOAT32 = 128, 2**24  # the largest weight; float32 holds all whole numbers up to this one
CHUNK_ROWS = 2**16  # points whose bits are held at a time: 16 MB for 2,000 hyperplanes
SLACKS_AT_ONCE = 2**24  # of all classes: 128 MB
BITS_AT_ONCE = 2**28  # of points: 32 MB
TILE_ROWS = 512  # points to a piece of work: their bits or values stay in the cache while all detectors pass


@dataclass(frozen=True, eq=False)
class DetectorNetwork:
    """The detectors of a network: one row for each output that one of them speaks for.

    Networks that classifiers hold have one row for each detector, in the order of the network
    (:attr:`speak_once`).

    Attributes
    ----------
    first : Layer
        The hyperplanes.
    weights : Masks or WeightedMasks
        What a detector counts with: the bits of its mask, or integer weights.
    limits : ndarray of int64, or float64 for real-valued activations
        It fires when its count (or its masked sum) is below its limit.
    owners : ndarray of int64
        The output that it speaks for; the one of position k stands for ``decoder.classes[k]``.
    numbers : ndarray of int64
        Its number in the network.
    n_detectors : int
        Detectors in the network.
    decoder : Decoder

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> from exactfit.network.detector_network import DetectorNetwork
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> found = DetectorNetwork.of(adaptive_width(X, y, random_state=0).network)
    >>> found.owners, found.classes, found.slack(X) > 0
    (array([0]), (1,), array([[False,  True, False]]))
    """

    first: Layer
    weights: Masks | WeightedMasks
    limits: NDArray[Any]
    owners: Codes
    numbers: Codes
    n_detectors: int
    decoder: Decoder

    @classmethod
    def of(cls, network: Network) -> DetectorNetwork:
        """The detectors of a network; refuses one of another form."""
        found = network.detectors
        if found is None:
            raise ParameterError("this takes networks of the paper's form, as fixed_width and adaptive_width make them")
        return found

    def __repr__(self) -> str:
        return (
            f"<DetectorNetwork: {self.n_detectors:,} over {self.first.n_units:,} hyperplanes, {self.activation.name}>"
        )

    @property
    def planes(self) -> Any:
        """Weights of the hyperplanes, an array or CSR array of shape (n_hyperplanes, n_features); biases: ``first``."""
        weights = self.first.weights
        assert isinstance(weights, Dense | Sparse)
        return weights.values if isinstance(weights, Dense) else weights.rows

    @property
    def activation(self) -> Activation:
        """Of the hyperplanes and the detectors."""
        assert self.first.activation is not None
        return self.first.activation

    @cached_property
    def counters(self) -> NDArray[Any]:
        """What each row counts with, as kernels take it: a mask as a line of words, or weights as a line of int8."""
        if isinstance(self.weights, WeightedMasks):
            return self.weights.values
        return np.ascontiguousarray(self.weights.bits.words.T)

    @property
    def are_weighted(self) -> bool:
        """Whether detectors count with weights, not with masks."""
        return isinstance(self.weights, WeightedMasks)

    @property
    def classes(self) -> tuple[int, ...]:
        """The class index of each output."""
        return self.decoder.classes[:1] if self.decoder.kind == "sign" else self.decoder.classes

    @property
    def silent(self) -> int:
        """Position of the class that is meant when no detector fires; NO_CLASS if there is none."""
        return 1 if self.decoder.kind == "sign" else NO_CLASS

    @property
    def speak_once(self) -> bool:
        """Whether every detector speaks for exactly one output."""
        return np.array_equal(self.numbers, np.arange(self.n_detectors))

    @cached_property
    def floors(self) -> NDArray[Any]:
        """The lowest count that there can be: the sum of the negative weights, of which a mask has none."""
        if isinstance(self.weights, WeightedMasks):
            return np.asarray(np.minimum(self.weights.values, 0).sum(axis=1, dtype=np.int64))
        return np.zeros_like(self.limits)

    @cached_property
    def spans(self) -> Floats:
        """What slack is relative to, limit - floor: so it is 1 at most."""
        return np.asarray(self.limits - self.floors, dtype=np.float64)

    @property
    def half(self) -> float:
        """1/2 for counts, which so are never at the limit; 0 for real values."""
        return 0.5 if self.activation.is_threshold else 0.0

    def of_output(self, k: int) -> NDArray[np.intp]:
        """The rows that speak for an output."""
        return np.flatnonzero(self.owners == k)

    def take(self, rows: NDArray[np.intp], limits: NDArray[Any]) -> DetectorNetwork:
        """Some of the rows, with other limits."""
        return replace(
            self, weights=self.weights.take(rows), limits=limits, owners=self.owners[rows], numbers=self.numbers[rows]
        )

    def positions(self, codes: Codes) -> Codes:
        """Where each class index stands among ``decoder.classes``, UNKNOWN where it does not."""
        classes = np.asarray(self.decoder.classes, dtype=np.int64)
        order = np.argsort(classes)
        places = np.searchsorted(classes[order], codes).clip(max=len(classes) - 1)
        return np.where(classes[order[places]] == codes, order[places], UNKNOWN).astype(np.int64)

    def values(self, points: Floats) -> Floats:
        """Real-valued activations of the hyperplanes, shape (n_hyperplanes, n_points)."""
        return np.ascontiguousarray(self.activation(self.first.sums(points)).T)

    def heights(self, points: Floats) -> NDArray[Any]:
        """Counts, or masked sums for real-valued activations, shape (n_rows, n_points)."""
        heights = np.empty((len(self.counters), len(points)), dtype=np.int32 if self.half else np.float64)
        if not self.half:
            masked_sums(self.values(points), self.counters, heights)
            return heights
        bits = sides(points, self.planes, self.first.bias)
        if self.is_small(len(points)):
            heights[:] = self.lines @ bits.to_bool().astype(np.float32).T
            return heights
        words = bits.words
        if self.are_weighted:
            for row, weights in zip(heights, self.counters, strict=True):
                row[:] = weigh_words(words, weights)
        else:
            count_all(words, 0, len(points), self.counters, 0, heights)
        return heights

    def is_small(self, n_points: int) -> bool:
        """Whether counts of few points come from NumPy's products, rather than wait for the compiler to load."""
        if is_loaded() or not self.activation.is_threshold:
            return False
        return WIDEST * self.first.n_units < EXACT_FLOAT32 and is_small(n_points, *self.weights.shape)

    @property
    def lines(self) -> NDArray[np.float32]:
        """Masks or weights in float32, which holds all counts exactly where they are few."""
        lines = self.weights.values if isinstance(self.weights, WeightedMasks) else self.weights.bits.to_bool()
        return lines.astype(np.float32)

    def gaps(self, points: Floats) -> Floats:
        """limit - half - height of every row, shape (n_rows, n_points): never zero, and of the exact sign.

        For ReLU the sign is that of exact arithmetic on the stored numbers. Let S be the sum of |w_ij x_j| and |b_i|
        over all n hyperplanes and d features. In float64 their values err by at most gamma_(d+1) S together, and a
        masked sum V of them by gamma_n V more; what underflows is less than 5e-324 for each product. The bound below is
        twice that, which pays for its own rounding; closer calls are decided exactly. While S is below 1e300, nothing
        overflows.
        """
        heights = self.heights(points)
        gaps = np.asarray(self.limits.astype(np.float64)[:, None] - self.half - heights)
        if self.activation.is_relu:
            n, (weights, biases) = self.first.n_units, self._sizes
            d = int(np.diff(self.planes.indptr).max(initial=0)) if sp.issparse(self.planes) else self.planes.shape[1]
            with np.errstate(over="ignore", invalid="ignore"):
                sizes = np.abs(points) @ weights + biases
                bounds = 2.0 * U64 * ((d + 2) * sizes + (n + 4) * heights) + 2 * n * (d + 2) * 5e-324
                rows, places = np.nonzero(~((np.abs(gaps) > bounds) & (sizes < 1e300)))
            if len(rows):
                close = gaps[rows, places]
                fires = self._exactly_below(points, rows, places)
                gaps[rows, places] = np.where(fires, np.fmax(close, SMALLEST), np.fmin(close, -SMALLEST))
        return np.where(gaps == 0.0, -SMALLEST, gaps)

    def _exactly_below(self, points: Floats, rows: Codes, places: Codes) -> NDArray[np.bool_]:
        """Whether masked sums of rows at points are below their limits, in exact arithmetic."""
        lines, fires = self.planes, np.empty(len(rows), dtype=bool)
        if sp.issparse(lines):  # only where one of the points is not zero
            seen, places = np.unique(places, return_inverse=True)
            columns = np.flatnonzero(points[seen].any(axis=0))
            points, lines = np.ascontiguousarray(points[np.ix_(seen, columns)]), lines[:, columns].toarray()
        planes, offsets = (np.require(part, requirements=["C", "W"]) for part in (lines, self.first.bias))
        limits = self.limits.astype(np.float64)
        settle_ramps(points, planes, offsets.astype(np.float64), self.counters, limits, rows, places, fires)
        return fires

    @cached_property
    def narrow(self) -> tuple[DetectorNetwork, NDArray[np.int64] | None]:
        """The same over the features that some hyperplane looks at, and these; all of dense hyperplanes are (None)."""
        planes = self.planes
        if not sp.issparse(planes):
            return self, None
        columns = np.unique(planes.indices).astype(np.int64)
        return replace(self, first=replace(self.first, weights=Sparse(planes[:, columns]))), columns

    @cached_property
    def _sizes(self) -> tuple[Floats, float]:
        """Sums of absolute weights, feature by feature, and of absolute biases."""
        with np.errstate(over="ignore"):
            biases = np.abs(self.first.bias.astype(np.float64)).sum()
            return np.asarray(abs(self.planes.astype(np.float64)).sum(axis=0)), float(biases)

    def slack(self, points: Floats) -> Floats:
        """Relative slack (limit - half - height) / span of every row, shape (n_rows, n_points): never zero."""
        gaps = self.gaps(points)
        with np.errstate(over="ignore"):
            slack = gaps / self.spans[:, None]
        return np.where(np.abs(slack) < SMALLEST, np.copysign(SMALLEST, gaps), slack)

    def claims(self, points: Floats) -> NDArray[np.bool_]:
        """Which outputs a detector fires for, shape (n_points, n_outputs)."""
        fires = self.gaps(points) > 0
        return np.array([fires[self.of_output(k)].any(axis=0) for k in range(len(self.classes))], dtype=bool).T


def read_detectors(network: Network) -> DetectorNetwork | None:
    """The detectors of a network of the paper's form; None for any other network.

    That is: hyperplanes of floats, dense or sparse, on the features themselves; masks under the same activation,
    with limits that are whole for bits and finite for numbers; outputs that add up what fires.
    """
    if len(network.layers) != 3 or network.input_map != "identity":
        return None
    first, second, last = network.layers
    if first.activation is None or first.activation != second.activation or not _are_planes(first):
        return None
    masks, claims = _masks(second, first.activation), _claims(last, network.decoder)
    if masks is None or claims is None:
        return None
    numbers, owners = (places.astype(np.int64) for places in np.nonzero(claims.T))
    once = len(numbers) == second.n_units and bool((numbers[1:] > numbers[:-1]).all())
    weights = masks if once else masks.take(numbers)
    return DetectorNetwork(first, weights, second.bias[numbers], owners, numbers, second.n_units, network.decoder)


def _are_planes(layer: Layer) -> bool:
    weights = layer.weights
    if not isinstance(weights, Dense | Sparse):
        return False
    numbers = weights.values if isinstance(weights, Dense) else weights.matrix.data
    return bool(numbers.dtype.kind == layer.bias.dtype.kind == "f")


def _masks(layer: Layer, activation: Activation) -> Masks | WeightedMasks | None:
    """The masks or weights of units limit - count; None for others."""
    weights, limits = layer.weights, layer.bias
    if not isinstance(weights, Masks | WeightedMasks) or weights.sign != -1:
        return None
    if isinstance(weights, WeightedMasks) and not activation.is_threshold:
        return None
    if activation.is_threshold:
        sound = limits.dtype.kind == "i" and bool(((limits >= -LARGEST_LIMIT) & (limits <= LARGEST_LIMIT)).all())
    else:
        sound = limits.dtype.kind == "f" and bool(np.isfinite(limits).all())
    return weights if sound else None


def _claims(layer: Layer, decoder: Decoder) -> NDArray[np.bool_] | None:
    """Which output adds up which detectors, shape (outputs, detectors); None for other outputs."""
    weights, n_classes = layer.weights, len(decoder.classes)
    if not isinstance(weights, Masks) or layer.activation is not None or layer.bias.any():
        return None
    if n_classes == 0 or len(set(decoder.classes)) != n_classes:
        return None
    expected = {"sign": (-1, 1, 2), "one_hot": (1, n_classes, n_classes)}.get(decoder.kind)
    if expected != (weights.sign, layer.n_units, n_classes):
        return None
    return weights.bits.to_bool()


def class_slack(network: Network, X: Matrix, *, n_jobs: int | None = None) -> Floats:
    """Largest relative slack of every class's detectors, shape (n_points, n_outputs).

    A detector's relative slack at a point is (limit - 1/2 - count) / (limit - lowest count there can be), which
    is the limit for masks, or (limit - value) / limit for real-valued activations: positive where it fires, never
    zero. An output without detectors gets the lowest float64.

    Parameters
    ----------
    network : Network
        One made by ``fixed_width`` or ``adaptive_width``.
    X : ndarray or CSR matrix, shape (n_points, n_features)
    n_jobs : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> from exactfit.network.detector_network import class_slack
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> network = adaptive_width(X, y, random_state=0).network
    >>> (class_slack(network, X)[:, 0] > 0) == (y == 1)
    array([ True,  True,  True])
    """
    found = DetectorNetwork.of(network)
    n, n_outputs = X.shape[0], len(found.classes)
    slack = np.empty((n_outputs, n))
    step = max(1, min(CHUNK_ROWS, BITS_AT_ONCE // max(1, found.first.n_units), SLACKS_AT_ONCE // max(1, n_outputs)))
    with Threads(n_jobs) if n > TILE_ROWS else nullcontext(SERIAL) as threads:
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            slack[:, rows] = _chunk_slack(found, X, rows, threads)
    return np.ascontiguousarray(slack.T)


def _chunk_slack(detectors: DetectorNetwork, X: Matrix, rows: slice, threads: Threads) -> Floats:
    """The slack of every output at some points, shape (n_outputs, n_points)."""
    n = rows.stop - rows.start
    out = np.full((len(detectors.classes), n), LOWEST)
    if detectors.is_small(n):
        np.maximum.at(out, detectors.owners, detectors.slack(dense_rows(X, rows)))
        return out
    facts = detectors.limits, detectors.spans, detectors.owners
    weights, counters = detectors.weights, detectors.counters
    is_threshold = detectors.activation.is_threshold
    narrow, columns = (detectors, None) if is_threshold else detectors.narrow
    if is_threshold:
        some = None if rows == slice(0, X.shape[0]) else np.arange(rows.start, rows.stop)
        words = sides(X, detectors.planes, detectors.first.bias, rows=some, threads=threads).words

    def work(low: int) -> None:
        high = min(low + TILE_ROWS, n)
        if not is_threshold:
            points = dense_rows(X, slice(rows.start + low, rows.start + high), columns)
            np.maximum.at(out[:, low:high], narrow.owners, narrow.slack(points))
        elif isinstance(weights, WeightedMasks):
            best_slack_weights(words, low, high, weights.planes, *facts, out)
        else:
            best_slack_counts(words, low, high, counters, *facts, out)

    if n <= TILE_ROWS:
        work(0)
    else:
        threads.map(work, range(0, n, TILE_ROWS))
    return out


def by_slack(network: Network, X: Matrix, *, n_classes: int | None = None, n_jobs: int | None = None) -> Codes:
    """The class of each point by the rule of ``predict``: the one whose detectors claim it most clearly.

    The first of equals; a classifier has ``n_classes``, also those without an output.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> from exactfit.network.detector_network import by_slack
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> by_slack(adaptive_width(X, y, random_state=0).network, X)
    array([0, 1, 0])
    """
    slack = class_slack(network, X, n_jobs=n_jobs)
    classes = np.asarray(network.decoder.classes, dtype=np.int64)
    if slack.shape[1] == 1:
        score = slack[:, 0] if classes[0] > classes[1] else -slack[:, 0]
        return np.asarray(np.where(score > 0, classes.max(), classes.min()))
    every = np.sort(classes) if n_classes is None else np.arange(n_classes)
    scores = np.full((len(slack), len(every)), LOWEST)
    scores[:, np.searchsorted(every, classes)] = slack
    return np.asarray(every[scores.argmax(axis=1)])
