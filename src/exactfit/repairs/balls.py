r"""Balls as patches: one unit 2 <c, x> - |x|^2 + b over the squared norm, b = t - |c|^2, fires where |x - c|^2 < t.

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

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import pair_squares
from .._kernels.rounding import FLOAT64, Format
from .._kernels.rows import squared_norms
from ..construct.hyperplanes import ORDER, stream
from ..data import Codes, Floats, Matrix, Rows
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import NoGapError
from ..network import Dense, Layer
from ..network.activations import THRESHOLD
from .patches import Patches, Targets, patch_network, with_units

CENTRES_AT_ONCE = 1024  # centres in one product with a tile of points
UP = 1.0 + 2.0**-40  # more than the few roundings of a bound itself


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


def _squares_from(centre: Floats, points: Floats) -> Floats:
    out = np.empty(len(points))
    pair_squares(np.repeat(centre[None, :], len(points), axis=0), np.ascontiguousarray(points), out)
    return out


def _claims(centre: Floats, square: float, points: Floats, form: Format) -> NDArray[np.bool_]:
    """Which points a ball surely claims."""
    errors, unit = _errors(points, _norms(centre[None, :]), form)[0], _unit(points, form)
    return np.asarray(_squares_from(centre, points) + errors < (1.0 - 2.0 * unit) * square)


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


def centres_and_squares(patches: Patches) -> tuple[Floats, Floats]:
    """What balls were made of, read back from their units."""
    units = patches.network.layers[-2]
    assert isinstance(units.weights, Dense)
    centres = np.ascontiguousarray(units.weights.values[:, :-1] / 2.0)
    return centres, units.bias + _norms(centres)


def lowered_balls(patches: Patches, X: Matrix, codes: Codes, form: Format) -> tuple[Patches, NDArray[np.intp]]:
    """Balls that claim none of some further points of other labels, and the places of those that are left."""
    centres, squares = centres_and_squares(patches)
    largest = _largest_squares(centres, patches.codes, X, codes, form)
    fell = largest < squares  # the others stay as they are: a square that is read back may have lost a rounding
    kept = np.flatnonzero(~fell | (largest >= _least_squares(centres, form)))
    units, norms = patches.network.layers[-2], _norms(centres)
    assert isinstance(units.weights, Dense)
    bias = np.where(fell, largest - norms, units.bias)
    fewer = Layer(units.weights.take(kept), bias[kept], THRESHOLD)
    network = with_units(patches.network, fewer, patches.codes[kept])
    old = patches.fires_within, patches.silent_beyond
    new = _radii(np.clip(largest, 0.0, squares), norms, _unit(centres, form))  # below zero: not kept
    radii = (np.where(fell, *pair)[kept] for pair in zip(new, old, strict=True))
    return Patches(network, patches.anchors[kept], *radii), kept
