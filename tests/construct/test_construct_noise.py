"""Points given up: the rule is the twin's, the network is that of the others, and the certificate says so."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive_claims
from helpers.problems import OWN
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs

import exactfit
from exactfit import (
    Certificate,
    ContradictoryLabelsError,
    InterpolatingClassifier,
    InterpolationWarning,
    Outcome,
    ParameterError,
    certify,
)
from exactfit._support.threads import SERIAL, Executor, Threads
from exactfit.construct import noise
from exactfit.construct.noise import Claims, drawn_patterns, points_to_give_up
from exactfit.network.bits import BitMatrix


def noisy(n: int = 120, flipped: int = 10, n_classes: int = 3, seed: int = 0):
    """Blobs with some labels changed, and which."""
    X, y = make_blobs(n, centers=n_classes, n_features=3, cluster_std=1.5, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n, flipped, replace=False))
    z = y.copy()
    z[rows] = (y[rows] + rng.integers(1, n_classes, flipped)) % n_classes
    return X, z, rows


# ---------------------------------------------------------------- claims and support


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 25), st.integers(1, 70), st.integers(2, 4))
def test_claims_and_support_are_those_of_the_twin(seed, n, width, n_classes):
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(0, n_classes, n - 2)]
    bits = rng.random((n, width)) < rng.random()
    found = Claims.over(BitMatrix.from_bool(bits), y, SERIAL)
    expected = naive_claims.claims_and_support(bits, y)
    assert (found.claims.tolist(), found.support.tolist()) == tuple(expected)


def test_blocks_and_threads_do_not_matter(monkeypatch):
    X, y, _ = noisy()
    bits = drawn_patterns(X, 100, 0, SERIAL)
    whole = Claims.over(bits, y, SERIAL)
    monkeypatch.setattr(noise, "MOST_ANCHORS", 7)
    with Threads(2) as threads:
        again = Claims.over(bits, y, threads)
    np.testing.assert_array_equal(again.claims, whole.claims)
    np.testing.assert_array_equal(again.support, whole.support)
    assert whole.claims.sum() == whole.support.sum() > 0


def test_contradictory_rows_neither_claim_nor_are_claimed():
    X, y, _ = noisy()
    X[1] = X[0]
    y[:2] = 0, 1
    found = Claims.over(drawn_patterns(X, 256, 0, SERIAL), y, SERIAL)
    assert found.claims[:2].tolist() == found.support[:2].tolist() == [0, 0]


# ---------------------------------------------------------------- the rule


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(6, 30), st.floats(0.01, 0.49), st.integers(2, 3))
def test_the_rows_are_those_of_the_twin(seed, n, share, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 2)).astype(np.float64)  # some are equal
    y = np.r_[0, 1, rng.integers(0, n_classes, n - 2)]
    bits = drawn_patterns(X, noise.WIDTH, 5, SERIAL).to_bool()
    expected = naive_claims.points_to_give_up(X, bits, y, math.floor(share * n), noise.ROUNDS)
    assert points_to_give_up(X, y, share, 5, Executor(SERIAL)).tolist() == expected


def test_wrong_labels_are_found():
    X, z, flipped = noisy(300, 15)
    found = points_to_give_up(X, z, 0.05, 0, Executor(SERIAL))
    assert len(found) == 15
    assert np.isin(found, flipped).mean() > 0.5


def test_no_class_loses_more_than_half():
    X, _ = make_blobs(60, centers=1, random_state=0)
    y = np.r_[np.zeros(55, dtype=int), np.ones(5, dtype=int)]
    gone = points_to_give_up(X, y, 0.4, 0, Executor(SERIAL))
    assert (y[gone] == 1).sum() == 2


@pytest.mark.parametrize("wrong", [-0.1, 0.5, 1, True, "0.1", None, float("nan"), 1j])
def test_a_noise_that_is_no_fraction_is_refused(wrong):
    with pytest.raises(ParameterError, match=r"below 0\.5"):
        InterpolatingClassifier(noise=wrong).fit([[0.0], [1.0]], [0, 1])


# ---------------------------------------------------------------- the classifier

OPTIONS = {
    "adaptive": {},
    "one-sided": {"n_classes": 2},
    "both sides": {"n_classes": 2, "target": "all"},
    "fixed": {"width": 2000},
    "bisectors": {"hyperplanes": "bisector"},
    "relu": {"activation": "relu"},
    "own": {"activation": OWN, "width": 2000},
    "float32": {"exact_in": "float32"},
    "sparse": {"sparse": True},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_network_is_that_of_the_kept_points(name):
    options = dict(OPTIONS[name])
    X, z, _ = noisy(n_classes=options.pop("n_classes", 3))
    X = sp.csr_array(X) if options.pop("sparse", False) else X
    model = InterpolatingClassifier(noise=0.1, random_state=3, **options).fit(X, z)
    seen = X.astype(np.float32).astype(np.float64) if name == "float32" else X
    gone = points_to_give_up(seen, z.astype(np.int64), 0.1, 3, Executor(SERIAL))
    kept = np.delete(np.arange(len(z)), gone)
    plain = InterpolatingClassifier(random_state=3, **options).fit(X[kept], z[kept])
    assert model.network_.digest == plain.network_.digest
    np.testing.assert_array_equal(model.anchors_, kept[plain.anchors_])
    np.testing.assert_array_equal(model.trace_.witnesses, kept[plain.trace_.witnesses])
    claims_all_about(model, X, z, gone)


def claims_all_about(model, X, z, gone):
    """Certificate, outcome and certify agree about which points were given up for good."""
    given_up = model.certificate_.given_up
    assert len(given_up) > 0
    assert set(given_up) <= set(gone.tolist())
    assert model.certificate_.holds
    assert model.certificate_.n_errors == 0
    assert (model.outcome_, model.interpolates_) == (Outcome.POINTS_GIVEN_UP, False)
    arithmetic = model.exact_in or "exact"
    np.testing.assert_array_equal(certify(model, X, z, arithmetic=arithmetic).errors, given_up)
    proved = certify(model, X, z, given_up=given_up, arithmetic=arithmetic)
    assert proved.holds
    np.testing.assert_array_equal(proved.given_up, given_up)
    assert not certify(model, X, z, given_up=given_up[1:], arithmetic=arithmetic).holds
    assert proved.data_digest == model.certificate_.data_digest


def test_points_that_are_right_all_the_same_are_kept():
    X, y = make_blobs(100, centers=2, cluster_std=0.1, random_state=0)
    model = InterpolatingClassifier(noise=0.2, hyperplanes="bisector", random_state=0).fit(X, y)
    assert len(points_to_give_up(X, y, 0.2, 0, Executor(SERIAL))) == 20
    assert model.outcome_ is Outcome.INTERPOLATES
    assert model.interpolates_
    assert len(model.certificate_.given_up) == 0
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("tiny", [0.0, 0, 0.005])
def test_without_a_budget_nothing_changes(tiny):
    X, z, _ = noisy()
    plain, asked = (InterpolatingClassifier(random_state=1, **more).fit(X, z) for more in ({}, {"noise": tiny}))
    assert asked.network_.digest == plain.network_.digest
    assert asked.outcome_ is Outcome.INTERPOLATES
    assert asked.certificate_.to_dict() == plain.certificate_.to_dict()


def test_contradictory_rows_come_first_and_count():
    X, z, _ = noisy()
    X[:3], z[:3] = X[0], [0, 0, 1]
    model = InterpolatingClassifier(noise=0.01, random_state=0).fit(X, z)  # a budget of one
    assert model.certificate_.given_up.tolist() == [2]
    assert model.certificate_.holds


def test_more_contradictory_rows_than_the_budget_are_refused():
    X, z, _ = noisy()
    X[:4], z[:4] = X[0], [0, 0, 1, 2]
    with pytest.raises(ContradictoryLabelsError):
        InterpolatingClassifier(noise=0.01, random_state=0).fit(X, z)
    with pytest.warns(exactfit.ConflictWarning):
        model = InterpolatingClassifier(noise=0.01, conflicts="majority", random_state=0).fit(X, z)
    assert model.outcome_ is Outcome.POINTS_GIVEN_UP
    assert (model.certificate_.errors.tolist(), model.certificate_.given_up.tolist()) == ([], [2, 3])
    assert model.certificate_.overruled.tolist() == [2, 3]


def test_a_class_that_only_contradicts_may_vanish():
    X = np.repeat(np.arange(4.0), 3)[:, None]
    y = np.array([0, 0, 2, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    model = InterpolatingClassifier(noise=0.1, random_state=0).fit(X, y)
    assert model.certificate_.given_up.tolist() == [2]
    np.testing.assert_array_equal(np.delete(model.predict(X), 2), np.delete(y, 2))


def test_missed_points_are_still_told():
    X, z, _ = noisy()
    with pytest.warns(InterpolationWarning):
        model = InterpolatingClassifier(width=2, noise=0.1, random_state=0).fit(X, z)
    assert model.outcome_ is Outcome.POINTS_MISSED
    certificate = model.certificate_
    again = certify(model, X, z)
    np.testing.assert_array_equal(np.union1d(certificate.errors, certificate.given_up), again.errors)
    np.testing.assert_array_equal(certify(model, X, z, given_up=certificate.given_up).errors, certificate.errors)


def test_it_is_silent_and_the_same_for_threads_and_generators():
    X, z, _ = noisy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (InterpolatingClassifier(noise=0.1, n_jobs=n, random_state=4).fit(X, z) for n in (1, 2))
        a, b = (InterpolatingClassifier(noise=0.1, random_state=np.random.default_rng(7)).fit(X, z) for _ in range(2))
    assert one.network_.digest == two.network_.digest
    assert a.network_.digest == b.network_.digest


def test_clone_and_parameters():
    model = clone(InterpolatingClassifier(noise=0.25))
    assert model.get_params()["noise"] == 0.25
    assert InterpolatingClassifier().noise == 0.0


# ---------------------------------------------------------------- certify and the certificate


def test_certify_refuses_rows_that_are_none():
    model = InterpolatingClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    for wrong in ([2], [-1], [0.5], [[0]], "ab"):
        with pytest.raises(ParameterError, match="row numbers from 0 to 1"):
            certify(model, [[0.0], [1.0]], [0, 1], given_up=wrong)


def test_certify_leaves_rows_out_of_anything_with_rows():
    import pandas as pd
    import polars as pl

    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 1])
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    wrong = np.r_[1, y[1:4], 1, 1]
    for kind in (np.asarray, sp.csc_array, pd.DataFrame, lambda rows: pl.DataFrame(rows, schema=["a"])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # names of columns, which the model has not seen
            certificate = certify(model, kind(X), wrong, given_up=[4, 0, 4])
        assert (certificate.holds, certificate.given_up.tolist()) == (True, [0, 4])


def test_a_certificate_shows_what_was_given_up():
    X, z, _ = noisy()
    certificate = InterpolatingClassifier(noise=0.1, random_state=0).fit(X, z).certificate_
    kept = len(z) - len(certificate.given_up)
    assert f"holds for all {kept} kept points" in str(certificate)
    assert f"rows given up  {certificate.given_up[0]}, " in str(certificate)
    again = Certificate.from_dict(certificate.to_dict())
    np.testing.assert_array_equal(again.given_up, certificate.given_up)
    assert str(again) == str(certificate)
    older = {name: part for name, part in certificate.to_dict().items() if name != "given_up"}
    assert len(Certificate.from_dict(older).given_up) == 0
