"""Activations of one's own, models that cannot be saved, and files that are whole or not there."""

from __future__ import annotations

import copy
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.networks import CLASSIFIERS, NETWORKS, fitted_model, labels, network, points
from helpers.problems import fitted_table, squared_relu
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import exactfit
from exactfit import Activation, InterpolatingClassifier, ModelFileError, ParameterError, load, save
from exactfit.network import Dense, Integers, Layer
from exactfit.network.activations import RELU

WINDOWS = sys.platform == "win32"


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
        ParameterError,
        match=r"save takes an InterpolatingClassifier, RepairedClassifier, TableModel, Con.* got",
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
    halves = fitted_model(points(), labels("a", "\ud83e\udd80"))
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


def test_saving_over_a_model_leaves_one_file(fruit: Path, tmp_path: Path) -> None:
    model, path = fitted_table(fruit, "fruit"), tmp_path / "models" / "m"
    path.parent.mkdir()
    for _ in range(2):
        exactfit.save(model, path)
    assert os.listdir(path.parent) == ["m"]
