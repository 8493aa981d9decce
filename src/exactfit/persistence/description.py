"""Models as header and tensors, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..construct import Construction, Trace
from ..estimators import InterpolatingClassifier
from ..exceptions import ParameterError
from ..network import Network
from ..network.activations import Activation, as_activation
from ..outcome import Outcome
from ..repairs import RepairedClassifier
from ..tables import Encoding, TableModel
from ..tables.encoding import Field
from .checks import (
    check_classifier,
    check_encoding,
    check_network,
    check_rows,
    check_trace,
    check_training_rows,
)
from .container import (
    FORMAT,
    Header,
    Tensors,
    canonical,
    decode_certificate,
    decode_labels,
    encode_fitted,
    is_generator,
    little_endian,
    refuse_unless,
    tensor_facts,
    under,
)
from .repaired_models import decode_repaired, encode_repaired

Lookup = Callable[[str], Activation]

# Options and facts that older versions did not have, as they would have said them.
LATER: dict[str, Header] = {
    "certificate": {
        "method": None,
        "radius_method": None,
        "radii": None,
        "radius_row": None,
        "radius_detector": None,
        "radius_upper": None,
        "margin": None,
        "mispredicted": None,
        "answers_digest": None,
    },
    "trace": {"margin": 0.0},
    "parameters": {
        "exact_in": None,
        "noise": 0.0,
        "detectors": "mask",
        "image_shape": None,
        "n_networks": 1,
        "margin": 0.0,
    },
}
SUPPORT = ("support", "shares", "support_starts")
STARTS = ("hyperplane_starts", "detector_starts")
KINDS = ("network", "construction", "classifier", "table", "repaired")
# Of an encoding, by the names that files have for it: the column of labels was once called target.
TABLE = {"header": "header", "n_columns": "n_columns", "target": "label", "target_position": "label_position"}


def to_parts(model: Any) -> tuple[Header, Tensors]:
    """Everything that a model holds, as a header that JSON can hold and tensors as they lie in a file."""
    header, tensors = _encode(model)
    tensors = {name: little_endian(tensor) for name, tensor in tensors.items()}
    header["tensors"] = {name: tensor_facts(tensor) for name, tensor in tensors.items()}
    plain: Header = json.loads(canonical(header))
    if plain != header:  # JSON joins two halves of a character into one
        raise ParameterError("this model cannot be saved: its labels or feature names hold text that is not Unicode")
    return plain, tensors


def from_parts(header: Header, tensors: Tensors, look_up: Lookup, behind: Any = None) -> Any:
    """The model of a description, if the model's own description is the same; ``behind`` is what was repaired."""
    header = _completed(header)
    model = _decode(header, tensors, look_up, behind)
    again, _ = to_parts(model)
    for name in sorted((header.keys() | again.keys()) - {"saved_with"}):
        same = canonical(header.get(name)) == canonical(again.get(name))
        refuse_unless(same, f"{name!r} in its header does not describe the model that it holds")
    return model


def _completed(header: Header) -> Header:
    """The header, with what older versions did not have yet."""
    known = {
        name: LATER[name] for name in LATER if name in header and (name, header["kind"]) != ("parameters", "repaired")
    }
    sections = {name: {**later, **header[name]} for name, later in known.items()}
    return header | sections | {"format": FORMAT}


def _encode(model: Any) -> tuple[Header, Tensors]:
    if isinstance(model, Network):
        return _encode_network(model)
    if isinstance(model, Construction):
        return _encode_construction(model)
    if type(model) is InterpolatingClassifier:  # a subclass may hold more than we know of
        check_is_fitted(model, "network_")
        return _encode_classifier(model)
    if type(model) is TableModel:
        return _encode_table(model)
    if type(model) is RepairedClassifier:
        return encode_repaired(model)
    raise ParameterError(
        "save takes an InterpolatingClassifier, RepairedClassifier, TableModel, Construction or Network, "
        f"got {type(model).__name__}"
    )


def _encode_network(network: Network) -> tuple[Header, Tensors]:
    header = {"format": FORMAT, "kind": "network", "network": network.header(), "network_digest": network.digest}
    return header, {f"network.{name}": tensor for name, tensor in network.tensors().items()}


