"""The theorem's quantities for your data, which explain the size of a network.

``neighbours`` and ``widths`` measure the data, ``covering`` covers each class by balls that fit between the classes
and by those that infinitely many hyperplanes would give, ``theorem`` turns these into the theorem's numbers and
``calibration`` into predictions, ``report`` gathers it all. Public names are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._support import lazy_names

if TYPE_CHECKING:
    from .ball_covers import LimitCover as LimitCover
    from .ball_covers import limit_cover as limit_cover
    from .calibration import Calibration as Calibration
    from .calibration import calibrate as calibrate
    from .covering import MutualCovering as MutualCovering
    from .covering import mutual_covering as mutual_covering
    from .neighbours import ClosestPair as ClosestPair
    from .neighbours import angular_separation as angular_separation
    from .neighbours import radius as radius
    from .neighbours import separation as separation
    from .report import Description as Description
    from .report import describe as describe
    from .theorem import Bounds as Bounds
    from .theorem import bounds as bounds
    from .theorem import make_alternating_line as make_alternating_line
    from .theorem import make_disc_moons as make_disc_moons
    from .theorem import make_parallel_lines as make_parallel_lines
    from .widths import MeanWidth as MeanWidth
    from .widths import mean_width as mean_width

_HOMES = {
    "calibration": ["Calibration", "calibrate"],
    "ball_covers": ["LimitCover", "limit_cover"],
    "covering": ["MutualCovering", "mutual_covering"],
    "neighbours": ["ClosestPair", "angular_separation", "radius", "separation"],
    "report": ["Description", "describe"],
    "theorem": [
        "Bounds", "bounds", "make_alternating_line", "make_disc_moons", "make_parallel_lines",
    ],
    "widths": ["MeanWidth", "mean_width"],
}  # fmt: skip

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
