"""Text with separators: CSV and its kin, without further packages.

Blocks of plain numbers are parsed at once by compiled code; from the first block on that holds
anything else (text, quotes, empty cells, blank lines), the csv module reads record by record.
Both give the same numbers: each cell's nearest float64.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._kernels.decimals import parse_decimals
from .._support.progress import Progress
from ..exceptions import DataError, ParameterError
from .table import Choice, Choose, Column, Kind, Raw, place

Floats = NDArray[np.float64]

BOM = b"\xef\xbb\xbf"
BLOCK_BYTES = 2**24  # 16 MiB at a time: long enough that Python's share does not count, short enough to show progress
BATCH_CELLS = 2**19  # cells held as Python strings at a time, about 30 MB
NO_SEPARATOR = '0123456789+-.eE"\r\n'
EXACT_INTEGERS = 2.0**53  # below it float64 holds every integer
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_LABEL = re.compile(r"0|-?[1-9][0-9]{0,17}")  # integers as they are usually written, all within int64


class Cells:
    """Cells of one column, block by block.

    The first filled cell decides whether the column is one of numbers or of categories, unless
    its kind is given; the first that is not of this kind is an error.

    Parameters
    ----------
    name : str
    position : int
        Of the column in its file.
    kind : {"numeric", "categorical"} or None
    place : function
        From the index of a row to words for it.
    """

    def __init__(self, name: str, position: int, kind: Kind | None, place: Callable[[int], str]) -> None:
        self.name, self.position, self.kind, self._place = name, position, kind, place
        self._forced = kind is not None
        self._pieces: list[NDArray[Any]] = []
        self._codes: dict[str, int] = {}
        self._n = 0
        self._first = 0  # the row that decided on the kind

    def add_numbers(self, numbers: Floats) -> None:
        """A block of a column that is not one of categories."""
        self.kind = "numeric"
        self._append(numbers)

    def add(self, cells: Sequence[str]) -> None:
        """A block of cells as text."""
        if self.kind is None:
            self._decide(cells)
        if self.kind == "categorical":
            self._append(self._as_codes(cells))
        elif self.kind == "numeric":
            self._append(self._as_numbers(cells))
        else:
            self._append(np.full(len(cells), np.nan))

    def _append(self, piece: NDArray[Any]) -> None:
        self._pieces.append(piece)
        self._n += len(piece)

    def _decide(self, cells: Sequence[str]) -> None:
        filled = next((k for k, cell in enumerate(cells) if cell and not cell.isspace()), None)
        if filled is None:
            return
        self._first = self._n + filled
        self.kind = "numeric" if parse(cells[filled]) is not None else "categorical"
        if self.kind == "categorical":
            self._pieces = [np.full(self._n, -1, dtype=np.int64)]  # all cells so far were empty

    def _as_numbers(self, cells: Sequence[str]) -> Floats:
        try:
            numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            numbers = np.array([self._number(k, cell) for k, cell in enumerate(cells)])
        else:
            if "_" in "".join(cells):  # Python would read 1_000 as a number
                numbers = np.array([self._number(k, cell) for k, cell in enumerate(cells)])
        self._refuse_rounded(cells, numbers)
        return numbers

    def _number(self, k: int, cell: str) -> float:
        if not cell or cell.isspace():
            return np.nan
        number = parse(cell)
        if number is None:
            raise self._mixed(self._n + k, f"the text {cell!r}", "numbers")
        return number

    def _refuse_rounded(self, cells: Sequence[str], numbers: Floats) -> None:
        for k in np.flatnonzero(np.abs(numbers) >= EXACT_INTEGERS).tolist():
            if np.isfinite(numbers[k]) and _WHOLE.fullmatch(cells[k]) and as_whole(cells[k]) != int(numbers[k]):
                raise beyond_float64(self.name, f"{cells[k].strip()} in {self._place(self._n + k)}")

    def _as_codes(self, cells: Sequence[str]) -> NDArray[np.int64]:
        for cell in dict.fromkeys(cells):
            if cell not in self._codes:
                self._codes[cell] = self._code(cell, cells)
        return np.fromiter(map(self._codes.__getitem__, cells), dtype=np.int64, count=len(cells))

    def _code(self, cell: str, cells: Sequence[str]) -> int:
        if not cell or cell.isspace():
            return -1
        if not self._forced and parse(cell) is not None:
            raise self._mixed(self._n + cells.index(cell), f"the number {cell.strip()}", "text")
        return len(self._codes)

    def _mixed(self, row: int, what: str, others: str) -> DataError:
        before = "" if self._forced else f" ({self._place(self._first)} holds {others})"
        return DataError(
            f"column {self.name!r} is one of {others}{before}, but {self._place(row)} holds {what}: correct the cell, "
            f"or make the column categorical with --categorical {self.name} (categorical=[{self.name!r}] in Python)"
        )

    def column(self) -> Column:
        """All of it, with categories sorted."""
        if self.kind != "categorical":
            return Column(self.name, self.position, np.concatenate([np.empty(0), *self._pieces]))
        found = [cell for cell, code in self._codes.items() if code >= 0]
        categories = tuple(sorted(found))
        rank = {cell: index for index, cell in enumerate(categories)}
        ranks = np.full(len(self._codes) + 1, -1, dtype=np.int64)  # the last one is for -1
        for cell in found:
            ranks[self._codes[cell]] = rank[cell]
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self._pieces])
        return Column(self.name, self.position, ranks[codes], categories)


def parse(cell: str) -> float | None:
    """The number that a cell holds, if it holds one."""
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def as_whole(cell: str) -> int:
    """The integer that a cell holds; zeros in front do not count against Python's limit on digits."""
    text = cell.strip()
    number = int(text.lstrip("+-").lstrip("0") or "0")
    return -number if text.startswith("-") else number


