"""Models of every kind: chains read number by number, graphs run and read, modules and functions asked."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.networks import trained_on_classes
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from exactfit import DataError, repair
from exactfit.repairs.models import chain_of, read_model


@pytest.mark.parametrize(
    "model",
    [
        MLPClassifier(5, activation="tanh", max_iter=20, random_state=0),
        DecisionTreeClassifier(max_depth=2),
        SVC(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_are_no_chains(model) -> None:
    X, fitted = trained_on_classes(model, 3)
    assert chain_of(fitted) is None
    found = read_model(fitted)
    assert found.kind == "reference"
    assert (found.classes[found.decide(X)] == fitted.predict(X)).all()


@pytest.mark.torch
def test_torch_modules_are_read_or_asked() -> None:
    torch = pytest.importorskip("torch")
    nn, X = torch.nn, load_digits(return_X_y=True)[0][:200]
    torch.manual_seed(0)
    first, last = nn.Linear(64, 12), nn.Linear(12, 10, bias=False)
    for middle in (nn.ReLU(), nn.Threshold(0, 0), nn.Dropout(0.5), nn.Identity()):
        module = nn.Sequential(nn.Flatten(), first, middle, last, nn.LogSoftmax(dim=1))
        model = read_model(module)
        assert model.kind == "chain"
        assert (model.decide(X) == model.ask(X)).all()
        assert module.training  # as it was
    for other in (nn.Tanh(), nn.Threshold(0.5, 0)):
        assert chain_of(nn.Sequential(first, other, last)) is None
    images = nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 10))
    model = read_model(images, None, X)
    assert model.kind == "reference"
    assert len(model.classes) == 10
    with torch.no_grad():
        answers = images.eval()(torch.from_numpy(X).float()).argmax(dim=1).numpy()
    assert (model.decide(X) == answers).all()
    assert model.scores(X).shape == (200, 10)
    with pytest.raises(DataError, match="does not take points of 60 features"):
        repair(images, X[:, :60], np.zeros(200))
