"""The same network from data in chunks: Dask arrays and frames, on a cluster or larger than memory.

Examples
--------
>>> import pytest
>>> da = pytest.importorskip("dask.array")
>>> from sklearn.datasets import load_digits
>>> from exactfit import InterpolatingClassifier
>>> from exactfit.distributed import DaskInterpolatingClassifier
>>> X, y = load_digits(return_X_y=True)
>>> model = DaskInterpolatingClassifier(random_state=0).fit(da.from_array(X, chunks=(500, 64)), y)
>>> model.network_.digest == InterpolatingClassifier(random_state=0).fit(X, y).network_.digest
True
"""

from .classifier import DaskInterpolatingClassifier

__all__ = ["DaskInterpolatingClassifier"]
