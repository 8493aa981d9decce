"""Whatever a file holds that ``save`` did not write, ``load`` refuses it with one kind of error."""

from __future__ import annotations

import copy
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from constructors import OWN
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from saved_models import NETWORKS, fitted

from exactfit import ModelFileError, Network, load, save
from exactfit.construct import Construction, Trace
from exactfit.outcome import Outcome
from exactfit.persistence import container
from exactfit.persistence.saving import STANDARD


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models") / "m"


@pytest.fixture(scope="module")
def small(path: Path) -> bytes:
    """The bytes of a small classifier's file."""
    save(fitted(np.array([[0.0], [1.0], [2.0]]), ["a", "b", "ö"], width=3), path)
    return path.read_bytes()


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


@pytest.mark.parametrize("flip", [0x01, 0x29, 0x80])
def test_every_changed_byte_is_found(flip: int, small: bytes, path: Path) -> None:
    """0x29 turns a space into a tab: the same JSON, and still not the same file."""
    for position in range(len(small)):
        changed = bytearray(small)
        changed[position] ^= flip
        message = refused(path, bytes(changed))
        assert position < header_size(small) or "has changed" in message


def test_every_cut_is_found(small: bytes, path: Path) -> None:
    for size in range(len(small)):
        refused(path, small[:size])


def test_bytes_put_in_or_taken_out_are_found(small: bytes, path: Path) -> None:
    for position in range(0, len(small), 7):
        for byte in (b"\0", b" "):
            refused(path, small[:position] + byte + small[position:])
        refused(path, small[:position] + small[position + 1 :])


@pytest.mark.parametrize("tail", [b"\0", b" ", b"\n", b"garbage" * 100])
def test_bytes_after_the_end_are_found(tail: bytes, small: bytes, path: Path) -> None:
    refused(path, small + tail)
    refused(path, small[: header_size(small)] + tail)


