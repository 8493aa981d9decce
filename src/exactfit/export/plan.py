"""What a foreign runtime has to compute: a straight line of steps, from points to labels and scores.

Signals are floating-point numbers in the format of the export, bits after a threshold, or float64 numbers that are
whole (counts, integer weights). Steps hold numbers only; each runtime has its own way to say them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._kernels.rounding import EXACT_INTEGERS
from .._support.parameters import shown
from .._version import __version__
from ..certificate import Certificate
from ..certificate.record import GIVEN_ANSWERS
from ..construct import Construction
from ..estimators import InterpolatingClassifier
from ..exceptions import ParameterError
from ..network import Decoder, Dense, Integers, Layer, Masks, Network, Sparse, WeightedMasks
from ..network.activations import Activation
from ..network.bits import BitMatrix
from ..network.detector_network import DetectorNetwork
from ..network.network import SwitchedNetwork
from ..repairs import RepairedClassifier
from ..repairs.graphs import Graph

Floats = NDArray[np.float64]
# What detectors count with: masks, or a row of int8 weights for each.
Counters = BitMatrix | NDArray[np.int8]

DType = Literal["float64", "float32"]

SHOWN_ERRORS = 1000  # rows in error that the metadata of an export list


@dataclass(frozen=True, eq=False)
class Scale:
    """(x - mean) / scale, feature by feature, in float64."""

    mean: Floats
    scale: Floats


class Plain(Enum):
    """A step without numbers of its own."""

    ROUND = "points rounded to float32, whatever format the runtime computes in"
    APPEND_SQUARE = "the squared norm as one more feature"
    FIRE = "bits: which numbers are positive"
    RAMP = "negative numbers become zero"


@dataclass(frozen=True, eq=False)
class Affine:
    """weights @ signal + bias; in float64 where ``whole``: these are integers."""

    weights: NDArray[Any]
    bias: NDArray[Any]
    whole: bool = False


@dataclass(frozen=True, eq=False)
class SparseAffine:
    """As ``Affine``, for a CSR array of weights; where it ``fires``, bits: which of these numbers are positive."""

    weights: Any
    bias: NDArray[Any]
    fires: bool = False


@dataclass(frozen=True, eq=False)
class Count:
    """bias + sign times the number of masked bits that are on, or the sum of their weights, in integers.

    Where not ``whole``: times the sum of masked numbers, in the format of the export.
    """

    masks: Counters
    sign: int
    bias: NDArray[Any]
    whole: bool = True


@dataclass(frozen=True, eq=False)
class Slack:
    """Largest relative slack of each output's detectors, (limit - half - height) / span, in float64.

    ``owners`` ascend: detector m speaks for output ``owners[m]``. ``half`` is 1/2 for counts; for
    real values it is 0, and a slack of zero counts as negative. See :mod:`exactfit.network.detector_network`.
    """

    masks: Counters
    limits: Floats
    spans: Floats
    owners: NDArray[np.int64]
    n_outputs: int
    half: float

    def sizes(self) -> list[int]:
        """Detectors of each output."""
        return [int(size) for size in np.bincount(self.owners, minlength=self.n_outputs)]


@dataclass(frozen=True)
class Clearest:
    """From slack to scores as ``decision_function`` has them, and to class indices as ``predict`` has them.

    ``outputs`` are the classes that the slacks stand for, of ``n_classes`` in all.
    """

    outputs: tuple[int, ...]
    n_classes: int
    one_sided: bool


Step = Scale | Plain | Affine | SparseAffine | Count | Slack


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps in order, what turns the last signal into scores and class indices, and the labels of these.

    A bare network has no labels: its label is the class index itself, -1 where undecided.
    """

    n_features: int
    steps: tuple[Step, ...]
    head: Clearest | Decoder
    classes: NDArray[Any] | None = None  # labels by class index
    about: dict[str, str] = field(default_factory=dict)  # what else a reader of the file should know

    @property
    def is_scaled(self) -> bool:
        """Whether points come in as they were measured: then they are float64 numbers, whatever the format."""
        return any(isinstance(step, Scale) for step in self.steps)


@dataclass(frozen=True, eq=False)
class SwitchPlan:
    """What to compute for a repaired model."""

    patches: Plan  # its class index is -1 where patches decide nothing
    model: Plan | Graph  # a chain of layers, or an ONNX graph
    classes: NDArray[Any]
    about: dict[str, str]


# ---- What a user hands over ----------------------------------------------------------------------------


