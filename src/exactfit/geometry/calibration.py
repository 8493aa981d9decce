"""Predictions of sizes from a few actual networks.

At great width the second layer tends to the limit's (see ``covering``), and the excess
over that falls like a power of the width: detectors(n) = a + b / n^c. The curve is fitted to the
logarithms of the numbers found, with ``limit_cover``'s number as one more, soft, observation
of a. An interval for one further network carries the spread between networks of one width and
the error made at widths that were left out of the fit; beyond the widths seen it grows with
every doubling.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from .._support.parameters import Seed, check_integer, check_number, seed_sequence, shown
from .._support.threads import Executor, open_executor
from ..construct import Construction, Options
from ..construct.build import build
from ..construct.memory import Memory
from ..data import Floats, Labelled, refuse_conflicts
from ..data.pairs import nearest_other
from ..exceptions import DataError, ParameterError
from .ball_covers import cover_in_the_limit
from .neighbours import shared_words

Curve = tuple[float, float, float]

ADAPTIVE, FIXED = 2, 3  # the random streams of networks
DOUBLINGS = 4  # widths to build networks of, each twice the one before
SOFT = 0.15  # standard deviation, in logarithms, that the limit forecast is trusted to as an asymptote
LEAST_SPREAD = 0.01  # in logarithms: networks of one width never agree better than to a percent
LEAST_EXCESS = 0.05  # of the limit's number: where the search begins if networks show none, for it has no logarithm
MOST_MISSED = 0.01  # networks that miss a larger fraction of the points are too narrow to say anything


@dataclass(frozen=True)
class Fit:
    """One network that was built: its width, its detectors, and the number of points that it missed."""

    width: int
    detectors: int
    missed: int


@dataclass(frozen=True)
class Prediction:
    """Forecast for one further network.

    Attributes
    ----------
    value : float
    low, high : int
        Interval that should hold it with the calibration's confidence.
    extrapolated : bool
        Whether this lies outside of what the calibration has seen.
    """

    value: float
    low: int
    high: int
    extrapolated: bool = False

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high

    def __str__(self) -> str:
        value = f"{self.value:,.0f}" if self.value >= 10 else f"{self.value:.1f}"
        return f"{value} ({self.low:,} to {self.high:,}{', extrapolated' if self.extrapolated else ''})"


@dataclass(frozen=True)
class Calibration:
    """A fitted curve of detectors against width, and the widths at which networks interpolated.

    Attributes
    ----------
    fits : tuple of Fit
        The networks of fixed width.
    adaptive : tuple of int
        Widths at which networks of adaptive width interpolated.
    curve : tuple of float
        a, b and c of detectors(n) = a + b / n^c.
    spread, misfit : float
        Standard deviation of the logarithm between networks of one width, and root mean square
        error at widths left out.
    forecast : int
        Detectors of ``limit_cover``; with weights one for each target class, since with many hyperplanes patterns
        become linearly independent.
    confidence : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> calibration = exactfit.geometry.calibrate(*load_iris(return_X_y=True), widths=[64, 128, 256], n_repeats=2)
    >>> calibration.detectors(200).low <= calibration.detectors(200).high
    True
    """

    fits: tuple[Fit, ...]
    adaptive: tuple[int, ...]
    curve: Curve
    spread: float
    misfit: float
    forecast: int
    confidence: float

    def detectors(self, width: int) -> Prediction:
        """Detectors of one further network of this width."""
        width = check_integer("width", width, at_least=1)
        # Errors are of the logarithm, and grow with every doubling beyond the widths seen.
        seen = [fit.width for fit in self.fits]
        beyond = max(0.0, math.log2(width / max(seen)), math.log2(min(seen) / width))
        error = math.hypot(self.spread, self.misfit * (1.0 + beyond))
        return self._prediction(math.log(_detectors(self.curve, width)), error, len(seen) - 1, beyond > 0)

    def width(self) -> Prediction:
        """Width at which one further network of adaptive width will interpolate."""
        # The spread of one further draw: that of the draws seen, and the uncertainty of their mean.
        logs = np.log(self.adaptive)
        error = float(logs.std(ddof=1)) * math.sqrt(1.0 + 1.0 / len(logs))
        return self._prediction(float(logs.mean()), max(error, LEAST_SPREAD), len(logs) - 1, False)

    def _prediction(self, mean: float, error: float, freedom: int, extrapolated: bool) -> Prediction:
        from scipy.stats import t

        half = float(t.ppf(0.5 + self.confidence / 2, freedom)) * error
        low, high = math.floor(math.exp(mean - half)), math.ceil(math.exp(min(mean + half, 40.0)))
        return Prediction(math.exp(mean), max(low, 1), high, extrapolated)

    def __repr__(self) -> str:
        return f"<Calibration: {len(self.fits)} networks, width that interpolates {self.width()}>"

    def __str__(self) -> str:
        (a, b, c), widths = self.curve, [fit.width for fit in self.fits]
        return (
            f"detectors(n) = {a:.3g} + {b:.3g} / n^{c:.2f}, from {len(widths)} networks "
            f"of width {min(widths):,} to {max(widths):,}\n"
            f"width that interpolates: {self.width()}\nlimit forecast: {self.forecast:,} detectors"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON can hold them."""
        return asdict(self)


