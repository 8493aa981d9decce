"""From an experiment to its figures: run what is missing, summarise, draw."""

from __future__ import annotations

from .sweeps import Plan, reproduce

__all__ = ["Plan", "reproduce"]
