"""Repair: patches before a trained model that make it provably right on given points, and change little else."""

from __future__ import annotations

from .building import RepairReport
from .repaired import RepairedClassifier, repair

__all__ = ["RepairReport", "RepairedClassifier", "repair"]