@shared_words
def calibrate(
    X: Any, y: Any, widths: Any = None, *, n_repeats: int = 4, options: Options | None = None, target: Any = None,
    confidence: float = 0.9, random_state: Seed = 0, n_jobs: int | None = None, verbose: bool = False,
) -> Calibration:  # fmt: skip
    """Build a few networks on the data, and predict the sizes of others.

    {data}
    widths : sequence of int, optional
        Widths to build networks of, at least two. By default the typical width that
        interpolates, and its doubles up to eight times that.
    n_repeats : int
        Networks of each width, at least 2.
    options : Options, optional
        Options of the networks.
    {target}
    confidence : float
        Of the intervals.
    {random_state}
    {work}

    Returns
    -------
    Calibration

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import exactfit
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> calibration = exactfit.geometry.calibrate(X, y, widths=[50, 100, 200], n_repeats=2)
    >>> calibration.detectors(150).extrapolated, calibration.detectors(800).extrapolated
    (False, True)
    """
    problem = Labelled.of(X, y)
    n_repeats = check_integer("n_repeats", n_repeats, at_least=2)
    confidence = check_number("confidence", confidence, above=0.0, at_most=0.9999)
    if widths is not None:
        widths, given = sorted({check_integer("widths", width, at_least=1) for width in widths}), widths
        if len(widths) < 2:
            raise ParameterError(f"widths must hold at least two different widths, got {shown(list(given))}")
    refuse_conflicts(problem.X, problem.codes)
    targets, root = targets_of_networks(problem, target), seed_sequence(random_state)
    with open_executor(n_jobs, verbose) as work:
        calibrator = Calibrator(problem, options or Options(), targets, root, work, n_repeats, confidence)
        return calibrator.calibrate(widths)


def targets_of_networks(problem: Labelled, target: Any) -> tuple[int, ...]:
    """Return the target classes, as networks can have them: with more than two classes, all."""
    targets = problem.targets(target, one_of_many=True)
    if len(problem.classes) > 2 and len(targets) == 1:
        raise ParameterError(
            f"target={shown(target)} needs a problem of two classes, this one has {len(problem.classes)}"
        )
    return targets


