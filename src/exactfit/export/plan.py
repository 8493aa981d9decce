"""Plans of exports: steps that a runtime computes one after the other, from points to labels and scores.

Signals are floating-point numbers in the format of the export, bits after a threshold, or float64 numbers: integers
(counts, integer weights), and whatever comes after sums of masked numbers. Steps hold numbers only; each runtime has
its own way to say them.
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
from ..network import Decoder, Dense, Integers, Layer, Masks, Network, WeightedMasks
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


class Plain(Enum):
    """Step without numbers of its own."""

    ROUND = "points rounded to float32, whatever format the runtime computes in"
    APPEND_SQUARE = "the squared norm as one more feature"
    FIRE = "bits: which numbers are positive"
    RAMP = "negative numbers become zero"


@dataclass(frozen=True, eq=False)
class Scale:
    """(x - mean) / scale, feature by feature, in float64."""

    mean: Floats
    scale: Floats


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
    """bias + sign times the number of masked bits that are on, or the sum of their weights, in float64.

    Where not ``whole``: times the sum of masked numbers, which is added up in the format of the export.
    """

    masks: Counters
    sign: int
    bias: NDArray[Any]
    whole: bool = True


@dataclass(frozen=True, eq=False)
class Slack:
    """Largest relative slack of each output's detectors, from limit - half - count: never zero, in float64.

    ``outputs`` ascend: detector m speaks for ``outputs[m]``. See ``DetectorNetwork.class_slack``.
    """

    spans: Floats
    outputs: NDArray[np.int64]
    n_outputs: int
    may_be_zero: bool  # of real values; a slack of zero counts as negative

    @property
    def sizes(self) -> list[int]:
        """Number of detectors of each output."""
        return [int(size) for size in np.bincount(self.outputs, minlength=self.n_outputs)]


@dataclass(frozen=True)
class Clearest:
    """From slack to scores as ``decision_function`` has them, and to class indices as ``predict`` has them.

    ``outputs`` are the classes that the slacks stand for, of ``n_classes`` in all.
    """

    outputs: tuple[int, ...]
    n_classes: int
    one_sided: bool


Step = Plain | Scale | Affine | SparseAffine | Count | Slack


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps in order, the rule from the last signal to scores and class indices, and the labels of these.

    A bare network has no labels: its label is the class index itself, -1 where undecided.
    """

    n_features: int
    steps: tuple[Step, ...]
    head: Clearest | Decoder
    classes: NDArray[Any] | None = None  # labels by class index
    about: dict[str, str] = field(default_factory=dict)  # metadata of the file

    @property
    def is_scaled(self) -> bool:
        """Whether points come in unscaled: then they are float64 numbers, whatever the format."""
        return any(isinstance(step, Scale) for step in self.steps)


@dataclass(frozen=True, eq=False)
class SwitchPlan:
    """Plan of a repaired model: patches, then the model."""

    patches: Plan  # its class index is -1 where patches decide nothing
    model: Plan | Graph  # a chain of layers, or an ONNX graph
    classes: NDArray[Any]
    about: dict[str, str]


# ---- Plans of what a user hands over -----------------------------------------------------------------------


def plan_of(model: Any, dtype: DType) -> Plan:
    """Return the plan of a fitted classifier, a table's model, a construction or a network."""
    if isinstance(model, Construction):
        model = model.network
    if isinstance(model, Network):
        return replace(_plan_of_network(model), about=_about_network(model, dtype))
    if isinstance(model, InterpolatingClassifier):
        check_is_fitted(model, "network_")
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


def plan_repaired(model: RepairedClassifier, dtype: DType, in_onnx: bool) -> SwitchPlan:
    """Return the plan of a repaired model, with its ONNX graph if there is one and that is wanted."""
    check_is_fitted(model, "network_")
    behind = model.repair_.model

    def plan(network: Network) -> Plan:
        found = _plan_of_network(network)
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


