"""Algorithm 2: a first layer of given width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import Threads
from .construction import Construction
from .evidence import ClassOrder
from .hyperplanes import Seed, Source, bisector, gaussian, in_format, seed_sequence
from .labels import refuse_conflicts, refuse_not_finite
from .memory import refuse_too_large
from .one_vs_rest import assemble, check_data, choose_targets, cover_classes, gather_evidence
from .patterns import patterns_of, rounded
from .recipe import Recipe, check_whole

Matrix = Any


def hyperplane_source(X: Matrix, y: NDArray[np.int64], targets: tuple[int, ...], recipe: Recipe, rng: Seed) -> Source:
    """The supply of hyperplanes that a recipe asks for."""
    if recipe.hyperplanes == "bisector":
        draw = bisector(X, y, targets)
    else:
        draw = gaussian(X, max_bias=recipe.max_bias, center=recipe.center)
    return Source(seed_sequence(rng), in_format(draw, recipe.exact_in))


def fixed_width(
    X: Matrix, y: Any, width: int, recipe: Recipe | None = None, rng: Seed = None, *, check: bool = True
) -> Construction:
    """Build a network with exactly ``width`` hyperplanes (Algorithm 2); it may miss points.

    Parameters
    ----------
    X : ndarray or CSR matrix, shape (n_points, d)
    y : array of int, shape (n_points,)
        Class codes 0..K-1.
    width : int
    recipe : Recipe, optional
    rng : int, Generator, SeedSequence or None
    check : bool
        Whether to look for NaN, infinity and equal points with different labels first;
        pass False only where that has been done.

    Returns
    -------
    Construction
        Its outcome says whether the network interpolates.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.construct import fixed_width
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> made = fixed_width(X, np.array([0, 1, 1, 0]), width=64, rng=0)
    >>> made.outcome.interpolates, made.network.widths
    (True, (64, 2, 1))
    """
    recipe = recipe or Recipe()
    width = check_whole("width", width, at_least=1)
    codes = check_data(X, y)
    targets = choose_targets(codes, recipe.target)
    refuse_too_large(width, X, recipe.exact_in)
    if check:
        refuse_not_finite(X)
    X = rounded(X, recipe.exact_in)
    if check:
        refuse_conflicts(X, codes, recipe.exact_in)
    source = hyperplane_source(X, codes, targets, recipe, rng)
    planes = source.first(width)  # line 1
    order = ClassOrder.of(codes)
    with Threads(recipe.n_jobs) as threads:
        patterns = patterns_of(X, planes, recipe.exact_in, threads, order.rows)
        evidence = gather_evidence(X, order, planes, patterns, recipe, threads)
        covers = cover_classes(evidence, order, targets, recipe, source.root)  # lines 2-10
    return assemble(planes, patterns.maybe, order, targets, covers, recipe.s)  # lines 11-12
