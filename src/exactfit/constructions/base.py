"""The protocol of constructions, the steps that they share, and the paper's two algorithms behind it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike

from .._support.parameters import Seed, seed_sequence
from .._support.threads import single_threaded_blas
from ..construct import Construction, Options, Trace, adaptive_width, fixed_width
from ..construct.fallback_cuts import coordinate_cuts
from ..construct.hyperplanes import Hyperplanes
from ..data import Codes, Floats, Labelled, Matrix, Rows, distinct_rows, refuse_conflicts
from ..data.matrices import dense_rows
from ..exceptions import AssumptionError, ParameterError, TooLargeError
from ..network import Decoder, Dense, Layer, Network
from ..outcome import Outcome

APART = "that points of different labels are farther apart than squared norms are rounded"
REMEDY = "Centre the data, scale the features, or use a construction that needs less precision."
PAPER = "S. Dirksen, P. Finke, M. Genzel, Memorization With Neural Nets: Going Beyond the Worst Case, JMLR 25 (2024)"


@runtime_checkable
class Constructor(Protocol):
    """Interface of constructions: frozen dataclasses whose fields are their options.

    Attributes
    ----------
    name : str
        Short and lower case, as ``compare`` and the command line write it.
    citation : str
        Authors, title, where and when.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import Constructor, Huang
    >>> isinstance(Huang(), Constructor)
    True
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> Huang().construct(X, y, random_state=0).network.decide(X)
    array([0, 1, 0])
    """

    name: ClassVar[str]
    citation: ClassVar[str]

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """Return a network that fits every point.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : array of class indices 0..K-1
        random_state : int, Generator, SeedSequence or None

        Returns
        -------
        Construction

        Raises
        ------
        DataError
            If the points cannot be used: not finite, of one class only, or
            (:class:`~exactfit.ContradictoryLabelsError`) equal with different labels.
        AssumptionError
            If the recipe needs more of the points than they have; it names the rows.
        """
        ...


@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """Distinct points in the order of first appearance, with class indices, and the rows of the data they came from."""

    X: Floats
    y: Codes
    rows: Rows
    n_classes: int

    def __len__(self) -> int:
        return len(self.y)

    def of_class(self, code: int) -> Rows:
        """Return the positions of the points of a class."""
        return np.flatnonzero(self.y == code).astype(np.int64)

    def largest_class(self) -> int:
        """Return the class with the most points, the lowest of several: no unit needs to claim it."""
        return int(np.bincount(self.y).argmax())

    def classes_but(self, base: int) -> list[int]:
        """Return all classes but one."""
        return [code for code in range(self.n_classes) if code != base]


def distinct_points(X: Matrix, y: Any) -> DistinctPoints:
    """Check points and class indices 0..K-1, and keep each point once.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions.base import distinct_points
    >>> points = distinct_points(np.array([[2.0], [1.0], [2.0]]), np.array([1, 0, 1]))
    >>> points.X.ravel(), points.y, points.rows
    (array([2., 1.]), array([1, 0]), array([0, 1]))
    """
    data = Labelled.of_codes(X, y)
    refuse_conflicts(data.X, data.codes)
    rows, _ = distinct_rows(data.X, data.codes)
    return DistinctPoints(dense_rows(data.X, rows), data.codes[rows], rows, len(data.classes))


class Published(Constructor):
    """Base of the published constructions, which build from distinct points and a seed, with one BLAS thread."""

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """Return a network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        points = distinct_points(X, y)
        # The last bits of a product depend on the number of BLAS threads, and networks must not.
        with single_threaded_blas():
            network, trace = self._build(points, seed_sequence(random_state))
        return Construction(network, Outcome.INTERPOLATES, trace)

    @abstractmethod
    def _build(self, points: DistinctPoints, root: np.random.SeedSequence) -> tuple[Network, Trace]: ...


