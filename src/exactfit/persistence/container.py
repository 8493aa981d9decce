"""The file: a header that is JSON and some tensors, to bytes and back."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from .._support.processes import write_atomically
from .._support.threads import usable_memory
from .._version import __version__
from ..exceptions import ModelFileError, ParameterError

Header = dict[str, Any]
Tensors = dict[str, NDArray[Any]]

FORMAT = 4  # of the file; a program reads all formats up to its own
KEY = "exactfit"
FOREIGN = "not a model that exactfit saved"
LARGEST_HEADER = 2**25  # bytes: a million names or labels; reading a forged one of this size takes seconds, not minutes
# How every header begins, as safetensors writes it: another one is refused before it is read to its end.
BEGINNING = b'{"__metadata__":{"exactfit":"{'

# What parts that do not fit raise on the way. Not MemoryError: sizes are checked before they are used.
MISFITS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def refuse_unless(fine: bool, reason: str) -> None:
    """Refuse a file; the reason goes on from "cannot load ...:"."""
    if not fine:
        raise ModelFileError(reason)


def canonical(plain: Any) -> str:
    """Return the one text that we write for something that JSON can hold."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_item)


def _item(scalar: Any) -> Any:
    if isinstance(scalar, np.generic):
        return scalar.item()
    raise TypeError(f"something of type {type(scalar).__name__} cannot be kept in a file")


def little_endian(tensor: NDArray[Any]) -> NDArray[Any]:
    """Return a tensor as a file has it, little-endian and contiguous."""
    return np.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<"), copy=False)


def tensor_facts(tensor: NDArray[Any]) -> Header:
    """Return the facts about a tensor that a header holds."""
    little = little_endian(tensor)
    content = little.data if little.size else b""
    return {"dtype": little.dtype.str, "shape": list(little.shape), "sha256": hashlib.sha256(content).hexdigest()}


def _digest(header: Header) -> str:
    return hashlib.sha256(canonical(header).encode()).hexdigest()


def write_container(path: Path, header: Header, tensors: Tensors) -> None:
    """Write a file aside, then put it in place; on any failure nothing is left behind."""
    raw = safetensors.numpy.save(tensors, {KEY: canonical({**header, "digest": _digest(header)})})
    if int.from_bytes(raw[:8], "little") > LARGEST_HEADER:
        raise ParameterError("this model cannot be saved: its labels and feature names are longer than a header may be")
    write_atomically(path, raw, "the model")


def read_container(path: Path) -> tuple[Header, Tensors]:
    """Header (without its digest) and tensors of a file that is as it was written."""
    refuse_unless(not path.is_dir(), "it is a folder")
    # A pipe would keep us waiting.
    refuse_unless(not path.exists() or path.is_file(), "it is no ordinary file")
    with path.open("rb") as file:
        header = _read_header(file)
        size, most = file.seek(0, os.SEEK_END), usable_memory() // 2  # the file, and the model of it
        refuse_unless(size <= most, f"it takes {size:,} bytes, and no more than {most:,} can be read here")
        file.seek(0)
        raw = file.read()
    try:
        tensors = safetensors.numpy.load(raw)
    except (SafetensorError, *MISFITS) as error:
        raise ModelFileError(f"it is damaged or cut off: {error}") from error
    refuse_unless(tensors.keys() == header["tensors"].keys(), "it does not hold the tensors that it lists")
    for name, tensor in tensors.items():
        refuse_unless(tensor_facts(tensor) == header["tensors"][name], f"it is damaged: tensor {name!r} has changed")
    return header, tensors


def _read_header(file: BinaryIO) -> Header:
    raw = _read_bytes(file)
    outer = _parse(raw, f"it is damaged, or {FOREIGN}: its header is not JSON")
    notes = outer.pop("__metadata__", None)
    text = notes.get(KEY) if isinstance(notes, dict) else None
    refuse_unless(isinstance(text, str), f"it is {FOREIGN}")
    header = _parse(str(text).encode(), "it is damaged: its header is not JSON")
    # Before anything that a newer format may do in another way.
    _refuse_newer(header)
    # The outer header is what safetensors writes around our text, byte for byte; the text is canonical, and has the
    # digest of all else.
    layout = json.dumps({"__metadata__": {KEY: text}, **outer}, separators=(",", ":"), ensure_ascii=False).encode()
    known = all(entry.keys() == {"dtype", "shape", "data_offsets"} for entry in outer.values())
    same = known and raw == layout + b" " * (-len(layout) % 8) and canonical(header) == text
    same = same and header.pop("digest", None) == _digest(header)
    refuse_unless(same, "it is damaged or edited: its header does not match its digest")
    return header


def _read_bytes(file: BinaryIO) -> bytes:
    """Return the header of a safetensors file."""
    start = file.read(8)
    refuse_unless(len(start) > 0, "it is empty")
    size = int.from_bytes(start, "little")
    refuse_unless(len(start) == 8 and size <= LARGEST_HEADER, f"it is {FOREIGN}, nor any other safetensors file")
    raw = file.read(min(size, len(BEGINNING)))
    # Any other beginning is left to fail on its first bytes, however long the header claims to be.
    if raw == BEGINNING:
        raw += file.read(size - len(raw))
        refuse_unless(len(raw) == size, f"it is cut off, or {FOREIGN}")
    return raw


def _parse(raw: bytes, otherwise: str) -> Header:
    try:
        plain = json.loads(raw.decode())
    except MISFITS as error:
        raise ModelFileError(otherwise) from error
    refuse_unless(isinstance(plain, dict), otherwise)
    return dict(plain)


def _refuse_newer(header: Header) -> None:
    version, saved = header.get("format"), header.get("saved_with")
    if type(version) is not int or version < 1:
        raise ModelFileError("it is damaged: its header names no format")
    if version > FORMAT:
        versions = saved.get("versions") if isinstance(saved, dict) else None
        writer = versions.get("exactfit") if isinstance(versions, dict) else "of a later version"
        raise ModelFileError(
            f"exactfit {writer} wrote it in format {version}, and exactfit {__version__} reads up to format {FORMAT}: "
            "upgrade exactfit"
        )


def under(prefix: str, tensors: Tensors) -> dict[str, Any]:
    """Return the tensors whose names begin with a prefix, by what follows it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def is_generator(random_state: Any) -> bool:
    """Whether a random_state is a running generator, whose state is no option that a file could keep."""
    return isinstance(random_state, np.random.RandomState | np.random.Generator)
