"""The two entrances to the paper's algorithms, and what is around both: noise, conflicts, lost classes, margins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, silent
from .._support.parameters import check_integer, seed_sequence, shown
from .._support.threads import Executor, Threads
from ..data import ChunkedPoints, Codes, Labelled, Rows, overruled_rows, resolve_conflicts
from ..exceptions import DataError, ParameterError
from ..options import Options
from ..outcome import Outcome
from .algorithms import algorithm_1, algorithm_2
from .chunked import ChunkedTrainingSet
from .construction import Construction, Trace
from .fallback_cuts import margin_of
from .first_layer import TrainingSet
from .hyperplanes import FixedFirstLayer, as_order, make_sampler
from .importances import importances
from .noise import points_to_give_up
from .patterns import rounded
from .unique_patterns import candidates_of

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
    options = options or Options()
    first_layer = None if hyperplanes is None else FixedFirstLayer(hyperplanes)
    width = options.width if width is None and not isinstance(options.width, str) else width
    if first_layer is None and width is None:
        raise ParameterError("width must be an integer >= 1: pass it, or options with one, or use adaptive_width")
    if first_layer is not None:
        own = first_layer.planes.count
        if width not in (None, own):
            raise ParameterError(
                f"width={shown(width)} contradicts the {own} given hyperplanes: leave one of the two out"
            )
        width = own
    options = replace(options, width=check_integer("width", width, at_least=1))
    data = Labelled.of_codes(X, y)
    if first_layer is not None:
        first_layer.refuse_misfits(data.X.shape[1], options.exact_in)
    rows = None if order is None else as_order(order, len(data))
    if options.noise and not (first_layer is None and rows is None):
        raise ParameterError("given hyperplanes or order make a network of all rows: use noise=0")
    return build(data, options, random_state, progress, first_layer, rows)


def build(
    data: Labelled, options: Options, random_state: Any = None, progress: Progress = silent,
    first_layer: FixedFirstLayer | None = None, order: Rows | None = None,
) -> Construction:  # fmt: skip
    """Return the network for labelled points, by the algorithm that the options ask for.

    ``order`` has all rows as they become candidates; without it, and without a first layer, both are random. Points
    that ``noise`` gives up are left out and named again afterwards; rows of the result are rows of ``data``, also where
    points were left out.
    """
    root = seed_sequence(random_state)
    everyone = data if options.exact_in is None else replace(data, X=rounded(data.X, options.exact_in))
    with Threads(options.n_jobs) as threads:
        work = Executor(threads, progress)
        out = points_to_give_up(everyone.X, everyone.codes, options.noise, root, work) if options.noise else NOBODY
        part = everyone.take(np.delete(np.arange(len(everyone)), out)) if len(out) else everyone
        kept = resolve_conflicts(part.X, part.codes, options.conflicts, options.exact_in)
        if options.has_margin:
            options = replace(options, margin=margin_of(options, part.X, kept, out, work))
        made = _over_present_classes(replace(part, codes=kept), options, root, work, first_layer, order)
        made = _with_margin(made, part.X, kept, options) if options.has_margin else made
    # Rows that lost to a majority: those of them that the network gets wrong are given up.
    lost = np.flatnonzero(kept != part.codes)
    wrong = _errors(made, lost, options.exact_in)
    overruled = np.intersect1d(wrong, lost)
    made = replace(made, errors=np.setdiff1d(wrong, lost), given_up=overruled, overruled=overruled)
    if len(overruled) and not len(made.trace.uncovered):
        made = replace(made, outcome=Outcome.CONFLICTS_OVERRULED)
    made = _with_given_up(made, everyone, out, options) if len(out) else made
    return replace(made, trace=replace(made.trace, **importances(made.network, everyone.X)))


def _over_present_classes(
    data: Labelled, options: Options, root: np.random.SeedSequence, work: Executor, first_layer: FixedFirstLayer | None,
    order: Rows | None,
) -> Construction:  # fmt: skip
    """Return the network for the classes that have points; majorities may have left some without."""
    sizes = np.bincount(data.codes, minlength=len(data.classes))
    present = np.flatnonzero(sizes)
    if len(present) < 2:
        raise DataError("only one class is left, equal points having one label each: correct their labels")
    codes, targets = data.codes, data.targets(options.target)
    if len(present) < len(sizes):
        codes, targets = (np.cumsum(sizes > 0) - 1)[data.codes], tuple(range(len(present)))
    # Points in chunks stay there where the options ask for nothing that needs all patterns in one place.
    chunked = isinstance(data.X, ChunkedPoints) and not options.has_open_bits
    training = (ChunkedTrainingSet if chunked else TrainingSet)(data.X, codes, targets, options, work)
    sampler = first_layer or make_sampler(data.X, codes, targets, options, root)
    candidates = candidates_of(training.order, targets, root if order is None else order)
    made = (algorithm_1 if options.is_adaptive else algorithm_2)(training, sampler, candidates)
    if len(present) == len(sizes):
        return made
    decoder = replace(made.network.decoder, classes=tuple(present.tolist()))
    trace = replace(made.trace, detector_classes=present[made.trace.detector_classes].astype(np.int64))
    return replace(made, network=replace(made.network, decoder=decoder), trace=trace)


def _with_margin(made: Construction, X: Any, codes: Codes, options: Options) -> Construction:
    """Divide the rows that the construction calls uncovered into wrong ones and those without the margin."""
    from ..certificate import certify

    left = made.trace.uncovered
    trace = replace(made.trace, margin=float(options.margin))
    if not len(left):
        return replace(made, trace=trace)
    doubt = certify(made, X[left], codes[left], arithmetic=options.exact_in or "exact", n_jobs=options.n_jobs)
    trace = replace(trace, uncovered=left[doubt.errors], without_margin=np.delete(left, doubt.errors))
    outcome = Outcome.POINTS_MISSED if len(trace.uncovered) else Outcome.MARGIN_MISSED
    return replace(made, trace=trace, outcome=outcome)


def _errors(made: Construction, lost: NDArray[np.intp], exact_in: str | None) -> Rows:
    """Return rows that the network gets wrong: those it missed, and those that lost to a majority.

    With one output, a missed point gets the other label, which is right if that is the one that lost;
    but with ``exact_in`` a point is missed already if some evaluation may miss it.
    """
    join = np.setxor1d if made.network.decoder.kind == "sign" and exact_in is None else np.union1d
    return join(made.trace.uncovered, lost).astype(np.int64)


def _with_given_up(made: Construction, data: Labelled, out: Rows, options: Options) -> Construction:
    """Number rows as in the data, and list those given up that the network gets wrong."""
    from ..certificate import certify

    rows = np.delete(np.arange(len(data)), out)
    named: dict[str, Any] = {name: rows[getattr(made.trace, name)] for name in ROW_NAMES}
    arithmetic = options.exact_in or "exact"
    doubt = certify(made, data.X[out], data.codes[out], arithmetic=arithmetic, n_jobs=options.n_jobs)
    noise, errors = out[doubt.errors], rows[made.errors]
    outcome = Outcome.POINTS_GIVEN_UP if len(noise) and not len(errors) else made.outcome
    trace: Trace = replace(made.trace, **named)
    given_up = np.union1d(noise, rows[made.given_up]).astype(np.int64)
    overruled = overruled_rows(data.X, data.codes, given_up)
    return replace(made, trace=trace, errors=errors, given_up=given_up, overruled=overruled, outcome=outcome)
