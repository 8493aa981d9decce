"""Networks as PyTorch modules: numbers in buffers, nothing to train; whoever imports this file waits for torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import MissingDependencyError, ParameterError
from ..network import Decoder
from ..network.detector_network import LOWEST, SMALLEST
from ..repairs import RepairedClassifier
from . import plan as steps
from .plan import DType, Plan, cast_to, check_dtype, numbers_or_text, plan_of, plan_repaired

try:
    import torch
    from torch import nn

    Module: Any = nn.Module
except ImportError:  # so that ``to_torch`` can say what is missing
    Module = object

EXACT_FLOAT32_COUNTS = 2**24  # float32 holds every integer up to it


def to_torch(model: Any, dtype: DType = "float64") -> Any:
    """Return a model as a ``torch.nn.Module`` that takes points to ``(label, scores)``.

    Parameters
    ----------
    model : InterpolatingClassifier, RepairedClassifier, TableModel (fitted), Construction or Network
        A repaired model has to be a chain of layers.
    dtype : {"float64", "float32"}
        In which format the first layer is computed.

    Returns
    -------
    torch.nn.Module
        Without parameters: all numbers are buffers, so that it moves to devices and saves as modules do, and
        it works under ``torch.export`` with any number of rows. ``label`` holds labels that are numbers or
        bools; for text it holds class indices, and the module's ``classes`` the texts. ``about`` says
        what was proved, as the metadata of :func:`~exactfit.to_onnx` do.

    Raises
    ------
    ParameterError
        If the network needs what no runtime has: an activation of your own, integers beyond 2^53.
    MissingDependencyError
        If torch is not installed.

    Notes
    -----
    What is proved holds for IEEE arithmetic: not for TF32 or bfloat16, which some devices may be told to use.

    Examples
    --------
    >>> import exactfit
    >>> import torch
    >>> model = exactfit.InterpolatingClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], [3, 5, 3])
    >>> module = exactfit.to_torch(model)
    >>> label, scores = module(torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64))
    >>> label
    tensor([3, 5, 3])
    """
    dtype = check_dtype(dtype)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("exporting to PyTorch needs torch: pip install torch") from error
    if not isinstance(model, RepairedClassifier):
        return Exported(plan_of(model, dtype), dtype)
    return Overruled(plan_repaired(model, dtype, in_onnx=False), dtype)


class Exported(Module):  # type: ignore[misc]
    """Plan as a module, from points to labels and scores.

    Attributes
    ----------
    classes : list
        Labels by class index; empty for a bare network.
    about : dict of str
        What was proved, and about which network.
    """

    def __init__(self, plan: Plan, dtype: DType) -> None:
        super().__init__()
        self.about = dict(plan.about)
        self.dtype = getattr(torch, dtype)
        self.input_dtype = torch.float64 if plan.is_scaled else self.dtype
        self.steps = nn.Sequential(*(MODULES[type(step)](step, dtype) for step in plan.steps))
        self.head = _Clearest(plan.head) if isinstance(plan.head, steps.Clearest) else _Decoded(plan.head)
        self.classes = [] if plan.classes is None else plan.classes.tolist()
        _buffers(self, labels=_as_numbers(plan.classes))

    def forward(self, x: Any) -> tuple[Any, Any]:
        """Return labels and scores of every row of x."""
        codes, scores = self.head(self.steps(x.to(self.input_dtype)))
        limits = torch.finfo(self.dtype)
        scores = scores.clamp(limits.min, limits.max).to(self.dtype)
        return (codes if self.labels is None else self.labels[codes]), scores


class Overruled(Module):  # type: ignore[misc]
    """Patches before a chain, from points to labels and scores; see :class:`Exported` for the attributes."""

    def __init__(self, plan: steps.SwitchPlan, dtype: DType) -> None:
        super().__init__()
        if not isinstance(plan.model, Plan):
            raise ParameterError("the model is an ONNX graph of operations that are no chain of layers: export to ONNX")
        self.about, self.classes = dict(plan.about), plan.classes.tolist()
        self.patches, self.model = Exported(plan.patches, dtype), Exported(plan.model, dtype)
        _buffers(self, labels=_as_numbers(plan.classes))

    def forward(self, x: Any) -> tuple[Any, Any]:
        """Return labels and scores of every row of x."""
        (patched, _), (answers, scores) = self.patches(x), self.model(x)
        codes = torch.where(patched >= 0, patched, answers)
        # Above every other score, also where all of them are negative.
        own = patched.unsqueeze(1) == torch.arange(scores.shape[1], device=scores.device)
        scores = torch.where(own, 1 + 2 * scores.amax(dim=1, keepdim=True).clamp(min=0), scores)
        if len(self.classes) == 2:
            scores = scores[:, 1] - scores[:, 0]
        return (codes if self.labels is None else self.labels[codes]), scores


def _as_numbers(classes: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return labels that a tensor can hold; None for text and for bare networks, which keep class indices."""
    labels = None if classes is None else numbers_or_text(classes, "a module cannot name")
    return None if labels is None or labels.dtype == object else labels


