"""The second layer that infinitely many hyperplanes would give: Euclidean balls.

As the width and then max_bias grow, the share of hyperplanes that separate two points
becomes proportional to their distance, so an anchor's detector fires on the open ball around
it that reaches to the nearest point of the rest. Covering a class by such balls is the limit
of Algorithm 2, and costs no hyperplane at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress
from .._support.options import Seed, check_choice, check_whole, seed_sequence
from .._support.threads import Work, at_work
from ..construct.cover import Cover, greedy_cover, random_cover
from ..construct.evidence import ClassOrder
from ..construct.hyperplanes import ORDER, stream
from ..data import Labelled, Rows, refuse_conflicts
from ..data.cloud import Cloud, Floats
from ..data.pairs import Nearest, nearest_other
from .neighbours import OpenBalls


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
        The label that each ball speaks for.
    order : {"random", "greedy"}

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
    order: str

    def __repr__(self) -> str:
        return f"<LimitCover: {self.n_detectors:,} detectors>"

    @property
    def n_detectors(self) -> int:
        """How many balls: a forecast of the number of detectors at great width and max_bias."""
        return len(self.anchors)

    @property
    def per_class(self) -> dict[Any, int]:
        """How many balls for each label that has any."""
        labels, counts = np.unique(self.classes, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def limit_cover(
    X: Any, y: Any, order: str = "random", *, target: Any = None, random_state: Seed = 0, memory: int = 2**28,
    n_jobs: int | None = None, verbose: bool = False,
) -> LimitCover:  # fmt: skip
    """Cover each class as infinitely many hyperplanes would: by exact Euclidean balls.

    With the seed of a ``fixed_width`` construction, anchors are tried in the same order; at
    great width and max_bias, and without ties in distance, its detectors have the same
    anchors and claim the same points. So the number of balls is a cheap forecast.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_samples, n_features)
    y : sequence of n_samples labels
    order : {"random", "greedy"}
        Anchors in the paper's random order, or always the one that claims most.
    target : label, "all" or None
        The class to cover. None: of two classes the rarer one (the last on a tie), else all.
    random_state : int, Generator, SeedSequence or None
    memory : int
        Bytes for greedy selection's coverage rows.
    n_jobs : int or None
        Threads, as in scikit-learn. Changes no result.
    verbose : bool
        Whether to show a progress bar.

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
    check_choice("order", order, ("random", "greedy"))
    memory = check_whole("memory", memory, at_least=1)
    problem = Labelled.of(X, y)
    targets = problem.targets(target, one_of_many=True)
    refuse_conflicts(problem.X, problem.codes)
    with at_work(n_jobs, verbose) as work:
        nearest = nearest_other(problem.X, problem.codes, work)
        return cover_in_the_limit(problem, targets, nearest, order, random_state, memory, work)


def cover_in_the_limit(
    problem: Labelled,
    targets: tuple[int, ...],
    nearest: Nearest,
    order: str,
    random_state: Seed,
    memory: int,
    work: Work,
) -> LimitCover:
    """The limit's second layer, given every point's nearest point of another class."""
    classes = ClassOrder.of(problem.codes)
    column_of = np.empty(len(classes.rows), dtype=np.int64)
    column_of[classes.rows] = np.arange(len(classes.rows))
    cloud = Cloud(problem.X, classes.rows)
    balls = OpenBalls(cloud, nearest.squares[classes.rows], column_of[nearest.rows[classes.rows]], work.threads)
    root = seed_sequence(random_state)
    covers = [_cover(balls, classes, k, order, root, memory, work.progress) for k in targets]
    anchors = classes.rows[np.array([a for cover in covers for a in cover.anchors], dtype=np.int64)]
    codes = np.repeat(np.asarray(targets, dtype=np.int64), [len(cover.anchors) for cover in covers])
    return LimitCover(
        anchors=anchors.astype(np.int64),
        radii=nearest.distances[anchors],
        witnesses=nearest.rows[anchors],
        coverage=np.array([count for cover in covers for count in cover.coverage], dtype=np.int64),
        classes=problem.classes[codes],
        order=order,
    )


def _cover(
    balls: OpenBalls, classes: ClassOrder, k: int, order: str, root: np.random.SeedSequence, memory: int, tell: Progress
) -> Cover:
    target, rest = classes.target(k), classes.rest(k)
    candidates = target[0] + stream(root, ORDER, k).permutation(target[1] - target[0])
    if order == "greedy":
        return greedy_cover(balls, target, rest, candidates, memory, tell)
    return random_cover(balls, target, rest, candidates, tell)
