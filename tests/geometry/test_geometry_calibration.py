"""Predictions from a few networks hold at widths that were left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.problems import unit_moons
from sklearn.datasets import load_digits, load_iris

from exactfit import DataError, Options, ParameterError, fixed_width
from exactfit.geometry import calibrate, limit_cover
from exactfit.geometry.calibration import Fit, fit_curve


def test_a_known_curve_is_found() -> None:
    fits = [Fit(n, round(150 + 5e4 / n), 0) for n in (100, 200, 400, 800) for _ in range(3)]
    spread, misfit, (a, b, c) = fit_curve(fits, 150)
    assert a == pytest.approx(150, rel=0.02)
    assert (b, c) == (pytest.approx(5e4, rel=0.1), pytest.approx(1.0, rel=0.03))
    assert spread == 0.01  # nothing varies, but no interval is a point
    assert misfit < 0.05


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any]:
    return load_digits(return_X_y=True)


def test_predictions_hold_at_widths_that_were_left_out(digits: tuple[Any, Any]) -> None:
    X, y = digits
    calibration = calibrate(X, y, widths=[150, 300, 600], n_repeats=3)
    inside, total = 0, 0
    for width in (220, 450, 900, 1500):
        predicted = calibration.detectors(width)
        assert predicted.extrapolated == (width > 600)
        for seed in range(3):
            found = len(fixed_width(X, y, width, Options(), 500 + seed).trace.anchors)
            inside, total = inside + (found in predicted), total + 1
            assert found == pytest.approx(predicted.value, rel=0.35)
    assert inside >= 0.8 * total
    assert calibration.forecast == limit_cover(X, y, random_state=0).n_detectors


def test_calibration_of_two_unit_moons() -> None:
    X, y = unit_moons()
    calibration = calibrate(X, y, n_repeats=3)
    width = calibration.width()
    assert width.low <= width.value <= width.high
    assert all(each in width for each in calibration.adaptive)
    assert json.loads(json.dumps(calibration.to_dict()))["forecast"] == calibration.forecast
    assert "limit forecast" in str(calibration)


def test_the_same_seed_gives_the_same_calibration() -> None:
    X, y = unit_moons()
    first, second = (calibrate(X, y, widths=[100, 200], n_repeats=2, random_state=4, n_jobs=jobs) for jobs in (1, 2))
    assert first == second
    assert first != calibrate(X, y, widths=[100, 200], n_repeats=2, random_state=5)


def test_intervals_widen_beyond_what_was_seen() -> None:
    X, y = unit_moons()
    calibration = calibrate(X, y, widths=[100, 200, 400], n_repeats=3)
    near, far = calibration.detectors(400), calibration.detectors(6400)
    assert far.high - far.low > near.high - near.low
    assert "extrapolated" in str(far)
    assert "extrapolated" not in str(near)


def test_bad_input_of_calibrate_is_refused() -> None:
    X, y = unit_moons()
    for options in ({"widths": [100]}, {"widths": [0, 5]}, {"n_repeats": 1}, {"confidence": 1.0}, {"target": 9}):
        with pytest.raises(ParameterError):
            calibrate(X, y, **options)
    with pytest.raises(DataError, match="larger widths"):
        calibrate(X, y, widths=[1, 2], n_repeats=2)
    with pytest.raises(ParameterError, match="width"):
        calibrate(X, y, widths=[100, 200], n_repeats=2).detectors(0)
    iris = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="two classes"):
        calibrate(*iris, target=1)
