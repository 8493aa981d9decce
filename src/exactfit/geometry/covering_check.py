"""Check of a proposed mutual covering against the definition, not the way it was found.

Distances are held against radii in exact arithmetic. The condition on a radius,
r <= constant * t / sqrt(log(e max_bias / t)), is decided in float64 where that is clear and
else as r^2 (1 + log(max_bias^2 / t^2) / 2) <= constant^2 t^2 with 60 decimal digits, from the
exact square of the distance t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from .._support.parameters import check_number, shown
from .._support.threads import SERIAL, Executor
from ..data import Codes, Labelled, Rows
from ..data.cloud import Cloud, Floats, exact_square
from ..data.matrices import dense_rows
from ..data.pairs import closest_pair, nearest_other
from ..exceptions import DataError, ParameterError
from .ball_covers import CENTERS_AT_ONCE, ClassCover, ClosedBalls, admissible_radius
from .covering import MutualCovering
from .neighbours import radius_of, shared_words

CLEAR = 1e-11  # relative; far beyond the few roundings of the formula in float64
DIGITS = 60  # decimal ones: ten more than the comparison relies on
SHOWN = 10  # failures that a text lists
SIDES = {"target": 1, "rest": 0}


@dataclass(frozen=True)
class Failure:
    """A condition that does not hold, with its place.

    Attributes
    ----------
    condition : str
        ``"max_bias"``, ``"class"``, ``"cover"``, ``"radius"``, ``"separation"`` or ``"component"``.
    target : object
        Label of the target of the covering in question.
    side : {"target", "rest", "both"}
    row : int
        Row of the data: the centre, or the point that is not covered; -1 if it is about no single one.
    detail : str
    """

    condition: str
    target: Any
    side: str
    row: int
    detail: str

    def __str__(self) -> str:
        return f"{self.condition}, {self.side} of {shown(self.target)}: {self.detail}"


@dataclass(frozen=True)
class CoveringCheck:
    """The verdict on a proposed covering: true in an ``if`` when it holds.

    Attributes
    ----------
    failures : tuple of Failure
        All conditions that fail, with the place.

    Examples
    --------
    >>> from exactfit.geometry import is_mutual_covering
    >>> X, y = [[0.0], [1.0], [3.0]], ["a", "a", "b"]
    >>> balls = dict(target_centers=[0], target_radii=[0.5], rest_centers=[2], rest_radii=[0.0])
    >>> check = is_mutual_covering(X, y, target="a", max_bias=3.0, **balls)
    >>> bool(check)
    False
    >>> print(check)
    not a mutual covering, 1 condition fails
      cover, target of 'a': row 1 lies in no ball
    """

    failures: tuple[Failure, ...]

    @property
    def holds(self) -> bool:
        """True if it is a mutual covering."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return f"<CoveringCheck: {str(self).splitlines()[0]}>"

    def __str__(self) -> str:
        if self.holds:
            return "a mutual covering: all conditions hold"
        count = len(self.failures)
        lines = [f"not a mutual covering, {count} condition{'s fail' if count > 1 else ' fails'}"]
        lines += [f"  {failure}" for failure in self.failures[:SHOWN]]
        return "\n".join(lines + ([f"  and {count - SHOWN} more"] if count > SHOWN else []))