def _plan_of_classifier(model: InterpolatingClassifier, dtype: DType) -> Plan:
    """Return the plan of ``predict`` and ``decision_function``."""
    network = DetectorNetwork.of(model.network_)
    # Detectors of an output side by side: the largest slack is then that of a range of columns.
    order = np.argsort(network.outputs, kind="stable")
    found = network.take(order, network.limits[order])
    steps: list[Step] = [Plain.ROUND] if model.exact_in == "float32" else []
    steps += _activated(_step(found.first, 0, False, None)[0], found.activation)
    counters = found.counters.values if isinstance(found.counters, WeightedMasks) else found.counters.bits
    steps.append(Count(counters, -1, found.limits.astype(np.float64) - found.half, whole=bool(found.half)))
    steps.append(Slack(found.spans, found.outputs, len(found.classes), not found.half))
    head = Clearest(network.decoder.classes, len(model.classes_), network.decoder.kind == "sign")
    return Plan(network.n_features, tuple(steps), head, model.classes_, _about_classifier(model, dtype))


def _plan_of_network(network: Network) -> Plan:
    """Return the plan of a network as it is: scores are its outputs, the label is what its decoder says."""
    return Plan(network.n_features, tuple(_steps(network)), network.decoder)


# ---- Metadata ----------------------------------------------------------------------------------------------


def _about_classifier(model: Any, dtype: DType) -> dict[str, str]:
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


# ---- Layers as steps ---------------------------------------------------------------------------------------


def _steps(network: Network) -> Iterator[Step]:
    if network.input_map == "append_squared_norm":
        yield Plain.APPEND_SQUARE
    reach: int | None = None  # what integers come in are at most, None if they are no integers
    bits = False
    for index, layer in enumerate(network.layers):
        step, reach = _step(layer, index, bits, reach)
        yield from _activated(step, layer.activation)
        bits = layer.activation is not None and layer.activation.is_threshold
        reach = 1 if bits else reach


def _step(layer: Layer, index: int, bits: bool, reach: int | None) -> tuple[Step, int | None]:
    """Return a layer without its activation, and how large the integers can be that it gives."""
    weights = layer.weights
    if isinstance(weights, Masks):
        reach = _largest_sum(np.ones((1, weights.shape[1])), layer.bias, 1) if bits else None
        return Count(weights.bits, weights.sign, layer.bias, whole=bits), reach
    if isinstance(weights, WeightedMasks):
        if bits:
            return Count(weights.values, weights.sign, layer.bias), _largest_sum(weights.values, layer.bias, 1)
        return Affine(weights.sign * weights.values.astype(np.float64), layer.bias.astype(np.float64)), None
    if isinstance(weights, Integers):
        _refuse_beyond(index, [*weights.values.flat, *layer.bias.flat])
        if reach is not None:
            reach = _largest_sum(weights.values, layer.bias, reach)
            _refuse_beyond(index, [reach])
        return Affine(weights.values.astype(np.float64), layer.bias.astype(np.float64), whole=True), reach
    return (Affine if isinstance(weights, Dense) else SparseAffine)(
        weights.values if isinstance(weights, Dense) else weights.rows, layer.bias
    ), None


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


def _largest_sum(weights: NDArray[Any], bias: NDArray[Any], reach: int) -> int | None:
    """Return a bound on sums of integers up to ``reach``; None if a bias is no integer."""
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


# ---- Numbers and labels as runtimes hold them --------------------------------------------------------------


def check_dtype(dtype: Any) -> DType:
    """Refuse anything but the two formats."""
    if not isinstance(dtype, str) or dtype not in get_args(DType):
        raise ParameterError(f"dtype must be 'float64' or 'float32', got {shown(dtype)}")
    return cast("DType", dtype)


def cast_to(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Return numbers in the format of an export; refuse those that overflow it."""
    with np.errstate(over="ignore"):
        cast = np.ascontiguousarray(values, dtype=dtype)
    if not np.isfinite(cast).all():
        raise ParameterError(f'the network holds numbers beyond {dtype}: export it with dtype="float64"')
    return cast


def numbers_or_text(classes: NDArray[Any], otherwise: str) -> NDArray[Any]:
    """Return labels as numbers and bools in native byte order, or as an object array of strings.

    ``otherwise`` is how the message begins for any others.
    """
    if classes.dtype.kind in "biuf":
        return classes.astype(classes.dtype.newbyteorder("="))
    labels = classes.tolist()
    if not all(isinstance(label, str) for label in labels):
        name = type(labels[0]).__name__
        raise ParameterError(f"{otherwise} labels of type {name}: use numbers, bools or text as labels")
    return np.array(labels, dtype=object)
