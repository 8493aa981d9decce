"""Pictures: functions of a model or records and an axes, in one style, without global state.

Public names are loaded when first used, and matplotlib when something is drawn, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._support import lazy_names
from .style import style as style  # not lazily: the module has the same name

if TYPE_CHECKING:
    from .answers import plot_anchors as plot_anchors
    from .answers import plot_coverage as plot_coverage
    from .answers import plot_explanation as plot_explanation
    from .answers import plot_importances as plot_importances
    from .answers import plot_radii as plot_radii
    from .answers import plot_suspects as plot_suspects
    from .geometry import plot_covering as plot_covering
    from .geometry import plot_description as plot_description
    from .plane import plot_points as plot_points
    from .regions import animate_construction as animate_construction
    from .regions import plot_cells as plot_cells
    from .regions import plot_detector as plot_detector
    from .regions import plot_margins as plot_margins
    from .regions import plot_regions as plot_regions

_HOMES = {
    "answers": ["plot_anchors", "plot_coverage", "plot_explanation", "plot_importances", "plot_radii", "plot_suspects"],
    "geometry": ["plot_covering", "plot_description"],
    "plane": ["plot_points"],
    "regions": ["animate_construction", "plot_cells", "plot_detector", "plot_margins", "plot_regions"],
    "style": ["style"],
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