@shared_words
def is_mutual_covering(
    X: Any, y: Any, covering: MutualCovering | None = None, *, target: Any = None, target_centers: Any = None,
    target_radii: Any = None, rest_centers: Any = None, rest_radii: Any = None, max_bias: float | None = None,
    constant: float = 1.0, separation: float | None = None, center: bool = True,
) -> CoveringCheck:  # fmt: skip
    """Verify a mutual covering against the definition, and say which condition fails where.

    The conditions: max_bias is at least the radius of the data; centres belong to their class;
    every point lies in a closed ball of its class; every radius is at most
    constant * t / sqrt(log(e max_bias / t)), with t the distance to the nearest centre of the
    other class; the centres of the two classes are ``separation`` apart, if that is claimed.

    {data}
    covering : MutualCovering, optional
        One made by ``mutual_covering``; its components and separation are checked too. Or pass:
    target : label
    target_centers, rest_centers : sequence of int
        Rows of the data.
    target_radii, rest_radii : sequence of float
    max_bias, constant : float
    separation : float, optional
    center : bool
        Measure the radius of the data from their mean.

    Returns
    -------
    CoveringCheck
        True in an ``if`` when the covering is one.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_parallel_lines(5, distance=0.5)
    >>> print(exactfit.geometry.is_mutual_covering(X, y, exactfit.geometry.mutual_covering(X, y)))
    a mutual covering: all conditions hold
    """
    problem = Labelled.of(X, y)
    if covering is None:
        balls = {
            "target": _given_balls(target_centers, target_radii, "target"),
            "rest": _given_balls(rest_centers, rest_radii, "rest"),
        }
        proposals = [(target, balls, separation)]
        max_bias = check_number("max_bias", max_bias, above=0.0)
        constant = check_number("constant", constant, above=0.0)
    elif isinstance(covering, MutualCovering):
        proposals = []
        for pair in covering.pairs:
            sides = {"target": pair.target, "rest": pair.rest}
            given = {name: _Balls(side.centers, side.radii, side) for name, side in sides.items()}
            proposals.append((pair.label, given, pair.separation))
        max_bias, constant = covering.max_bias, covering.constant
    else:
        raise ParameterError(f"covering must be a MutualCovering, got {type(covering).__name__}")
    failures, least = [], radius_of(problem.X, center)
    if max_bias < least:
        detail = f"{shown(max_bias)} is below the radius of the data, {shown(least)}"
        failures.append(Failure("max_bias", None, "both", -1, detail))
    for proposal in proposals:
        failures += _Checker(problem, *proposal, max_bias, constant).failures()
    return CoveringCheck(tuple(failures))


@dataclass(frozen=True, eq=False)
class _Balls:
    """Balls of one side, and the components that they are claimed to hold."""

    centers: Rows
    radii: Floats
    components: ClassCover | None = None


