"""Conditions say on which side of a hyperplane a point is, in the units of the data, with numbers that keep it true."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine

import exactfit
from exactfit import Condition, InterpolatingClassifier
from exactfit.conditions import HOLDS, NAMED, NAMED_NEAR, Wording, shown
from exactfit.network import DetectorNetwork, Sparse

SPARSE = {"hyperplanes": "sparse", "width": 512, "random_state": 0}


def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = [name.removesuffix(" (cm)") for name in X.columns]
    return X, y.to_numpy()


def detector_of(model, one):
    """The detector that conditions are about: the clearest of the answer's class."""
    named = (*one.fires, *one.nearest, *((one.other,) if one.other else ()))
    return max((found for found in named if found.label == one.label), key=lambda found: found.slack).detector


@pytest.mark.parametrize("detectors", ["weighted", "mask"])
def test_conditions_are_sides_of_hyperplanes_that_hold_the_detector_up(detectors):
    X, y = iris()
    model = InterpolatingClassifier(detectors=detectors, **SPARSE).fit(X, y)
    found = DetectorNetwork.of(model.network_)
    for place, one in enumerate(model.explain(X[::7])):
        point = X.to_numpy()[7 * place]
        assert 0 < len(one.conditions) <= NAMED + NAMED_NEAR
        for condition in one.conditions:
            k = condition.hyperplane
            weights = found.normals[[k]].toarray()[0]
            total = sum((Fraction(w) * Fraction(x) for w, x in zip(weights.tolist(), point.tolist(), strict=True)),
                        Fraction(float(found.biases[k])))  # fmt: skip
            on = total > 0
            # The same inequality: a multiple of the hyperplane, to the side on which the point is.
            scale = weights[X.columns.get_loc(condition.features[0])] / condition.weights[0]
            assert {name: w * scale for name, w in zip(condition.features, condition.weights, strict=True)} == {
                name: w for name, w in zip(X.columns, weights.tolist(), strict=True) if w
            }
            assert condition.relation in ((">", "<") if on else ("<=", ">="))
            assert (condition.relation in (">", ">=")) == (on == (scale > 0))
            # Numbers that are printed keep it true, and say about how far it is from not.
            assert HOLDS[condition.relation](condition.value, condition.threshold)
            assert float(condition.here) == condition.value
            assert condition.text.endswith(f" {condition.relation} {shown(condition.threshold)}")
            assert condition.distance == pytest.approx(abs(float(total) / scale), rel=0.11, abs=1e-12)
            # What its failing would cost the detector.
            own = found.take(np.array([detector_of(model, one)]), found.limits[:1])
            weight = own.dense_counters[0, k] * (-1 if on else 1)
            assert condition.slack == pytest.approx(weight / found.spans[detector_of(model, one)])
            assert condition.slack > 0
            rate = np.mean((X.to_numpy() @ weights + found.biases[k] > 0) == on)
            assert condition.rate == pytest.approx(rate, abs=0.01)
        keys = [(c.features, c.weights, c.relation[0]) for c in one.conditions]
        assert len(set(keys)) == len(keys)
        assert [c.near for c in one.conditions] == sorted(c.near for c in one.conditions)


def test_the_answer_of_a_known_rule_is_said():
    X = np.random.default_rng(0).uniform(-1, 1, (400, 4))
    model = InterpolatingClassifier(**SPARSE | {"width": 2048}).fit(X, X[:, 2] > 0.1)
    inside, outside = model.explain([[0.0, 0.0, 0.9, 0.0], [0.0, 0.0, -0.9, 0.0]])
    assert inside.label
    assert inside.conditions[0].text.startswith("x2 >")
    assert not outside.label
    assert outside.conditions[0].text.startswith("x2 <")


def test_near_means_less_than_a_tenth_of_what_rows_differ_by():
    X, y = iris()
    model = InterpolatingClassifier(**SPARSE).fit(X, y)
    spreads = dict(zip(X.columns, model.trace_.spreads.tolist(), strict=True))
    seen = set()
    for one in model.explain(X):
        for condition in one.conditions:
            typical = sum(abs(w) * spreads[name] for name, w in zip(condition.features, condition.weights, strict=True))
            share = condition.distance / typical
            assert share < 0.12 if condition.near else share > 0.09  # distances are those of rounded numbers
            seen.add(condition.near)
    assert seen == {True, False}


