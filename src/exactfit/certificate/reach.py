"""How far points may move before an answer can change: lower bounds from the layers before the first threshold.

Layers with no activation or ReLU move their signals by at most the product of their
spectral norms times as far as the point moves. So no bit of the first threshold layer changes
while a point moves by less than |<w, a> + b| over that product and |w|, for all of its units; and without a
threshold layer, no answer while no output moves as far as the answer needs to change.

With squared norms appended, units of a threshold layer are spheres (or hyperplanes), and the
distance to each of them is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels.chains import LINEAR, STEP, nearest_flat, nearest_sphere
from .layers import ChainLayer
from .record import RadiusMethod
from .running import Signal

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """Which layer's sums bound the radius, and by which method.

    Attributes
    ----------
    layer : int
        The first threshold layer, or the output.
    is_output : bool
    method : str or None
        None if there is no bound.
    slopes : ndarray
        By how much more than the point each of the layer's sums may move, at most.
    """

    layer: int
    is_output: bool
    method: RadiusMethod | None
    slopes: Floats

    @classmethod
    def of(cls, chain: Sequence[ChainLayer], squared: bool) -> Reach:
        """What bounds the radius of a chain."""
        kinds = [layer.kind for layer in chain]
        is_output = STEP not in kinds
        index = len(chain) - 1 if is_output else kinds.index(STEP)
        slopes = chain[index].slopes * (1.0 + 2.0**-50)
        for layer in chain[:index]:
            slopes = slopes * layer.norm * (1.0 + 2.0**-50)
        return cls(index, is_output, _method(kinds[:index], squared, is_output, slopes), slopes)

    def of_sums(self, layer: ChainLayer, sums: Signal) -> Floats:
        """Of every point: how far it may move before a bit of this layer changes."""
        reach = np.full(sums.values.shape[1], np.inf)
        if self.method == "nearest sphere":
            curvatures = layer.last_column
            rest = np.sqrt(np.maximum(layer.slopes**2 - curvatures**2, 0.0) + 2.0**-50 * layer.slopes**2)
            nearest_sphere(sums.values, sums.errors, rest, curvatures, layer.units.bias, reach)
        else:
            nearest_flat(sums.values, sums.errors, self.slopes, reach)
        return reach

    def of_gaps(self, gaps: Floats) -> Floats:
        """Of every point: how far it may move before an output moves by its gap."""
        flat = self.slopes[:, None] == 0.0
        reach = np.where(flat, np.inf, gaps / np.where(flat, 1.0, self.slopes[:, None]))
        return np.asarray(np.min(reach, axis=0, initial=np.inf), dtype=np.float64)


def _method(before: list[int], squared: bool, is_output: bool, slopes: Floats) -> RadiusMethod | None:
    if squared:
        return "nearest sphere" if not before and not is_output else None
    if not np.isfinite(slopes).all():
        return None
    if is_output or set(before) - {LINEAR}:
        return "Lipschitz bound"
    return "nearest hyperplane"
