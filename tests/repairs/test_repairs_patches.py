"""Patches of every kind: where they fire, how far they reach, and who is heard when several do."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.networks import KINDS, Constant, moons_and_model

from exactfit import repair
from exactfit.repairs.patches import centres_and_squares


def test_reach_goes_from_the_least_to_the_nearest_point_of_another_label() -> None:
    X, y, model = moons_and_model()
    least, half, full = (repair(model, X, y, reach=reach, random_state=0) for reach in ("least", 0.5, "full"))
    for repaired in (least, half, full):
        centres, squares = centres_and_squares(repaired.repair_.patches)
        anchors = repaired.repair_.patches.anchors
        np.testing.assert_array_equal(centres, X[anchors])
        away = [np.min(((X[y != y[row]] - X[row]) ** 2).sum(axis=1)) for row in anchors]
        assert (squares < away).all()
        if repaired is full:
            np.testing.assert_allclose(squares, away, rtol=1e-6)
        if repaired is least:
            assert squares.max() < 1e-10
    assert least.n_patches_ >= half.n_patches_ >= full.n_patches_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reach", ["least", 0.5, "full"])
def test_patches_fire_inside_and_are_silent_outside_of_their_radii(kind, reach) -> None:
    X, y, model = moons_and_model()
    repaired = repair(model, X, y, patches=kind, reach=reach, random_state=0)
    patches, rng = repaired.repair_.patches, np.random.default_rng(0)
    for place, patch in enumerate(repaired.report().patches):
        way = rng.normal(size=(20, 2))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        rows, fired = patches.fired(X[patch.anchor] + way * patch.fires_within * (1 - 1e-6))
        assert set(rows[fired == place].tolist()) == set(range(20))
        if np.isfinite(patch.silent_beyond):
            far = patch.silent_beyond * (1 + 1e-6) * rng.uniform(1, 3, (20, 1))
            assert place not in patches.fired(X[patch.anchor] + way * far)[1]
        else:
            assert kind != "ball"


def test_several_classes_that_fire_leave_the_answer_to_the_model() -> None:
    X, y = np.array([[0.0], [4.0], [9.0]]), np.array([0, 1, 2])
    repaired = repair(Constant(2, [0, 1, 2]), X, y, reach="full")
    assert repaired.predict([[1.0], [3.0], [2.0]]).tolist() == [2, 2, 2]  # both balls reach over the middle
    assert repaired.predict([[-1.0], [5.0]]).tolist() == [0, 1]
    between, by_model = repaired.explain([[2.0], [20.0]])
    assert not between.by_patch
    assert between.anchors == (0, 1)
    assert by_model.anchors == ()


def test_a_patch_is_named_by_its_anchor() -> None:
    X, y, model = moons_and_model()
    repaired = repair(model, X, y)
    row = int(repaired.repair_.patches.anchors[0])
    found = repaired.explain(X[[row]])[0]
    assert (found.label, found.model_label, found.anchors, found.by_patch) == (y[row], 1 - y[row], (row,), True)
