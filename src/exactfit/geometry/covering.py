"""Mutual coverings of target and rest by balls, as the paper's main theorem asks for.

A covering is admissible when every radius is at most f(dist(c, other centres)), f(t) = constant * t /
sqrt(log(e max_bias / t)). The other class's centres are chosen at the same time, but they are among its points, and f
increases on 0 < t < e max_bias: so a ball of radius f(dist(c, other points)) is admissible for any choice of them.
Distances are at most 2 R <= 2 max_bias, hence max_bias >= R is required. Each class is covered greedily by such balls;
then, in turns, the radii grow to f(dist(c, other centres)) and centres that the others make superfluous are dropped,
which only enlarges the other side's distances. Every comparison allows for its rounding errors, on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .._kernels.distances import pair_squares
from .._support.parameters import Seed, check_integer, check_number, seed_sequence, shown
from .._support.threads import Executor, open_executor
from ..construct.hyperplanes import ORDER, stream
from ..construct.unique_patterns import ClassOrder
from ..data import Codes, Floats, Labelled, Matrix, Rows, refuse_conflicts
from ..data.pairs import VANISHING, Nearest, nearest_other
from ..data.point_set import PointSet, exact_distance
from ..exceptions import ParameterError
from .ball_covers import BLOCK, Balls, ClosedBalls, greedy_cover
from .neighbours import radius_of, shared_words
from .widths import MeanWidth, mean_widths

Estimate = Literal["value", "low", "high"]  # of a mean width, or an end of its interval

ROUNDS = 20  # rounds of pruning at most; two in vain end it
PAIRS_AT_ONCE = 4096  # pairs whose points are gathered at a time


class CoverOptions(NamedTuple):
    """Options of ``mutual_covering``."""

    max_bias: float
    constant: float = 1.0
    memory_limit: int = 2**28
    random_state: Seed = 0
    n_draws: int = 1000
    confidence: float = 0.95


@dataclass(frozen=True, eq=False)
class ClassCover:
    """Balls that cover one side of the problem."""

    centers: Rows  # rows of the data
    radii: Floats  # the largest distance that each ball is needed for
    distances: Floats  # from each centre to the nearest centre of the other side
    members: Rows  # rows in each closed ball, those of ball l at starts[l]:starts[l + 1]
    starts: Rows
    mean_widths: MeanWidth  # of each component, around its centre

    def __repr__(self) -> str:
        return f"<ClassCover: {self.count:,} balls>"

    @property
    def count(self) -> int:
        """Number of balls: an upper bound of the smallest covering number."""
        return len(self.centers)

    def component(self, index: int) -> Rows:
        """Rows of the class in the closed ball ``index``."""
        return self.members[self.starts[index] : self.starts[index + 1]]

    def complexity(self, which: Estimate = "value") -> float:
        """Local complexity omega of this side: the largest w^2(component - centre) / distance^3."""
        with np.errstate(over="ignore"):
            terms = np.square(getattr(self.mean_widths, which)) / self.distances**3
        return float(np.max(terms, initial=0.0))


@dataclass(frozen=True, eq=False)
class PairCovering:
    """Mutual covering of one class (the target) and everything else (the rest)."""

    label: Any
    target: ClassCover
    rest: ClassCover
    separation: float

    def complexity(self, which: Estimate = "value") -> float:
        """Local complexity omega: the larger of the two sides."""
        return max(self.target.complexity(which), self.rest.complexity(which))


@dataclass(frozen=True, eq=False)
class MutualCovering:
    """Mutual coverings of the data: one for two classes, one per class against the rest for several.

    Attributes
    ----------
    pairs : tuple of PairCovering
        With centres, radii and components of both sides.
    max_bias, constant : float

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import exactfit
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> covering = exactfit.geometry.mutual_covering(X, y, max_bias=exactfit.geometry.radius(X))
    >>> covering.n_target, covering.n_rest
    (3, 3)
    """

    pairs: tuple[PairCovering, ...]
    max_bias: float
    constant: float

    @property
    def n_target(self) -> int:
        """Balls for the target (M-), added up over the targets: an upper bound of the smallest possible number."""
        return sum(pair.target.count for pair in self.pairs)

    @property
    def n_rest(self) -> int:
        """Balls for the rest (M+), the most for any target: an upper bound of the smallest possible number."""
        return max(pair.rest.count for pair in self.pairs)

    @property
    def separation(self) -> float:
        """Smallest distance between centres of the two sides (delta), exact."""
        return min(pair.separation for pair in self.pairs)

    @property
    def omega(self) -> float:
        """Local complexity (omega), the largest of all sides."""
        return max(pair.complexity() for pair in self.pairs)

    @property
    def omega_interval(self) -> tuple[float, float]:
        """Interval for omega, from those of the mean widths."""
        return max(pair.complexity("low") for pair in self.pairs), max(pair.complexity("high") for pair in self.pairs)

    def __repr__(self) -> str:
        return f"<MutualCovering: {self.n_target:,} balls for the target, {self.n_rest:,} for the rest>"

    def __str__(self) -> str:
        low, high = self.omega_interval
        return (
            f"{self.n_target:,} balls (M-), {self.n_rest:,} for the rest (M+), centers {self.separation:.4g} apart, "
            f"omega {self.omega:.4g} ({low:.4g} to {high:.4g})"
        )


@shared_words
def mutual_covering(
    X: Any, y: Any, max_bias: Literal["radius"] | float = "radius", constant: float = 1.0, *, target: Any = None,
    center: bool = True, n_draws: int = 1000, confidence: float = 0.95, memory_limit: int = 2**28,
    random_state: Seed = 0, n_jobs: int | None = None, verbose: bool = False,
) -> MutualCovering:  # fmt: skip
    """Cover target and rest by balls as the main theorem asks, with few balls.

    The numbers of balls are upper bounds of the smallest ones, which are hard to find. The
    covering itself is admissible for certain.

    {data}
    {max_bias}
    constant : float
        The constant in the condition on the radii, which the paper leaves open.
    {target}
    center : bool
        Measure the radius of the data from their mean, as for networks built with ``center=True``.
    n_draws, confidence : int, float
        For the mean widths, see ``mean_width``.
    memory_limit : int
        Bytes for coverage rows. Classes too large for it are covered from a random pool of candidates.
    {random_state}
    {work}

    Returns
    -------
    MutualCovering

    Raises
    ------
    ParameterError
        If max_bias is below the radius of the data.
    ContradictoryLabelsError
        If equal points carry different labels.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_alternating_line(5)
    >>> covering = exactfit.geometry.mutual_covering(X, y, max_bias=1.0, target=1)
    >>> covering.n_target, covering.n_rest, covering.separation
    (5, 4, 0.125)
    """
    problem = Labelled.of(X, y)
    targets = problem.targets(target, one_of_many=True)
    refuse_conflicts(problem.X, problem.codes)
    options = CoverOptions(
        check_max_bias(problem.X, max_bias, center),
        check_number("constant", constant, above=0.0),
        check_integer("memory_limit", memory_limit, at_least=1),
        random_state, n_draws, confidence,
    )  # fmt: skip
    with open_executor(n_jobs, verbose) as work:
        return cover_mutually(problem, targets, options, work)


def check_max_bias(X: Matrix, max_bias: Any, center: bool) -> float:
    """Return max_bias as a number not below the radius of the data."""
    least = radius_of(X, center)
    if isinstance(max_bias, str):
        if max_bias != "radius":
            raise ParameterError(f"max_bias must be 'radius' or a number, got {shown(max_bias)}")
        return check_number("the radius of the data", least, above=0.0)
    # Distances are at most twice the radius, and f increases up to e max_bias only: below the radius it may fall.
    number = check_number("max_bias", max_bias, above=0.0)
    if number < least:
        raise ParameterError(
            f"max_bias={shown(number)} is below the radius of the data, {shown(least)}: "
            "the theorem needs it at least as large, or max_bias='radius'"
        )
    return number


def cover_mutually(
    problem: Labelled, targets: tuple[int, ...], options: CoverOptions, work: Executor
) -> MutualCovering:
    """Cover every target against the rest."""
    pairs = []
    for k in targets:
        # One against the rest: code 1 is the target, code 0 everything else.
        rest, target, gap = _Pair(problem.X, (problem.codes == k).astype(np.int64), options, work).cover()
        pairs.append(PairCovering(problem.classes.tolist()[k], target, rest, gap))
    return MutualCovering(tuple(pairs), options.max_bias, options.constant)


class _Pair:
    """One target against the rest; columns are places in class order, side 0 is the rest and side 1 the target."""

    def __init__(self, X: Matrix, codes: Codes, options: CoverOptions, work: Executor) -> None:
        self.X, self.codes, self.options, self.work = X, codes, options, work
        self.order = ClassOrder.of(codes)
        self.point_set = PointSet(X, self.order.rows)

    def cover(self) -> tuple[ClassCover, ClassCover, float]:
        """Cover, prune, measure: the rest's cover, the target's, and the distance between the centres."""
        nearest = nearest_other(self.X, self.codes, self.work)
        balls = Balls(self.point_set, self._limits(nearest.distances[self.order.rows]), self.work.threads)
        root, centers = seed_sequence(self.options.random_state), []
        for side in (0, 1):
            first, stop = self.order.target(side)
            order = first + stream(root, ORDER, side).permutation(stop - first)
            found = greedy_cover(balls, order, self.options.memory_limit, self.work.progress)
            # A ball too small for its own centre still covers that.
            centers.append(np.sort(np.concatenate([found.centres, found.uncovered])))
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
        gap, _ = self._between(centers).closest()
        return self._measure(centers, 0), self._measure(centers, 1), gap

    def _limits(self, distances: Floats) -> Floats:
        """Return squared admissible radii in the point set's scale, rounded down."""
        # Distances are off by less than the point set's relative error; of the squares some more of it is taken off, so
        # that a radius may be rounded up from what is claimed and stay admissible.
        rel_error, max_bias = self.point_set.share, self.options.max_bias
        distances = distances * (1.0 - rel_error - 1e-14)
        with np.errstate(over="ignore", under="ignore"):
            radii = self.options.constant * distances / np.sqrt(1.0 + np.log(max_bias / distances))
            scaled = np.ldexp(radii * (1.0 - 1e-14), -self.point_set.exponent)
            return np.asarray(scaled * scaled * (1.0 - 8.0 * rel_error), dtype=np.float64)

    def _between(self, centers: list[Rows]) -> Nearest:
        """Return the nearest centre of the other side for each, those of side 0 first."""
        rows = self.order.rows[np.concatenate(centers)]
        return nearest_other(self.X[rows], self.codes[rows], Executor(self.work.threads))

    def _claims(self, centers: list[Rows], side: int) -> tuple[Floats, list[Rows]]:
        """Return each centre's distance to the other side, and the columns in the ball that this admits."""
        distances = np.split(self._between(centers).distances, [len(centers[0])])[side]
        squares = np.zeros(len(self.point_set))
        squares[centers[side]] = self._limits(distances)
        balls = Balls(self.point_set, squares, self.work.threads)
        return distances, self._held(balls, centers[side], side)

    def _held(self, balls: Balls, centers: Rows, side: int) -> list[Rows]:
        """Return the columns of a side in each ball, its centre among them."""
        first, stop = self.order.target(side)
        tiles, held = balls.tiles(np.arange(first, stop)), []
        for start in range(0, len(centers), BLOCK):
            block = centers[start : start + BLOCK]
            table = balls.table(block, tiles)
            table[np.arange(len(block)), block - first] = True
            held += [first + np.flatnonzero(row) for row in table]
            self.work.progress("balls", start + len(block), len(centers))
        return held

    def _needed(self, centers: list[Rows], side: int) -> Rows:
        """Drop superfluous centres of a side, those of fewest points first."""
        _, held = self._claims(centers, side)
        counts, kept = np.bincount(np.concatenate(held)), np.ones(len(held), dtype=bool)
        for place in np.argsort([len(columns) for columns in held], kind="stable"):
            if counts[held[place]].min() > 1:
                counts[held[place]] -= 1
                kept[place] = False
        return centers[side][kept]

    def _measure(self, centers: list[Rows], side: int) -> ClassCover:
        """Measure the radii that are needed when every point goes to the nearest centre that may have it."""
        own, (distances, claims) = centers[side], self._claims(centers, side)
        squares, owners = np.full(len(self.point_set), np.inf), np.zeros(len(self.point_set), dtype=np.int64)
        for place, columns in enumerate(claims):
            for start in range(0, len(columns), PAIRS_AT_ONCE):
                part = columns[start : start + PAIRS_AT_ONCE]
                found, centre = np.empty(len(part)), np.full(len(part), own[place])
                pair_squares(self.point_set.take(part), self.point_set.take(centre), found)
                nearer = found < squares[part]
                squares[part[nearer]], owners[part[nearer]] = found[nearer], place
        columns = np.arange(*self.order.target(side))
        largest = np.zeros(len(own))
        np.maximum.at(largest, owners[columns], squares[columns])
        # Rounded up by more than a square may be off, and by less than a claim leaves between itself and its limit.
        radii = self.point_set.lengths(largest * (1.0 + 3.0 * self.point_set.share))
        for column in columns[largest[owners[columns]] < VANISHING]:
            pair = self.point_set.original(np.array([column, own[owners[column]]]))
            if (pair[0] != pair[1]).any():
                radii[owners[column]] = max(radii[owners[column]], np.nextafter(exact_distance(*pair), np.inf))
        of_columns = np.zeros(len(self.point_set))
        of_columns[own] = radii
        held = self._held(ClosedBalls(self.point_set, of_columns, self.work.threads), own, side)
        members = self.order.rows[np.concatenate(held)].astype(np.int64)
        starts, rows = np.cumsum([0, *map(len, held)]), self.order.rows[own].astype(np.int64)
        draws = self.options.n_draws, self.options.confidence, seed_sequence(self.options.random_state)
        widths = mean_widths(self.X, members, starts, rows, *draws, self.work)
        return ClassCover(rows, radii, distances, members, starts, widths)
