"""Sections of a header that classifiers and repaired models share: labels, certificate, names of features."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate import Certificate
from ..certificate.record import ROW_LISTS
from .container import Header, Tensors, refuse_unless

LABEL_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|U[0-9]{1,5}|O)")
LABEL_TYPES: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}
LARGEST_LABELS = 2**28  # bytes of all labels, so that a small file cannot ask for more memory than there is


def encode_fitted(model: Any) -> tuple[Header, Tensors]:
    """What every fitted classifier has beside its network."""
    certificate, tensors = model.certificate_.to_dict(), {}
    for name in ROW_LISTS:
        rows = np.asarray(certificate.pop(name), dtype=np.int64)
        if name == "errors" or len(rows):  # a file without the others is one where there are none
            tensors[f"certificate.{name}"] = rows
    names = getattr(model, "feature_names_in_", None)
    header = {
        "certificate": certificate,
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "feature_names": None if names is None else list(names),
    }
    return header, tensors


def decode_certificate(header: Header, tensors: Tensors) -> Certificate:
    """The certificate of a file."""
    return Certificate.from_dict({**header["certificate"], **under("certificate.", tensors)})


def decode_labels(dtype: str, values: list[Any]) -> NDArray[Any]:
    """Labels by class index."""
    refuse_unless(LABEL_DTYPE.fullmatch(dtype) is not None, f"labels of dtype {dtype!r} cannot be kept in a file")
    kind, size = LABEL_TYPES[dtype[1]], np.dtype(dtype).itemsize
    refuse_unless(all(type(value) is kind for value in values), f"not all its labels are of type {kind.__name__}")
    refuse_unless(2 <= len(set(values)) == len(values), "its labels are not distinct")
    refuse_unless(size * len(values) <= LARGEST_LABELS, "its labels are too long")
    return np.array(values, dtype=dtype)


def under(prefix: str, tensors: Tensors) -> dict[str, Any]:
    """The tensors whose names begin so, by what follows."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def is_generator(random_state: Any) -> bool:
    """Whether a random_state is a running generator, whose state is no option that a file could keep."""
    return isinstance(random_state, np.random.RandomState | np.random.Generator)
