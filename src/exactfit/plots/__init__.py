"""Pictures: functions of a model or records and an axes, in one style, without global state.

matplotlib is loaded when something is drawn, not before.
"""

from .answers import plot_anchors, plot_coverage, plot_explanation, plot_importances, plot_radii, plot_suspects
from .geometry import plot_covering, plot_description
from .plane import plot_points
from .regions import animate_construction, plot_cells, plot_detector, plot_margins, plot_regions
from .style import style

__all__ = [
    "animate_construction",
    "plot_anchors",
    "plot_cells",
    "plot_coverage",
    "plot_covering",
    "plot_description",
    "plot_detector",
    "plot_explanation",
    "plot_importances",
    "plot_margins",
    "plot_points",
    "plot_radii",
    "plot_regions",
    "plot_suspects",
    "style",
]
