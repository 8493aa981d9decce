"""The paper's two algorithms in plain NumPy, to read beside the paper and to test against.

S. Dirksen, P. Finke, M. Genzel: Memorization With Neural Nets: Going Beyond the Worst Case. JMLR 25 (2024), no. 347.

Comments such as ``# line 6`` give the line of the algorithm in the paper. Sides of hyperplanes are plain float64 sums
here, and every pair of points is compared with every hyperplane: right for small data, and slow. The rest of the
package builds the same networks, faster, and decides every side as exact arithmetic would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]
Hyperplane = tuple[Floats, float]
Detector = tuple[Ints, int]  # what it counts with, and its limit

EPOCHS = 200  # passes of the perceptron that looks for the weights of a detector
LARGEST_WEIGHT = 127


@dataclass(frozen=True, eq=False)
class ReferenceNetwork:
    """Three layers: hyperplanes, detectors, and one output for each class that has detectors.

    Attributes
    ----------
    weights, biases : ndarray of float64, shapes (n, d) and (n,)
        Hyperplane i is {x : <weights[i], x> + biases[i] = 0}.
    counters : ndarray of int64, shape (n_detectors, n)
        What each detector counts with: a mask of zeros and ones, or integer weights.
    limits : ndarray of int64, shape (n_detectors,)
        A detector fires when its count is below its limit.
    classes : ndarray of int64, shape (n_detectors,)
        The class that each detector speaks for.
    anchors : ndarray of int64, shape (n_detectors,)
        The training row that each detector is built on.
    uncovered : ndarray of int64
        Rows of target classes that no detector claims; empty if the network interpolates.
    targets : tuple of int
        The classes that get detectors: all, or one of two.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.reference import algorithm_1
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    >>> network = algorithm_1(X, y, rng=np.random.default_rng(0))
    >>> network.predict(X)
    array([0, 1, 1, 0])
    """

    weights: Floats
    biases: Floats
    counters: Ints
    limits: Ints
    classes: Ints
    anchors: Ints
    uncovered: Ints
    targets: tuple[int, ...]

    def bits(self, X: Floats) -> Bits:
        """Return on which side of each hyperplane each point is: the first layer."""
        return sides(X, self.weights, self.biases)

    def fires(self, X: Floats) -> Bits:
        """Return which detectors fire on which points, shape (n_points, n_detectors): the second layer."""
        return np.asarray(self.bits(X).astype(np.int64) @ self.counters.T < self.limits)

    def predict(self, X: Floats) -> Ints:
        """Return the one class whose detectors fire, -1 where there is none or more than one.

        With a single target, a point on which no detector fires belongs to the other of two classes.
        """
        fires = self.fires(X)
        claims = np.array([fires[:, self.classes == k].any(axis=1) for k in self.targets]).T
        if len(self.targets) == 1:
            return np.where(claims[:, 0], self.targets[0], 1 - self.targets[0])
        return np.where(claims.sum(axis=1) == 1, np.array(self.targets)[claims.argmax(axis=1)], -1)


def sides(X: Floats, weights: Floats, biases: Floats) -> Bits:
    """Return the bits Phi(x) of each row: whether <w, x> + b > 0. A point on the hyperplane is off."""
    return np.asarray(X @ weights.T + biases > 0)


def gaussian_hyperplanes(rng: np.random.Generator, n_features: int, max_bias: float) -> Iterator[Hyperplane]:
    """Draw the paper's random hyperplanes: w ~ N(0, I), b uniform on [-max_bias, max_bias]."""
    while True:
        yield rng.standard_normal(n_features), float(rng.uniform(-max_bias, max_bias))


def mask_detector(bits: Bits, anchor: int, uncovered: Ints, rest: Ints) -> Detector:
    """Return the paper's detector: the mask u of hyperplanes that are off at the anchor, and the limit m."""
    mask = (~bits[anchor]).astype(np.int64)  # u = 1[Phi(x*) = 0]
    return mask, int((bits[rest] @ mask).min())  # m = min over the rest of <u, Phi(x)>


def weighted_detector(bits: Bits, anchor: int, uncovered: Ints, rest: Ints) -> Detector:
    """Return integer weights and their limit: a half-space of the cube that a perceptron finds.

    Any weights are right, because the limit is the least count over the rest: good ones claim more points. Where
    the perceptron finds none that claim the anchor and more points than its mask, the mask is returned.
    """
    rows = np.concatenate([uncovered, rest])
    labels = np.concatenate([np.ones(len(uncovered)), -np.ones(len(rest))])
    patterns = np.column_stack([2.0 * bits[rows] - 1.0, np.ones(len(rows))])
    best = mask_detector(bits, anchor, uncovered, rest)
    normal = np.zeros(patterns.shape[1])
    for _ in range(EPOCHS):
        misfits = labels * (patterns @ normal) <= 1.0
        normal += (labels * misfits) @ patterns / len(rows)
        largest = np.abs(normal[:-1]).max()
        if not misfits.any() or largest == 0:
            break
        weights = np.rint(-LARGEST_WEIGHT * normal[:-1] / largest).astype(np.int64)
        limit = int((bits[rest] @ weights).min())
        claimed = np.count_nonzero(bits[uncovered] @ weights < limit)
        if bits[anchor] @ weights < limit and claimed > np.count_nonzero(bits[uncovered] @ best[0] < best[1]):
            best = weights, limit
    return best