def _encode_construction(made: Construction) -> tuple[Header, Tensors]:
    header, tensors = _encode_network(made.network)
    parts = {part.name: getattr(made.trace, part.name) for part in fields(made.trace)}
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    for names in (SUPPORT, STARTS):  # masks rest on their anchors alone; one network needs no starts
        if not len(getattr(made.trace, names[-1])):
            arrays = {name: part for name, part in arrays.items() if name not in names}
    if not len(made.trace.narrow):
        del arrays["narrow"]
    counts = {name: part for name, part in parts.items() if not isinstance(part, np.ndarray)}
    header |= {"kind": "construction", "outcome": made.outcome.value, "trace": counts}
    tensors |= {f"trace.{name}": array for name, array in arrays.items()}
    if not np.array_equal(made.errors, made.trace.uncovered):  # without it, they are the same
        tensors["construction.errors"] = made.errors
    for name in ("given_up", "overruled"):
        if len(getattr(made, name)):
            tensors[f"construction.{name}"] = getattr(made, name)
    return header, tensors


def _encode_classifier(model: InterpolatingClassifier) -> tuple[Header, Tensors]:
    header, tensors = _encode_construction(
        Construction(model.network_, model.outcome_, model.trace_, errors=model.trace_.uncovered)
    )
    fitted, rows = encode_fitted(model)
    return header | fitted | {"kind": "classifier", "parameters": _encode_parameters(model)}, tensors | rows


def _encode_table(model: TableModel) -> tuple[Header, Tensors]:
    """A classifier as any other, and in a section of its own how rows become points."""
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


def _encode_parameters(model: InterpolatingClassifier) -> Header:
    parameters: Header = model.get_params(deep=False)
    parameters["activation"] = as_activation(parameters["activation"]).name
    if parameters["image_shape"] is not None:
        parameters["image_shape"] = list(map(int, parameters["image_shape"]))
    if is_generator(parameters["random_state"]):
        parameters["random_state"] = None
    return parameters


def _decode(header: Header, tensors: Tensors, look_up: Lookup, behind: Any = None) -> Any:
    kind = header["kind"]
    refuse_unless(kind in KINDS, f"it holds a model of a kind that is not known here: {kind!r}")
    if kind == "repaired":
        return decode_repaired(header, tensors, behind)
    refuse_unless(behind is None, "it holds no repaired model: load it without model=...")
    if kind == "table":
        classifier = _decode({**header, "kind": "classifier"}, tensors, look_up)
        return _decode_table(classifier, header["table"], under("table.", tensors))
    network = Network.from_parts(header["network"], under("network.", tensors), look_up)
    check_network(network)
    if kind == "network":
        return network
    trace = Trace(**under("trace.", tensors), **header["trace"])
    check_trace(trace, network)
    rows = {"errors": trace.uncovered} | under("construction.", tensors)
    made = Construction(network, Outcome(header["outcome"]), trace, **rows)
    check_rows(made)
    return made if kind == "construction" else _decode_classifier(header, tensors, made, look_up)


def _decode_classifier(header: Header, tensors: Tensors, made: Construction, look_up: Lookup) -> Any:
    parameters: Header = header["parameters"]
    model = InterpolatingClassifier(**parameters | {"image_shape": _as_tuple(parameters["image_shape"])})
    activation = look_up(parameters["activation"])
    model.activation = activation if activation.is_own else activation.name
    model.classes_ = decode_labels(**header["classes"])
    model.network_, model.outcome_, model.trace_ = made.network, made.outcome, made.trace
    model.networks_ = made.networks
    model.interpolates_ = made.outcome.interpolates
    model.width_, model.n_detectors_ = made.network.widths[:2]
    model.anchors_ = made.trace.anchors
    model.certificate_ = decode_certificate(header, tensors)
    model.n_features_in_ = made.network.n_features
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    check_classifier(model)
    model.detectors_per_class_ = np.bincount(made.trace.detector_classes, minlength=len(model.classes_))
    return model


def _decode_table(classifier: InterpolatingClassifier, section: Header, tensors: Tensors) -> TableModel:
    fields = tuple(Field(**{name: _as_tuple(one) for name, one in plain.items()}) for plain in section["columns"])
    rest = {name: section[saved] for saved, name in TABLE.items()}
    later = {"missing": section.get("missing", "error"), "rows": tensors.get("rows")}
    encoding = Encoding(fields=fields, mean=tensors["mean"], scale=tensors["scale"], **rest, **later)
    check_encoding(encoding, section["scale"], classifier.n_features_in_)
    check_training_rows(encoding, classifier.certificate_.n_samples)
    return TableModel.of(classifier, encoding, section["scale"])


def _as_tuple(plain: Any) -> Any:
    return tuple(plain) if isinstance(plain, list) else plain


def classifier_in(model: Any) -> Any:
    """The classifier in a table's model; any other model itself."""
    if not isinstance(model, TableModel):
        return model
    check_is_fitted(model, "classifier_")
    return model.classifier_
