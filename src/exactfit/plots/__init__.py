"""Pictures: functions of a model or records and an axes, in one style, without global state.

matplotlib is loaded when something is drawn, not before.
"""

from __future__ import annotations

from .regions import DecisionRegionDisplay, plot_regions
from .style import style

__all__ = ["DecisionRegionDisplay", "plot_regions", "style"]
