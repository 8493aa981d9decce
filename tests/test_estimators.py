"""The classifier: scikit-learn's own checks, its contract, exact answers, and fits in odd places."""

from __future__ import annotations

import inspect
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from unittest import SkipTest

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.processes import dask_cluster, started
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from threadpoolctl import threadpool_info

from exactfit import (
    Activation,
    ConflictWarning,
    ContradictoryLabelsError,
    InterpolatingClassifier,
    InterpolationWarning,
    Options,
    Outcome,
    ParameterError,
    WidthLimitError,
    adaptive_width,
    certify,
    estimators,
)

LOWEST = np.finfo(np.float64).min


def digits(n=300):
    """Ten classes, whole numbers from 0 to 16: the same in every type, with many points on hyperplanes."""
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


def moons(n=200):
    X, y = make_moons(n, noise=0.1, random_state=0)
    return X.astype(np.float32).astype(np.float64), y


# ---------------------------------------------------------------- scikit-learn's own checks

CONFLICTING = dict.fromkeys(
    ("check_estimator_sparse_tag", "check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "fits equal rows with different labels, which the default refuses",
)
SKIPPED = {"check_array_api_input": "array API input is behind a switch that is off by default"}

# Seeded: shares of votes and mean scores, which one of the checks ranks by, need not agree on every point.
LENIENT = [
    InterpolatingClassifier(conflicts="majority", random_state=0),
    InterpolatingClassifier(500, conflicts="majority", random_state=0),
    InterpolatingClassifier(activation="relu", conflicts="majority", random_state=0),
    InterpolatingClassifier(conflicts="majority", random_state=0),
]


def run(estimator, check):
    try:
        check(estimator)
    except SkipTest:
        pytest.skip(SKIPPED[check.func.__name__])  # a check without an entry there may not be skipped


@parametrize_with_checks([InterpolatingClassifier(random_state=0)], expected_failed_checks=lambda _: CONFLICTING)
def test_scikit_learn_checks(estimator, check):
    run(estimator, check)


# The three sparse checks have conflicts, and say nothing of how they should be told.
@pytest.mark.filterwarnings("ignore::exactfit.exceptions.ConflictWarning")
# Three checks draw X ~ N(100, 1) with random labels, which takes a fixed width of many thousands.
@pytest.mark.filterwarnings("ignore::exactfit.exceptions.InterpolationWarning")
@parametrize_with_checks(LENIENT)
def test_scikit_learn_checks_with_majority(estimator, check):
    run(estimator, check)


def test_over_fifty_scikit_learn_checks_run():
    names = [check.func.__name__ for _, check in estimator_checks_generator(InterpolatingClassifier())]
    assert len([name for name in names if name not in SKIPPED]) > 50
    assert set(CONFLICTING) <= set(names)


# ---------------------------------------------------------------- what fit leaves behind


def test_fitted_attributes():
    X, y = digits()
    names = [f"pixel{j}" for j in range(X.shape[1])]
    model = InterpolatingClassifier(random_state=0).fit(pd.DataFrame(X, columns=names), y)
    widths = model.network_.widths
    assert model.outcome_ is Outcome.INTERPOLATES
    assert model.interpolates_
    assert (model.width_, model.n_detectors_, len(model.classes_)) == widths
    np.testing.assert_array_equal(model.classes_, np.arange(10))
    np.testing.assert_array_equal(model.detectors_per_class_, np.bincount(y[model.anchors_]))
    assert model.detectors_per_class_.sum() == model.n_detectors_
    assert model.n_features_in_ == 64
    assert model.feature_names_in_.tolist() == names


@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_fit_leaves_a_certificate_by_construction_that_certify_confirms(activation):
    X, y = moons()
    labels = np.array(["no", "yes"])[y]
    model = InterpolatingClassifier(activation=activation, random_state=0).fit(X, labels)
    left, again = model.certificate_, certify(model, X, labels)
    assert (left.proof, left.arithmetic, left.holds, left.n_samples, left.n_errors) == (
        "construction", "exact", True, len(y), 0,
    )  # fmt: skip
    assert (left.float64_safe, left.float32_safe, left.robust_radius) == (None, None, None)
    assert left.note == ""
    assert again.holds
    assert (left.data_digest, left.network_digest) == (again.data_digest, again.network_digest)
    assert left.slack == again.slack == 0.5 if activation == "threshold" else np.isnan(left.slack)


def test_a_users_own_activation_is_proved_by_evaluation_only():
    X, y = moons()
    squared = Activation("squared", lambda t: np.maximum(t, 0.0) ** 2)
    model = InterpolatingClassifier(activation=squared, random_state=0).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.note == certify(model, X, y).note == "by evaluation only"


@pytest.mark.parametrize("options", [{}, {"width": 3000}, {"hyperplanes": "bisector"}])
@pytest.mark.parametrize("data", [digits, moons])
def test_training_points_are_never_missed(options, data):
    X, y = data()
    model = InterpolatingClassifier(random_state=0, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.network_.decide(X), y)


def test_an_integer_width_is_the_width():
    X, y = digits()
    assert InterpolatingClassifier(700, random_state=0).fit(X, y).width_ == 700
    assert InterpolatingClassifier(min_width=700, random_state=0).fit(X, y).width_ == 700


@pytest.mark.parametrize(
    "option",
    [
        {"width": 300},
        {"min_width": 300},
        {"hyperplanes": "gaussian", "max_bias": 0.5},
        {"hyperplanes": "gaussian", "center": False},
        {"hyperplanes": "gaussian"},
        {"activation": "relu"},
        {"target": 0},
        {"random_state": 1},
    ],
)
def test_every_option_arrives(option):
    X, y = moons()
    others = dict(list(option.items())[:-1])
    model = InterpolatingClassifier(**{"random_state": 0, **option}).fit(X, y)
    without = InterpolatingClassifier(**{"random_state": 0, **others}).fit(X, y)
    assert model.interpolates_
    assert model.network_.digest != without.network_.digest


def test_rescue_finishes_where_draws_stall():
    X, y = np.array([[0.0], [1.0], [np.nextafter(1.0, 2.0)]]), [1, 0, 1]
    options = {"hyperplanes": "gaussian", "max_width": 1600, "random_state": 0}
    model = InterpolatingClassifier(**options).fit(X, y)
    assert model.trace_.n_fallback_cuts > 0
    with pytest.raises(WidthLimitError, match="max_width=1600"):
        InterpolatingClassifier(fallback_cuts=False, **options).fit(X, y)


# ---------------------------------------------------------------- which class gets detectors


@pytest.mark.parametrize(
    ("target", "counts", "detected"),
    [
        (None, (20, 30), [True, False]),
        (None, (30, 20), [False, True]),
        (None, (25, 25), [False, True]),
        ("cat", (20, 30), [True, False]),
        ("dog", (20, 30), [False, True]),
        ("all", (20, 30), [True, True]),
    ],
)
def test_target_names_the_class_that_gets_detectors(target, counts, detected):
    y = np.repeat(["cat", "dog"], counts)
    X = np.random.default_rng(0).standard_normal((len(y), 3))
    model = InterpolatingClassifier(target=target, random_state=0).fit(X, y)
    assert (model.detectors_per_class_ > 0).tolist() == detected
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.decision_function(X) > 0, y == "dog")


