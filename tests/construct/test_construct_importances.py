"""Importances where the answer is known, whatever the units, and beside permutation importance on real tables."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from exactfit import InterpolatingClassifier, InterpolationWarning, TableModel, adaptive_width, fixed_width
from exactfit.construct import importances as module

N_FEATURES, CONSTANT = 8, 7


def fitted(X: np.ndarray, y: np.ndarray, **options: object) -> InterpolatingClassifier:
    options = {"hyperplanes": "sparse", "width": 2048, "random_state": 0} | options
    return InterpolatingClassifier(**options).fit(X, y)


def cloud(n: int = 500) -> np.ndarray:
    """Features on scales from 1/1000 to 1000, the last one constant."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, N_FEATURES)) * 10.0 ** np.linspace(-3, 3, N_FEATURES)
    X[:, CONSTANT] = 5.0
    return X


@pytest.mark.parametrize("informative", [0, 3, 6])
def test_one_informative_feature_has_most(informative: int) -> None:
    X = cloud()
    shares = fitted(X, X[:, informative] > 0).feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert shares[informative] > 0.7
    assert shares[CONSTANT] == 0
    assert np.delete(shares, informative).max() < 0.1


def test_masks_and_dense_hyperplanes_name_it_too() -> None:
    X = cloud() / 10.0 ** np.linspace(-3, 3, N_FEATURES)  # dense hyperplanes want one scale
    for options in (
        {"detectors": "mask"},
        {"hyperplanes": "gaussian"},
        {"hyperplanes": "gaussian", "activation": "relu"},
        {"target": None},
    ):
        shares = fitted(X, X[:, 2] > 0, **options).feature_importances_
        assert shares.sum() == pytest.approx(1)
        assert shares.argmax() == 2, options
        assert shares[CONSTANT] == 0


def test_two_features_share_a_rule_of_both() -> None:
    X = cloud() / 10.0 ** np.linspace(-3, 3, N_FEATURES)
    for y in (X[:, 1] + X[:, 4] > 0, (X[:, 1] > 0) ^ (X[:, 4] > 0)):
        shares = fitted(X, y).feature_importances_
        assert set(np.argsort(shares)[-2:]) == {1, 4}
        assert shares[[1, 4]].min() > 0.2


def test_duplicates_share() -> None:
    X = cloud()
    X[:, 5] = 1000 * X[:, 2]
    shares = fitted(X, X[:, 2] > 0).feature_importances_
    assert shares[[2, 5]].sum() > 0.7
    assert shares[[2, 5]].min() > 0.15


def test_units_do_not_matter() -> None:
    X, y = load_wine(return_X_y=True)
    shares = fitted(X, y).feature_importances_
    by_powers = fitted(X * 2.0 ** np.arange(-6, 7), y).feature_importances_
    np.testing.assert_array_equal(by_powers, shares)  # the same network, in other units
    thousands = X.copy()
    thousands[:, 4] *= 1000
    np.testing.assert_allclose(fitted(thousands, y).feature_importances_, shares, atol=0.05)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_they_agree_with_permutation_importance(load: object) -> None:
    X, y = load(return_X_y=True)  # type: ignore[operator]
    X, unseen, y, labels = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    model = fitted(X, y)
    rng = np.random.default_rng(0)

    def lead(points: np.ndarray) -> float:
        scores = model.decision_function(points)
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        own = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
        others = np.where(np.arange(scores.shape[1]) == labels[:, None], -np.inf, scores).max(axis=1)
        return float(np.mean(own - others))

    losses = []
    for j in range(X.shape[1]):
        shuffled = [unseen.copy() for _ in range(3)]
        for points in shuffled:
            rng.shuffle(points[:, j])
        losses.append(lead(unseen) - np.mean([lead(points) for points in shuffled]))
    assert spearmanr(model.feature_importances_, losses).statistic > 0.85


