"""Pictures of answers and suspects show what the records say."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, make_moons

from exactfit import DataError, InterpolatingClassifier, ParameterError, TableModel, certify, find_suspects
from exactfit.plots import (
    plot_anchors,
    plot_coverage,
    plot_explanation,
    plot_importances,
    plot_radii,
    plot_suspects,
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y, InterpolatingClassifier(random_state=0).fit(X[:600], y[:600])


def captions(ax):
    return [text.get_text() for text in ax.texts]


def test_anchors_are_beside_their_points(digits):
    X, _, model = digits
    unseen = X[600:604]
    explained = model.explain(unseen)
    ax = plot_anchors(explained, unseen, X[:600], image_shape=(8, 8), anchors=2)
    expected = []
    for one in explained:
        behind = (one.fires or one.nearest)[:2]
        expected += [f"answer {one.label}", *(f"{found.label}: {found.slack:+.2f}" for found in behind)]
        expected += [f"other {one.other.label}: {one.other.slack:+.2f}", "its limit"]
    assert captions(ax) == expected
    one = explained[0]
    shown = [np.asarray(image.get_array()) for image in ax.images]
    np.testing.assert_array_equal(shown[0], unseen[0].reshape(8, 8))
    np.testing.assert_array_equal(shown[1], X[(one.fires or one.nearest)[0].anchor].reshape(8, 8))
    own = plt.subplots()[1]
    assert plot_anchors(explained[:1], unseen[:1], X[:600], image_shape=(8, 8), ax=own) is own


def test_importances_are_bars_from_the_largest_on(digits):
    model = digits[2]
    ax = plot_importances(model, most=10)
    order = np.argsort(-model.feature_importances_, kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], model.feature_importances_[order[:10]])
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"x{k}" for k in order[:10]]
    assert captions(ax) == [f"{share:.1%}" for share in model.feature_importances_[order[:10]]]
    assert ax.get_xlabel() == f"importance (54 others: {model.feature_importances_[order[10:]].sum():.1%} together)"
    named = plot_importances(model, [f"pixel {k}" for k in range(64)], plt.subplots()[1], most=64)
    assert named.get_yticklabels()[0].get_text() == f"pixel {order[0]}"
    assert named.get_xlabel() == "importance"
    with pytest.raises(ParameterError, match="one for each of 64 features, got 2"):
        plot_importances(model, ["a", "b"])
    with pytest.raises(ParameterError, match="most"):
        plot_importances(model, most=0)


def test_columns_of_a_table_are_bars_with_their_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"colour": ["red", "green"] * 20, "size": np.arange(40.0) % 7})
    ax = plot_importances(TableModel().fit(frame, frame["colour"] == "red"))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["colour", "size"]


def test_suspects_come_in_order(digits):
    X, y, _ = digits
    found = find_suspects(X[:300], y[:300], random_state=0)
    ax = plot_suspects(found, X[:300], image_shape=(8, 8), m=7, columns=3)
    rows = found.top(7)
    assert captions(ax) == [f"{y[row]}, near {y[found.conflicts[row, 0]]}" for row in rows]
    np.testing.assert_array_equal(np.asarray(ax.images[2].get_array()), X[rows[2]].reshape(8, 8))


def test_images_must_have_the_pixels(digits):
    X, y, model = digits
    with pytest.raises(DataError, match="81 pixels"):
        plot_anchors(model.explain(X[:1]), X[:1], X, image_shape=(9, 9))
    with pytest.raises(DataError, match="81 pixels"):
        plot_suspects(find_suspects(X[:50], y[:50]), X[:50], image_shape=(9, 9))


@pytest.mark.parametrize("point", [[1.0, -0.3], [0.0, 0.9]])
def test_an_explained_point_is_tied_to_its_anchors(point):
    X, y = make_moons(100, noise=0.1, random_state=0)
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    one = model.explain([point])[0]
    ax = plot_explanation(model, point, X, y, resolution=40, detectors=3)
    ends = [line.get_xydata()[1].tolist() for line in ax.lines if len(line.get_xydata()) == 2]
    expected = [X[found.anchor].tolist() for found in (one.fires or one.nearest)[:3]]
    assert [end for end in ends if end in expected] == expected
    assert ax.get_title().startswith(f"class {one.label}: ")
    assert ("no detector" in ax.get_title()) == (not one.fires)
    with pytest.raises(DataError, match="point has 1 features, the picture takes 2"):
        plot_explanation(model, [0.0], X, y)


def test_coverage_is_that_of_the_model(digits):
    X, y, model = digits
    ax = plot_coverage({"ours": model}, X[600:], y[600:])
    curve, marker = ax.lines
    right = model.predict(X[600:]) == y[600:]
    clear = ~model.abstains(X[600:])
    np.testing.assert_allclose(marker.get_xydata()[0], [clear.mean(), right[clear].mean()])
    np.testing.assert_allclose(curve.get_xydata()[-1], [1.0, right.mean()])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours"]


class Stub(ClassifierMixin, BaseEstimator):
    """A classifier that always answers true."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=bool)

    def abstains(self, X):
        return np.zeros(len(X), dtype=bool)


@pytest.mark.parametrize("scores", [[[2.0], [-1.0], [1.0], [1.0]], [[0, 3, 1], [0, 1, 0], [5, 4, 4], [1, -1, 0]]])
def test_points_of_equal_margins_are_answered_together(scores):
    scores = np.squeeze(np.array(scores, dtype=float))
    stub = Stub().fit(None, [False, True])
    stub.decision_function = lambda X: scores
    ax = plot_coverage({"stub": stub}, np.zeros((4, 1)), [False, True, True, False])
    assert ax.lines[0].get_xydata().tolist() == [[1.0, 0.5]]


@pytest.fixture(scope="module")
def proved():
    X, y = make_moons(80, noise=0.05, random_state=0)
    models = {name: InterpolatingClassifier(margin=name, random_state=0).fit(X, y) for name in ("0%", "50%")}
    return {name: certify(model, X, y, radii=True) for name, model in models.items()}


def test_lines_are_the_shares_of_points_that_may_move(proved):
    ax = plot_radii(proved)
    lines = [line for line in ax.lines if line.get_label() in proved]
    for line, one in zip(lines, proved.values(), strict=True):
        for distance, share in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert share == pytest.approx(np.mean(one.radii >= distance))
    dashed = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed == [proved["50%"].margin]


def test_one_certificate_has_no_legend_and_takes_axes(proved):
    own = plt.subplots()[1]
    assert plot_radii(proved["0%"], ax=own) is own
    assert own.get_legend() is None


def test_certificates_must_have_radii(proved):
    X, y = make_moons(80, noise=0.05, random_state=0)
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    for wrong in (certify(model, X, y), {"a": model}, None):
        with pytest.raises(ParameterError, match="certificates with radii"):
            plot_radii(wrong)
