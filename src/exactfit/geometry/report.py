"""All of the geometry in one report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from .._support.console import Progress
from .._support.html import facts
from .._support.parameters import Seed, check_number, seed_sequence
from .._support.threads import Work, at_work
from ..construct import Recipe
from ..data import Labelled, Rows, refuse_conflicts
from ..data.cloud import Floats
from ..data.pairs import Nearest, nearest_other
from ..exceptions import ParameterError
from .balls import CoverOptions
from .calibration import Calibration, CalibrationOptions, calibrate_problem, calibrate_weights
from .covering import LimitCover, MutualCovering, check_max_bias, cover_in_the_limit, cover_mutually
from .neighbours import ClosestPair, narrowest_pair, radius_of, shared_words
from .theorem import Bounds, Constants, check_eta, theorem_sizes
from .widths import MeanWidth, mean_widths

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
Part = TypeVar("Part")


@dataclass(frozen=True, eq=False, kw_only=True)
class Description:
    """The theorem's quantities for some data. Parts that the time budget left out are None.

    Attributes
    ----------
    n_samples, n_features : int
    sizes : dict
        Points of each label.
    targets : tuple
        Labels that get detectors.
    max_bias, radius : float
    distances : ndarray of float64
        From every point to the nearest one of another label.
    separation : ClosestPair
    angle, angle_any : ClosestPair
        Smallest angle between different labels, and between any two points.
    mean_widths : MeanWidth
        Of each label's points, in the order of ``sizes``.
    limit : LimitCover
        Its number of detectors is the forecast for great width.
    covering : MutualCovering
    bounds : Bounds
    calibration : Calibration
    weighted : Calibration
        The same for weighted detectors; None for real-valued activations, which have none.
    left_out : tuple of str
        Parts that the time budget did not allow.

    Examples
    --------
    >>> import exactfit
    >>> X, y = exactfit.geometry.make_parallel_lines(20, distance=0.25)
    >>> description = exactfit.describe(X, y)
    >>> description.separation.value, description.limit.n_detectors, description.left_out
    (0.25, 6, ())
    """

    n_samples: int
    n_features: int
    sizes: dict[Any, int]
    targets: tuple[Any, ...]
    max_bias: float
    radius: float
    distances: Floats | None
    separation: ClosestPair | None
    angle: ClosestPair | None
    angle_any: ClosestPair | None
    mean_widths: MeanWidth | None
    limit: LimitCover | None
    covering: MutualCovering | None
    bounds: Bounds | None
    calibration: Calibration | None
    weighted: Calibration | None
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Description: {self._data()}{', in part' if self.left_out else ''}>"

    def __str__(self) -> str:
        lines = [self._data()]
        lines += [f"  {name:<20} {text}" for name, text in self._lines().items()]
        if self.left_out:
            lines.append(f"left out, the time budget was used up: {', '.join(self.left_out)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        missing = {"left out": ", ".join(self.left_out)} if self.left_out else {}
        return facts(self._data(), self._lines() | missing)

    def _data(self) -> str:
        return f"{self.n_samples:,} points, {self.n_features:,} features, {len(self.sizes)} labels"

    def _lines(self) -> dict[str, str]:
        lines = {"points per label": ", ".join(f"{label}: {size:,}" for label, size in self.sizes.items())}
        lines["radius"] = f"{self.radius:.6g} (max_bias {self.max_bias:.6g})"
        if self.separation is not None:
            lines["separation"] = _pair_text(self.separation)
        if self.distances is not None:
            middle = np.median(self.distances)
            lines["to another label"] = f"median {middle:.4g}, largest {self.distances.max():.4g}"
        if self.angle is not None:
            lines["angle"] = _pair_text(self.angle)
        if self.angle_any is not None:
            lines["angle of any two"] = _pair_text(self.angle_any)
        if self.mean_widths is not None:
            lines["mean widths"] = ", ".join(
                f"{label}: {value:.4g}" for label, value in zip(self.sizes, self.mean_widths.value, strict=True)
            )
        return lines | self._sizes()

    def _sizes(self) -> dict[str, str]:
        lines = {}
        if self.limit is not None:
            lines["limit forecast"] = f"{self.limit.n_detectors:,} detectors at great width and max_bias"
        if self.covering is not None:
            low, high = self.covering.omega_interval
            lines["covering"] = (
                f"{self.covering.n_target:,} balls (M-), {self.covering.n_rest:,} for the rest (M+), "
                f"centers {self.covering.separation:.4g} apart, "
                f"omega {self.covering.omega:.4g} ({low:.4g} to {high:.4g})"
            )
        if self.bounds is not None:
            given = self.bounds.constants
            lines["theorem"] = (
                f"width {self.bounds.width:,}, at most {self.bounds.detectors:,} detectors "
                f"(if its unknown constants were {given.width:.3g} and {given.complexity:.3g})"
            )
        if self.calibration is not None:
            widest = max(fit.width for fit in self.calibration.fits)
            lines["width to interpolate"] = str(self.calibration.width())
            lines["detectors"] = f"{self.calibration.detectors(widest)} at width {widest:,}"
            if self.weighted is not None:
                lines["weighted detectors"] = f"{self.weighted.detectors(widest)} at width {widest:,}"
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The numbers, as JSON can hold them: quantiles in place of all distances, balls counted."""
        pairs = ("separation", "angle", "angle_any")
        plain: dict[str, Any] = {name: _plain_pair(getattr(self, name)) for name in pairs}
        plain |= {name: getattr(self, name) for name in ("n_samples", "n_features", "max_bias", "radius")}
        plain["sizes"] = {str(label): size for label, size in self.sizes.items()}
        plain["targets"] = [_plain(label) for label in self.targets]
        plain["distance_quantiles"] = (
            None if self.distances is None else dict(zip(map(str, QUANTILES), _quantiles(self.distances), strict=True))
        )
        widths = self.mean_widths
        plain["mean_widths"] = widths and {k: getattr(widths, k).tolist() for k in ("value", "low", "high")}
        plain["limit_detectors"] = self.limit and self.limit.n_detectors
        plain["covering"] = self.covering and {
            name: getattr(self.covering, name)
            for name in ("n_target", "n_rest", "separation", "omega_target", "omega_rest", "max_bias", "constant")
        } | {"omega_interval": list(self.covering.omega_interval)}
        plain["bounds"] = self.bounds and self.bounds.to_dict()
        plain["calibration"] = self.calibration and self.calibration.to_dict()
        plain["weighted"] = self.weighted and self.weighted.to_dict()
        return plain | {"left_out": list(self.left_out)}


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _plain_pair(pair: ClosestPair | None) -> dict[str, Any] | None:
    return None if pair is None else {"value": pair.value, "rows": list(pair.rows), "labels": list(pair.labels)}


