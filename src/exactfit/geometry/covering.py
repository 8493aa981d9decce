"""Mutual coverings: balls that cover each class and fit between the classes.

A covering of target and rest by balls is admissible when every radius is at most
f(dist(c, other centres)), f(t) = constant * t / sqrt(log(e max_bias / t)). The other class's
centres are chosen at the same time, but they are among its points, and f increases on
0 < t < e max_bias: so a ball of radius f(dist(c, other points)) is admissible whatever they
will be. Distances are at most 2 R <= 2 max_bias, hence max_bias >= R is required. Each class
is covered greedily by such balls; then, in turns, the radii grow to f(dist(c, other centres))
and centres that the others make superfluous are dropped, which only enlarges the other
side's distances. Every comparison leaves room for its rounding errors, on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._support.options import Seed, check_number, check_whole
from .._support.threads import Work, at_work
from ..construct import hyperplanes
from ..data import Labelled, Matrix, mean, refuse_conflicts
from ..exceptions import ParameterError
from .covering_build import ClassCover, CoverOptions, PairBuilder


@dataclass(frozen=True, eq=False)
class PairCovering:
    """A mutual covering of one class (the target) and everything else (the rest)."""

    label: Any
    target: ClassCover
    rest: ClassCover
    separation: float

    def __repr__(self) -> str:
        return f"<PairCovering of {self.label!r}: {self.target.count:,} balls, {self.rest.count:,} for the rest>"

    def complexity(self, which: Literal["value", "low", "high"] = "value") -> float:
        """omega: the larger of the two sides."""
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
        """M-: balls for the target, added up over the targets. An upper bound of the smallest possible number."""
        return sum(pair.target.count for pair in self.pairs)

    @property
    def n_rest(self) -> int:
        """M+: balls for the rest, the most for any target. An upper bound of the smallest possible number."""
        return max(pair.rest.count for pair in self.pairs)

    @property
    def separation(self) -> float:
        """delta: smallest distance between centres of the two sides, exact."""
        return min(pair.separation for pair in self.pairs)

    @property
    def omega_target(self) -> float:
        """omega-: local complexity of the targets."""
        return max(pair.target.complexity() for pair in self.pairs)

    @property
    def omega_rest(self) -> float:
        """omega+: local complexity of the rest."""
        return max(pair.rest.complexity() for pair in self.pairs)

    @property
    def omega(self) -> float:
        """Local complexity of both."""
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


def mutual_covering(
    X: Any, y: Any, max_bias: Literal["radius"] | float = "radius", constant: float = 1.0, *, target: Any = None,
    center: bool = True, n_draws: int = 1000, confidence: float = 0.95, memory: int = 2**28, random_state: Seed = 0,
    n_jobs: int | None = None, verbose: bool = False,
) -> MutualCovering:  # fmt: skip
    """Cover target and rest by balls as the main theorem asks, with few balls.

    The numbers of balls are upper bounds of the smallest ones, which are hard to find. The
    covering itself is admissible for certain; ``is_mutual_covering`` checks it from scratch.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    max_bias : "radius" or float
        The paper's lambda, at least the radius of the data.
    constant : float
        The constant in the condition on the radii, which the paper leaves open.
    target : label, "all" or None
        The class to cover against the rest. None: of two classes the rarer one (the last on a
        tie), else every class in turn.
    center : bool
        Measure the radius of the data from their mean, as for networks built with ``center=True``.
    n_draws, confidence : int, float
        For the mean widths, see ``mean_width``.
    memory : int
        Bytes for coverage rows. Classes too large for it are covered from a random pool of candidates.
    random_state : int, Generator, SeedSequence or None
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.
    verbose : bool
        Whether to show a progress bar.

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
    reach = check_max_bias(problem.X, max_bias, center)
    constant = check_number("constant", constant, above=0.0)
    options = CoverOptions(
        reach, constant, check_whole("memory", memory, at_least=1), random_state, n_draws, confidence
    )
    with at_work(n_jobs, verbose) as work:
        return cover_mutually(problem, targets, options, work)


def check_max_bias(X: Matrix, max_bias: Any, center: bool) -> float:
    """max_bias as a number not below the radius of the data."""
    origin = mean(X) if center else np.zeros(X.shape[1])
    least = hyperplanes.radius(X, origin)
    if isinstance(max_bias, str):
        if max_bias != "radius":
            raise ParameterError(f"max_bias must be 'radius' or a number, got {max_bias!r}")
        return check_number("the radius of the data", least, above=0.0)
    reach = check_number("max_bias", max_bias, above=0.0)
    if reach < least:
        raise ParameterError(
            f"max_bias={reach!r} is below the radius of the data, {least!r}: "
            "the theorem needs it at least as large, or max_bias='radius'"
        )
    return reach


def cover_mutually(problem: Labelled, targets: tuple[int, ...], options: CoverOptions, work: Work) -> MutualCovering:
    """Mutual coverings of every target against the rest."""
    pairs = []
    for k in targets:
        builder = PairBuilder(problem.X, (problem.codes == k).astype(np.int64), options, work)
        rest, target, gap = builder.build()
        pairs.append(PairCovering(problem.classes.tolist()[k], target, rest, gap))
    return MutualCovering(tuple(pairs), options.max_bias, options.constant)
