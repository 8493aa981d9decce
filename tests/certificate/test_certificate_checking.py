"""``certify`` takes whatever was fitted, proves it from the numbers alone, and finds what is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive
from helpers.networks import changed, small_problem
from helpers.problems import CONSTRUCTORS, PROBLEMS
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from exactfit import InterpolatingClassifier, TableModel, adaptive_width
from exactfit.certificate import Certificate, certify, data_digest
from exactfit.constructions import Huang
from exactfit.exceptions import DataError, ParameterError
from exactfit.network import Decoder, Dense
from exactfit.network.activations import Activation


@pytest.mark.parametrize("one_sided", [False, True])
def test_a_swapped_label_is_an_error_in_its_row(one_sided) -> None:
    X, y, W, b = small_problem(np.random.default_rng(3), n=80, classes=2 if one_sided else 3)
    network = naive.built(X, y, W, b, one_sided=one_sided)
    assert certify(network, X, y).holds
    for row in range(len(X)):
        swapped = y.copy()
        swapped[row] = (y[row] + 1) % (y.max() + 1)
        assert certify(network, X, swapped).errors.tolist() == [row]


@pytest.mark.parametrize("wide", [np.float32, np.float64])
def test_threads_tiles_and_layout_change_nothing(wide) -> None:
    rng = np.random.default_rng(7)
    X = (rng.normal(size=(1500, 20)) * (rng.random((1500, 20)) < 0.3)).astype(wide)
    W, b = rng.normal(size=(130, 20)).astype(np.float32), rng.normal(size=130)
    y = rng.integers(0, 3, 1500)
    on = X.astype(np.float64) @ W.T.astype(np.float64) + b > 0
    masks, limits, owners = ~on[:40], rng.integers(1, 25, 40), y[:40]
    claims = np.arange(3)[:, None] == owners[None, :]
    network = naive.network_of(W, b, masks, limits, claims, Decoder("one_hot", (0, 1, 2)))
    expected = certify(network, X, y, n_jobs=1)
    assert 0 < expected.n_errors < 1500
    assert expected.errors.tolist() == np.flatnonzero(network.decide(X) != y).tolist()
    for same in (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_matrix(X), pd.DataFrame(X)):
        assert certify(network, same, y, n_jobs=2).to_dict() == expected.to_dict()
    for arithmetic in ("float64", "float32"):
        one, two = (certify(network, X, y, arithmetic=arithmetic, n_jobs=jobs) for jobs in (1, 2))
        assert one.to_dict() == two.to_dict()


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_construction_is_confirmed(name, problem) -> None:
    X, y = PROBLEMS[problem]()
    made = CONSTRUCTORS[name](X, y, 0)
    certificate = certify(made.network, X, y)
    assert certificate.holds == made.outcome.interpolates
    assert certificate.errors.tolist() == made.trace.uncovered.tolist()
    assert certificate.errors.tolist() == np.flatnonzero(made.network.decide(X) != y).tolist()
    assert (certificate.note == "") == (not made.network.layers[0].activation.is_own)


def fitted(labels) -> tuple[SimpleNamespace, np.ndarray, np.ndarray]:
    X, y, W, b = small_problem(np.random.default_rng(3), n=80)
    return SimpleNamespace(network_=naive.built(X, y, W, b), classes_=np.asarray(labels)), X, y


@pytest.mark.parametrize("labels", [["ant", "bee", "cat"], [10, 20, 30], [-1.5, 0.0, 2.5]])
def test_an_estimator_is_judged_by_its_labels(labels) -> None:
    model, X, y = fitted(labels)
    given = np.asarray(labels)[y]
    for same in (given, given.tolist(), given.astype(object), pd.Series(given)):
        certificate = certify(model, X, same)
        assert certificate.holds
        assert certificate.data_digest == data_digest(X, given)
        assert certificate.network_digest == model.network_.digest


def test_an_unknown_label_is_an_error_in_its_row() -> None:
    model, X, y = fitted(["ant", "bee", "cat"])
    given = model.classes_[y].astype(object)
    given[[2, 5]] = "dog", 7
    assert certify(model, X, given).errors.tolist() == [2, 5]
    codes = y.copy()
    codes[3] = 8
    assert certify(model.network_, X, codes).errors.tolist() == [3]
    codes[3] = -1
    assert certify(model.network_, X, codes).errors.tolist() == [3]


def test_activations_of_ones_own_are_judged_by_evaluation_only() -> None:
    own = Activation("squared", lambda t: np.maximum(t, 0.0) ** 2)
    network = naive.network_of([[1.0]], [-0.5], [[True]], [1], [[True]], Decoder("sign", (0, 1)))
    network = changed(changed(network, 0, activation=own), 1, activation=own)
    X = np.array([[0.25], [5.0], [6.0]])
    certificate = certify(network, X, [0, 1, 0])
    assert certificate.errors.tolist() == [2]
    assert (certificate.float64_safe, certificate.float32_safe, certificate.robust_radius) == (None, None, None)
    assert (certificate.note, certificate.method) == ("by evaluation only", "evaluation")
    assert math.isnan(certificate.slack)
    assert "(proof: recomputed, by evaluation only)" in str(certificate)
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False))).holds is False
    with pytest.raises(ParameterError, match="no proof in float32"):
        certify(network, X, [0, 1, 0], arithmetic="float32")


def test_no_points_and_no_detectors() -> None:
    model, X, y = fitted("abc")
    with pytest.raises(DataError, match=r"at least one row and one column, got shape \(0, 2\)"):
        certify(model.network_, X[:0], y[:0])
    bare = naive.network_of(np.zeros((0, 2)), [], np.zeros((0, 0)), [], np.zeros((1, 0)), Decoder("sign", (0, 1)))
    alone = certify(bare, X, np.ones(len(X), dtype=int))
    assert (alone.holds, alone.float32_safe, alone.slack, alone.robust_radius) == (True, True, math.inf, math.inf)
    assert certify(bare, X, np.zeros(len(X), dtype=int)).n_errors == len(X)
    mute = naive.network_of(np.zeros((0, 2)), [], np.zeros((0, 0)), [], np.zeros((2, 0)), Decoder("one_hot", (0, 1)))
    for code in (-2, -1, 0, 1, 2):
        assert certify(mute, X, np.full(len(X), code)).n_errors == len(X)


def test_what_cannot_be_certified_is_refused() -> None:
    model, X, y = fitted("abc")
    network = model.network_
    hole, odd = X.copy(), X.copy()
    hole[4, 1], odd[2, 0] = np.nan, np.inf
    for bad_X, bad_y, says in [
        (hole, y, "row 4"),
        (odd, y, "row 2"),
        (X[:, :1], y, "1 features, the network takes 2"),
        (X, y[1:], "one label for each"),
        (X, np.where(y == y[2], np.nan, 0.0), "row 2 of y holds NaN"),
        (X, y.astype(float), "class indices"),
        (X[0], y, "rows and columns"),
    ]:
        with pytest.raises(DataError, match=says):
            certify(network, bad_X, bad_y)
    for other in ("float16", X):
        with pytest.raises(ParameterError, match=r"arithmetic must be one of .*, got ('float16'|ndarray of shape)"):
            certify(network, X, y, arithmetic=other)
    with pytest.raises(ParameterError, match=r"takes a Network.* RepairedClassifier"):
        certify("network", X, y)
    with pytest.raises(NotFittedError, match="not fitted"):
        certify(SimpleNamespace(fit=None), X, y)
    weights = network.layers[0].weights.values.copy()
    weights[0, 0] = np.nan
    with pytest.raises(DataError, match="first layer"):
        certify(changed(network, 0, weights=Dense(weights)), X, y)


def test_it_reads_well_and_survives_json() -> None:
    model, X, y = fitted("abc")
    good = certify(model.network_, X, y)
    lines = str(good).splitlines()
    assert lines[0] == "certificate: holds for all 10 points (proof: recomputed, exact arithmetic)"
    assert len({len(line) - len(line[17:]) for line in lines[1:]}) == 1
    assert f"  data           sha256 {good.data_digest}" in lines
    bad = certify(model.network_, np.repeat(X, 2, axis=0), (np.repeat(y, 2) + 1) % 3, arithmetic="float32")
    assert str(bad).startswith("certificate: fails for 20 of 20 points (proof: recomputed, float32 arithmetic)")
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10 more" in str(bad)
    for certificate in (good, bad, replace(good, robust_radius=None, slack=math.inf)):
        again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))
        assert again.to_dict() == certificate.to_dict()
        assert again.errors.dtype == np.int64
        assert str(again) == str(certificate)


NAMES = np.array(["cat", "dog", "owl"])


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.argmax(X + rng.normal(scale=0.3, size=X.shape), axis=1)


def test_a_construction_is_its_network():
    X, y = problem()
    for made in (adaptive_width(X, y), Huang().construct(X, y)):
        assert certify(made, X, y).to_dict() == certify(made.network, X, y).to_dict()
        assert certify(made, X, (y + 1) % 3).n_errors == len(y)


@pytest.mark.parametrize("steps", [[], [StandardScaler()], [StandardScaler(), "passthrough", MinMaxScaler()]])
def test_a_pipeline_is_its_last_step_with_the_points_that_this_sees(steps):
    X, y = problem()
    model = Pipeline([*((f"step{k}", step) for k, step in enumerate(steps)), ("last", InterpolatingClassifier())])
    model.fit(X, NAMES[y])
    seen = model[:-1].transform(X) if steps else X
    found = certify(model, X, NAMES[y])
    assert found.to_dict() == certify(model[-1], seen, NAMES[y]).to_dict()
    assert found.holds
    assert found.data_digest == data_digest(seen, NAMES[y]) == model[-1].certificate_.data_digest


def test_a_pipeline_in_a_pipeline_of_frames():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    inner = make_pipeline(MinMaxScaler(), InterpolatingClassifier(exact_in="float32"))
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), inner).fit(frame, NAMES[y])
    found = certify(model, frame, NAMES[y], arithmetic="float32")
    assert found.holds
    assert found.float32_safe
    assert certify(model, frame[::-1], NAMES[y]).n_errors > 0


def test_a_table_with_its_labels_or_beside_them():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(animal=NAMES[y])
    model = TableModel(InterpolatingClassifier(random_state=0)).fit(frame, label="animal")
    inside, beside = certify(model, frame), certify(model, frame[["a", "b", "c"]], NAMES[y])
    assert inside.to_dict() == beside.to_dict() == model.certify(frame).to_dict()
    assert inside.holds
    swapped = certify(model, frame, np.roll(NAMES, 1)[y])  # labels beside the table come first
    assert swapped.n_errors == len(y)
    with pytest.raises(ParameterError, match="without labels"):
        certify(model, model.read(frame))


def test_what_is_not_fitted_or_no_network_is_refused():
    X, y = problem()
    for model in (InterpolatingClassifier(), TableModel(), make_pipeline(StandardScaler(), InterpolatingClassifier())):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            certify(model, X, y)
    with pytest.raises(ParameterError, match="got int"):
        certify(7, X, y)
    with pytest.raises(ParameterError, match="needs y"):
        certify(adaptive_width(X, y), X)


def test_a_pipeline_that_ends_otherwise_is_refused():
    X, y = problem()
    with pytest.raises(ParameterError, match="ends in one, got LogisticRegression"):
        certify(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X, y)