def _buffers(module: Any, **arrays: NDArray[Any] | None) -> None:
    for name, values in arrays.items():
        module.register_buffer(name, None if values is None else torch.from_numpy(np.array(values)))


class _Plain(Module):  # type: ignore[misc]
    def __init__(self, step: steps.Plain, _: DType) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Any) -> Any:
        if self.step is steps.Plain.ROUND:
            return x.to(torch.float32).to(x.dtype)
        if self.step is steps.Plain.APPEND_SQUARE:
            return torch.cat([x, (x * x).sum(dim=1, keepdim=True)], dim=1)
        return x > 0 if self.step is steps.Plain.FIRE else x.clamp(min=0)


class _Scale(Module):  # type: ignore[misc]
    def __init__(self, step: steps.Scale, dtype: DType) -> None:
        super().__init__()
        self.dtype = getattr(torch, dtype)
        _buffers(self, mean=step.mean, scale=step.scale)

    def forward(self, x: Any) -> Any:
        return ((x - self.mean) / self.scale).to(self.dtype)


class _Affine(Module):  # type: ignore[misc]
    def __init__(self, step: steps.Affine, dtype: DType) -> None:
        super().__init__()
        form: DType = "float64" if step.whole else dtype
        _buffers(self, weights=cast_to(step.weights, form), bias=cast_to(step.bias, form))

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.linear(x.to(self.weights.dtype), self.weights, self.bias)


class _SparseAffine(Module):  # type: ignore[misc]
    """Bags of few features each, which PyTorch adds up faster than anything else; full rows as a matrix."""

    def __init__(self, step: steps.SparseAffine, dtype: DType) -> None:
        super().__init__()
        self.fires, self.dtype, weights = step.fires, getattr(torch, dtype), step.weights
        is_full = 2 * np.diff(weights.indptr) > weights.shape[1]
        few, full, bias = weights[~is_full], weights[is_full], cast_to(step.bias, dtype)[:, None]
        _buffers(self, features=few.indices.astype(np.int32), starts=few.indptr[:-1].astype(np.int32))
        _buffers(self, weights=cast_to(few.data, dtype))
        _buffers(self, matrix=cast_to(full.toarray(), dtype) if is_full.any() else None)
        # Units in the order in which they are computed, and where each of them is then.
        order = np.argsort(is_full, kind="stable")
        _buffers(self, bias=bias[order], places=np.argsort(order).astype(np.int32) if is_full.any() else None)

    def forward(self, x: Any) -> Any:
        # Features first: one of them is then a line of numbers, one for each point.
        columns = x.to(self.dtype).t().contiguous()
        sums = torch.nn.functional.embedding_bag(
            self.features, columns, self.starts, mode="sum", per_sample_weights=self.weights
        )
        if self.matrix is not None:
            sums = torch.cat([sums, self.matrix @ columns])
        out = sums.add_(self.bias)
        if self.fires:  # bits are fewer bytes to put in order and to turn
            out = out > 0
        # Contiguous, for what comes next: products of turned matrices are slow.
        return (out if self.places is None else out.index_select(0, self.places)).t().contiguous()