def _given_balls(centers: Any, radii: Any, name: str) -> _Balls:
    """Validate centres and radii as they are passed in."""
    if centers is None or radii is None:
        raise ParameterError(f"pass a covering, or {name}_centers and {name}_radii")
    rows, sizes = np.asarray(centers), np.asarray(radii, dtype=np.float64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.shape != sizes.shape or not len(rows):
        raise ParameterError(f"{name}_centers and {name}_radii must be row numbers and radii, equally many, some")
    if not np.isfinite(sizes).all() or (sizes < 0).any():
        raise ParameterError(f"{name}_radii must be finite and not negative")
    return _Balls(rows.astype(np.int64), sizes)


class _Checker:
    """Conditions on one target against the rest."""

    def __init__(
        self, problem: Labelled, label: Any, balls: dict[str, _Balls], separation: float | None, max_bias: float,
        constant: float,
    ) -> None:  # fmt: skip
        if label is None:
            raise ParameterError("pass the target's label, target=...")
        (code,) = problem.targets(label, one_of_many=True)
        self.X, self.balls, self.max_bias, self.constant = problem.X, balls, max_bias, constant
        self.codes: Codes = (problem.codes == code).astype(np.int64)
        self.label, self.claimed_separation = problem.classes.tolist()[code], separation
        self.cloud = Cloud(self.X, np.arange(len(self.codes)))
        self.centers = np.concatenate([side.centers for side in balls.values()])
        self.sides: Codes = np.repeat([SIDES[name] for name in balls], [len(side.centers) for side in balls.values()])
        if self.centers.min() < 0 or self.centers.max() >= len(self.codes):
            raise DataError(f"a center is no row of the data: rows go from 0 to {len(self.codes) - 1}")

    def failures(self) -> Iterator[Failure]:
        """Yield every condition that does not hold."""
        # Covers and radii are checked even where centres belong to the wrong class: every failure is reported.
        for name, side in self.balls.items():
            for row in side.centers[self.codes[side.centers] != SIDES[name]].tolist():
                yield self._fail("class", name, row, f"center {row} does not belong to it")
        for name, side in self.balls.items():
            yield from self._cover(name, side)
        yield from self._radii()
        if self.claimed_separation is not None:
            gap, pair = closest_pair(self.X[self.centers], self.sides, Executor(SERIAL))
            if gap < self.claimed_separation:
                a, b = self.centers[list(pair)].tolist()
                detail = f"centers {a} and {b} are {shown(gap)} apart, not {shown(self.claimed_separation)}"
                yield self._fail("separation", "both", a, detail)

    def _fail(self, condition: str, side: str, row: int, detail: str) -> Failure:
        return Failure(condition, self.label, side, row, detail)

    def _cover(self, name: str, side: _Balls) -> Iterator[Failure]:
        """Check that every point is in a ball; that components, where given, are what the balls hold."""
        points = np.flatnonzero(self.codes == SIDES[name])
        # A row may be given as a centre twice: the larger of its balls counts.
        radii = np.zeros(len(self.codes))
        np.maximum.at(radii, side.centers, side.radii)
        balls = ClosedBalls(self.cloud, radii, SERIAL)
        selected = balls.select(points)
        covered = np.zeros(len(points), dtype=bool)
        for start in range(0, len(side.centers), CENTERS_AT_ONCE):
            part = slice(start, start + CENTERS_AT_ONCE)
            holds = balls.holds(side.centers[part], selected)
            covered |= holds.any(axis=0)
            for index, row in enumerate(holds, start):
                if side.components and not np.array_equal(np.sort(side.components.component(index)), points[row]):
                    center = int(side.centers[index])
                    detail = f"component of center {center} is not what its ball holds"
                    yield self._fail("component", name, center, detail)
        for row in points[~covered].tolist():
            yield self._fail("cover", name, row, f"row {row} lies in no ball")

    def _radii(self) -> Iterator[Failure]:
        """Check every radius against the distance to the nearest centre of the other side."""
        nearest = nearest_other(self.X[self.centers], self.sides, Executor(SERIAL))
        names = [name for name, side in self.balls.items() for _ in side.centers]
        radii = np.concatenate([side.radii for side in self.balls.values()])
        for name, row, radius, at, distance in zip(
            names, self.centers.tolist(), radii, nearest.rows, nearest.distances, strict=True
        ):
            partner = int(self.centers[at])
            if not self._admissible(row, partner, float(radius), float(distance)):
                detail = f"radius {shown(radius)} of center {row} is too large for the distance {shown(distance)}"
                yield self._fail("radius", name, row, f"{detail} to center {partner}")

    def _admissible(self, row: int, partner: int, radius: float, distance: float) -> bool:
        # Nearly all radii are decided in float64. The bound exists up to a distance of e max_bias; near that, and near
        # equality, rounding could matter, and the condition is evaluated with many digits.
        if 0 < distance < 2.7 * self.max_bias:
            bound = admissible_radius(distance, self.max_bias, self.constant)
            if abs(bound - radius) > CLEAR * (bound + radius) and np.isfinite(bound):
                return bool(radius <= bound)
        x, y = dense_rows(self.X, np.array([row, partner]))
        return _holds_in_decimals(radius, exact_square(x, y), self.max_bias, self.constant)


def _holds_in_decimals(radius: float, square: Fraction, max_bias: float, constant: float) -> bool:
    """Decide r^2 (1 + log(max_bias^2 / t^2) / 2) <= constant^2 t^2; equality to 50 digits counts as equal."""
    if square == 0:  # the centre is also a point of the other side
        return False
    with localcontext() as context:
        context.prec = DIGITS
        # Squares of the smallest floats have exponents far below those of ordinary decimals.
        context.Emax, context.Emin = 10**6, -(10**6)
        t2 = Decimal(square.numerator) / Decimal(square.denominator)
        logarithm = 1 + (Decimal(max_bias) ** 2 / t2).ln() / 2
        if logarithm <= 0:
            return False
        left, right = Decimal(radius) ** 2 * logarithm, Decimal(constant) ** 2 * t2
        return left <= right * (1 + Decimal(10) ** -50)
