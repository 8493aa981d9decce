"""Our nodes in graphs of others: scikit-learn's pipelines through skl2onnx, patches before a model's own graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from ..estimators import InterpolatingClassifier
from ..exceptions import MissingDependencyError, ParameterError
from ..repairs.graphs import Graph
from .onnx import IR, OPSET, Builder, scores_shape, set_properties
from .plan import DType, SwitchPlan, plan_of

ALIAS = "ExactfitInterpolatingClassifier"
PREFIX = "exactfit_"  # of names that come into a graph of somebody else
NEWEST_IR = 10  # what current runtimes read


def register_onnx_converter() -> None:
    """Teach skl2onnx to convert :class:`~exactfit.InterpolatingClassifier`, on its own and in pipelines.

    :func:`~exactfit.to_onnx` does so by itself when it is given a pipeline. Ask skl2onnx for a
    ``target_opset`` of 18 to 21. Outputs are ``label`` and ``scores``, plain tensors; the first layer is
    computed in the type of the input, float32 or float64.

    Raises
    ------
    MissingDependencyError
        If skl2onnx is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import exactfit
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> exactfit.register_onnx_converter()
    >>> model = make_pipeline(StandardScaler(), exactfit.InterpolatingClassifier(random_state=0))
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> graph = exactfit.to_onnx(model.fit(X, [3, 5, 3]))
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise MissingDependencyError(
            "converting a pipeline needs skl2onnx: pip install skl2onnx (or exactfit[onnx])"
        ) from error
    update_registered_converter(InterpolatingClassifier, ALIAS, _shapes, _convert, parser=_parse)


def convert_pipeline(pipeline: Any, dtype: DType) -> Any:
    """Return a fitted pipeline that ends in our classifier as an ONNX model."""
    last = pipeline.steps[-1][1]
    if not isinstance(last, InterpolatingClassifier):
        raise ParameterError(f"the pipeline must end in an InterpolatingClassifier, not in {type(last).__name__}")
    register_onnx_converter()
    from skl2onnx import convert_sklearn

    proto = convert_sklearn(pipeline, initial_types=_inputs_of(pipeline, dtype), target_opset=OPSET)
    read = {name for node in proto.graph.node for name in node.input}
    for part in [part for part in proto.graph.input if part.name not in read]:  # columns that are dropped
        proto.graph.input.remove(part)
    proto.ir_version = min(proto.ir_version, IR)
    set_properties(proto, plan_of(last, dtype).about)
    return proto


def _inputs_of(pipeline: Any, dtype: DType) -> list[tuple[str, Any]]:
    """Return name and type of each input: ``X``, or the columns of a frame where a ColumnTransformer picks some."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    kind = DoubleTensorType if dtype == "float64" else FloatTensorType
    names, first = getattr(pipeline, "feature_names_in_", None), pipeline
    while isinstance(first, Pipeline):
        first = first.steps[0][1]
    if names is None or not isinstance(first, ColumnTransformer):
        return [("X", kind([None, pipeline.n_features_in_]))]
    text = set()  # columns in which a fitted encoder or imputer has met text
    for step in first.named_transformers_.values():
        for part in (part for _, part in step.steps) if isinstance(step, Pipeline) else (step,):
            known = getattr(part, "categories_", None) or [[fill] for fill in getattr(part, "statistics_", ())]
            if known:
                pairs = zip(step.feature_names_in_, known, strict=True)
                text |= {name for name, met in pairs if any(isinstance(one, str) for one in met)}
    return [(name, (StringTensorType if name in text else kind)([None, 1])) for name in names]


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs: skl2onnx would call them label and probabilities."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

    operator = scope.declare_local_operator(ALIAS, model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable("scores", FloatTensorType()))
    return operator.outputs


def _dtype_of(operator: Any) -> DType:
    from skl2onnx.common.data_types import DoubleTensorType

    return "float64" if isinstance(operator.inputs[0].type, DoubleTensorType) else "float32"


def _shapes(operator: Any) -> None:
    """Declare types and shapes of the outputs."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, guess_data_type

    classes = operator.raw_operator.classes_
    plain = classes.astype(classes.dtype.newbyteorder("=")) if classes.dtype.kind in "biuf" else classes.astype(str)
    operator.outputs[0].type = type(guess_data_type(plain)[0][1])([None])
    shape = [None] if len(classes) == 2 else [None, len(classes)]
    kind = DoubleTensorType if _dtype_of(operator) == "float64" else FloatTensorType
    operator.outputs[1].type = kind(shape)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of our own graph to skl2onnx's."""
    from onnx import helper

    dtype = _dtype_of(operator)
    builder = Builder(dtype, prefix=scope.get_unique_variable_name("exactfit") + "_")
    source = builder.cast(operator.inputs[0].full_name, np.dtype(dtype))
    label, scores = builder.build(plan_of(operator.raw_operator, dtype), source)
    builder.rename(label, operator.outputs[0].full_name)
    builder.rename(scores, operator.outputs[1].full_name)
    container.initializers.extend(builder.constants)
    for node in builder.nodes:
        attributes = {part.name: helper.get_attribute_value(part) for part in node.attribute}
        container.add_node(node.op_type, list(node.input), list(node.output), name=node.name, **attributes)


# ---- Repaired models -----------------------------------------------------------------------------------