def beyond_float64(column: str, what: str) -> DataError:
    """The error for an integer that float64 cannot hold."""
    return DataError(
        f"column {column!r} holds integers beyond 2**53, which float64 cannot hold exactly ({what}): scale it, or "
        f"leave it out with --drop {column} (drop=[{column!r}] in Python) if it is an identifier"
    )


def labels_of(column: Column) -> NDArray[Any]:
    """Labels from a column of categories: integers if all of them are written as integers are, else text."""
    categories = column.categories or ()
    whole = all(_LABEL.fullmatch(category) for category in categories)
    names = np.array([int(category) for category in categories] if whole else categories)
    return np.asarray(names[column.values] if categories else np.empty(len(column.values), dtype=np.int64))


def check_separator(separator: str) -> str:
    """The separator, as one character; "tab" is one too."""
    if not isinstance(separator, str):
        raise ParameterError(f"the separator must be one character, got {type(separator).__name__}")
    separator = "\t" if separator in ("tab", "\\t") else separator
    if len(separator) != 1 or separator in NO_SEPARATOR or not separator.isascii():
        raise ParameterError(f"the separator must be one character, such as , or ; or tab, got {separator!r}")
    return separator


def read_text(file: BinaryIO, name: str, separator: str, header: bool, choose: Choose, progress: Progress) -> Raw:
    """Read the chosen columns of a text file."""
    file = file if file.seekable() else io.BytesIO(file.read())
    total = file.seek(0, os.SEEK_END)
    file.seek(len(BOM) if _has_bom(file) else 0)
    reader = _Reader(file, name, check_separator(separator), header, choose)
    reader.progress = lambda done: progress(f"reading {name}", done, total)
    try:
        return reader.read()
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason}): save it as UTF-8") from error
    except csv.Error as error:
        raise DataError(f"{name}: line {reader.line} cannot be read as separated text: {error}") from error


def _has_bom(file: BinaryIO) -> bool:
    file.seek(0)
    return file.read(len(BOM)) == BOM


