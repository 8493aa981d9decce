"""What the paper's theorems say about the size of the network, for given data and constants.

The constants are absolute and unknown: with their default, 1, these numbers show how the size
depends on the geometry, not how large it is. ``calibrate`` fits them to actual networks.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from .._support.options import Seed, check_number
from .._support.threads import at_work
from ..data import Labelled, refuse_conflicts
from ..data.pairs import closest_pair
from ..exceptions import ContradictoryLabelsError, ParameterError
from .covering import MutualCovering, check_max_bias, cover_mutually
from .covering_build import CoverOptions


@dataclass(frozen=True)
class Constants:
    """The constants that the theorems leave open.

    Attributes
    ----------
    termination : float
        Of (max_bias / separation) log(pairs / eta), the width that separates all pairs.
    width : float
        Of (max_bias / delta) log(2 M- M+ / eta) in the main theorem.
    complexity : float
        Of max_bias * omega in the main theorem.

    Examples
    --------
    >>> from exactfit.geometry.theorem import Constants
    >>> Constants(termination=0.5)
    Constants(termination=0.5, width=1.0, complexity=1.0)
    """

    termination: float = 1.0
    width: float = 1.0
    complexity: float = 1.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            check_number(name, value, above=0.0)


@dataclass(frozen=True)
class Bounds:
    """Sizes that the theorems promise with probability at least 1 - eta, for the given constants.

    Attributes
    ----------
    eta : float
    constants : Constants
    max_bias : float
    separation : float
        Smallest distance between different labels.
    termination_width : int
        So many hyperplanes separate all pairs of target and rest.
    width : int
        The main theorem's n_min; ``width_interval`` carries omega's interval over.
    detectors : int
        At most so many (M-) then.
    neurons, parameters : int
        Of the whole network: hyperplanes, detectors and output.
    pair_tests : int
        Run time of Algorithm 1 with the plain test of all pairs, in tests.
    counts : int
        Run time of the second layer, in detectors counted on points of the rest.

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
    pair_tests: int
    counts: int

    def __str__(self) -> str:
        given = self.constants
        return "\n".join(
            [
                f"with probability at least {1 - self.eta:g}, if the unknown constants were "
                f"{given.termination:.3g}, {given.width:.3g} and {given.complexity:.3g}:",
                f"  {self.termination_width:,} hyperplanes separate all pairs",
                f"  {self.width:,} hyperplanes make at most {self.detectors:,} detectors "
                f"({self.neurons:,} neurons, {self.parameters:,} parameters)",
                f"  time: {self.pair_tests:,} pair tests at most, {self.counts:,} counts for the second layer",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) | {"width_interval": list(self.width_interval)}


def bounds(
    X: Any, y: Any, *, eta: float = 0.05, constants: Constants | None = None, covering: MutualCovering | None = None,
    max_bias: Literal["radius"] | float = "radius", target: Any = None, center: bool = True, random_state: Seed = 0,
    n_jobs: int | None = None, verbose: bool = False,
) -> Bounds:  # fmt: skip
    """The termination bound and the main theorem's sizes for given data, eta and constants.

    The paper's constants are unknown. With the default, 1, the numbers are no promise; they
    show what the size depends on. Fit the constants to your data with ``calibrate``.

    Several classes share one first layer: eta is divided among them.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    eta : float
        Probability that is given up, between 0 and 1.
    constants : Constants, optional
    covering : MutualCovering, optional
        Of these data; made here otherwise.
    max_bias : "radius" or float
        Not needed with a covering, which has its own.
    target : label, "all" or None
    center : bool
        Measure the radius of the data from their mean.
    random_state : int, Generator, SeedSequence or None
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.
    verbose : bool
        Whether to show a progress bar.

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
      time: 9,300 pair tests at most, 100 counts for the second layer
    """
    eta, constants = check_eta(eta), constants or Constants()
    problem = Labelled.of(X, y)
    refuse_conflicts(problem.X, problem.codes)
    with at_work(n_jobs, verbose) as work:
        if covering is None:
            options = CoverOptions(check_max_bias(problem.X, max_bias, center), 1.0, random_state=random_state)
            covering = cover_mutually(problem, problem.targets(target, one_of_many=True), options, work)
        elif not isinstance(covering, MutualCovering):
            raise ParameterError(f"covering must be a MutualCovering, got {type(covering).__name__}")
        gap, pair = closest_pair(problem.X, problem.codes, work)
    if gap == 0:
        raise ContradictoryLabelsError([pair])
    return theorem_sizes(problem, covering, gap, eta, constants)


def check_eta(eta: Any) -> float:
    """A probability strictly between 0 and 1."""
    value = check_number("eta", eta, above=0.0, at_most=1.0)
    if value == 1.0:
        raise ParameterError("eta must be below 1")
    return value


def n_pairs(problem: Labelled, labels: list[Any]) -> int:
    """Pairs of a target point and a point of the rest, over all targets."""
    codes = [int(np.flatnonzero(problem.classes == label)[0]) for label in labels]
    sizes = np.bincount(problem.codes).tolist()
    return sum(sizes[k] * (len(problem.codes) - sizes[k]) for k in codes)


def termination_scale(max_bias: float, separation: float, pairs: int, eta: float) -> float:
    """(max_bias / separation) log(pairs / eta): the width that separates all pairs, up to its constant."""
    return max_bias / separation * math.log(pairs / eta)


def theorem_terms(
    covering: MutualCovering, eta: float, which: Literal["value", "low", "high"] = "value"
) -> list[tuple[float, float]]:
    """For every target (max_bias / delta) log(2 M- M+ / eta) and max_bias * omega, eta divided among them."""
    share, reach = eta / len(covering.pairs), covering.max_bias
    return [
        (
            reach / pair.separation * math.log(2 * pair.target.count * pair.rest.count / share),
            reach * pair.complexity(which),
        )
        for pair in covering.pairs
    ]


def theorem_sizes(
    problem: Labelled, covering: MutualCovering, separation: float, eta: float, constants: Constants
) -> Bounds:
    """All bounds from a covering and the separation of the data."""
    labels = [pair.label for pair in covering.pairs]
    pairs, outputs = n_pairs(problem, labels), 1 if len(labels) == 1 else len(labels)
    termination = math.ceil(constants.termination * termination_scale(covering.max_bias, separation, pairs, eta))

    def width(which: Literal["value", "low", "high"]) -> int:
        terms = theorem_terms(covering, eta, which)
        return math.ceil(max(constants.width * first + constants.complexity * second for first, second in terms))

    n, detectors, d = width("value"), covering.n_target, int(problem.X.shape[1])
    sizes = np.bincount(problem.codes)
    of_label = {label: int(size) for label, size in zip(problem.classes.tolist(), sizes, strict=True)}
    return Bounds(
        eta=eta, constants=constants, max_bias=covering.max_bias, separation=separation,
        termination_width=termination, width=n, width_interval=(width("low"), width("high")), detectors=detectors,
        neurons=n + detectors + outputs,
        parameters=n * (d + 1) + detectors * (n + 1) + outputs * (detectors + 1),
        pair_tests=termination * pairs,
        counts=sum(pair.target.count * (len(problem.codes) - of_label[pair.label]) for pair in covering.pairs),
    )  # fmt: skip
