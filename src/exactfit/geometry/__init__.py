"""The theorem's quantities for your data, which explain the size of a network.

``neighbours`` and ``widths`` measure the data, ``covering`` covers each class by balls that fit between the classes
and by those that infinitely many hyperplanes would give, ``theorem`` turns these into the theorem's numbers and
``calibration`` into predictions, ``report`` gathers it all.
"""

from .ball_covers import LimitCover, limit_cover
from .calibration import Calibration, calibrate
from .covering import MutualCovering, mutual_covering
from .neighbours import ClosestPair, angular_separation, radius, separation
from .report import Description, describe
from .theorem import Bounds, bounds, make_alternating_line, make_disc_moons, make_parallel_lines
from .widths import MeanWidth, mean_width

__all__ = [
    "Bounds",
    "Calibration",
    "ClosestPair",
    "Description",
    "LimitCover",
    "MeanWidth",
    "MutualCovering",
    "angular_separation",
    "bounds",
    "calibrate",
    "describe",
    "limit_cover",
    "make_alternating_line",
    "make_disc_moons",
    "make_parallel_lines",
    "mean_width",
    "mutual_covering",
    "radius",
    "separation",
]
