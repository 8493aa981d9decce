"""Repaired models in files: the same answers, patches and history; nothing forged, nothing passed over."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from helpers.attacks import put, swap
from helpers.networks import two_layers
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from exactfit import ModelFileError, ParameterError, RepairedClassifier, certify, load, repair, save
from exactfit.network.network import SwitchedNetwork
from exactfit.persistence import container
from exactfit.persistence.container import packed, unpacked

KINDS = ["ball", "mask", "weighted"]


def moons():
    X, y = make_moons(200, noise=0.3, random_state=0)
    return X, np.array(["no", "yes"])[y]


def tree(X, y):
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_reference", [False, True])
def test_what_is_loaded_is_what_was_saved(kind, by_reference, tmp_path) -> None:
    X, y = moons()
    model = tree(X, y) if by_reference else LogisticRegression().fit(X, y)
    repaired = repair(model, X[:150], y[:150], patches=kind, reach=0.5, exact_in="float32", random_state=0)
    repaired.add(X[150:], y[150:])
    save(repaired, tmp_path / "file")
    again = load(tmp_path / "file", model=model if by_reference else None)
    assert isinstance(again, RepairedClassifier)
    assert str(again.report(X, y)) == str(repaired.report(X, y))
    assert (again.predict(X) == y).all()
    assert str(again.certificate_) == str(repaired.certificate_)
    assert certify(again, X, y, arithmetic="float32").holds
    assert again.verify(X, y).holds
    save(again, tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "file").read_bytes()
    more = again.add([[9.0, 9.0]], ["no"], given=(X, y))
    assert more.certificate_.n_samples == 201


@pytest.mark.parametrize("by_reference", [False, True])
def test_labels_of_objects_as_frames_have_them(by_reference, tmp_path) -> None:
    X, y = moons()
    y = y.astype(object)
    model = tree(X, y) if by_reference else LogisticRegression().fit(X, y)
    repaired = repair(model, X, y)
    save(repaired, tmp_path / "file")
    again = load(tmp_path / "file", model=model if by_reference else None)
    assert again.classes_.dtype == repaired.classes_.dtype == object
    assert again.predict(X).tolist() == y.tolist()


def test_points_are_not_in_the_file(tmp_path) -> None:
    X, y = moons()
    save(repair(LogisticRegression().fit(X, y), X, y), tmp_path / "file")
    with pytest.raises(ParameterError, match="pass given="):
        load(tmp_path / "file").add([[9.0, 9.0]], ["no"])


@pytest.mark.parametrize("middle", ["Relu", "Tanh"])
def test_a_graph_is_in_the_file(middle, tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    y = np.arange(40) % 4
    repaired = repair(two_layers(6, 4, middle=middle), X, y, exact_in="float32")
    save(repaired, tmp_path / "file")
    again = load(tmp_path / "file")
    assert again.repair_.model.graph.content == repaired.repair_.model.graph.content
    assert (again.predict(X) == y).all()


def test_another_model_is_found_out(tmp_path) -> None:
    X, y = moons()
    model = tree(X, y)
    save(repair(model, X, y), tmp_path / "file")
    with pytest.raises(ModelFileError, match="pass model="):
        load(tmp_path / "file")
    other = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    with pytest.raises(ModelFileError, match="recorded points in another way"):
        load(tmp_path / "file", model=other)
    save(repair(LogisticRegression().fit(X, y), X, y), tmp_path / "whole")
    with pytest.raises(ModelFileError, match="without model="):
        load(tmp_path / "whole", model=model)


def rewritten(path, change) -> None:
    """The file as someone leaves it who knows about digests."""
    header, tensors = container.read_container(path)
    tensors = {name: unpacked(name, tensor) for name, tensor in tensors.items()}
    change(header, tensors)
    tensors = {name: packed(name, np.ascontiguousarray(tensor)) for name, tensor in tensors.items()}
    header["tensors"] = {name: container.tensor_facts(tensor) for name, tensor in tensors.items()}
    with contextlib.suppress(Exception):
        own = {name.removeprefix("network."): unpacked(name, tensor) for name, tensor in tensors.items()}
        digest = SwitchedNetwork.from_parts(header["network"], own).digest
        header["network_digest"] = header["certificate"]["network_digest"] = digest
    container.write_container(path, header, tensors)


FORGERIES = {
    "model": put("model", "pickle"),
    "chain": put("model", "chain"),
    "history": put("history", [{"first_row": 0, "n_rows": 5, "added": [], "lowered": [], "dropped": []}]),
    "history rows": put("history", 0, "first_row", 7),
    "history type": put("history", 0, "added", [1.5]),
    "history length": put("history", 0, "lowered", 3),
    "reach": put("parameters", "reach", 7),
    "patches": put("parameters", "patches", "cube"),
    "classes": put("parameters", "classes", ["no"]),
    "data": put("data_digest", 3),
    "answers": swap("repair.answers", lambda a: a + 2),
    "other answers": swap("repair.answers", lambda a: 1 - a),
    "targets": swap("repair.targets", lambda a: a[::-1].copy()),
    "anchors": swap("repair.anchors", lambda a: a - 500),
    "changes": swap("repair.changes", lambda a: a + 1),
    "claims": swap("repair.claim_patches", lambda a: a[:-1]),
    "radii": swap("repair.fires_within", lambda a: -a - 1),
    "probes": swap("repair.probes", lambda a: a[:, :1]),
    "nan": swap("repair.probes", lambda a: a * np.nan),
    "probe rows": swap("repair.probe_rows", lambda a: a + 1000),
    "outputs": swap("network.patches.layers.1.weights.words", lambda a: a * 0),
    "units": swap("network.patches.layers.0.bias", lambda a: a[:-1]),
    "decoder": put("network", "patches", "decoder", "kind", "sign"),
    "input map": put("network", "patches", "input_map", "identity"),
    "certificate": put("certificate", "answers_digest", "0" * 64),
    "certificate rows": put("certificate", "n_samples", 7),
    "labels": put("classes", "values", ["no", "no"]),
    "names": put("feature_names", ["one"]),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = moons()
    model, path = tree(X, y), tmp_path_factory.mktemp("saved") / "file"
    save(repair(model, X, y), path)
    return model, path.read_bytes()


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_forged_files_are_refused(change, saved, tmp_path) -> None:
    model, octets = saved
    (tmp_path / "file").write_bytes(octets)
    assert load(tmp_path / "file", model=model).n_patches_ > 0
    rewritten(tmp_path / "file", change)
    with pytest.raises(ModelFileError):
        load(tmp_path / "file", model=model)
