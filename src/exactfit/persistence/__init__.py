"""Saving and loading: one safetensors file with a JSON header, never pickle.

A file holds numbers and names, so loading one runs no code of it. The numbers are the tensors ``network.*`` (masks
packed, as the network holds them), ``trace.*`` and ``certificate.errors``. All else is one JSON text in safetensors'
``__metadata__``: it lists type, shape and SHA-256 of every tensor, and its own SHA-256, the file digest, covers it all.

Two rules keep damage out. The text must be in its one canonical form and match its digest:
that finds accidents. And the loaded model must give the same text when it is described
anew: so nothing in a file is passed over, and nothing that it lacks is made up.
"""

from __future__ import annotations

from .saving import load, save

__all__ = ["load", "save"]
