"""The paper's own construction behind the protocol of the others: Algorithm 1 (adaptive) and Algorithm 2 (fixed width).

S. Dirksen, P. Finke, M. Genzel, *Memorization With Neural Nets: Going Beyond the Worst Case*, JMLR 25 (2024).

Size, with n hyperplanes, m detectors and o outputs (1 for two classes unless ``target="all"``, else K): n + m + o units
and n (d + 1) + m (n + 1) + o (m + 1) parameters (:func:`own_size`).

Float64: always; sides are exact and counts are integers (for ReLU, see ``construct/values.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._support.parameters import Seed
from ..construct import Construction, Recipe, adaptive_width, fixed_width
from .base import Codes, Labels, Matrix

CITATION = "S. Dirksen, P. Finke, M. Genzel, Memorization With Neural Nets: Going Beyond the Worst Case, JMLR 25 (2024)"


def own_size(n_hyperplanes: int, n_detectors: int, n_features: int, n_outputs: int) -> tuple[int, int]:
    """Units (outputs included) and parameters of the paper's three layers.

    Examples
    --------
    >>> from exactfit.constructions.own import own_size
    >>> own_size(n_hyperplanes=64, n_detectors=2, n_features=2, n_outputs=1)
    (67, 325)
    """
    units = n_hyperplanes + n_detectors + n_outputs
    weights = n_hyperplanes * n_features + n_detectors * n_hyperplanes + n_outputs * n_detectors
    return units, weights + units


@dataclass(unsafe_hash=True)
class AdaptiveWidth(Recipe):
    """Algorithm 1: hyperplanes until every pair of different labels is separated, then detectors.

    Its options are those of :class:`~exactfit.Recipe`, all but ``width``.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import AdaptiveWidth
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> AdaptiveWidth().construct(X, y, random_state=0).network.decide(X)
    array([0, 1, 0])
    """

    name: ClassVar[str] = "adaptive-width"
    citation: ClassVar[str] = CITATION
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass")
    assumptions: ClassVar[str] = "none"
    randomized: ClassVar[bool] = True

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        return adaptive_width(X, y, self, random_state)


@dataclass(unsafe_hash=True)
class FixedWidth(Recipe):
    """Algorithm 2: a given number of hyperplanes, then detectors for as many points as they allow.

    Its options are those of :class:`~exactfit.Recipe`. Unlike all others it may miss points;
    its outcome says so.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import FixedWidth
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> FixedWidth(100).construct(X, y, random_state=0).network.widths
    (100, 1, 1)
    """

    name: ClassVar[str] = "fixed-width"
    citation: ClassVar[str] = CITATION
    labels: ClassVar[tuple[Labels, ...]] = ("binary", "multiclass")
    assumptions: ClassVar[str] = "the width is large enough"
    randomized: ClassVar[bool] = True

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """A network that fits every point it can; see :class:`~exactfit.constructions.Constructor`."""
        return fixed_width(X, y, self.width, self, random_state)  # type: ignore[arg-type]  # "adaptive" is refused there
