"""Dask collections as chunks of rows, and rows as Dask collections."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError
from .runner import Runner, dask_module, shared, task

logger = logging.getLogger(__name__)


def is_collection(data: Any) -> bool:
    """Whether Dask holds it."""
    return bool(dask_module("dask").is_dask_collection(data))


def row_chunks(X: Any) -> list[Any]:
    """The chunks of an array or frame, each with all features of some rows."""
    if not is_collection(X):
        raise DataError(
            f"X must be a Dask array or frame, got {type(X).__name__}: InterpolatingClassifier takes others"
        )
    if getattr(X, "ndim", 2) != 2:
        raise DataError(f"X must have rows and columns, got {X.ndim} dimensions")
    if hasattr(X, "columns"):
        _refuse_words(X)
    elif X.numblocks[1] > 1:
        logger.info("features of X lie in %d chunks: they are joined", X.numblocks[1])
        X = X.rechunk({1: -1})
    return list(np.ravel(np.array(X.to_delayed(), dtype=object)))


def _refuse_words(frame: Any) -> None:
    """Columns of a frame must hold numbers."""
    kinds = {name: getattr(dtype, "numpy_dtype", dtype) for name, dtype in frame.dtypes.items()}
    words = [name for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "fiub"]
    if words:
        raise DataError(
            f"columns {words} of X hold no numbers: encode them first, the same for all parts, or leave them out"
        )


def lazy_rows(X: Any, work: Callable[..., NDArray[Any]], argument: Any, like: NDArray[Any]) -> Any:
    """A function of every chunk and one argument as a Dask array, one row for each; ``like`` is one without any."""
    da = dask_module("dask.array")
    chunks = row_chunks(X)
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(chunks)
    one = shared(argument)
    parts = [
        da.from_delayed(task(work)(chunk, one), shape=(length, *like.shape[1:]), dtype=like.dtype)
        for chunk, length in zip(chunks, lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def gathered_labels(y: Any, runner: Runner) -> Any:
    """Labels of a Dask collection, all of them here; others as they are."""
    if not is_collection(y):
        return y
    parts = runner.run(list(np.ravel(np.array(y.to_delayed(), dtype=object))), "labels")
    if hasattr(parts[0], "iloc"):
        return dask_module("pandas").concat(parts)
    return np.concatenate(parts)
