r"""Patches: detectors that fire on points that a model got wrong, and on no given point of another label. Balls.

A patch network has the decoder ``one_hot``: it decides where patches of exactly one class fire. Its last layer
says which class each patch speaks for, the layer before has one unit for each patch: a ball over the squared norm,
or a count of bits below a limit (``counts``). A ball is one unit 2 <c, x> - |x|^2 + b, b = t - |c|^2, which fires
where |x - c|^2 < t.

Claim. Whoever evaluates the unit at x, in any order, in a format with unit roundoff u, is off from t - |x - c|^2 by
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import pair_squares
from .._kernels.rounding import FLOAT32, FLOAT64, Format
from .._kernels.rows import squared_norms
from .._support.parameters import check_number, shown
from ..construct.hyperplanes import ORDER, stream
from ..data import Codes, Floats, Matrix, Rows
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import NoGapError, ParameterError
from ..network import Dense, Layer, Masks, Network
from ..network.activations import THRESHOLD
from ..network.detector_network import DetectorNetwork, output_layer, side_by_side
from ..network.network import InputMap

KINDS = ("ball", "mask", "weighted")
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
        """The format's constants."""
        return FLOAT32 if self.exact_in == "float32" else FLOAT64

    def points(self, rows: Rows) -> Floats:
        """Some of the points, dense."""
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
        """Which patches fire on which rows of X: pairs (row, patch), row by row."""
        units = Network(self.network.layers[:-1], self.network.decoder, self.network.input_map)
        rows, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for tile in row_tiles(X) if len(self) else ():
            here, fired = np.nonzero(units(dense_rows(X, tile)))
            rows.append(tile.start + here)
            places.append(fired)
        return np.concatenate(rows), np.concatenate(places)

    def decided(self, fired: tuple[Rows, Rows], n_rows: int) -> Codes:
        """The class index that patches decide for each of so many rows, -1 where they decide none."""
        claims = np.zeros((n_rows, max(self.network.decoder.classes) + 1), dtype=bool)
        claims[fired[0], self.codes[fired[1]]] = True
        return np.where(claims.sum(axis=1) == 1, claims.argmax(axis=1), -1).astype(np.int64)


def patch_network(layers: tuple[Layer, ...], codes: Codes, n_classes: int, input_map: InputMap = "identity") -> Network:
    """Units, the last layer of which are patches for the given classes, with the output that says so."""
    output, decoder = output_layer(codes, tuple(range(n_classes)), n_classes)
    return Network((*layers, output), decoder, input_map)


def with_units(network: Network, units: Layer, codes: Codes) -> Network:
    """The network with other patches over what is before them."""
    return patch_network((*network.layers[:-2], units), codes, len(network.decoder.classes), network.input_map)


def share_of(reach: Any) -> float:
    """Reach as a share of what is possible: 0.0 for "least", 1.0 for "full"."""
    if isinstance(reach, str) and reach in ("least", "full"):
        return float(reach == "full")
    try:
        return check_number("reach", reach, above=0.0, at_most=1.0)
    except ParameterError as error:
        raise ParameterError(f"reach must be 'least', 'full' or a share in (0, 1], got {shown(reach)}") from error


def joined_patches(old: Patches, new: Patches) -> Patches:
    """All patches of two networks in one."""
    if not len(old) or not len(new):
        return old if len(old) else new
    names = ("anchors", "fires_within", "silent_beyond")
    facts = [np.concatenate([getattr(old, name), getattr(new, name)]) for name in names]
    if not old.are_balls:
        return Patches(side_by_side([DetectorNetwork.of(old.network), DetectorNetwork.of(new.network)]), *facts)
    weights = np.concatenate([_ball_weights(old), _ball_weights(new)])
    bias = np.concatenate([part.network.layers[-2].bias for part in (old, new)])
    units = Layer(Dense(weights), bias, THRESHOLD)
    return Patches(with_units(old.network, units, np.concatenate([old.codes, new.codes])), *facts)


# ---- Balls ---------------------------------------------------------------------------------------------


def ball_patches(targets: Targets, share: float, root: np.random.SeedSequence) -> Patches:
    """Balls around targets, in random order, skipping those that a ball before them claims."""
    form, codes, centres = targets.form, targets.codes[targets.rows], targets.points(targets.rows)
    least = _least_squares(centres, form)
    largest = _largest_squares(centres, codes, targets.X, targets.codes, form)
    _refuse_crowded(targets, least, largest)
    squares = least
    if share:
        radii = (1.0 - share) * np.sqrt(least) + share * np.sqrt(largest)
        squares = np.clip(np.square(radii), least, largest)
    chosen = _cover(centres, codes, squares, form, stream(root, ORDER))
    return _assembled(targets, centres[chosen], targets.rows[chosen], codes[chosen], squares[chosen])


def _norms(points: Floats) -> Floats:
    norms = np.empty(len(points))
    squared_norms(np.ascontiguousarray(points), norms)
    return norms


def _unit(points: Floats, form: Format) -> float:
    """What is called v above."""
    return float((points.shape[1] + 8) * (form.unit + FLOAT64.unit))


