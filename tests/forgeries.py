"""Model files that ``save`` never wrote, and what ``load`` says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from constructors import OWN
from numpy.typing import NDArray
from saved_models import fitted

from exactfit import InterpolatingClassifier, ModelFileError, Network, TableModel, load, save
from exactfit.network.parts import SwitchedNetwork
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
    save(fitted(np.array([[0.0], [1.0], [2.0]]), ["a", "b", "ö"], width=3), path)
    return path.read_bytes()


def table_file(path: Path) -> bytes:
    """The bytes of a small table model's file."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "c": ["u", "v", "u"], "y": ["a", "b", "ö"]})
    save(TableModel(InterpolatingClassifier(random_state=0)).fit(frame, label="y"), path)
    return path.read_bytes()
