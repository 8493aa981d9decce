"""Conditions: hyperplanes in words, with names and units of the data; and those that hold at a point."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .construct.importances import FULL
from .data.matrices import dense_rows
from .network.detector_network import DetectorNetwork

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

NAMED, NAMED_NEAR = 5, 3  # conditions of an explanation: those that say most, then those that hold only just
NEAR = 0.1  # of what rows typically differ by: a condition that holds by less holds only just
LONGEST = 8  # features of a condition: sentences of more are hard to read
DIGITS, CLEAN, MOST_DIGITS = 4, 12, 17  # where training rows are not at hand; of cells; of any float64
LONGEST_CELL, LONGEST_SUM = 8, 5  # characters of a point's own number that is shown as it is
LARGEST = Fraction(2) ** 1023  # more than half of what float64 holds
HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A condition that holds at a point and speaks for its answer: one side of a hyperplane.

    Attributes
    ----------
    text : str
        In words, in the units of the data.
    here : str
        The point's own value; empty where the text says it.
    unit : str
        Of the threshold and the value, for dates: days.
    where : str
        Which of the point's categories it takes for granted, as the text says: with others the threshold is another.
    features : tuple of str
        What the hyperplane looks at.
    weights : tuple of float
    relation : {{">", "<", ">=", "<="}}
        Between the weighted sum of the features and the threshold.
    threshold, value : float
        The latter is the weighted sum at the point. Both are rounded so that the condition stays true.
    hyperplane : int
        Its number in the network.
    slack : float
        How much of its slack the detector would lose if the condition failed.
    rate : float or None
        Share of the training rows for which it holds; None if not known, or if it is about some of them (``where``).
    near : bool
        Whether it holds only just: by less than a tenth of what rows typically differ by.

    Examples
    --------
    >>> from exactfit.conditions import Condition
    >>> print(
    ...     Condition(
    ...         "width - height > 0.4", "1.5", "", "", ("width", "height"), (1.0, -1.0), ">", 0.4, 1.5, 7, 0.125, 0.25
    ...     )
    ... )
    width - height > 0.4 (1.5, by 1.1; in 25% of rows; slack 0.125)
    """

    text: str
    here: str
    unit: str
    where: str
    features: tuple[str, ...]
    weights: tuple[float, ...]
    relation: str
    threshold: float
    value: float
    hyperplane: int
    slack: float
    rate: float | None = None
    near: bool = False

    def __str__(self) -> str:
        here = [f"{self.here}, by {self.away}"] if self.here else []
        rate = [] if self.rate is None else [f"in {self.rate:.0%} of rows"]
        return f"{self.text} ({'; '.join([*here, *rate, f'slack {self.slack:.3g}'])})"

    @property
    def distance(self) -> float:
        """Distance of the value from the threshold."""
        return abs(self.value - self.threshold)

    @property
    def away(self) -> str:
        """The distance as text, with its unit."""
        return f"{shown(rounded(self.distance, 3))} {self.unit}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
        return asdict(self) | {"features": list(self.features), "weights": list(self.weights)}


class Inequality(NamedTuple):
    """Inequality that holds at a point, in the units of the data, where features in ``fixed`` have their values."""

    features: list[int]
    weights: list[float]
    relation: str
    threshold: float
    value: float
    fixed: dict[int, float]

    def holds(self, sums: Any) -> Any:
        """Return for which sums it is true."""
        return HOLDS[self.relation](sums, self.threshold)


class Sentence(NamedTuple):
    """A :class:`Condition` in words."""

    text: str
    here: str = ""
    unit: str = ""
    where: str = ""