class _Count(Module):  # type: ignore[misc]
    def __init__(self, step: steps.Count, dtype: DType) -> None:
        super().__init__()
        # Masks as int8: an eighth of what float64 would take. Sums in float32 where that holds all of them exactly.
        masks = step.masks if isinstance(step.masks, np.ndarray) else step.masks.to_bool().astype(np.int8)
        largest = int(np.abs(masks.astype(np.int64)).sum(axis=1).max(initial=0))
        short = dtype == "float32" and (not step.whole or largest < EXACT_FLOAT32_COUNTS)
        self.sign, self.dtype = step.sign, torch.float32 if short else torch.float64
        _buffers(self, masks=masks, bias=cast_to(step.bias, "float64"))

    def forward(self, x: Any) -> Any:
        sums = torch.nn.functional.linear(x.to(self.dtype), self.masks.to(self.dtype))
        return self.bias + self.sign * sums.to(torch.float64)


class _Slack(Module):  # type: ignore[misc]
    def __init__(self, step: steps.Slack, _: DType) -> None:
        super().__init__()
        self.sizes, self.may_be_zero = step.sizes, step.may_be_zero
        _buffers(self, spans=step.spans)

    def forward(self, x: Any) -> Any:
        slack = x / self.spans
        if self.may_be_zero:
            slack = torch.where(slack == 0.0, -SMALLEST, slack)
        lowest = slack.new_full((x.shape[0], 1), LOWEST)
        parts = torch.split(slack, self.sizes, dim=1)
        return torch.cat([part.amax(dim=1, keepdim=True) if part.shape[1] else lowest for part in parts], dim=1)


MODULES: dict[type, Any] = {
    steps.Plain: _Plain, steps.Scale: _Scale, steps.Affine: _Affine, steps.SparseAffine: _SparseAffine,
    steps.Count: _Count, steps.Slack: _Slack,
}  # fmt: skip


class _Clearest(Module):  # type: ignore[misc]
    def __init__(self, head: steps.Clearest) -> None:
        super().__init__()
        self.head = head

    def forward(self, slack: Any) -> tuple[Any, Any]:
        outputs, n_classes = self.head.outputs, self.head.n_classes
        # Two classes have one score, positive for the second.
        if n_classes == 2:
            first = slack[:, 0]
            scores = slack[:, 1] - first if not self.head.one_sided else first if outputs[0] == 1 else -first
            return (scores > 0).to(torch.int64), scores
        lowest = torch.full_like(slack[:, :1], LOWEST)
        places = {code: place for place, code in enumerate(outputs)}
        columns = [slack[:, places[k]].unsqueeze(1) if k in places else lowest for k in range(n_classes)]
        scores = torch.cat(columns, dim=1)
        return scores.argmax(dim=1), scores


class _Decoded(Module):  # type: ignore[misc]
    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.kind = decoder.kind
        _buffers(self, classes=np.array(decoder.classes), levels=np.array(decoder.levels, dtype=np.float64))

    def forward(self, outputs: Any) -> tuple[Any, Any]:
        outputs = outputs.to(torch.float64)
        if self.kind == "sign":
            return self.classes[(outputs[:, 0] >= 0).to(torch.int64)], outputs
        if self.kind == "nearest":
            return self.classes[(outputs[:, :1] - self.levels).abs().argmin(dim=1)], outputs
        if self.kind == "argmax":
            return self.classes[outputs.argmax(dim=1)], outputs
        claims = (outputs > 0).to(torch.int64)
        found = self.classes[claims.argmax(dim=1)]
        return torch.where(claims.sum(dim=1) == 1, found, -1), outputs
