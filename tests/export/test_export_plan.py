"""What an export plans: every kind of network, or why not."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.networks import CLASSIFIERS, NETWORKS, points
from helpers.problems import PROBLEMS
from helpers.runtimes import DTYPES, run_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import exactfit
from exactfit import InterpolatingClassifier, to_onnx
from exactfit.exceptions import MissingDependencyError, ParameterError


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_every_kind(name, dtype):
    network = NETWORKS[name]()
    if name in ("integers", "own"):
        reason = "integers beyond 2\\^53, which no runtime's numbers hold" if name == "integers" else "is your own"
        with pytest.raises(ParameterError, match=reason):
            to_onnx(network, dtype)
        return
    X = points(20, network.n_features, seed=3)
    label, scores = run_onnx(to_onnx(network, dtype), X.astype(dtype))
    assert label.tolist() == network.decide(X).tolist()
    assert scores == pytest.approx(np.asarray(network(X), dtype=np.float64), rel=1e-4, abs=1e-5)


def test_small_integers_are_exact():
    from exactfit.network import Decoder, Dense, Integers, Layer, Network, object_array
    from exactfit.network.activations import RELU, THRESHOLD

    first = Layer(Dense(points(4, 3)), np.zeros(4), THRESHOLD)
    second = Layer(
        Integers(object_array([2**50, -3, 5, 2**51, 1, 1, 1, 1], (2, 4))), object_array([1, -(2**40)], (2,)), RELU
    )
    last = Layer(Integers(object_array([1, -1], (1, 2))), object_array([-(2**50)], (1,)), None)
    network = Network((first, second, last), Decoder("nearest", (0, 1, 2), (-(2.0**50), 0.0, 2.0**51)))
    X = points(50)
    label, scores = run_onnx(to_onnx(network), X)
    assert label.tolist() == network.decide(X).tolist()
    assert scores[:, 0].tolist() == [float(value) for value in np.asarray(network(X), dtype=object)[:, 0]]
    too_large = Layer(Integers(object_array([2**52] * 4, (1, 4))), object_array([0], (1,)), None)
    with pytest.raises(ParameterError, match="layer 1 needs integers beyond"):
        to_onnx(Network((first, too_large), Decoder("sign", (0, 1))))


def test_what_cannot_be_exported(monkeypatch):
    X, y = PROBLEMS["two moons"]()
    with pytest.raises(NotFittedError):
        to_onnx(InterpolatingClassifier())
    with pytest.raises(NotFittedError):
        to_onnx(exactfit.TableModel())
    with pytest.raises(ParameterError, match="exports take a fitted InterpolatingClassifier"):
        to_onnx(RandomForestClassifier(2).fit(X, y))
    with pytest.raises(ParameterError, match="the pipeline must end in an InterpolatingClassifier"):
        to_onnx(make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(X, y))
    with pytest.raises(ParameterError, match="dtype must be 'float64' or 'float32', got 'float16'"):
        to_onnx(CLASSIFIERS["one-sided"](), "float16")
    large = InterpolatingClassifier(random_state=0).fit(X * 1e200, y)
    with pytest.raises(ParameterError, match="numbers beyond float32: export it with dtype"):
        to_onnx(large, "float32")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match="pip install onnx"):
        to_onnx(large)
