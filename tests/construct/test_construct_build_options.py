"""What a construction cannot use is refused before work begins, and the message names what to change."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from exactfit import InterpolatingClassifier, Options, adaptive_width, fixed_width
from exactfit.exceptions import ContradictoryLabelsError, DataError, ParameterError

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
Y = np.array([0, 1, 0, 1])

BUILDS = {
    "fixed": lambda X, y, recipe=None, **options: fixed_width(X, y, 64, recipe, random_state=0, **options),
    "adaptive": lambda X, y, recipe=None, **options: adaptive_width(X, y, recipe, random_state=0, **options),
}
both = pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hyperplanes": "cauchy"}, "hyperplanes must be one of 'gaussian', 'bisector', 'sparse', got"),
        ({"image_shape": (28, 28)}, "image_shape=(28, 28) has no meaning for hyperplanes='gaussian'"),
        ({"image_shape": (28,)}, "image_shape must be (height, width)"),
        ({"image_shape": (28, 0)}, "image_shape must be (height, width)"),
        ({"image_shape": "28,28"}, "image_shape must be (height, width)"),
        ({"hyperplanes": None}, "hyperplanes must be one of"),
        ({"center": 1}, "center must be True or False, got 1"),
        ({"center": "mean"}, "center must be True or False, got 'mean'"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
        ({"n_jobs": 1.0}, "n_jobs must be None or an integer other than 0, got 1.0"),
        ({"n_jobs": True}, "n_jobs must be None or an integer other than 0, got True"),
        ({"max_bias": -1e-9}, "max_bias must be 'radius' or a finite number >= 0, got -1e-09"),
        ({"max_bias": np.nan}, "max_bias must be 'radius' or a finite number >= 0, got nan"),
        ({"max_bias": np.inf}, "max_bias must be 'radius' or a finite number >= 0, got inf"),
        ({"max_bias": True}, "max_bias must be 'radius' or a finite number >= 0, got True"),
        ({"max_bias": None}, "max_bias must be 'radius' or a finite number >= 0, got None"),
        ({"max_bias": "diameter"}, "max_bias must be 'radius' or a finite number >= 0, got 'diameter'"),
        ({"activation": "sigmoid"}, "activation must be one of 'threshold', 'relu'"),
        ({"activation": None}, "activation None has no name"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ParameterError) as caught:
        Options(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"max_bias": 0}, {"max_bias": np.float32(0.5)}, {"center": np.True_}, {"n_jobs": -1}, {"n_jobs": np.int64(2)}],
)
def test_options_that_can(options):
    Options(**options)


@both
@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (X[:0], Y[:0], "X must have at least one row and one column, got shape (0, 2)"),
        (X[:, :0], Y, "X must have at least one row and one column, got shape (4, 0)"),
        (X[:, 0], Y, "X must have rows and columns, got shape (4,)"),
        (X, Y[:3], "y must hold one label for each of the 4 rows of X, got shape (3,)"),
        (X, Y[:, None], "y must hold one label for each of the 4 rows of X, got shape (4, 1)"),
        (X, Y - 1, "y must hold class codes 0, 1, 2, ..."),
        (X, Y.astype(float), "y must hold class codes 0, 1, 2, ..."),
        (X, np.array(["a", "b", "a", "b"]), "y must hold class codes 0, 1, 2, ..."),
        (X, Y * 0, "y holds only one class, 0: there is nothing to tell apart"),
        (X, Y * 2, "y must hold class codes 0..K-1, all in use"),
        (X * [1, np.nan], Y, "row 0 of X holds NaN or infinity"),
        (np.where(X == 3, np.inf, X), Y, "row 3 of X holds NaN or infinity"),
    ],
)
def test_data_that_cannot_be(build, points, labels, message):
    with pytest.raises(DataError) as caught:
        build(points, labels)
    assert message in str(caught.value)


@both
def test_contradictory_labels_are_refused_with_their_pairs(build):
    twice = np.concatenate([X, X[[3, 0]]])
    with pytest.raises(ContradictoryLabelsError) as caught:
        build(twice, np.array([0, 1, 0, 1, 0, 1]))
    assert caught.value.pairs == ((0, 5), (3, 4))
    build(twice, np.array([0, 1, 0, 1, 1, 0]))


@both
@pytest.mark.parametrize("target", [2, -1, "rare", "1", 0.5])
def test_targets_that_cannot_be(build, target):
    with pytest.raises(ParameterError, match="target must be one of "):
        build(X, Y, Options(target=target))


@both
def test_one_target_of_many_classes_is_refused(build):
    with pytest.raises(ParameterError, match="target=1 needs a problem of two classes, this one has 3"):
        build(X, np.array([0, 1, 2, 1]), Options(target=1))


@both
@pytest.mark.parametrize(
    ("labels", "target", "classes", "decoder"),
    [
        ([0, 1, 1, 1], None, {0}, ("sign", (0, 1))),
        ([0, 0, 0, 1], None, {1}, ("sign", (1, 0))),
        ([0, 0, 1, 1], None, {1}, ("sign", (1, 0))),
        ([0, 0, 0, 1], 0, {0}, ("sign", (0, 1))),
        ([0, 0, 0, 1], np.int64(1), {1}, ("sign", (1, 0))),
        ([0, 0, 0, 1], "all", {0, 1}, ("one_hot", (0, 1))),
        ([0, 1, 2, 1], None, {0, 1, 2}, ("one_hot", (0, 1, 2))),
        ([0, 1, 2, 1], "all", {0, 1, 2}, ("one_hot", (0, 1, 2))),
    ],
)
def test_which_classes_get_detectors(build, labels, target, classes, decoder):
    made = build(X, np.array(labels), Options(target=target))
    assert made.outcome.interpolates
    assert set(made.trace.detector_classes.tolist()) == classes
    assert (made.network.decoder.kind, made.network.decoder.classes) == decoder
    assert made.network.decide(X).tolist() == labels


@both
def test_labels_of_any_whole_kind(build):
    expected = build(X, Y).network.digest
    for labels in (Y.tolist(), Y.astype(np.uint8), Y.astype(np.int32)):
        assert build(X, labels).network.digest == expected


@both
def test_data_of_any_layout(build):
    expected = build(X, Y).network.digest
    for points in (np.asfortranarray(X), X.astype(np.float32), sp.csr_array(X), sp.csr_matrix(X), X[::-1][::-1]):
        assert build(points, Y).network.digest == expected


@pytest.mark.parametrize("width", [0, -1, 1.5, "8", None, True])
def test_widths_that_cannot_be(width):
    with pytest.raises(ParameterError, match="width must be an integer >= 1"):
        fixed_width(X, Y, width)


def test_a_recipe_with_a_width_counts_or_is_refused():
    made = fixed_width(X, Y, options=Options(50), random_state=0)
    assert made.network.digest == fixed_width(X, Y, 50, random_state=0).network.digest
    assert fixed_width(X, Y, 20, Options(50)).network.widths[0] == 20
    with pytest.raises(ParameterError, match="width=5: leave it out, bound the width by min_width and max_width, or"):
        adaptive_width(X, Y, Options(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_width": -1}, "min_width must be 'auto' or an integer >= 0, got -1"),
        ({"min_width": 2.0}, "min_width must be 'auto' or an integer >= 0, got 2.0"),
        ({"max_width": 0}, "max_width must be an integer >= 1, got 0"),
        ({"max_width": "many"}, "max_width must be an integer >= 1, got 'many'"),
        ({"min_width": 10, "max_width": 9}, "max_width=9 is below min_width=10"),
    ],
)
def test_bounds_of_the_width_that_cannot_be(options, message):
    with pytest.raises(ParameterError) as caught:
        adaptive_width(X, Y, Options(**options))
    assert message in str(caught.value)


@pytest.mark.parametrize("rng", [7, np.int64(7), np.random.SeedSequence(7)])
def test_equal_seeds_give_equal_networks(rng):
    assert fixed_width(X, Y, 64, None, rng).network.digest == fixed_width(X, Y, 64, None, 7).network.digest


def test_other_seeds_give_other_networks():
    digests = {fixed_width(X, Y, 64, None, seed).network.digest for seed in [*range(5), None, None]}
    assert len(digests) == 7
    generator = np.random.default_rng(0)
    assert (
        fixed_width(X, Y, 64, None, generator).network.digest != fixed_width(X, Y, 64, None, generator).network.digest
    )


@pytest.mark.parametrize(
    ("options", "is_weighted"),
    [
        ({}, True),
        ({"width": 100}, True),
        ({"activation": "relu"}, False),
        ({"detectors": "weighted"}, True),
        ({"detectors": "mask"}, False),
    ],
)
def test_auto_means_weights_where_they_count_bits(options, is_weighted):
    assert Options(**{"detectors": "auto"} | options).is_weighted == is_weighted


def test_the_estimator_builds_what_auto_stands_for():
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    for activation, detectors in (("threshold", "weighted"), ("relu", "mask")):
        own = InterpolatingClassifier(activation=activation, random_state=0).fit(X, y)
        told = InterpolatingClassifier(activation=activation, random_state=0, detectors=detectors)
        assert own.network_.digest == told.fit(X, y).network_.digest
