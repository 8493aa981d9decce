"""An evaluation as data: what it recommends, and how sure it is."""

from __future__ import annotations

import numpy as np
import pytest

from exactfit.lab.evaluation import Evaluation, Standing, interval


def standing(name, accuracies, options=None):
    scores = [dict.fromkeys(("balanced_accuracy", "auc", "claimed", "accuracy_claimed"), 0.5) for _ in accuracies]
    found = [one | {"accuracy": accuracy, "seconds": 1.0} for one, accuracy in zip(scores, accuracies, strict=True)]
    given = [one | {"accuracy": 0.8} for one in found]
    return Standing.of(name, found, given, 5, options)


@pytest.mark.parametrize(
    ("accuracies", "recommended"),
    [((0.9, 0.91, 0.9), "n_networks=7)  # 90.3% on new points, +10.3 points"), ((0.99, 0.7, 0.8), ")  # 80.0%")],
)
def test_a_setting_is_recommended_if_it_is_better_beyond_chance(accuracies, recommended):
    rows = standing("as given", (0.8, 0.8, 0.8), {}), standing("7 networks", accuracies, {"n_networks": 7})
    told = Evaluation((*rows, standing("1-nn", (0.95, 0.95, 0.95))), 10, 2, "all folds").recommendation
    assert recommended in told
    assert told.endswith("; 1-nn reaches 95.0%")


def test_the_interval_is_wider_than_that_of_independent_runs():
    values = np.array([0.9, 0.92, 0.88, 0.91])
    low, high = interval(values, 4)
    assert (high - low) / 2 > 3.18 * values.std(ddof=1) / 2
    assert interval(values[:1], 4) == (-1.0, 1.0)
