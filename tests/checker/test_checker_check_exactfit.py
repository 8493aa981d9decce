"""The checker that shares nothing with the package: on every construction, and on files with one number changed."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from helpers.problems import CONSTRUCTORS, PROBLEMS, RIVALS
from helpers.processes import CHECKER, FAILS, HOLDS, REFUSED, is_sound, run_alone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from exactfit import InterpolatingClassifier, TableModel, read_table, repair, save
from exactfit.cli import main
from exactfit.exceptions import InterpolationWarning
from exactfit.network import Network
from exactfit.persistence.container import unpacked


def check(*arguments: object) -> tuple[int, str]:
    """Exit code and all that was printed."""
    code, out, err = run_alone(*arguments)
    assert is_sound(code, out, err), (code, out, err)
    return code, out + err


def checked(folder: Path, model: object, X: object, y: object, *options: str) -> tuple[int, str]:
    save(model, folder / "m")
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return check(folder / "m", folder / "X.npy", folder / "y.npy", *options)


def small_problem() -> tuple[np.ndarray, np.ndarray]:
    X, y = next(iter(PROBLEMS.values()))()
    return X[:30], y[:30]


def test_it_is_one_short_file_of_the_standard_library() -> None:
    text = CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 450
    names = {
        name
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_it_agrees_about_every_recipe(name: str, tmp_path: Path) -> None:
    X, y = small_problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = CONSTRUCTORS[name](X, y, 0)
    code, text = checked(tmp_path, made, X, y)
    if name.startswith("own"):
        assert (code, "the user's own" in text) == (REFUSED, True)
    else:
        assert code == (FAILS if len(made.errors) else HOLDS), text


@pytest.mark.parametrize("name", RIVALS)
def test_it_agrees_about_every_published_construction(name: str, tmp_path: Path) -> None:
    X, y = small_problem()
    made = RIVALS[name](X, y, 0)
    code, text = checked(tmp_path, made, X, y)
    assert code == HOLDS, text


MODELS = {
    "plain": {},
    "weighted": {"detectors": "weighted"},
    "float32": {"exact_in": "float32"},
    "sparse": {"hyperplanes": "sparse", "detectors": "weighted"},
    "sparse margin": {"hyperplanes": "sparse", "margin": "40%", "detectors": "weighted"},
    "margin": {"margin": "40%"},
    "weighted margin": {"margin": "40%", "detectors": "weighted", "target": "all"},
}


@pytest.mark.parametrize("name", MODELS)
def test_it_agrees_about_classifiers(name: str, tmp_path: Path) -> None:
    X, y = small_problem()
    labels = np.array(["no", "yes", "perhaps"])[y]
    model = InterpolatingClassifier(random_state=0, **MODELS[name]).fit(X, labels)
    options = ["--margin"] if "margin" in name else []
    code, text = checked(tmp_path, model, X, labels, *options)
    assert code == HOLDS, text
    assert "data: those" in text
    assert ("margin: holds" in text) == bool(options)
    wrong = labels.copy()
    wrong[4] = "no" if wrong[4] == "yes" else "yes"
    code, text = checked(tmp_path, model, X, wrong)
    assert (code, "fails for rows 4 " in text, "not those" in text) == (FAILS, True, True)
    assert check(tmp_path / "m", tmp_path / "X.npy", tmp_path / "y.npy", "--rows", "0:3,5")[0] == HOLDS
    np.savetxt(tmp_path / "both.csv", np.column_stack([X.astype(str), labels]), fmt="%s", delimiter=",")
    assert check(tmp_path / "m", tmp_path / "both.csv")[0] == HOLDS


def test_a_margin_that_is_claimed_too_large_is_found(tmp_path: Path) -> None:
    X, y = small_problem()
    model = InterpolatingClassifier(random_state=0, margin="40%").fit(X, y)
    assert checked(tmp_path, model, X, y, "--margin")[0] == HOLDS

    def enlarge(header: dict, tensors: dict) -> None:
        header["certificate"]["margin"] *= 2.6

    forge(tmp_path / "m", enlarge)
    code, text = check(tmp_path / "m", tmp_path / "X.npy", tmp_path / "y.npy", "--margin")
    assert (code, "margin: fails" in text) == (FAILS, True)


def forge(path: Path, change) -> None:
    """Change a file's parts, and seal it again."""
    octets = path.read_bytes()
    size = int.from_bytes(octets[:8], "little")
    header = json.loads(json.loads(octets[8 : 8 + size])["__metadata__"]["exactfit"])
    tensors = safetensors.numpy.load(octets)
    change(header, tensors)
    header.pop("digest")
    for name, tensor in tensors.items():
        header["tensors"][name]["sha256"] = hashlib.sha256(tensor.tobytes()).hexdigest()
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    header["digest"] = hashlib.sha256(text.encode()).hexdigest()
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    path.write_bytes(safetensors.numpy.save(tensors, {"exactfit": text}))


