"""A converter for skl2onnx, so that a scikit-learn pipeline with our classifier in it converts as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators import InterpolatingClassifier
from ..exceptions import MissingDependencyError, ParameterError
from .onnx import IR, OPSET, Builder
from .plan import DType, plan_of

ALIAS = "ExactfitInterpolatingClassifier"


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
    """A fitted pipeline that ends in our classifier as an ONNX model."""
    last = pipeline.steps[-1][1]
    if not isinstance(last, InterpolatingClassifier):
        raise ParameterError(f"the pipeline must end in an InterpolatingClassifier, not in {type(last).__name__}")
    register_onnx_converter()
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if dtype == "float64" else FloatTensorType
    n_features = pipeline.n_features_in_
    proto = convert_sklearn(pipeline, initial_types=[("X", kind([None, n_features]))], target_opset=OPSET)
    proto.ir_version = min(proto.ir_version, IR)
    for name, text in plan_of(last, dtype).about.items():
        proto.metadata_props.add(key=name, value=text)
    return proto


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
    """Types and shapes of the outputs."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, guess_data_type

    classes = operator.raw_operator.classes_
    plain = classes.astype(classes.dtype.newbyteorder("=")) if classes.dtype.kind in "biuf" else classes.astype(str)
    operator.outputs[0].type = guess_data_type(plain[:1], [None])[0][1]
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
