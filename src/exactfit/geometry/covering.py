"""Coverings by balls: the limit's, which infinitely many hyperplanes would give, and mutual ones between classes.

The limit: as the width and then max_bias grow, the fraction of hyperplanes that separate two points
becomes proportional to their distance, so an anchor's detector fires on the open ball around
it that reaches to the nearest point of the rest. Covering a class by such balls is the limit
of Algorithm 2, and costs no hyperplane at all.

Mutual coverings: a covering of target and rest by balls is admissible when every radius is at most
f(dist(c, other centres)), f(t) = constant * t / sqrt(log(e max_bias / t)). The other class's
centres are chosen at the same time, but they are among its points, and f increases on
0 < t < e max_bias: so a ball of radius f(dist(c, other points)) is admissible for any choice of
them. Distances are at most 2 R <= 2 max_bias, hence max_bias >= R is required. Each class
is covered greedily by such balls; then, in turns, the radii grow to f(dist(c, other centres))
and centres that the others make superfluous are dropped, which only enlarges the other
side's distances. Every comparison allows for its rounding errors, on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import Seed, check_choice, check_integer, check_number, seed_sequence, shown
from .._support.threads import Executor, open_executor
from ..construct.unique_patterns import ClassOrder
from ..data import Floats, Labelled, Matrix, Rows, refuse_conflicts
from ..data.pairs import Nearest, nearest_other
from ..exceptions import ParameterError
from .ball_covers import ClassCover, CoverOptions, OpenBalls, PairBuilder, cover_by_balls, reaching
from .neighbours import radius_of, shared_words


@dataclass(frozen=True, eq=False)
class LimitCover:
    """The limit's detectors: open balls that reach to the nearest point of another class.

    Attributes
    ----------
    anchors : ndarray of int64, shape (n_detectors,)
        The row in the middle of each ball.
    radii : ndarray of float64, shape (n_detectors,)
        Its distance to the nearest point of another class.
    witnesses : ndarray of int64, shape (n_detectors,)
        That point's row.
    coverage : ndarray of int64, shape (n_detectors,)
        How many points of its class each ball claimed first.
    classes : ndarray, shape (n_detectors,)
        The label of each ball's class.
    selection : {"random", "greedy"}

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_parallel_lines(10, distance=0.1)
    >>> exactfit.geometry.limit_cover(X, y).n_detectors
    10
    """

    anchors: Rows
    radii: Floats
    witnesses: Rows
    coverage: Rows
    classes: NDArray[Any]
    selection: str

    def __repr__(self) -> str:
        return f"<LimitCover: {self.n_detectors:,} detectors>"

    @property
    def n_detectors(self) -> int:
        """Number of balls: a forecast of the number of detectors at great width and max_bias."""
        return len(self.anchors)

    @property
    def per_class(self) -> dict[Any, int]:
        """Number of balls for each label that has any."""
        labels, counts = np.unique(self.classes, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))


@shared_words
def limit_cover(
    X: Any, y: Any, selection: str = "random", *, target: Any = None, random_state: Seed = 0, memory_limit: int = 2**28,
    n_jobs: int | None = None, verbose: bool = False,
) -> LimitCover:  # fmt: skip
    """Cover each class as infinitely many hyperplanes would: by exact Euclidean balls.

    With the seed of a ``fixed_width`` construction, anchors are tried in the same order; at
    great width and max_bias, and without ties in distance, its detectors have the same
    anchors and claim the same points. So the number of balls is a cheap forecast.

    {data}
    selection : {"random", "greedy"}
        Anchors in the paper's random order, or always the one that claims most.
    target : label, "all" or None
        The class to cover. None: of two classes the rarer one (the last on a tie), else all.
    random_state : int, Generator, SeedSequence or None
    memory_limit : int
        Bytes for greedy selection's coverage rows.
    {work}

    Returns
    -------
    LimitCover

    Raises
    ------
    ContradictoryLabelsError
        If equal points carry different labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import exactfit
    >>> X, y = make_moons(1000, noise=0.05, random_state=0)
    >>> exactfit.geometry.limit_cover(X, y, "greedy").n_detectors
    5
    """
    check_choice("selection", selection, ("random", "greedy"))
    memory_limit = check_integer("memory_limit", memory_limit, at_least=1)
    problem = Labelled.of(X, y)
    targets = problem.targets(target, one_of_many=True)
    # A ball around a point that occurs with another label would be empty.
    refuse_conflicts(problem.X, problem.codes)
    with open_executor(n_jobs, verbose) as work:
        nearest = nearest_other(problem.X, problem.codes, work)
        return cover_in_the_limit(problem, targets, nearest, seed_sequence(random_state), work, selection, memory_limit)


def cover_in_the_limit(
    problem: Labelled, targets: tuple[int, ...], nearest: Nearest, root: np.random.SeedSequence, work: Executor,
    selection: str = "random", memory_limit: int = 2**28,
) -> LimitCover:  # fmt: skip
    """Cover in the limit, given every point's nearest point of another class."""
    # With squared distances in place of counts, the cover step takes the same anchors in the same order.
    classes = ClassOrder.of(problem.codes)
    balls = OpenBalls(*reaching(problem.X, classes, nearest), work.threads)
    covers = cover_by_balls(balls, classes, targets, selection, memory_limit, root, work.progress)
    anchors = classes.rows[np.array([a for cover in covers for a in cover.anchors], dtype=np.int64)]
    codes = np.repeat(np.asarray(targets, dtype=np.int64), [len(cover.anchors) for cover in covers])
    return LimitCover(
        anchors=anchors.astype(np.int64),
        radii=nearest.distances[anchors],
        witnesses=nearest.rows[anchors],
        coverage=np.array([count for cover in covers for count in cover.coverage], dtype=np.int64),
        classes=problem.classes[codes],
        selection=selection,
    )


