"""Repaired models for other runtimes: patches, the model behind them, and the switch, as one graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ParameterError
from ..network import Network
from ..repairs import RepairedClassifier
from ..repairs.graphs import Graph
from .onnx import IR, OPSET, Builder, labels_in_onnx
from .plan import DType, Plan, Round, about_classifier, plan_network

PREFIX = "exactfit_"  # of names that come into a graph of somebody else
NEWEST_IR = 10  # what current runtimes read


@dataclass(frozen=True, eq=False)
class SwitchPlan:
    """What to compute for a repaired model.

    Attributes
    ----------
    patches : Plan
        Its class index is -1 where patches decide nothing.
    model : Plan or Graph
        A chain of layers, or an ONNX graph.
    classes : ndarray
    about : dict of str
    """

    patches: Plan
    model: Plan | Graph
    classes: NDArray[Any]
    about: dict[str, str] = field(default_factory=dict)


def plan_repaired(model: RepairedClassifier, dtype: DType, in_onnx: bool) -> SwitchPlan:
    """The plan of a repaired model, with its ONNX graph if there is one and that is wanted; refuses any other model."""
    behind = model.repair_.model
    if behind.graph is None and behind.chain is None:
        raise ParameterError(
            f"{type(behind.source).__name__} is neither a chain of layers nor an ONNX graph: "
            "convert the model to ONNX, and repair that"
        )
    rounds = model.exact_in == "float32"
    other: Plan | Graph
    if behind.graph is not None and (in_onnx or behind.chain is None):
        other = behind.graph
    else:
        assert behind.chain is not None
        other = _plan(behind.chain, rounds)
    return SwitchPlan(_plan(model.network_.patches, rounds), other, behind.classes, about_classifier(model, dtype))


def _plan(network: Network, rounds: bool) -> Plan:
    plan = plan_network(network)
    return replace(plan, steps=(Round(), *plan.steps)) if rounds else plan


def switched_graph(plan: SwitchPlan, dtype: DType) -> Any:
    """A repaired model as an ONNX model."""
    return _into_graph(plan, plan.model, dtype) if isinstance(plan.model, Graph) else _from_chains(plan, dtype)


def _from_chains(plan: SwitchPlan, dtype: DType) -> Any:
    """Input ``X``, outputs ``label`` and ``scores`` as those of ``predict`` and ``decision_function``."""
    from onnx import helper

    assert isinstance(plan.model, Plan)
    builder, n_classes = Builder(dtype), len(plan.classes)
    patched, _ = builder.build(plan.patches, "X")
    codes, scores = builder.build(plan.model, "X")
    fires = builder.add("GreaterOrEqual", patched, builder.constant(0, np.int64))
    both = builder.add("Where", fires, patched, codes)
    label = builder.add("Gather", builder.constant(labels_in_onnx(plan.classes)), both, axis=0)
    raised = _raised(builder, patched, scores, n_classes, dtype)
    if n_classes == 2:
        columns = builder.add("Split", raised, builder.constant([1, 1], np.int64), axis=1, outputs=2)
        raised = builder.add("Squeeze", builder.add("Sub", columns[1], columns[0]), builder.constant([1], np.int64))
    builder.rename(label, "label")
    builder.rename(raised, "scores")
    source = helper.make_tensor_value_info("X", builder.type_of(dtype), ["N", plan.patches.n_features])
    outputs = [
        helper.make_tensor_value_info("label", _label_type(builder, plan.classes), ["N"]),
        helper.make_tensor_value_info("scores", builder.type_of(dtype), ["N"] if n_classes == 2 else ["N", n_classes]),
    ]
    graph = helper.make_graph(builder.nodes, "exactfit", [source], outputs, builder.constants)
    proto = helper.make_model(graph, producer_name="exactfit", opset_imports=[helper.make_opsetid("", OPSET)])
    proto.ir_version = IR
    helper.set_model_props(proto, plan.about)
    return proto


def _raised(builder: Builder, patched: str, scores: str, n_classes: int, dtype: Any) -> str:
    """Scores in which that of the patches' class is above all others, where patches decide."""
    axis = builder.constant([1], np.int64)
    own = builder.add(
        "Equal", builder.add("Unsqueeze", patched, axis), builder.constant(np.arange(n_classes)[None, :], np.int64)
    )
    highest = builder.add("Relu", builder.add("ReduceMax", scores, axis, keepdims=1))
    top = builder.add("Add", builder.add("Add", highest, highest), builder.constant(1.0, dtype))
    return str(builder.add("Where", own, top, scores))