def _least_squares(centres: Floats, form: Format) -> Floats:
    underflow = form.pad * (centres.shape[1] + np.abs(centres).sum(axis=1) + 1.0)
    return np.asarray(5.5 * _unit(centres, form) * _norms(centres) + underflow)


def _errors(points: Floats, centre_norms: Floats, form: Format) -> Floats:
    """E(x) for every centre and point, shape (centres, points), but for what grows with t."""
    sizes = 3.0 * _norms(points)[None, :] + 2.0 * centre_norms[:, None]
    return np.asarray(_unit(points, form) * sizes + form.pad)


def _largest_squares(centres: Floats, own: Codes, X: Matrix, codes: Codes, form: Format) -> Floats:
    """What the points of other classes leave to each ball, at most the square of twice the largest norm.

    Products tell which points may be the closest; the differences of these are added up in one fixed order.
    """
    norms, unit = _norms(centres), _unit(centres, form)
    farthest = max((float(_norms(dense_rows(X, tile)).max()) for tile in row_tiles(X)), default=0.0)
    largest = np.full(len(centres), 4.0 * max(farthest, norms.max(initial=0.0)))
    for start in range(0, len(centres), CENTRES_AT_ONCE):
        part = slice(start, start + CENTRES_AT_ONCE)
        for tile in row_tiles(X):
            points = dense_rows(X, tile)
            near = _norms(points)[None, :] + norms[part, None] - 2.0 * (centres[part] @ points.T)
            near[own[part, None] == codes[None, tile]] = np.inf
            margins = _errors(points, norms[part], form)
            best = np.minimum((near - margins).min(axis=1), largest[part])
            left, right = np.nonzero((1.0 - 2.0 * unit) * near - 2.0 * margins <= best[:, None])
            squares = np.empty(len(left))
            pair_squares(centres[part][left], points[right], squares)
            np.minimum.at(largest, start + left, (1.0 - 2.0 * unit) * squares - margins[left, right])
    return largest


def _refuse_crowded(targets: Targets, least: Floats, largest: Floats) -> None:
    crowded = targets.rows[largest < least]
    if len(crowded):
        rows = ", ".join(map(str, crowded[:10]))
        raise NoGapError(
            f"balls around rows {rows} would also claim a point of another label, as {targets.exact_in or 'float64'} "
            'rounds: use patches="mask", centre the data, or correct labels of points that are nearly equal'
        )


def _cover(centres: Floats, codes: Codes, squares: Floats, form: Format, rng: np.random.Generator) -> NDArray[np.intp]:
    waiting, chosen = np.ones(len(centres), dtype=bool), []
    for place in rng.permutation(len(centres)):
        if waiting[place]:
            chosen.append(place)
            others = np.flatnonzero(waiting & (codes == codes[place]))
            waiting[others[_claims(centres[place], squares[place], centres[others], form)]] = False
            waiting[place] = False
    return np.sort(np.array(chosen, dtype=np.intp))


def _claims(centre: Floats, square: float, points: Floats, form: Format) -> NDArray[np.bool_]:
    """Which points a ball surely claims."""
    errors, squares = _errors(points, _norms(centre[None, :]), form)[0], np.empty(len(points))
    pair_squares(np.repeat(centre[None, :], len(points), axis=0), np.ascontiguousarray(points), squares)
    return np.asarray(squares + errors < (1.0 - 2.0 * _unit(points, form)) * square)


def _assembled(targets: Targets, centres: Floats, anchors: Rows, codes: Codes, squares: Floats) -> Patches:
    weights = np.column_stack([2 * centres, np.full(len(centres), -1.0)])
    norms = _norms(centres)
    units = Layer(Dense(weights), squares - norms, THRESHOLD)
    network = patch_network((units,), codes, targets.n_classes, "append_squared_norm")
    return Patches(network, anchors, *_radii(squares, norms, _unit(centres, targets.form)))


def _radii(squares: Floats, norms: Floats, unit: float) -> tuple[Floats, Floats]:
    """Distances inside which balls surely fire, and beyond which they surely do not, in every evaluation."""
    edge = np.square(np.sqrt(norms) + np.sqrt(squares))  # |x|^2 inside is at most this
    within = squares - unit * (3.0 * edge + 2.0 * norms + squares) * UP
    beyond = (squares + unit * (8.0 * norms + squares)) / (1.0 - 6.0 * unit)  # |x|^2 <= 2 |c|^2 + 2 |x - c|^2
    return np.sqrt(np.maximum(within, 0.0)) / UP, np.sqrt(beyond) * UP


def _ball_weights(patches: Patches) -> Floats:
    weights = patches.network.layers[-2].weights
    assert isinstance(weights, Dense)
    return weights.values


def centres_and_squares(patches: Patches) -> tuple[Floats, Floats]:
    """What balls were made of, read back from their units."""
    centres = np.ascontiguousarray(_ball_weights(patches)[:, :-1] / 2.0)
    return centres, patches.network.layers[-2].bias + _norms(centres)


def lowered_balls(patches: Patches, X: Matrix, codes: Codes, form: Format) -> tuple[Patches, NDArray[np.intp]]:
    """Balls that claim none of some further points of other labels, and the places of those that are left."""
    centres, squares = centres_and_squares(patches)
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
