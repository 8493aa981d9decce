"""Repair: every given point right, whatever the model, the patches and their reach; and little else changed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.networks import KINDS, Constant, moons_and_model, trained
from helpers.problems import problems
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import exactfit
from exactfit import ContradictoryLabelsError, DataError, ParameterError, RepairedClassifier, certify, repair


@given(problems(kinds=("grid", "halves", "interval", "any"), max_points=12), st.sampled_from(KINDS), st.data())
@settings(max_examples=20)
def test_every_given_point_is_right_and_proved(problem, kind, data) -> None:
    X, y = problem
    reach = data.draw(st.sampled_from(["least", 0.3, "full"]))
    answers = data.draw(st.lists(st.integers(0, int(y.max())), min_size=len(y), max_size=len(y)))
    lookup = {tuple(x): answer for x, answer in zip(X.tolist(), answers, strict=True)}

    def model(points):
        return np.array([lookup.get(tuple(point), 0) for point in points.tolist()])

    try:
        repaired = repair(model, X, y, patches=kind, reach=reach, classes=range(int(y.max()) + 1), random_state=0)
    except exactfit.NoGapError:
        assert kind == "ball"  # squared norms swallow small distances
        apart = [((a - b) ** 2).sum() for a, k in zip(X, y, strict=True) for b, m in zip(X, y, strict=True) if k != m]
        assert min(apart) < 1e-12 * (X**2).sum(axis=1).max()
        return
    assert repaired.predict(X).tolist() == y.tolist()
    assert repaired.certificate_.holds
    assert len(repaired.certificate_.answers_digest) == 64
    claimed = {row for patch in repaired.report().patches for row in patch.rows}
    assert set(np.flatnonzero(model(X) != y)) <= claimed
    for patch in repaired.report().patches:
        assert {y[row] for row in patch.rows} == {patch.new}


PAIRS = [
    (LogisticRegression(C=1e-4), load_digits),
    (MLPClassifier(30, max_iter=60, random_state=0), load_digits),
    (GradientBoostingClassifier(n_estimators=1, max_depth=1, random_state=0), load_wine),
    (RandomForestClassifier(10, max_depth=5, random_state=0), load_digits),
    (make_pipeline(StandardScaler(), LinearSVC()), load_breast_cancer),
    (DecisionTreeClassifier(max_depth=3, random_state=0), load_breast_cancer),
    (GaussianNB(), load_wine),
    (KNeighborsClassifier(15), load_wine),
]


@pytest.mark.parametrize(("model", "load"), PAIRS, ids=lambda part: getattr(part, "__name__", type(part).__name__))
def test_by_default_little_else_changes(model, load) -> None:
    X, y = load(return_X_y=True)
    X, held_out, y, labels = train_test_split(X, y, random_state=0)
    repaired = repair(trained(model, X, y), X, y, random_state=0)
    report = repaired.report(held_out, labels)
    assert repaired.score(X, y) == 1.0
    assert report.held_out.broken <= report.held_out.mended + 0.0005 * len(labels)
    assert report.n_wrong >= np.count_nonzero(model.predict(X) != y)


def test_a_model_without_errors_gets_no_patches() -> None:
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1])
    for kind in KINDS:
        repaired = repair(lambda points: (points[:, 0] > 0.5).astype(int), X, y, patches=kind)
        assert repaired.n_patches_ == 0
        assert repaired.certificate_.holds
        assert repaired.report().patches == ()
        assert repaired.predict([[9.0, 9.0]]).tolist() == [1]
        assert repaired.explain(X)[0].by_patch is False


def test_failures_of_one_class_alone_are_enough() -> None:
    repaired = repair(Constant("a", ["a", "b"]), [[0.0], [1.0]], ["b", "b"], reach="full")
    assert repaired.predict([[0.0], [1.0], [50.0]]).tolist() == ["b", "b", "a"]


def test_scores_put_the_patched_class_first() -> None:
    X, y = load_digits(return_X_y=True)
    model = trained(LogisticRegression(C=1e-4), X[:600], y[:600])
    repaired = repair(model, X[:600], y[:600], reach="full", random_state=0)
    scores = repaired.decision_function(X)
    assert (repaired.classes_[scores.argmax(axis=1)] == repaired.predict(X)).all()
    untouched = np.array([not found.by_patch for found in repaired.explain(X)])
    np.testing.assert_allclose(scores[untouched][:50], model.decision_function(X[untouched][:50]), rtol=1e-9)
    X, y, two = moons_and_model()
    repaired = repair(two, X, y, reach=0.5)
    assert ((repaired.decision_function(X) > 0) == (repaired.predict(X) == 1)).all()
    assert not hasattr(repair(Constant(0, [0, 1]), X, y), "decision_function")


def test_clones_share_the_model_and_grids_try_reaches() -> None:
    X, y, model = moons_and_model()
    copy = clone(RepairedClassifier(model, reach=0.25))
    assert copy.model is model
    assert copy.reach == 0.25
    assert not hasattr(copy, "repair_")
    search = GridSearchCV(RepairedClassifier(model), {"reach": ["least", "full"]}, cv=2).fit(X, y)
    assert search.best_params_["reach"] in ("least", "full")
    assert set(RepairedClassifier(model).get_params(deep=False)) == {
        "model", "patches", "reach", "exact_in", "classes", "n_jobs", "random_state",
    }  # fmt: skip


def test_sparse_points_and_frames_are_taken_as_they_are() -> None:
    pd = pytest.importorskip("pandas")
    X, y, _ = moons_and_model()
    frame = pd.DataFrame(X, columns=["left", "right"])
    model = trained(LogisticRegression(), frame, y)
    dense, framed = repair(model, X, y, random_state=0), repair(model, frame, y, random_state=0)
    assert framed.feature_names_in_.tolist() == ["left", "right"]
    assert dense.network_.digest == framed.network_.digest
    forest = trained(RandomForestClassifier(5, max_depth=2, random_state=0), frame, y)
    assert repair(forest, frame, y).score(frame, y) == 1.0
    plain = trained(LogisticRegression(), X, y)
    sparse = repair(plain, sp.csr_matrix(X), y, random_state=0)
    assert sparse.network_.digest == dense.network_.digest


def test_answers_do_not_depend_on_threads_and_seeds_repeat() -> None:
    X, y, model = moons_and_model()
    for kind in KINDS:
        made = [repair(model, X, y, patches=kind, reach=0.7, n_jobs=jobs, random_state=3) for jobs in (1, 2)]
        assert made[0].network_.digest == made[1].network_.digest


# ---- Recorded answers ----------------------------------------------------------------------------------


class Moody(Constant):
    """Says something else once its mood changes."""

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1, 0) if self.label is None else super().predict(X)


def test_verify_asks_the_model_again() -> None:
    X, y = np.array([[-1.0], [1.0], [2.0]]), np.array([0, 1, 0])
    model = Moody(None, [0, 1])
    repaired = repair(model, X, y)
    same = repaired.verify(X, y)
    assert same.holds
    assert same.answers_digest == repaired.certificate_.answers_digest
    model.label = 0
    other = repaired.verify(X, y)
    assert not other.holds
    assert other.errors.tolist() == [1]
    assert "2 of these are not as recorded" in other.note
    # What was recorded counts for nothing, in a file neither: whoever sends one can write what they like there.
    assert certify(repaired, X, y).errors.tolist() == [1] == np.flatnonzero(repaired.predict(X) != y).tolist()
    assert certify(repaired, [[5.0]], [1]).errors.tolist() == [0]  # other points are asked about now


def test_verify_of_a_chain_asks_the_runtime_that_it_came_from() -> None:
    X, y, model = moons_and_model()
    repaired = repair(model, X, y)
    assert repaired.verify(X, y).holds
    model.coef_ = -model.coef_
    assert not repaired.verify(X, y).holds
    assert certify(repaired, X, y).holds


# ---- Bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (Constant(0, [0, 1]), {"reach": 0}, "reach must be"),
        (Constant(0, [0, 1]), {"reach": "far"}, "reach must be 'least', 'full' or a share"),
        (Constant(0, [0, 1]), {"reach": np.ones(3)}, r"a share in \(0, 1\], got ndarray of shape"),
        (Constant(0, [0, 1]), {"reach": 1.5}, "reach must be"),
        (Constant(0, [0, 1]), {"reach": None}, "reach must be"),
        (Constant(0, [0, 1]), {"patches": "cube"}, "patches must be one of"),
        (Constant(0, [0, 1]), {"exact_in": "float16"}, "exact_in must be one of"),
        (Constant(0, [5, 6]), {}, "row 0 has the label 0, which is none of the model's classes 5, 6"),
        (Constant(9, [0, 1]), {}, "answered 9 for row 0, which is none of its classes"),
        (Constant(np.nan, [0.0, 1.0]), {}, "answered NaN or infinity, first for row 0"),
        (lambda X: np.zeros(3), {"classes": [0, 1]}, r"answers of shape \(3,\) for 2 points"),
        (lambda X: np.zeros((2, 2)), {}, r"answers of shape \(2, 2\) for 2 points"),
        (lambda X: np.full(2, np.nan), {}, "answered NaN or infinity, first for row 0"),
        (lambda X: np.array(["a", "a"]), {}, "of one kind"),
        (Constant(0), {"classes": [0]}, "two or more distinct labels"),
        (Constant(0), {"classes": [0, 0]}, "two or more distinct labels"),
        (3, {}, "must be a fitted classifier with predict"),
        ("model.pkl", {}, "is no ONNX file"),
        (trained(LinearRegression(), [[0.0], [1.0]], [0, 1]), {}, "LinearRegression is a regressor"),
        (trained(LogisticRegression(), np.eye(3), [0, 1, 1]), {}, "X has 1 features, the model takes 3"),
        (trained(RandomForestClassifier(2), np.eye(3), [0, 1, 1]), {}, "X has 1 features, the model takes 3"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_line(model, options, message) -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    with pytest.raises((ParameterError, DataError), match=message) as caught:
        repair(model, X, y, **options)
    assert "\n" not in str(caught.value)


def test_points_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ContradictoryLabelsError) as caught:
        repair(Constant(0, [0, 1]), [[0.0], [1.0], [0.0]], [0, 1, 1])
    assert caught.value.pairs == ((0, 2),)
    assert "majority" not in str(caught.value)
    with pytest.raises(ContradictoryLabelsError, match="in float32"):
        repair(Constant(0, [0, 1]), [[1.0], [1.0 + 1e-12]], [0, 1], exact_in="float32")
    with pytest.raises(exactfit.NoGapError, match='patches="mask"'):
        repair(Constant(0, [0, 1]), [[1.0], [1.0 + 1e-12]], [0, 1])
    assert repair(Constant(0, [0, 1]), [[1.0], [1.0 + 1e-5]], [0, 1]).n_patches_ == 1


def test_an_unfitted_model_is_refused() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        repair(LogisticRegression(), [[0.0], [1.0]], [0, 1])
    with pytest.raises(NotFittedError):
        RepairedClassifier(Constant(0, [0, 1])).predict([[0.0]])
