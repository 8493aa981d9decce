"""Models of every kind come back from a file bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.networks import CLASSIFIERS, NETWORKS, fitted_model, labels, points
from helpers.problems import CONSTRUCTORS, OWN, PROBLEMS, fitted_table, fitted_to, people, squared_relu

import exactfit
from exactfit import (
    InterpolatingClassifier,
    Network,
    TableModel,
    load,
    save,
)
from exactfit.construct import Construction, Trace
from exactfit.network.activations import as_activation
from exactfit.outcome import Outcome
from exactfit.persistence import container
from exactfit.persistence.description import LATER


def assert_same(one: Any, other: Any, where: str = "model") -> None:
    """The same types and values all the way down; activations by what they do, random states by type only."""
    if isinstance(one, np.random.RandomState | np.random.Generator):
        assert other is None, where
    elif where.endswith(".activation") and one is not None:
        assert as_activation(one) == as_activation(other), where
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype.newbyteorder(one.dtype.byteorder), where
        assert one.shape == other.shape, where
        assert one.tolist() == other.tolist(), where
    elif sp.issparse(one):
        assert_same(one.toarray(), other.toarray(), where)
    elif is_dataclass(one):
        assert type(one) is type(other), where
        for part in (part for part in fields(one) if part.compare):
            assert_same(getattr(one, part.name), getattr(other, part.name), f"{where}.{part.name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{k}]")
    elif isinstance(one, InterpolatingClassifier):
        assert type(one) is type(other), where
        assert vars(one).keys() == vars(other).keys(), where
        for name in vars(one):
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    else:
        assert one == other or np.isnan([one, other]).all(), where


def test_files_without_what_came_later_load(tmp_path: Path) -> None:
    model = fitted_model(points(), labels(0, 1, 2))
    save(model, tmp_path / "new")
    header, tensors = container.read_container(tmp_path / "new")
    for section, later in LATER.items():
        for name in later:
            del header[section][name]
    container.write_container(tmp_path / "old", header, tensors)
    old = load(tmp_path / "old")
    assert (old.noise, old.exact_in, old.certificate_.method) == (0.0, None, None)
    assert len(old.certificate_.given_up) == 0
    assert old.network_.digest == model.network_.digest


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    model, path = CLASSIFIERS[name](), tmp_path / "model.safetensors"
    save(model, path)
    again = load(path, activations={"squared_relu": squared_relu})
    assert_same(model, again)
    assert again.network_.digest == model.network_.digest
    assert again.certificate_.to_dict() == model.certificate_.to_dict()
    X = np.concatenate([points(), points(200, seed=9)])
    X = pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X
    assert_same(model.decision_function(X), again.decision_function(X))
    assert_same(model.predict(X), again.predict(X))
    assert model.predict(X).dtype == again.predict(X).dtype
    assert os.listdir(tmp_path) == ["model.safetensors"]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    model, path = NETWORKS[name](), tmp_path / "model"
    save(model, path)
    again = load(path, activations=[OWN])
    assert type(again) is Network
    assert_same(model, again)
    X = np.round(points(50) * 4)
    assert again.digest == model.digest
    if name != "masks":  # masks take bits or an activation's values, not points
        assert_same(model(X), again(X))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_construction_comes_back_as_it_was(name: str, problem: str, tmp_path: Path) -> None:
    X, y = PROBLEMS[problem]()
    made = CONSTRUCTORS[name](X, y, 0)
    save(made, tmp_path / "m")
    again = load(tmp_path / "m", activations=[OWN])
    assert_same(made, again)
    assert again.network.digest == made.network.digest
    assert_same(made.network(X), again.network(X))


def test_a_construction_without_a_trace_comes_back(tmp_path: Path) -> None:
    made = Construction(NETWORKS["integers"](), Outcome.INTERPOLATES, Trace())
    save(made, tmp_path / "m")
    assert_same(made, load(tmp_path / "m"))


def test_a_model_saves_to_the_same_bytes_again(tmp_path: Path) -> None:
    save(CLASSIFIERS["many classes"](), tmp_path / "a")
    save(load(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_loaded_model_can_be_cloned_and_fitted(tmp_path: Path) -> None:
    model = CLASSIFIERS["own function"]()
    save(model, tmp_path / "m")
    again = load(tmp_path / "m", activations=[squared_relu])
    assert again.fit(points(), labels(0, 1)).network_.digest == model.network_.digest


def test_another_process_gives_the_same_answers(tmp_path: Path) -> None:
    model, X = CLASSIFIERS["many classes"](), points(100, seed=3)
    save(model, tmp_path / "m")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np, exactfit\n"
        "model, X = exactfit.load(sys.argv[1]), np.load(sys.argv[2])\n"
        "print(model.decision_function(X).tobytes().hex(), *model.predict(X))"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "m"), str(tmp_path / "X.npy")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [model.decision_function(X).tobytes().hex(), *model.predict(X)]


def test_a_model_fitted_with_labels_aside_comes_back(tmp_path: Path) -> None:
    frame, y = people()
    model = fitted_to(frame, y)
    exactfit.save(model, tmp_path / "m")
    assert exactfit.load(tmp_path / "m").score(frame, y) == 1.0


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_a_model_comes_back_as_it_was(scale: Any, fruit: Path, tmp_path: Path) -> None:
    model, path = fitted_table(fruit, "fruit", scale=scale), tmp_path / "m.exactfit"
    exactfit.save(model, path)
    again = exactfit.load(path)
    assert type(again) is TableModel
    assert again.columns == model.columns
    assert (again.scale, again.features_) == (model.scale, model.features_)
    assert again.mean_.tobytes() == model.mean_.tobytes()
    assert again.scale_.tobytes() == model.scale_.tobytes()
    assert again.encoding_.to_dict() == model.encoding_.to_dict()
    assert again.classifier_.network_.digest == model.classifier_.network_.digest
    assert again.predict(fruit).tolist() == model.predict(fruit).tolist()
    assert again.certify(fruit).to_dict() == model.certify(fruit).to_dict()
    octets = path.read_bytes()
    exactfit.save(again, path)
    assert path.read_bytes() == octets


def test_unusual_names_come_back(tmp_path: Path) -> None:
    frame = pd.DataFrame({'quo"te\\': ["ä", "🦀"], "": [1.0, 2.0], "y\n": ["", " "]}).rename(columns={"y\n": "label"})
    frame["label"] = ["é", "\u2028"]
    model = fitted_table(frame, "label")
    exactfit.save(model, tmp_path / "m")
    assert exactfit.load(tmp_path / "m").predict(frame).tolist() == ["é", "\u2028"]
