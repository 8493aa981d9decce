"""``certify`` takes whatever was fitted, and speaks of the points that its network sees."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from exactfit import InterpolatingClassifier, ParameterError, TableModel, adaptive_width, certify
from exactfit.certificate import data_digest
from exactfit.constructions import Huang

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
