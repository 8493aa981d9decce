"""Models as header and tensors, and back; a repaired model that is no chain and no ONNX graph by its answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..certificate import Certificate
from ..certificate.record import ROW_LISTS
from ..construct import Construction, Trace
from ..estimators import InterpolatingClassifier
from ..exceptions import ModelFileError, ParameterError
from ..network import Network
from ..network.activations import Activation, as_activation
from ..network.network import SwitchedNetwork
from ..outcome import Outcome
from ..repairs import RepairedClassifier
from ..repairs.graphs import Graph
from ..repairs.models import Model, SpotChecks, read_model
from ..repairs.patches import Patches
from ..repairs.repaired import Repair
from ..repairs.reports import Change
from ..tables import Encoding, TableModel
from ..tables.encoding import Field
from .checks import (
    check_classifier,
    check_construction,
    check_encoding,
    check_network,
    check_repair,
    check_repaired,
    check_repaired_networks,
)
from .container import FORMAT, Header, Tensors, canonical, little_endian, packed, refuse_unless, tensor_facts, unpacked

Lookup = Callable[[str], Activation]
Parts = tuple[Header, Tensors]

# Options and facts that older versions did not have, as they would have said them.
LATER: dict[str, Header] = {
    "certificate": dict.fromkeys(("method", "margin", "mispredicted", "answers_digest"))
    | dict.fromkeys(("radius_method", "radii", "radius_row", "radius_detector", "radius_upper")),
    "trace": {"margin": 0.0},
    "parameters": {"exact_in": None, "image_shape": None, "noise": 0.0, "margin": 0.0}
    | {"detectors": "mask", "max_features": 4},
}
# Options that older versions had. A file that names them is read without them: they say how its network came about,
# which is done, and nothing that it answers or proves depends on them.
REMOVED = ("selection", "greedy_memory", "n_networks")
# Arrays that a file lacks if they are empty: files of models without them are as older versions wrote them.
LEFT_OUT = ("without_margin", "importances", "spreads", "on_counts")  # of a trace
GIVEN_UP = ("given_up", "overruled")  # of a construction
# Of a trace, of options and of an encoding, by the names that files have for them, which stay when ours change.
IN_FILES = {"dual_coef": "shares", "without_margin": "narrow", "n_fallback_cuts": "n_rescued"}
OPTIONS_IN_FILES = {"fallback_cuts": "rescue"}
TABLE = {"header": "header", "n_columns": "n_columns", "target": "label", "target_position": "label_position"}
REPAIR_OPTIONS = ("patches", "reach", "exact_in", "n_jobs", "random_state")
SIZES = ("image_shape", "max_features")  # options that may be tuples
LABEL_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|U[0-9]{1,5}|O)")
LABEL_TYPES: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}
LARGEST_LABELS = 2**28  # bytes of all labels, so that a small file cannot ask for more memory than there is


def to_parts(model: Any, form: int = FORMAT) -> Parts:
    """Return what a model holds: a header that JSON can hold, and tensors as a file of a format has them."""
    header, tensors = _encode(model)
    tensors = {name: packed(name, little_endian(tensor), form) for name, tensor in tensors.items()}
    header["tensors"] = {name: tensor_facts(tensor) for name, tensor in tensors.items()}
    # JSON joins two halves of a character into one, so that such a text would come back as another.
    plain: Header = json.loads(canonical(header))
    if plain != header:
        raise ParameterError("this model cannot be saved: its labels or feature names hold text that is not Unicode")
    return plain, tensors


def from_parts(header: Header, tensors: Tensors, look_up: Lookup, behind: Any = None) -> Any:
    """Return the model of a description, if its own is the same; ``behind`` is the model that was repaired."""
    form, header = header["format"], header | {"format": FORMAT}
    for name in LATER.keys() & header.keys():
        if (name, header["kind"]) != ("parameters", "repaired"):
            gone = REMOVED if name == "parameters" else ()
            header[name] = {**LATER[name], **{key: value for key, value in header[name].items() if key not in gone}}
    model = _decode(header, {name: unpacked(name, one, form) for name, one in tensors.items()}, look_up, behind)
    # What the model says of itself is compared with the file: nothing in it is passed over, nothing made up.
    again, _ = to_parts(model, form)
    for name in sorted((header.keys() | again.keys()) - {"saved_with"}):
        same = canonical(header.get(name)) == canonical(again.get(name))
        refuse_unless(same, f"{name!r} in its header does not describe the model that it holds")
    return model


def _encode(model: Any) -> Parts:
    if isinstance(model, Network):
        return _encode_network(model)
    if isinstance(model, Construction):
        return _encode_construction(model)
    # Exact types: a subclass may hold more than is known here.
    if type(model) is InterpolatingClassifier:
        check_is_fitted(model, "network_")
        return _encode_classifier(model)
    if type(model) is TableModel:
        return _encode_table(model)
    if type(model) is RepairedClassifier:
        check_is_fitted(model, "network_")
        return _encode_repaired(model)
    raise ParameterError(
        "save takes an InterpolatingClassifier, RepairedClassifier, TableModel, Construction or Network, "
        f"got {type(model).__name__}"
    )


def _decode(header: Header, tensors: Tensors, look_up: Lookup, behind: Any = None) -> Any:
    kind = header["kind"]
    known = kind in ("network", "construction", "classifier", "table", "repaired")
    refuse_unless(known, f"it holds a model of a kind that is not known here: {kind!r}")
    if kind == "repaired":
        return _decode_repaired(header, tensors, behind)
    refuse_unless(behind is None, "it holds no repaired model: load it without model=...")
    network = Network.from_parts(header["network"], _under("network.", tensors), look_up)
    check_network(network)
    # What the constructions make is read back here, once.
    network = network.detectors or network
    if kind == "network":
        return network
    made = _decode_construction(header, tensors, network)
    if kind == "construction":
        return made
    classifier = _decode_classifier(header, tensors, made, look_up)
    return classifier if kind == "classifier" else _decode_table(header["table"], tensors, classifier)


def _under(prefix: str, tensors: Tensors) -> dict[str, Any]:
    """Return the tensors whose names begin with a prefix, by what follows it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _renamed(named: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return the same values by other names."""
    return {names.get(name, name): value for name, value in named.items()}


def _reversed(names: dict[str, str]) -> dict[str, str]:
    return {there: here for here, there in names.items()}


def _as_tuple(plain: Any) -> Any:
    return tuple(plain) if isinstance(plain, list) else plain


# ---- Networks and constructions ----------------------------------------------------------------------------


def _encode_network(network: Network | SwitchedNetwork) -> Parts:
    header = {"format": FORMAT, "kind": "network", "network": network.header(), "network_digest": network.digest}
    return header, {f"network.{name}": tensor for name, tensor in network.tensors().items()}


def _encode_construction(made: Construction) -> Parts:
    header, tensors = _encode_network(made.network)
    trace = vars(made.trace)
    left_out = {name for name in LEFT_OUT if not len(trace[name])}
    if not len(made.trace.support_starts):  # masks rest on their anchors alone
        left_out |= {"support", "dual_coef", "support_starts"}
    arrays = {name: part for name, part in trace.items() if isinstance(part, np.ndarray)}
    tensors |= {f"trace.{IN_FILES.get(name, name)}": part for name, part in arrays.items() if name not in left_out}
    numbers = {name: part for name, part in trace.items() if name not in arrays}
    header |= {"kind": "construction", "outcome": made.outcome.value, "trace": _renamed(numbers, IN_FILES)}
    if not np.array_equal(made.errors, made.trace.uncovered):  # without it, they are the same
        tensors["construction.errors"] = made.errors
    tensors |= {f"construction.{name}": getattr(made, name) for name in GIVEN_UP if len(getattr(made, name))}
    return header, tensors


def _decode_construction(header: Header, tensors: Tensors, network: Network) -> Construction:
    refuse_unless(
        "trace.detector_starts" not in tensors,
        "it holds several networks that answer by the mean of their scores (n_networks of exactfit 0.2), "
        "and a model is one network now: fit it again",
    )
    trace = Trace(**_renamed(_under("trace.", tensors) | header["trace"], _reversed(IN_FILES)))
    rows = {"errors": trace.uncovered} | _under("construction.", tensors)
    made = Construction(network, Outcome(header["outcome"]), trace, **rows)
    check_construction(made)
    return made


# ---- Classifiers -------------------------------------------------------------------------------------------


def _encode_classifier(model: InterpolatingClassifier) -> Parts:
    made = Construction(model.network_, model.outcome_, model.trace_, errors=model.trace_.uncovered)
    (header, tensors), (fitted, rows) = _encode_construction(made), _encode_fitted(model)
    parameters: Header = model.get_params(deep=False)
    parameters |= {"activation": as_activation(parameters["activation"]).name, "random_state": _seed(model)}
    for name in SIZES:
        if np.ndim(parameters[name]):
            parameters[name] = list(map(int, parameters[name]))
    parameters = _renamed(parameters, OPTIONS_IN_FILES)
    return header | fitted | {"kind": "classifier", "parameters": parameters}, tensors | rows


def _decode_classifier(header: Header, tensors: Tensors, made: Construction, look_up: Lookup) -> Any:
    parameters: Header = _renamed(header["parameters"], _reversed(OPTIONS_IN_FILES))
    model = InterpolatingClassifier(**parameters | {name: _as_tuple(parameters[name]) for name in SIZES})
    activation = look_up(parameters["activation"])
    model.activation = activation if activation.is_own else activation.name
    model.classes_ = _decode_labels(**header["classes"])
    model.network_, model.outcome_, model.trace_ = made.network, made.outcome, made.trace
    model.interpolates_ = made.outcome.interpolates
    model.width_, model.n_detectors_ = made.network.widths[:2]
    model.anchors_ = made.trace.anchors
    _decode_fitted(model, header, tensors)
    check_classifier(model)
    model.detectors_per_class_ = np.bincount(made.trace.detector_classes, minlength=len(model.classes_))
    return model


def _encode_fitted(model: Any) -> Parts:
    """Return what every fitted classifier has beside its network."""
    # Without radii: a number per row would be as large as the data.
    certificate, tensors = {**model.certificate_.to_dict(), "radii": None}, {}
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


def _decode_fitted(model: Any, header: Header, tensors: Tensors) -> None:
    """Add what ``_encode_fitted`` returned."""
    model.certificate_ = Certificate.from_dict({**header["certificate"], **_under("certificate.", tensors)})
    model.n_features_in_ = model.network_.n_features
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)


def _decode_labels(dtype: str, values: list[Any]) -> NDArray[Any]:
    """Return labels by class index."""
    refuse_unless(LABEL_DTYPE.fullmatch(dtype) is not None, f"labels of dtype {dtype!r} cannot be kept in a file")
    kind, size = LABEL_TYPES[dtype[1]], np.dtype(dtype).itemsize
    refuse_unless(all(type(value) is kind for value in values), f"not all its labels are of type {kind.__name__}")
    refuse_unless(2 <= len(set(values)) == len(values), "its labels are not distinct")
    refuse_unless(size * len(values) <= LARGEST_LABELS, "its labels are too long")
    return np.array(values, dtype=dtype)


def is_generator(random_state: Any) -> bool:
    """Return whether a random_state is a running generator, whose state is no option that a file could keep."""
    return isinstance(random_state, np.random.RandomState | np.random.Generator)


def _seed(model: Any) -> Any:
    return None if is_generator(model.random_state) else model.random_state


# ---- Tables ------------------------------------------------------------------------------------------------


def classifier_in(model: Any) -> Any:
    """Return the classifier in a table's model; any other model itself."""
    if not isinstance(model, TableModel):
        return model
    check_is_fitted(model, "classifier_")
    return model.classifier_


def _encode_table(model: TableModel) -> Parts:
    """Return a classifier as any other, and in a section of its own how rows become points."""
    header, tensors = _encode(classifier_in(model))
    encoding = model.encoding_
    named = {saved: getattr(encoding, name) for saved, name in TABLE.items()}
    named |= {"columns": encoding.to_dict()["columns"], "scale": model.scale}
    if encoding.missing != "error":  # a file without it is one where empty cells are an error
        named["missing"] = encoding.missing
    numbers: Tensors = {"table.mean": encoding.mean, "table.scale": encoding.scale}
    if encoding.rows is not None:  # a file without them is one where no row was left out
        numbers["table.rows"] = encoding.rows
    return header | {"kind": "table", "table": named}, tensors | numbers


def _decode_table(section: Header, tensors: Tensors, classifier: InterpolatingClassifier) -> TableModel:
    columns = tuple(Field(**{name: _as_tuple(one) for name, one in plain.items()}) for plain in section["columns"])
    numbers = {"rows": None} | _under("table.", tensors)
    rest = {name: section[saved] for saved, name in TABLE.items()} | {"missing": section.get("missing", "error")}
    encoding = Encoding(fields=columns, **numbers, **rest)
    check_encoding(encoding, section["scale"], classifier.n_features_in_, classifier.certificate_.n_samples)
    return TableModel.of(classifier, encoding, section["scale"])


# ---- Repaired models ---------------------------------------------------------------------------------------


def _encode_repaired(model: RepairedClassifier) -> Parts:
    """Return everything but the given points."""
    made = model.repair_
    (header, tensors), (fitted, rows) = _encode_network(made.network), _encode_fitted(model)
    parameters = {name: getattr(model, name) for name in REPAIR_OPTIONS} | {"random_state": _seed(model)}
    header |= fitted | {
        "kind": "repaired",
        "model": made.model.kind,
        "parameters": parameters | {"classes": None if model.classes is None else made.model.classes.tolist()},
        "history": json.loads(canonical([asdict(change) for change in made.history])),
        "data_digest": made.data_digest,
    }
    numbers = {name: getattr(made, name) for name in ("answers", "targets", "changes")}
    numbers |= {name: getattr(made.patches, name) for name in ("anchors", "fires_within", "silent_beyond")}
    numbers |= dict(zip(("claim_rows", "claim_patches"), made.claims, strict=True))
    if made.probes is not None:
        numbers |= {"probes": made.probes.points, "probe_rows": made.probes.rows}
    tensors |= rows | {f"repair.{name}": array for name, array in numbers.items()}
    if made.model.graph is not None:
        tensors["model.graph"] = np.frombuffer(made.model.graph.content, dtype=np.uint8)
    return header, tensors


def _decode_repaired(header: Header, tensors: Tensors, behind: Any) -> RepairedClassifier:
    """Make a repaired model, one by reference with the model that a user brings."""
    network = SwitchedNetwork.from_parts(header["network"], _under("network.", tensors))
    classes = _decode_labels(**header["classes"])
    check_repaired_networks(network, len(classes))
    model = _decode_model(header["model"], network, classes, tensors, behind)
    numbers = _under("repair.", tensors)
    history = tuple(Change(**{name: _as_tuple(part) for name, part in change.items()}) for change in header["history"])
    check_repair(history, numbers, network.patches.layers[-1].weights.shape[1], len(classes))
    patches = Patches(network.patches, *(numbers[name] for name in ("anchors", "fires_within", "silent_beyond")))
    probes = SpotChecks(numbers["probe_rows"], numbers["probes"]) if "probes" in numbers else None
    refuse_unless((probes is not None) == (model.kind == "reference"), "its probes do not belong to its model")
    refuse_unless(isinstance(header["data_digest"], str), "it does not name its data")
    options = header["parameters"]
    refuse_unless(options["classes"] in (None, classes.tolist()), "its classes are given twice")
    repaired = RepairedClassifier(
        behind if header["model"] == "reference" else model,
        **{name: options[name] for name in REPAIR_OPTIONS},
        classes=None if options["classes"] is None else classes,
    )
    # The options are validated as by ``fit``, before anything is taken over.
    repaired._check_options()
    made = Repair(
        model, patches, numbers["changes"], history, numbers["answers"], numbers["targets"],
        (numbers["claim_rows"], numbers["claim_patches"]), header["data_digest"], probes,
    )  # fmt: skip
    repaired._take(made, None)
    _decode_fitted(repaired, header, tensors)
    check_repaired(repaired)
    return repaired


def _decode_model(kind: Any, network: SwitchedNetwork, classes: NDArray[Any], tensors: Tensors, behind: Any) -> Model:
    """Return the model behind patches: in the file as a chain or an ONNX graph, or with its user."""
    known = kind in ("chain", "graph", "reference")
    refuse_unless(known, f"its model is of a kind that is not known here: {kind!r}")
    if kind == "reference":
        if behind is None:
            raise ModelFileError("it holds patches and the answers of a model, not the model itself: pass model=...")
        refuse_unless(network.model is None, "it holds a chain of layers for a model that is none")
        return read_model(behind, classes)  # an array: its dtype counts
    refuse_unless(behind is None, "it holds its model: load it without model=...")
    if kind == "chain":
        refuse_unless(network.model is not None, "it lacks the model that it says it holds")
        return Model(classes, None, network.model)
    stored = tensors["model.graph"]
    refuse_unless(stored.dtype == np.uint8 and stored.ndim == 1, "its ONNX graph is no sequence of bytes")
    graph = Graph.of(stored.tobytes())
    same = [None if chain is None else chain.digest for chain in (graph.chain, network.model)]
    refuse_unless(same[0] == same[1], "its network is not the one of its ONNX graph")
    return Model(classes, None, graph.chain, graph)
