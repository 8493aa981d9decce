"""Sizes that the paper's theorems promise, and its data for which many detectors are needed.

The constants are absolute and unknown: with their default, 1, these numbers show how the size
depends on the geometry, not how large it is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from .._support.parameters import Seed, check_integer, check_number, seed_sequence, shown
from .._support.threads import open_executor
from ..construct.hyperplanes import stream
from ..data import Floats, Labelled, Rows, refuse_conflicts
from ..data.pairs import closest_pair
from ..exceptions import ContradictoryLabelsError, ParameterError
from .covering import CoverOptions, Estimate, MutualCovering, check_max_bias, cover_mutually
from .neighbours import shared_words

Constants = tuple[float, float, float]  # of the termination bound, of the main theorem's width and of its complexity

# With ones, bounds show what sizes depend on; the true constants are absolute, and nobody knows them.
UNKNOWN = 1.0, 1.0, 1.0


@dataclass(frozen=True)
class Bounds:
    """Sizes that the theorems promise with probability at least 1 - eta, for the given constants.

    Attributes
    ----------
    eta : float
    constants : tuple of float
    max_bias : float
    separation : float
        Smallest distance between different labels.
    termination_width : int
        Number of hyperplanes that separate all pairs of target and rest.
    width : int
        The main theorem's n_min; ``width_interval`` carries omega's interval over.
    detectors : int
        Upper bound (M-) of their number at that width.
    neurons, parameters : int
        Of the complete network: hyperplanes, detectors and output.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_alternating_line(5)
    >>> bounds = exactfit.geometry.bounds(X, y, target=1, eta=0.1)
    >>> bounds.termination_width, bounds.width, bounds.detectors
    (22, 24, 5)
    """

    eta: float
    constants: Constants
    max_bias: float
    separation: float
    termination_width: int
    width: int
    width_interval: tuple[int, int]
    detectors: int
    neurons: int
    parameters: int

    def __str__(self) -> str:
        first, second, third = self.constants
        return "\n".join(
            [
                f"with probability at least {1 - self.eta:g}, if the unknown constants were "
                f"{first:.3g}, {second:.3g} and {third:.3g}:",
                f"  {self.termination_width:,} hyperplanes separate all pairs",
                f"  {self.width:,} hyperplanes make at most {self.detectors:,} detectors "
                f"({self.neurons:,} neurons, {self.parameters:,} parameters)",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON can hold them."""
        return asdict(self)


@shared_words
def bounds(
    X: Any, y: Any, *, eta: float = 0.05, constants: Constants = UNKNOWN, covering: MutualCovering | None = None,
    max_bias: Literal["radius"] | float = "radius", target: Any = None, center: bool = True, random_state: Seed = 0,
    n_jobs: int | None = None, verbose: bool = False,
) -> Bounds:  # fmt: skip
    """Evaluate the termination bound and the main theorem's sizes for given data, eta and constants.

    The paper's constants are unknown. With the default, 1, the numbers are no promise; they
    show what the size depends on. ``calibrate`` predicts sizes from actual networks.

    Several classes share one first layer: eta is divided among them.

    {data}
    eta : float
        Probability that is given up, between 0 and 1.
    constants : tuple of three floats
        Of (max_bias / separation) log(pairs / eta), the width that separates all pairs; of (max_bias / delta)
        log(2 M- M+ / eta) and of max_bias * omega in the main theorem.
    covering : MutualCovering, optional
        Of these data; made here otherwise.
    max_bias : "radius" or float
        Not needed with a covering, which has its own.
    {target}
    center : bool
        Measure the radius of the data from their mean.
    {random_state}
    {work}

    Returns
    -------
    Bounds

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_parallel_lines(10, distance=0.1)
    >>> print(exactfit.geometry.bounds(X, y, eta=0.01))
    with probability at least 0.99, if the unknown constants were 1, 1 and 1:
      93 hyperplanes separate all pairs
      100 hyperplanes make at most 10 detectors (111 neurons, 1,321 parameters)
    """
    eta = check_eta(eta)
    if not isinstance(constants, tuple) or len(constants) != 3:
        raise ParameterError(f"constants must be a tuple of three numbers, got {shown(constants)}")
    for constant in constants:
        check_number("constants", constant, above=0.0)
    problem = Labelled.of(X, y)
    refuse_conflicts(problem.X, problem.codes)
    with open_executor(n_jobs, verbose) as work:
        if covering is None:
            options = CoverOptions(check_max_bias(problem.X, max_bias, center), random_state=random_state)
            covering = cover_mutually(problem, problem.targets(target, one_of_many=True), options, work)
        elif not isinstance(covering, MutualCovering):
            raise ParameterError(f"covering must be a MutualCovering, got {type(covering).__name__}")
        gap, pair = closest_pair(problem.X, problem.codes, work)
    # Equal points of different labels are refused above; a distance may still round to zero.
    if gap == 0:
        raise ContradictoryLabelsError([pair])
    return theorem_sizes(problem, covering, gap, eta, constants)


def check_eta(eta: Any) -> float:
    """Return a probability strictly between 0 and 1."""
    value = check_number("eta", eta, above=0.0, at_most=1.0)
    if value == 1.0:
        raise ParameterError("eta must be below 1")
    return value


