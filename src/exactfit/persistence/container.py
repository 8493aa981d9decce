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
Tensor = NDArray[Any]
Tensors = dict[str, Tensor]

FORMAT = 4  # of the file; a program reads all formats up to its own
PACKED, CODED = 3, 4  # the first formats whose tensors are packed, and whose long lists are bytes
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


# ---- Header and tensors as bytes ---------------------------------------------------------------------------


def canonical(plain: Any) -> str:
    """Return the one text that we write for something that JSON can hold."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_item)


def _item(scalar: Any) -> Any:
    if isinstance(scalar, np.generic):
        return scalar.item()
    raise TypeError(f"something of type {type(scalar).__name__} cannot be kept in a file")


def little_endian(tensor: Tensor) -> Tensor:
    """Return a tensor as a file has it, little-endian and contiguous."""
    return np.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<"), copy=False)


def tensor_facts(tensor: Tensor) -> Header:
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
    """Return header (without its digest) and tensors of a file that is as it was written."""
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
    start = file.read(8)
    refuse_unless(len(start) > 0, "it is empty")
    size = int.from_bytes(start, "little")
    refuse_unless(len(start) == 8 and size <= LARGEST_HEADER, f"it is {FOREIGN}, nor any other safetensors file")
    raw = file.read(min(size, len(BEGINNING)))
    # Any other beginning is left to fail on its first bytes, however long the header claims to be.
    if raw == BEGINNING:
        raw += file.read(size - len(raw))
        refuse_unless(len(raw) == size, f"it is cut off, or {FOREIGN}")
    outer = _parse(raw, f"it is damaged, or {FOREIGN}: its header is not JSON")
    notes = outer.pop("__metadata__", None)
    text = notes.get(KEY) if isinstance(notes, dict) else None
    refuse_unless(isinstance(text, str), f"it is {FOREIGN}")
    header = _parse(str(text).encode(), "it is damaged: its header is not JSON")
    # Before anything that a newer format may do in another way.
    form, saved = header.get("format"), header.get("saved_with")
    if type(form) is not int or form < 1:
        raise ModelFileError("it is damaged: its header names no format")
    if form > FORMAT:
        versions = saved.get("versions") if isinstance(saved, dict) else None
        writer = versions.get("exactfit") if isinstance(versions, dict) else "of a later version"
        raise ModelFileError(
            f"exactfit {writer} wrote it in format {form}, and exactfit {__version__} reads up to format {FORMAT}: "
            "upgrade exactfit"
        )
    # The outer header is what safetensors writes around our text, byte for byte; the text is canonical, and has the
    # digest of all else.
    layout = json.dumps({"__metadata__": {KEY: text}, **outer}, separators=(",", ":"), ensure_ascii=False).encode()
    known = all(entry.keys() == {"dtype", "shape", "data_offsets"} for entry in outer.values())
    same = known and raw == layout + b" " * (-len(layout) % 8) and canonical(header) == text
    same = same and header.pop("digest", None) == _digest(header)
    refuse_unless(same, "it is damaged or edited: its header does not match its digest")
    return header


def _parse(raw: bytes, otherwise: str) -> Header:
    try:
        plain = json.loads(raw.decode())
    except MISFITS as error:
        raise ModelFileError(otherwise) from error
    refuse_unless(isinstance(plain, dict), otherwise)
    return dict(plain)


# ---- Tensors in few bytes ----------------------------------------------------------------------------------
# In memory, and for digests of networks, rows and indices are int64 and sparse weights float32 or float64. In a file
# lists of integers take the smallest type that holds them all; so do float32 weights of sparse layers if they are
# integers, as those of sparse hyperplanes are. The longest lists are bytes instead: seven bits of a number at a time.
# There is one way only to pack a tensor, so a file that holds it in any other is refused.

LISTS = ("certificate.", "construction.", "repair.", "table.", "trace.")  # sections whose integers are int64
INDICES = (".weights.indices", ".weights.indptr")  # of sparse layers: int64 as well
WEIGHTS = ".weights.data"  # of sparse layers: float32 where they are packed
SMALL = tuple(np.dtype(name) for name in ("<u1", "<i1", "<u2", "<i2", "<u4", "<i4"))
SMALL_WEIGHTS = tuple(np.dtype(name) for name in ("<i1", "<i2"))
# Lists of bytes: those that mostly ascend by little are differences between neighbours, from zero on.
DIFFERENCES = (*INDICES, "trace.support")
BYTES = (*DIFFERENCES, "trace.shares")
LONGEST = 10  # bytes of a 64-bit number


def packed(name: str, tensor: Tensor, form: int = FORMAT) -> Tensor:
    """Return a tensor as a file of a format has it."""
    if form < PACKED:
        return tensor
    if form >= CODED and name.endswith(BYTES) and tensor.dtype == np.int64 and tensor.ndim == 1:
        return to_bytes(np.diff(tensor, prepend=0) if name.endswith(DIFFERENCES) else tensor)
    kinds: tuple[np.dtype[Any], ...] = ()
    if name.startswith(LISTS) or name.endswith(INDICES):
        kinds = SMALL if tensor.dtype == np.int64 else ()
    elif name.endswith(WEIGHTS) and tensor.dtype == np.float32 and np.isfinite(tensor).all():
        kinds = SMALL_WEIGHTS
    low, high = (tensor.min(initial=0), tensor.max(initial=0)) if kinds else (0, 0)
    for kind in kinds:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            short = tensor.astype(kind)
            # Bytes, not values: -0.0 would come back as 0.0, and 0.5 not at all.
            return short if short.astype(tensor.dtype).tobytes() == tensor.tobytes() else tensor
    return tensor


def unpacked(name: str, tensor: Tensor, form: int = FORMAT) -> Tensor:
    """Return a tensor of a file of a format as it is in memory."""
    if form >= CODED and name.endswith(BYTES) and tensor.dtype == np.uint8 and tensor.ndim == 1:
        numbers = from_bytes(tensor)
        return np.cumsum(numbers) if name.endswith(DIFFERENCES) else numbers
    if form >= PACKED and (name.startswith(LISTS) or name.endswith(INDICES)) and tensor.dtype in SMALL:
        return tensor.astype(np.int64)
    if form >= PACKED and name.endswith(WEIGHTS) and tensor.dtype in SMALL_WEIGHTS:
        return tensor.astype(np.float32)
    return tensor


def to_bytes(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return numbers in as few groups of seven bits as each needs; the eighth bit is set in all but its last."""
    # 0, -1, 1, -2, ... as 0, 1, 2, 3, ...: a negative number is as short as a positive one.
    codes = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    n_groups = max(1, -(-int(codes.max(initial=0)).bit_length() // 7))
    groups = codes[:, None] >> np.arange(0, 7 * n_groups, 7, dtype=np.uint64)
    is_kept, goes_on = groups > 0, np.zeros(groups.shape, dtype=np.uint8)
    is_kept[:, 0] = True
    goes_on[:, :-1] = is_kept[:, 1:]
    return (groups.astype(np.uint8) & np.uint8(127) | goes_on << np.uint8(7))[is_kept]


def from_bytes(coded: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the numbers of :func:`to_bytes`."""
    ends = np.flatnonzero(coded < 128) + 1
    starts = np.append(0, ends)[:-1]
    sizes = ends - starts
    complete = sizes.sum() == len(coded) and sizes.max(initial=0) <= LONGEST
    refuse_unless(bool(complete), "a list of its numbers is cut off")
    if not len(coded):
        return np.empty(0, dtype=np.int64)
    shifts = 7 * (np.arange(len(coded)) - np.repeat(starts, sizes))
    codes = np.add.reduceat((coded & 127).astype(np.uint64) << shifts.astype(np.uint64), starts)
    return (codes >> 1).view(np.int64) ^ -(codes & 1).view(np.int64)
