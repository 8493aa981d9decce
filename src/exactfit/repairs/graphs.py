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
    """An ONNX model of one input, with labels or scores among its outputs, given by the bytes of its file."""

    content: bytes

    @classmethod
    def of(cls, model: Any) -> Graph:
        """Read a graph from a file, its bytes or a ModelProto; refuse one that cannot be asked for answers."""
        if isinstance(model, Graph):
            return model
        if isinstance(model, str | os.PathLike):
            path = Path(model)
            if path.stat().st_size > LARGEST_FILE:
                raise ParameterError(f"{path.name} is larger than one ONNX file can be")
            # A device or pipe may never end.
            model = refuse_endless(path).read_bytes()
        graph = cls(model if isinstance(model, bytes) else model.SerializeToString())
        _ = graph.input_shape, graph.input_dtype  # each refuses what points cannot be
        if graph.label is None and graph.scores is None:
            raise ParameterError(
                "the ONNX model has neither labels (integers or text, one a row) nor scores (numbers, one a class)"
            )
        if graph.label is None and graph.n_outputs == 1:
            raise ParameterError(
                "the ONNX model has one output, and does not say from where on it means the second class: "
                "give it two outputs, or an output of labels"
            )
        return graph

    @cached_property
    def proto(self) -> Any:
        """The model as onnx reads it."""
        _require("onnx")
        import onnx

        try:
            proto = onnx.load_model_from_string(self.content)
            onnx.checker.check_model(proto)
        except Exception as error:  # onnx and protobuf each have exceptions of their own
            raise ParameterError(f"this is no ONNX model: {_one_line(error)}") from error
        return proto

    @cached_property
    def session(self) -> Any:
        """The model as it runs here."""
        _require("onnxruntime")
        # No program of ours reports to anybody.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised: they need not be written as well
        try:
            return onnxruntime.InferenceSession(self.content, options, providers=["CPUExecutionProvider"])
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
        """Shape of one point."""
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
        """Number of features of a point."""
        return math.prod(self.input_shape)

    @property
    def input_dtype(self) -> np.dtype[Any]:
        """Type of the numbers that it takes."""
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
        """Number of scores of a point; None without scores."""
        if self.scores is None:
            return None
        # Shapes of outputs may be unknown to the graph: one point says it.
        return int(self._run(np.zeros((1, self.n_features)), self.scores).shape[1])

    @cached_property
    def classes(self) -> Array | None:
        """Labels by class index, where the node that makes the labels names them."""
        from onnx import helper

        # Backwards from the labels, over nodes that leave them what they are.
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
        """Return labels of every row, or places of the largest score where there are no labels."""
        if self.label is None:
            return np.asarray(np.argmax(self.run_scores(X), axis=1))
        return _as_text(self._run(X, self.label).reshape(-1))

    def run_scores(self, X: Matrix) -> Floats:
        """Return scores of every row."""
        assert self.scores is not None
        return all_finite(self._run(X, self.scores).astype(np.float64), "the ONNX model")

    def _run(self, X: Matrix, output: str) -> Array:
        refuse_other_features(X.shape[1], self.n_features, taker="model")
        tiles = []
        for tile in row_tiles(X, RUN_ROWS):
            # A session takes one type and shape of input only.
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
    """Return labels, those of text as str."""
    if labels.dtype.kind not in "OS":
        return labels
    return np.array([label.decode() if isinstance(label, bytes) else str(label) for label in labels.tolist()])


def all_finite(scores: Floats, giver: str) -> Floats:
    """Return the scores; refuse NaN and infinity."""
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
    """Layers as they are met from input to output; a method returns whether a chain can have its operation there."""

    layers: list[Layer] = field(default_factory=list)
    _sum: tuple[Array, Array] | None = None  # weights and bias whose activation is not known yet
    _are_signs: bool = False  # the units before come in pairs, whose difference is a sign

    def affine(self, weights: Array, bias: Array | None = None) -> bool:
        """Read weights @ signal + bias."""
        if self._sum is not None:  # two sums in a row are two layers
            self._finish(None)
        # A sign is the difference of two units: W (a - b) = [W, -W] [a, b].
        wide = np.concatenate([weights, -weights], axis=1) if self._are_signs else weights
        self._are_signs = False
        self._sum = wide, np.zeros(len(wide), dtype=wide.dtype) if bias is None else np.asarray(bias)
        return True

    def add(self, bias: Array) -> bool:
        """Read signal + bias, after weights that have none yet."""
        if self._sum is None or self._sum[1].any():
            return False
        self._sum = self._sum[0], np.broadcast_to(bias, (len(self._sum[0]),)).copy()
        return True

    def relu(self) -> bool:
        """Read max(signal, 0), after a sum, or an activation that leaves nothing for it to do."""
        # ReLU after ReLU or a threshold changes nothing; a sign may be negative.
        if self._sum is None:
            return bool(self.layers) and self.layers[-1].activation is not None and not self._are_signs
        self._finish(RELU)
        return True

    def sign(self) -> bool:
        """Read sign(signal), after a sum, as two thresholds."""
        if self._sum is None:
            return False
        weights, bias = self._sum
        self._sum = np.concatenate([weights, -weights]), np.concatenate([bias, -bias])
        self._finish(THRESHOLD)
        self._are_signs = True
        return True

    def network(self) -> Network | None:
        """Return the chain if it ends in a sum; one output stands for the second of two classes."""
        if self._sum is None:
            return None
        weights, bias = self._sum
        # A positive score is the second class: the first has the score zero.
        if len(weights) == 1:
            weights, bias = (np.concatenate([np.zeros_like(part), part]) for part in (weights, bias))
            self._sum = weights, bias
        self._finish(None)
        numbers = (part for layer in self.layers for part in layer.weights.tensors().values())
        if not all(np.isfinite(part).all() for part in (*numbers, *(layer.bias for layer in self.layers))):
            return None
        return Network(tuple(self.layers), Decoder("argmax", tuple(range(len(self.layers[-1].bias)))))

    def _finish(self, activation: Any) -> None:
        assert self._sum is not None
        weights, bias = self._sum
        self.layers.append(Layer(Dense(np.ascontiguousarray(weights)), np.ascontiguousarray(bias), activation))
        self._sum = None


