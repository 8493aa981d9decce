"""Saving and loading: one safetensors file with a JSON header, never pickle.

A file holds numbers and names, so loading one runs no code of it. The numbers are the
tensors ``network.*`` (masks packed, as the network holds them), ``trace.*`` and
``certificate.errors``. All else is one JSON text in safetensors' ``__metadata__``; it lists
every tensor's type, shape and SHA-256, and its own SHA-256, the file digest, covers it all.

Two rules keep damage out. The text must be in its one canonical form and match the digest:
that finds accidents. And what has been loaded must give the same text when it is described
again: so nothing in a file is passed over, and nothing that it lacks is made up.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO, Literal, get_args, get_origin, get_type_hints

import numba
import numpy as np
import safetensors.numpy
import sklearn
from numpy.typing import NDArray
from safetensors import SafetensorError
from sklearn.utils.validation import check_is_fitted

from ._version import __version__
from .activations import RELU, THRESHOLD, Activation, as_activation
from .certificate import Certificate
from .construct import Construction, Trace
from .construct.recipe import check_whole
from .estimators import InterpolatingClassifier
from .exceptions import ModelFileError, ParameterError
from .network import Dense, InputMap, Layer, Masks, Network, Sparse
from .outcome import Outcome

Header = dict[str, Any]
Tensors = dict[str, NDArray[Any]]
Lookup = Callable[[str], Activation]
Path_ = str | os.PathLike[str]
Given = Mapping[str, Any] | Iterable[Any]

FORMAT = 1
KEY = "exactfit"
LARGEST_HEADER = 100_000_000  # safetensors reads no longer one
LARGEST_LABELS = 2**28
LABEL_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|U[0-9]{1,5}|O)")
LABEL_TYPES: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}
STANDARD = {activation.name: activation for activation in (THRESHOLD, RELU)}

# Where a user's own activation is compared with what it was; every Activation is finite here.
PROBES = np.array([0.01, 0.5, 1.0, 2.0, 7.5, 100.0])

# What reading the parts of a model raises where they do not fit. Not MemoryError: sizes are checked first.
MISFITS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def save(model: Any, path: Path_) -> None:
    """Write a model to a file that :func:`load` reads.

    The file is written aside and then put in place: whatever happens meanwhile, ``path``
    holds the old file or the new one, whole.

    Parameters
    ----------
    model : InterpolatingClassifier (fitted), Construction or Network
        A ``random_state`` other than a number is saved as None. Activations of your own are
        saved by name only.
    path : str or path-like
        Any name; ``.safetensors`` is the usual ending.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the classifier is not fitted.
    ParameterError
        If the model is none of these, or holds something that a file cannot.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactfit
    >>> model = exactfit.InterpolatingClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     exactfit.save(model, path)
    ...     exactfit.load(path).predict([[0.0], [1.0], [2.0]])
    array(['a', 'b', 'a'], dtype='<U1')
    """
    header, tensors = _describe(model)
    own = _own_activations(model)
    try:
        _rebuild(header, tensors, (STANDARD | own).__getitem__)
    except MISFITS as error:
        raise ParameterError(f"this model cannot be saved: {error}") from error
    header["saved_with"] = _circumstances(model)
    header["digest"] = _sha256(_canonical(header).encode())
    _write(Path(path), safetensors.numpy.save(tensors, {KEY: _canonical(header)}))


def load(path: Path_, *, activations: Given | None = None) -> Any:
    """Read a model that :func:`save` wrote.

    Parameters
    ----------
    path : str or path-like
    activations : dict of name to function or Activation, or list of Activation, optional
        Activations of your own that the model uses: a file holds their names only.

    Returns
    -------
    InterpolatingClassifier, Construction or Network
        Of the same kind as was saved, with the same numbers and the same answers, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, was not written by exactfit or by a newer one, or needs an
        activation that is not given.
    OSError
        If the file cannot be read; ``FileNotFoundError`` if there is none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import exactfit
    >>> def squared_relu(t):
    ...     return np.maximum(t, 0.0) ** 2
    >>> model = exactfit.InterpolatingClassifier(activation=squared_relu, random_state=0)
    >>> model = model.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.safetensors"
    ...     exactfit.save(model, path)
    ...     again = exactfit.load(path, activations={"squared_relu": squared_relu})
    >>> again.network_.digest == model.network_.digest
    True
    """
    look_up = _lookup(activations)
    try:
        header, tensors = _read(Path(path))
        model = _rebuild(header, tensors, look_up)
        _compare_activations(model, header["saved_with"]["activations"])
    except ModelFileError as error:
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: {error}") from error.__cause__
    except MISFITS as error:
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: its parts do not make a model: {error}") from error
    return model


# The container: bytes to header and tensors, and back.


def _canonical(plain: Any) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_item)


def _item(scalar: Any) -> Any:
    if isinstance(scalar, np.generic):
        return scalar.item()
    raise TypeError(f"{scalar!r} is nothing that JSON can hold")


def _sha256(octets: Any) -> str:
    return hashlib.sha256(octets).hexdigest()


def _write(path: Path, octets: bytes) -> None:
    """Write aside, then put in place; on any failure nothing is left behind."""
    path = Path(os.path.realpath(path))  # where a link points to: replacing it would leave the old file there
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "cannot save the model: there is no such folder", str(path.parent))
    aside = path.with_name(f".exactfit-{secrets.token_hex(8)}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(octets)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        raise OSError(error.errno, f"cannot save the model: {error.strerror}", str(path)) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where folders can be opened and synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _read(path: Path) -> tuple[Header, Tensors]:
    _refuse_unless(not path.is_dir(), "it is a folder")
    with path.open("rb") as file:
        header = _read_header(file)
        file.seek(0)
        octets = file.read()
    try:
        tensors = safetensors.numpy.load(octets)
    except (SafetensorError, *MISFITS) as error:
        raise ModelFileError(f"it is damaged or cut off: {error}") from error
    _refuse_unless(tensors.keys() == header["tensors"].keys(), "it is damaged: it does not hold the tensors it lists")
    for name, tensor in tensors.items():
        _refuse_unless(_facts(tensor) == header["tensors"][name], f"it is damaged: tensor {name!r} has changed")
    return header, tensors


def _read_header(file: BinaryIO) -> Header:
    """The header, in canonical form and with the digest that it should have."""
    octets = _read_octets(file)
    outer = _parse(octets, f"it is damaged, or {FOREIGN}: its header is no JSON")
    notes = outer.pop("__metadata__", None)
    text = notes.get(KEY) if isinstance(notes, dict) else None
    _refuse_unless(isinstance(text, str), f"it is {FOREIGN}")
    header = _parse(text.encode(), "it is damaged: its header is no JSON")
    _refuse_newer(header)  # before anything that a newer format may do in another way
    _refuse_unless(_is_plain(octets, outer, text) and _is_sealed(text, header), "it is damaged: its header has changed")
    return header


def _read_octets(file: BinaryIO) -> bytes:
    """The header of a safetensors file."""
    start = file.read(8)
    _refuse_unless(len(start) > 0, "it is empty")
    size = int.from_bytes(start, "little")
    _refuse_unless(len(start) == 8 and size <= LARGEST_HEADER, f"it is {FOREIGN}, nor any safetensors file")
    octets = file.read(size)
    _refuse_unless(len(octets) == size, f"it is cut off, or {FOREIGN}")
    return octets


def _parse(octets: bytes, otherwise: str) -> Header:
    try:
        plain = json.loads(octets.decode())
    except MISFITS as error:
        raise ModelFileError(otherwise) from error
    _refuse_unless(isinstance(plain, dict), otherwise)
    return dict(plain)


def _is_plain(octets: bytes, outer: Header, text: str) -> bool:
    """Whether the safetensors header looks as safetensors writes it, byte for byte, around our text."""
    layout = json.dumps({"__metadata__": {KEY: text}, **outer}, separators=(",", ":"), ensure_ascii=False).encode()
    known = all(entry.keys() == {"dtype", "shape", "data_offsets"} for entry in outer.values())
    return known and octets == layout + b" " * (-len(layout) % 8)


def _is_sealed(text: str, header: Header) -> bool:
    """Whether the text is canonical and matches its digest, which is taken out of the header."""
    canonical = _canonical(header) == text
    digest = header.pop("digest", None)
    return canonical and digest == _sha256(_canonical(header).encode())


def _refuse_newer(header: Header) -> None:
    version, saved = header.get("format"), header.get("saved_with")
    _refuse_unless(type(version) is int and version >= 1, "it is damaged: its header names no format")
    if version > FORMAT:
        versions = saved.get("versions") if isinstance(saved, dict) else None
        writer = versions.get("exactfit") if isinstance(versions, dict) else "of a later version"
        raise ModelFileError(
            f"exactfit {writer} wrote it in format {version}, and exactfit {__version__} reads format {FORMAT}: "
            "upgrade exactfit"
        )


def _refuse_unless(fine: bool, reason: str) -> None:
    if not fine:
        raise ModelFileError(reason)


# What a file says about a model, and the model again.


def _describe(model: Any) -> tuple[Header, Tensors]:
    """Everything that a model holds, as JSON and as little-endian arrays."""
    header, tensors = _encode(model)
    tensors = {name: _little(tensor) for name, tensor in tensors.items()}
    header["tensors"] = {name: _facts(tensor) for name, tensor in tensors.items()}
    return json.loads(_canonical(header)), tensors


def _little(tensor: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<"), copy=False)


def _facts(tensor: NDArray[Any]) -> dict[str, Any]:
    little = _little(tensor)
    content = little.data if little.size else b""
    return {"dtype": little.dtype.str, "shape": list(little.shape), "sha256": _sha256(content)}


def _encode(model: Any) -> tuple[Header, Tensors]:
    if isinstance(model, Network):
        return _encode_network(model)
    if isinstance(model, Construction):
        return _encode_construction(model)
    if type(model) is InterpolatingClassifier:
        check_is_fitted(model, "network_")
        return _encode_classifier(model)
    raise ParameterError(f"save takes an InterpolatingClassifier, Construction or Network, got {type(model).__name__}")


def _encode_network(network: Network) -> tuple[Header, Tensors]:
    header = {"format": FORMAT, "kind": "network", "network": network.header(), "network_digest": network.digest}
    return header, {f"network.{name}": tensor for name, tensor in network.tensors().items()}


def _encode_construction(made: Construction) -> tuple[Header, Tensors]:
    header, tensors = _encode_network(made.network)
    parts = {part.name: getattr(made.trace, part.name) for part in fields(made.trace)}
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    counts = {name: part for name, part in parts.items() if name not in arrays}
    header |= {"kind": "construction", "outcome": made.outcome.value, "trace": counts}
    return header, tensors | {f"trace.{name}": array for name, array in arrays.items()}


def _encode_classifier(model: InterpolatingClassifier) -> tuple[Header, Tensors]:
    header, tensors = _encode_construction(Construction(model.network_, model.outcome_, model.trace_))
    certificate = model.certificate_.to_dict()
    tensors["certificate.errors"] = np.asarray(certificate.pop("errors"), dtype=np.int64)
    parameters = model.get_params(deep=False)
    parameters["activation"] = as_activation(parameters["activation"]).name
    if _is_generator(model.random_state):
        parameters["random_state"] = None
    names = getattr(model, "feature_names_in_", None)
    header |= {
        "kind": "classifier",
        "certificate": certificate,
        "classes": {"dtype": model.classes_.dtype.str, "values": model.classes_.tolist()},
        "feature_names": None if names is None else list(names),
        "parameters": parameters,
    }
    return header, tensors


def _is_generator(random_state: Any) -> bool:
    return isinstance(random_state, np.random.RandomState | np.random.Generator)


def _circumstances(model: Any) -> Header:
    """What is true of this saving, and cannot be read off the model."""
    random_state = getattr(model, "random_state", None)
    return {
        "versions": {
            "exactfit": __version__,
            "numba": numba.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "scikit-learn": sklearn.__version__,
        },
        "random_state": type(random_state).__name__ if _is_generator(random_state) else None,
        "activations": {name: own(PROBES).tolist() for name, own in _own_activations(model).items()},
    }


def _rebuild(header: Header, tensors: Tensors, look_up: Lookup) -> Any:
    """The model of a description, if the model's own description is the same."""
    model = _decode(header, tensors, look_up)
    again, _ = _describe(model)
    for name in sorted(header.keys() - {"saved_with"} | again.keys()):
        same = _canonical(header.get(name)) == _canonical(again.get(name))
        _refuse_unless(same, f"{name!r} in its header does not describe the model that it holds")
    return model


