"""Pictures of trials and comparisons, in the style of :mod:`exactfit.plots`."""

from .comparison import plot_comparison
from .heatmap import plot_heatmap
from .slices import plot_growth, plot_slices

__all__ = ["plot_comparison", "plot_growth", "plot_heatmap", "plot_slices"]