@pytest.mark.parametrize("target", [True, 1, 1.0, np.int64(1)])
def test_target_is_found_by_equality(target):
    X, y = moons()
    assert InterpolatingClassifier(target=target).fit(X, y).detectors_per_class_[0] == 0


@pytest.mark.parametrize("target", ["bird", 2, [1], np.array([0, 1])])
def test_a_target_that_is_no_label_is_refused(target):
    X, y = moons()
    with pytest.raises(ParameterError, match=r"target must be one of \[0, 1\], 'all' or None"):
        InterpolatingClassifier(target=target).fit(X, y)


def test_a_target_among_many_classes_is_refused():
    X, y = digits()
    with pytest.raises(ParameterError, match="target=3 needs a problem of two classes, this one has 10"):
        InterpolatingClassifier(target=3).fit(X, y)


# ---------------------------------------------------------------- decision_function and predict


ONE = {"detectors": "mask"}


def naive_slack(model, X):
    """Per class the largest (limit - 1/2 - count) / limit, one detector and one point at a time."""
    first, detectors, _ = model.network_.layers
    on, masks = first(X).to_bool(), detectors.weights.bits.to_bool()
    slack = np.full((len(X), len(model.classes_)), LOWEST)
    for mask, limit, k in zip(masks, detectors.bias, model.trace_.detector_classes, strict=True):
        for i, bits in enumerate(on):
            slack[i, k] = max(slack[i, k], (limit - 0.5 - np.count_nonzero(bits & mask)) / limit)
    return slack


