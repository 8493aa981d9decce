"""From outputs to classes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .weights import object_array


@dataclass(frozen=True)
class Decoder:
    """How outputs become a class index; a closed list.

    Parameters
    ----------
    kind : {"sign", "one_hot", "nearest", "argmax"}
        - ``"sign"``: one output; negative means ``classes[0]``, else ``classes[1]``
          (sign(0) = +1, as in the paper).
        - ``"one_hot"``: one output per class, positive where the class claims the
          point; the class that claims it alone, or -1 if none or several do.
        - ``"nearest"``: one output; the class whose entry of ``levels`` is nearest.
        - ``"argmax"``: one output per class; the class of the largest, the first of equals.
    classes : tuple of int
        Class indices that the outputs stand for.
    levels : tuple of float
        For ``"nearest"`` only.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.network import Decoder
    >>> Decoder("sign", (1, 0))(np.array([[-2.0], [0.0]]))
    array([1, 0])
    >>> Decoder("one_hot", (0, 1))(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([ 0, -1])
    """

    kind: Literal["sign", "one_hot", "nearest", "argmax"]
    classes: tuple[int, ...]
    levels: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"<Decoder: {self.kind!r} for {len(self.classes):,} classes>"

    def __call__(self, outputs: NDArray[Any]) -> NDArray[np.intp]:
        """Class index of every row of outputs, -1 where it is undecided."""
        classes = np.asarray(self.classes, dtype=np.intp)
        if self.kind == "sign":
            return np.asarray(classes[(outputs[:, 0] >= 0).astype(np.intp)])
        if self.kind == "one_hot":
            claims = np.asarray(outputs > 0, dtype=bool)
            alone = claims.sum(axis=1) == 1
            return np.where(alone, classes[claims.argmax(axis=1)], -1)
        if self.kind == "argmax":
            return np.asarray(classes[np.argmax(outputs, axis=1)])
        levels = np.asarray(self.levels)
        if outputs.dtype == object:  # no rounding after layers that never round
            levels = object_array([Fraction(level) for level in self.levels], levels.shape)
        gaps = np.abs(outputs[:, :1] - levels[None, :])
        return np.asarray(classes[np.argmin(gaps, axis=1)])
