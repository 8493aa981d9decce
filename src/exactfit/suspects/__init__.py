"""Rows to look at before anything is built: labels that look wrong, duplicates, rows far from all others."""

from __future__ import annotations

from .finding import find_suspects
from .listing import Suspects

__all__ = ["Suspects", "find_suspects"]
