"""Balls around points: the points that they hold, greedy covers by few of them, and mutual covers of two classes.

Blocks of products give squares within a proven margin (see ``cloud``). Whatever that does not decide is computed
again by differences, and then exactly. :class:`Balls` answers what the cover step asks (see ``construct/evidence.py``),
with squared distances in place of counts: so the same cover, over the same order, gives balls in place of detectors.

A mutual covering is built from greedy covers of both sides, then pruned in turns; see ``covering`` for its definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels.distances import TINY, Centres, Margins, compare_pairs, pair_squares, settle_squares
from .._kernels.limits import gains as count_gains
from .._support.console import Progress, silent
from .._support.parameters import Seed, seed_sequence
from .._support.threads import Executor, Threads, single_threaded_blas
from ..construct import Options
from ..construct.cover import COUNTS_AT_ONCE, cover_classes, cover_each
from ..construct.evidence import HERE, Columns, Evidence, Pieces
from ..construct.hyperplanes import ORDER, stream
from ..construct.unique_patterns import ClassOrder, ClassSlice, Cover, candidates_of
from ..data import Codes, Floats, Matrix, Rows
from ..data.cloud import CROWDED, DOUBLE_DIMENSION, Cloud, Side, exact_distance, exact_square
from ..data.pairs import VANISHING, Nearest, closest_pair, nearest_other
from ..network.bits import n_words
from .widths import MeanWidth, mean_widths

COLUMN_TILE = 2048  # columns of one product of balls
DOUBTS = 4096  # close calls of a block that are expected, for they are few; counted again where there are more
KEPT_BYTES = 2**29  # points made ready are kept up to half a GiB, and made again beyond
CENTERS_AT_ONCE = 64  # rows of the table of claims that are unpacked at a time
ROUNDS = 20  # rounds of pruning at most; two in vain end it


class ReadyColumns(NamedTuple):
    """Columns in tiles, with their sides of products where these are kept, in float32 or float64."""

    tiles: list[Columns]
    sides: list[Side | None]
    single: bool


class Balls:
    """Balls around points, one for every column (a place of the point set), given by squared radii in its scale."""

    def __init__(self, cloud: Cloud, squares: Floats, threads: Threads, witnesses: Columns | None = None) -> None:
        self.cloud, self.squares, self.threads = cloud, squares, threads
        self.witnesses = np.full(len(squares), -1) if witnesses is None else witnesses
        self.single = cloud.dimension > DOUBLE_DIMENSION

    def limits(self, anchors: Columns, rest: Pieces) -> tuple[Floats, Columns]:
        """Squared radius of every anchor's ball, and the column that set it if one did."""
        return self.squares[anchors], self.witnesses[anchors]

    def stored_limits(self, limits: Floats, highest: Floats) -> list[float]:
        """Squared radii themselves."""
        return cast("list[float]", limits.tolist())

    def cost(self, rest: Pieces) -> int:
        """Words of work for one candidate: limits are known, so only the distances within its class count."""
        return max(1, self.cloud.dimension * len(self.cloud) // 8)

    def select(self, columns: Columns | slice) -> ReadyColumns:
        """Columns in tiles, made ready for products as far as memory allows."""
        wanted = np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
        tiles = [wanted[start : start + COLUMN_TILE] for start in range(0, len(wanted), COLUMN_TILE)]
        # The right sides of products are the same for all blocks of anchors.
        kept = 16 * len(wanted) * self.cloud.dimension <= KEPT_BYTES
        single = self.single
        sides = self.threads.map(lambda tile: self.cloud.side(tile, single) if kept else None, tiles)
        return ReadyColumns(tiles, sides, single)

    def masked_counts(self, anchors: Columns, selected: ReadyColumns) -> Floats:
        """Squared distances, right about the side of the anchor's limit that they are on."""
        stops = np.cumsum([0, *(len(tile) for tile in selected.tiles)])
        out = np.empty((len(anchors), stops[-1]))
        if not out.size:
            return out
        left = self.cloud.side(anchors, selected.single)

        def fill(index: int) -> None:
            columns, side = selected.tiles[index], selected.sides[index]
            right = side or self.cloud.side(columns, selected.single)
            out[:, stops[index] : stops[index + 1]] = self._block(anchors, left, columns, right)

        with single_threaded_blas():
            self.threads.map(fill, range(len(selected.tiles)))
        return out

    def _block(self, anchors: Columns, left: Side, columns: Columns, right: Side) -> Floats:
        cloud, single = self.cloud, left.factors.dtype == np.float32
        values: Floats = cloud.products(left, right).sum(axis=0, dtype=np.float64)
        values *= -2.0
        values += left.lows[:, None] + right.lows[None, :]
        # So wide that whatever is too close to tell directly is in doubt here: no answer depends on the filter.
        margins = Margins(6 * cloud.share_filter, 2 * cloud.slope(single), cloud.share)
        given = values, self.squares[anchors], Centres(left.points, left.norms), Centres(right.points, right.norms)
        rows, places = np.empty(DOUBTS, dtype=np.int64), np.empty(DOUBTS, dtype=np.int64)
        count, n_direct = settle_squares(*given, margins, rows, places)
        if count > DOUBTS:
            rows, places = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
            settle_squares(*given, margins, rows, places)
        if single and n_direct > CROWDED * values.size:
            self.single = False  # too coarse for these data; float64 from now on
        inside = self._inside(anchors[rows[:count]], columns[places[:count]])
        values[rows[:count], places[:count]] = np.where(inside, 0.0, np.inf)
        return values

    def _inside(self, anchors: Columns, columns: Columns) -> NDArray[np.bool_]:
        """Mask of the columns in their anchor's ball among close calls; none unless a subclass decides exactly."""
        return np.zeros(len(anchors), dtype=bool)


def reaching(X: Matrix, classes: ClassOrder, nearest: Nearest) -> tuple[Cloud, Floats, Columns]:
    """Balls that reach to the nearest point of another class: columns in class order, squares, witnesses."""
    rows = classes.rows.astype(np.int64)
    return Cloud(X, rows), nearest.squares[rows], np.argsort(rows)[nearest.rows[rows]]


class OpenBalls(Balls):
    """Open balls that reach to a witness: decided exactly."""

    def __init__(self, cloud: Cloud, squares: Floats, witnesses: Columns, threads: Threads) -> None:
        # A square that vanishes in scale still is that of a ball; so small, all is decided exactly.
        super().__init__(cloud, np.maximum(squares, TINY / 2), threads, witnesses)

    def _inside(self, anchors: Columns, columns: Columns) -> NDArray[np.bool_]:
        inside = np.zeros(len(anchors), dtype=bool)
        for start in range(0, len(anchors), DOUBTS):
            part = slice(start, start + DOUBTS)
            signs = np.empty(len(anchors[part]), dtype=np.int64)
            centre, other = self.cloud.original(anchors[part]), self.cloud.original(self.witnesses[anchors[part]])
            compare_pairs(centre, self.cloud.original(columns[part]), centre, other, signs)
            inside[part] = signs < 0
        return inside


class ClosedBalls(Balls):
    """Closed balls of given radii, in the scale of the data: decided exactly."""

    def __init__(self, cloud: Cloud, radii: Floats, threads: Threads) -> None:
        with np.errstate(under="ignore", over="ignore"):
            super().__init__(cloud, np.square(np.ldexp(radii, -cloud.exponent)), threads)
        self.radii = radii

    def holds(self, anchors: Columns, selected: ReadyColumns) -> NDArray[np.bool_]:
        """Table of the selected columns in each anchor's ball."""
        return np.asarray(self.masked_counts(anchors, selected) <= self.squares[anchors][:, None])

    def _inside(self, anchors: Columns, columns: Columns) -> NDArray[np.bool_]:
        # Only close calls come here, so fractions are fast enough.
        inside = anchors == columns
        for k in np.flatnonzero(~inside):
            x, y = self.cloud.original(np.array([anchors[k], columns[k]]))
            inside[k] = exact_square(x, y) <= Fraction(float(self.radii[anchors[k]])) ** 2
        return np.asarray(inside)


def cover_by_balls(
    balls: Evidence, order: ClassOrder, targets: tuple[int, ...], selection: str, memory: int,
    root: np.random.SeedSequence, progress: Progress = silent,
) -> list[Cover]:  # fmt: skip
    """One cover for every target class: anchors in the order of candidates, or greedily (``selection="greedy"``)."""
    if selection == "random":
        return cover_classes(balls, order, targets, Options(), root, progress)
    shares = ClassSlice.of_each(
        order, candidates_of(order, targets, root), np.ones(int(order.starts[-1]), dtype=np.int64)
    )
    return cover_each(balls, shares, lambda share, log: greedy_cover(balls, *share[:3], memory, log), progress)


def greedy_cover(
    evidence: Evidence, target: tuple[int, int], rest: Pieces, order: Columns, memory: int, progress: Progress
) -> Cover:
    """Cover by always taking the candidate that claims most unclaimed points, the lowest column on a tie."""
    # Candidates are all columns of the class if their packed coverage rows fit in ``memory`` bytes; otherwise a pool of
    # as many as fit, taken in the given order and refilled from unclaimed untried columns whenever no candidate of it
    # gains anything.
    cover = Cover()
    start, total = target[0], target[1] - target[0]
    capacity = max(1, memory // (8 * n_words(total)))
    unclaimed, untried = np.ones(total, dtype=bool), order
    while unclaimed.any() and len(untried):
        pool, untried = np.sort(untried[:capacity]), untried[capacity:]
        candidates = _Pool.fill(evidence, pool, target, rest, progress)
        cover.n_rejected += int(unclaimed[np.setdiff1d(pool, candidates.anchors) - start].sum())
        _drain(candidates, evidence, cover, unclaimed, start)
        progress("detectors", total - int(unclaimed.sum()), total)
        untried = untried[unclaimed[untried - start]]
    cover.uncovered = start + np.flatnonzero(unclaimed)
    return cover


class _Pool(NamedTuple):
    """Candidates with limits and packed coverage rows (bit t: it claims the t-th point of the class)."""

    anchors: Columns
    limits: NDArray[Any]
    witnesses: Columns
    rows: NDArray[np.uint64]

    @classmethod
    def fill(cls, evidence: Evidence, anchors: Columns, target: tuple[int, int], rest: Pieces, log: Progress) -> _Pool:
        """Examine all candidates; those without a positive limit are left out."""
        size = max(1, min(HERE.largest_block, COUNTS_AT_ONCE // (target[1] - target[0])))
        blocks = []
        everyone = evidence.select(slice(*target))
        for low in range(0, len(anchors), size):
            block = anchors[low : low + size]
            limits, witnesses = evidence.limits(block, rest)
            usable = limits > 0
            distances = evidence.masked_counts(block[usable], everyone)
            blocks.append((block[usable], limits[usable], witnesses[usable], _pack(distances < limits[usable, None])))
            log("candidates", low + len(block), len(anchors))
        # Blocks of one row each would be joined column by column: rows have to be contiguous.
        return cls(*(np.ascontiguousarray(np.concatenate(column)) for column in zip(*blocks, strict=True)))


def _pack(claims: NDArray[np.bool_]) -> NDArray[np.uint64]:
    padded = np.zeros((len(claims), -(-claims.shape[1] // 64) * 64), dtype=bool)
    padded[:, : claims.shape[1]] = claims
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _drain(pool: _Pool, evidence: Evidence, cover: Cover, unclaimed: NDArray[np.bool_], start: int) -> None:
    """Accept the best candidate until none gains anything."""
    # Gains only fall, so an outdated gain is an upper bound: the first candidate that keeps the lead after being
    # counted anew is the best, and the lowest such column.
    left = _pack(unclaimed[None, :])[0]
    stale = np.empty(len(pool.anchors), dtype=np.int64)
    count_gains(pool.rows, left, np.arange(len(stale)), stale)
    while len(stale) and stale.max() > 0:
        best = np.array([stale.argmax()])
        before = int(stale[best[0]])
        count_gains(pool.rows, left, best, fresh := np.empty(1, dtype=np.int64))
        stale[best] = fresh
        if int(fresh[0]) < before:
            continue
        row = pool.rows[best[0]]
        bits = np.unpackbits(row.view(np.uint8), bitorder="little", count=len(unclaimed)).astype(bool)
        places = np.flatnonzero(bits & unclaimed)
        unclaimed[places] = False
        # The anchor may be covered already; its own detector has to fire on it all the same.
        seen = evidence.select(np.append(start + places, pool.anchors[best]))
        highest = evidence.masked_counts(pool.anchors[best], seen).max(axis=1)
        stored = evidence.stored_limits(pool.limits[best], highest)
        cover.accept(pool.anchors[best], stored, pool.witnesses[best], np.array([len(places)]))
        left &= ~row
        stale[best] = 0


def admissible_radius(distance: Any, max_bias: float, constant: float = 1.0) -> Any:
    """f(t) = constant * t / sqrt(log(e max_bias / t)), for 0 < t < e max_bias."""
    distance = np.asarray(distance, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        radius = constant * distance / np.sqrt(1.0 + np.log(max_bias / distance))
    return radius if radius.ndim else float(radius)


@dataclass(frozen=True)
class CoverOptions:
    """Options of ``mutual_covering``."""

    max_bias: float
    constant: float
    memory_limit: int = 2**28
    random_state: Seed = 0
    n_draws: int = 1000
    confidence: float = 0.95


@dataclass(frozen=True, eq=False)
class ClassCover:
    """Balls that cover one side of the problem.

    Attributes
    ----------
    centers : ndarray of int64, shape (count,)
        Rows of the data.
    radii : ndarray of float64, shape (count,)
        The largest distance that each ball is needed for.
    distances : ndarray of float64, shape (count,)
        From each centre to the nearest centre of the other side.
    members, starts : ndarray of int64
        Rows in each closed ball: those of ball l are ``members[starts[l]:starts[l + 1]]``.
    mean_widths : MeanWidth
        Of each component, around its centre.
    """

    centers: Rows
    radii: Floats
    distances: Floats
    members: Rows
    starts: Rows
    mean_widths: MeanWidth

    def __repr__(self) -> str:
        return f"<ClassCover: {self.count:,} balls>"

    @property
    def count(self) -> int:
        """Number of balls: an upper bound of the smallest covering number."""
        return len(self.centers)

    def component(self, index: int) -> Rows:
        """Rows of the class in the closed ball ``index``."""
        return self.members[self.starts[index] : self.starts[index + 1]]

    def complexity(self, which: Literal["value", "low", "high"] = "value") -> float:
        """Local complexity omega of this side: the largest w^2(component - centre) / distance^3."""
        widths = getattr(self.mean_widths, which)
        with np.errstate(over="ignore"):
            return float(np.max(np.square(widths) / self.distances**3, initial=0.0))


class PairBuilder:
    """One target against the rest; columns are places in class order, side 0 the rest and side 1 the target."""

    def __init__(self, X: Matrix, codes: Codes, options: CoverOptions, work: Executor) -> None:
        self.X, self.codes, self.options, self.work = X, codes, options, work
        self.order = ClassOrder.of(self.codes)
        self.cloud = Cloud(self.X, self.order.rows)
        self.root = seed_sequence(options.random_state)

    def build(self) -> tuple[ClassCover, ClassCover, float]:
        """Cover, prune, measure: the rest's cover, the target's, and the distance between the centres."""
        nearest = nearest_other(self.X, self.codes, self.work)
        limits = self.limits(nearest.distances[self.order.rows])
        balls = Balls(self.cloud, limits, self.work.threads)
        centers = []
        for side in (0, 1):
            target = self.order.target(side)
            order = target[0] + stream(self.root, ORDER, side).permutation(target[1] - target[0])
            rest, memory = self.order.rest(side), self.options.memory_limit
            cover = greedy_cover(balls, target, rest, order, memory, self.work.progress)
            # A ball too small for its own centre still covers that.
            centers.append(np.sort(np.concatenate([np.array(cover.anchors, dtype=np.int64), cover.uncovered])))
        # Dropping centres of one side takes the other side's centres farther from it, so their balls grow, and more of
        # them may come to be superfluous.
        idle = 0
        for turn in range(ROUNDS):
            side = 1 - turn % 2
            kept = self._needed(centers, side)
            idle = idle + 1 if len(kept) == len(centers[side]) else 0
            centers[side] = kept
            if idle == 2:
                break
        both = self.order.rows[np.concatenate(centers)]
        gap, _ = closest_pair(self.X[both], self.codes[both], Executor(self.work.threads))
        return self._measure(centers, 0), self._measure(centers, 1), gap

    def limits(self, distances: Floats) -> Floats:
        """Squared admissible radii in the point set's scale, rounded down."""
        # Distances are off by less than the point set's relative error; of the squares some more of it is taken off, so
        # that a radius may be rounded up from what is claimed and stay admissible.
        rel_error, options = self.cloud.share, self.options
        radii = admissible_radius(distances * (1.0 - rel_error - 1e-14), options.max_bias, options.constant)
        with np.errstate(under="ignore"):
            scaled = np.ldexp(radii * (1.0 - 1e-14), -self.cloud.exponent)
            return np.asarray(scaled * scaled * (1.0 - 8.0 * rel_error), dtype=np.float64)

    def _needed(self, centers: list[Rows], side: int) -> Rows:
        """Drop superfluous centres of a side, those of fewest points first."""
        claims = _Claims(self, centers, side)
        counts, sizes = np.zeros(claims.n_points, dtype=np.int64), np.empty(len(claims.centers), dtype=np.int64)
        for places, rows in claims.blocks(np.arange(len(claims.centers))):
            counts += rows.sum(axis=0)
            sizes[places] = rows.sum(axis=1)
        kept = np.ones(len(claims.centers), dtype=bool)
        for places, rows in claims.blocks(np.argsort(sizes, kind="stable")):
            for place, row in zip(places, rows, strict=True):
                if counts[row].min() > 1:
                    counts[row] -= 1
                    kept[place] = False
        return claims.centers[kept]

    def distances(self, centers: list[Rows], side: int) -> Floats:
        """Distances from each centre of a side to the nearest centre of the other."""
        rows = self.order.rows[np.concatenate(centers)]
        found = nearest_other(self.X[rows], self.codes[rows], Executor(self.work.threads)).distances
        return found[: len(centers[0])] if side == 0 else found[len(centers[0]) :]

    def _measure(self, centers: list[Rows], side: int) -> ClassCover:
        """Radii that are needed when every point goes to the nearest centre that may have it, and the components."""
        claims = _Claims(self, centers, side)
        squares, owners = claims.nearest()
        largest = np.zeros(len(claims.centers))
        np.maximum.at(largest, owners, squares)
        # Rounded up by more than a square may be off, and by less than a claim leaves between itself and its limit.
        radii = self.cloud.lengths(largest * (1.0 + 3.0 * self.cloud.share))
        for place in np.flatnonzero(largest[owners] < VANISHING):
            pair = self.cloud.original(np.array([claims.first + place, claims.centers[owners[place]]]))
            if (pair[0] != pair[1]).any():
                radii[owners[place]] = max(radii[owners[place]], np.nextafter(exact_distance(*pair), np.inf))
        members, starts = claims.members(radii)
        rows = self.order.rows[claims.centers].astype(np.int64)
        n_draws, confidence = self.options.n_draws, self.options.confidence
        widths = mean_widths(self.X, members, starts, rows, n_draws, confidence, self.root, self.work)
        return ClassCover(rows, radii, self.distances(centers, side), members, starts, widths)


class _Claims:
    """Points of a side in each of its admissible balls."""

    def __init__(self, builder: PairBuilder, centers: list[Rows], side: int) -> None:
        self.builder, self.cloud, self.centers = builder, builder.cloud, centers[side]
        self.first, stop = builder.order.target(side)
        self.n_points = stop - self.first
        self.limits = np.zeros(len(builder.order.rows))
        self.limits[self.centers] = builder.limits(builder.distances(centers, side))
        self.balls = Balls(self.cloud, self.limits, builder.work.threads)
        self.points = self.balls.select(slice(self.first, stop))
        # Claims are computed once if they fit in memory, packed, and for every block anew if not.
        self.packed: NDArray[np.uint8] | None = None
        if len(self.centers) * -(-self.n_points // 8) <= builder.options.memory_limit:
            rows = [rows for _, rows, _ in self._computed(np.arange(len(self.centers)))]
            self.packed = np.packbits(np.concatenate(rows), axis=1)

    def _computed(self, places: Rows) -> Iterator[tuple[Rows, NDArray[np.bool_], Floats]]:
        for start in range(0, len(places), CENTERS_AT_ONCE):
            part = places[start : start + CENTERS_AT_ONCE]
            columns = self.centers[part]
            distances = self.balls.masked_counts(columns, self.points)
            rows = distances < self.limits[columns][:, None]
            own = np.arange(len(part)), columns - self.first
            rows[own], distances[own] = True, 0.0
            self.builder.work.progress("balls", start + len(part), len(places))
            yield part, rows, distances

    def blocks(self, places: Rows) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
        """Blocks of centres with the table of points that they claim, in order."""
        if self.packed is None:
            yield from ((part, rows) for part, rows, _ in self._computed(places))
            return
        for start in range(0, len(places), CENTERS_AT_ONCE):
            part = places[start : start + CENTERS_AT_ONCE]
            yield part, np.unpackbits(self.packed[part], axis=1, count=self.n_points).astype(bool)

    def nearest(self) -> tuple[Floats, Rows]:
        """For every point the squared distance to the nearest centre that claims it, and that centre's place."""
        best, owners = np.full(self.n_points, np.inf), np.zeros(self.n_points, dtype=np.int64)
        for places, rows, distances in self._computed(np.arange(len(self.centers))):
            # A point goes to the nearest of the centres whose balls hold it, the first on a tie.
            distances[~rows] = np.inf
            closest = distances.argmin(axis=0)
            value = distances[closest, np.arange(self.n_points)]
            better = value < best
            best[better], owners[better] = value[better], places[closest[better]]
        points = self.first + np.arange(self.n_points)
        for start in range(0, self.n_points, 4096):
            part = slice(start, start + 4096)
            pair_squares(self.cloud.take(points[part]), self.cloud.take(self.centers[owners[part]]), best[part])
        return best, owners

    def members(self, radii: Floats) -> tuple[Rows, Rows]:
        """Rows of the class in each closed ball, and where each ball's rows start."""
        of_columns = np.zeros_like(self.limits)
        of_columns[self.centers] = radii
        balls = ClosedBalls(self.cloud, of_columns, self.builder.work.threads)
        found, sizes = [np.empty(0, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        for start in range(0, len(self.centers), CENTERS_AT_ONCE):
            columns = self.centers[start : start + CENTERS_AT_ONCE]
            ball, point = np.nonzero(balls.holds(columns, self.points))
            found.append(self.builder.order.rows[self.first + point])
            sizes.append(np.bincount(ball, minlength=len(columns)))
        return np.concatenate(found).astype(np.int64), np.cumsum(np.concatenate(sizes))
