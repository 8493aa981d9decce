"""Tables as text: what is read from them, and what is said when they cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exactfit import DataError, Table, read_table


def table_of(path: Path, content: str | bytes, **options: Any) -> Table:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **options)


def error_of(path: Path, content: str | bytes, kind: type[Exception] = DataError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        table_of(path, content, **options)
    return str(caught.value)


def cells(table: Table) -> dict[str, list[Any]]:
    """Numbers and categories, as they stood in the file."""
    return {
        column.name: column.values.tolist()
        if column.categories is None
        else [column.categories[code] for code in column.values]
        for column in table.columns
    }
