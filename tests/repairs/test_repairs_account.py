"""The account of a repair, for people and for programs."""

from __future__ import annotations

import json
import warnings

from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from exactfit import repair


def trained(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def moons_and_model():
    X, y = make_moons(400, noise=0.3, random_state=0)
    return X, y, trained(LogisticRegression(), X, y)


def test_a_report_can_be_written_as_json() -> None:
    X, y, model = moons_and_model()
    told = json.loads(json.dumps(repair(model, X, y).report(X, y).to_dict()))
    assert told["held_out"]["mended"] == told["n_wrong"]
    assert told["patches"][0]["anchor"] >= 0
