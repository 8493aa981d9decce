"""Tables: files of rows and columns, their encoding as points, and models that take them as they are."""

from __future__ import annotations

from .encoding import Encoding, Field
from .model import TableModel
from .reading import ReadOptions, read_table
from .table import Column, Table

__all__ = ["Column", "Encoding", "Field", "ReadOptions", "Table", "TableModel", "read_table"]
