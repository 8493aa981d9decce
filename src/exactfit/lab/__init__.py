"""Laboratory: comparisons with other constructions, accuracy on new points, and loaders of the paper's data.

Public names are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._support import lazy_names

if TYPE_CHECKING:
    from .comparison import Comparison as Comparison
    from .comparison import Row as Row
    from .comparison import compare as compare
    from .comparison import plot_comparison as plot_comparison
    from .datasets import Dataset as Dataset
    from .datasets import load_dataset as load_dataset
    from .datasets import load_images as load_images
    from .evaluation import Evaluation as Evaluation
    from .evaluation import Standing as Standing
    from .evaluation import evaluate as evaluate

_HOMES = {
    "comparison": ["Comparison", "Row", "compare", "plot_comparison"],
    "datasets": ["Dataset", "load_dataset", "load_images"],
    "evaluation": ["Evaluation", "Standing", "evaluate"],
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