def test_decision_function_is_the_largest_relative_slack():
    X, y = digits(150)
    model = InterpolatingClassifier(**ONE, random_state=0).fit(X[:100], y[:100])
    slack = naive_slack(model, X)
    np.testing.assert_array_equal(model.decision_function(X), slack)
    np.testing.assert_array_equal(model.predict(X), model.classes_[slack.argmax(axis=1)])


@pytest.mark.parametrize("target", [0, 1, "all"])
def test_two_classes_have_one_column_that_is_positive_for_the_last(target):
    X, y = moons()
    model = InterpolatingClassifier(**ONE, target=target, random_state=0).fit(X[:150], y[:150])
    no, yes = naive_slack(model, X).T
    expected = {0: -no, 1: yes, "all": yes - no}[target]
    np.testing.assert_array_equal(model.decision_function(X), expected)
    np.testing.assert_array_equal(model.predict(X), (expected > 0).astype(int))


def test_relu_slack_has_the_sign_of_the_networks_own_output():
    X, y = moons()
    model = InterpolatingClassifier(**ONE, activation="relu", target=None, random_state=0).fit(X, y)
    anywhere = np.random.default_rng(1).uniform(-3, 3, (500, 2))
    np.testing.assert_array_equal(model.predict(anywhere), model.network_.decide(anywhere))


def test_a_class_without_detectors_comes_last():
    X = np.array([[0.0], [100.0], [100.1], [100.2]])  # few hyperplanes, none of them between the last three
    with pytest.warns(InterpolationWarning, match="3 of 4"):
        model = InterpolatingClassifier.paper(width=8, center=True, random_state=0).fit(X, list("abcd"))
    np.testing.assert_array_equal(model.detectors_per_class_ > 0, [True, False, False, False])
    decisions = model.decision_function(X)
    assert (decisions[:, 1:] == LOWEST).all()
    assert decisions[:, 0].min() > LOWEST


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_detectors_at_all(n_classes):
    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.warns(InterpolationWarning):
        model = InterpolatingClassifier.paper(width=1, max_bias=0.0, random_state=0).fit(
            X + 1.0, np.arange(3) % n_classes
        )
    assert model.n_detectors_ == 0
    assert model.certificate_.slack == np.inf
    assert np.isfinite(model.decision_function(X)).all()
    assert len(model.predict(X)) == 3


# ---------------------------------------------------------------- warnings and conflicts


