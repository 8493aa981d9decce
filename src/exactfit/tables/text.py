"""Text with separators: CSV and its kin, without further packages.

Blocks of plain numbers are parsed at once by compiled code; from the first block on that holds
anything else (text, quotes, empty cells, blank lines), the csv module reads record by record.
Both give the same numbers: each cell's nearest float64.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._kernels.compile import is_loaded
from .._kernels.decimals import parse_decimals
from .._support.console import Progress
from ..exceptions import DataError
from .cells import EXACT_INTEGERS, Cells, labels_of
from .dialect import SAMPLE_BYTES, Dialect, ReadOptions, Writing, detect, missing_words
from .table import Choice, Choose, Raw, place

Floats = NDArray[np.float64]

BOM = b"\xef\xbb\xbf"
BLOCK_BYTES = 2**24  # 16 MiB at a time: long enough that Python's share does not count, short enough to show progress
SMALL_TEXT = 2**17  # bytes that are read record by record before the compiler would be loaded
BATCH_CELLS = 2**19  # cells held as Python strings at a time, about 30 MB


def read_text(file: BinaryIO, name: str, form: ReadOptions, choose: Choose, progress: Progress) -> Raw:
    """Read the chosen columns of a text file."""
    file = file if file.seekable() else io.BytesIO(file.read())
    total = file.seek(0, os.SEEK_END)
    start = len(BOM) if _has_bom(file) else 0
    file.seek(start)
    dialect = detect(file.read(SAMPLE_BYTES), form.separator, form.decimal, form.header)
    file.seek(start)
    writing = Writing(dialect.decimal, missing_words(form.missing_values))
    reader = _Reader(file, name, dialect, writing, form.header, choose)
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
    dialect: Dialect
    writing: Writing
    header: bool
    choose: Choose
    line: int = 1  # where the next record begins
    names: tuple[str, ...] = ()
    choice: Choice | None = None
    cells: list[Cells] = field(default_factory=list)
    label: Cells | None = None
    lines: list[int] = field(default_factory=list)
    progress: Any = None

    @property
    def separator(self) -> str:
        return self.dialect.separator

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
        self.cells = [Cells(self.names[k], k, kinds[k], self._place, self.writing) for k in sorted(kinds)]
        if self.choice.label is not None:
            label = self.choice.label
            self.label = Cells(self.names[label], label, "categorical", self._place, self.writing)
        self.line += 1

    def _place(self, row: int) -> str:
        return place(row, self.lines[row])

    def _read_blocks(self) -> None:
        """Blocks of plain numbers, as long as there are such."""
        while all(cells.kind != "categorical" for cells in self.cells):
            start = self.file.tell()
            block = self.file.read(BLOCK_BYTES) + self.file.readline()
            numbers = self._plain_numbers(block)
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

    def _plain_numbers(self, block: bytes) -> Floats | None:
        if len(block) <= SMALL_TEXT and not is_loaded():
            return None
        if self.dialect.decimal == ",":
            if b"." in block:
                return None
            block = block if self.separator == "," else block.replace(b",", b".")
        return plain_numbers(block, self.separator, len(self.names))

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
            notes=self.dialect.notes,
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
