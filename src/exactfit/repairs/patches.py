r"""Patches: detectors that fire on points that a model got wrong, and on no given point of another label. Balls.

A patch network has the decoder ``one_hot``: it decides where patches of exactly one class fire. Its last layer
says which class each patch speaks for, the layer before has one unit for each patch: a ball over the squared norm,
or a count of bits below a limit (``counts``). A kind of patches is two functions, which build them and lower them
over further points. A ball is one unit 2 <c, x> - |x|^2 + b, b = t - |c|^2, which fires where |x - c|^2 < t.

Claim. An evaluation of the unit at x, in any order, in a format with unit roundoff u, is off from t - |x - c|^2 by
less than E(x) = v (3 |x|^2 + 2 |c|^2 + t), v = (d + 8) (u + 2^-53), underflow aside; and so is the enclosure by which
it is certified.

Proof. The inputs, d products for |x|^2, d + 1 products and the bias pass through at most d + 6 roundings each;
together they are at most 2 |c| |x| + 2 |x|^2 + |b| <= 3 |x|^2 + 2 |c|^2 + t. An enclosure pays that for the format and
once more for float64. What is left of d + 8 pays for higher orders.

So a ball surely claims x if t - |x - c|^2 > E(x), and surely does not if |x - c|^2 - t > E(x). The least ball surely
claims its centre: t = 5.5 v |c|^2, and E(c) is about 5 v |c|^2. The largest one has t = min over the rest of
(1 - 2 v) |z - c|^2 - v (3 |z|^2 + 2 |c|^2): |z - c|^2 - E(z), less v |z - c|^2 for the rounding of distances here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import pair_squares
from .._kernels.rounding import FLOAT32, FLOAT64, Format
from .._kernels.rows import squared_norms
from .._support.threads import Threads
from ..construct.hyperplanes import ORDER, stream
from ..data import Codes, Floats, Matrix, Rows
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import NoGapError
from ..network import Dense, Layer, Masks, Network
from ..network.activations import THRESHOLD
from ..network.detector_network import DetectorNetwork, output_layer, side_by_side
from ..network.network import InputMap

CENTRES_AT_ONCE = 1024  # centres in one product with a tile of points
UP = 1.0 + 2.0**-40  # more than the few roundings of a bound itself


@dataclass(frozen=True, eq=False)
class Targets:
    """Points that patches are for, among all given points."""

    X: Matrix  # all given points, rounded to the asked format
    codes: Codes  # their class indices
    rows: Rows  # those that need a patch, ascending
    n_classes: int
    exact_in: str | None  # in which format patches have to be sure; None: float64, as this package evaluates them

    @property
    def form(self) -> Format:
        """Constants of the format."""
        return FLOAT32 if self.exact_in == "float32" else FLOAT64

    def points(self, rows: Rows) -> Floats:
        """Return some of the points, dense."""
        return dense_rows(self.X, rows)


@dataclass(frozen=True, eq=False)
class Patches:
    """A patch network, and the point that each patch is anchored at."""

    network: Network
    anchors: Rows  # the given row of each patch
    fires_within: Floats  # the distance from its anchor inside which each patch surely fires
    silent_beyond: Floats  # beyond which it surely does not; infinite where nothing is proved

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def codes(self) -> Codes:
        """The class index that each patch speaks for."""
        weights, classes = self.network.layers[-1].weights, np.array(self.network.decoder.classes, dtype=np.int64)
        assert isinstance(weights, Masks)
        return np.asarray(classes[weights.bits.to_bool().argmax(axis=0)])

    @property
    def are_balls(self) -> bool:
        """Whether each patch is a ball over the squared norm."""
        return self.network.input_map == "append_squared_norm"

    def fired(self, X: Matrix) -> tuple[Rows, Rows]:
        """Return pairs (row, patch) of the rows of X on which patches fire, row by row."""
        # Without the last layer the outputs are the patches themselves.
        units = Network(self.network.layers[:-1], self.network.decoder, self.network.input_map)
        rows, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for tile in row_tiles(X) if len(self) else ():
            here, fired = np.nonzero(units(dense_rows(X, tile)))
            rows.append(tile.start + here)
            places.append(fired)
        return np.concatenate(rows), np.concatenate(places)

    def joined(self, new: Patches) -> Patches:
        """Return these patches and new ones of the same kind in one network."""
        # Without targets the network is an empty one of balls, whatever the kind: there is nothing to join.
        if not len(self) or not len(new):
            return self if len(self) else new
        names = ("anchors", "fires_within", "silent_beyond")
        facts = [np.concatenate([getattr(self, name), getattr(new, name)]) for name in names]
        if not self.are_balls:
            return Patches(side_by_side([DetectorNetwork.of(self.network), DetectorNetwork.of(new.network)]), *facts)
        weights = np.concatenate([_ball_weights(self), _ball_weights(new)])
        bias = np.concatenate([part.network.layers[-2].bias for part in (self, new)])
        units = Layer(Dense(weights), bias, THRESHOLD)
        return Patches(with_units(self.network, units, np.concatenate([self.codes, new.codes])), *facts)


def patch_network(layers: tuple[Layer, ...], codes: Codes, n_classes: int, input_map: InputMap = "identity") -> Network:
    """Return a network of units, the last layer of which are patches for the given classes."""
    output, decoder = output_layer(codes, tuple(range(n_classes)), n_classes)
    return Network((*layers, output), decoder, input_map)


def with_units(network: Network, units: Layer, codes: Codes) -> Network:
    """Return the network with other patches over the same layers before them."""
    return patch_network((*network.layers[:-2], units), codes, len(network.decoder.classes), network.input_map)


# ---- Balls ---------------------------------------------------------------------------------------------


def ball_patches(
    targets: Targets, reach: float, root: np.random.SeedSequence, threads: Threads | None = None
) -> Patches:
    """Build balls around targets, in random order, skipping those that a ball before them claims."""
    form, codes, centres = targets.form, targets.codes[targets.rows], targets.points(targets.rows)
    least = _least_squares(centres, form)
    largest = _largest_squares(centres, codes, targets.X, targets.codes, form)
    if (largest < least).any():
        rows = ", ".join(map(str, targets.rows[largest < least][:10]))
        raise NoGapError(
            f"balls around rows {rows} would also claim a point of another label, as {targets.exact_in or 'float64'} "
            'rounds: use patches="mask", centre the data, or correct labels of points that are nearly equal'
        )
    # Between the two, radii grow evenly: squares would leave most reaches near the largest.
    squares = least
    if reach:
        radii = (1.0 - reach) * np.sqrt(least) + reach * np.sqrt(largest)
        squares = np.clip(np.square(radii), least, largest)
    norms, unit = _norms(centres), _unit(centres, form)
    waiting, chosen = np.ones(len(centres), dtype=bool), []
    # In random order, as anchors are taken: a ball that reaches far claims targets that then need none.
    for place in stream(root, ORDER).permutation(len(centres)):
        if waiting[place]:
            chosen.append(place)
            waiting[place] = False
            others = np.flatnonzero(waiting & (codes == codes[place]))
            points, away = np.ascontiguousarray(centres[others]), np.empty(len(others))
            pair_squares(np.repeat(centres[[place]], len(others), axis=0), points, away)
            errors = _errors(points, norms[[place]], form)[0]
            waiting[others[away + errors < (1.0 - 2.0 * unit) * squares[place]]] = False
    kept = np.sort(np.array(chosen, dtype=np.intp))
    weights = np.column_stack([2 * centres[kept], np.full(len(kept), -1.0)])
    units = Layer(Dense(weights), squares[kept] - norms[kept], THRESHOLD)
    network = patch_network((units,), codes[kept], targets.n_classes, "append_squared_norm")
    return Patches(network, targets.rows[kept], *_radii(squares[kept], norms[kept], unit))


def _norms(points: Floats) -> Floats:
    norms = np.empty(len(points))
    squared_norms(np.ascontiguousarray(points), norms)
    return norms


def _unit(points: Floats, form: Format) -> float:
    """Return v of the claim above."""
    return float((points.shape[1] + 8) * (form.unit + FLOAT64.unit))


def _least_squares(centres: Floats, form: Format) -> Floats:
    underflow = form.pad * (centres.shape[1] + np.abs(centres).sum(axis=1) + 1.0)
    return np.asarray(5.5 * _unit(centres, form) * _norms(centres) + underflow)


def _errors(points: Floats, centre_norms: Floats, form: Format) -> Floats:
    """Return E(x) for every centre and point, shape (centres, points), but for the part that grows with t."""
    sizes = 3.0 * _norms(points)[None, :] + 2.0 * centre_norms[:, None]
    return np.asarray(_unit(points, form) * sizes + form.pad)


def _largest_squares(centres: Floats, own: Codes, X: Matrix, codes: Codes, form: Format) -> Floats:
    """Return the largest t that points of other classes leave to each ball, at most twice the largest norm squared."""
    norms, unit = _norms(centres), _unit(centres, form)
    farthest = max((float(_norms(dense_rows(X, tile)).max()) for tile in row_tiles(X)), default=0.0)
    largest = np.full(len(centres), 4.0 * max(farthest, norms.max(initial=0.0)))
    for start in range(0, len(centres), CENTRES_AT_ONCE):
        part = slice(start, start + CENTRES_AT_ONCE)
        for tile in row_tiles(X):
            points = dense_rows(X, tile)
            # Products find the points that may be the closest; their differences are added up in one fixed order.
            near = _norms(points)[None, :] + norms[part, None] - 2.0 * (centres[part] @ points.T)
            near[own[part, None] == codes[None, tile]] = np.inf
            margins = _errors(points, norms[part], form)
            best = np.minimum((near - margins).min(axis=1), largest[part])
            left, right = np.nonzero((1.0 - 2.0 * unit) * near - 2.0 * margins <= best[:, None])
            squares = np.empty(len(left))
            pair_squares(centres[part][left], points[right], squares)
            np.minimum.at(largest, start + left, (1.0 - 2.0 * unit) * squares - margins[left, right])
    return largest


def _radii(squares: Floats, norms: Floats, unit: float) -> tuple[Floats, Floats]:
    """Return distances inside which balls surely fire, and beyond which they surely do not, in every evaluation."""
    edge = np.square(np.sqrt(norms) + np.sqrt(squares))  # |x|^2 inside is at most this
    within = squares - unit * (3.0 * edge + 2.0 * norms + squares) * UP
    beyond = (squares + unit * (8.0 * norms + squares)) / (1.0 - 6.0 * unit)  # |x|^2 <= 2 |c|^2 + 2 |x - c|^2
    return np.sqrt(np.maximum(within, 0.0)) / UP, np.sqrt(beyond) * UP


def _ball_weights(patches: Patches) -> Floats:
    weights = patches.network.layers[-2].weights
    assert isinstance(weights, Dense)
    return weights.values


def centres_and_squares(patches: Patches) -> tuple[Floats, Floats]:
    """Return centres and squared radii of balls, read back from their units."""
    centres = np.ascontiguousarray(_ball_weights(patches)[:, :-1] / 2.0)
    return centres, patches.network.layers[-2].bias + _norms(centres)


def lowered_balls(
    patches: Patches, given: Targets, X: Matrix, codes: Codes, threads: Threads | None = None
) -> tuple[Patches, NDArray[np.intp]]:
    """Shrink balls so that they claim no further point of another label; return also the places of those left."""
    form, (centres, squares) = given.form, centres_and_squares(patches)
    largest = _largest_squares(centres, patches.codes, X, codes, form)
    fell = largest < squares  # the others stay as they are: a square that is read back may have lost a rounding
    kept = np.flatnonzero(~fell | (largest >= _least_squares(centres, form)))
    norms = _norms(centres)
    bias = np.where(fell, largest - norms, patches.network.layers[-2].bias)
    fewer = Layer(Dense(_ball_weights(patches)[kept]), bias[kept], THRESHOLD)
    network = with_units(patches.network, fewer, patches.codes[kept])
    old = patches.fires_within, patches.silent_beyond
    new = _radii(np.clip(largest, 0.0, squares), norms, _unit(centres, form))  # below zero: not kept
    radii = (np.where(fell, *pair)[kept] for pair in zip(new, old, strict=True))
    return Patches(network, patches.anchors[kept], *radii), kept
