"""Networks for other runtimes: the same numbers as an ONNX graph or a PyTorch module.

A :class:`~exactfit.export.plan.Plan` says what to compute, step by step; ``onnx`` and ``torch`` say how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .foreign_graphs import register_onnx_converter
from .onnx import to_onnx

if TYPE_CHECKING:
    from .torch import to_torch as to_torch

__all__ = ["register_onnx_converter", "to_onnx", "to_torch"]


def __getattr__(name: str) -> Any:
    """``to_torch`` on first use: torch takes seconds to load."""
    if name != "to_torch":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .torch import to_torch

    return to_torch
