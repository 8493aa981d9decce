"""Algorithm 2: a first layer of given width."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._support.options import Seed, seed_sequence
from .._support.threads import Work
from ..data import Codes, Matrix
from .construction import Construction
from .evidence import ClassOrder, Counts
from .given import Given
from .hyperplanes import Block, Source, bisector, gaussian, in_format, local, near_bisector, refuse_too_large
from .margins import claim_without_margin
from .one_vs_rest import assemble, cover_classes, gather_evidence
from .patterns import patterns_of
from .recipe import Options


def hyperplane_source(X: Matrix, y: Codes, targets: tuple[int, ...], options: Options, random_state: Seed) -> Source:
    """The supply of hyperplanes that the options ask for."""
    return Source(seed_sequence(random_state), in_format(_law(X, y, targets, options), options.exact_in))


def _law(X: Matrix, y: Codes, targets: tuple[int, ...], options: Options) -> Block:
    if options.hyperplanes == "local":
        return local(X, y, targets, tuple(options.image_shape or ()))
    if options.hyperplanes == "near-bisector":
        return near_bisector(X, y, targets)
    if options.hyperplanes == "bisector":
        return bisector(X, y, targets)
    return gaussian(X, max_bias=options.max_bias, center=options.center)


def algorithm_2(
    X: Matrix, y: Codes, targets: tuple[int, ...], options: Options, root: np.random.SeedSequence, work: Work,
    given: Given | None = None,
) -> Construction:  # fmt: skip
    """Draw ``options.width`` hyperplanes, if they are not given, and cover each target class as far as they allow.

    X has passed the gate and is rounded to ``options.exact_in``; equal points have equal labels.
    """
    width = int(options.width)
    refuse_too_large(width, X, options.has_open_bits, options.detectors)
    given = given or Given()
    planes = given.planes or hyperplane_source(X, y, targets, options, root).first(width)  # line 1
    turns = root if given.order is None else given.order
    order = ClassOrder.of(y)
    patterns = patterns_of(X, planes, options, work.threads, order.rows)
    evidence = gather_evidence(X, order, planes, patterns, options, work.threads)
    covers = cover_classes(evidence, order, targets, options, turns, work.progress)  # lines 2-10
    masked = patterns.maybe
    if options.has_margin and any(len(cover.uncovered) for cover in covers):
        still = patterns_of(X, planes, replace(options, margin=0.0), work.threads, order.rows).maybe
        masked = claim_without_margin(Counts(patterns.on, work.threads, still), order, targets, covers, masked)
    return assemble(planes, masked, order, targets, covers, options.s)  # lines 11-12