def test_hyperplanes_of_many_features_and_numbers_have_no_conditions():
    X, y = load_digits(return_X_y=True)
    paper = InterpolatingClassifier.paper(random_state=0).fit(X[:300], y[:300])
    assert {one.conditions for one in paper.explain(X[:5])} == {()}
    relu = InterpolatingClassifier(activation="relu", **SPARSE | {"hyperplanes": "gaussian"}).fit(*iris())
    assert {one.conditions for one in relu.explain(iris()[0][:5])} == {()}
    assert "because" not in str(relu.explain(iris()[0][:5]))


def test_pixels_are_named_by_their_place():
    X, y = load_digits(return_X_y=True)
    model = InterpolatingClassifier(image_shape=(8, 8), **SPARSE).fit(X[:300], y[:300])
    (one,) = model.explain(X[:1])
    assert all(name.startswith("x[") and "," in name for found in one.conditions for name in found.features)
    assert Wording(None, (2, 3, 3)).name(4) == "x[0, 1, 1]"


def test_the_rest_of_a_one_sided_model_is_kept_off_by_conditions():
    made = InterpolatingClassifier.paper(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    one, two = made.explain([[1.0], [2.0]])
    assert two.label == "a"
    assert [found.text[:4] for found in two.conditions] == ["x0 >"]
    assert all(HOLDS[found.relation](2.0, found.threshold) for found in two.conditions)
    assert all(not HOLDS[found.relation](1.0, found.threshold) for found in two.conditions)
    assert all(HOLDS[found.relation](1.0, found.threshold) for found in one.conditions)


def test_files_keep_what_conditions_and_importances_need(tmp_path):
    X, y = iris()
    model = InterpolatingClassifier(**SPARSE).fit(X, y)
    exactfit.save(model, tmp_path / "model")
    loaded = exactfit.load(tmp_path / "model")
    plain = model.explain(X[:9]).to_dict()
    assert loaded.explain(X[:9]).to_dict() == plain
    assert json.loads(json.dumps(plain)) == plain
    for found, told in zip(model.explain(X[:1])[0].conditions, plain["points"][0]["conditions"], strict=True):
        assert Condition(**told | {name: tuple(told[name]) for name in ("features", "weights")}) == found
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


def test_an_older_file_has_conditions_without_rates_and_no_importances(tmp_path):
    X, y = iris()
    model = InterpolatingClassifier(**SPARSE).fit(X, y)
    empty = {name: getattr(model.trace_, name)[:0] for name in ("importances", "spreads", "on_counts")}
    model.trace_ = type(model.trace_)(**vars(model.trace_) | empty)
    exactfit.save(model, tmp_path / "model")
    loaded = exactfit.load(tmp_path / "model")
    assert {(found.rate, found.near) for found in loaded.explain(X[:1])[0].conditions} == {(None, False)}
    assert "rows; slack" not in str(loaded.explain(X[:1])[0].conditions[0])
    with pytest.raises(AttributeError, match="fit it again"):
        _ = loaded.feature_importances_


def test_sparse_points_and_threads_do_not_matter():
    X, y = load_wine(return_X_y=True)
    model = InterpolatingClassifier(**SPARSE).fit(X, y)
    plain = model.explain(X[:5]).to_dict()
    assert model.explain(sp.csr_array(X[:5])).to_dict() == plain
    assert model.set_params(n_jobs=2).explain(X[:5]).to_dict() == plain


@pytest.mark.parametrize(("factor", "bias"), [(1e-300, 1e300), (1e300, 1e300), (1e-320, 1e-320), (0.0, 1.0)])
def test_numbers_at_the_ends_of_float64_are_left_out(factor, bias):
    X, y = iris()
    model = InterpolatingClassifier(**SPARSE).fit(X, y)
    normals = model.network_.normals.astype(np.float64)
    normals.data[::2] *= factor  # zeros that are stored, for one
    model.network_ = replace(model.network_, hyperplanes=Sparse(normals), biases=bias * model.network_.biases)
    for one in model.explain(X[::30]):
        for condition in one.conditions:
            assert all(map(np.isfinite, (condition.value, condition.threshold, *condition.weights)))
            assert all(condition.weights)
