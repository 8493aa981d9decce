"""ONNX graphs of networks.

Bits are counted by MatMulInteger on masks that are packed in the file, eight to a byte. Sparse layers add up what
Gather takes from the points: no zeros in the file. Slack, scores and classes are computed in float64 whatever the
format of the export, so that only the first layer can round.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import singledispatchmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from .._support.processes import write_atomically
from ..exceptions import MissingDependencyError, ParameterError
from ..network import Decoder
from ..network.bits import BitMatrix
from ..network.detector_network import LOWEST, SMALLEST
from ..repairs import RepairedClassifier
from . import plan as steps
from .plan import Clearest, Counters, DType, Plan, Slack, cast_to, check_dtype, numbers_or_text, plan_of, plan_repaired

OPSET, IR = 18, 8  # the oldest that have BitwiseAnd (opset 18), and the format that came with it
GATHER_COST = 24  # measured in onnxruntime (docs/export.md): a gathered number takes as long as so many products
LONGEST = 32  # weights of a unit that is gathered: a graph has a node for each
LARGEST_FILE = 2**31 - 1  # bytes: the most that Protocol Buffers read


def to_onnx(model: Any, dtype: DType = "float64", *, path: str | os.PathLike[str] | None = None) -> Any:
    """Return a model as an ONNX graph, with outputs ``label`` and ``scores`` for an input ``X`` of any number of rows.

    Parameters
    ----------
    model : InterpolatingClassifier, RepairedClassifier, TableModel, Pipeline (fitted), Construction or Network
        Labels and scores of a classifier are those of ``predict`` and ``decision_function``; those of a bare
        network its class index (-1 where undecided) and its outputs. A table's model takes its columns in the
        order that the metadata give, categories as zeros and ones, always in float64: scaling is inside.
        A scikit-learn pipeline that ends in a classifier of ours needs skl2onnx. Of a repaired model that is itself an
        ONNX graph, its inputs and outputs stay.
    dtype : {"float64", "float32"}
        In which format the first layer is computed, and the type of ``X`` and ``scores``.
    path : str or path-like, optional
        Write the graph there, too.

    Returns
    -------
    onnx.ModelProto
        Opset 18, IR 8. Its metadata say what was proved about evaluations in this format: with
        ``exact_in`` every training point is right in every one of them, otherwise
        ``certify(model, X, y, arithmetic=dtype)`` names the rows that are not safe.

    Raises
    ------
    ParameterError
        If the network needs what no runtime has: an activation of your own, integers beyond 2^53; or a file of more
        than 2 GB.
    MissingDependencyError
        If onnx is not installed.

    Examples
    --------
    >>> import exactfit
    >>> model = exactfit.InterpolatingClassifier(exact_in="float32", random_state=0)
    >>> graph = exactfit.to_onnx(model.fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]), dtype="float32")
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    """
    dtype = check_dtype(dtype)
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("exporting to ONNX needs onnx: pip install onnx (or exactfit[onnx])") from error
    if isinstance(model, Pipeline):
        from .foreign_graphs import convert_pipeline

        proto = convert_pipeline(model, dtype)
    elif isinstance(model, RepairedClassifier):
        from .foreign_graphs import switched_graph

        proto = switched_graph(plan_repaired(model, dtype, in_onnx=True), dtype)
    else:
        plan, builder = plan_of(model, dtype), Builder(dtype)
        head, signals = plan.head, builder.build(plan, "X")
        n_outputs = len(head.classes) if isinstance(head, Decoder) and head.kind in ("one_hot", "argmax") else 1
        shape = scores_shape(head.n_classes) if isinstance(head, Clearest) else ["N", n_outputs]
        proto = builder.model(signals, plan.classes, shape, plan.n_features, "float64" if plan.is_scaled else dtype)
        set_properties(proto, plan.about)
    if path is not None:
        write(proto, Path(path))
    return proto


def scores_shape(n_classes: int) -> list[Any]:
    """Return the shape of the output ``scores`` of a classifier."""
    return ["N"] if n_classes == 2 else ["N", n_classes]


def set_properties(proto: Any, about: dict[str, str]) -> None:
    """Add facts to the metadata of a model."""
    from onnx import helper

    helper.set_model_props(proto, {part.key: part.value for part in proto.metadata_props} | about)


def write(proto: Any, path: Path) -> None:
    """Write a model whole or not at all."""
    if proto.ByteSize() > LARGEST_FILE:
        raise ParameterError(
            f"the graph takes {proto.ByteSize():,} bytes, and an ONNX file holds no more than {LARGEST_FILE:,}: "
            'use hyperplanes="sparse", a smaller width or dtype="float32"'
        )
    write_atomically(path, proto.SerializeToString(), "the graph")


@dataclass(frozen=True, eq=False)
class Gathers:
    """Units of a sparse layer: those to gather, in groups, and the others."""

    # ONNX has no sparse products. Features come first: a gathered feature is then a line of memory, one number for each
    # point. Every product of a feature and a weight that some unit adds up is computed once: weights are mostly +-1.
    features: NDArray[np.int64]  # of the products, each once
    factors: NDArray[Any]
    # Units with the same number of weights, and their products: the k-th row holds the k-th product of each.
    groups: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    wide: NDArray[np.int64]  # units of many weights, rows of a matrix
    columns: NDArray[np.int64]  # features that these look at

    @classmethod
    def of(cls, weights: Any) -> Gathers:
        """Sort the units of a CSR array without duplicate entries."""
        starts, lengths = weights.indptr[:-1].astype(np.int64), np.diff(weights.indptr)
        gathered = (lengths > 0) & (lengths <= LONGEST) & (GATHER_COST * lengths < weights.shape[1])
        entries = np.flatnonzero(np.repeat(gathered, lengths))
        products = np.stack([weights.indices[entries].astype(np.float64), weights.data[entries]])
        (features, factors), own = np.unique(products, axis=1, return_inverse=True)
        term = np.zeros(weights.nnz, dtype=np.int64)
        term[entries] = own.ravel()
        groups = []
        for length in np.unique(lengths[gathered]).tolist():
            units = np.flatnonzero(gathered & (lengths == length))
            groups.append((units, term[starts[units] + np.arange(length)[:, None]]))
        wide = np.flatnonzero(~gathered)
        # One column at least: runtimes differ about products over nothing.
        columns = np.unique(weights[wide].indices if weights[wide].nnz else [0]).astype(np.int64)
        return cls(features.astype(np.int64), factors.astype(weights.dtype), groups, wide, columns)

    @property
    def places(self) -> NDArray[np.int64]:
        """Return the position of each unit among those of the groups and the wide ones, one after the other."""
        return np.argsort(np.concatenate([*(units for units, _ in self.groups), self.wide]))


class Builder:
    """Nodes and constants of a graph while it grows; each step gives the name of the signal after it."""

    def __init__(self, dtype: DType, prefix: str = "") -> None:
        self.dtype, self.prefix = dtype, prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._n = 0
        self._source = ""  # the name of the points
        self._type: DType = dtype  # of the numbers after the last layer

    def build(self, plan: Plan, source: str) -> tuple[str, str]:
        """Add the nodes of a plan, and return the names of labels and scores."""
        self._source, signal = source, source
        for step in plan.steps:
            signal = self.say(step, signal)
        head = plan.head
        codes, scores = self._claims(head, signal) if isinstance(head, Clearest) else self._decoder(head, signal)
        if plan.classes is None:
            return codes, scores
        return self.add("Gather", self.labels(plan.classes), codes, axis=0), scores

    def add(self, operation: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node, and return the name of its output, or of its outputs."""
        from onnx import helper

        names = [f"{self.prefix}{operation.lower()}_{self._n + k}" for k in range(1, outputs + 1)]
        self._n += outputs
        self.nodes.append(helper.make_node(operation, list(inputs), names, name=f"{names[0]}_node", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add a constant, and return its name."""
        from onnx import numpy_helper

        self._n += 1
        name = f"{self.prefix}constant_{self._n}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype=dtype), name))
        return name

    def rename(self, old: str, new: str) -> None:
        """Give a signal the name that the outside knows it by."""
        for node in self.nodes:
            node.input[:] = [new if name == old else name for name in node.input]
            node.output[:] = [new if name == old else name for name in node.output]

    def model(
        self, signals: tuple[str, str], classes: NDArray[Any] | None, shape: list[Any], n_features: int, source: DType
    ) -> Any:
        """Return all nodes as a model with the input ``X`` and outputs ``label`` and ``scores``, signals until now."""
        from onnx import helper

        for signal, name in zip(signals, ("label", "scores"), strict=True):
            self.rename(signal, name)
        points = helper.make_tensor_value_info("X", self.type_of(source), ["N", n_features])
        label = helper.make_tensor_value_info("label", self.label_type(classes), ["N"])
        scores = helper.make_tensor_value_info("scores", self.type_of(self.dtype), shape)
        graph = helper.make_graph(self.nodes, "exactfit", [points], [label, scores], self.constants)
        proto = helper.make_model(graph, producer_name="exactfit", opset_imports=[helper.make_opsetid("", OPSET)])
        proto.ir_version = IR
        return proto

    @staticmethod
    def type_of(dtype: Any) -> int:
        """Return the number that ONNX has for a NumPy type."""
        from onnx import helper

        return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def cast(self, signal: str, dtype: Any) -> str:
        """Cast a signal to another type."""
        return str(self.add("Cast", signal, to=self.type_of(dtype)))

    def label_type(self, classes: NDArray[Any] | None) -> int:
        """Return the type of the output ``label``: that of class indices where there are no labels."""
        from onnx import TensorProto

        if classes is None:
            return int(TensorProto.INT64)
        text = classes.dtype.kind not in "biuf"
        return int(TensorProto.STRING) if text else self.type_of(classes.dtype.newbyteorder("="))

    def labels(self, classes: NDArray[Any]) -> str:
        """Add labels by class index, as a constant."""
        try:
            return self.constant(numbers_or_text(classes, "ONNX cannot hold"))
        except UnicodeEncodeError as error:
            raise ParameterError(f"ONNX holds text in UTF-8, and a label is none: {error}") from error

    @singledispatchmethod
    def say(self, step: Any, signal: str) -> str:
        """Add the nodes of a step."""
        raise NotImplementedError(type(step))

    @say.register
    def _(self, step: steps.Scale, signal: str) -> str:
        centred = self.add("Sub", signal, self.constant(step.mean, np.float64))
        scaled = self.add("Div", centred, self.constant(step.scale, np.float64))
        return self.cast(scaled, self.dtype)

    @say.register
    def _(self, step: steps.Plain, signal: str) -> str:
        match step:
            case steps.Plain.ROUND:
                return signal if self.dtype == "float32" else self.cast(self.cast(signal, np.float32), np.float64)
            case steps.Plain.APPEND_SQUARE:
                square = self.add("ReduceSumSquare", signal, self.constant([1], np.int64), keepdims=1)
                return str(self.add("Concat", signal, square, axis=1))
            case steps.Plain.FIRE:
                return str(self.add("Greater", signal, self.constant(0.0, self._type)))
            case steps.Plain.RAMP:
                return str(self.add("Relu", signal))

    @say.register
    def _(self, step: steps.Affine, signal: str) -> str:
        self._type = "float64" if step.whole else self.dtype
        numbers = [self.constant(cast_to(part, self._type)) for part in (step.weights, step.bias)]
        return str(self.add("Gemm", self.cast(signal, self._type), *numbers, transB=1))

    @say.register
    def _(self, step: steps.SparseAffine, signal: str) -> str:
        """Units first, up to their bits: what is put in order and turned is then a byte of each, not a number."""
        self._type, found = self.dtype, Gathers.of(step.weights)
        points, bias = self.cast(signal, self.dtype), cast_to(step.bias, self.dtype)[:, None]
        columns, sums = self.add("Transpose", points, perm=[1, 0]), []
        if found.groups:
            products = self.add("Gather", columns, self._indices(found.features), axis=0)
            products = self.add("Mul", products, self.constant(cast_to(found.factors, self.dtype)[:, None]))
        for units, terms in found.groups:
            total = self.constant(bias[units])
            for term in terms:
                total = self.add("Add", total, self.add("Gather", products, self._indices(term), axis=0))
            sums.append(total)
        if len(found.wide):
            matrix = self._matrix(step.weights[found.wide][:, found.columns])
            if len(found.columns) < step.weights.shape[1]:
                columns = self.add("Gather", columns, self._indices(found.columns), axis=0)
            sums.append(self.add("Gemm", matrix, columns, self.constant(bias[found.wide])))
        out = sums[0] if len(sums) == 1 else self.add("Concat", *sums, axis=0)
        if step.fires:
            out = self.add("Greater", out, self.constant(0.0, self._type))
        if len(sums) > 1:
            out = self.add("Gather", out, self._indices(found.places), axis=0)
        return str(self.add("Transpose", out, perm=[1, 0]))

    def _indices(self, places: NDArray[np.int64]) -> str:
        """Add indices, in the fewest bytes that hold them; runtimes make them larger when they load the file."""
        return self.cast(self.constant(places, np.min_scalar_type(int(places.max(initial=0)))), np.int64)

    def _matrix(self, rows: Any) -> str:
        """Add a CSR array as a matrix; where most of it is zero, the zeros are not in the file."""
        numbers, shape = cast_to(rows.data, self.dtype), np.array(rows.shape, dtype=np.int64)
        if 2 * rows.nnz > shape.prod():
            return self.constant(cast_to(rows.toarray(), self.dtype))
        from onnx import numpy_helper

        zero = numpy_helper.from_array(np.zeros(1, dtype=self.dtype))
        zeros = self.add("ConstantOfShape", self.constant(shape.prod(keepdims=True)), value=zero)
        found = rows.tocoo()
        places = found.coords[0].astype(np.int64) * shape[1] + found.coords[1]
        filled = self.add("ScatterElements", zeros, self._indices(places), self.constant(numbers), axis=0)
        return str(self.add("Reshape", filled, self.constant(shape)))

    @say.register
    def _(self, step: steps.Count, signal: str) -> str:
        self._type = "float64"
        sums = self._counts(step.masks, signal) if step.whole else self._sums(step.masks, signal)
        bias, sums = self.constant(cast_to(step.bias, "float64")), self.cast(sums, np.float64)
        return str(self.add("Add" if step.sign == 1 else "Sub", bias, sums))

    @say.register
    def _(self, step: Slack, signal: str) -> str:
        if not len(step.spans):
            return self._lowest(step.n_outputs)
        slack = self.add("Div", signal, self.constant(step.spans))
        # Kernels decide real values that are close to their limit exactly, runtimes cannot: at the limit none fires.
        if step.may_be_zero:
            is_zero = self.add("Equal", slack, self.constant(0.0, np.float64))
            slack = self.add("Where", is_zero, self.constant(-SMALLEST, np.float64), slack)
        # The greatest slack of each output's detectors, side by side; the lowest number for one without any.
        groups, parts = [size for size in step.sizes if size], [slack]
        if len(groups) > 1:
            parts = self.add("Split", slack, self.constant(groups, np.int64), axis=1, outputs=len(groups))
        best = iter([self.add("ReduceMax", part, self.constant([1], np.int64), keepdims=1) for part in parts])
        columns = [next(best) if size else self._lowest(1) for size in step.sizes]
        return columns[0] if len(columns) == 1 else str(self.add("Concat", *columns, axis=1))

    def _lowest(self, n: int) -> str:
        return self._everywhere(LOWEST, n, np.float64)

    def _everywhere(self, value: float, n: int, dtype: Any) -> str:
        """Add one number, n times for every point."""
        rows = self.add("Shape", self._source, start=0, end=1)
        shape = self.add("Concat", rows, self.constant([n], np.int64), axis=0)
        return str(self.add("Expand", self.constant([[value]], dtype), shape))

    def _sums(self, masks: Counters, numbers: str) -> str:
        """Add up masked numbers."""
        assert isinstance(masks, BitMatrix)  # weights count bits
        if not masks.n_bits:
            return self._everywhere(0.0, masks.n_rows, self.dtype)
        return str(self.add("MatMul", self.cast(numbers, self.dtype), self.cast(self._masks(masks), self.dtype)))

    def _counts(self, masks: Counters, bits: str) -> str:
        """Count masked bits that are on, as int32; a product over nothing is undefined in some runtimes."""
        if isinstance(masks, np.ndarray):
            return str(self.add("MatMulInteger", self.cast(bits, np.uint8), self.constant(masks.T)))
        if not masks.n_bits:
            return self._everywhere(0, masks.n_rows, np.int32)
        return str(self.add("MatMulInteger", self.cast(bits, np.uint8), self._masks(masks)))

    def _masks(self, masks: BitMatrix) -> str:
        """Add masks as uint8, one column each, unpacked from a constant of eight to a byte."""
        packed = np.packbits(masks.to_bool(), axis=1, bitorder="little")
        shifted = self.add(
            "BitShift", self.constant(packed[:, :, None]), self.constant(np.arange(8), np.uint8), direction="RIGHT"
        )
        single = self.add("BitwiseAnd", shifted, self.constant(1, np.uint8))
        rows = self.add("Reshape", single, self.constant([masks.n_rows, 8 * packed.shape[1]], np.int64))
        return str(self.add("Transpose", self._columns(rows, 0, masks.n_bits), perm=[1, 0]))

    def _columns(self, signal: str, start: int, stop: int) -> str:
        ends = [self.constant([value], np.int64) for value in (start, stop, 1)]
        return str(self.add("Slice", signal, *ends))

    def _claims(self, head: Clearest, slack: str) -> tuple[str, str]:
        """Return class indices, and scores in the format of the export."""
        # Two classes have one score, positive for the second: its slack less that of the first, or that of the only
        # output, which may speak for either.
        if head.n_classes == 2:
            axis = self.constant([1], np.int64)
            if not head.one_sided:
                second, first = self._columns(slack, 1, 2), self._columns(slack, 0, 1)
                slack = self.add("Sub", second, first)
            scores = self.add("Squeeze", slack, axis)
            if head.one_sided and head.outputs[0] != 1:
                scores = self.add("Neg", scores)
            positive = self.add("Greater", scores, self.constant(0.0, np.float64))
            return self.cast(positive, np.int64), self._narrow(scores)
        places = {code: place for place, code in enumerate(head.outputs)}
        columns = [
            self._columns(slack, places[code], places[code] + 1) if code in places else self._lowest(1)
            for code in range(head.n_classes)
        ]
        everyone = head.outputs == tuple(range(head.n_classes))
        scores = slack if everyone else str(self.add("Concat", *columns, axis=1))
        return str(self.add("ArgMax", scores, axis=1, keepdims=0)), self._narrow(scores)

    def _narrow(self, scores: str) -> str:
        """Cast scores to the format of the export; beyond float32 they become its lowest or largest number."""
        if self.dtype == "float64":
            return self.cast(scores, np.float64)
        largest = float(np.finfo(np.float32).max)
        low, high = self.constant(-largest, np.float64), self.constant(largest, np.float64)
        return self.cast(self.add("Clip", scores, low, high), np.float32)

    def _decoder(self, decoder: Decoder, outputs: str) -> tuple[str, str]:
        outputs = self.cast(outputs, np.float64)
        scores = self._narrow(outputs)
        classes = self.constant(decoder.classes, np.int64)
        if decoder.kind == "sign":
            at_least = self.add("GreaterOrEqual", outputs, self.constant(0.0, np.float64))
            place = self.add("Squeeze", self.cast(at_least, np.int64), self.constant([1], np.int64))
            return str(self.add("Gather", classes, place)), scores
        if decoder.kind == "nearest":
            gaps = self.add("Abs", self.add("Sub", outputs, self.constant([decoder.levels], np.float64)))
            return str(self.add("Gather", classes, self.add("ArgMin", gaps, axis=1, keepdims=0))), scores
        if decoder.kind == "argmax":
            return str(self.add("Gather", classes, self.add("ArgMax", outputs, axis=1, keepdims=0))), scores
        # one_hot: the class that claims a point alone, else none.
        claims = self.cast(self.add("Greater", outputs, self.constant(0.0, np.float64)), np.int32)
        axis, one = self.constant([1], np.int64), self.constant(1, np.int32)
        alone = self.add("Equal", self.add("ReduceSum", claims, axis, keepdims=0), one)
        found = self.add("Gather", classes, self.add("ArgMax", claims, axis=1, keepdims=0))
        return str(self.add("Where", alone, found, self.constant(-1, np.int64))), scores
