"""Explanations name the detectors that a dense evaluation finds, and the rows that they were built from."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.problems import OWN, PROBLEMS
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

import exactfit
from exactfit import InterpolatingClassifier, InterpolationWarning, ParameterError, certify
from exactfit.explanation import NAMED_SUPPORT
from exactfit.network import WeightedMasks, detector_network
from exactfit.network.detector_network import NEAREST, NO_DETECTOR, DetectorNetwork

MODELS = {
    "one-sided": {"target": None},
    "both sides": {"target": "all"},
    "three classes": {"problem": "three classes"},
    "fixed": {"problem": "three classes", "width": 150},
    "relu": {"problem": "three classes", "activation": "relu"},
    "relu one-sided": {"activation": "relu", "target": None},
    "own": {"problem": "three classes", "activation": OWN},
    "weighted": {"problem": "three classes", "detectors": "weighted", "width": 150},
    "weighted one-sided": {"detectors": "weighted", "target": None},
}


def fitted(problem: str = "moons", **options):
    X, y = make_moons(80, noise=0.2, random_state=0) if problem == "moons" else PROBLEMS[problem]()
    names = np.array(["nought", "one", "two", "three"])
    options = {"random_state": 0, "detectors": "mask"} | options
    return InterpolatingClassifier(**options).fit(X, names[y]), X, names[y]


def unseen(X):
    return np.concatenate([X[:5], np.random.default_rng(1).normal(scale=2.0, size=(40, X.shape[1]))])


def dense_slack(model, points):
    """Relative slack of all detectors at all points: masks and values as plain matrices."""
    first, detectors, _ = model.network_.layers
    sums = first.sums(points)
    threshold = first.activation.is_threshold
    values = (sums > 0).astype(float) if threshold else first.activation(sums)
    weights = detectors.weights
    counts = weights.values if isinstance(weights, WeightedMasks) else weights.bits.to_bool()
    heights = values @ counts.astype(float).T
    spans = detectors.bias - np.minimum(counts.astype(float), 0).sum(axis=1)
    return (detectors.bias - (0.5 if threshold else 0.0) - heights) / spans


@pytest.mark.parametrize("name", MODELS)
def test_the_detectors_are_those_of_a_dense_evaluation(name):
    model, X, _ = fitted(**MODELS[name])
    points = unseen(X)
    slack, labels = dense_slack(model, points), model.classes_[model.trace_.detector_classes]
    for k, one in enumerate(model.explain(points)):
        firing = np.flatnonzero(slack[k] > 0)
        assert sorted(found.detector for found in one.fires) == firing.tolist()
        assert set(one.claimed_by) == set(labels[firing].tolist())
        named = one.fires or one.nearest
        np.testing.assert_allclose([found.slack for found in named], slack[k][[found.detector for found in named]])
        assert [found.slack for found in named] == sorted((found.slack for found in named), reverse=True)
        if not len(firing):
            best = np.sort(slack[k])[::-1][:NEAREST]
            np.testing.assert_allclose([found.slack for found in one.nearest], best)
        others = slack[k][labels != one.label]
        assert (one.other is None) == (model.network_.widths[-1] == 1)
        if one.other:
            assert one.other.label != one.label
            np.testing.assert_allclose(one.other.slack, others.max())


@pytest.mark.parametrize("name", MODELS)
def test_answers_and_rows_are_those_of_the_model(name):
    model, X, y = fitted(**MODELS[name])
    points = unseen(X)
    explained = model.explain(points)
    np.testing.assert_array_equal(explained.labels, model.predict(points))
    np.testing.assert_array_equal(explained.responses.best, DetectorNetwork.of(model.network_).class_slack(points))
    for one in explained:
        for _, found in one.roles():
            assert found.anchor == model.anchors_[found.detector]
            assert found.witness == model.trace_.witnesses[found.detector]
            assert y[found.anchor] == found.label != y[found.witness]


def test_every_training_point_is_claimed_by_its_class():
    model, X, y = fitted("three classes")
    for label, one in zip(y, model.explain(X), strict=True):
        assert one.claimed_by == (label,)
        assert one.label == label
        assert one.other.slack < 0


def test_a_witness_stands_at_the_limit():
    model, X, _ = fitted("three classes", width=200)
    limits = model.network_.layers[1].bias
    slack = dense_slack(model, X[model.trace_.witnesses])
    np.testing.assert_allclose(np.diag(slack), -0.5 / limits)


@pytest.mark.parametrize("name", ["three classes", "relu", "weighted"])
def test_threads_tiles_batches_and_layout_do_not_matter(monkeypatch, name):
    model, X, _ = fitted(**MODELS[name])
    points = unseen(X)
    whole = model.explain(points).to_dict()
    assert {"points": [model.explain(point[None, :])[0].to_dict() for point in points]} == whole
    assert model.explain(sp.csr_array(points)).to_dict() == whole
    monkeypatch.setattr(detector_network, "TILE_ROWS", 7)
    assert model.set_params(n_jobs=2).explain(points).to_dict() == whole


def test_classes_without_detectors():
    model, X, _ = fitted("three classes")
    found = DetectorNetwork.of(model.network_).responses(X[:0])
    assert (len(found.best), len(found.fired), found.starts.tolist()) == (0, 0, [0])
    with pytest.warns(InterpolationWarning):
        narrow = InterpolatingClassifier(width=1, random_state=1).fit(X, np.arange(len(X)) % 7)
    assert (DetectorNetwork.of(narrow.network_).responses(X).clearest == NO_DETECTOR).any()
    assert [one.label for one in narrow.explain(X)] == narrow.predict(X).tolist()


@pytest.mark.parametrize("name", ["three classes", "weighted"])
def test_a_loaded_model_explains_alike(tmp_path, name):
    model, X, _ = fitted(**MODELS[name])
    exactfit.save(model, tmp_path / "model")
    assert exactfit.load(tmp_path / "model").explain(unseen(X)).to_dict() == model.explain(unseen(X)).to_dict()


@pytest.mark.parametrize("name", ["weighted", "weighted one-sided"])
def test_support_names_the_rows_that_weights_rest_on(name):
    model, X, y = fitted(**MODELS[name])
    explained, trace = model.explain(X), model.trace_
    for detector in range(model.n_detectors_):
        part = slice(*trace.support_starts[detector : detector + 2])
        rows, shares = explained.supports.of(detector)
        kept = dict(zip(trace.support[part].tolist(), trace.dual_coef[part].tolist(), strict=True))
        assert sorted(rows.tolist()) == sorted(kept)
        np.testing.assert_allclose(shares * sum(map(abs, kept.values())), [kept[row] for row in rows.tolist()])
        assert np.abs(shares).sum() == pytest.approx(1.0)
        assert (np.diff(np.abs(shares)) <= 0).all()
        own = model.classes_[trace.detector_classes[detector]]
        assert ((y[rows] == own) == (shares > 0)).all()
    named = [found for one in explained for _, found in one.roles()]
    for found in named:
        rows, shares = explained.supports.of(found.detector)
        assert found.n_support == len(rows)
        for side in (1, -1):
            here = [(one.row, one.share) for one in found.support if one.share * side > 0]
            expected = [(r, s) for r, s in zip(rows.tolist(), shares.tolist(), strict=True) if s * side > 0]
            assert here == expected[:NAMED_SUPPORT]
        assert found.rests_on.startswith(f"rests on rows {next(one for one in found.support if one.share > 0)}")
    assert "\n               rests on rows " in str(explained)
    assert json.loads(json.dumps(explained.to_dict())) == explained.to_dict()
    frame = explained.to_frame()
    assert (frame["support"].map(len) == frame["shares"].map(len)).all()
    assert frame["n_support"].tolist() == [found.n_support for found in named]


def test_masks_rest_on_their_anchor_alone():
    model, X, _ = fitted()
    assert model.explain(X).supports is None
    assert "rests on" not in str(model.explain(X))


def test_text_json_and_frame():
    model, X, y = fitted(target=None)
    explained = model.explain(X)
    assert json.loads(json.dumps(explained.to_dict())) == explained.to_dict()
    frame = explained.to_frame()
    about = ["detector", "label", "anchor", "witness", "slack", "support", "shares", "n_support"]
    assert list(frame) == ["point", "answer", "role", *about]
    assert (frame["n_support"] == 0).all()
    fires = frame[frame["role"] == "fires"]
    assert sorted(fires["point"].unique()) == np.flatnonzero(y == fires["label"].iloc[0]).tolist()
    assert (frame[frame["role"] == "nearest"]["slack"] < 0).all()
    text = str(explained)
    assert text.startswith(f"point 0: {str(y[0])!r}")
    assert text.endswith(f"and {len(X) - 5} more points")
    assert len(repr(explained)) < 80
    assert len(repr(explained[0])) < 100
    rest = explained[int(np.flatnonzero(y != fires["label"].iloc[0])[0])]
    assert "claimed by no class\n  came close   detector" in str(rest)
    assert [one.label for one in explained[2:5]] == y[2:5].tolist()
    assert explained[-1] == explained[len(X) - 1]
    with pytest.raises(IndexError):
        explained[len(X)]


@pytest.mark.parametrize("name", ["both sides", "three classes", "relu", "own", "weighted"])
def test_abstains_where_the_network_does_not_decide(name):
    model, X, _ = fitted(**MODELS[name])
    points = np.random.default_rng(2).normal(scale=2.0, size=(300, X.shape[1]))
    left = model.abstains(points)
    np.testing.assert_array_equal(left, model.network_.decide(points) == -1)
    assert 0 < left.sum() < len(points)
    assert not model.abstains(X).any()
    claims = [len(one.claimed_by) for one in model.explain(points)]
    np.testing.assert_array_equal(left, np.array(claims) != 1)


def test_a_one_sided_model_does_not_abstain():
    model, X, _ = fitted(target=None)
    with pytest.raises(ParameterError, match='target="all"'):
        model.abstains(X)


def test_an_unfitted_model_explains_nothing():
    for ask in (InterpolatingClassifier().explain, InterpolatingClassifier().abstains):
        with pytest.raises(NotFittedError):
            ask([[0.0]])


@pytest.mark.parametrize("name", ["one-sided", "three classes", "relu", "weighted"])
def test_explanations_say_how_far_a_point_may_move(name):
    model, X, _ = fitted(**MODELS[name])
    points = unseen(X)
    found = model.explain(points, radii=True)
    answers, output = model.predict(points), model.classes_[model.network_.decide(points)]
    assert (found.radii == certify(model, points, answers, radii=True).radii).all()
    sure = found.radii > 0
    assert sure.any()
    assert (output[sure] == answers[sure]).all()
    rng = np.random.default_rng(0)
    for _ in range(50):
        steps = rng.normal(size=points.shape)
        moved = points + (1 - 1e-9) * found.radii[:, None] * steps / np.linalg.norm(steps, axis=1, keepdims=True)
        assert (model.classes_[model.network_.decide(moved[sure])] == answers[sure]).all()
    first = int(np.flatnonzero(sure)[0])
    assert f"may move     by {found[first].radius:.3g} without changing its answer" in str(found[first])
    assert found[first].to_dict()["radius"] == found[first].radius == found.radii[first]
    frame = found.to_frame()
    assert (frame["radius"] == found.radii[frame["point"]]).all()
    assert model.explain(points)[first].radius is None
    assert "radius" not in model.explain(points).to_frame()