def verified(network: Network, points: DistinctPoints) -> Network:
    """Return the network if it gives every point its class, else raise with the rows."""
    # Recipes leave a margin for rounding, so this is the last line of defence, for numbers near the ends of float64.
    wrong = network.decide(points.X, checked=True) != points.y
    if wrong.any():
        raise AssumptionError("that float64 is fine enough for the recipe's numbers", points.rows[wrong], REMEDY)
    return network


def refuse_large_norms(points: DistinctPoints) -> None:
    """Raise :class:`AssumptionError` where squared norms overflow."""
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(4 * (points.X * points.X).sum(axis=1))
    if wrong.any():
        raise AssumptionError("that squared norms are finite in float64", points.rows[wrong], REMEDY)


def refuse_too_large(needed: int, memory_limit: int, what: str) -> None:
    """Raise :class:`TooLargeError` if weights need more bytes than an option allows."""
    if needed > memory_limit:
        raise TooLargeError(
            f"{what} need {needed:,} bytes of weights: raise memory_limit={memory_limit:,}, or use a construction that "
            "grows less"
        )


def claim_output(classes: Codes, signs: Floats, base: int, n_classes: int) -> tuple[Layer, Decoder]:
    """Output layer over 0/1 units that claim points for classes; a point that nothing claims belongs to ``base``."""
    # One output of claims - 1/2 for two classes; else one for each class, that of ``base`` being 1/2 - all claims.
    if n_classes == 2:
        return Layer(Dense(signs[None, :].copy()), np.array([-0.5]), None), Decoder("sign", (base, 1 - base))
    # Two claims of different classes leave several outputs positive: such a point has no answer.
    weights = np.where(classes[None, :] == np.arange(n_classes)[:, None], signs[None, :], 0.0)
    weights[base] = -signs
    bias = np.full(n_classes, -0.5)
    bias[base] = 0.5
    return Layer(Dense(weights), bias, None), Decoder("one_hot", tuple(range(n_classes)))


def nearest_level(levels: Sequence[float] | Floats) -> Decoder:
    """Return the decoder of one real output to the class whose level is nearest."""
    return Decoder("nearest", tuple(range(len(levels))), tuple(float(level) for level in levels))


def cut_planes(X: Floats, pairs: Iterable[tuple[Rows, Rows]], dtype: DTypeLike = np.float64) -> Hyperplanes:
    """Cuts along features that separate pairs of points: the first of each pair off, the second on."""
    cuts = coordinate_cuts(X, pairs)
    weights = np.zeros((len(cuts), X.shape[1]), dtype=dtype)
    weights[np.arange(len(cuts)), cuts.feature] = cuts.sign
    return Hyperplanes(weights, -cuts.sign * cuts.threshold)


@dataclass(frozen=True)
class AdaptiveWidth(Options, Constructor):
    """Algorithm 1: hyperplanes until every pair of different labels is separated, then detectors.

    Its options are those of :class:`~exactfit.Options`, all but ``width``.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import AdaptiveWidth
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> AdaptiveWidth().construct(X, y, random_state=0).network.decide(X)
    array([0, 1, 0])
    """

    name = "adaptive-width"
    citation = PAPER

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """Return a network that fits every point; see :class:`~exactfit.constructions.Constructor`."""
        return adaptive_width(X, y, self, random_state)


@dataclass(frozen=True)
class FixedWidth(Options, Constructor):
    """Algorithm 2: a given number of hyperplanes, then detectors for as many points as they allow.

    Its options are those of :class:`~exactfit.Options`. Unlike all others it may miss points;
    its outcome says so.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.constructions import FixedWidth
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> FixedWidth(100).construct(X, y, random_state=0).network.widths
    (100, 1, 1)
    """

    name = "fixed-width"
    citation = PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_adaptive:
            raise ParameterError("FixedWidth needs a width, as in FixedWidth(1000): AdaptiveWidth finds one by itself")

    def construct(self, X: Matrix, y: Codes, random_state: Seed = None) -> Construction:
        """Return a network that fits every point it can; see :class:`~exactfit.constructions.Constructor`."""
        return fixed_width(X, y, options=self, random_state=random_state)