class Wording:
    """Names and units of features: those of the points."""

    def __init__(self, names: Sequence[str] | None = None, image_shape: Sequence[int] | None = None) -> None:
        self.names, self.image_shape = names, image_shape

    def name(self, feature: int) -> str:
        """Return a feature's name; without names x and its number, or the place of a pixel."""
        if self.names is not None:
            return str(self.names[feature])
        if self.image_shape is None:
            return f"x{feature}"
        return f"x[{', '.join(map(str, map(int, np.unravel_index(feature, tuple(self.image_shape)))))}]"

    def units(self, features: list[int]) -> tuple[Floats, Floats]:
        """Return by what numbers of the data are divided, and what is subtracted before, to make those of points."""
        return np.ones(len(features)), np.zeros(len(features))

    def is_indicator(self, feature: int) -> bool:
        """Return whether a feature is 0 or 1 and says so by its name."""
        return False

    def training_sums(self, found: Inequality) -> Floats | None:
        """Return the weighted sums of the training rows that a condition is about, if they are at hand."""
        return None

    def sentence(self, found: Inequality, row: int) -> Sentence | None:
        """Return a condition in words; None if there is nothing to say."""
        factors = [{1.0: "", -1.0: "-"}.get(w, f"{shown(w)} ") for w in found.weights]
        terms = [f"{factor}{self.name(j)}" for j, factor in zip(found.features, factors, strict=True)]
        text = terms[0] + "".join(f" - {term[1:]}" if term[0] == "-" else f" + {term}" for term in terms[1:])
        return Sentence(f"{text} {found.relation} {shown(found.threshold)}", shown(found.value))


def shown(number: float) -> str:
    """Return a number as text, without an exponent unless it is huge or tiny."""
    return f"{number + 0.0:.{MOST_DIGITS - 2}g}"  # and -0.0 is 0