def test_missed_points_are_counted_and_the_remedy_is_named():
    X, y = moons()
    with pytest.warns(InterpolationWarning) as caught:
        model = InterpolatingClassifier.paper(width=4, center=True, random_state=0).fit(X, y)
    missed = model.certificate_.n_errors
    assert missed == (model.predict(X) != y).sum() > 0
    assert f"{missed} of 200 training points are missed" in str(caught[0].message)
    assert 'width="adaptive"' in str(caught[0].message)
    assert caught[0].filename == __file__
    assert not model.interpolates_
    assert not model.certificate_.holds
    assert model.outcome_ is Outcome.POINTS_MISSED
    np.testing.assert_array_equal(model.certificate_.errors, certify(model, X, y).errors)


def conflicting():
    """Rows 0, 2, 5 are equal with labels b, a, b; rows 1, 4 with labels a, c; row 3 is alone."""
    return np.array([[0.0, 1.0], [2.0, 2.0], [-0.0, 1.0], [5.0, 5.0], [2.0, 2.0], [0.0, 1.0]]), list("baaccb")


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_contradictory_labels_are_refused_with_their_rows(convert):
    X, y = conflicting()
    with pytest.raises(ContradictoryLabelsError, match="2 conflicts") as caught:
        InterpolatingClassifier().fit(convert(X), y)
    assert caught.value.pairs == ((0, 2), (1, 4))
    assert "(0, 2), (1, 4)" in str(caught.value)


def test_the_first_ten_conflicts_are_shown():
    X = np.repeat(np.arange(15.0), 2)[:, None]
    with pytest.raises(ValueError, match="15 conflicts") as caught:
        InterpolatingClassifier().fit(X, np.tile([0, 1], 15))
    assert "(18, 19) and 5 more" in str(caught.value)
    assert "(20, 21)" not in str(caught.value)


def test_the_majority_decides_a_conflict():
    X, y = conflicting()
    with pytest.warns(ConflictWarning, match="2 groups of equal points with .* overrules 2 rows") as caught:
        model = InterpolatingClassifier(conflicts="majority", random_state=0).fit(X, y)
    assert caught[0].filename == __file__
    assert "".join(model.predict(X)) == "babcab"  # a tie goes to the first of the classes
    np.testing.assert_array_equal(model.certificate_.overruled, [2, 4])
    np.testing.assert_array_equal(model.certificate_.given_up, [2, 4])
    assert model.certificate_.holds
    assert "holds for all 4 kept points" in str(model.certificate_)
    assert "overruled      2, 4" in str(model.certificate_)
    assert "rows given up" not in str(model.certificate_)
    assert not model.interpolates_
    assert model.outcome_ is Outcome.CONFLICTS_OVERRULED
    np.testing.assert_array_equal(certify(model, X, y).errors, [2, 4])
    again = certify(model, X, y, given_up=model.certificate_.given_up)
    assert again.holds
    np.testing.assert_array_equal(again.overruled, [2, 4])


@pytest.mark.filterwarnings("ignore::exactfit.exceptions.ConflictWarning")
@pytest.mark.filterwarnings("ignore::exactfit.exceptions.InterpolationWarning")
@pytest.mark.parametrize("target", [0, 1, "all", None])
def test_points_missed_and_points_overruled_are_errors_unless_both(target):
    X, y = moons()
    if target is None:  # three classes
        y = y + (X[:, 0] > 0.5)
    rows = np.arange(0, 200, 5)
    X, y = np.vstack([X, X[rows], X[rows]]), np.concatenate([y, y[rows], 1 - np.minimum(y[rows], 1)])
    n_both = 0
    for seed in range(10):
        model = InterpolatingClassifier(6, conflicts="majority", target=target, random_state=seed).fit(X, y)
        assert model.outcome_ is Outcome.POINTS_MISSED
        assert not model.certificate_.holds
        told = np.union1d(model.certificate_.errors, model.certificate_.overruled)
        np.testing.assert_array_equal(told, np.flatnonzero(model.network_.decide(X) != y))
        n_both += np.intersect1d(model.trace_.uncovered, np.arange(240, 280)).size
    assert n_both > 0


