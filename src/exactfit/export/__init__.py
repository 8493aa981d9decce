"""Networks for other runtimes: the same numbers as an ONNX graph or a PyTorch module.

A :class:`~exactfit.export.plan.Plan` says what to compute, step by step; ``onnx`` and ``torch`` say how.
"""

from __future__ import annotations

from .onnx import to_onnx
from .pipelines import register_onnx_converter
from .torch import to_torch

__all__ = ["register_onnx_converter", "to_onnx", "to_torch"]