def plan_of(model: Any, dtype: DType) -> Plan:
    """What to compute for a fitted classifier, a table's model, a construction or a network."""
    if isinstance(model, Construction):
        model = model.network
    if isinstance(model, Network):
        return replace(plan_network(model), about=_about_network(model, dtype))
    if isinstance(model, InterpolatingClassifier):
        return _plan_of_classifier(model, dtype)
    if hasattr(model, "encoding_") and hasattr(model, "classifier_"):
        # Columns as numbers, categories as zeros and ones, in the order that the metadata say; scaling is inside.
        plan = _plan_of_classifier(model.classifier_, dtype)
        about = plan.about | {
            "exactfit.feature_names": json.dumps(list(model.features_)),
            "exactfit.columns": json.dumps(model.encoding_.to_dict()),
        }
        return replace(plan, steps=(Scale(model.mean_, model.scale_), *plan.steps), about=about)
    if hasattr(model, "fit") and hasattr(model, "classifier"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit before exporting it")
    raise ParameterError(
        "exports take a fitted InterpolatingClassifier, TableModel, Construction or Network, "
        f"got {type(model).__name__}"
    )


def _plan_of_classifier(model: InterpolatingClassifier, dtype: DType) -> Plan:
    check_is_fitted(model, "network_")
    plan = plan_classifier(model.network_, model.classes_, model.exact_in)
    return replace(plan, about=_about_classifier(model, dtype))


def plan_repaired(model: RepairedClassifier, dtype: DType, in_onnx: bool) -> SwitchPlan:
    """The plan of a repaired model, with its ONNX graph if there is one and that is wanted; refuses any other model."""
    check_is_fitted(model, "network_")
    behind = model.repair_.model

    def plan(network: Network) -> Plan:
        found = plan_network(network)
        return replace(found, steps=(Plain.ROUND, *found.steps)) if model.exact_in == "float32" else found

    if behind.chain is not None and not (in_onnx and behind.graph is not None):
        other: Plan | Graph = plan(behind.chain)
    elif behind.graph is not None:
        other = behind.graph
    else:
        raise ParameterError(
            f"{type(behind.source).__name__} is neither a chain of layers nor an ONNX graph: "
            "convert the model to ONNX, and repair that"
        )
    return SwitchPlan(plan(model.network_.patches), other, behind.classes, _about_classifier(model, dtype))


def _about_classifier(model: Any, dtype: DType) -> dict[str, str]:
    """What a reader of the file should know of a classifier, or of a repaired model."""
    names, certificate = getattr(model, "feature_names_in_", None), model.certificate_.to_dict()
    about = _about_network(model.network_, dtype) | {
        "exactfit.classes": json.dumps(model.classes_.tolist()),
        "exactfit.exact_in": model.exact_in or "",
        "exactfit.certificate": json.dumps(certificate | {"errors": certificate["errors"][:SHOWN_ERRORS]}),
        "exactfit.proved": proved(model.certificate_, dtype),
    }
    if names is not None:
        about["exactfit.feature_names"] = json.dumps([str(name) for name in names])
    return about


def _about_network(network: Network | SwitchedNetwork, dtype: DType) -> dict[str, str]:
    return {"exactfit.version": __version__, "exactfit.network_sha256": network.digest, "exactfit.dtype": dtype}


def proved(certificate: Certificate, dtype: DType) -> str:
    """Return what a certificate says about evaluations in the format of an export."""
    safe = certificate.float64_safe if dtype == "float64" else certificate.float32_safe
    points = f"{certificate.n_samples} training points"
    if safe:
        given = "" if certificate.answers_digest is None else f", {GIVEN_ANSWERS}"
        return f"all {points} are right in every {dtype} evaluation (proof: {certificate.proof}{given})"
    right = certificate.n_samples - certificate.n_errors
    return (
        f"{right} of {points} are right in {certificate.arithmetic} arithmetic (proof: {certificate.proof}); "
        f"in {dtype} nothing is proved: certify(model, X, y, arithmetic={dtype!r}) names the rows that are not safe"
    )


# ---- Networks and classifiers as steps -----------------------------------------------------------------


def plan_network(network: Network) -> Plan:
    """A network as it is: scores are its outputs, the label is what its decoder says."""
    return Plan(network.n_features, tuple(_steps(network)), network.decoder)


def plan_classifier(network: Network, classes: NDArray[Any], exact_in: str | None) -> Plan:
    """A classifier over a network of the paper's form: scores and labels of ``decision_function`` and ``predict``."""
    found = DetectorNetwork.of(network)
    order = np.argsort(found.outputs, kind="stable")
    found = found.take(order, found.limits[order])
    steps: list[Step] = [Plain.ROUND] if exact_in == "float32" else []
    steps += _activated(_affine(found.first), found.activation)
    limits = found.limits.astype(np.float64)
    weights = found.counters.values if isinstance(found.counters, WeightedMasks) else found.counters.bits
    steps.append(Slack(weights, limits, found.spans, found.outputs, len(found.classes), found.half))
    head = Clearest(network.decoder.classes, len(classes), network.decoder.kind == "sign")
    return Plan(network.n_features, tuple(steps), head, classes)


def _steps(network: Network) -> Iterator[Step]:
    if network.input_map == "append_squared_norm":
        yield Plain.APPEND_SQUARE
    reach: int | None = None  # what whole numbers come in are at most, None if they are not whole
    bits = False
    for index, layer in enumerate(network.layers):
        step, reach = _step(layer, index, bits, reach)
        yield from _activated(step, layer.activation)
        bits = layer.activation is not None and layer.activation.is_threshold
        reach = 1 if bits else reach


def _step(layer: Layer, index: int, bits: bool, reach: int | None) -> tuple[Step, int | None]:
    """A layer without its activation, and how large the whole numbers can be that it gives."""
    weights = layer.weights
    if isinstance(weights, Masks):
        if not bits:
            return Count(weights.bits, weights.sign, layer.bias, whole=False), None
        return Count(weights.bits, weights.sign, layer.bias), _sum_of(np.ones((1, weights.shape[1])), layer.bias, 1)
    if isinstance(weights, WeightedMasks):
        reach = _sum_of(weights.values, layer.bias, 1)
        if bits:
            return Count(weights.values, weights.sign, layer.bias), reach
        return Affine(weights.sign * weights.values.astype(np.float64), layer.bias.astype(np.float64)), None
    if isinstance(weights, Integers):
        _refuse_beyond(index, [*weights.values.flat, *layer.bias.flat])
        if reach is not None:
            reach = _sum_of(weights.values, layer.bias, reach)
            _refuse_beyond(index, [reach])
        return Affine(weights.values.astype(np.float64), layer.bias.astype(np.float64), whole=True), reach
    return _affine(layer), None


def _affine(layer: Layer) -> Affine | SparseAffine:
    weights = layer.weights
    assert isinstance(weights, Dense | Sparse)
    return Affine(weights.values, layer.bias) if isinstance(weights, Dense) else SparseAffine(weights.rows, layer.bias)


def _activated(step: Step, activation: Activation | None) -> list[Step]:
    """Return a layer's step with its activation, which is part of it where sparse weights are followed by bits."""
    if activation is None:
        return [step]
    if activation.is_own:
        raise ParameterError(
            f"activation {activation.name!r} is your own, and no runtime knows it: "
            'build the network with activation="threshold" or "relu" to export it'
        )
    if isinstance(step, SparseAffine) and activation.is_threshold:
        return [replace(step, fires=True)]
    return [step, Plain.FIRE if activation.is_threshold else Plain.RAMP]


def _sum_of(weights: NDArray[Any], bias: NDArray[Any], reach: int) -> int | None:
    """The largest sum of whole numbers up to ``reach``; None if a bias is not whole."""
    if bias.dtype.kind not in "iuO":
        return None
    sizes = [reach * sum(abs(int(weight)) for weight in row) for row in weights]
    return max(sizes, default=0) + max((abs(int(value)) for value in bias), default=0)


def _refuse_beyond(index: int, values: list[Any]) -> None:
    if any(value is not None and abs(int(value)) > EXACT_INTEGERS for value in values):
        raise ParameterError(
            f"layer {index} needs integers beyond 2^53, which no runtime's numbers hold exactly: "
            "such a network answers in exactfit only (save and load it), or choose another construction to export"
        )


def check_dtype(dtype: Any) -> DType:
    """Refuse anything but the two formats."""
    if not isinstance(dtype, str) or dtype not in get_args(DType):
        raise ParameterError(f"dtype must be 'float64' or 'float32', got {shown(dtype)}")
    return cast("DType", dtype)


def cast_to(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Numbers in the format of an export; refuse those that overflow it."""
    with np.errstate(over="ignore"):
        cast = np.ascontiguousarray(values, dtype=dtype)
    if not np.isfinite(cast).all():
        raise ParameterError(f'the network holds numbers beyond {dtype}: export it with dtype="float64"')
    return cast


def numbers_or_text(classes: NDArray[Any], otherwise: str) -> NDArray[Any]:
    """Labels as runtimes can hold them: numbers and bools in native byte order, or an object array of strings.

    ``otherwise`` is how the message begins for any others.
    """
    if classes.dtype.kind in "biuf":
        return classes.astype(classes.dtype.newbyteorder("="))
    labels = classes.tolist()
    if not all(isinstance(label, str) for label in labels):
        name = type(labels[0]).__name__
        raise ParameterError(f"{otherwise} labels of type {name}: use numbers, bools or text as labels")
    return np.array(labels, dtype=object)