@pytest.mark.parametrize("width", ["adaptive", 200])
@pytest.mark.parametrize("survivors", [2, 3])
def test_a_class_that_loses_all_its_points_stays_without_detectors(width, survivors):
    X = np.array([[0.0], [0.0], [0.0], [1.0], [2.0]])
    y = np.array([3, 3, 1, 0, 0 if survivors == 2 else 4])
    with pytest.warns(ConflictWarning, match="overrules 1 row"):
        model = InterpolatingClassifier(width, conflicts="majority", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    np.testing.assert_array_equal(model.predict(X), [3, 3, 3, 0, y[-1]])
    assert model.decision_function(X).shape == (5, survivors + 1)
    assert (model.decision_function(X)[:, 1] == LOWEST).all()
    assert model.detectors_per_class_[1] == 0
    assert model.detectors_per_class_.sum() == model.n_detectors_
    np.testing.assert_array_equal(model.certificate_.overruled, [2])
    np.testing.assert_array_equal(certify(model, X, y).errors, [2])


def test_one_class_left_after_majorities_is_refused():
    with pytest.warns(ConflictWarning), pytest.raises(ValueError, match="only one class is left"):
        InterpolatingClassifier(conflicts="majority").fit([[1.0], [1.0], [2.0]], [0, 1, 0])


# ---------------------------------------------------------------- exactness

HOLDINGS = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "CSR": sp.csr_array,
    "CSR matrix, float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "CSC": sp.csc_array,
    "frame": pd.DataFrame,
}
MODELS = {
    "adaptive": (digits, InterpolatingClassifier(random_state=3)),
    "fixed": (digits, InterpolatingClassifier(600, random_state=3)),
    "bisector": (digits, InterpolatingClassifier(hyperplanes="bisector", random_state=3)),
    "both sides": (moons, InterpolatingClassifier(target="all", random_state=3)),
    "relu": (moons, InterpolatingClassifier(activation="relu", random_state=3)),
    "relu, many classes": (digits, InterpolatingClassifier(activation="relu", random_state=3)),
}


@pytest.fixture(params=MODELS, scope="module")
def fitted(request):
    data, model = MODELS[request.param]
    X, y = data()
    return clone(model).fit(X, y), X, y


@pytest.mark.parametrize("size", [1, 7, 64])
def test_batches_change_nothing(fitted, size):
    model, X, y = fitted
    parts = [X[start : start + size] for start in range(0, len(X), size)]
    np.testing.assert_array_equal(np.concatenate([model.predict(part) for part in parts]), y)
    decisions = np.concatenate([model.decision_function(part) for part in parts])
    np.testing.assert_array_equal(decisions, model.decision_function(X))


def test_threads_change_nothing(fitted):
    model, X, y = fitted
    expected = model.decision_function(X)
    for n_jobs in (1, 2, -1):
        again = clone(model).set_params(n_jobs=n_jobs).fit(X, y)
        assert again.network_.digest == model.network_.digest
        np.testing.assert_array_equal(again.decision_function(X), expected)


def test_the_order_of_rows_changes_nothing(fitted):
    model, X, y = fitted
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[order]), y[order])
    np.testing.assert_array_equal(model.decision_function(X[order]), model.decision_function(X)[order])


@pytest.mark.parametrize("holding", HOLDINGS)
def test_how_the_numbers_are_held_changes_nothing(fitted, holding):
    model, X, y = fitted
    held = HOLDINGS[holding](X)
    again = clone(model).fit(held, y)
    assert again.network_.digest == model.network_.digest
    assert again.certificate_.data_digest == model.certificate_.data_digest
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X has feature names")  # the model was fitted without any
        np.testing.assert_array_equal(model.predict(held), y)
        np.testing.assert_array_equal(model.decision_function(held), model.decision_function(X))


def test_another_seed_gives_another_network(fitted):
    model, X, y = fitted
    assert clone(model).set_params(random_state=4).fit(X, y).network_.digest != model.network_.digest


