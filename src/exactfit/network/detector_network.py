"""The result of a fit: hyperplanes, what each detector counts, its limit, and the class that it speaks for.

Whatever looks into a network of the paper's form reads it here: predictions, explanations, certificates, ``extend``,
repairs, exports, checks of loaded files. Reading is shared, decisions are not: a certificate takes the numbers from
here, and proves with code of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels.compile import is_loaded
from .._kernels.counting import best_slack_counts, best_slack_weights, count_all, masked_sums
from .._kernels.signs import settle_ramps
from .._support.threads import SERIAL, Threads
from ..data.matrices import dense_rows
from ..exceptions import ParameterError
from .activations import Activation, Decoder
from .bits import BitMatrix
from .network import InputMap, Layer, Matrix, Network
from .sides import U64, is_small, sides
from .weights import Dense, Masks, Sparse, WeightedMasks, weigh_words

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# The slack of an output without detectors: below that of any detector, and JSON and float64 arithmetic can hold it.
LOWEST = float(np.finfo(np.float64).min)
# The least size of a slack, so that none is zero: a value at its limit has slack -SMALLEST, since it does not fire.
SMALLEST = float(np.finfo(np.float64).tiny)
UNKNOWN, NO_CLASS = -1, -2  # positions of a class that the network does not know, and of no class at all
NO_DETECTOR = -1  # in place of a detector's number
LARGEST_LIMIT = 2**60  # limit - count stays within int64, with some to spare for adding and for a mark of "none"
WIDEST, EXACT_FLOAT32 = 128, 2**24  # the largest weight; float32 holds all integers up to this one
CHUNK_ROWS = 2**16  # points whose bits are held at a time: 16 MB for 2,000 hyperplanes
SLACKS_AT_ONCE = 2**24  # of all classes: 128 MB
BITS_AT_ONCE = 2**28  # of points: 32 MB
TILE_ROWS = 512  # points per piece of work: their bits or values stay in the cache while all detectors pass
RESPONSES_AT_ONCE = 2**22  # slacks of single detectors held by each thread: 32 MB
NEAREST = 3  # detectors that are named where none fires


def output_layer(classes: Codes, targets: tuple[int, ...], n_classes: int) -> tuple[Layer, Decoder]:
    """Return outputs for detectors of classes: one that is negative for the only target, or one for every class."""
    if len(targets) == 1:
        decoder = Decoder("sign", (targets[0], 1 - targets[0]))
        return _outputs(np.zeros_like(classes), decoder), decoder
    decoder = Decoder("one_hot", tuple(range(n_classes)))
    return _outputs(classes, decoder), decoder


def _outputs(outputs: Codes, decoder: Decoder) -> Layer:
    """Return the layer that adds up what fires for each output."""
    # A single output is negative where a detector fires, since the decoder "sign" takes zero for the other class.
    n_outputs, sign = (1, -1) if decoder.kind == "sign" else (len(decoder.classes), 1)
    own = BitMatrix.from_bool(outputs == np.arange(n_outputs)[:, None])
    return Layer(Masks(own, sign), np.zeros(n_outputs, dtype=np.int64), None)


def _layers(network: DetectorNetwork) -> tuple[Layer, ...]:
    """Return hyperplanes, detectors and outputs as generic layers: a detector is the unit limit - count."""
    detectors = Layer(network.counters, network.limits, network.activation)
    return network.first, detectors, _outputs(network.outputs, network.decoder)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DetectorNetwork(Network):
    """A network of the paper's form: hyperplanes, then detectors over their bits, then one output per class.

    Generic layers (``layers``, and with them ``digest``, ``widths`` and a call) are made when they are asked for.

    Attributes
    ----------
    hyperplanes : Dense or Sparse
        Weights of the hyperplanes; as an array or CSR array: :attr:`normals`.
    biases : ndarray of float64, shape (n_hyperplanes,)
    activation : Activation
        Of hyperplanes and detectors.
    counters : Masks or WeightedMasks
        What each detector counts: the bits of its mask, or bits times integer weights.
    limits : ndarray of int64, or float64 for real-valued activations
        A detector fires when its count (or its masked sum) is below its limit.
    outputs : ndarray of int64
        The output that each detector speaks for; output k stands for ``decoder.classes[k]``.
    decoder : Decoder
        Also says which class is meant where no detector fires, if one is.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> network = adaptive_width(X, y, random_state=0).network
    >>> network.outputs, network.classes, network.slack(X) > 0
    (array([0]), (1,), array([[False,  True, False]]))
    """

    # Fields of a generic network that follow from the others. The first is made on demand: a field, since Network
    # has it, whose value is a cached property.
    layers: tuple[Layer, ...] = field(init=False, default=cast(Any, cached_property(_layers)))
    input_map: InputMap = field(init=False, default="identity")
    hyperplanes: Dense | Sparse
    biases: Floats
    activation: Activation
    counters: Masks | WeightedMasks
    limits: NDArray[Any]
    outputs: Codes

    def __post_init__(self) -> None:
        n, n_detectors = len(self.biases), len(self.limits)
        if self.hyperplanes.shape[0] != n or self.counters.shape != (n_detectors, n):
            raise ValueError(f"{self.counters!r} and {n_detectors} limits over {self.hyperplanes!r} and {n} biases")
        if self.outputs.shape != (n_detectors,):
            raise ValueError(f"{len(self.outputs)} outputs for {n_detectors} detectors")

    @classmethod
    def of(cls, network: Network) -> DetectorNetwork:
        """Return a network with its detectors; refuse one of another form."""
        found = network.detectors
        if found is None:
            raise ParameterError("this takes networks of the paper's form, as fixed_width and adaptive_width make them")
        return found

    def __repr__(self) -> str:
        kind = "weighted detectors" if self.are_weighted else "detectors"
        return (
            f"<DetectorNetwork: {self.n_features:,} features, {self.n_hyperplanes:,} hyperplanes, "
            f"{self.n_detectors:,} {kind}, {self.activation.name}, {self.decoder!r}>"
        )

    @property
    def detectors(self) -> DetectorNetwork:
        """The network itself: it is of the paper's form."""
        return self

    @cached_property
    def first(self) -> Layer:
        """The hyperplanes as a layer."""
        return Layer(self.hyperplanes, self.biases, self.activation)

    @property
    def normals(self) -> Any:
        """Weights of the hyperplanes: an array or CSR array of shape (n_hyperplanes, n_features)."""
        return self.hyperplanes.values if isinstance(self.hyperplanes, Dense) else self.hyperplanes.rows

    @property
    def n_features(self) -> int:
        """Number of features of a point."""
        return self.hyperplanes.shape[1]

    @property
    def n_hyperplanes(self) -> int:
        """Width of the first layer."""
        return len(self.biases)

    @property
    def n_detectors(self) -> int:
        """Width of the second layer."""
        return len(self.limits)

    @property
    def classes(self) -> tuple[int, ...]:
        """Class index of each output."""
        return self.decoder.classes[:1] if self.decoder.kind == "sign" else self.decoder.classes

    @property
    def silent(self) -> int:
        """Position of the class that is meant when no detector fires; NO_CLASS if there is none."""
        return 1 if self.decoder.kind == "sign" else NO_CLASS

    @property
    def are_weighted(self) -> bool:
        """Whether detectors count with weights, not with masks."""
        return isinstance(self.counters, WeightedMasks)

    @cached_property
    def counter_rows(self) -> NDArray[Any]:
        """Counters as kernels take them: a row of words for each mask, or of int8 for weights."""
        if isinstance(self.counters, WeightedMasks):
            return self.counters.values
        return np.ascontiguousarray(self.counters.bits.words.T)

    @property
    def dense_counters(self) -> NDArray[np.float32]:
        """Masks or weights in float32, which holds all counts exactly where they are few."""
        counters = self.counters
        rows = counters.values if isinstance(counters, WeightedMasks) else counters.bits.to_bool()
        return rows.astype(np.float32)

    @cached_property
    def floors(self) -> NDArray[Any]:
        """Lowest count possible: the sum of the negative weights, of which a mask has none."""
        if isinstance(self.counters, WeightedMasks):
            return np.asarray(np.minimum(self.counters.values, 0).sum(axis=1, dtype=np.int64))
        return np.zeros_like(self.limits)

    @cached_property
    def spans(self) -> Floats:
        """Largest gap possible, limit - floor: slack is relative to it, and so 1 at most."""
        return np.asarray(self.limits - self.floors, dtype=np.float64)

    @property
    def half(self) -> float:
        """1/2 for counts, which so are never at the limit; 0 for real values."""
        return 0.5 if self.activation.is_threshold else 0.0

    def of_output(self, k: int) -> NDArray[np.intp]:
        """Return the detectors that speak for an output."""
        return np.flatnonzero(self.outputs == k)

    def take(self, rows: NDArray[np.intp], limits: NDArray[Any]) -> DetectorNetwork:
        """Return some of the detectors, with other limits."""
        return replace(self, counters=self.counters.take(rows), limits=limits, outputs=self.outputs[rows])

    def positions(self, codes: Codes) -> Codes:
        """Return the position of each class index in ``decoder.classes``, UNKNOWN where it is not there."""
        classes = np.asarray(self.decoder.classes, dtype=np.int64)
        order = np.argsort(classes)
        places = np.searchsorted(classes[order], codes).clip(max=len(classes) - 1)
        return np.where(classes[order[places]] == codes, order[places], UNKNOWN).astype(np.int64)

    # ---- Counts and slack of single detectors ----------------------------------------------------------------

    def bits(self, points: Matrix, rows: NDArray[np.intp] | None = None, threads: Threads = SERIAL) -> BitMatrix:
        """Return the side of each hyperplane that each point is on."""
        return sides(points, self.normals, self.biases, rows=rows, threads=threads)

    def counts(self, points: Floats) -> NDArray[Any]:
        """Return counts, or masked sums for real-valued activations, shape (n_detectors, n_points)."""
        counts = np.empty((self.n_detectors, len(points)), dtype=np.int32 if self.half else np.float64)
        if not self.half:
            values = self.activation(self.first.sums(points))
            masked_sums(np.ascontiguousarray(values.T), self.counter_rows, counts)
            return counts
        bits = self.bits(points)
        if self.is_small(len(points)):
            counts[:] = self.dense_counters @ bits.to_bool().astype(np.float32).T
        elif self.are_weighted:
            for row, weights in zip(counts, self.counter_rows, strict=True):
                row[:] = weigh_words(bits.words, weights)
        else:
            count_all(bits.words, 0, len(points), self.counter_rows, 0, counts)
        return counts

    def is_small(self, n_points: int) -> bool:
        """Whether counts of few points come from NumPy's products, rather than wait for the compiler to load."""
        if is_loaded() or not self.activation.is_threshold:
            return False
        return WIDEST * self.n_hyperplanes < EXACT_FLOAT32 and is_small(n_points, *self.counters.shape)

    def gaps(self, points: Floats) -> Floats:
        """Return limit - half - count, shape (n_detectors, n_points): never zero, and of the exact sign."""
        counts = self.counts(points)
        gaps = np.asarray(self.limits.astype(np.float64)[:, None] - self.half - counts)
        if self.activation.is_relu:
            # For ReLU the sign is that of exact arithmetic on the stored numbers. Let S be the sum of |w_ij x_j| and
            # |b_i| over all n hyperplanes and d features. In float64 their values err by at most gamma_(d+1) S
            # together, and a masked sum V of them by gamma_n V more; what underflows is less than 5e-324 for each
            # product. The bound is twice that, which pays for its own rounding; closer calls are decided exactly.
            # While S is below 1e300, nothing overflows.
            n, normals, (weights, biases) = self.n_hyperplanes, self.normals, self._absolute_sums
            d = int(np.diff(normals.indptr).max(initial=0)) if sp.issparse(normals) else normals.shape[1]
            with np.errstate(over="ignore", invalid="ignore"):
                sizes = np.abs(points) @ weights + biases
                bounds = 2.0 * U64 * ((d + 2) * sizes + (n + 4) * counts) + 2 * n * (d + 2) * 5e-324
                rows, places = np.nonzero(~((np.abs(gaps) > bounds) & (sizes < 1e300)))
            if len(rows):
                close = gaps[rows, places]
                fires = self._exactly_below(points, rows, places)
                gaps[rows, places] = np.where(fires, np.fmax(close, SMALLEST), np.fmin(close, -SMALLEST))
        return np.where(gaps == 0.0, -SMALLEST, gaps)

    @cached_property
    def _absolute_sums(self) -> tuple[Floats, float]:
        """Sums of absolute weights, feature by feature, and of absolute biases."""
        with np.errstate(over="ignore"):
            biases = np.abs(self.biases.astype(np.float64)).sum()
            return np.asarray(abs(self.normals.astype(np.float64)).sum(axis=0)), float(biases)

    def _exactly_below(self, points: Floats, rows: Codes, places: Codes) -> NDArray[np.bool_]:
        """Return whether masked sums of detectors at points are below their limits, in exact arithmetic."""
        normals, fires = self.normals, np.empty(len(rows), dtype=bool)
        if sp.issparse(normals):  # dense only where one of the points is not zero
            seen, places = np.unique(places, return_inverse=True)
            columns = np.flatnonzero(points[seen].any(axis=0))
            points, normals = np.ascontiguousarray(points[np.ix_(seen, columns)]), normals[:, columns].toarray()
        planes, offsets = (np.require(part, requirements=["C", "W"]) for part in (normals, self.biases))
        limits = self.limits.astype(np.float64)
        settle_ramps(points, planes, offsets.astype(np.float64), self.counter_rows, limits, rows, places, fires)
        return fires

    def slack(self, points: Floats) -> Floats:
        """Return (limit - half - count) / span of each detector, shape (n_detectors, n_points): never zero."""
        gaps = self.gaps(points)
        with np.errstate(over="ignore"):
            slack = gaps / self.spans[:, None]
        return np.where(np.abs(slack) < SMALLEST, np.copysign(SMALLEST, gaps), slack)

    def claims(self, points: Floats) -> NDArray[np.bool_]:
        """Return which outputs have a detector that fires, shape (n_points, n_outputs)."""
        fires = self.gaps(points) > 0
        return np.array([fires[self.of_output(k)].any(axis=0) for k in range(len(self.classes))], dtype=bool).T

    # ---- Slack of classes ------------------------------------------------------------------------------------

    def class_slack(self, X: Matrix, *, n_jobs: int | None = None) -> Floats:
        """Return the largest relative slack of each output's detectors, shape (n_points, n_outputs).

        A detector's relative slack at a point is (limit - 1/2 - count) / (limit - lowest count possible), which is the
        limit for masks, or (limit - value) / limit for real-valued activations: positive where it fires, never zero.
        An output without detectors gets the lowest float64. X is an array or CSR matrix.

        Examples
        --------
        >>> import numpy as np
        >>> from exactfit.construct import adaptive_width
        >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
        >>> (adaptive_width(X, y, random_state=0).network.class_slack(X)[:, 0] > 0) == (y == 1)
        array([ True,  True,  True])
        """
        n, n_outputs = X.shape[0], len(self.classes)
        slack = np.empty((n_outputs, n))
        step = max(1, min(CHUNK_ROWS, BITS_AT_ONCE // max(1, self.n_hyperplanes), SLACKS_AT_ONCE // max(1, n_outputs)))
        with Threads(n_jobs) if n > TILE_ROWS else nullcontext(SERIAL) as threads:
            for start in range(0, n, step):
                rows = slice(start, min(start + step, n))
                slack[:, rows] = self._chunk_slack(X, rows, threads)
        return np.ascontiguousarray(slack.T)

    def _chunk_slack(self, X: Matrix, rows: slice, threads: Threads) -> Floats:
        """Return the slack of each output at some points, shape (n_outputs, n_points)."""
        n, counters, is_threshold = rows.stop - rows.start, self.counters, self.activation.is_threshold
        out = np.full((len(self.classes), n), LOWEST)
        if self.is_small(n):
            np.maximum.at(out, self.outputs, self.slack(dense_rows(X, rows)))
            return out
        narrow, columns = (self, None) if is_threshold else self.narrow
        if is_threshold:
            words = self.bits(X, None if n == X.shape[0] else np.arange(rows.start, rows.stop), threads).words

        def work(low: int) -> None:
            high = min(low + TILE_ROWS, n)
            if not is_threshold:
                points = dense_rows(X, slice(rows.start + low, rows.start + high), columns)
                np.maximum.at(out[:, low:high], narrow.outputs, narrow.slack(points))
            elif isinstance(counters, WeightedMasks):
                best_slack_weights(words, low, high, counters.planes, self.limits, self.spans, self.outputs, out)
            else:
                best_slack_counts(words, low, high, self.counter_rows, self.limits, self.spans, self.outputs, out)

        if n <= TILE_ROWS:
            work(0)
        else:
            threads.map(work, range(0, n, TILE_ROWS))
        return out

    @cached_property
    def narrow(self) -> tuple[DetectorNetwork, NDArray[np.int64] | None]:
        """The same over the features that some hyperplane looks at, and these; all of dense hyperplanes are (None)."""
        if isinstance(self.hyperplanes, Dense):
            return self, None
        columns = np.unique(self.normals.indices).astype(np.int64)
        return replace(self, hyperplanes=Sparse(self.normals[:, columns])), columns

    def predict_codes(self, X: Matrix, *, n_classes: int | None = None, n_jobs: int | None = None) -> Codes:
        """Return the class index of each point by the rule of ``predict``: the one with the largest slack.

        The first of equals; a classifier has ``n_classes``, also those without an output.

        Examples
        --------
        >>> import numpy as np
        >>> from exactfit.construct import adaptive_width
        >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
        >>> adaptive_width(X, y, random_state=0).network.predict_codes(X)
        array([0, 1, 0])
        """
        slack, classes = self.class_slack(X, n_jobs=n_jobs), np.asarray(self.decoder.classes, dtype=np.int64)
        if slack.shape[1] == 1:
            score = slack[:, 0] if classes[0] > classes[1] else -slack[:, 0]
            return np.asarray(np.where(score > 0, classes.max(), classes.min()))
        every = np.sort(classes) if n_classes is None else np.arange(n_classes)
        scores = np.full((len(slack), len(every)), LOWEST)
        scores[:, np.searchsorted(every, classes)] = slack
        return np.asarray(every[scores.argmax(axis=1)])

    def responses(self, X: Matrix, n_jobs: int | None = None) -> DetectorResponses:
        """Return which detectors fire or come closest at each point; the same for any number of threads."""
        n = X.shape[0]
        step = max(1, min(TILE_ROWS, RESPONSES_AT_ONCE // max(self.n_detectors, 1)))
        tiles = [slice(low, min(low + step, n)) for low in range(0, n, step)]
        with Threads(n_jobs) as threads:
            found = threads.map(lambda tile: _responses(self, dense_rows(X, tile)), tiles)
        parts = [_responses(self, np.empty((0, X.shape[1]))), *found]
        names = ("best", "clearest", "fired", "slack", "nearest", "nearest_slack")
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return DetectorResponses(starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), **arrays)


@dataclass(frozen=True, eq=False)
class DetectorResponses:
    """Detectors by number, and their relative slack (see ``DetectorNetwork.class_slack``) at each point.

    Attributes
    ----------
    best, clearest : ndarray, shape (n_points, n_outputs)
        Largest slack of every output's detectors and the first detector that has it, NO_DETECTOR without any.
    starts : ndarray, shape (n_points + 1,)
        Where each point's part of ``fired`` begins.
    fired, slack : ndarray
        The detectors that fire, the clearest first, and their slack.
    nearest, nearest_slack : ndarray, shape (n_points, 3)
        The detectors that came closest to firing where none does, else NO_DETECTOR.
    """

    best: Floats
    clearest: Codes
    starts: Codes
    fired: Codes
    slack: Floats
    nearest: Codes
    nearest_slack: Floats

    def __repr__(self) -> str:
        return f"<DetectorResponses: {len(self.best):,} points, {self.best.shape[1]} outputs>"


def _responses(network: DetectorNetwork, points: Floats) -> DetectorResponses:
    """Return the responses to a few points."""
    slack, n, n_outputs = network.slack(points), len(points), len(network.classes)
    best, clearest = np.full((n, n_outputs), LOWEST), np.full((n, n_outputs), NO_DETECTOR)
    for k in range(n_outputs):
        own = network.of_output(k)
        if len(own):
            clearest[:, k] = own[slack[own].argmax(axis=0)]
            best[:, k] = slack[clearest[:, k], np.arange(n)]
    at, fired = np.nonzero(slack.T > 0)
    order = np.lexsort((fired, -slack[fired, at], at))
    at, fired = at[order], fired[order].astype(np.int64)
    starts = np.searchsorted(at, np.arange(n + 1)).astype(np.int64)
    # Where none fires, the largest slacks one after the other; argmax takes the first of equals.
    nearest, nearest_slack = np.full((n, NEAREST), NO_DETECTOR), np.full((n, NEAREST), LOWEST)
    none_fires = np.flatnonzero(np.diff(starts) == 0)
    left, columns = slack[:, none_fires], np.arange(len(none_fires))
    for place in range(min(NEAREST, len(slack))):
        closest = left.argmax(axis=0)
        nearest[none_fires, place], nearest_slack[none_fires, place] = closest, left[closest, columns]
        left[closest, columns] = -np.inf
    return DetectorResponses(best, clearest, starts, fired, slack[fired, at], nearest, nearest_slack)


# ---- From generic layers, and from several networks --------------------------------------------------------


def read_detectors(network: Network) -> DetectorNetwork | None:
    """Return generic layers as a network of the paper's form; None for any other network."""
    # That is: hyperplanes of floats, dense or sparse, on the features themselves; masks under the same activation, with
    # limits that are integers for bits and finite for numbers; outputs that add up what fires, each detector for one.
    if len(network.layers) != 3 or network.input_map != "identity":
        return None
    (first, second, last), decoder = network.layers, network.decoder
    hyperplanes, counters, outputs = first.weights, second.weights, last.weights
    activation, limits, n_classes = first.activation, second.bias, len(decoder.classes)
    if not isinstance(hyperplanes, Dense | Sparse) or not isinstance(counters, Masks | WeightedMasks):
        return None
    if activation is None or activation != second.activation or not isinstance(outputs, Masks):
        return None
    numbers = hyperplanes.values if isinstance(hyperplanes, Dense) else hyperplanes.matrix.data
    if activation.is_threshold:
        counts = limits.dtype.kind == "i" and bool(((limits >= -LARGEST_LIMIT) & (limits <= LARGEST_LIMIT)).all())
    else:  # weights are for bits
        counts = isinstance(counters, Masks) and limits.dtype.kind == "f" and bool(np.isfinite(limits).all())
    speak_for = outputs.bits.to_bool()
    adds_up = last.activation is None and not last.bias.any() and bool((speak_for.sum(axis=0) == 1).all())
    expected = {"sign": (-1, 1, 2), "one_hot": (1, n_classes, n_classes)}.get(decoder.kind)
    decides = 0 < n_classes == len(set(decoder.classes)) and expected == (outputs.sign, last.n_units, n_classes)
    of_floats = numbers.dtype.kind == first.bias.dtype.kind == "f"
    if not (of_floats and counters.sign == -1 and counts and adds_up and decides):
        return None
    found = DetectorNetwork(
        decoder=decoder, hyperplanes=hyperplanes, biases=first.bias, activation=activation,
        counters=counters, limits=limits, outputs=speak_for.argmax(axis=0).astype(np.int64),
    )  # fmt: skip
    # The layers that it was read from: their digest stays, whatever types their numbers have.
    vars(found)["layers"] = network.layers
    return found


def side_by_side(networks: Sequence[DetectorNetwork]) -> DetectorNetwork:
    """Return one network with all hyperplanes and all detectors: its outputs add up what fires in any of them.

    A detector counts with zeros at the hyperplanes of others.
    """
    starts = np.cumsum([0, *(one.n_hyperplanes for one in networks)]).tolist()
    rows = []
    for one, start in zip(networks, starts, strict=False):
        own = one.counters.values if isinstance(one.counters, WeightedMasks) else one.counters.bits.to_bool()
        rows.append(np.zeros((one.n_detectors, starts[-1]), dtype=own.dtype))
        rows[-1][:, start : start + one.n_hyperplanes] = own
    weighted = any(one.are_weighted for one in networks)
    table = np.concatenate([row.astype(np.int8 if weighted else bool) for row in rows])
    return replace(
        networks[0],
        hyperplanes=Dense(np.concatenate([one.normals for one in networks])),
        biases=np.concatenate([one.biases for one in networks]),
        counters=WeightedMasks(table, -1) if weighted else Masks(BitMatrix.from_bool(table), -1),
        limits=np.concatenate([one.limits for one in networks]),
        outputs=np.concatenate([one.outputs for one in networks]),
    )
