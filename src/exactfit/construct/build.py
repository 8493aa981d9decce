"""The two entrances to the paper's algorithms, and what is around both: noise, conflicts, lost classes, margins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._support.console import Progress, silent
from .._support.parameters import check_integer, seed_sequence, shown
from .._support.threads import Executor, Threads
from ..data import ChunkedPoints, Labelled, Rows, choose_targets, overruled_rows, resolve_conflicts
from ..exceptions import DataError, ParameterError
from ..options import Options
from ..outcome import Outcome
from .algorithms import algorithm_1, algorithm_2
from .chunked import ChunkedTrainingSet
from .construction import Construction
from .first_layer import TrainingSet
from .hyperplanes import Hyperplanes, given_hyperplanes, make_sampler
from .importances import importances
from .margins import margin_of
from .noise import points_to_give_up
from .patterns import rounded
from .unique_patterns import as_order

NOBODY = np.empty(0, dtype=np.int64)
# What of a trace are rows of the data.
ROW_NAMES = ("anchors", "witnesses", "uncovered", "support", "without_margin")


def adaptive_width(
    X: Any, y: Any, options: Options | None = None, random_state: Any = None, *, progress: Progress = silent
) -> Construction:
    """Build a network that interpolates, with as many hyperplanes as that takes (Algorithm 1).

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_points, d)
    y : array of int, shape (n_points,)
        Class codes 0..K-1.
    options : Options, optional
        Without a number as its ``width``, which is found here.
    random_state : int, RandomState, Generator, SeedSequence or None
    progress : callable
        Called as ``progress(what, done, total)``.

    Returns
    -------
    Construction

    Raises
    ------
    WidthLimitError
        If ``max_width`` hyperplanes leave pairs unseparated.
    NoGapError
        If rounding leaves no room for a limit (real-valued activations and ``exact_in`` only).
    AssumptionError
        If the margin is too large: it names two rows that are too close.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import adaptive_width
    >>> made = adaptive_width(np.array([[1.0], [np.nextafter(1.0, 2.0)]]), np.array([0, 1]), random_state=0)
    >>> made.outcome.interpolates
    True
    """
    options = options or Options()
    if not options.is_adaptive:
        raise ParameterError(
            f"adaptive_width finds the width, got width={options.width}: leave it out, bound the width "
            "by min_width and max_width, or use fixed_width"
        )
    return build(Labelled.of_codes(X, y), options, random_state, progress)


def fixed_width(
    X: Any, y: Any, width: int | None = None, options: Options | None = None, random_state: Any = None, *,
    hyperplanes: Any = None, order: Any = None, progress: Progress = silent,
) -> Construction:  # fmt: skip
    """Build a network with exactly ``width`` hyperplanes (Algorithm 2); it may miss points.

    Parameters
    ----------
    X : array, sparse matrix or frame, shape (n_points, d)
    y : array of int, shape (n_points,)
        Class codes 0..K-1.
    width : int, optional
        How many hyperplanes to draw, by default that of the options; of given ones, how many they are.
    options : Options, optional
        All other options.
    random_state : int, RandomState, Generator, SeedSequence or None
    hyperplanes : tuple (weights, biases), optional
        The first layer as it is to be, instead of a drawn one: arrays of shape (width, d) and (width,).
    order : array of int, shape (n_points,), optional
        All rows, in the order in which they are to become candidates; each class keeps its part of it. Where
        both are given, nothing is left to chance.
    progress : callable
        Called as ``progress(what, done, total)``.

    Returns
    -------
    Construction
        Its outcome says whether the network interpolates.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import fixed_width
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> made = fixed_width(X, np.array([0, 1, 1, 0]), width=64, random_state=0)
    >>> made.outcome.interpolates, made.network.widths
    (True, (64, 2, 1))

    Two hyperplanes of one's own, on beyond x = 1/2 and beyond y = 1/2:

    >>> made = fixed_width(X, np.array([0, 0, 0, 1]), hyperplanes=(-np.eye(2), [0.5, 0.5]), order=[3, 2, 1, 0])
    >>> made.outcome.interpolates, made.network.widths, made.trace.anchors
    (True, (2, 1, 1), array([3]))
    """
    options, data = options or Options(), Labelled.of_codes(X, y)
    planes = None if hyperplanes is None else given_hyperplanes(hyperplanes, data.X.shape[1], options.exact_in)
    if width is None and not options.is_adaptive:
        width = int(options.width)
    if planes is not None:
        if width not in (None, planes.count):
            raise ParameterError(
                f"width={shown(width)} contradicts the {planes.count} given hyperplanes: leave one of the two out"
            )
        width = planes.count
    if width is None:
        raise ParameterError("width must be an integer >= 1: pass it, or options with one, or use adaptive_width")
    options = replace(options, width=check_integer("width", width, at_least=1))
    rows = None if order is None else as_order(order, len(data))
    if options.noise and not (planes is None and rows is None):
        raise ParameterError("given hyperplanes or order make a network of all rows: use noise=0")
    return build(data, options, random_state, progress, planes, rows)


def build(
    data: Labelled, options: Options, random_state: Any = None, progress: Progress = silent,
    planes: Hyperplanes | None = None, order: Rows | None = None,
) -> Construction:  # fmt: skip
    """Return the network for labelled points, by the algorithm that the options ask for.

    ``order`` has all rows as they become candidates; without it, and without hyperplanes, both are random. Points
    that ``noise`` gives up are left out and named again afterwards; rows of the result are rows of ``data``.
    """
    root = seed_sequence(random_state)
    if options.exact_in is not None:
        data = replace(data, X=rounded(data.X, options.exact_in))
    with Threads(options.n_jobs) as threads:
        work = Executor(threads, progress)
        out = points_to_give_up(data.X, data.codes, options.noise, root, work) if options.noise else NOBODY
        rows = np.delete(np.arange(len(data)), out)
        part = data.take(rows) if len(out) else data
        codes = resolve_conflicts(part.X, part.codes, options.conflicts, options.exact_in)
        if options.has_margin:
            options = replace(options, margin=margin_of(options, part.X, codes, rows, work))
        # Majorities may have left classes without points: codes and targets are those of the others.
        sizes = np.bincount(codes, minlength=len(data.classes))
        present, targets = np.flatnonzero(sizes), choose_targets(codes, options.target, data.classes)
        if len(present) < 2:
            raise DataError("only one class is left, equal points having one label each: correct their labels")
        y = codes
        if len(present) < len(sizes):
            y, targets = (np.cumsum(sizes > 0) - 1)[codes], tuple(range(len(present)))
        # Points in chunks stay there where the options ask for nothing that needs all patterns in one place.
        chunked = isinstance(part.X, ChunkedPoints) and not options.has_open_bits
        training = (ChunkedTrainingSet if chunked else TrainingSet)(
            part.X, y, present, targets, root if order is None else order, options, threads, progress
        )
        source: Any = planes or make_sampler(part.X, y, targets, options, root)
        made = (algorithm_1 if options.is_adaptive else algorithm_2)(training, source)
        made = _with_errors(made, data, rows, rows[codes != part.codes], options)
    return replace(made, trace=replace(made.trace, **importances(made.network, data.X)))


def _with_errors(made: Construction, data: Labelled, rows: Rows, lost: Rows, options: Options) -> Construction:
    """Return the construction with rows of the data, those without a claim divided by what the network answers.

    ``rows`` are those that were fitted, ``lost`` those of them that lost to a majority.
    """
    trace = replace(
        made.trace, margin=float(options.margin) if options.has_margin else 0.0,
        **{name: rows[getattr(made.trace, name)] for name in ROW_NAMES},
    )  # fmt: skip
    uncovered, out = trace.uncovered, np.delete(np.arange(len(data)), rows)
    sacrificed = np.union1d(out, lost)
    # With a margin a point may be right that nothing claims with it, and so may those that were given up.
    doubtful = np.union1d(sacrificed, uncovered if options.has_margin else NOBODY)
    wrong = np.setdiff1d(uncovered, doubtful)
    if len(doubtful):
        from ..certificate import certify

        arithmetic = options.exact_in or "exact"
        found = certify(made, data.X[doubtful], data.codes[doubtful], arithmetic=arithmetic, n_jobs=options.n_jobs)
        wrong = np.union1d(wrong, doubtful[found.errors])
    errors, given_up = np.setdiff1d(wrong, sacrificed), np.intersect1d(wrong, sacrificed)
    if options.has_margin:
        trace = replace(trace, uncovered=errors, without_margin=np.setdiff1d(uncovered, wrong))
    outcome = Outcome.INTERPOLATES
    if len(trace.uncovered):
        outcome = Outcome.POINTS_MISSED
    elif len(np.setdiff1d(given_up, lost)):
        outcome = Outcome.POINTS_GIVEN_UP
    elif len(given_up):
        outcome = Outcome.CONFLICTS_OVERRULED
    elif len(trace.without_margin):
        outcome = Outcome.MARGIN_MISSED
    overruled = overruled_rows(data.X, data.codes, given_up) if len(out) else given_up
    return replace(made, trace=trace, errors=errors, given_up=given_up, overruled=overruled, outcome=outcome)