def theorem_sizes(
    problem: Labelled, covering: MutualCovering, separation: float, eta: float, constants: Constants
) -> Bounds:
    """Evaluate all bounds from a covering and the separation of the data."""
    max_bias, pairs, labels = covering.max_bias, covering.pairs, problem.classes.tolist()
    sizes = [int((problem.codes == labels.index(pair.label)).sum()) for pair in pairs]
    n_pairs = sum(size * (len(problem.codes) - size) for size in sizes)
    of_termination, of_width, of_complexity = constants
    termination = of_termination * max_bias / separation * math.log(n_pairs / eta)

    def width(which: Estimate) -> int:
        # Each pair may fail with its part of eta, so that together they fail with at most eta.
        return math.ceil(
            max(
                of_width * (max_bias / pair.separation)
                * math.log(2 * pair.target.count * pair.rest.count * len(pairs) / eta)
                + of_complexity * max_bias * pair.complexity(which)
                for pair in pairs
            )
        )  # fmt: skip

    # Neurons are counted as in the network that the theorem speaks of: one output for one target.
    n, m, d, outputs = width("value"), covering.n_target, int(problem.X.shape[1]), len(pairs)
    return Bounds(
        eta, constants, max_bias, separation, math.ceil(termination), n, (width("low"), width("high")), m,
        neurons=n + m + outputs, parameters=n * (d + 1) + m * (n + 1) + outputs * (m + 1),
    )  # fmt: skip


def make_alternating_line(n_centers: int, *, dimension: int = 1) -> tuple[Floats, Rows]:
    """Points on a line whose labels alternate: every network of this kind needs a detector for each target point.

    With M = ``n_centers``, target points are (l - 1) / (M - 1) for l = 1..M and the rest's
    are (j - 1/2) / (M - 1) for j = 1..M - 1, in the first coordinate; the others are zero.

    Parameters
    ----------
    n_centers : int
        Points of the target, at least 2.
    dimension : int

    Returns
    -------
    X : ndarray of float64, shape (2 * n_centers - 1, dimension)
    y : ndarray of int64, shape (2 * n_centers - 1,)
        1 for the target, 0 for the rest.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_alternating_line(3)
    >>> X.ravel(), y
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([1, 0, 1, 0, 1]))
    """
    n_centers = check_integer("n_centers", n_centers, at_least=2)
    places = np.arange(2 * n_centers - 1)
    return _embedded((places / (2 * n_centers - 2))[:, None], dimension), 1 - places % 2


def make_parallel_lines(n_points: int = 10, *, distance: float = 0.1, dimension: int = 2) -> tuple[Floats, Rows]:
    """Two classes on parallel lines: linearly separable, yet a worst case for detectors.

    Each line holds ``n_points`` equally spaced points on [-1, 1]. Where the spacing is at
    least the distance of the lines, every target point becomes an anchor in the limit.

    Parameters
    ----------
    n_points : int
        Points on each line, at least 2.
    distance : float
        Between the lines.
    dimension : int
        At least 2.

    Returns
    -------
    X : ndarray of float64, shape (2 * n_points, dimension)
    y : ndarray of int64, shape (2 * n_points,)
        1 for the target, 0 for the rest.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_parallel_lines(10, distance=0.1)
    >>> X.shape, exactfit.geometry.separation(X, y).value, exactfit.geometry.limit_cover(X, y).n_detectors
    ((20, 2), 0.1, 10)
    """
    n_points = check_integer("n_points", n_points, at_least=2)
    distance = check_number("distance", distance, above=0.0)
    place = np.linspace(-1.0, 1.0, n_points)
    upper = np.column_stack([place, np.full(n_points, distance / 2)])
    lower = np.column_stack([place, np.full(n_points, -distance / 2)])
    labels = np.repeat(np.array([1, 0], dtype=np.int64), n_points)
    return _embedded(np.concatenate([upper, lower]), check_integer("dimension", dimension, at_least=2)), labels


def _embedded(points: Floats, dimension: Any) -> Floats:
    """Append zeros to points."""
    dimension = check_integer("dimension", dimension, at_least=points.shape[1])
    return np.pad(points, ((0, 0), (0, dimension - points.shape[1])))


def make_disc_moons(n_samples: int, *, noise: float = 0.1, random_state: Seed = 0) -> tuple[Floats, Rows]:
    """Two Moons with bounded noise: uniform in a disc, so that the classes are provably apart.

    The two half circles, around (0, 0) and (1, 1/2), are exactly 1/2 apart. So points of
    different classes are at least 1/2 - 2 ``noise`` apart, however many there are.

    Parameters
    ----------
    n_samples : int
    noise : float
        Radius of the disc, at least 0 and below 1/4.
    random_state : int, Generator, SeedSequence or None

    Returns
    -------
    X : ndarray of float64, shape (n_samples, 2)
    y : ndarray of int64, shape (n_samples,)

    Examples
    --------
    >>> from exactfit.geometry import separation
    >>> from exactfit.geometry.theorem import make_disc_moons
    >>> separation(*make_disc_moons(2000, noise=0.2)).value >= 0.5 - 2 * 0.2
    True
    """
    n_samples = check_integer("n_samples", n_samples, at_least=2)
    noise = check_number("noise", noise)
    if not 0 <= noise < 0.25:
        raise ParameterError(f"noise must be at least 0 and below 0.25, got {shown(noise)}")
    rng = stream(seed_sequence(random_state))
    labels = rng.integers(0, 2, n_samples)
    labels[:2] = [0, 1]  # both classes occur
    turn = np.pi * rng.uniform(size=n_samples)
    x = np.where(labels == 0, np.cos(turn), 1 - np.cos(turn))
    y = np.where(labels == 0, np.sin(turn), 0.5 - np.sin(turn))
    # The root makes points uniform over the disc, not along its radius.
    size, angle = noise * np.sqrt(rng.uniform(size=n_samples)), 2 * np.pi * rng.uniform(size=n_samples)
    return np.column_stack([x + size * np.cos(angle), y + size * np.sin(angle)]), labels.astype(np.int64)