def cover(
    bits: Bits, y: Ints, target: int, order: Ints, make: Callable[[Bits, int, Ints, Ints], Detector] = mask_detector
) -> tuple[list[tuple[int, Detector]], Ints]:
    """Choose detectors until every point of the target class is claimed (Algorithm 2, lines 2 to 10).

    Parameters
    ----------
    bits : ndarray of bool, shape (n_points, n_hyperplanes)
    y : ndarray of int64, shape (n_points,)
    target : int
        The class to cover; all other points are the rest.
    order : ndarray of int64
        The rows of the target class in random order: a uniform permutation, read from left to right without those
        that are covered already, is the same as drawing again and again from what is left.
    make : callable
        What makes a detector: :func:`mask_detector` or :func:`weighted_detector`.

    Returns
    -------
    detectors : list of (anchor, detector)
    uncovered : ndarray of int64
    """
    rest = np.flatnonzero(y != target)
    uncovered = np.flatnonzero(y == target)  # line 2: C = U = target
    accepted: list[tuple[int, Detector]] = []  # line 2: A = {}
    for anchor in order.tolist():  # lines 3 and 4: x* is drawn from C, and leaves it
        if anchor not in uncovered:  # covered points have left C
            continue
        counter, limit = make(bits, anchor, uncovered, rest)  # line 5: u and m
        claimed = bits[uncovered] @ counter < limit  # line 7: T
        if limit > (bits[anchor] @ counter):  # line 6: m > 0, as a mask counts nothing at its anchor
            uncovered = uncovered[~claimed]  # line 8: T leaves C and U
            accepted.append((anchor, (counter, limit)))  # line 8: x* joins A
    return accepted, uncovered


def algorithm_1(
    X: Floats, y: Ints, *, rng: np.random.Generator, min_width: int = 0, targets: Iterable[int] | None = None,
    hyperplanes: Iterable[Hyperplane] | None = None, order: Ints | None = None, make: Any = mask_detector,
) -> ReferenceNetwork:  # fmt: skip
    """Draw hyperplanes until every pair of different labels is separated, then cover: always interpolates.

    Parameters
    ----------
    X : ndarray of float64, shape (n_points, d)
    y : ndarray of int64, shape (n_points,)
        Class codes 0, 1, ..., K-1. Equal points need equal labels.
    rng : Generator
    min_width : int
        The paper's n_min.
    targets : iterable of int, optional
        The classes that get detectors, by default all (Section 4.4).
    hyperplanes : iterable of (weights, bias), optional
        Taken in this order, by default drawn as the paper does.
    order : ndarray of int64, optional
        All rows in the order in which they become candidates, by default random.
    make : callable
        See :func:`cover`.
    """
    targets = sorted(set(y.tolist())) if targets is None else list(targets)
    radius = float(np.linalg.norm(X, axis=1).max())  # line 1: R, and lambda = R
    source = iter(hyperplanes if hyperplanes is not None else gaussian_hyperplanes(rng, X.shape[1], radius))
    # line 2: S is empty; here its complement, the ordered pairs (target, rest) that are still open
    is_open = np.isin(y, targets)[:, None] & (y[:, None] != y[None, :])
    weights: list[Floats] = []
    biases: list[float] = []
    while is_open.any() or len(weights) < min_width:  # line 3
        w, b = next(source)  # lines 4 and 5: n grows by one, (w_n, b_n) is drawn
        on = X @ w + b > 0
        is_open &= ~(~on[:, None] & on[None, :])  # line 6: S grows by the pairs that hyperplane n separates
        weights.append(w)
        biases.append(b)
    # lines 8 to 16: with every pair separated, Algorithm 2 leaves nothing uncovered
    return algorithm_2(X, y, np.array(weights), np.array(biases), rng=rng, targets=targets, order=order, make=make)


def algorithm_2(
    X: Floats, y: Ints, weights: Floats, biases: Floats, *, rng: np.random.Generator,
    targets: Iterable[int] | None = None, order: Ints | None = None, make: Any = mask_detector,
) -> ReferenceNetwork:  # fmt: skip
    """Cover the target classes over the given hyperplanes (line 1), as far as these separate the points.

    Takes the parameters of :func:`algorithm_1`, and ``weights`` of shape (n, d) and ``biases`` of shape (n,).
    """
    targets = sorted(set(y.tolist())) if targets is None else list(targets)
    order = rng.permutation(len(y)) if order is None else order
    bits = sides(X, weights, biases)
    anchors, detectors, classes, uncovered = [], [], [], []
    for k in targets:  # Section 4.4: every class is the target once, over one shared first layer
        accepted, left = cover(bits, y, k, order[y[order] == k], make)
        anchors += [anchor for anchor, _ in accepted]
        detectors += [detector for _, detector in accepted]
        classes += [k] * len(accepted)
        uncovered += left.tolist()
    counters = np.array([counter for counter, _ in detectors], dtype=np.int64).reshape(len(detectors), len(biases))
    limits = np.array([limit for _, limit in detectors], dtype=np.int64)
    owners, rows, missed = (np.array(part, dtype=np.int64) for part in (classes, anchors, sorted(uncovered)))
    # line 11: Phi-hat from A
    return ReferenceNetwork(weights, biases, counters, limits, owners, rows, missed, tuple(targets))