def _decode(header: Header, tensors: Tensors, look_up: Lookup) -> Any:
    network = Network.from_parts(header["network"], _named(tensors, "network."), look_up)
    _check_network(network)
    if header["kind"] == "network":
        return network
    trace = Trace(**_named(tensors, "trace."), **header["trace"])
    _check_trace(trace, network)
    made = Construction(network, Outcome(header["outcome"]), trace)
    return made if header["kind"] == "construction" else _decode_classifier(header, tensors, made, look_up)


def _named(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _decode_classifier(
    header: Header, tensors: Tensors, made: Construction, look_up: Lookup
) -> InterpolatingClassifier:
    model = InterpolatingClassifier(**header["parameters"])
    own = look_up(model.activation)
    model.activation = own if own.is_own else own.name
    model.classes_, model.network_, model.outcome_ = _decode_labels(**header["classes"]), made.network, made.outcome
    model.trace_, model.anchors_ = made.trace, made.trace.anchors
    model.interpolates_ = made.outcome.interpolates
    model.width_, model.n_detectors_ = made.network.widths[:2]
    model.detectors_per_class_ = np.bincount(made.trace.detector_classes, minlength=len(model.classes_))
    model.certificate_ = Certificate.from_dict(
        {**header["certificate"], "errors": tensors["certificate.errors"]}
    )
    model.n_features_in_ = made.network.n_features
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    _check_classifier(model)
    return model


def _decode_labels(dtype: str, values: list[Any]) -> NDArray[Any]:
    _refuse_unless(LABEL_DTYPE.fullmatch(dtype) is not None, f"labels of dtype {dtype!r} cannot be kept in a file")
    kind, size = LABEL_TYPES[dtype[1]], np.dtype(dtype).itemsize
    _refuse_unless(all(type(value) is kind for value in values), f"not all labels of dtype {dtype!r} are {kind.__name__}")
    _refuse_unless(2 <= len(set(values)) == len(values), "its labels are not distinct")
    _refuse_unless(size * len(values) <= LARGEST_LABELS, "its labels are too long")
    return np.array(values, dtype=dtype)


# Checks: what no rule of the parts themselves would notice.


def _check_network(network: Network) -> None:
    decoder, n_outputs = network.decoder, network.widths[-1]
    _check_types(decoder)
    shapes = {
        "sign": (1, 2, 0),
        "one_hot": (len(decoder.classes), n_outputs, 0),
        "nearest": (1, len(decoder.levels), len(decoder.classes)),
    }
    fits = shapes[decoder.kind] == (n_outputs, len(decoder.classes), len(decoder.levels)) and n_outputs > 0
    _refuse_unless(fits and min(decoder.classes) >= 0, f"its decoder does not fit {n_outputs} outputs")
    _refuse_unless(bool(np.isfinite(decoder.levels).all()), "its decoder has levels that are not finite")
    _refuse_unless(_fits(network.input_map, InputMap), f"its input map {network.input_map!r} is unknown")
    _refuse_unless(network.n_features > 0, "its network takes no features")
    for index, layer in enumerate(network.layers):
        _refuse_unless(_is_sound(layer), f"layer {index} of its network holds numbers that it cannot hold")


def _is_sound(layer: Layer) -> bool:
    weights = layer.weights
    if isinstance(weights, Dense) and not _are_numbers(weights.values, 2, "f"):
        return False
    if isinstance(weights, Sparse) and not _are_numbers(weights.matrix.data, 1, "f"):
        return False
    if isinstance(weights, Masks) and weights.sign not in (-1, 1):
        return False
    return layer.bias.dtype == object or _are_numbers(layer.bias, 1, "fi")


def _are_numbers(values: NDArray[Any], ndim: int, kinds: str) -> bool:
    dtype = values.dtype
    return values.ndim == ndim and dtype.kind in kinds and dtype.itemsize in (4, 8) and bool(np.isfinite(values).all())


def _check_trace(trace: Trace, network: Network) -> None:
    _check_types(trace)
    parts = [getattr(trace, part.name) for part in fields(trace)]
    _refuse_unless(all(np.min(part, initial=0) >= 0 for part in parts), "its trace holds negative numbers")
    lengths = {len(part) for part in (trace.anchors, trace.witnesses, trace.coverage, trace.detector_classes)}
    _refuse_unless(len(lengths) == 1, "its trace does not say the same number of things about every detector")
    known = np.isin(trace.detector_classes, network.decoder.classes).all()
    _refuse_unless(bool(known), "its trace has detectors of classes that its network does not know")


def _check_classifier(model: InterpolatingClassifier) -> None:
    network, n_classes = model.network_, len(model.classes_)
    detectors = read_detectors(network, network.layers[0].activation)
    claims = None if detectors is None else network.layers[2].weights.bits.to_bool()
    ...
