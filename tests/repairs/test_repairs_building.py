"""Repairs as data: points that are added lower limits and get patches, and a refused addition changes nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.networks import KINDS, Constant, moons_and_model, trained
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from exactfit import ContradictoryLabelsError, DataError, certify, repair


@pytest.mark.parametrize("exact_in", [None, "float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_close_calls_of_a_chain_are_patched_as_well(kind, exact_in) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32).astype(float)
    coef = np.array([[1.0, -2.0, 0.5]])
    model = LogisticRegression().fit(X, (X @ coef[0] > 0).astype(int))
    model.coef_, model.intercept_ = coef, np.zeros(1)
    X[:20] -= (X[:20] @ coef.T) * coef / (coef**2).sum()  # on the boundary, but for rounding
    X = X.astype(np.float32).astype(float)
    y = model.predict(X)
    repaired = repair(model, X, y, patches=kind, exact_in=exact_in, random_state=0)
    certificate = repaired.certificate_
    assert certificate.holds
    assert certificate.answers_digest is None
    assert certificate.arithmetic == (exact_in or "exact")
    if exact_in == "float32":
        assert certificate.float32_safe
        assert len(repaired.repair_.targets) >= 15
    assert (repaired.predict(X) == y).all()
    assert certify(repaired, X, y, arithmetic=exact_in or "exact").holds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reach", ["least", "full"])
@pytest.mark.parametrize("exact_in", [None, "float32"])
def test_added_points_lower_limits_and_get_patches(kind, reach, exact_in) -> None:
    X, y = make_moons(200, noise=0.35, random_state=1)
    model = trained(DecisionTreeClassifier(max_depth=2, random_state=0), X[:120], y[:120])
    repaired = repair(model, X[:120], y[:120], patches=kind, reach=reach, exact_in=exact_in, random_state=0)
    before = repaired.n_patches_
    repaired.add(X[120:160], y[120:160]).add(X[160:], y[160:])
    assert (repaired.predict(X) == y).all()
    assert repaired.certificate_.holds
    assert repaired.certificate_.n_samples == 200
    first, second, third = repaired.report().history
    assert len(first.added) == before
    assert (second.first_row, third.first_row, third.n_rows) == (120, 160, 40)
    assert all(row >= 120 or row in repaired.repair_.targets for row in second.added)
    if reach == "full":
        assert second.lowered or third.lowered
    brought = {patch.anchor: patch.change for patch in repaired.report().patches}
    for row, change in brought.items():
        assert row in repaired.report().history[change].added


@pytest.mark.parametrize("exact_in", [None, "float32"])
def test_patches_that_no_new_point_is_near_stay_as_they_are(exact_in) -> None:
    X, y = load_digits(return_X_y=True)
    model = trained(LogisticRegression(C=1e-4), X[:600], y[:600])
    repaired = repair(model, X[:600], y[:600], exact_in=exact_in, random_state=0)
    before = repaired.report().patches
    repaired.add(X[600:900], y[600:900])
    assert repaired.report().patches[: len(before)] == before
    assert (repaired.report().history[1].lowered, repaired.report().history[1].dropped) == ((), ())


def test_what_loses_its_patch_is_covered_anew() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([1, 1, 1, 0])
    repaired = repair(Constant(0, [0, 1]), X, y, reach="full", random_state=0)
    assert repaired.n_patches_ == 1  # one ball claims all three
    repaired.add([[0.5], [1.5]], [0, 0])
    assert repaired.predict([*X, [0.5], [1.5]]).tolist() == [1, 1, 1, 0, 0, 0]
    assert repaired.n_patches_ == 3
    assert len(repaired.report().history[1].lowered) == 1


def test_a_refused_addition_changes_nothing() -> None:
    X, y, model = moons_and_model()
    repaired = repair(model, X, y)
    digest, history = repaired.network_.digest, repaired.report().history
    with pytest.raises(ContradictoryLabelsError, match="1 conflict: "):
        repaired.add(X[:1], 1 - y[:1])
    with pytest.raises(DataError, match="one label for each"):
        repaired.add(X[:2], y[:1])
    with pytest.raises(DataError, match="none of the model's classes"):
        repaired.add([[0.0, 0.0]], [7])
    with pytest.raises(DataError, match="digest differs"):
        repaired.add([[0.0, 0.0]], [1], given=(X[:5], y[:5]))
    assert (repaired.network_.digest, repaired.report().history) == (digest, history)


def test_a_report_can_be_written_as_json() -> None:
    X, y, model = moons_and_model()
    told = json.loads(json.dumps(repair(model, X, y).report(X, y).to_dict()))
    assert told["held_out"]["mended"] == told["n_wrong"]
    assert told["patches"][0]["anchor"] >= 0
