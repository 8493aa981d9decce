"""ONNX graphs as models: run by onnxruntime, and read as a chain of layers where they are one, number by number.

Nothing is rounded or fitted anew. Two classes are two outputs, the first of them zero, and the largest output answers:
so expit and softmax, which keep the order of outputs but for rounding, need not be layers (``certificate.chains`` says
what they may round). sign(s) is two thresholds, [s > 0] - [-s > 0], and so sign(0) is zero, as in every runtime.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.processes import refuse_endless
from ..data import Floats, Matrix, refuse_other_features
from ..data.matrices import dense_rows, row_tiles
from ..exceptions import DataError, MissingDependencyError, ParameterError
from ..network import Decoder, Dense, Layer, Network
from ..network.activations import RELU, THRESHOLD

Array = NDArray[Any]

RUN_ROWS = 1024  # points to a run: enough for full speed, little memory for convolutions
LARGEST_FILE = 2**31  # bytes: what one file of Protocol Buffers can hold
LAST = ("Softmax", "LogSoftmax", "ArgMax")  # what may follow the last sum of a chain
LOOKUPS = ("ArrayFeatureExtractor", "Gather")  # labels by place
SAME = ("Identity", "Cast", "Reshape")  # what may follow scores or labels, and leaves them what they are
INT32, INT64, DOUBLE = 6, 7, 11  # element types as ONNX numbers them


@dataclass(frozen=True, eq=False)
class Graph:
    """An ONNX model of one input, with labels or scores among its outputs.

    Attributes
    ----------
    octets : bytes
        The file, whole.
    """

    octets: bytes

    @classmethod
    def of(cls, model: Any) -> Graph:
        """A graph of a file, its octets or a ModelProto, checked as far as repair needs it."""
        if isinstance(model, Graph):
            return model
        if isinstance(model, str | os.PathLike):
            path = Path(model)
            if path.stat().st_size > LARGEST_FILE:
                raise ParameterError(f"{path.name} is larger than one ONNX file can be")
            graph = cls(refuse_endless(path).read_bytes())
        else:
            graph = cls(model if isinstance(model, bytes) else model.SerializeToString())
        graph.check()
        return graph

    def check(self) -> None:
        """Refuse a graph that cannot be asked for answers."""
        _ = self.input_shape, self.input_dtype  # each refuses what points cannot be
        if self.label is None and self.scores is None:
            raise ParameterError(
                "the ONNX model has neither labels (integers or text, one a row) nor scores (numbers, one a class)"
            )
        if self.label is None and self.n_outputs == 1:
            raise ParameterError(
                "the ONNX model has one output, and does not say from where on it means the second class: "
                "give it two outputs, or an output of labels"
            )

    @cached_property
    def proto(self) -> Any:
        """The model as onnx reads it."""
        _require("onnx")
        import onnx

        try:
            proto = onnx.load_model_from_string(self.octets)
            onnx.checker.check_model(proto)
        except Exception as error:  # onnx and protobuf each have exceptions of their own
            raise ParameterError(f"this is no ONNX model: {_one_line(error)}") from error
        return proto

    @cached_property
    def session(self) -> Any:
        """The model as it runs here."""
        _require("onnxruntime")
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised: they need not be written as well
        try:
            return onnxruntime.InferenceSession(self.octets, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime has exceptions of its own for each kind of failure
            raise ParameterError(f"onnxruntime cannot run this model: {_one_line(error)}") from error

    @cached_property
    def constants(self) -> dict[str, Array]:
        """Its constants by name."""
        from onnx import numpy_helper

        return {part.name: numpy_helper.to_array(part) for part in self.proto.graph.initializer}

    @cached_property
    def input(self) -> Any:
        """The one input that is no constant."""
        names = {part.name for part in self.proto.graph.initializer}
        given = [part for part in self.proto.graph.input if part.name not in names]
        if len(given) != 1:
            raise ParameterError(f"the ONNX model takes {len(given)} inputs: repair needs one of points")
        return given[0]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one point."""
        dims = self.input.type.tensor_type.shape.dim
        if len(dims) < 2 or any(part.dim_value < 1 for part in dims[1:]):
            raise ParameterError("the ONNX model does not say how many features a point has")
        if dims[0].dim_value > 0:
            raise ParameterError(
                f"the ONNX model takes exactly {dims[0].dim_value} rows: export it for any number of rows"
            )
        return tuple(int(part.dim_value) for part in dims[1:])

    @property
    def n_features(self) -> int:
        """How many features a point has."""
        return math.prod(self.input_shape)

    @property
    def input_dtype(self) -> np.dtype[Any]:
        """Of the numbers that it takes."""
        from onnx import TensorProto

        given = self.input.type.tensor_type.elem_type
        if given not in (TensorProto.FLOAT, TensorProto.DOUBLE):
            name = TensorProto.DataType.Name(given).lower() if given in TensorProto.DataType.values() else str(given)
            raise ParameterError(f"the ONNX model takes {name}: repair needs one that takes float32 or float64")
        return np.dtype(np.float32 if given == TensorProto.FLOAT else np.float64)

    @cached_property
    def label(self) -> str | None:
        """The output of labels, if there is one."""
        return self._first_output(1, "tensor(int64)", "tensor(int32)", "tensor(string)")

    @cached_property
    def scores(self) -> str | None:
        """The output of scores, if there is one."""
        return self._first_output(2, "tensor(float)", "tensor(double)")

    def _first_output(self, n_axes: int, *types: str) -> str | None:
        outputs = self.session.get_outputs()
        return next((part.name for part in outputs if part.type in types and len(part.shape) == n_axes), None)

    @cached_property
    def n_outputs(self) -> int | None:
        """How many scores a point has; None without scores."""
        if self.scores is None:
            return None
        return int(self._run(np.zeros((1, self.n_features)), self.scores).shape[1])

    @cached_property
    def classes(self) -> Array | None:
        """Labels by class index, where the node that makes the labels names them."""
        from onnx import helper

        makers = {name: node for node in self.proto.graph.node for name in node.output}
        node = makers.get(self.label)
        while node is not None and node.op_type in SAME:
            node = makers.get(node.input[0])
        if node is None:
            return None
        if node.op_type in LOOKUPS:
            table = self.constants.get(node.input[0])
            return None if table is None or table.ndim != 1 else _as_text(table)
        if node.op_type == "ArgMax" and self.chain is not None:
            return np.arange(self.chain.widths[-1])
        lists = [helper.get_attribute_value(part) for part in node.attribute if part.name.startswith("classlabels_")]
        return next((_as_text(np.array(names)) for names in lists if len(names)), None)

    def answers(self, X: Matrix) -> Array:
        """Labels of every row, or places of the largest score where there are no labels."""
        if self.label is None:
            return np.asarray(np.argmax(self.run_scores(X), axis=1))
        return _as_text(self._run(X, self.label).reshape(-1))

    def run_scores(self, X: Matrix) -> Floats:
        """Scores of every row."""
        assert self.scores is not None
        return all_finite(self._run(X, self.scores).astype(np.float64), "the ONNX model")

    def _run(self, X: Matrix, output: str) -> Array:
        refuse_other_features(X.shape[1], self.n_features, taker="model")
        tiles = []
        for tile in row_tiles(X, RUN_ROWS):
            points = dense_rows(X, tile).astype(self.input_dtype).reshape(-1, *self.input_shape)
            try:
                (found,) = self.session.run([output], {self.input.name: points})
            except Exception as error:  # as above
                raise ParameterError(f"onnxruntime cannot run this model: {_one_line(error)}") from error
            if len(found) != len(points):
                raise DataError(f"the ONNX model gave {len(found)} answers for {len(points)} points")
            tiles.append(np.asarray(found))
        return np.concatenate(tiles)

    @cached_property
    def chain(self) -> Network | None:
        """The chain of layers that the graph is; None if it is none."""
        try:
            return _Walk(self).network()
        except (LookupError, TypeError, ValueError) as error:  # of NumPy, onnx, or a layer whose shapes disagree
            raise ParameterError(f"the numbers of the ONNX model do not fit together: {_one_line(error)}") from error