@pytest.mark.parametrize(("law", "numbers"), [("gaussian", "values"), ("sparse", "data")])
def test_it_answers_as_the_network_does_when_one_number_is_changed(law: str, numbers: str, tmp_path: Path) -> None:
    X, y = small_problem()
    model = InterpolatingClassifier(hyperplanes=law, min_width=0, random_state=0).fit(X, y)
    save(model, tmp_path / "whole")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    rng, failed = np.random.default_rng(0), 0
    for turn in range(12):
        path = tmp_path / "m"
        path.write_bytes((tmp_path / "whole").read_bytes())
        name = ("network.layers.0.bias", "network.layers.1.bias", f"network.layers.0.weights.{numbers}")[turn % 3]
        changed: dict = {}

        def one_number(header: dict, tensors: dict, name: str = name, changed: dict = changed) -> None:
            tensors[name] = tensors[name].copy()
            place = tuple(rng.integers(0, size) for size in tensors[name].shape)
            tensors[name][place] += 7
            changed.update(tensors)

        forge(path, one_number)
        header = model.network_.header()
        parts = {
            key.removeprefix("network."): unpacked(key, part)
            for key, part in changed.items()
            if key.startswith("network.")
        }
        wrong = np.flatnonzero(Network.from_parts(header, parts).decide(X) != y)
        code, text = check(path, tmp_path / "X.npy", tmp_path / "y.npy")
        assert code == (FAILS if len(wrong) else HOLDS), text
        failed += code == FAILS
        assert not len(wrong) or f"rows {wrong[0]}" in text
    assert failed


def test_damage_and_unknown_formats_are_refused(tmp_path: Path) -> None:
    X, y = small_problem()
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    assert checked(tmp_path, model, X, y)[0] == HOLDS
    data = tmp_path / "X.npy", tmp_path / "y.npy"
    octets = bytearray((tmp_path / "m").read_bytes())
    octets[-1] ^= 1
    (tmp_path / "bad").write_bytes(octets)
    assert check(tmp_path / "bad", *data)[0] == REFUSED
    (tmp_path / "bad").write_bytes(b"nothing")
    assert check(tmp_path / "bad", *data)[0] == REFUSED
    assert check(tmp_path / "m", tmp_path / "X.npy")[0] == REFUSED
    assert check(tmp_path / "none", *data)[0] == REFUSED
    for key, value in (("format", 99), ("kind", "network")):
        (tmp_path / "bad").write_bytes((tmp_path / "m").read_bytes())
        forge(tmp_path / "bad", lambda header, _, key=key, value=value: header.update({key: value}))
        assert check(tmp_path / "bad", *data)[0] == REFUSED


def test_rows_given_up_are_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 20])
    y = np.repeat([0, 1], 40)
    y[3] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterpolationWarning)
        model = InterpolatingClassifier(noise=0.05, random_state=0).fit(X, y)
    code, text = checked(tmp_path, model, X, y)
    assert (code, "1 rows given up" in text) == (HOLDS, True)


def test_a_tables_model_is_checked_on_its_encoded_rows(tmp_path: Path) -> None:
    table = tmp_path / "fruit.csv"
    table.write_text("weight,colour,fruit\n182,red,apple\n118,yellow,banana\n126,yellow,banana\n178,green,pear\n")
    model = TableModel(InterpolatingClassifier(random_state=0))
    save(model.fit(read_table(table, label="fruit")), tmp_path / "m")
    points, labels = tmp_path / "points.npy", tmp_path / "labels.csv"
    assert main(["encode", str(tmp_path / "m"), str(table), "-o", str(points), "--labels", str(labels)]) == 0
    code, text = check(tmp_path / "m", points, labels)
    assert (code, "data: those" in text) == (HOLDS, True), text


@pytest.mark.parametrize("kind", ["ball", "mask", "weighted"])
def test_repaired_models_are_checked_as_far_as_they_are_in_the_file(kind: str, tmp_path: Path) -> None:
    X, y = small_problem()
    y = np.arange(len(y)) % 3
    linear = LogisticRegression().fit(X, y)
    repaired = repair(linear, X, y, patches=kind, reach=0.5, exact_in="float32", random_state=0)
    assert checked(tmp_path, repaired, X, y)[0] == HOLDS
    code, out = check(tmp_path / "m", tmp_path / "X.npy", tmp_path / "X.npy")
    assert code != HOLDS
    wrong = np.where(np.arange(len(y)) == 4, (y + 1) % 3, y)
    np.save(tmp_path / "y.npy", wrong)
    assert check(tmp_path / "m", tmp_path / "X.npy", tmp_path / "y.npy")[0] == FAILS
    by_answers = repair(DecisionTreeClassifier(max_depth=1).fit(X, y), X, y)
    code, out = checked(tmp_path, by_answers, X, y)
    assert (code, "not in the file" in out) == (REFUSED, True)
