"""PyTorch exports: the same labels and scores as in exactfit, and they stay so under torch.export."""

from __future__ import annotations

import io
import os
import warnings

import numpy as np
import pytest
from helpers.networks import CLASSIFIERS, NETWORKS, as_given, points
from helpers.problems import CONSTRUCTORS, PROBLEMS, RIVALS
from helpers.runtimes import DTYPES, import_torch
from helpers.runtimes import run_torch as run
from sklearn.datasets import load_digits, make_moons

from exactfit import InterpolatingClassifier, certify, to_torch
from exactfit.exceptions import ExactfitError, NoGapError, ParameterError

SINGLES = 10_000

torch = import_torch()
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", [name for name in CONSTRUCTORS if not name.startswith("own")])
def test_constructions(name, problem, dtype):
    X, y = PROBLEMS[problem]()
    try:
        made = CONSTRUCTORS[name](X, y, 0)
    except NoGapError:
        pytest.skip("there is no such network")
    label, scores = run(to_torch(made, dtype), X)
    if dtype == "float64" or problem != "close pairs":
        assert label.tolist() == made.network.decide(X).tolist()
        assert scores == pytest.approx(np.asarray(made.network(X), dtype=np.float64), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", RIVALS)
def test_published_constructions(name):
    X, y = PROBLEMS["two moons"]()
    try:
        network = RIVALS[name](X, y, 0).network
        module = to_torch(network)
    except ExactfitError:
        pytest.skip("this options refuses these points, or has integers beyond 2^53")
    label, _ = run(module, X)
    safe = np.setdiff1d(np.arange(len(y)), certify(network, X, y, arithmetic="float64").errors)
    assert label[safe].tolist() == y[safe].tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if not name.startswith("own")])
def test_classifiers_and_their_labels(name, dtype):
    model = CLASSIFIERS[name]()
    X = np.concatenate([points(), points(200, seed=7)])
    module = to_torch(model, dtype)
    label, scores = run(module, X)
    given = as_given(model, X)
    answers, expected = model.predict(given), model.decision_function(given)
    if answers.dtype.kind in "UO":
        assert [module.classes[code] for code in label] == answers.tolist()
    else:
        assert label.tolist() == answers.tolist()
        assert label.dtype == answers.dtype.newbyteorder("=")
    if dtype == "float64" and "relu" not in name:
        near = 1e-14 if "networks" in name else 0.0  # a mean, added up in whatever order, may cancel
        np.testing.assert_allclose(scores, expected, rtol=near, atol=near)
    limits = np.finfo(dtype)
    assert scores == pytest.approx(expected.clip(limits.min, limits.max), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_digits(activation, dtype):
    X, y = load_digits(return_X_y=True)
    model = InterpolatingClassifier(exact_in=dtype, activation=activation, random_state=0).fit(X, y)
    assert_no_errors(to_torch(model, dtype), X, y)


def test_two_moons():
    X, y = make_moons(100_000, noise=0.05, random_state=0)
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y)
    assert_no_errors(to_torch(model, "float32"), X, y)


@pytest.mark.data
@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mnist(count):
    folder = os.environ.get("EXACTFIT_DATA")
    if not folder:
        pytest.skip("EXACTFIT_DATA names no folder")
    from exactfit.lab import load_dataset

    data = load_dataset("mnist", folder)
    X, y = data.X[:count], data.y[:count]
    model = InterpolatingClassifier(exact_in="float32", random_state=0).fit(X, y)
    assert_no_errors(to_torch(model, "float32"), X, y)


def assert_no_errors(module, X, y):
    """All rows at once, and one by one as many as take some seconds."""
    rows = torch.from_numpy(np.ascontiguousarray(X))
    with torch.no_grad():
        assert module(rows)[0].tolist() == y.tolist()
        some = range(0, len(rows), -(-len(rows) // SINGLES))
        singles = [int(module(rows[row : row + 1])[0][0]) for row in some]
    assert singles == y[some].tolist()


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_every_kind(name):
    network = NETWORKS[name]()
    if name in ("integers", "own"):
        with pytest.raises(ParameterError, match="no runtime"):
            to_torch(network)
        return
    X = points(20, network.n_features, seed=3)
    label, _ = run(to_torch(network), X)
    assert label.tolist() == network.decide(X).tolist()


@pytest.mark.parametrize("name", ["many classes", "relu one-sided", "both classes", "class without points"])
def test_under_torch_export(name):
    model = CLASSIFIERS[name]()
    module = to_torch(model)
    assert list(module.parameters()) == []
    X = torch.from_numpy(points(200, seed=7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its own
        program = torch.export.export(module, (X[:5],), dynamic_shapes=({0: torch.export.Dim("rows")},))
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        again = torch.export.load(file).module()
    for rows in (X, X[:1], X[:7]):
        for found, expected in zip(again(rows), module(rows), strict=True):
            assert torch.equal(found, expected)


def test_state_is_kept_in_buffers():
    model = CLASSIFIERS["many classes"]()
    module = to_torch(model)
    other = to_torch(model)
    other.steps[0].weights.zero_()
    other.load_state_dict(module.state_dict())
    X = torch.from_numpy(points())
    assert torch.equal(other(X)[1], module(X)[1])
    masks = [buffer for name, buffer in module.named_buffers() if name.endswith("masks")]
    assert [buffer.dtype for buffer in masks] == [torch.int8]