def _pair_text(pair: ClosestPair) -> str:
    labels = f", labels {pair.labels[0]} and {pair.labels[1]}" if pair.labels else ""
    return f"{pair.value:.6g} (rows {pair.rows[0]} and {pair.rows[1]}{labels})"


def _quantiles(values: Floats) -> list[float]:
    return [float(value) for value in np.quantile(values, QUANTILES)]


@shared_words
def describe(
    X: Any, y: Any, *, max_bias: Literal["radius"] | float = "radius", target: Any = None, center: bool = True,
    eta: float = 0.05, recipe: Recipe | None = None, time_limit: float | None = None, random_state: Seed = 0,
    n_jobs: int | None = None, verbose: bool = False,
) -> Description:  # fmt: skip
    """Measure everything that the size of the network depends on, and predict that size.

    Parameters
    ----------
    {points}
    {labels}
    max_bias : "radius" or float
        The paper's lambda, at least the radius of the data.
    target : label, "all" or None
        The class that gets detectors. None: of two classes the rarer one (the last on a tie), else all.
    center : bool
        Measure the radius of the data from their mean, and centre the networks.
    eta : float
        Probability that the bounds give up.
    recipe : Recipe, optional
        Options of the networks that are built for the calibration; ``max_bias`` and ``center`` above win.
    time_limit : float, optional
        Seconds. Parts are taken up in the order of the report; one that is not done in time is
        left out, as are those after it, and the report says so.
    random_state : int, Generator, SeedSequence or None
    {work}

    Returns
    -------
    Description
        ``exactfit.plots.plot_description`` draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import exactfit
    >>> description = exactfit.describe(*load_iris(return_X_y=True), time_limit=1e-9)
    >>> print(description)
    150 points, 4 features, 3 labels
      points per label     0: 50, 1: 50, 2: 50
      radius               3.83927 (max_bias 3.83927)
    left out, the time budget was used up: distances, limit forecast, mean widths, angles, covering, calibration,
    weighted detectors, bounds
    """
    problem = Labelled.of(X, y)
    refuse_conflicts(problem.X, problem.codes)
    reach, eta = check_max_bias(problem.X, max_bias, center), check_eta(eta)
    targets = problem.targets(target, one_of_many=True)
    if len(problem.classes) > 2 and len(targets) == 1:
        raise ParameterError(f"target={target!r} needs a problem of two classes, this one has {len(problem.classes)}")
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, above=0.0)
    started = time.monotonic()
    with at_work(n_jobs, verbose) as work:
        deadline = None if time_limit is None else started + time_limit
        made = _Maker(problem, targets, reach, center, seed_sequence(random_state), _Budget(work, deadline))
        return made.make(eta, recipe or Recipe(), target)


class _OutOfTime(Exception):  # noqa: N818  (a finding, not an error)
    """The time budget is used up."""