def rounded(number: float, digits: int) -> float:
    """Return a number with some significant digits, all of those before the point."""
    n_before = len(str(int(abs(number)))) if abs(number) < 1e15 else 0
    return float(f"{number:.{max(digits, n_before)}g}")


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions of points for their answers, found when they are asked for."""

    detectors: DetectorNetwork
    points: Any
    wording: Wording
    spreads: NDArray[np.float32]
    on_counts: Rows

    @cached_property
    def _planes(self) -> Any:
        # Of a file from elsewhere rows may hold zeros: the features of a condition are those that count.
        planes = sp.csr_array(self.detectors.normals, copy=True)
        planes.eliminate_zeros()
        return planes

    def of(self, row: int, detector: int, sense: int) -> tuple[Condition, ...]:
        """Return the conditions at a point that make a detector fire (``sense`` 1) or keep it from that (-1)."""
        # First come those that add most to the detector's slack compared with a random training row: the cost of a
        # condition's failing times the fraction of the rows for which it fails; then those that hold only just, by
        # the cost of failing. Both are per feature that they look at: short ones come first.
        is_long = self.detectors.normals.shape[1] > LONGEST and not sp.issparse(self.detectors.normals)
        if is_long or not self.detectors.activation.is_threshold:
            return ()
        point = dense_rows(self.points, slice(row, row + 1))
        on = self.detectors.bits(point).to_bool()[0]
        own = self.detectors.take(np.array([detector]), self.detectors.limits[[detector]])
        # What the detector's slack would lose if the bit turned: masks and weights count bits that are on.
        slack = sense * np.where(on, -1, 1) * own.dense_counters[0] / own.spans[0]
        rates = np.where(on, self.on_counts, FULL - self.on_counts) / FULL if len(self.on_counts) else np.zeros(len(on))
        sizes = np.diff(self._planes.indptr)
        sayable = np.flatnonzero((slack > 0) & (sizes > 0) & (sizes <= LONGEST))
        most = sayable[np.argsort(-(slack * (1 - rates) / np.maximum(sizes, 1))[sayable], kind="stable")]
        # A point is near a hyperplane by what rows typically differ by.
        near = sayable[:0]
        if len(self.spreads):
            planes = self._planes[sayable]
            typical = abs(planes) @ self.spreads.astype(np.float64)
            near = sayable[np.abs(planes @ point[0] + self.detectors.biases[sayable]) < NEAR * typical]
        just = near[np.argsort(-(slack / np.maximum(sizes, 1))[near], kind="stable")]
        known, close, seen = len(self.on_counts) > 0, set(near.tolist()), set[Any]()
        conditions = []
        for places, n_named in ((most, NAMED), (just, NAMED_NEAR)):
            n_said = 0
            for k in places.tolist():
                if n_said == n_named:
                    break
                found = self._inequality(k, point[0])
                said = found and self.wording.sentence(found, row)
                if not found or not said:
                    continue
                # Several hyperplanes may say the same, in other words or in the same; and a condition that holds only
                # just may be among those that say most.
                key = (said.where, *found.features, *found.weights, found.relation[0])
                if not seen.isdisjoint({key, said.text}):
                    continue
                seen |= {key, said.text}
                n_said += 1
                is_near = k in close and bool(said.here)
                if is_near or places is most:
                    names, rate = tuple(map(self.wording.name, found.features)), float(rates[k])
                    numbers = tuple(found.weights), found.relation, found.threshold, found.value
                    rate_known = rate if known and not said.where else None
                    conditions.append(Condition(*said, names, *numbers, k, float(slack[k]), rate_known, is_near))
        return tuple(sorted(conditions, key=lambda one: one.near))

    def _inequality(self, k: int, point: Floats) -> Inequality | None:
        """Return the inequality of a hyperplane at a point, in short numbers that keep it true."""
        # None where the numbers leave float64: a condition in such numbers says nothing to a reader.
        part, bias = slice(*self._planes.indptr[k : k + 2]), float(self.detectors.biases[k])
        features, weights = self._planes.indices[part].tolist(), self._planes.data[part].tolist()
        # The sum is exact, so that the side is the network's.
        terms = (Fraction(w) * Fraction(x) for w, x in zip(weights, point[features].tolist(), strict=True))
        total, (scale, mean) = sum(terms, Fraction(bias)), self.wording.units(features)
        with np.errstate(all="ignore"):
            own, in_units = (point[features] * scale + mean).tolist(), (np.array(weights) / scale).tolist()
        if abs(total) > LARGEST or not all(map(math.isfinite, own + in_units)) or not all(in_units):
            return None
        excess, own = float(total), [rounded(x, CLEAN) for x in own]
        entries = list(zip(features, in_units, own, strict=True))
        # Indicators beside numbers are fixed: a sentence about numbers is for rows of the same categories.
        fixed = {j: x for j, _, x in entries if self.wording.is_indicator(j)}
        fixed = fixed if len(fixed) < len(entries) else {}
        entries = [entry for entry in entries if entry[0] not in fixed]
        # The smallest weight is 1, and more are positive than negative; of a difference, it is positive.
        sign = sum(math.copysign(1, w) for _, w, _ in entries) or sum(w * x for _, w, x in entries)
        unit = math.copysign(min(abs(w) for _, w, _ in entries), sign)
        entries = sorted(((j, rounded(w / unit, DIGITS), x) for j, w, x in entries), key=lambda entry: entry[1] < 0)
        products = [w * x for _, w, x in entries]
        if not all(map(math.isfinite, (*products, sum(products), *(w for _, w, _ in entries), excess / unit))):
            return None
        value = rounded(math.fsum(products), CLEAN)
        if not math.isfinite(value - excess / unit):
            return None
        relation = (">" if unit > 0 else "<") if excess > 0 else ("<=" if unit > 0 else ">=")
        named, short, _ = map(list, zip(*entries, strict=True))
        return _shortened(Inequality(named, short, relation, value - excess / unit, value, fixed), self.wording)


def _shortened(found: Inequality, wording: Wording) -> Inequality:
    """Return a condition with short numbers: true of the same training rows, or else of this row, by about as much."""
    # So close to the hyperplane that rounding lost the difference: the nearest number keeps the condition true.
    if not found.holds(found.value):
        found = found._replace(threshold=math.nextafter(found.value, -math.inf if ">" in found.relation else math.inf))
    sums, slightly = wording.training_sums(found), abs(found.value - found.threshold) / 20
    # The threshold gets the fewest digits that leave every training row, and this point, on its side.
    known = np.append([] if sums is None else sums, found.value)
    for digits in range(DIGITS if sums is None else 1, MOST_DIGITS):
        # The nearest number with so many digits, then its neighbours.
        nearest = rounded(found.threshold, digits)
        size = math.floor(math.log10(abs(nearest))) + 1 if nearest else 0
        step = 10.0 ** (size - max(digits, size)) if nearest else 0.0
        fitting = [
            one
            for one in (nearest, rounded(nearest - step, digits), rounded(nearest + step, digits))
            if np.array_equal(HOLDS[found.relation](known, one), found.holds(known))
            and (sums is not None or abs(one - found.threshold) <= slightly)
        ]
        if fitting:
            found = found._replace(threshold=fitting[0])
            break
    if len(shown(found.value)) > (LONGEST_CELL if len(found.features) == 1 else LONGEST_SUM):
        for digits in range(DIGITS, MOST_DIGITS):
            value = rounded(found.value, digits)
            if found.holds(value) and abs(value - found.value) <= slightly:
                return found._replace(value=value)
    return found