class _Walk:
    """Walk along the nodes of a graph, as long as they are a chain."""

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
        """Return the chain, if all nodes belong to it and all outputs come from its last sum."""
        if not all(self._step(node) for node in self.nodes) or not self.outputs <= self.ends | {self.signal}:
            return None
        return self.reader.network()

    def _step(self, node: Any) -> bool:
        """Return whether a node belongs to the chain, or says no more than its last sum."""
        from onnx import helper, numpy_helper

        given = {part.name: helper.get_attribute_value(part) for part in node.attribute}
        if node.op_type == "Constant" and "value" in given:
            self.constants[node.output[0]] = numpy_helper.to_array(given["value"])
            return True
        # In a chain every node takes the signal of the one before, and otherwise constants.
        moving = [name for name in node.input if name and name not in self.constants]
        if len(moving) == 1 and moving[0] in self.ends and moving[0] != self.signal:
            return self._end(node, given, moving[0])
        if moving != [self.signal]:
            return False
        if node.op_type in LAST:
            return self._last(node, given)
        if not self._layer(node, given) or self.ends:
            return False
        self.signal = node.output[0]
        return True

    def _layer(self, node: Any, given: dict[str, Any]) -> bool:
        """Read a node before the end."""
        still = [self.constants[name] for name in node.input if name in self.constants]
        ahead, fits = node.input[0] == self.signal, False
        match node.op_type:
            case "Gemm":
                plain = given.get("alpha", 1.0) == 1.0 == given.get("beta", 1.0) and not given.get("transA")
                rows = still[0] if given.get("transB") else still[0].T
                bias = np.broadcast_to(still[1], (1, len(rows)))[0] if len(still) > 1 else None
                fits = ahead and plain and self.reader.affine(rows, bias)
            case "MatMul":
                fits = ahead and still[0].ndim == 2 and self.reader.affine(still[0].T)
            case "Add":
                fits = still[0].size in (1, *still[0].shape[-1:]) and self.reader.add(still[0].ravel())
            case "Relu" | "Sign":
                fits = self.reader.relu() if node.op_type == "Relu" else self.reader.sign()
            case "Flatten":
                fits = not self.reader.layers and given.get("axis", 1) == 1
            case "Cast":
                fits = given["to"] == self.dtype
            case "Identity" | "Dropout":
                fits = True
        return bool(fits)

    def _last(self, node: Any, given: dict[str, Any]) -> bool:
        """Read scores or the place of the largest, which say no more than the last sum."""
        self.ends.update(node.output)
        (self.places if node.op_type == "ArgMax" else self.scores).update(node.output)
        # Along classes, and the first of equal scores, as a chain answers.
        axis = given.get("axis", 0 if node.op_type == "ArgMax" else -1)
        return axis in (1, -1) and not given.get("select_last_index")

    def _end(self, node: Any, given: dict[str, Any], name: str) -> bool:
        """Read a node behind the end, down to labels by place."""
        self.ends.update(node.output)
        is_score = name in self.scores
        if node.op_type in SAME:
            for names in (self.places, self.scores):
                names.update(node.output if name in names else ())
        match node.op_type:
            case "Identity":
                return True
            case "Cast":  # no score may lose digits
                return given["to"] in ((self.dtype, DOUBLE) if is_score else (INT32, INT64))
            case "Reshape":  # labels stay one for each row
                return not is_score and bool(np.array_equal(self.constants[node.input[1]], [-1]))
            case "ArgMax":
                return is_score and self._last(node, given)
        return node.op_type in LOOKUPS and node.input[0] in self.tables and name in self.places
