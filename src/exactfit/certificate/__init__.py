"""Proofs that a network classifies every point of some data correctly."""

from __future__ import annotations

from ..data import data_digest
from .checking import certify
from .record import Certificate

__all__ = ["Certificate", "certify", "data_digest"]
