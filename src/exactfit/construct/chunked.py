"""Points that lie in chunks: of these only unique patterns come here, with how many points each stands for."""

from __future__ import annotations

from .._kernels.counting import WORD_BITS
from ..exceptions import WidthLimitError
from .first_layer import BATCH_BLOCKS, FirstLayer, TrainingSet
from .hyperplanes import Hyperplanes, HyperplaneSampler
from .patterns import BlockBits
from .separation import OpenPairs, PatternMembers
from .unique_patterns import PatternGroups, UniquePatterns


class ChunkedTrainingSet(TrainingSet):
    """As :class:`TrainingSet`, for points in chunks and options that need no more than exact bits."""

    def first_layer(self, sampler: HyperplaneSampler) -> FirstLayer:
        """Return a layer without hyperplanes, which is to grow."""
        return ChunkedFirstLayer(self, sampler)

    def unique_patterns(self, planes: Hyperplanes, bits: list[BlockBits] | None = None) -> UniquePatterns:
        """Return what covers are made of."""
        assert bits is None  # those of groups are not those of points
        unique: UniquePatterns = self.X.unique_patterns(planes, self.order, self.candidates, self.threads)
        return unique


class ChunkedFirstLayer(FirstLayer):
    """As :class:`FirstLayer`, over groups of equal points, for which all chunks are gone over at every doubling."""

    def __init__(self, data: TrainingSet, sampler: HyperplaneSampler) -> None:
        self.data = data
        self._go_over(sampler.blocks(0, BATCH_BLOCKS))
        super().__init__(data, sampler)
        self._drawn = self._blocks()[::-1]

    def draw(self) -> BlockBits:
        """Add the next block of hyperplanes, and return its bits at all groups of points."""
        if not self._drawn and self.width < self.data.widths.largest:
            # As many blocks again; or all that are left, if these only have to make up the least width.
            done, least = len(self.bits), -(-self.data.widths.smallest // WORD_BITS)
            more = self.sampler.blocks(done, least if self.pairs.closed else 2 * done)
            self._go_over(self.planes.append(more))
            # Groups are others now: the pairs of these, as they were left by the blocks so far.
            self.pairs = self._open_pairs()
            blocks = self._blocks()
            self.bits = [bits for _, bits in blocks[:done]]
            for bits in self.bits:
                self.pairs.add(*bits)
            self._drawn = blocks[done:][::-1]
        return super().draw()

    def _go_over(self, planes: Hyperplanes) -> None:
        """Group all points by their patterns over some hyperplanes."""
        found: PatternGroups | None = self.data.X.groups(planes, self.data.order, self.data.candidates)
        if found is None:
            raise WidthLimitError(
                f"the distinct patterns of {planes.count} hyperplanes exceed what memory allows "
                f"({self.data.X.memory:,} bytes), and pairs of points may still be unseparated. Use a smaller "
                "fixed width, which may miss points, raise memory_limit, or scale features so that different labels "
                "lie further apart."
            )
        self.planes, self.groups = planes, found

    def _blocks(self) -> list[tuple[Hyperplanes, BlockBits]]:
        """Return the hyperplanes of every block, and their bits at all groups."""
        return [(b, (words, words)) for b, words in zip(self.planes.blocks(), self.groups.words, strict=True)]

    def _open_pairs(self) -> OpenPairs:
        planes, groups, order = self.planes, self.groups, self.data.order
        members = PatternMembers(groups.sizes, lambda some: self.data.X.members(planes, order, groups.take(some)))
        return OpenPairs(groups.codes, self.data.targets, threads=self.data.threads, members=members)

    def finish(self) -> None:
        """Close the pairs that are still open, and leave off hyperplanes that are not needed."""
        super().finish()
        if self.pairs.closed:  # else all points were gone over once more, for the cuts
            self.groups = self.groups.head(self.planes.count)

    def _append(self, planes: Hyperplanes) -> None:
        self._go_over(self.planes.append(planes))

    def _unique_patterns(self) -> UniquePatterns:
        data = self.data
        unique: UniquePatterns = data.X.as_unique(self.planes, data.order, data.candidates, self.groups, data.threads)
        return unique
