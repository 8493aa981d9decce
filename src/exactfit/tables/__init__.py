"""Tables: files of rows and columns, their encoding as points, and models that take them as they are.

``save`` and ``load`` are those of persistence, and take table models once this room is open.
"""

from __future__ import annotations

from ..persistence import load, save
from .encoding import Encoding, Field
from .model import TableModel
from .reading import Format, read_table
from .saving import KIND
from .table import Column, Table

__all__ = ["KIND", "Column", "Encoding", "Field", "Format", "Table", "TableModel", "load", "read_table", "save"]
