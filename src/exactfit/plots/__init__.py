"""Pictures: functions of a model or records and an axes, in one style, without global state.

matplotlib is loaded when something is drawn, not before.
"""

from __future__ import annotations

from .answers import plot_anchors, plot_coverage, plot_explanation, plot_radii, plot_suspects
from .firing import animate_construction, plot_detector, plot_limit_shape, plot_masks_and_weights
from .geometry import plot_covering, plot_description, plot_distances, plot_limit, plot_sizes
from .plane import frame, plot_points
from .regions import DecisionRegionDisplay, plot_cells, plot_margins, plot_regions
from .style import style

__all__ = [
    "DecisionRegionDisplay",
    "animate_construction",
    "frame",
    "plot_anchors",
    "plot_cells",
    "plot_coverage",
    "plot_covering",
    "plot_description",
    "plot_detector",
    "plot_distances",
    "plot_explanation",
    "plot_limit",
    "plot_limit_shape",
    "plot_margins",
    "plot_masks_and_weights",
    "plot_points",
    "plot_radii",
    "plot_regions",
    "plot_sizes",
    "plot_suspects",
    "style",
]
