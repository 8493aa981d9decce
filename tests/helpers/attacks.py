"""Attacks that tests share: other orders of evaluation, moves of points, forged files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from exactfit import InterpolatingClassifier, ModelFileError, TableModel, load, save
from exactfit.certificate.radius import nearest_others
from exactfit.network import Network, Sparse, WeightedMasks
from exactfit.network.detector_network import DetectorNetwork
from exactfit.network.network import SwitchedNetwork
from exactfit.persistence import container
from exactfit.persistence.container import packed, unpacked
from exactfit.persistence.saving import STANDARD
from helpers.networks import fitted_model
from helpers.problems import OWN

# ---- Every way to evaluate a network in a floating-point format that a runtime might choose: orders of sums, with FMA


Array = NDArray[Any]
Sum = Callable[[Array], Array]  # over the last axis


def forwards(terms: Array) -> Array:
    total = np.zeros(terms.shape[:-1], dtype=terms.dtype)
    for k in range(terms.shape[-1]):
        total = total + terms[..., k]
    return total


def backwards(terms: Array) -> Array:
    return forwards(terms[..., ::-1])


def pairwise(terms: Array) -> Array:
    while terms.shape[-1] > 1:
        if terms.shape[-1] % 2:
            terms = np.concatenate([terms, np.zeros_like(terms[..., :1])], axis=-1)
        terms = terms[..., ::2] + terms[..., 1::2]
    return terms[..., 0]


def in_lanes(terms: Array) -> Array:
    """As a vector unit does: four partial sums, joined at the end."""
    return pairwise(np.stack([forwards(terms[..., k::4]) for k in range(4)], axis=-1))


def shuffled(terms: Array) -> Array:
    return forwards(terms[..., np.random.default_rng(0).permutation(terms.shape[-1])])


def largest_first(terms: Array) -> Array:
    return forwards(np.take_along_axis(terms, np.argsort(-np.abs(terms), axis=-1), axis=-1))


SUMS: dict[str, Sum] = {
    name.__name__: name for name in (forwards, backwards, pairwise, in_lanes, shuffled, largest_first)
}


def fma32(a: Array, b: Array, c: Array) -> Array:
    """round(a b + c) in float32: the product is exact in float64, the sum is rounded to odd there, then once more.

    Rounding to odd keeps what the second rounding needs to know (Boldo and Melquiond 2008).
    """
    p, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    return _sum_to_odd(p, c).astype(np.float32)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """The same in float64: a b as two numbers (Dekker), and what is below the last sum rounded to odd.

    The algorithm is the one of Boldo and Melquiond too; where something might leave its range, fractions decide.
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (a, b, c)))
    with np.errstate(all="ignore"):
        high, low = _product(a, b)
        above, below = _sum(c, low)
        total, rest = _sum(high, above)
        fused = total + _sum_to_odd(below, rest)
    near = np.all([(part == 0) | ((np.abs(part) > 1e-100) & (np.abs(part) < 1e100)) for part in (a, b, c)], axis=0)
    for place in zip(*np.nonzero(~near), strict=True):
        fused[place] = float(Fraction(a[place]) * Fraction(b[place]) + Fraction(c[place]))
    return fused


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and what that left out."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    p = a * b
    high_a, high_b = 134217729.0 * a, 134217729.0 * b
    high_a, high_b = high_a - (high_a - a), high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    return p, low_a * low_b - (((p - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _sum_to_odd(a: Array, b: Array) -> Array:
    """a + b; where that is not exact, the neighbour whose last bit is one."""
    s, error = _sum(a, b)
    even = s.view(np.int64) % 2 == 0
    return np.where((error != 0) & even, np.nextafter(s, np.where(error > 0, np.inf, -np.inf)), s)


def _rounded(values: Array, dtype: str) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def first_layers(network: Network, X: Array, dtype: str) -> Iterator[tuple[str, Array]]:
    """<w, x> + b for all points and hyperplanes, in every way."""
    layer = network.layers[0]
    weights = layer.weights.rows.toarray() if isinstance(layer.weights, Sparse) else layer.weights.values
    W, b, x = (_rounded(part, dtype) for part in (weights, layer.bias, X))
    terms = x[:, None, :] * W[None, :, :]
    with_bias = np.concatenate([np.broadcast_to(b[None, :, None], (*terms.shape[:2], 1)), terms], axis=-1)
    for name, add in SUMS.items():
        yield f"{name}, bias last", add(terms) + b
        yield f"{name}, bias among them", add(with_bias)
    yield "matrix product", x @ W.T + b
    fma = fma32 if dtype == "float32" else fma64
    for name, order, begin in [("forwards", 1, b), ("backwards", -1, b), ("from zero", 1, np.zeros_like(b))]:
        total = np.broadcast_to(begin, terms.shape[:2])
        for j in range(W.shape[1])[::order]:
            total = fma(np.broadcast_to(x[:, j, None], total.shape), np.broadcast_to(W[:, j], total.shape), total)
        yield f"fused, {name}", total if begin is b else total + b


def evaluations(network: Network, X: Array, dtype: str) -> Iterator[tuple[str, Array]]:
    """Class indices of all points, for a network of the paper's form, in every way."""
    activation = network.layers[0].activation
    for name, values in first_layers(network, X, dtype):
        if activation.is_threshold:
            yield name, _decide(network, network.layers[1].bias - (values > 0) @ _masks(network).T.astype(np.int64))
            continue
        ramps = np.maximum(values, 0)[:, None, :] * _masks(network)[None, :, :].astype(dtype)
        limits = _rounded(network.layers[1].bias, dtype)
        for inner in (forwards, pairwise, backwards):
            yield f"{name}, {inner.__name__}", _decide(network, limits - inner(ramps))
            within = np.concatenate([np.broadcast_to(limits[None, :, None], (*ramps.shape[:2], 1)), -ramps], axis=-1)
            yield f"{name}, {inner.__name__} from the limit", _decide(network, inner(within))


def _masks(network: Network) -> Array:
    """What detectors count with: masks, or weights."""
    weights = network.layers[1].weights
    return np.asarray(weights.values if isinstance(weights, WeightedMasks) else weights.bits.to_bool())


def _decide(network: Network, above: Array) -> Array:
    output = network.layers[2]
    fired = (above > 0).astype(np.int64) @ output.weights.bits.to_bool().T.astype(np.int64)
    return np.asarray(network.decoder(output.weights.sign * fired))


# ---- Moves of points by just below a margin, in the directions that are most likely to change an answer ------------


Floats = NDArray[np.float64]


def moves_towards(
    network: Network, X: Any, y: Any, margin: float | Floats, rng: np.random.Generator, n_random: int = 10
) -> Iterator[Floats]:
    """Moved points: to the nearest hyperplanes, weighted sums of their normals, other labels, and anywhere.

    The margin may be one for all points, or one for each.
    """
    X = np.asarray(X, dtype=np.float64)
    y, found = np.asarray(y), DetectorNetwork.of(network)
    planes = found.normals.toarray() if sp.issparse(found.normals) else found.normals
    W, b = planes.astype(np.float64), found.biases.astype(np.float64)
    values, norms = X @ W.T + b, np.linalg.norm(W, axis=1)
    order = np.argsort(np.abs(values) / norms, axis=1)
    rows = np.arange(len(X))
    normals = W / norms[:, None]
    for k in range(min(5, len(W))):
        near = order[:, k]
        yield _moved(X, -np.sign(values[rows, near])[:, None] * normals[near], margin)
    for n in (2, 5, 20, 100):
        near = order[:, :n]
        signs = -np.sign(np.take_along_axis(values, near, axis=1))
        yield _moved(X, np.einsum("ij,ijk->ik", signs * rng.random(near.shape), normals[near]), margin)
    yield _moved(X, X[nearest_others(X, y, rows)] - X, margin)
    for _ in range(n_random):
        yield _moved(X, rng.normal(size=X.shape), margin)
        corner = rng.integers(0, X.shape[1], len(X))
        yield _moved(X, np.eye(X.shape[1])[corner] * rng.choice([-1.0, 1.0], len(X))[:, None], margin)


def _moved(X: Floats, directions: Floats, margin: float | Floats) -> Floats:
    """By a share of 1 - 1e-9 of the margin: the sum's own rounding stays within it."""
    lengths = np.linalg.norm(directions, axis=1)
    shares = np.divide(margin * (1 - 1e-9), lengths, out=np.zeros(len(X)), where=lengths > 0)
    return X + shares[:, None] * directions


# ---- Model files that ``save`` never wrote, and what ``load`` says of them -----------------------------------------


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
    try:
        own = {name.removeprefix("network."): unpacked(name, tensor) for name, tensor in tensors.items()}
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
    save(fitted_model(np.array([[0.0], [1.0], [2.0]]), ["a", "b", "ö"], width=3, hyperplanes="gaussian"), path)
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
    "features with more bytes": swap(f"{W0}indices", lambda x: np.append(x[:-1], np.uint8([x[-1] | 128, 0]))),
    "features cut off": swap(f"{W0}indices", lambda places: np.append(places[:-1], places[-1:] | 128)),
    "a feature of eleven bytes": swap(f"{W0}indices", lambda places: np.append(places, np.uint8([128] * 10 + [0]))),
    "starts of eight bytes each": swap(f"{W0}indptr", lambda starts: np.cumsum(starts, dtype=np.int64) // 2),
    "starts in four bytes": swap(f"{W0}indptr", lambda starts: starts.astype(np.uint32)),
    "features in eight bytes without a sign": swap(f"{W0}indices", lambda places: places.astype(np.uint64)),
    "bias in one byte": swap("network.layers.1.bias", lambda bias: bias.astype(np.int8)),
    "rows as they are in memory": swap("trace.support", lambda rows: rows.astype(np.int64)),
    "rows in a matrix": swap("trace.support", lambda rows: rows[None]),
    "errors as they are in memory": swap("certificate.errors", lambda rows: rows.astype(np.int64)),
    "errors in two bytes": swap("certificate.errors", lambda rows: rows.astype(np.int16)),
}
