"""Model files that ``save`` never wrote, and what ``load`` says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from constructors import OWN
from numpy.typing import NDArray
from saved_models import fitted

from exactfit import InterpolatingClassifier, ModelFileError, Network, TableModel, load, save
from exactfit.network.network import SwitchedNetwork
from exactfit.persistence import container
from exactfit.persistence.packing import packed, unpacked
from exactfit.persistence.saving import STANDARD


def refused(path: Path, octets: bytes) -> str:
    """What ``load`` says of these bytes."""
    path.touch()
    with path.open("r+b") as file:  # emptying a file thousands of times makes some file systems wait for the disk
        file.write(octets)
        file.truncate()
    with pytest.raises(ModelFileError, match="cannot load") as caught:
        load(path, activations=[OWN])
    return str(caught.value)


def header_size(octets: bytes) -> int:
    return 8 + int.from_bytes(octets[:8], "little")


# Reading what was never written: the digests are right, the contents are not.


Plain = dict[str, Any]


Forge = Callable[[Plain, Plain], Any]


def network_digest(header: Plain, tensors: Plain) -> str | None:
    own = {name.removeprefix("network."): unpacked(name, tensor) for name, tensor in tensors.items()}
    try:
        if header["kind"] == "repaired":
            return SwitchedNetwork.from_parts(header["network"], own).digest
        return Network.from_parts(header["network"], own, lambda name: STANDARD.get(name, OWN)).digest
    except Exception:
        return None


def forged(octets: bytes, path: Path, change: Forge, repacked: bool = True) -> str:
    """What ``load`` says of a file that was changed by someone who knows about digests, and how tensors are packed."""
    path.write_bytes(octets)
    header, tensors = container.read_container(path)
    before = network_digest(header, tensors)
    if repacked:
        tensors = {name: unpacked(name, tensor) for name, tensor in tensors.items()}
    change(header, tensors)
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    if repacked:
        tensors = {name: packed(name, tensor) for name, tensor in tensors.items()}
    if "tensors" in header:
        header["tensors"] = {name: container.tensor_facts(tensor) for name, tensor in tensors.items()}
    after = network_digest(header, tensors)
    if after not in (None, before):
        header["network_digest"] = after
        header.get("certificate", {})["network_digest"] = after
    container.write_container(path, header, tensors)
    return refused(path, path.read_bytes())


def put(*path: Any) -> Forge:
    """Put the last of the arguments where the others point to in the header."""
    *keys, last, value = path

    def change(header: Plain, _: Any) -> None:
        for key in keys:
            header = header[key]
        header[last] = value

    return change


def swap(name: str, change: Callable[[NDArray[Any]], Any]) -> Forge:
    """Change a tensor."""

    def forge(_: Any, tensors: Plain) -> None:
        tensors[name] = np.asarray(change(tensors[name].copy()))

    return forge


def drop(*path: Any) -> Forge:
    *keys, last = path

    def change(header: Plain, _: Any) -> None:
        for key in keys:
            header = header[key]
        del header[last]

    return change


def add_one(array: NDArray[Any]) -> NDArray[Any]:
    return array + np.ones_like(array)


def model_file(path: Path) -> bytes:
    """The bytes of a small classifier's file."""
    save(fitted(np.array([[0.0], [1.0], [2.0]]), ["a", "b", "ö"], width=3, hyperplanes="gaussian"), path)
    return path.read_bytes()