class _Budget:
    """Runs parts until the time is up; whoever reports progress after that is stopped."""

    def __init__(self, work: Work, deadline: float | None) -> None:
        self.deadline = deadline
        self.left_out: list[str] = []
        self.work = Work(work.threads, self._watched(work.progress))

    def _watched(self, progress: Progress) -> Progress:
        def tell(what: str, done: int, total: int | None) -> None:
            if self._late():
                raise _OutOfTime
            progress(what, done, total)

        return tell

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def run(self, name: str, part: Callable[[Work], Part]) -> Part | None:
        """What the part gives, or None if there is no time for it."""
        if not self.left_out and not self._late():
            try:
                return part(self.work)
            except _OutOfTime:
                pass
        self.left_out.append(name)
        return None


@dataclass(frozen=True, eq=False)
class _Maker:
    problem: Labelled
    targets: tuple[int, ...]
    reach: float
    center: bool
    root: np.random.SeedSequence
    budget: _Budget

    def make(self, eta: float, recipe: Recipe, target: Any) -> Description:
        """All parts, in the order of the report."""
        problem, run = self.problem, self.budget.run
        recipe = replace(recipe, max_bias=self.reach, center=self.center)
        options, how = (
            CoverOptions(self.reach, 1.0, recipe.greedy_memory, self.root),
            CalibrationOptions(4, 0.9, self.root),
        )
        nearest = run("distances", lambda work: nearest_other(problem.X, problem.codes, work))
        limit = run("limit forecast", lambda work: self._limit(nearest, recipe, work))
        widths = run("mean widths", self._mean_widths)
        angles = run("angles", self._angles)
        covering = run("covering", lambda work: cover_mutually(problem, self.targets, options, work))
        calibration = run(
            "calibration", lambda work: calibrate_problem(problem, None, recipe, target, covering, how, work)
        )
        weighted = run("weighted detectors", lambda work: self._weighted(calibration, recipe, target, how, work))
        separation = None if nearest is None else self._pair(*nearest.closest())
        bounds = self._bounds(covering, separation, calibration, eta)
        return Description(
            **self._basics(),
            distances=None if nearest is None else nearest.distances,
            separation=separation,
            angle=None if angles is None else angles[0],
            angle_any=None if angles is None else angles[1],
            mean_widths=widths,
            limit=limit,
            covering=covering,
            bounds=bounds,
            calibration=calibration,
            weighted=weighted,
            left_out=tuple(self.budget.left_out),
        )

    def _limit(self, nearest: Nearest | None, recipe: Recipe, work: Work) -> LimitCover:
        if nearest is None:
            raise _OutOfTime
        return cover_in_the_limit(self.problem, self.targets, nearest, recipe, self.root, work)

    def _weighted(
        self, calibration: Calibration | None, recipe: Recipe, target: Any, how: CalibrationOptions, work: Work
    ) -> Calibration | None:
        """The calibration of weighted detectors: of half as many networks, whose number varies less."""
        if calibration is None:
            raise _OutOfTime
        if recipe.detectors == "weighted" or not recipe.s.is_threshold:
            return calibration if recipe.s.is_threshold else None
        how = replace(how, repeats=how.repeats // 2)
        return calibrate_weights(self.problem, calibration, recipe, target, how, work)

    def _bounds(
        self, covering: MutualCovering | None, separation: ClosestPair | None, calibration: Calibration | None,
        eta: float,
    ) -> Bounds | None:  # fmt: skip
        if covering is None or separation is None:
            self.budget.left_out.append("bounds")
            return None
        constants = Constants() if calibration is None else calibration.constants
        return theorem_sizes(self.problem, covering, separation.value, eta, constants)

    def _basics(self) -> dict[str, Any]:
        X, classes = self.problem.X, self.problem.classes.tolist()
        return {
            "n_samples": int(X.shape[0]),
            "n_features": int(X.shape[1]),
            "sizes": dict(zip(classes, np.bincount(self.problem.codes).tolist(), strict=True)),
            "targets": tuple(classes[k] for k in self.targets),
            "max_bias": self.reach,
            "radius": radius_of(X, self.center),
        }

    def _pair(self, value: float, rows: tuple[int, int], with_labels: bool = True) -> ClosestPair:
        labels = self.problem.classes[self.problem.codes[list(rows)]].tolist() if with_labels else ()
        return ClosestPair(value, rows, tuple(labels))

    def _mean_widths(self, work: Work) -> MeanWidth:
        order: Rows = np.argsort(self.problem.codes, kind="stable")
        sizes = np.bincount(self.problem.codes)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return mean_widths(self.problem.X, order, starts, np.full(len(sizes), -1), 1000, 0.95, self.root, work)

    def _angles(self, work: Work) -> tuple[ClosestPair, ClosestPair]:
        X, codes = self.problem.X, self.problem.codes
        different = self._pair(*narrowest_pair(X, codes, work))
        return different, self._pair(*narrowest_pair(X, np.arange(len(codes)), work), with_labels=False)
