"""Repair: patches before a trained model that make it provably right on given points, and change little else."""

from __future__ import annotations

from .repaired import RepairedClassifier, repair
from .reports import RepairReport

__all__ = ["RepairReport", "RepairedClassifier", "repair"]