@given(garbage=st.binary(max_size=400))
def test_garbage_is_refused(garbage: bytes, small: bytes, path: Path) -> None:
    size = header_size(small)
    refused(path, garbage)
    refused(path, len(garbage).to_bytes(8, "little") + garbage)
    refused(path, small[:size] + garbage)
    refused(path, small[: size // 2] + garbage + small[size:])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(plain=JSON, text=st.text(max_size=30))
def test_other_json_is_refused(plain: Any, text: str, path: Path) -> None:
    for inner in (text, json.dumps(plain), json.dumps({"format": 1, "saved_with": plain, "tensors": plain})):
        for outer in (plain, {"__metadata__": plain}, {"__metadata__": {"exactfit": inner}, "x": plain}):
            octets = json.dumps(outer).encode()
            refused(path, len(octets).to_bytes(8, "little") + octets)


class Bomb:
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, ("exploded",)


def test_a_pickle_is_not_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert "not a model that exactfit saved" in refused(path, pickle.dumps(Bomb(), protocol))
    assert os.listdir(path.parent) == ["m"]


def test_foreign_files_are_told_apart(path: Path, small: bytes) -> None:
    tensors = {"a": np.zeros(3)}
    assert "it is empty" in refused(path, b"")
    assert "nor any other safetensors file" in refused(path, b"some text in a file\n")
    assert "not a model that exactfit saved" in refused(path, safetensors.numpy.save(tensors))
    notes = {"format": "pt"}
    assert "not a model that exactfit saved" in refused(path, safetensors.numpy.save(tensors, notes))
    assert "cut off" in refused(path, small[:100])
    with pytest.raises(ModelFileError, match="it is a folder"):
        load(path.parent)
    with pytest.raises(FileNotFoundError):
        load(path.parent / "nothing")


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_is_refused(depth: int, path: Path) -> None:
    deep = "[" * depth + "]" * depth
    for octets in (deep.encode(), json.dumps({"__metadata__": {"exactfit": deep}}).encode()):
        refused(path, len(octets).to_bytes(8, "little") + octets)


# Reading what was never written: the digests are right, the contents are not.


Plain = dict[str, Any]
Forge = Callable[[Plain, Plain], Any]


def network_digest(header: Plain, tensors: Plain) -> str | None:
    own = {name.removeprefix("network."): tensor for name, tensor in tensors.items()}
    try:
        return Network.from_parts(header["network"], own, lambda name: STANDARD.get(name, OWN)).digest
    except Exception:
        return None


def forged(octets: bytes, path: Path, change: Forge) -> str:
    """What ``load`` says of a file that was changed by someone who knows about digests."""
    path.write_bytes(octets)
    header, tensors = container.read_model(path)
    before = network_digest(header, tensors)
    change(header, tensors)
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    if "tensors" in header:
        header["tensors"] = {name: container.facts(tensor) for name, tensor in tensors.items()}
    after = network_digest(header, tensors)
    if after not in (None, before):
        header["network_digest"] = after
        header.get("certificate", {})["network_digest"] = after
    container.write_model(path, header, tensors)
    return refused(path, path.read_bytes())


def test_a_newer_file_asks_for_an_upgrade(small: bytes, path: Path) -> None:
    def newer(header: Plain, _: Any) -> None:
        header["format"] = 2
        header["saved_with"]["versions"]["exactfit"] = "7.1"

    message = forged(small, path, newer)
    assert "exactfit 7.1 wrote it in format 2" in message
    assert "upgrade exactfit" in message
    assert "upgrade exactfit" in forged(small, path, lambda h, _: (h.clear(), h.update(format=10**30)))


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


W0, W1, W2 = (f"network.layers.{k}.weights." for k in range(3))
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
    "errors": swap("certificate.errors", lambda rows: [10**6]),
    "negative errors": swap("certificate.errors", lambda rows: [-1]),
    "short errors": swap("certificate.errors", lambda rows: rows.astype(np.int32)),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_was_never_written_is_refused(name: str, small: bytes, path: Path) -> None:
    forged(small, path, FORGERIES[name])


SPARSE, INTEGERS = f"{W0}indices", f"{W0}text"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sparse", swap(SPARSE, lambda rows: rows + 10**9)),
        ("sparse", swap(SPARSE, lambda rows: -rows)),
        ("sparse", swap(f"{W0}indptr", lambda ends: ends * 5)),
        ("sparse", swap(f"{W0}shape", lambda shape: [1])),
        ("sparse", swap(f"{W0}shape", lambda shape: [2**40, 2**40])),
        ("sparse", swap(f"{W0}shape", lambda shape: [-1, 3])),
        ("sparse", swap(f"{W0}data", lambda data: data * np.inf)),
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
    ],
)
def test_what_no_network_is_is_refused(name: str, change: Forge, path: Path) -> None:
    save(NETWORKS[name](), path)
    forged((path).read_bytes(), path, change)


def test_a_trace_of_unknown_classes_is_refused(path: Path) -> None:
    one = np.zeros(1, dtype=np.int64)
    save(Construction(NETWORKS["dense"](), Outcome.INTERPOLATES, Trace(one, one, one, one)), path)
    message = forged(path.read_bytes(), path, swap("trace.detector_classes", lambda codes: codes + 2))
    assert "detectors for a class that its network does not know" in message


def test_a_tensor_that_is_not_listed_is_refused(path: Path) -> None:
    save(NETWORKS["dense"](), path)
    header, tensors = container.read_model(path)
    container.write_model(path, header, tensors | {"extra": np.zeros(3)})
    assert "does not hold the tensors that it lists" in refused(path, path.read_bytes())


def test_more_in_the_safetensors_header_is_refused(small: bytes, path: Path) -> None:
    size = header_size(small)
    plain = json.loads(small[8:size])
    for change in (
        lambda outer: outer["__metadata__"].update(more="x"),
        lambda outer: outer["trace.anchors"].update(more="x"),
        lambda outer: outer["__metadata__"].update(exactfit=" " + outer["__metadata__"]["exactfit"]),
    ):
        outer = copy.deepcopy(plain)
        change(outer)
        octets = json.dumps(outer, separators=(",", ":"), ensure_ascii=False).encode()
        octets += b" " * (-len(octets) % 8)
        refused(path, len(octets).to_bytes(8, "little") + octets + small[size:])
