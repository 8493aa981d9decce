"""What stands behind an answer: detectors, the training points they are built on, and how clear it was."""

from __future__ import annotations

from .record import DetectorAt, Explanation, Explanations
from .slack import LOWEST, class_slack

__all__ = ["LOWEST", "DetectorAt", "Explanation", "Explanations", "class_slack"]
