"""The whole report, its budget, and its pictures."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.problems import moons
from sklearn.datasets import load_digits, load_iris

from exactfit import ContradictoryLabelsError, Description, Options, ParameterError, describe, fixed_width
from exactfit.geometry import (
    angular_separation,
    bounds,
    calibrate,
    limit_cover,
    mean_width,
    mutual_covering,
    radius,
    separation,
)
from exactfit.plots import plot_description

plt: Any = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def described() -> Description:
    return describe(*moons(200))


def test_parts_are_what_their_functions_give(described: Description) -> None:
    X, y = moons(200)
    assert described.radius == described.max_bias == radius(X)
    assert described.separation == separation(X, y)
    assert described.angle == angular_separation(X, y)
    assert described.angle_any == angular_separation(X)
    assert described.limit is not None
    np.testing.assert_array_equal(described.limit.anchors, limit_cover(X, y, random_state=0).anchors)
    assert described.covering is not None
    assert described.covering.n_target == mutual_covering(X, y).n_target
    assert described.mean_widths is not None
    widths = [mean_width(X[y == k], random_state=0).value for k in (0, 1)]
    np.testing.assert_allclose(described.mean_widths.value, widths)
    assert described.calibration == calibrate(X, y), "not that of the defaults"
    assert described.bounds == bounds(X, y)
    assert described.distances is not None
    assert described.distances.min() == pytest.approx(separation(X, y).value)
    assert described.left_out == ()


def test_a_forecast_for_weighted_detectors(described: Description) -> None:
    X, y = moons(200)
    widths = sorted({fit.width for fit in described.calibration.fits})  # type: ignore[union-attr]
    expected = calibrate(X, y, widths=widths, n_repeats=2, options=Options(detectors="weighted"))
    assert described.weighted is not None
    assert (described.weighted.fits, described.weighted.curve) == (expected.fits, expected.curve)
    assert described.weighted.forecast == expected.forecast == len(described.targets)
    made = fixed_width(X, y, widths[-1], Options(detectors="weighted"), 99)
    assert made.network.widths[1] in described.weighted.detectors(widths[-1])
    assert "weighted detectors" in str(described)
    assert describe(X, y, options=Options(activation="relu")).weighted is None
    weighted = describe(X, y, options=Options(detectors="weighted"))
    assert weighted.weighted == weighted.calibration


def test_the_report_is_frozen_readable_and_json(described: Description) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        described.radius = 1.0  # type: ignore[misc]
    text = str(described)
    for word in (
        "200 points",
        "separation",
        "angle",
        "mean widths",
        "limit forecast",
        "covering",
        "theorem",
        "detectors",
    ):
        assert word in text
    plain = json.loads(json.dumps(described.to_dict()))
    assert plain["separation"]["rows"] == list(described.separation.rows)  # type: ignore[union-attr]
    assert plain["distance_quantiles"]["0.0"] == pytest.approx(plain["separation"]["value"])
    assert plain["covering"]["n_target"] == described.covering.n_target  # type: ignore[union-attr]
    assert plain["left_out"] == []


def test_a_budget_is_kept_and_says_what_it_left_out() -> None:
    X, y = load_digits(return_X_y=True)
    describe(X[:50], y[:50])  # compiled before the clock runs
    started = time.monotonic()
    part = describe(X, y, time_limit=0.1)
    assert time.monotonic() - started < 20
    assert "calibration" in part.left_out
    assert part.calibration is None
    assert "left out" in str(part)
    assert json.loads(json.dumps(part.to_dict()))["calibration"] is None
    nothing = describe(X, y, time_limit=1e-9)
    assert nothing.left_out == (
        "distances", "limit forecast", "mean widths", "angles", "covering", "calibration",
        "weighted detectors",
    )  # fmt: skip
    assert json.loads(json.dumps(nothing.to_dict()))["separation"] is None
    assert len(plot_description(nothing, X, y)) == 3


def test_progress_is_shown_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    describe(*moons(40), verbose=True)
    assert capsys.readouterr().out == ""


def test_several_classes_sparse_short_floats_and_other_options() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[np.r_[:100, 110:140]], np.array(["a", "b", "c"])[y[np.r_[:100, 110:140]]]
    found = describe(sp.csr_array(X), y, center=True, options=Options(hyperplanes="bisector"), n_jobs=2)
    assert found.targets == ("a", "b", "c")
    assert found.sizes == {"a": 50, "b": 50, "c": 30}
    assert found.radius == radius(X, center=True)
    short = describe(X.astype(np.float32), y, max_bias=20.0)
    assert short.max_bias == 20.0
    json.dumps(found.to_dict())
    assert len(plot_description(found, sp.csr_array(X), y)) == 3


def test_bad_input_is_refused() -> None:
    X, y = moons(20)
    for options in ({"time_limit": 0.0}, {"max_bias": 0.1}, {"eta": 2.0}, {"target": 5}):
        with pytest.raises(ParameterError):
            describe(X, y, **options)
    with pytest.raises(ParameterError, match="two classes"):
        describe(*load_iris(return_X_y=True), target=1)
    with pytest.raises(ContradictoryLabelsError):
        describe([[1.0], [1.0]], [0, 1])


def test_records_show_what_they_are_about_in_a_line_or_two(described: Description) -> None:
    covering = described.covering
    assert covering is not None
    pair = covering.pairs[0]
    parts = [described.limit, described.mean_widths, described.calibration, described.bounds, described.separation]
    for record in (described, covering, pair, pair.target, *parts):
        text = repr(record)
        assert type(record).__name__ in text
        assert len(text) < 400
        assert "array" not in text
