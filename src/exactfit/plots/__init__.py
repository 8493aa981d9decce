"""Pictures: functions of a model or records and an axes, in one style, without global state.

matplotlib is loaded when something is drawn, not before.
"""

from __future__ import annotations

from .answers import plot_anchors, plot_coverage, plot_explanation, plot_suspects
from .geometry import plot_covering, plot_description, plot_distances, plot_limit, plot_sizes
from .points import frame, plot_points
from .regions import DecisionRegionDisplay, plot_regions
from .style import style

__all__ = [
    "DecisionRegionDisplay",
    "frame",
    "plot_anchors",
    "plot_coverage",
    "plot_covering",
    "plot_description",
    "plot_distances",
    "plot_explanation",
    "plot_limit",
    "plot_points",
    "plot_regions",
    "plot_sizes",
    "plot_suspects",
    "style",
]