@dataclass(frozen=True, eq=False)
class Calibrator:
    """Builder of networks with the same options for given data, several of each width."""

    problem: Labelled
    options: Options
    targets: tuple[int, ...]
    root: np.random.SeedSequence
    work: Executor
    n_repeats: int = 4
    confidence: float = 0.9

    def calibrate(self, widths: list[int] | None = None, adaptive: tuple[int, ...] = ()) -> Calibration:
        """Build the networks, then fit the curve; those of adaptive width only if their widths are not known."""
        known = adaptive or tuple(self._build("adaptive", ADAPTIVE, k).network.widths[0] for k in range(self.n_repeats))
        if widths is None:
            # From the width that just interpolates, doubled as far as memory allows.
            most = Memory.for_layer(self.problem.X).largest_width()
            widths = sorted({min(math.ceil(np.median(known)) * 2**k, most) for k in range(DOUBLINGS)})
        fits, work = self._fits(widths), Executor(self.work.threads)
        # Detectors at great width: those of the limit, or with weights one for each target class.
        forecast = len(self.targets)
        if not self.options.is_weighted:
            nearest = nearest_other(self.problem.X, self.problem.codes, work)
            forecast = cover_in_the_limit(self.problem, self.targets, nearest, self.root, work).n_detectors
        spread, misfit, curve = fit_curve(fits, forecast)
        return Calibration(tuple(fits), known, curve, spread, misfit, forecast, self.confidence)

    def _build(self, width: Literal["adaptive"] | int, *key: int) -> Construction:
        # Only problems of two classes have one target or "all"; with more, every class has detectors anyway.
        label = None
        if len(self.problem.classes) == 2:
            label = "all" if len(self.targets) > 1 else self.problem.classes[self.targets[0]]
        options = replace(self.options, width=width, target=label, n_jobs=self.work.threads.count)
        root = np.random.SeedSequence(self.root.entropy, spawn_key=(*self.root.spawn_key, *key))
        return build(self.problem, options, root)

    def _fits(self, widths: list[int]) -> list[Fit]:
        """Build networks of every width, without those that miss too many points to be of the same kind."""
        fits: list[Fit] = []
        for at, width in enumerate(widths):
            for k in range(self.n_repeats):
                self.work.progress("networks", len(fits), len(widths) * self.n_repeats)
                made = self._build(width, FIXED, at, k)
                fits.append(Fit(width, made.network.widths[1], len(made.trace.uncovered)))
        kept = [fit for fit in fits if fit.missed <= MOST_MISSED * len(self.problem.codes)]
        if len({fit.width for fit in kept}) < 2:
            raise DataError(
                "networks of these widths miss too many points to be compared: pass larger widths "
                f"(missed: {', '.join(f'{fit.missed} at width {fit.width}' for fit in fits)})"
            )
        return kept


def _detectors(curve: Curve, width: float) -> float:
    a, b, c = curve
    return a + b / math.pow(width, c)


def fit_curve(fits: list[Fit], forecast: int) -> tuple[float, float, Curve]:
    """Fit the spread between networks of one width, the error at widths left out, and the curve."""
    widths = np.array([fit.width for fit in fits], dtype=np.float64)
    logs = np.log([max(fit.detectors, 1) for fit in fits])
    groups = np.unique(widths)
    within = sum(((logs[widths == n] - logs[widths == n].mean()) ** 2).sum() for n in groups)
    spread = max(math.sqrt(within / max(len(fits) - len(groups), 1)), LEAST_SPREAD)
    # Each width in turn is predicted from the others.
    errors = []
    for left_out in groups if len(groups) > 2 else []:
        others = widths != left_out
        curve = _least_squares(widths[others], logs[others], forecast, spread)
        errors.append(float(logs[~others].mean()) - math.log(_detectors(curve, float(left_out))))
    misfit = math.sqrt(float(np.mean(np.square(errors)))) if errors else spread
    return spread, misfit, _least_squares(widths, logs, forecast, spread)


def _least_squares(widths: Floats, logs: Floats, forecast: int, spread: float) -> Curve:
    """Fit a, b, c with logs near log(a + b / n^c) and a near the limit's number."""
    from scipy.optimize import least_squares

    middle = float(np.exp(np.log(widths).mean()))  # b is counted from here, for numbers of ordinary size

    def residuals(p: Floats) -> Floats:
        fitted = np.log(np.exp(p[0]) + np.exp(p[1]) * (widths / middle) ** -np.exp(p[2]))
        return np.append((fitted - logs) / spread, (p[0] - math.log(forecast)) / SOFT)

    # In logarithms, so that all three stay positive and relative errors count alike at all widths.
    excess = max(float(np.exp(logs.mean())) - forecast, LEAST_EXCESS * forecast)
    low, high = [-5.0, -20.0, math.log(0.2)], [40.0, 40.0, math.log(3.0)]
    found = least_squares(residuals, [math.log(forecast), math.log(excess), 0.0], bounds=(low, high)).x
    c = math.exp(found[2])
    return math.exp(found[0]), math.exp(found[1]) * middle**c, c