def _as_text(labels: Array) -> Array:
    """Labels, those of text as str."""
    if labels.dtype.kind not in "OS":
        return labels
    return np.array([label.decode() if isinstance(label, bytes) else str(label) for label in labels.tolist()])


def all_finite(scores: Floats, giver: str) -> Floats:
    """The scores; refuses NaN and infinity."""
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise DataError(f"{giver} gave NaN or infinity, first for row {row}")
    return scores


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _require(package: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingDependencyError(f"ONNX models need {package}: pip install {package} (or exactfit[onnx])")


@dataclass
class ChainReader:
    """Layers as they are met from input to output."""

    layers: list[Layer] = field(default_factory=list)
    _pending: tuple[Array, Array] | None = None
    _signs: bool = False  # the units before come in pairs, whose difference is a sign

    def affine(self, weights: Array, bias: Array | None = None) -> None:
        """weights @ signal + bias."""
        if self._pending is not None:  # two sums in a row are two layers
            self._finish(None)
        wide = np.concatenate([weights, -weights], axis=1) if self._signs else weights
        self._signs = False
        self._pending = wide, np.zeros(len(wide), dtype=wide.dtype) if bias is None else np.asarray(bias)

    def add(self, bias: Array) -> bool:
        """Signal + bias; whether the bias belongs to weights that have none yet."""
        if self._pending is None or self._pending[1].any():
            return False
        self._pending = self._pending[0], np.broadcast_to(bias, (len(self._pending[0]),)).copy()
        return True

    def relu(self) -> bool:
        """max(signal, 0); whether it follows numbers that it changes."""
        if self._pending is None:
            return bool(self.layers) and self.layers[-1].activation is not None and not self._signs
        self._finish(RELU)
        return True

    def sign(self) -> bool:
        """sign(signal), as two thresholds; whether it follows a sum."""
        if self._pending is None:
            return False
        weights, bias = self._pending
        self._pending = np.concatenate([weights, -weights]), np.concatenate([bias, -bias])
        self._finish(THRESHOLD)
        self._signs = True
        return True

    def network(self) -> Network | None:
        """The chain that ends in a sum; one output stands for the second of two classes."""
        if self._pending is None:
            return None
        weights, bias = self._pending
        if len(weights) == 1:
            weights, bias = (np.concatenate([np.zeros_like(part), part]) for part in (weights, bias))
            self._pending = weights, bias
        self._finish(None)
        numbers = (part for layer in self.layers for part in layer.weights.tensors().values())
        if not all(np.isfinite(part).all() for part in (*numbers, *(layer.bias for layer in self.layers))):
            return None
        return Network(tuple(self.layers), Decoder("argmax", tuple(range(len(self.layers[-1].bias)))))

    def _finish(self, activation: Any) -> None:
        assert self._pending is not None
        weights, bias = self._pending
        self.layers.append(Layer(Dense(np.ascontiguousarray(weights)), np.ascontiguousarray(bias), activation))
        self._pending = None


class _Walk:
    """Along the nodes of a graph, as long as they are a chain."""

    def __init__(self, graph: Graph) -> None:
        proto = graph.proto.graph
        self.constants = dict(graph.constants)
        self.nodes, self.outputs = proto.node, {part.name for part in proto.output}
        self.signal, self.dtype = graph.input.name, graph.input.type.tensor_type.elem_type
        self.ends = set[str]()  # what follows the last sum
        self.places, self.scores = set[str](), set[str]()  # of these, places of largest scores, and scores
        self.tables = {name for name, part in graph.constants.items() if part.ndim == 1}  # of labels, by place
        self.reader = ChainReader()

    def network(self) -> Network | None:
        """The chain, if all nodes belong to it and all outputs come from its last sum."""
        if not all(self._step(node) for node in self.nodes) or not self.outputs <= self.ends | {self.signal}:
            return None
        return self.reader.network()

    def _step(self, node: Any) -> bool:
        from onnx import helper, numpy_helper

        given = {part.name: helper.get_attribute_value(part) for part in node.attribute}
        if node.op_type == "Constant" and "value" in given:
            self.constants[node.output[0]] = numpy_helper.to_array(given["value"])
            return True
        moving = [name for name in node.input if name and name not in self.constants]
        if moving != [self.signal]:
            return len(moving) == 1 and moving[0] in self.ends and self._after(node, given, moving[0])
        if node.op_type in LAST:
            return self._last(node, given)
        if not self._layer(node, given):
            return False
        self.signal = node.output[0]
        return not self.ends

    def _last(self, node: Any, given: dict[str, Any]) -> bool:
        """Scores or the place of the largest, which say no more than the last sum."""
        self.ends.update(node.output)
        (self.places if node.op_type == "ArgMax" else self.scores).update(node.output)
        axis = given.get("axis", 0 if node.op_type == "ArgMax" else -1)
        return axis in (1, -1) and not given.get("select_last_index")

    def _after(self, node: Any, given: dict[str, Any], name: str) -> bool:
        """What follows these, down to labels by place."""
        self.ends.update(node.output)
        if node.op_type in SAME:
            for names in (self.places, self.scores):
                names.update(node.output if name in names else ())
            return self._is_same(node, given, name)
        if node.op_type in LOOKUPS:
            return node.input[0] in self.tables and name in self.places
        return node.op_type == "ArgMax" and name in self.scores and self._last(node, given)

    def _is_same(self, node: Any, given: dict[str, Any], name: str) -> bool:
        """Whether no score loses digits, and labels stay one for each row."""
        if node.op_type == "Cast":
            return given["to"] in ((self.dtype, DOUBLE) if name in self.scores else (INT32, INT64))
        if node.op_type == "Reshape":
            return name not in self.scores and bool(np.array_equal(self.constants[node.input[1]], [-1]))
        return True

    def _layer(self, node: Any, given: dict[str, Any]) -> bool:
        still = [self.constants[name] for name in node.input if name in self.constants]
        ahead = node.input[0] == self.signal
        match node.op_type:
            case "Gemm":
                return ahead and self._gemm(given, *still)
            case "MatMul":
                return ahead and still[0].ndim == 2 and self._gemm({}, still[0])
            case "Add":
                return still[0].size in (1, *still[0].shape[-1:]) and self.reader.add(still[0].ravel())
            case "Relu" | "Sign":
                return self.reader.relu() if node.op_type == "Relu" else self.reader.sign()
            case "Flatten":
                return not self.reader.layers and given.get("axis", 1) == 1
        as_it_is = node.op_type == "Cast" and given["to"] == self.dtype
        return as_it_is or node.op_type in ("Identity", "Dropout")

    def _gemm(self, given: dict[str, Any], weights: Array, bias: Array | None = None) -> bool:
        if given.get("alpha", 1.0) != 1.0 or given.get("beta", 1.0) != 1.0 or given.get("transA"):
            return False
        rows = weights if given.get("transB") else weights.T
        self.reader.affine(rows, None if bias is None else np.broadcast_to(bias, (1, len(rows)))[0])
        return True
