"""An evaluation as data: how a model, its settings and the usual classifiers did on the same folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._support.console import as_frame

Scores = dict[str, float | None]
End = Literal["all folds", "time limit", "interrupted"]

LEVEL = 0.95  # of all intervals
GIVEN = "as given"  # the model that was asked about
METRICS = ("balanced_accuracy", "auc", "claimed", "accuracy_claimed", "seconds")
_TABLE = "{:<22} {:>8} {:>15} {:>7} {:>8} {:>6} {:>8} {:>6} {:>8}"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one classifier did: means over folds.

    Attributes
    ----------
    name : str
    folds : int
    accuracy : float
    low, high : float
        A 95 % interval for the accuracy, as wide as folds that share training points ask for (Nadeau and Bengio).
    gain, gain_low, gain_high : float
        Accuracy beyond that of the model as given, on the same folds, and an interval for that.
    balanced_accuracy : float
    auc : float or None
        One class against the rest, averaged over classes; None where a class has no point in some fold.
    claimed, accuracy_claimed : float or None
        Share of new points that exactly one class claims, and the accuracy on those; None where that has no meaning.
    seconds : float
        For a fold: to fit and to answer.
    options : dict or None
        Of our own estimator, those that are not its defaults.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactfit.lab import evaluate
    >>> found = evaluate({"min_width": 200}, *load_iris(return_X_y=True), n_folds=2, n_repeats=1)["1-nn"]
    >>> found.name, found.low <= found.accuracy <= found.high
    ('1-nn', True)
    """

    name: str
    folds: int
    accuracy: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float
    balanced_accuracy: float
    auc: float | None
    claimed: float | None
    accuracy_claimed: float | None
    seconds: float
    options: dict[str, Any] | None = None

    @classmethod
    def of(
        cls, name: str, found: Sequence[Scores], given: Sequence[Scores], n_folds: int, options: dict[str, Any] | None
    ) -> Standing:
        """The means of what was found on some folds, beside what the model as given reached there."""
        own, base = (np.array([one["accuracy"] for one in some], dtype=np.float64) for some in (found, given))
        low, high = interval(own, n_folds)
        means: dict[str, Any] = {metric: mean_of([one[metric] for one in found]) for metric in METRICS}
        gain_low, gain_high = interval(own - base, n_folds)
        return cls(
            name=name, folds=len(found), accuracy=float(own.mean()), low=max(0.0, low), high=min(1.0, high),
            gain=float((own - base).mean()), gain_low=gain_low, gain_high=gain_high, options=options, **means,
        )  # fmt: skip

    def __str__(self) -> str:
        return _TABLE.format(
            self.name, f"{self.accuracy:.1%}", f"{self.low:.1%} - {self.high:.1%}", f"{100 * self.gain:+.1f}",
            f"{self.balanced_accuracy:.1%}", "-" if self.auc is None else f"{self.auc:.3f}", _share(self.claimed),
            _share(self.accuracy_claimed), f"{self.seconds:.2g}",
        )  # fmt: skip


@dataclass(frozen=True)
class Evaluation:
    """A table: how the model, its settings and the usual classifiers did on the same folds.

    Attributes
    ----------
    standings : tuple of Standing
    n_samples, n_classes : int
    end : {"all folds", "time limit", "interrupted"}
        What ended it; if not that all folds were done, the standings are about those that all classifiers have done.

    Examples
    --------
    >>> import exactfit
    >>> exactfit.Evaluation((), n_samples=4, n_classes=2, end="time limit").recommendation
    'nothing was measured'
    """

    standings: tuple[Standing, ...]
    n_samples: int
    n_classes: int
    end: End

    def __getitem__(self, name: str) -> Standing:
        return {one.name: one for one in self.standings}[name]

    @property
    def complete(self) -> bool:
        """Whether all folds were done."""
        return self.end == "all folds"

    @property
    def recommendation(self) -> str:
        """One line to paste: the model as given, or the best setting that is better beyond chance; and who is better.

        Beyond chance: the whole interval of the gain is above zero.
        """
        ours = [one for one in self.standings if one.options is not None]
        if not ours:
            return "nothing was measured"
        best = max((one for one in ours if one.name == GIVEN or one.gain_low > 0), key=lambda one: one.accuracy)
        others = [one for one in self.standings if one.options is None]
        rival = max(others, key=lambda one: one.accuracy, default=best)
        why = "no setting is better beyond chance"
        if best.name != GIVEN:
            why = f"{100 * best.gain:+.1f} points ({100 * best.gain_low:+.1f} to {100 * best.gain_high:+.1f})"
        beaten = f"; {rival.name} reaches {rival.accuracy:.1%}" if rival.accuracy > best.accuracy else ""
        options = ", ".join(f"{name}={value!r}" for name, value in (best.options or {}).items())
        return f"InterpolatingClassifier({options})  # {best.accuracy:.1%} on new points, {why}{beaten}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        plain = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "standings"}
        more = {"complete": self.complete, "recommendation": self.recommendation}
        return plain | more | {"standings": [asdict(one) for one in self.standings]}

    def to_frame(self) -> Any:
        """A pandas frame, one line for each classifier, indexed by name."""
        names = [field.name for field in fields(Standing)]
        return as_frame({name: [getattr(one, name) for one in self.standings] for name in names}).set_index("name")

    def __str__(self) -> str:
        folds = self.standings[0].folds if self.standings else 0
        ended = "" if self.complete else f" ({self.end})"
        head = f"{self.n_samples:,} points, {self.n_classes} classes, {folds} folds{ended}"
        titles = ("", "accuracy", "95 % interval", "gain", "balanced", "AUC", "claimed", "right", "seconds")
        return "\n".join([head, _TABLE.format(*titles), *map(str, self.standings), "", self.recommendation])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of what is there; None if nothing is."""
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def interval(values: NDArray[np.float64], n_folds: int) -> tuple[float, float]:
    """Student's interval; training parts overlap, so the variance is over 1/n + test/train in place of 1/n.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.evaluation import interval
    >>> low, high = interval(np.array([0.8, 0.9, 0.7]), n_folds=3)
    >>> round(low, 2), round(high, 2)
    (0.41, 1.19)
    """
    from scipy.stats import t

    mean, n = float(values.mean()), len(values)
    if n < 2:
        return -1.0, 1.0
    share = 1 / n + 1 / (n_folds - 1)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * float(np.sqrt(share * values.var(ddof=1)))
    return mean - half, mean + half
