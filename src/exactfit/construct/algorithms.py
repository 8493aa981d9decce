"""The paper's two algorithms. ``exactfit.reference`` has them in plain NumPy, with the same line numbers.

Points are known by their bits only: a sampler draws hyperplanes, ``first_layer`` decides the sides of points,
``separation`` keeps the pairs that are still open, ``cover`` chooses the detectors. Bits that rounding or a margin
leaves open, and points that lie in chunks elsewhere, are the business of those alone.
"""

from __future__ import annotations

from .construction import Construction, assemble
from .first_layer import TrainingSet
from .hyperplanes import Hyperplanes, HyperplaneSampler


def algorithm_1(data: TrainingSet, sampler: HyperplaneSampler) -> Construction:
    """Draw hyperplanes until every pair of different labels is separated, then cover: always interpolates."""
    layer = data.first_layer(sampler)  # lines 1 and 2: every pair of a target and a rest point is open
    while not layer.pairs.closed or layer.width < data.widths.smallest:  # line 3
        if layer.has_stalled():  # further draws would separate hardly any pair: ``finish`` separates what is left
            break
        bits = layer.draw()  # lines 4 and 5: n grows by 64 hyperplanes, and Phi(x) of every point by as many bits
        layer.pairs.add(*bits)  # line 6: the pairs that they separate are closed
    layer.finish()  # line 8: leaves off hyperplanes after the last needed one; after a stall adds cuts or bisectors
    covers = layer.cover()  # lines 9 to 14: with every pair separated, nothing is left uncovered
    return assemble(data, layer.planes, covers, layer.n_fallback_cuts)  # lines 15 and 16


def algorithm_2(data: TrainingSet, source: HyperplaneSampler | Hyperplanes) -> Construction:
    """Draw ``width`` hyperplanes, or take given ones, and cover each target class as far as they allow."""
    planes = source.first(data.widths.largest)  # line 1
    patterns = data.unique_patterns(planes)  # Phi(x) of every point
    covers = data.cover(planes, patterns)  # lines 2 to 10, for every class over the same layer
    return assemble(data, planes, covers)  # lines 11 and 12
