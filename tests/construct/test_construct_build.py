"""Several networks that answer by the mean of their scores: each is the one of its seed, and all interpolate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from constructors import plain
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from strategies import problems, seeds

import exactfit
from exactfit import InterpolatingClassifier, certify
from exactfit.construct import Recipe, adaptive_width
from exactfit.construct.build import seeds_of_networks
from exactfit.exceptions import InterpolationWarning
from exactfit.network.detectors import class_slack

OPTIONS = {
    "masks": {},
    "both sides": {"target": "all"},
    "weighted": {"detectors": "weighted", "hyperplanes": "bisector"},
    "relu": {"activation": "relu"},
    "float32": {"exact_in": "float32", "target": "all"},
    "noise": {"noise": 0.2},
}


def moons(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)).astype(np.float32).astype(np.float64)
    return X, (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_each_is_the_network_of_its_seed(options):
    X, y = moons()
    made = adaptive_width(X, y, Recipe(n_networks=3, **options), random_state=5)
    assert made.outcome.interpolates or made.outcome.value == "points given up"
    root = np.random.SeedSequence(5)
    recipe = Recipe(**{name: value for name, value in options.items() if name != "noise"})
    kept = np.delete(np.arange(len(X)), made.given_up)
    for index, (network, seed) in enumerate(zip(made.networks, seeds_of_networks(root, 3), strict=True)):
        assert (network.decide(X[kept]) == y[kept]).all(), index
        if "noise" not in options:
            assert network.digest == adaptive_width(X, y, recipe, random_state=seed).network.digest
    assert made.network.decide(X[kept]).tolist() == y[kept].tolist()
    assert made.trace.detector_starts[-1] == len(made.trace.anchors) == made.network.widths[1]


def test_one_network_is_what_it_was_and_the_first_of_more():
    X, y = moons()
    one, two, three = (adaptive_width(X, y, Recipe(n_networks=k), random_state=1) for k in (1, 2, 3))
    assert not len(one.trace.detector_starts)
    assert one.networks == (one.network,)
    digests = [network.digest for network in three.networks]
    assert [network.digest for network in two.networks] == digests[:2]
    assert one.network.digest == digests[0]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_one_certificate_for_all_of_them(options):
    X, y = moons(3)
    model = InterpolatingClassifier(n_networks=3, random_state=0, **options).fit(X, y)
    again = certify(model, X, y, given_up=model.certificate_.given_up)
    assert model.certificate_.holds
    assert again.holds
    assert "in each of 3 networks" in str(again)
    assert "in each of 3 networks" in str(model.certificate_)
    assert again.network_digest == model.certificate_.network_digest == model.network_.digest
    assert again.slack == min(certify(network, X, y, given_up=again.given_up).slack for network in model.networks_)
    assert certify(model.network_, X, y, given_up=again.given_up).holds, "the one network that holds them all"


def test_a_certificate_names_what_one_of_them_misses():
    X, y = moons(1)
    with pytest.warns(InterpolationWarning):
        model = InterpolatingClassifier(8, n_networks=4, random_state=0).fit(X, y)
    wrong = [set(np.flatnonzero(network.decide(X) != y).tolist()) for network in model.networks_]
    assert set(model.certificate_.errors.tolist()) == set.union(*wrong)
    assert certify(model, X, y).errors.tolist() == model.certificate_.errors.tolist()


@given(problems(), seeds, st.integers(2, 4), st.sampled_from(["mask", "weighted"]), st.sampled_from([None, "all"]))
@settings(max_examples=30)
def test_the_joint_answer_interpolates_and_is_the_mean(problem, seed, count, detectors, target):
    X, y = problem
    model = InterpolatingClassifier(n_networks=count, detectors=detectors, target=target, random_state=seed).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.explain(X).labels.tolist() == y.tolist()
    slacks = np.stack([class_slack(network, X) for network in model.networks_])
    with np.errstate(over="ignore"):
        mean = np.maximum((slacks / count).sum(axis=0), np.finfo(float).min)
    np.testing.assert_allclose(model._slack(X), mean, rtol=1e-12)
    shares = model.predict_proba(X)
    assert shares[np.arange(len(y)), np.searchsorted(model.classes_, y)].tolist() == [1.0] * len(y)


def test_the_same_for_any_number_of_threads():
    X, y = moons(2)
    digests = {
        InterpolatingClassifier(n_networks=5, random_state=0, n_jobs=n).fit(X, y).network_.digest for n in (1, 2)
    }
    assert len(digests) == 1


def test_votes_are_shares_and_exist_only_where_there_are_several():
    X, y = load_digits(return_X_y=True)
    model = InterpolatingClassifier(n_networks=5, random_state=0)
    assert hasattr(model, "predict_proba")
    model.fit(X[:500], y[:500])
    shares = model.predict_proba(X[500:])
    assert shares.shape == (1297, 10)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert set(np.unique(np.round(5 * shares, 9))) <= {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
    assert not hasattr(InterpolatingClassifier(n_networks=1), "predict_proba")
    assert not hasattr(InterpolatingClassifier(200, random_state=0).fit(X[:50], y[:50]), "predict_proba")


def test_more_networks_are_right_more_often():
    X, y = load_digits(return_X_y=True)
    one, seven = (plain(n_networks=k, random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) for k in (1, 7))
    assert seven > one + 0.02


def test_saved_and_loaded_as_one(tmp_path):
    X, y = moons()
    model = InterpolatingClassifier(n_networks=3, random_state=0).fit(X, y)
    exactfit.save(model, tmp_path / "m")
    again = exactfit.load(tmp_path / "m")
    assert [network.digest for network in again.networks_] == [network.digest for network in model.networks_]
    new = np.random.default_rng(0).standard_normal((50, 2))
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_conflicts_are_told_once():
    X, y = moons()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        InterpolatingClassifier(n_networks=3, conflicts="majority", random_state=0).fit(
            np.vstack([X, X[:1]]), np.r_[y, 1 - y[0]]
        )
    assert len(told) == 1
