"""Algorithm 1 where points lie in parts: distinct patterns, which parts tell anew at every doubling of the width."""

from __future__ import annotations

import numpy as np

from .._kernels.counting import WORD_BITS
from .._support.threads import Executor
from ..exceptions import WidthLimitError
from .algorithms import BATCH_BLOCKS, GrowingLayer, Setup, Take
from .construction import Construction, assemble
from .cover import cover_distinct
from .fallback_cuts import coordinate_cuts
from .hyperplanes import Hyperplanes, Source
from .patterns import Line
from .separation import OpenPairs
from .unique_patterns import CandidateOrder, PatternGroups, PatternMembers, candidates_of


def algorithm_1_on_chunks(setup: Setup, root: np.random.SeedSequence, work: Executor) -> Construction:
    """As ``algorithm_1``, and the same network."""
    order, targets, options = setup.order, setup.targets, setup.options
    candidates = candidates_of(order, targets, root)
    layer = _ChunkedLayer(setup, work, candidates)
    layer.separate(setup.source(root))  # lines 1-8
    unique = setup.X.as_unique(layer.planes, order, candidates, layer.groups, work.threads)
    covers = cover_distinct(unique, options, work.progress)  # lines 9-14
    return assemble(layer.planes, unique, order, targets, covers, options.s, layer.n_fallback_cuts)  # lines 15-16


class _Drained(Exception):  # noqa: N818  (a finding, not an error)
    """More hyperplanes are wanted than points have been held against."""


class _ChunkedLayer(GrowingLayer):
    """As :class:`GrowingLayer` where points lie in parts: distinct patterns, anew at every doubling of width."""

    def __init__(self, setup: Setup, work: Executor, candidates: CandidateOrder) -> None:
        super().__init__(setup, work)
        self.order, self.candidates = setup.order, candidates
        self.groups: PatternGroups

    def separate(self, source: Source) -> None:
        """Algorithm 1, lines 3-7."""
        targets, planes = self.setup.targets, source.blocks(0, BATCH_BLOCKS)
        while True:
            self._look(planes)
            pairs = OpenPairs(self.groups.codes, targets, threads=self.threads, members=self._members())
            try:
                blocks, lines = self._draw(pairs, self._taking(planes))
                break
            except _Drained:
                planes = planes.append(self._further(pairs, planes.count // WORD_BITS, source))
        self._keep(blocks, lines, pairs)
        self.n_fallback_cuts = 0
        if not pairs.closed:
            self.add_cuts(coordinate_cuts(self.X, pairs.iter_point_pairs()))

    def _further(self, pairs: OpenPairs, drawn: int, source: Source) -> Hyperplanes:
        """Blocks before points are looked at again: all that are left, or as many again."""
        return source.blocks(drawn, -(-self.widths.smallest // WORD_BITS) if pairs.closed else 2 * drawn)

    def _look(self, planes: Hyperplanes) -> None:
        """Go over all points."""
        self.planes, self.groups = planes, self.X.groups(planes, self.order, self.candidates)
        if self.groups is None:
            raise WidthLimitError(
                f"the distinct patterns of {planes.count} hyperplanes exceed what memory allows "
                f"({self.X.memory:,} bytes), and pairs of points may still be unseparated. Use a fixed width, which "
                "may miss points, raise memory_limit, or scale features so that different labels lie further apart."
            )

    def _members(self) -> PatternMembers:
        planes, groups, order = self.planes, self.groups, self.order
        return PatternMembers(groups.sizes, lambda some: self.X.members(planes, order, groups.take(some)))

    def _taking(self, planes: Hyperplanes) -> Take:
        ready = iter(zip(planes.blocks(), self.groups.words, strict=True))

        def take() -> tuple[Hyperplanes, Line]:
            for block, words in ready:
                return block, (words, words)
            raise _Drained

        return take

    def _keep(self, blocks: list[Hyperplanes], lines: list[Line], pairs: OpenPairs) -> None:
        n = self._width(len(lines), pairs)
        self.planes = Hyperplanes.joined(blocks).head(n)
        self.groups = self.groups.head(n)

    def _add(self, planes: Hyperplanes) -> None:
        self._look(self.planes.append(planes))