@dataclass(frozen=True, eq=False)
class PairCovering:
    """Mutual covering of one class (the target) and everything else (the rest)."""

    label: Any
    target: ClassCover
    rest: ClassCover
    separation: float

    def __repr__(self) -> str:
        return f"<PairCovering of {self.label!r}: {self.target.count:,} balls, {self.rest.count:,} for the rest>"

    def complexity(self, which: Literal["value", "low", "high"] = "value") -> float:
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
    def omega_target(self) -> float:
        """Local complexity of the targets (omega-)."""
        return max(pair.target.complexity() for pair in self.pairs)

    @property
    def omega_rest(self) -> float:
        """Local complexity of the rest (omega+)."""
        return max(pair.rest.complexity() for pair in self.pairs)

    @property
    def omega(self) -> float:
        """Local complexity of both (omega)."""
        return max(self.omega_target, self.omega_rest)

    @cached_property
    def omega_interval(self) -> tuple[float, float]:
        """Interval for omega, from those of the mean widths."""
        return max(pair.complexity("low") for pair in self.pairs), max(pair.complexity("high") for pair in self.pairs)

    def __repr__(self) -> str:
        return f"<MutualCovering: {self.n_target:,} balls for the target, {self.n_rest:,} for the rest>"

    def __str__(self) -> str:
        low, high = self.omega_interval
        return (
            f"mutual covering for max_bias {self.max_bias:.4g}: at most {self.n_target} balls for the target, "
            f"{self.n_rest} for the rest, centers {self.separation:.4g} apart, "
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
    covering itself is admissible for certain; ``is_mutual_covering`` checks it from scratch.

    {data}
    {max_bias}
    constant : float
        The constant in the condition on the radii, which the paper leaves open.
    target : label, "all" or None
        The class to cover against the rest. None: of two classes the rarer one (the last on a
        tie), else every class in turn.
    center : bool
        Measure the radius of the data from their mean, as for networks built with ``center=True``.
    n_draws, confidence : int, float
        For the mean widths, see ``mean_width``.
    memory_limit : int
        Bytes for coverage rows. Classes too large for it are covered from a random pool of candidates.
    random_state : int, Generator, SeedSequence or None
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
    reach = check_number("max_bias", max_bias, above=0.0)
    if reach < least:
        raise ParameterError(
            f"max_bias={shown(reach)} is below the radius of the data, {shown(least)}: "
            "the theorem needs it at least as large, or max_bias='radius'"
        )
    return reach


def cover_mutually(
    problem: Labelled, targets: tuple[int, ...], options: CoverOptions, work: Executor
) -> MutualCovering:
    """Mutual coverings of every target against the rest."""
    pairs = []
    for k in targets:
        # One against the rest: code 1 is the target, code 0 everything else.
        builder = PairBuilder(problem.X, (problem.codes == k).astype(np.int64), options, work)
        rest, target, gap = builder.build()
        pairs.append(PairCovering(problem.classes.tolist()[k], target, rest, gap))
    return MutualCovering(tuple(pairs), options.max_bias, options.constant)
