"""Every construction and the usual baselines on one data set, side by side."""

from .comparing import compare
from .record import Comparison, Row

__all__ = ["Comparison", "Row", "compare"]
