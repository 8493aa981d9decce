"""Floating-point formats, and the bound of what an evaluation of <w, x> + b may err by in one.

``certificate.bounds`` states and proves it. Certificates and constructions share this formula and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compile import compiled


class Format(NamedTuple):
    """A floating-point format: unit roundoff, smallest normal number and its exponent, what sums stay below, digits.

    ``pad`` pays for underflow (see ``certificate.bounds``).
    """

    unit: float
    tiny: float
    lowest: int
    huge: float
    digits: int
    pad: float


FLOAT64 = Format(2.0**-53, 2.0**-1022, -1022, 2.0**1022, 53, 2.0**-967)
FLOAT32 = Format(2.0**-24, 2.0**-126, -126, 2.0**126, 24, 2.0**-100)

ENLARGE = 1.0 + 2.0**-40  # more than the few roundings that a bound itself suffers


@compiled
def gamma(terms, unit):
    """(k u) / (1 - k u) with k = terms + 5, rounded up; infinite beyond k u = 1/4."""
    part = (terms + 5) * unit
    return part / (1.0 - part) * ENLARGE if part < 0.25 else np.inf


@compiled
def error_bound(factor, size, point_norm, plane_norm, form):
    """What an evaluation in the format may err by, if the absolute products and bias add up to no more than size."""
    if not (size < form.huge and point_norm < form.huge and plane_norm < form.huge):
        return np.inf
    return factor * (size + form.pad * (point_norm + plane_norm + 1.0))
