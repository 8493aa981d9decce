"""Small ONNX graphs of somebody else's making."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

ROWS = 60


def two_layers(
    n_inputs: int, n_outputs: int, *, middle: str | None = "Relu", last: str | None = None, gemm: bool = True,
    shape: tuple[int, ...] | None = None, rows: Any = "N", opset: int = 18, labels: list[str] | None = None,
    only_sums: bool = False, dtype: Any = np.float32, inputs: int | None = 0, outputs: int | None = None,
) -> Any:  # fmt: skip
    """Weights, an activation, weights again; whole numbers, so that every evaluation agrees."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(n_inputs + n_outputs)
    n_outputs = outputs or n_outputs
    shape = (n_inputs,) if shape is None else shape
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    first, second = rng.integers(-4, 5, (n_inputs, 8)), rng.integers(-4, 5, (8, n_outputs))
    constants = {"W": first, "b": rng.integers(-3, 4, 8), "V": second.T if gemm else second, "c": np.arange(n_outputs)}
    given = [numpy_helper.from_array(values.astype(dtype), name) for name, values in constants.items()]
    nodes = [helper.make_node("Flatten", ["points"], ["flat"], axis=1)] if len(shape) > 1 else []
    start = "flat" if nodes else "points"
    nodes += [helper.make_node("MatMul", [start, "W"], ["s"]), helper.make_node("Add", ["s", "b"], ["t"])]
    if middle:
        nodes.append(helper.make_node(middle, ["t"], ["h"]))
    before = "h" if middle else "t"
    if gemm:
        nodes.append(helper.make_node("Gemm", [before, "V", "c"], ["z"], transB=1))
    else:
        nodes += [helper.make_node("MatMul", [before, "V"], ["r"]), helper.make_node("Add", ["c", "r"], ["z"])]
    found = [helper.make_tensor_value_info("z", kind, [rows, n_outputs])]
    if last == "ArgMax":
        nodes.append(helper.make_node("ArgMax", ["z"], ["best"], axis=1, keepdims=0))
        found.append(helper.make_tensor_value_info("best", TensorProto.INT64, [rows]))
    elif last:
        nodes.append(helper.make_node(last, ["z"], ["shares"], axis=1))
        found = [helper.make_tensor_value_info("shares", kind, [rows, n_outputs])]
    if labels:
        given.append(numpy_helper.from_array(np.array(labels, dtype=object), "names"))
        nodes.append(helper.make_node("Gather", ["names", "best"], ["answer"]))
        found = [found[0], helper.make_tensor_value_info("answer", TensorProto.STRING, [rows])]
    if only_sums:
        nodes.append(helper.make_node("ReduceSum", ["z"], ["sum"], keepdims=0))
        found = [helper.make_tensor_value_info("sum", kind, [])]
    sizes = [rows, *(["d"] if inputs is None else shape)]
    points = helper.make_tensor_value_info("points", kind, sizes)
    graph = helper.make_graph(nodes, "foreign", [points], found, given)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    proto.ir_version = 8
    return proto


def written(proto: Any, folder: Path) -> Path:
    """The graph in a file."""
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path