def table_file(path: Path) -> bytes:
    """The bytes of a small table model's file."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "c": ["u", "v", "u"], "y": ["a", "b", "ö"]})
    save(TableModel(InterpolatingClassifier(random_state=0)).fit(frame, label="y"), path)
    return path.read_bytes()


# What a classifier's file never held, and what those of other networks never did: ``NETWORKS`` has their names.

W0, W1, W2 = (f"network.layers.{k}.weights." for k in range(3))


TOLD = ("anchors", "witnesses", "coverage", "detector_classes")


def emptied(tensors: dict[str, Any], name: str) -> None:
    tensors[f"trace.{name}"] = tensors[f"trace.{name}"][:0]


def huge_class(header: Any, tensors: dict[str, Any], code: int) -> None:
    """The last class gets another number, and its detectors with it."""
    header["network"]["decoder"]["classes"][-1] = code
    classes = tensors["trace.detector_classes"]
    tensors["trace.detector_classes"] = np.where(classes == classes.max(), code, classes)


FORGERIES: dict[str, Forge] = {
    **{f"no {name}": drop(name) for name in ("kind", "network", "network_digest", "trace", "classes", "certificate")},
    **{f"no {name} either": drop(name) for name in ("parameters", "outcome", "feature_names", "saved_with", "tensors")},
    "no seed": drop("parameters", "random_state"),
    "no holds": drop("certificate", "holds"),
    "no draws": drop("trace", "n_drawn"),
    "no bias": drop("network", "layers", 0, "bias"),
    "unknown section": put("code", "print()"),
    "unknown parameter": put("parameters", "code", 1),
    "unknown kind": put("kind", "pipeline"),
    "kind of another shape": put("kind", "network"),
    "no version": put("saved_with", "versions", "exactfit", 3),
    "no versions": put("saved_with", "versions", None),
    "more circumstances": put("saved_with", "weather", "fine"),
    "activations of no use": put("saved_with", "activations", {"x": [1.0]}),
    "format": put("format", True),
    "old format": put("format", 0),
    "outcome": put("outcome", "triumph"),
    "other outcome": put("outcome", {}),
    "input map": put("network", "input_map", "eval"),
    "decoder": put("network", "decoder", "kind", "argmax"),
    "decoder of another kind": put("network", "decoder", "kind", "sign"),
    "class out of range": put("network", "decoder", "classes", [0, 1, 3]),
    "negative class": put("network", "decoder", "classes", [0, 1, -1]),
    "class twice": put("network", "decoder", "classes", [0, 1, 1]),
    "class that is no number": put("network", "decoder", "classes", ["0", "1", "2"]),
    "classes": put("network", "decoder", "classes", "012"),
    "levels": put("network", "decoder", "levels", ["0x1p0"]),
    "infinite levels": put("network", "decoder", "levels", ["inf"]),
    "layers": put("network", "layers", []),
    "layers that are none": put("network", "layers", "abc"),
    "weights": put("network", "layers", 0, "weights", "pickle"),
    "other weights": put("network", "layers", 0, "weights", "masks"),
    "activation": put("network", "layers", 0, "activation", "os.system"),
    "activation that is no name": put("network", "layers", 0, "activation", ["relu"]),
    "other activation": put("network", "layers", 0, "activation", "relu"),
    "no activation": put("network", "layers", 0, "activation", None),
    "bias": put("network", "layers", 0, "bias", "int64"),
    "bias of integers": put("network", "layers", 0, "bias", "integers"),
    "network digest": put("network_digest", "0" * 64),
    "labels": put("classes", "values", ["a", "b", "b"]),
    "two labels": put("classes", "values", ["a", "b"]),
    "labels of two types": put("classes", "values", ["a", "b", 3]),
    "objects of two types": put("classes", {"dtype": "|O", "values": ["a", "b", 3]}),
    "labels cut short": put("classes", "values", ["a", "b", "long"]),
    "labels in a text": put("classes", "values", "abö"),
    "label dtype": put("classes", "dtype", "<i8"),
    "unusable label dtype": put("classes", "dtype", "<i8,<i8"),
    "huge labels": put("classes", "dtype", "<U999999999"),
    "large labels": put("classes", {"dtype": "<U99999", "values": [str(k) for k in range(1000)]}),
    "labels beyond their type": put("classes", {"dtype": "|i1", "values": [1, 2, 300]}),
    "labels rounded": put("classes", {"dtype": "<f4", "values": [1.0, 2.0, 0.1]}),
    "feature names": put("feature_names", ["a", "b"]),
    "feature names in a text": put("feature_names", "a"),
    "feature name that is none": put("feature_names", [1]),
    "width": put("parameters", "width", -1),
    "minimal width": put("parameters", "min_width", [0]),
    "maximal width": put("parameters", "max_width", 0.5),
    "threads": put("parameters", "n_jobs", "all"),
    "target": put("parameters", "target", ["a"]),
    "own activation": put("parameters", "activation", "mine"),
    "seed": put("parameters", "random_state", -1),
    "parameters": put("parameters", ["width"]),
    "holds": put("certificate", "holds", 1),
    "sample count": put("certificate", "n_samples", -1),
    "more samples than numbers": put("certificate", "n_samples", 2**63),
    "error count": put("certificate", "n_errors", 17),
    "arithmetic": put("certificate", "arithmetic", "float16"),
    "proof": put("certificate", "proof", "by intimidation"),
    "slack": put("certificate", "slack", "large"),
    "certified network": put("certificate", "network_digest", "0" * 64),
    "note": put("certificate", "note", 3),
    "certificate": put("certificate", None),
    "drawn": put("trace", "n_drawn", -1),
    "drawn in part": put("trace", "n_drawn", 0.5),
    "trace": put("trace", {"anchors": [1]}),
    "more tensors": lambda _, tensors: tensors.update(extra=np.zeros(3)),
    "more tensors of the network": lambda _, tensors: tensors.update({f"{W0}more": np.zeros(3)}),
    "more of the trace": lambda _, tensors: tensors.update({"trace.more": np.zeros(3, dtype=np.int64)}),
    "no errors": lambda _, tensors: tensors.pop("certificate.errors"),
    "no anchors": lambda _, tensors: tensors.pop("trace.anchors"),
    "no words": lambda _, tensors: tensors.pop(f"{W1}words"),
    "no biases": lambda _, tensors: tensors.pop("network.layers.1.bias"),
    "NaN": swap(f"{W0}values", lambda values: values * np.nan),
    "infinite bias": swap("network.layers.0.bias", lambda bias: bias + np.inf),
    "half weights": swap(f"{W0}values", lambda values: values.astype(np.float16)),
    "integer weights": swap(f"{W0}values", lambda values: values.astype(np.int64)),
    "flat weights": swap(f"{W0}values", np.ravel),
    "cubic weights": swap(f"{W0}values", lambda values: values[:, :, None]),
    "no features": swap(f"{W0}values", lambda values: values[:, :0]),
    "fewer hyperplanes": swap(f"{W0}values", lambda values: values[:-1]),
    "padding": swap(f"{W1}words", lambda words: words | np.uint64(2**63)),
    "signed words": swap(f"{W1}words", lambda words: words.view(np.int64)),
    "more words": swap(f"{W1}words", lambda words: np.concatenate([words, words])),
    "more bits": swap(f"{W1}bits_sign", lambda meta: meta + np.array([1, 0])),
    "negative bits": swap(f"{W1}bits_sign", lambda meta: [-5, -1]),
    "many bits": swap(f"{W1}bits_sign", lambda meta: [2**62, -1]),
    "sign": swap(f"{W1}bits_sign", lambda meta: meta * [1, 2]),
    "other sign": swap(f"{W1}bits_sign", lambda meta: meta * [1, -1]),
    "three signs": swap(f"{W1}bits_sign", lambda meta: [*meta, 1]),
    "short meta": swap(f"{W1}bits_sign", lambda meta: meta.astype(np.int32)),
    "limit": swap("network.layers.1.bias", lambda bias: bias * 0),
    "real limit": swap("network.layers.1.bias", lambda bias: bias.astype(np.float64)),
    "output bias": swap("network.layers.2.bias", add_one),
    "claims": swap(f"{W2}words", lambda words: words[:, ::-1]),
    "claimed twice": swap(f"{W2}words", lambda words: words | words.max()),
    "anchors": swap("trace.anchors", lambda rows: rows - 99),
    "fewer anchors": swap("trace.anchors", lambda rows: rows[:-1]),
    "real anchors": swap("trace.anchors", lambda rows: rows.astype(np.float64)),
    "square anchors": swap("trace.anchors", lambda rows: rows[:, None]),
    "detector classes": swap("trace.detector_classes", add_one),
    "other detector classes": swap("trace.detector_classes", lambda codes: codes[::-1]),
    "class beyond int64": put("network", "decoder", "classes", [0, 1, 2**70]),
    "class beyond memory": lambda header, tensors: huge_class(header, tensors, 2**33),
    "anchors beyond the data": swap("trace.anchors", lambda rows: rows + 10**6),
    "witnesses beyond the data": swap("trace.witnesses", lambda rows: rows + 10**6),
    "uncovered beyond the data": swap("trace.uncovered", lambda rows: np.array([10**6])),
    "no anchors, empty": swap("trace.anchors", lambda rows: rows[:0]),
    "no witnesses, empty": swap("trace.witnesses", lambda rows: rows[:0]),
    "no coverage, empty": swap("trace.coverage", lambda rows: rows[:0]),
    "empty trace": lambda _, tensors: [emptied(tensors, name) for name in TOLD],
    "limit near the end of int64": swap("network.layers.1.bias", lambda bias: bias * 0 + (2**63 - 1)),
    "errors": swap("certificate.errors", lambda rows: [10**6]),
    "negative errors": swap("certificate.errors", lambda rows: [-1]),
    "short errors": swap("certificate.errors", lambda rows: rows.astype(np.int32)),
}


SPARSE, INTEGERS = f"{W0}indices", f"{W0}text"


def doubled(value: float) -> dict[str, Any]:
    """Entries at one place of a sparse layer, each of them finite."""
    parts = {"data": np.array([value, value]), "indices": np.array([1, 1]), "indptr": np.array([0, 2])}
    return {f"{W0}{name}": part for name, part in parts.items()}


NETWORK_FORGERIES: list[tuple[str, Forge]] = [
    ("sparse", swap(SPARSE, lambda rows: rows + 10**9)),
    ("sparse", swap(SPARSE, lambda rows: -rows)),
    ("sparse", swap(f"{W0}indptr", lambda ends: ends * 5)),
    ("sparse", swap(f"{W0}indptr", lambda ends: [0, -1])),
    ("sparse", swap(f"{W0}indptr", lambda ends: [1, 1])),
    ("sparse", swap(f"{W0}indptr", lambda ends: ends.astype(np.float64))),
    ("sparse", swap(f"{W0}data", lambda data: [data])),
    ("sparse", swap(f"{W0}shape", lambda shape: [1, 2**40])),
    ("sparse", swap(f"{W0}shape", lambda shape: [1])),
    ("sparse", swap(f"{W0}shape", lambda shape: [2**40, 2**40])),
    ("sparse", swap(f"{W0}shape", lambda shape: [-1, 3])),
    ("sparse", swap(f"{W0}data", lambda data: data * np.inf)),
    ("sparse", lambda _, tensors: tensors.update(doubled(1.7e308))),
    ("integers", put("network", "layers", 0, "activation", "squared_relu")),
    ("integers", put("network", "layers", 0, "bias", "float64")),
    ("masks", swap("network.layers.0.bias", lambda bias: bias * 0 + (2**63 - 1))),
    ("masks", swap(f"{W0}words", lambda words: words[:, :0])),
    ("dense", swap(f"{W0}values", lambda values: np.empty((0, 2**40)))),
    ("weighted", swap(f"{W1}values", lambda values: values.astype(np.int16))),
    ("weighted", swap(f"{W1}values", lambda values: values[:, :-1])),
    ("weighted", swap(f"{W1}values", lambda values: values[:, :, None])),
    ("weighted", swap(f"{W1}values", lambda values: values[:-1])),
    ("weighted", swap(f"{W1}sign", lambda sign: sign * 2)),
    ("weighted", swap(f"{W1}sign", lambda sign: sign[:0])),
    ("weighted", swap(f"{W1}sign", lambda sign: [2**63 - 1])),
    ("integers", swap(f"{W0}shape", lambda shape: [2**31, 2**31])),
    ("integers", swap(f"{W0}shape", lambda shape: [-1, 3])),
    ("integers", swap(INTEGERS, lambda text: text[:-2])),
    ("integers", swap(INTEGERS, lambda text: text.view(np.int8))),
    ("integers", swap(INTEGERS, lambda text: np.frombuffer(b"1 +2 0x3", dtype=np.uint8))),
    ("integers", swap(INTEGERS, lambda text: np.frombuffer(b"1 2 z", dtype=np.uint8))),
    ("integers", swap(INTEGERS, lambda text: text * np.uint8(255))),
    ("nearest", put("network", "decoder", "levels", ["nan", "0x1p0"])),
    ("nearest", put("network", "decoder", "levels", ["1.0", "2.0"])),
    ("nearest", put("network", "decoder", "levels", [1.0, 2.0])),
    ("nearest", put("network", "decoder", "classes", [])),
    ("dense", put("network", "input_map", "eval")),
    ("own", put("network", "layers", 0, "activation", "relu")),
    ("own", put("saved_with", "activations", {})),
    ("own", put("saved_with", "activations", {"squared_relu": [0.0001]})),
    ("own", put("saved_with", "activations", {"squared_relu": None})),
]


def first_two_equal(numbers: Any) -> Any:
    """The first index of the first row that has two comes twice there."""
    row = int(np.flatnonzero(np.diff(numbers[f"{W0}indptr"]) > 1)[0])
    start = int(numbers[f"{W0}indptr"][row])
    numbers[f"{W0}indices"][start + 1] = numbers[f"{W0}indices"][start]


def out_of_order(numbers: Any) -> Any:
    """The first row that has two entries holds them the other way round."""
    row = int(np.flatnonzero(np.diff(numbers[f"{W0}indptr"]) > 1)[0])
    start = int(numbers[f"{W0}indptr"][row])
    for name in ("indices", "data"):
        numbers[f"{W0}{name}"][start : start + 2] = numbers[f"{W0}{name}"][start : start + 2][::-1]


SPARSE_FORGERIES: dict[str, Forge] = {
    "feature beyond the points": swap(f"{W0}indices", lambda places: places + 3),
    "feature below zero": swap(f"{W0}indices", lambda places: places - 1),
    "feature twice": lambda _, tensors: first_two_equal(tensors),
    "features out of order": lambda _, tensors: out_of_order(tensors),
    "fewer features": swap(f"{W0}indices", lambda places: places[:-1]),
    "fewer weights": swap(f"{W0}data", lambda weights: weights[:-1]),
    "starts that fall": swap(f"{W0}indptr", lambda starts: starts[::-1]),
    "starts that do not begin": swap(f"{W0}indptr", lambda starts: np.maximum(starts, 1)),
    "starts that do not end": swap(f"{W0}indptr", lambda starts: np.minimum(starts, 5)),
    "fewer starts": swap(f"{W0}indptr", lambda starts: starts[:-1]),
    "NaN": swap(f"{W0}data", lambda weights: weights * np.nan),
    "infinite": swap(f"{W0}data", lambda weights: weights * np.inf),
    "half weights": swap(f"{W0}data", lambda weights: weights.astype(np.float16)),
    "integer weights": swap(f"{W0}data", lambda weights: weights.astype(np.int32)),
    "square weights": swap(f"{W0}data", lambda weights: weights[None]),
    "square features": swap(f"{W0}indices", lambda places: places[None]),
    "real features": swap(f"{W0}indices", lambda places: places.astype(np.float64)),
    "more hyperplanes": swap(f"{W0}shape", lambda shape: shape + np.array([1, 0])),
    "hyperplanes beyond memory": swap(f"{W0}shape", lambda shape: [2**62, 3]),
    "more features": swap(f"{W0}shape", lambda shape: [70, 2**40]),
    "short shape": swap(f"{W0}shape", lambda shape: shape.astype(np.uint8)),
    "infinite bias": swap("network.layers.0.bias", lambda bias: bias * np.inf),
    "max_features": put("parameters", "max_features", 0),
    "max_features turned round": put("parameters", "max_features", [3, 2]),
    "max_features that is none": put("parameters", "max_features", "4"),
    "three max_features": put("parameters", "max_features", [1, 2, 3]),
}

# Ways of packing that are not the one way; these are not packed anew.
PACKINGS: dict[str, Forge] = {
    "weights as they are in memory": swap(f"{W0}data", lambda weights: weights.astype(np.float32)),
    "weights in two bytes": swap(f"{W0}data", lambda weights: weights.astype(np.int16)),
    "weights without a sign": swap(f"{W0}data", lambda weights: np.abs(weights).astype(np.uint8)),
    "features as they are in memory": swap(f"{W0}indices", lambda places: places.astype(np.int64)),
    "features in two bytes": swap(f"{W0}indices", lambda places: places.astype(np.uint16)),
    "features with a sign": swap(f"{W0}indices", lambda places: places.astype(np.int8)),
    "starts in four bytes": swap(f"{W0}indptr", lambda starts: starts.astype(np.uint32)),
    "features in eight bytes without a sign": swap(f"{W0}indices", lambda places: places.astype(np.uint64)),
    "bias in one byte": swap("network.layers.1.bias", lambda bias: bias.astype(np.int8)),
    "rows as they are in memory": swap("trace.support", lambda rows: rows.astype(np.int64)),
    "errors as they are in memory": swap("certificate.errors", lambda rows: rows.astype(np.int64)),
    "errors in two bytes": swap("certificate.errors", lambda rows: rows.astype(np.int16)),
}
