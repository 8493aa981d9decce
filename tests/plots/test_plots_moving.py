"""Pictures of how far points may move."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons

from exactfit import InterpolatingClassifier, ParameterError, certify
from exactfit.plots import plot_radii


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def proved():
    X, y = make_moons(80, noise=0.05, random_state=0)
    models = {name: InterpolatingClassifier(margin=name, random_state=0).fit(X, y) for name in ("0%", "50%")}
    return {name: certify(model, X, y, radii=True) for name, model in models.items()}


def test_lines_are_the_shares_of_points_that_may_move(proved):
    ax = plot_radii(proved)
    lines = [line for line in ax.lines if line.get_label() in proved]
    for line, one in zip(lines, proved.values(), strict=True):
        for distance, share in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert share == pytest.approx(np.mean(one.radii >= distance))
    dashed = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed == [proved["50%"].margin]


def test_one_certificate_has_no_legend_and_takes_axes(proved):
    own = plt.subplots()[1]
    assert plot_radii(proved["0%"], ax=own) is own
    assert own.get_legend() is None


def test_certificates_must_have_radii(proved):
    X, y = make_moons(80, noise=0.05, random_state=0)
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    for wrong in (certify(model, X, y), {"a": model}, None):
        with pytest.raises(ParameterError, match="certificates with radii"):
            plot_radii(wrong)
