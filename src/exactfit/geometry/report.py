"""Report of the geometry of data, and of the sizes that it predicts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from .._support.html import facts
from .._support.parameters import Seed, check_number, seed_sequence
from .._support.threads import Executor, open_executor
from ..construct import Options
from ..data import Floats, Labelled, Rows, refuse_conflicts
from ..data.pairs import nearest_other
from .ball_covers import LimitCover, cover_in_the_limit
from .calibration import Calibration, Calibrator, targets_of_networks
from .covering import CoverOptions, MutualCovering, check_max_bias, cover_mutually
from .neighbours import ClosestPair, labelled_pair, narrowest_pair, radius_of, shared_words
from .theorem import UNKNOWN, Bounds, check_eta, theorem_sizes
from .widths import MeanWidth, mean_widths

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
COVERING_NUMBERS = (
    "n_target", "n_rest", "separation", "omega", "omega_interval", "max_bias", "constant",
)  # fmt: skip
PARTS = ("distances", "limit forecast", "mean widths", "angles", "covering", "calibration", "weighted detectors")


@dataclass(frozen=True, eq=False, kw_only=True)
class Description:
    """Theorem's quantities for some data. Parts that the time budget left out are None.

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
    distances: Floats | None = None
    separation: ClosestPair | None = None
    angle: ClosestPair | None = None
    angle_any: ClosestPair | None = None
    mean_widths: MeanWidth | None = None
    limit: LimitCover | None = None
    covering: MutualCovering | None = None
    bounds: Bounds | None = None
    calibration: Calibration | None = None
    weighted: Calibration | None = None
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
        """Return the lines of the report, by their names."""
        lines = {
            "points per label": ", ".join(f"{label}: {size:,}" for label, size in self.sizes.items()),
            "radius": f"{self.radius:.6g} (max_bias {self.max_bias:.6g})",
        }
        pairs = {"separation": self.separation, "angle": self.angle, "angle of any two": self.angle_any}
        for name, pair in pairs.items():
            if pair is not None:
                labels = f", labels {pair.labels[0]} and {pair.labels[1]}" if pair.labels else ""
                lines[name] = f"{pair.value:.6g} (rows {pair.rows[0]} and {pair.rows[1]}{labels})"
            if name == "separation" and self.distances is not None:
                middle = np.median(self.distances)
                lines["to another label"] = f"median {middle:.4g}, largest {self.distances.max():.4g}"
        if self.mean_widths is not None:
            named = zip(self.sizes, self.mean_widths.value, strict=True)
            lines["mean widths"] = ", ".join(f"{label}: {value:.4g}" for label, value in named)
        if self.limit is not None:
            lines["limit forecast"] = f"{self.limit.n_detectors:,} detectors at great width and max_bias"
        if self.covering is not None and self.bounds is not None:
            _, of_width, of_complexity = self.bounds.constants
            lines["covering"] = str(self.covering)
            lines["theorem"] = (
                f"width {self.bounds.width:,}, at most {self.bounds.detectors:,} detectors "
                f"(if its unknown constants were {of_width:.3g} and {of_complexity:.3g})"
            )
        if self.calibration is not None:
            widest = max(fit.width for fit in self.calibration.fits)
            lines["width to interpolate"] = str(self.calibration.width())
            lines["detectors"] = f"{self.calibration.detectors(widest)} at width {widest:,}"
            if self.weighted is not None:
                lines["weighted detectors"] = f"{self.weighted.detectors(widest)} at width {widest:,}"
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them: quantiles in place of all distances, balls counted."""
        plain = {name: getattr(self, name) for name in ("n_samples", "n_features", "max_bias", "radius")}
        records = ("separation", "angle", "angle_any", "bounds", "calibration", "weighted")
        plain |= {name: (one := getattr(self, name)) and asdict(one) for name in records}
        quantiles = None if self.distances is None else np.quantile(self.distances, QUANTILES).tolist()
        widths = self.mean_widths
        return plain | {
            "sizes": {str(label): size for label, size in self.sizes.items()},
            "targets": [label.item() if isinstance(label, np.generic) else label for label in self.targets],
            "distance_quantiles": quantiles and dict(zip(map(str, QUANTILES), quantiles, strict=True)),
            "mean_widths": widths and {name: getattr(widths, name).tolist() for name in ("value", "low", "high")},
            "limit_detectors": self.limit and self.limit.n_detectors,
            "covering": self.covering and {name: getattr(self.covering, name) for name in COVERING_NUMBERS},
            "left_out": list(self.left_out),
        }


@shared_words
def describe(
    X: Any, y: Any, *, max_bias: Literal["radius"] | float = "radius", target: Any = None, center: bool = True,
    eta: float = 0.05, options: Options | None = None, time_limit: float | None = None, random_state: Seed = 0,
    n_jobs: int | None = None, verbose: bool = False,
) -> Description:  # fmt: skip
    """Measure everything that the size of the network depends on, and predict that size.

    {data}
    {max_bias}
    {target}
    center : bool
        Measure the radius of the data from their mean, and centre the networks.
    eta : float
        Probability that the bounds give up.
    options : Options, optional
        Options of the networks that are built for the calibration; ``max_bias`` and ``center`` above win.
    time_limit : float, optional
        Seconds. Parts are taken up in the order of the report; one that is not done in time is
        left out, as are those after it, and the report says so.
    {random_state}
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
    weighted detectors
    """
    problem = Labelled.of(X, y)
    refuse_conflicts(problem.X, problem.codes)
    max_bias, eta = check_max_bias(problem.X, max_bias, center), check_eta(eta)
    targets = targets_of_networks(problem, target)
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, above=0.0)
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    # The networks of the calibration are drawn as the bounds assume.
    options = replace(options or Options(), max_bias=max_bias, center=center)
    with open_executor(n_jobs, verbose) as work:
        # Whatever reports progress after the deadline is stopped.
        def watched(what: str, done: int, total: int | None) -> None:
            if time.monotonic() > deadline:
                raise _OutOfTime
            work.progress(what, done, total)

        root, watching = seed_sequence(random_state), Executor(work.threads, watched)
        parts = _parts(Calibrator(problem, options, targets, root, watching), max_bias, eta)
        found: dict[str, Any] = {}
        left_out = list(PARTS)
        with suppress(_OutOfTime):
            while left_out and time.monotonic() <= deadline:
                found |= next(parts)
                del left_out[0]
    labels = problem.classes.tolist()
    return Description(
        n_samples=int(problem.X.shape[0]),
        n_features=int(problem.X.shape[1]),
        sizes=dict(zip(labels, np.bincount(problem.codes).tolist(), strict=True)),
        targets=tuple(labels[k] for k in targets),
        max_bias=max_bias,
        radius=radius_of(problem.X, center),
        left_out=tuple(left_out),
        **found,
    )


class _OutOfTime(Exception):  # noqa: N818  (a finding, not an error)
    """Time budget used up."""


def _parts(calibrator: Calibrator, max_bias: float, eta: float) -> Iterator[dict[str, Any]]:
    """Yield fields of a description, in the order of ``PARTS``."""
    problem, root, work, targets = calibrator.problem, calibrator.root, calibrator.work, calibrator.targets
    X, codes = problem.X, problem.codes
    # From what is cheap and always wanted to what takes longest: the time budget cuts off the end.
    nearest = nearest_other(X, codes, work)
    separation = labelled_pair(problem, *nearest.closest())
    yield {"distances": nearest.distances, "separation": separation}
    yield {"limit": cover_in_the_limit(problem, targets, nearest, root, work)}
    # One component for each label, around no centre.
    order: Rows = np.argsort(codes, kind="stable")
    starts, origins = np.cumsum([0, *np.bincount(codes)]), np.full(len(problem.classes), -1)
    yield {"mean_widths": mean_widths(X, order, starts, origins, 1000, 0.95, root, work)}
    different = labelled_pair(problem, *narrowest_pair(X, codes, work))
    yield {"angle": different, "angle_any": ClosestPair(*narrowest_pair(X, np.arange(len(codes)), work))}
    covering = cover_mutually(problem, targets, CoverOptions(max_bias, random_state=root), work)
    yield {"covering": covering, "bounds": theorem_sizes(problem, covering, separation.value, eta, UNKNOWN)}
    calibration = calibrator.calibrate()
    yield {"calibration": calibration}
    if not calibrator.options.s.is_threshold:
        yield {"weighted": None}
    elif calibrator.options.is_weighted:
        yield {"weighted": calibration}
    else:
        # Weighted detectors interpolate where masks do; their numbers vary less, so half as many networks will do.
        options = replace(calibrator.options, detectors="weighted")
        weighted = replace(calibrator, options=options, n_repeats=calibrator.n_repeats // 2)
        yield {"weighted": weighted.calibrate(sorted({fit.width for fit in calibration.fits}), calibration.adaptive)}
