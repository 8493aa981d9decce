"""Whatever bytes ``save`` did not write, ``load`` refuses with one kind of error."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from helpers.attacks import Plain, forged, header_size, refused, table_file
from helpers.networks import CLASSIFIERS, NETWORKS
from hypothesis import given
from hypothesis import strategies as st

from exactfit import ModelFileError, load, save
from exactfit.persistence import container


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


def test_a_long_header_is_refused_before_it_is_read(path: Path) -> None:
    with path.open("wb") as file:  # 91 MB that are nowhere on the disk
        file.write((91_000_000).to_bytes(8, "little") + container.BEGINNING)
        file.truncate(91_000_008)
    with pytest.raises(ModelFileError, match="nor any other safetensors file"):
        load(path)
    path.unlink()


def test_a_file_larger_than_memory_is_refused_before_it_is_read(
    small: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "usable_memory", lambda: 2 * len(small) - 2)
    assert "no more than" in refused(path, small)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="no ordinary file"):
        load(tmp_path / "pipe")


def test_a_newer_file_asks_for_an_upgrade(small: bytes, path: Path) -> None:
    def newer(header: Plain, _: Any) -> None:
        header["format"] = container.FORMAT + 1
        header["saved_with"]["versions"]["exactfit"] = "7.1"

    message = forged(small, path, newer)
    assert f"exactfit 7.1 wrote it in format {container.FORMAT + 1}" in message
    assert "upgrade exactfit" in message
    assert "upgrade exactfit" in forged(small, path, lambda h, _: (h.clear(), h.update(format=10**30)))


def test_a_tensor_that_is_not_listed_is_refused(path: Path) -> None:
    save(NETWORKS["dense"](), path)
    header, tensors = container.read_container(path)
    container.write_container(path, header, tensors | {"extra": np.zeros(3)})
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


@pytest.fixture(scope="module")
def small_table(path: Path) -> bytes:
    """The bytes of a small table model's file."""
    return table_file(path)


def test_damage_to_the_file_of_a_table_is_found(small_table: bytes, path: Path) -> None:
    for position in range(0, len(small_table), 3):
        changed = bytearray(small_table)
        changed[position] ^= 0x01
        message = refused(path, bytes(changed))
        assert position < header_size(small_table) or "has changed" in message
    for size in range(0, len(small_table), 31):
        refused(path, small_table[:size])
