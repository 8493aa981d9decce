"""From one first layer to a network: a cover for every target class, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import Progress, silent
from .._support.threads import SERIAL, Threads
from ..data import Codes, Matrix, Rows
from ..exceptions import ParameterError
from ..network import Decoder, Dense, Layer, Masks, Network, WeightedMasks
from ..network.activations import Activation
from ..network.bits import BitMatrix, n_words
from ..outcome import Outcome
from .construction import Construction, Trace
from .cover import SMALL, Cover, greedy_cover, pool_capacity, random_cover
from .distinct import Distinct, candidates_of
from .evidence import ClassOrder, Columns, Counts, Evidence, foresee
from .hyperplanes import Hyperplanes
from .patterns import Patterns
from .recipe import Recipe
from .values import Values
from .weighted import weighted_covers

WORTH_A_THREAD = 2**16  # words of the rest: counting fewer takes less time than starting a thread


def cover_classes(
    evidence: Evidence, order: ClassOrder, targets: tuple[int, ...], options: Recipe,
    turns: np.random.SeedSequence | Rows, progress: Progress = silent,
) -> list[Cover]:  # fmt: skip
    """One cover for every target class, over the same first layer (Section 4.4).

    ``turns`` is the seed of the candidates' order, or all rows in that order.
    """
    candidates = candidates_of(order, targets, turns)
    if isinstance(evidence, Counts) and _worth_grouping(evidence, order, candidates, options):
        return cover_distinct(Distinct.of(evidence, order, candidates), options, progress)
    return cover_distinct(Distinct.alone(evidence, order, candidates), options, progress)


def _worth_grouping(counts: Counts, order: ClassOrder, candidates: Mapping[int, Columns], options: Recipe) -> bool:
    """Whether equal patterns are to be one column: not where points are few, nor where greed has a pool of points."""
    if options.detectors == "weighted":
        return True
    return counts.cost([(0, int(order.starts[-1]))]) > SMALL and (
        options.selection == "random" or all_at_once(candidates, options)
    )


def cover_distinct(distinct: Distinct, options: Recipe, progress: Progress = silent) -> list[Cover]:
    """One cover for every target class, in points.

    Covers do not depend on one another. So each thread takes a whole class, the largest
    first, and no thread waits for others within it; those that find no class left help.
    """
    evidence, targets = distinct.evidence, list(distinct.turns)
    sizes = {k: int(distinct.target_sizes(k).sum()) for k in targets}
    tally = _Tally(progress, evidence.threads, sum(sizes.values()))
    weighted = options.detectors == "weighted"
    work = weighted_covers(distinct, tally.of) if weighted else _mask_covers(distinct, options, tally)
    anchors = distinct.order.rows if weighted or options.selection == "greedy" else distinct.leaders
    queue = sorted(targets, key=lambda k: -sizes[k])
    heavy = evidence.cost(distinct.order.rest(queue[0])) >= WORTH_A_THREAD
    covers = dict(zip(queue, (evidence.threads if heavy else SERIAL).map(work, queue), strict=True))
    return [distinct.in_points(covers[k], anchors) for k in targets]


def _mask_covers(distinct: Distinct, options: Recipe, tally: _Tally) -> Callable[[int], Cover]:
    """From a class to its cover with the masks of anchors, whose columns are distinct patterns."""
    evidence, order, turns = distinct.evidence, distinct.order, distinct.turns
    if len(turns) == len(order.starts) - 1:
        orders = None if options.selection == "greedy" and all_at_once(turns, options) else list(turns.values())
        evidence = foresee(evidence, [order.target(k) for k in turns], tally.progress, orders)

    def work(k: int) -> Cover:
        target, rest, sizes = order.target(k), order.rest(k), distinct.target_sizes(k)
        if options.selection == "greedy":
            return greedy_cover(evidence, target, rest, turns[k], options.greedy_memory, tally.of(k), sizes)
        return random_cover(evidence, target, rest, turns[k], tally.of(k), sizes)

    return work


def all_at_once(candidates: Mapping[int, Columns], options: Recipe) -> bool:
    """Whether greed may look at all candidates of every class together."""
    largest = max(map(len, candidates.values()))
    return largest <= pool_capacity(options.greedy_memory, largest)


def refuse_small_pool(candidates: Mapping[int, Columns], options: Recipe) -> None:
    """Greed over distinct patterns looks at all points of a class together: its memory must allow that."""
    if options.selection == "greedy" and not all_at_once(candidates, options):
        largest = max(map(len, candidates.values()))
        raise ParameterError(
            f'selection="greedy" takes {largest * 8 * n_words(largest):,} bytes for a class of {largest} points that '
            f'lie in parts: set greedy_memory to as much, or use selection="random"'
        )


class _Tally:
    """Progress over all classes, told from several threads; also where threads notice that they may stop."""

    def __init__(self, progress: Progress, threads: Threads, total: int) -> None:
        self.progress, self._threads, self._total = progress, threads, total
        self._done: dict[str, dict[int, int]] = {}
        self._lock = Lock()

    def of(self, k: int) -> Progress:
        """What class k reports to."""

        def tell(what: str, done: int, _total: int | None) -> None:
            self._threads.go_on()
            with self._lock:
                by_class = self._done.setdefault(what, {})
                by_class[k] = done
                self.progress(what, sum(by_class.values()), self._total)

        return tell


def gather_evidence(
    X: Matrix, order: ClassOrder, planes: Hyperplanes, patterns: Patterns, options: Recipe, threads: Threads
) -> Evidence:
    """Counts for the threshold, values for everything else; columns in class order."""
    if options.s.is_threshold:
        return Counts(patterns.on, threads, patterns.maybe)
    return Values(X, order.rows, planes, patterns.maybe, options.s, threads, options.exact_in)


def assemble(
    planes: Hyperplanes, patterns: BitMatrix | Distinct, order: ClassOrder, targets: tuple[int, ...],
    covers: list[Cover], activation: Activation, n_rescued: int = 0,
) -> Construction:  # fmt: skip
    """Algorithm 2, lines 11-12: the network that the covers make, and how it came about.

    Masks are what is off in ``patterns``.
    """
    columns = np.array([anchor for cover in covers for anchor in cover.anchors], dtype=np.intp)
    limits = [limit for cover in covers for limit in cover.limits]
    classes = np.repeat(np.asarray(targets, dtype=np.int64), [len(cover.anchors) for cover in covers])
    detectors = Layer(
        _counters(patterns, columns, covers),
        np.array(limits, dtype=np.int64 if activation.is_threshold else np.float64),
        activation,
    )
    first = Layer(Dense(planes.weights), planes.biases, activation)
    output, decoder = output_layer(classes, targets, len(order.starts) - 1)
    uncovered = np.sort(order.rows[np.concatenate([cover.uncovered for cover in covers])])
    trace = Trace(
        anchors=order.rows[columns].astype(np.int64),
        witnesses=order.rows[_all(covers, "witnesses")].astype(np.int64),
        coverage=_all(covers, "coverage"),
        detector_classes=classes,
        uncovered=uncovered.astype(np.int64),
        **_support(order, covers),
        n_rejected=sum(cover.n_rejected for cover in covers),
        n_drawn=planes.count - n_rescued,
        n_rescued=n_rescued,
    )
    outcome = Outcome.POINTS_MISSED if len(uncovered) else Outcome.INTERPOLATES
    return Construction(Network((first, detectors, output), decoder), outcome, trace)


def _counters(patterns: BitMatrix | Distinct, columns: NDArray[np.intp], covers: list[Cover]) -> Masks | WeightedMasks:
    """What detectors count with: the masks of their anchors, or weights."""
    weights = [one for cover in covers for one in cover.weights or ()]
    if any(cover.weights is None for cover in covers):
        return Masks(patterns.take(columns).complement(), -1)
    return WeightedMasks(np.array(weights, dtype=np.int8).reshape(len(weights), patterns.n_bits), -1)


def _support(order: ClassOrder, covers: list[Cover]) -> dict[str, Any]:
    """The rows that weighted detectors rest on, as the rows of a CSR matrix; nothing for masks."""
    supports = [one for cover in covers for one in cover.supports or ()]
    if not supports:
        return {}
    return {
        "support": order.rows[np.concatenate([one.columns for one in supports])].astype(np.int64),
        "shares": np.concatenate([one.shares for one in supports]),
        "support_starts": np.cumsum([0, *(len(one.columns) for one in supports)]).astype(np.int64),
    }


def _all(covers: list[Cover], name: str) -> NDArray[np.int64]:
    return np.array([value for cover in covers for value in getattr(cover, name)], dtype=np.int64)


def output_layer(classes: Codes, targets: tuple[int, ...], n_classes: int) -> tuple[Layer, Decoder]:
    """One unit that says "target" with a minus sign, or one unit for every class."""
    if len(targets) == 1:
        everyone = BitMatrix.from_bool(np.ones((1, len(classes)), dtype=bool))
        decoder = Decoder("sign", (targets[0], 1 - targets[0]))
        return Layer(Masks(everyone, -1), np.zeros(1, dtype=np.int64), None), decoder
    own = BitMatrix.from_bool(classes[None, :] == np.arange(n_classes)[:, None])
    decoder = Decoder("one_hot", tuple(range(n_classes)))
    return Layer(Masks(own, 1), np.zeros(n_classes, dtype=np.int64), None), decoder
