"""Chains read from trained models answer as these do, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import certificate_twins as naive
from helpers.networks import trained_on_classes
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from exactfit.repairs.graphs import ChainReader
from exactfit.repairs.models import chain_of

CHAINS = [
    MLPClassifier((7, 5), max_iter=40, random_state=0),
    MLPClassifier(7, activation="identity", max_iter=40, random_state=0),
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    LinearSVC(),
    RidgeClassifier(),
    Perceptron(),
    SGDClassifier(random_state=0),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CHAINS, ids=lambda model: type(model).__name__)
def test_a_chain_answers_as_the_model_that_it_was_read_from(model, n_classes) -> None:
    X, fitted = trained_on_classes(model, n_classes)
    chain = chain_of(fitted)
    assert chain.widths[-1] == n_classes
    assert (fitted.classes_[chain.decide(X)] == fitted.predict(X)).all()
    exactly = [naive.chain_answer(chain, x) for x in X[:20]]
    assert chain.decide(X[:20]).tolist() == exactly
    if hasattr(fitted, "decision_function"):
        scores = chain(X)
        found = scores if n_classes > 2 else scores[:, 1] - scores[:, 0]
        np.testing.assert_allclose(found, fitted.decision_function(X), rtol=1e-9, atol=1e-9)


def test_a_sign_of_zero_is_zero() -> None:
    reader = ChainReader()
    reader.affine(np.array([[1.0]]), np.array([0.0]))
    assert reader.sign()
    reader.affine(np.array([[2.0], [3.0]]), np.array([0.5, 0.0]))
    chain = reader.network()
    np.testing.assert_array_equal(chain(np.array([[-4.0], [0.0], [4.0]])), [[-1.5, -3.0], [0.5, 0.0], [2.5, 3.0]])
