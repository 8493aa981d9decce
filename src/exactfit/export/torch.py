"""Networks as PyTorch modules: numbers in buffers, nothing to train."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..exceptions import MissingDependencyError
from ..repairs import RepairedClassifier
from .plan import DType, check_dtype, plan_of


def to_torch(model: Any, dtype: DType = "float64") -> Any:
    """A model as a ``torch.nn.Module`` that takes points to ``(label, scores)``.

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
    from .modules import Exported, Overruled

    if not isinstance(model, RepairedClassifier):
        return Exported(plan_of(model, dtype), dtype)
    from .overruling import plan_repaired

    check_is_fitted(model, "network_")
    return Overruled(plan_repaired(model, dtype, in_onnx=False), dtype)