def test_columns_of_a_table_have_what_their_features_have_together() -> None:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "black"], 300)
    frame = pd.DataFrame({"age": rng.uniform(18, 80, 300), "colour": colour, "height": rng.normal(170, 9, 300)})
    classifier = InterpolatingClassifier(hyperplanes="sparse", width=1024, random_state=0)
    model = TableModel(classifier).fit(frame, np.isin(colour, ["red", "blue"]))
    shares = dict(zip(frame.columns, model.feature_importances_, strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["colour"] == pytest.approx(model.classifier_.feature_importances_[1:5].sum())
    assert shares["colour"] > 0.8


def test_sparse_points_and_threads_do_not_matter() -> None:
    X, y = load_wine(return_X_y=True)
    shares = fitted(X, y).feature_importances_
    np.testing.assert_array_equal(fitted(sp.csr_array(X), y).feature_importances_, shares)
    np.testing.assert_array_equal(fitted(X, y, n_jobs=2).feature_importances_, shares)


def test_rows_are_as_many_as_the_work_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_wine(return_X_y=True)
    taken = []
    dense_rows = module.dense_rows
    monkeypatch.setattr(
        module, "dense_rows", lambda X, rows, *some: taken.append(len(rows)) or dense_rows(X, rows, *some)
    )
    fitted(X, y)
    monkeypatch.setattr(module, "ENTRIES", 1)
    few = fitted(X, y).feature_importances_
    assert taken == [178, module.FEWEST_ROWS]
    assert few.sum() == pytest.approx(1)


def test_text_of_a_million_words_is_not_made_dense() -> None:
    rng = np.random.default_rng(0)
    words = np.column_stack([np.arange(60) % 2, rng.integers(2, 2**20, (60, 20))])
    X = sp.csr_array((np.ones(words.size), (np.repeat(np.arange(60), 21), words.ravel())), shape=(60, 2**20))
    model = fitted(X, np.arange(60) % 2, width=256)
    tracemalloc.start()
    found = module.importances(model.network_, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6, "32 rows of them are 268 MB"
    for name in ("importances", "spreads", "on_counts"):
        np.testing.assert_array_equal(found[name], getattr(model.trace_, name))
    assert set(np.argsort(found["importances"])[-2:].tolist()) == {0, 1}
    looked_at = np.unique(model.network_.layers[0].weights.rows.indices)
    assert not np.delete(found["spreads"], looked_at).any()


def test_spreads_and_shares_of_hyperplanes_are_those_of_the_rows() -> None:
    X = cloud()
    trace = fitted(X, X[:, 0] > 0, width=256).trace_
    median = np.median(np.abs(X[:, None] - X[None])[np.triu_indices(len(X), 1)], axis=0)
    np.testing.assert_allclose(trace.spreads[:CONSTANT], median[:CONSTANT], rtol=0.3)
    assert trace.spreads[CONSTANT] == 0
    first = fitted(X, X[:, 0] > 0, width=256).network_.layers[0]
    np.testing.assert_allclose(trace.on_counts / 255, (first.sums(X) > 0).mean(axis=0), atol=0.12)


def test_a_network_without_detectors_has_none() -> None:
    X = np.zeros((4, 2)) + np.arange(4)[:, None]
    made = fixed_width(X, np.array([0, 1, 0, 1]), hyperplanes=(np.ones((1, 2)), [100.0]))
    assert not len(made.trace.anchors)
    assert not len(made.trace.importances)
    with pytest.warns(InterpolationWarning):
        lost = fitted(X, np.array([0, 1, 0, 1]), width=1, hyperplanes="gaussian", random_state=1)
    assert lost.feature_importances_.shape == (2,)
    with pytest.raises(NotFittedError):
        _ = InterpolatingClassifier().feature_importances_
    assert adaptive_width(X, np.array([0, 0, 1, 1]), random_state=0).trace.importances.sum() == pytest.approx(1)


def test_rows_near_the_end_of_float64_have_importances() -> None:
    X = np.array([[1.7e308, 0.0], [-1.7e308, 1.0], [1.6e308, 2.0], [-1.6e308, 3.0]])
    made = fixed_width(X, np.array([0, 1, 0, 1]), 64, random_state=0)
    assert np.isfinite(made.trace.importances).all()
    assert np.isfinite(made.trace.spreads).all()
