"""Laboratory: comparisons with other constructions, accuracy on new points, and loaders of the paper's data."""

from .comparison import Comparison, Row, compare, plot_comparison
from .datasets import Dataset, load_dataset, load_images
from .evaluation import Evaluation, Standing, evaluate

__all__ = [
    "Comparison",
    "Dataset",
    "Evaluation",
    "Row",
    "Standing",
    "compare",
    "evaluate",
    "load_dataset",
    "load_images",
    "plot_comparison",
]