def switched_graph(plan: SwitchPlan, dtype: DType) -> Any:
    """Return a repaired model as an ONNX model with input ``X`` and outputs ``label`` and ``scores``."""
    if isinstance(plan.model, Graph):
        return _into_graph(plan, plan.model, dtype)
    # Of a chain of layers, outputs are those of ``predict`` and ``decision_function``.
    builder, n_classes = Builder(dtype), len(plan.classes)
    patched, _ = builder.build(plan.patches, "X")
    codes, scores = builder.build(plan.model, "X")
    fires = builder.add("GreaterOrEqual", patched, builder.constant(0, np.int64))
    both = builder.add("Where", fires, patched, codes)
    label = builder.add("Gather", builder.labels(plan.classes), both, axis=0)
    raised = _raised(builder, patched, scores, n_classes, dtype)
    if n_classes == 2:
        columns = builder.add("Split", raised, builder.constant([1, 1], np.int64), axis=1, outputs=2)
        raised = builder.add("Squeeze", builder.add("Sub", columns[1], columns[0]), builder.constant([1], np.int64))
    proto = builder.model((label, raised), plan.classes, scores_shape(n_classes), plan.patches.n_features, dtype)
    set_properties(proto, plan.about)
    return proto


def _raised(builder: Builder, patched: str, scores: str, n_classes: int, dtype: Any) -> str:
    """Raise the score of the patches' class above all others, where patches decide."""
    axis = builder.constant([1], np.int64)
    own = builder.add(
        "Equal", builder.add("Unsqueeze", patched, axis), builder.constant(np.arange(n_classes)[None, :], np.int64)
    )
    # Twice the highest, plus one: above every other score, also where all of them are negative.
    highest = builder.add("Relu", builder.add("ReduceMax", scores, axis, keepdims=1))
    top = builder.add("Add", builder.add("Add", highest, highest), builder.constant(1.0, dtype))
    return str(builder.add("Where", own, top, scores))


def _into_graph(plan: SwitchPlan, graph: Graph, dtype: DType) -> Any:
    """Return the model's own graph, with its inputs and outputs, and answers of patches in place of its own.

    Labels and scores keep their names; a graph without labels gets an output ``label``.
    """
    from onnx import TensorProto, helper

    proto = _recent(graph.proto)
    kinds = {part.name: part.type.tensor_type.elem_type for part in proto.graph.output}
    builder = Builder(dtype, PREFIX)
    flat = builder.add("Flatten", graph.input.name, axis=1)
    patched, _ = builder.build(plan.patches, builder.cast(flat, dtype))
    if graph.label is not None:
        kind = kinds[graph.label]
        table = (
            builder.labels(plan.classes)
            if kind == TensorProto.STRING
            else builder.constant(plan.classes, helper.tensor_dtype_to_np_dtype(kind))
        )
        own = builder.add("Gather", table, builder.add("Max", patched, builder.constant(0, np.int64)))
        fires = builder.add("GreaterOrEqual", patched, builder.constant(0, np.int64))
        _replace(proto, builder, graph.label, builder.add("Where", fires, own, graph.label))
    if graph.scores is not None and graph.n_outputs == len(plan.classes):
        dtype = "float32" if kinds[graph.scores] == TensorProto.FLOAT else "float64"
        raised = _raised(builder, patched, graph.scores, len(plan.classes), dtype)
        _replace(proto, builder, graph.scores, raised)
        if graph.label is None:
            taken = {part.name for part in (*proto.graph.input, *proto.graph.output)}
            codes, name = builder.add("ArgMax", graph.scores, axis=1, keepdims=0), "label"
            name = PREFIX + name if name in taken else name
            builder.rename(builder.add("Gather", builder.labels(plan.classes), codes, axis=0), name)
            proto.graph.output.append(helper.make_tensor_value_info(name, builder.label_type(plan.classes), ["N"]))
    proto.graph.node.extend(builder.nodes)
    proto.graph.initializer.extend(builder.constants)
    set_properties(proto, plan.about)
    return proto


def _recent(given: Any) -> Any:
    """Return a copy in an operator set that has the operations of patches."""
    from onnx import ModelProto, version_converter

    versions = {part.domain: part.version for part in given.opset_import}
    if versions.get("", OPSET) >= OPSET:
        proto = ModelProto()
        proto.CopyFrom(given)
    else:
        try:
            proto = version_converter.convert_version(given, OPSET)
        except Exception as error:  # the converter has exceptions of its own
            told = " ".join(str(error).split())[:200]
            raise ParameterError(
                f"onnx cannot convert the model to operator set {OPSET}: export it so ({told})"
            ) from error
    proto.ir_version = min(max(proto.ir_version, IR), NEWEST_IR)
    return proto


def _replace(proto: Any, builder: Builder, name: str, new: str) -> None:
    """Give an output's name to a new signal; the graph's own goes by another one from now on."""
    # Whoever knows the graph knows its outputs by name: they keep it, and what they were goes by another.
    before = f"{PREFIX}{name}_before"
    for node in (*proto.graph.node, *builder.nodes):
        node.input[:] = [before if part == name else part for part in node.input]
    for node in proto.graph.node:
        node.output[:] = [before if part == name else part for part in node.output]
    builder.rename(new, name)