# ---------------------------------------------------------------- among other tools


def test_pickle_and_clone(fitted):
    model, X, _ = fitted
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.network_.digest == model.network_.digest
    assert not hasattr(clone(model), "network_")
    assert clone(model).get_params() == model.get_params()


def test_pipeline():
    X, y = digits()
    pipeline = make_pipeline(StandardScaler(), InterpolatingClassifier(random_state=0)).fit(X, y)
    assert pipeline.score(X, y) == 1.0


# A narrow width may miss points of a fold.
@pytest.mark.filterwarnings("ignore::exactfit.exceptions.InterpolationWarning")
def test_grid_search_over_width_and_bias():
    X, y = moons()
    grid = {"width": ["adaptive", 8, 300], "max_bias": ["radius", 0.5, 2.0]}
    search = GridSearchCV(InterpolatingClassifier(random_state=0), grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 9
    assert search.best_score_ > 0.9


def test_a_progress_bar_is_for_standard_error(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if there were a terminal
    X, y = digits()
    InterpolatingClassifier(verbose=1, random_state=0).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "hyperplanes" in err
    assert "detectors" in err


def test_what_others_print_beside_a_progress_bar_stays_on_standard_output(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")

    def talkative(t):
        print("value")
        return np.maximum(t, 0.0)

    X, y = moons()
    InterpolatingClassifier(activation=talkative, verbose=1, random_state=0).fit(X, y)
    out, err = capsys.readouterr()
    assert set(out.split()) == {"value"}
    assert "value" not in err


def test_silence_is_the_default(capfd):
    X, y = digits()
    InterpolatingClassifier(random_state=0).fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")


def blas_threads():
    return [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_two_fits_at_once(n_jobs):
    X, y = digits()
    seeds = [0, 1] * 4
    alone = [InterpolatingClassifier(random_state=seed).fit(X, y).network_.digest for seed in (0, 1)]
    before = blas_threads()
    with ThreadPoolExecutor(2) as pool:
        models = pool.map(lambda seed: InterpolatingClassifier(random_state=seed, n_jobs=n_jobs).fit(X, y), seeds)
        assert [model.network_.digest for model in models] == [alone[seed] for seed in seeds]
    assert blas_threads() == before != []


def test_fits_in_loky_workers():
    X, y = digits()
    alone = InterpolatingClassifier(random_state=0).fit(X, y)
    fits = [joblib.delayed(InterpolatingClassifier(random_state=0, n_jobs=n_jobs).fit)(X, y) for n_jobs in (1, 2)]
    for model in joblib.Parallel(n_jobs=2, backend="loky")(fits):
        assert model.network_.digest == alone.network_.digest
        np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


def test_fits_in_dask_workers(tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y = moons()
    alone = InterpolatingClassifier(random_state=0).fit(X, y)
    with dask_cluster(tmp_path, 1, 2) as address, distributed.Client(address) as client:
        fits = [client.submit(InterpolatingClassifier(random_state=0, n_jobs=n_jobs).fit, X, y) for n_jobs in (1, 2)]
        for model in client.gather(fits):
            assert model.network_.digest == alone.network_.digest
            np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


LONG_FIT = """
import sys
import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from exactfit import InterpolatingClassifier

rng = np.random.default_rng(0)
n, d, width = (20_000, 200, 4000) if sys.argv[2] == "mask" else (8_000, 50, 500)
X, y = rng.standard_normal((n, d)), rng.integers(0, 3, n)
options = {"detectors": sys.argv[2], "n_jobs": int(sys.argv[1]), "random_state": 0}
model = InterpolatingClassifier(width, **options).fit(X[:200], y[:200])
check_is_fitted(model)
print("fitting", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
try:
    check_is_fitted(model)
except NotFittedError:
    print("not fitted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT for one child process")
@pytest.mark.parametrize(("n_jobs", "detectors"), [(1, "mask"), (2, "mask"), (2, "weighted")])
def test_ctrl_c_returns_at_once_and_leaves_the_estimator_unfitted(n_jobs, detectors):
    command = [sys.executable, "-c", LONG_FIT, str(n_jobs), detectors]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "fitting\n"
        time.sleep(0.5)  # the whole fit takes some seconds
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.stdout.readline()
        waited = time.monotonic() - sent
        rest, errors = process.stdout.read(), process.stderr.read()
    assert (said, rest, errors) == ("interrupted\n", "not fitted\n", "")
    assert waited < 3.0  # a tenth of a second, with room for a busy machine


def test_answers_do_not_depend_on_how_many_points_are_scored_at_once(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = InterpolatingClassifier(random_state=0).fit(X, np.arange(60) % 5)
    whole = model.predict(X + 0.1)
    for scores in (1, 5, 7 * 5, 59 * 5, 60 * 5):
        monkeypatch.setattr(estimators, "SCORES_AT_ONCE", scores)
        assert model.predict(X + 0.1).tolist() == whole.tolist()


@pytest.mark.parametrize("options", [{}, {"target": None}, {"activation": "relu"}])
def test_claims_are_where_detectors_fire(options):
    X, y = moons()
    model = InterpolatingClassifier(**{"min_width": 64, "random_state": 0} | options).fit(X, y)
    np.testing.assert_array_equal(model.claims(X), y[:, None] == model.classes_)
    new = np.random.default_rng(1).uniform(-2, 3, (200, 2))
    claims = model.claims(new)
    if options.get("target", "all") is None:
        assert (claims.sum(axis=1) == 1).all()
    else:
        np.testing.assert_array_equal(claims.sum(axis=1) != 1, model.abstains(new))
    clear = claims.sum(axis=1) == 1
    np.testing.assert_array_equal(model.predict(new[clear]), model.classes_[claims[clear].argmax(axis=1)])


def test_weights_are_refused_with_the_reason():
    X, y = moons()
    with pytest.raises(TypeError, match="class_weight"):
        InterpolatingClassifier(class_weight="balanced")
    with pytest.raises(ParameterError, match="sample_weight has no meaning here: every row is fitted"):
        InterpolatingClassifier().fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="fit takes X and y, and no groups"):
        InterpolatingClassifier().fit(X, y, groups=y)


def test_help_shows_the_options_and_not_that_others_are_refused() -> None:
    shown = inspect.signature(InterpolatingClassifier).parameters
    assert set(InterpolatingClassifier().get_params()) <= set(shown)
    assert shown["margin"].default == 0.0


def test_the_paper_is_one_step_away():
    X, y = moons()
    options = {"center": False, "random_state": 0}
    ours, theirs = (
        InterpolatingClassifier.paper(random_state=0).fit(X, y),
        adaptive_width(X, y, Options(center=False), 0),
    )
    assert ours.network_.digest == theirs.network.digest
    assert InterpolatingClassifier(**options).fit(X, y).network_.digest != ours.network_.digest
    assert InterpolatingClassifier.paper(width=100, margin=2.0).get_params()["margin"] == 2.0


@pytest.mark.parametrize(
    ("rows", "options", "width"), [(3, {}, 48), (300, {}, 4096), (1100, {}, 4096), (300, {"max_width": 900}, 900)]
)
def test_the_least_width_grows_with_the_rows_up_to_what_there_is_room_for(rows, options, width):
    X = np.random.default_rng(0).normal(size=(rows, 3))
    assert InterpolatingClassifier(random_state=0, **options).fit(X, np.arange(rows) % 2).width_ == width


def test_scores_can_be_calibrated_with_scikit_learn():
    X, y = moons()
    model = CalibratedClassifierCV(InterpolatingClassifier(min_width=64, random_state=0), cv=3).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert model.score(X, y) > 0.9