def _label_type(builder: Builder, classes: NDArray[Any]) -> int:
    from onnx import TensorProto

    text = classes.dtype.kind not in "biuf"
    return int(TensorProto.STRING) if text else builder.type_of(classes.dtype.newbyteorder("="))


def _into_graph(plan: SwitchPlan, graph: Graph, dtype: DType) -> Any:
    """The model's own graph, with its inputs and outputs, and what patches decide put in place of what it says.

    Labels and scores keep their names; a graph without labels gets an output ``label``.
    """
    from onnx import helper

    proto = _recent(graph.proto)
    builder = Builder(dtype, PREFIX)
    flat = builder.add("Flatten", graph.input.name, axis=1)
    patched, _ = builder.build(plan.patches, builder.cast(flat, dtype))
    classes = labels_in_onnx(plan.classes)
    if graph.label is not None:
        own = builder.add(
            "Gather", _labels_like(builder, proto, graph.label, classes), _at_least_zero(builder, patched)
        )
        fires = builder.add("GreaterOrEqual", patched, builder.constant(0, np.int64))
        _replace(proto, builder, graph.label, builder.add("Where", fires, own, graph.label))
    if graph.scores is not None and graph.n_outputs == len(plan.classes):
        kind = np.float32 if _output(proto, graph.scores).type.tensor_type.elem_type == 1 else np.float64
        raised = _raised(builder, patched, graph.scores, len(plan.classes), kind)
        _replace(proto, builder, graph.scores, raised)
        if graph.label is None:
            codes, name = builder.add("ArgMax", graph.scores, axis=1, keepdims=0), _free(proto, "label")
            builder.rename(builder.add("Gather", builder.constant(classes), codes, axis=0), name)
            proto.graph.output.append(helper.make_tensor_value_info(name, _label_type(builder, plan.classes), ["N"]))
    proto.graph.node.extend(builder.nodes)
    proto.graph.initializer.extend(builder.constants)
    known = {part.key: part.value for part in proto.metadata_props}
    helper.set_model_props(proto, known | plan.about)
    return proto


def _recent(given: Any) -> Any:
    """A copy in an operator set that has what patches need."""
    from onnx import ModelProto, version_converter

    versions = {part.domain: part.version for part in given.opset_import}
    if versions.get("", OPSET) >= OPSET:
        proto = ModelProto()
        proto.CopyFrom(given)
    else:
        proto = version_converter.convert_version(given, OPSET)
    proto.ir_version = min(max(proto.ir_version, IR), NEWEST_IR)
    return proto


def _at_least_zero(builder: Builder, codes: str) -> str:
    return str(builder.add("Max", codes, builder.constant(0, np.int64)))


def _labels_like(builder: Builder, proto: Any, label: str, classes: NDArray[Any]) -> str:
    """The labels by class index, in the type of an output."""
    from onnx import TensorProto, helper

    kind = _output(proto, label).type.tensor_type.elem_type
    if kind == TensorProto.STRING:
        return builder.constant(classes)
    return builder.constant(classes, helper.tensor_dtype_to_np_dtype(kind))


def _output(proto: Any, name: str) -> Any:
    return next(part for part in proto.graph.output if part.name == name)


def _free(proto: Any, name: str) -> str:
    """The name, or one that nobody has."""
    taken = {part.name for part in (*proto.graph.input, *proto.graph.output)}
    return name if name not in taken else PREFIX + name


def _replace(proto: Any, builder: Builder, name: str, new: str) -> None:
    """Give an output's name to a new signal; the graph's own goes by another one from now on."""
    before = f"{PREFIX}{name}_before"
    for node in (*proto.graph.node, *builder.nodes):
        node.input[:] = [before if part == name else part for part in node.input]
    for node in proto.graph.node:
        node.output[:] = [before if part == name else part for part in node.output]
    builder.rename(new, name)
