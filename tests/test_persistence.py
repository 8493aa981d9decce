"""Models come back from a file bit for bit, and writing one leaves a whole file or none."""

from __future__ import annotations

import copy
import errno
import json
import os
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors
import safetensors.numpy
import scipy.sparse as sp
from constructors import CONSTRUCTORS, OWN, PROBLEMS, squared_relu
from saved_models import CLASSIFIERS, NETWORKS, fitted, labels, network, points
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactfit import Activation, InterpolatingClassifier, ModelFileError, Network, ParameterError, load, save
from exactfit.construct import Construction, Trace
from exactfit.network import Dense, Integers, Layer
from exactfit.network.activations import RELU, as_activation
from exactfit.outcome import Outcome
from exactfit.persistence import container
from exactfit.persistence.description import LATER

WINDOWS = sys.platform == "win32"


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
        for part in fields(one):
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
    model = fitted(points(), labels(0, 1, 2))
    save(model, tmp_path / "new")
    header, tensors = container.read_model(tmp_path / "new")
    for section, later in LATER.items():
        for name in later:
            del header[section][name]
    container.write_model(tmp_path / "old", header, tensors)
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


def test_the_file_is_an_ordinary_safetensors_file_with_packed_masks(tmp_path: Path) -> None:
    model = CLASSIFIERS["random state"]()
    save(model, tmp_path / "m")
    tensors = safetensors.numpy.load_file(tmp_path / "m")
    words = model.network_.layers[1].weights.bits.words
    assert tensors["network.layers.1.weights.words"].dtype == np.uint64
    assert (tensors["network.layers.1.weights.words"] == words).all()
    with safetensors.safe_open(tmp_path / "m", framework="np") as file:
        header = json.loads(file.metadata()["exactfit"])
    assert header["saved_with"]["random_state"] == "RandomState"
    assert header["saved_with"]["versions"].keys() == {"exactfit", "numba", "numpy", "python", "scikit-learn"}
    assert header["network_digest"] == model.network_.digest
    assert header["parameters"]["random_state"] is None


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


# Activations of one's own.


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    save(NETWORKS["own"](), tmp_path / "own")
    return tmp_path / "own"


@pytest.mark.parametrize("given", [None, {}, [], {"other": squared_relu}])
def test_a_missing_activation_is_named(own_file: Path, given: Any) -> None:
    with pytest.raises(ModelFileError, match="needs the activation 'squared_relu'"):
        load(own_file, activations=given)


def test_the_name_it_is_given_under_counts(own_file: Path) -> None:
    again = load(own_file, activations={"squared_relu": Activation("renamed", squared_relu), "unused": squared_relu})
    assert again.digest == NETWORKS["own"]().digest
    assert load(own_file, activations=(squared_relu, RELU)).digest == again.digest


def test_another_function_of_the_same_name_is_refused(own_file: Path) -> None:
    with pytest.raises(ModelFileError, match=r"at t = 0\.01 it is 0\.01, and was 0\.0001"):
        load(own_file, activations={"squared_relu": lambda t: np.maximum(t, 0.0)})


@pytest.mark.parametrize(
    "given",
    [
        {"relu": squared_relu},
        {"squared_relu": 3},
        {"squared_relu": np.cos},
        "relu2",
        7,
        [lambda t: t],
        {3: squared_relu},
    ],
)
def test_unusable_activations_are_the_callers_mistake(own_file: Path, given: Any) -> None:
    with pytest.raises(ParameterError):
        load(own_file, activations=given)


def test_an_activation_that_would_come_back_as_another_is_not_saved(tmp_path: Path) -> None:
    impostor = network(Layer(Dense(points(1)), np.zeros(1), Activation("relu", squared_relu)))
    with pytest.raises(ParameterError, match="two activations have the name 'relu'"):
        save(impostor, tmp_path / "m")
    assert os.listdir(tmp_path) == []


# What cannot be saved.


def test_an_unfitted_classifier_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        save(InterpolatingClassifier(), tmp_path / "m")


class Heir(InterpolatingClassifier):
    pass


@pytest.mark.parametrize(
    "thing", [None, 3, np.zeros(3), InterpolatingClassifier, make_pipeline(StandardScaler()), Heir()]
)
def test_other_things_are_not_saved(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(
        ParameterError, match="save takes an InterpolatingClassifier, TableModel, Construction or Network, got"
    ):
        save(thing, tmp_path / "m")


def test_what_would_not_load_is_not_saved(tmp_path: Path) -> None:
    model = CLASSIFIERS["one-sided"]()
    for name, value in {
        "classes_": np.array([0, 1], dtype=np.clongdouble),
        "max_bias": np.nan,
        "target": object(),
        "outcome_": None,
        "network_": NETWORKS["dense"](),
        "certificate_": CLASSIFIERS["both classes"]().certificate_,
    }.items():
        broken = copy.copy(model)
        setattr(broken, name, value)
        with pytest.raises(ParameterError, match="cannot be saved"):
            save(broken, tmp_path / "m")
    halves = fitted(points(), labels("a", "\ud83e\udd80"))
    with pytest.raises(ParameterError, match="text that is not Unicode"):
        save(halves, tmp_path / "m")
    fractions = Layer(Integers(np.array([[0.5]], dtype=object)), np.zeros(1), RELU)
    for unsound in (network(fractions), network(Layer(Dense(np.array([[np.inf]])), np.zeros(1), RELU))):
        with pytest.raises(ParameterError, match="cannot be saved"):
            save(unsound, tmp_path / "m")
    assert os.listdir(tmp_path) == []


# Writing.


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder.*nowhere"):
        save(NETWORKS["dense"](), tmp_path / "nowhere" / "m")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    with pytest.raises(OSError, match="cannot save the model"):
        save(NETWORKS["dense"](), tmp_path / "m")
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.skipif(WINDOWS, reason="folders have no mode bits on Windows")
@pytest.mark.skipif(not WINDOWS and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="cannot save the model"):
            save(NETWORKS["dense"](), tmp_path / "m")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(WINDOWS, reason="links and mode bits are different on Windows")
def test_links_and_permissions_are_those_of_an_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    (tmp_path / "link").symlink_to("m")
    save(NETWORKS["dense"](), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "ordinary").stat().st_mode
    assert load(str(tmp_path / "link")).digest == NETWORKS["dense"]().digest


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "problem",
    [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left"), PermissionError(errno.EACCES, "Permission denied")],
    ids=lambda problem: type(problem).__name__,
)
@pytest.mark.parametrize("before", [None, b"the old file"])
def test_whatever_stops_the_writing_leaves_the_folder_as_it_was(
    step: str, problem: BaseException, before: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is not None:
        (tmp_path / "m").write_bytes(before)

    def stop(*_: Any) -> None:
        raise problem

    monkeypatch.setattr(os, step, stop)
    with pytest.raises(type(problem)):
        save(NETWORKS["dense"](), tmp_path / "m")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == ({"m": before} if before else {})


@pytest.mark.skipif(WINDOWS, reason="Windows has no RLIMIT_FSIZE")
def test_a_file_that_grows_too_large_leaves_the_old_one(tmp_path: Path) -> None:
    save(NETWORKS["dense"](), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    code = (
        "import resource, sys, exactfit\n"
        "made = exactfit.load(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        exactfit.save(made, path)\n"
        "    except OSError as error:\n"
        "        print(error.errno)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "m"), str(tmp_path / "new")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(errno.EFBIG)] * 2
    assert os.listdir(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == before