@dataclass
class _Reader:
    """The state of reading one file."""

    file: BinaryIO
    name: str
    separator: str
    header: bool
    choose: Choose
    line: int = 1  # where the next record begins
    names: tuple[str, ...] = ()
    choice: Choice | None = None
    cells: list[Cells] = field(default_factory=list)
    label: Cells | None = None
    lines: list[int] = field(default_factory=list)
    progress: Any = None

    def read(self) -> Raw:
        self._read_first_line()
        if self.choice is not None:
            self._read_blocks()
        self._read_records()
        if not self.names:
            raise DataError(f"{self.name} is empty")
        if not self.lines:
            raise DataError(f"{self.name} has a header, but no rows")
        return self._finish()

    def _read_first_line(self) -> None:
        """Learn the columns from a first line that is one record; otherwise the csv module will."""
        start = self.file.tell()
        first = self.file.readline()
        if b'"' in first or b"\r" in first.rstrip(b"\r\n") or not first.strip():
            self.file.seek(start)
            return
        (record,) = csv.reader([first.decode().rstrip("\r\n")], delimiter=self.separator, strict=True)
        self._meet(record)
        if not self.header:
            self.file.seek(start)
            self.line = 1

    def _meet(self, record: Sequence[str]) -> None:
        """Choose among the columns that the first record shows."""
        self.names = tuple(record) if self.header else tuple(str(k) for k in range(len(record)))
        _refuse_twice(self.name, self.names)
        self.choice = self.choose(self.names, self.header)
        kinds = self.choice.kinds
        self.cells = [Cells(self.names[k], k, kinds[k], self._place) for k in sorted(kinds)]
        if self.choice.label is not None:
            self.label = Cells(self.names[self.choice.label], self.choice.label, "categorical", self._place)
        self.line += 1

    def _place(self, row: int) -> str:
        return place(row, self.lines[row])

    def _read_blocks(self) -> None:
        """Blocks of plain numbers, as long as there are such."""
        while all(cells.kind != "categorical" for cells in self.cells):
            start = self.file.tell()
            block = self.file.read(BLOCK_BYTES) + self.file.readline()
            numbers = plain_numbers(block, self.separator, len(self.names))
            if numbers is None:
                self.file.seek(start)
                return
            self._count(range(self.line, self.line + len(numbers)))
            for cells in self.cells:
                cells.add_numbers(numbers[:, cells.position])
            if self.label is not None:
                self.label.add(_cells_at(block, self.separator, self.label.position, len(self.names)))
            self.line += len(numbers)
            self.progress(self.file.tell())

    def _count(self, lines: Sequence[int]) -> None:
        self.lines.extend(lines)

    def _read_records(self) -> None:
        """The rest, record by record."""
        before = self.line - 1
        text = io.TextIOWrapper(self.file, "utf-8", newline="")
        records = csv.reader(text, delimiter=self.separator, strict=True)
        batch: list[list[str]] = []
        for record in records:
            start, self.line = self.line, before + records.line_num + 1
            if not record:
                continue
            if self.choice is None:
                self._meet(record)
                self.line = before + records.line_num + 1
                if self.header:
                    continue
            if len(record) != len(self.names):
                raise DataError(self._uneven(start, len(record)))
            batch.append(record)
            self.lines.append(start)
            if len(batch) * len(record) >= BATCH_CELLS:
                self._add(batch)
                batch = []
        self._add(batch)
        text.detach()

    def _add(self, batch: list[list[str]]) -> None:
        if batch:
            columns = list(zip(*batch, strict=True))
            for cells in [*self.cells, *([self.label] if self.label else [])]:
                cells.add(columns[cells.position])
            self.progress(self.file.tell())

    def _uneven(self, line: int, count: int) -> str:
        first = "its header" if self.header else "its first row"
        return (
            f"{self.name}: {place(len(self.lines), line)} has {count} cells, and {first} has {len(self.names)}: "
            f"correct the line, or say what stands between the cells with --separator (now {self.separator!r})"
        )

    def _finish(self) -> Raw:
        label = self.label.column() if self.label else None
        return Raw(
            names=self.names,
            header=self.header,
            columns=tuple(cells.column() for cells in self.cells),
            n_rows=len(self.lines),
            lines=np.array(self.lines, dtype=np.int64),
            label=label.name if label else None,
            labels=labels_of(label) if label else None,
            unlabelled=label.empty if label else None,
        )


def _refuse_twice(name: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for column in names:
        if column in seen:
            raise DataError(f"{name} has more than one column {column!r}: give each column its own name")
        seen.add(column)


def plain_numbers(block: bytes, separator: str, width: int) -> NDArray[np.float64] | None:
    """Rows of numbers, if every line holds ``width`` plain numbers and nothing else; otherwise None."""
    block = block.replace(b"\r\n", b"\n")
    block = block if block.endswith(b"\n") else block + b"\n"
    numbers = np.empty(block.count(b"\n") * width)
    hard = np.empty((2, len(numbers)), dtype=np.int64)
    count = parse_decimals(np.frombuffer(block, dtype=np.uint8), ord(separator), width, numbers, hard)
    if count < 0:
        return None
    if count:
        cells = [float(block[start:stop]) for start, stop in hard[:, :count].T.tolist()]
        numbers[np.isnan(numbers)] = cells
    return numbers.reshape(-1, width) if (np.abs(numbers) < EXACT_INTEGERS).all() else None


def _cells_at(block: bytes, separator: str, position: int, width: int) -> list[str]:
    """The cells of one column, as text, of a block of plain numbers."""
    lines = block.decode().splitlines()
    if 2 * position < width:
        return [line.split(separator, position + 1)[position] for line in lines]
    return [line.rsplit(separator, width - position)[position - width] for line in lines]
