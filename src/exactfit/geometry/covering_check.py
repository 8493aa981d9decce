"""Check of a proposed mutual covering against the definition, not the way it was found.

Distances are held against radii in exact arithmetic. The condition on a radius, r <= constant * t / sqrt(log(e max_bias
/ t)), is decided in float64 where that is clear, and else as r^2 (1 + log(max_bias^2 / t^2) / 2) <= constant^2 t^2 with
60 decimal digits, from the exact square of the distance t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from .._support.parameters import check_number, shown
from .._support.threads import SERIAL, Executor
from ..data import Floats, Labelled, Rows
from ..data.cloud import Cloud, exact_square
from ..data.matrices import dense_rows
from ..data.pairs import nearest_other
from ..exceptions import DataError, ParameterError
from .ball_covers import BLOCK, ClosedBalls
from .covering import ClassCover, MutualCovering
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
    >>> print(is_mutual_covering(X, y, target="a", max_bias=3.0, **balls))
    not a mutual covering, 1 condition fails
      cover, target of 'a': row 1 lies in no ball
    """

    failures: tuple[Failure, ...]

    def __bool__(self) -> bool:
        return not self.failures

    def __repr__(self) -> str:
        return f"<CoveringCheck: {str(self).splitlines()[0]}>"

    def __str__(self) -> str:
        if self:
            return "a mutual covering: all conditions hold"
        count = len(self.failures)
        lines = [f"not a mutual covering, {count} condition{'s fail' if count > 1 else ' fails'}"]
        lines += [f"  {failure}" for failure in self.failures[:SHOWN]]
        return "\n".join(lines + ([f"  and {count - SHOWN} more"] if count > SHOWN else []))


@dataclass(frozen=True, eq=False)
class _Side:
    """Proposed balls of one side, and the components that they are claimed to hold."""

    centers: Rows
    radii: Floats
    components: ClassCover | None = None

    @classmethod
    def of(cls, centers: Any, radii: Any, name: str) -> _Side:
        """Validate centres and radii as they are passed in."""
        if centers is None or radii is None:
            raise ParameterError(f"pass a covering, or {name}_centers and {name}_radii")
        rows, sizes = np.asarray(centers), np.asarray(radii, dtype=np.float64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.shape != sizes.shape or not len(rows):
            raise ParameterError(f"{name}_centers and {name}_radii must be row numbers and radii, equally many, some")
        if not np.isfinite(sizes).all() or (sizes < 0).any():
            raise ParameterError(f"{name}_radii must be finite and not negative")
        return cls(rows.astype(np.int64), sizes)


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
        if target is None:
            raise ParameterError("pass the target's label, target=...")
        sides = {
            "target": _Side.of(target_centers, target_radii, "target"),
            "rest": _Side.of(rest_centers, rest_radii, "rest"),
        }
        proposals = [(target, sides, separation)]
        max_bias = check_number("max_bias", max_bias, above=0.0)
        constant = check_number("constant", constant, above=0.0)
    elif isinstance(covering, MutualCovering):
        proposals = []
        for pair in covering.pairs:
            given = {"target": pair.target, "rest": pair.rest}
            sides = {name: _Side(one.centers, one.radii, one) for name, one in given.items()}
            proposals.append((pair.label, sides, pair.separation))
        max_bias, constant = covering.max_bias, covering.constant
    else:
        raise ParameterError(f"covering must be a MutualCovering, got {type(covering).__name__}")
    failures, least = [], radius_of(problem.X, center)
    if max_bias < least:
        detail = f"{shown(max_bias)} is below the radius of the data, {shown(least)}"
        failures.append(Failure("max_bias", None, "both", -1, detail))
    for proposal in proposals:
        failures += _failures(problem, *proposal, max_bias, constant)
    return CoveringCheck(tuple(failures))


def _failures(
    problem: Labelled, label: Any, sides: dict[str, _Side], separation: float | None, max_bias: float, constant: float
) -> Iterator[Failure]:
    """Yield every condition that does not hold for one target."""
    (code,) = problem.targets(label, one_of_many=True)
    codes, n = (problem.codes == code).astype(np.int64), len(problem.codes)
    centers = np.concatenate([side.centers for side in sides.values()])
    if centers.min() < 0 or centers.max() >= n:
        raise DataError(f"a center is no row of the data: rows go from 0 to {n - 1}")
    cloud, label = Cloud(problem.X, np.arange(n)), problem.classes.tolist()[code]
    # Covers and radii are checked even where centres belong to the wrong class: every failure is reported.
    for name, side in sides.items():
        for row in side.centers[codes[side.centers] != SIDES[name]].tolist():
            yield Failure("class", label, name, row, f"center {row} does not belong to it")
    for name, side in sides.items():
        points = np.flatnonzero(codes == SIDES[name])
        # A row may be given as a centre twice: the larger of its balls counts.
        radii, covered = np.zeros(n), np.zeros(len(points), dtype=bool)
        np.maximum.at(radii, side.centers, side.radii)
        balls = ClosedBalls(cloud, radii, SERIAL)
        tiles = balls.tiles(points)
        for start in range(0, len(side.centers), BLOCK):
            table = balls.table(side.centers[start : start + BLOCK], tiles)
            covered |= table.any(axis=0)
            for index, inside in enumerate(table, start):
                if side.components and not np.array_equal(np.sort(side.components.component(index)), points[inside]):
                    row = int(side.centers[index])
                    yield Failure(
                        "component", label, name, row, f"component of center {row} is not what its ball holds"
                    )
        for row in points[~covered].tolist():
            yield Failure("cover", label, name, row, f"row {row} lies in no ball")
    of_centers = np.repeat([SIDES[name] for name in sides], [len(side.centers) for side in sides.values()])
    nearest = nearest_other(problem.X[centers], of_centers, Executor(SERIAL))
    radii = np.concatenate([side.radii for side in sides.values()])
    names = [name for name, side in sides.items() for _ in side.centers]
    partners = centers[nearest.rows]
    for name, radius, row, partner in zip(names, radii.tolist(), centers.tolist(), partners.tolist(), strict=True):
        x, y = dense_rows(problem.X, np.array([row, partner]))
        if not _is_admissible(radius, x, y, max_bias, constant):
            detail = f"radius {shown(radius)} of center {row} is too large for its distance to center {partner}"
            yield Failure("radius", label, name, row, detail)
    gap, pair = nearest.closest()
    if separation is not None and gap < separation:
        a, b = centers[list(pair)].tolist()
        detail = f"centers {a} and {b} are {shown(gap)} apart, not {shown(separation)}"
        yield Failure("separation", label, "both", a, detail)


def _is_admissible(radius: float, x: Floats, y: Floats, max_bias: float, constant: float) -> bool:
    """Decide r <= f(|x - y|); equality to 50 digits counts as equal."""
    distance = math.dist(x, y)
    # Nearly all radii are decided in float64. The bound exists up to a distance of e max_bias; near that, and near
    # equality, rounding could matter, and the condition is evaluated with many digits.
    if 0 < distance < 2.7 * max_bias:
        bound = constant * distance / math.sqrt(1.0 + math.log(max_bias / distance))
        if CLEAR * (bound + radius) < abs(bound - radius) < math.inf:
            return radius < bound
    square = exact_square(x, y)
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
