"""Text with separators, CSV and its kin: detection of separator and decimal sign, and reading.

pandas parses blocks of plain numbers. From the first block on that holds anything else (text, quotes, empty cells,
blank lines), and for small files, the csv module reads record by record, since it knows the line of every record.
Both give the same numbers: each cell's nearest float64.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, cast

import numpy as np

from .._kernels.rounding import EXACT_INTEGERS
from .._support.console import Progress
from .._support.processes import read_stream
from ..exceptions import DataError, ParameterError
from .columns import COMMA_NUMBER, Cells, Writing, labels_of, missing_words
from .table import Choice, Choose, Floats, Missing, Raw, place

AUTO = "auto"
NO_SEPARATOR = '0123456789+-.eE"\r\n'
SEPARATORS = ("\t", ";", "|", ",")  # tried in this order: a comma may stand within a cell of any of the others
SAMPLE_BYTES = 2**20  # 1 MiB of a file decides how it is written: thousands of rows, read in milliseconds
SAMPLE_RECORDS = 1000  # of the sample that are split once for every separator
POINT_NUMBER = re.compile(r"\s*[+-]?[0-9]+\.[0-9]+\s*")
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
# First bytes of files that people take for text, and what they are.
NO_TEXT = {
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods) or another zip archive: save the sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "a spreadsheet of old (.xls): save the sheet as CSV",
}
BLOCK_BYTES = 2**24  # 16 MiB at a time: long enough that Python's share does not count, short enough to show progress
SMALL_TEXT = 2**17  # bytes that the csv module reads in the time that loading pandas may take
PLAIN = b"0123456789+-.eE\n"  # bytes of plain numbers: no nan, no inf, no quotes, no blanks
BATCH_CELLS = 2**19  # cells held as Python strings at a time, about 30 MB


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read, whatever is wanted from it: options of :func:`~exactfit.read_table`, by their names."""

    separator: str = AUTO
    header: bool = True
    missing: Missing = "error"
    verbose: bool = False
    decimal: str = AUTO
    missing_values: tuple[str, ...] = ()
    date_parts: tuple[str, ...] = ()


def detect(sample: bytes, form: ReadOptions) -> tuple[str, str, tuple[str, ...]]:
    r"""Separator and decimal sign of a file, from its beginning, and what to tell of them; what is given stays.

    Examples
    --------
    >>> from exactfit.tables.text import ReadOptions, detect
    >>> detect(b"a;b\n1,5;x\n2,5;y\n", ReadOptions())
    (';', ',', ("cells are separated by ';', numbers have decimal commas",))
    """
    separator, decimal = check_separator(form.separator), form.decimal
    if decimal not in (AUTO, ".", ","):
        raise ParameterError(f"decimal must be '.', ',' or 'auto', got {decimal!r}")
    lines = sample.decode("utf-8", errors="replace").splitlines(keepends=True)
    lines = lines[:-1] if len(sample) >= SAMPLE_BYTES else lines  # the last one may be cut
    found, notes = _likely_separator(lines, form.header), []
    if separator != AUTO:
        _refuse_one_column(lines, separator, found)
    else:
        separator = found or ","
        shown = "tabs" if separator == "\t" else repr(separator)
        notes += [f"cells are separated by {shown}"] if separator != "," else []
    if decimal == AUTO:
        decimal = _likely_decimal(lines, separator, form.header)
        notes += ["numbers have decimal commas"] if decimal == "," else []
    return separator, decimal, (", ".join(notes),) if notes else ()


def check_separator(separator: str) -> str:
    """The separator, as one character; "tab" is one too, and "auto" leaves it to the file."""
    if not isinstance(separator, str):
        raise ParameterError(f"the separator must be one character, got {type(separator).__name__}")
    separator = "\t" if separator in ("tab", "\\t") else separator
    if separator == AUTO:
        return separator
    if len(separator) != 1 or separator in NO_SEPARATOR or not separator.isascii():
        raise ParameterError(f"the separator must be one character, such as , or ; or tab, got {separator!r}")
    return separator


def _records(lines: Iterable[str], separator: str) -> list[list[str]]:
    """The first records, as far as they can be split at all."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # reading will say where
        for record in csv.reader(lines, delimiter=separator, strict=True):
            if record:
                records.append(record)
            if len(records) == SAMPLE_RECORDS:
                break
    return records


def _likely_separator(lines: list[str], header: bool) -> str | None:
    """The first separator that splits every record into the same number of cells, more than one."""
    fitting = []
    for separator in SEPARATORS:
        sizes = {len(record) for record in _records(lines, separator)}
        if len(sizes) == 1 and sizes.pop() > 1:
            fitting.append(separator)
    if "," in fitting and not header and fitting[0] != ",":  # 1,5;2,5 can be split at either
        cells = (cell for record in _records(lines, fitting[0]) for cell in record)
        return fitting[0] if any(map(COMMA_NUMBER.fullmatch, cells)) else ","
    return fitting[0] if fitting else None


def _refuse_one_column(lines: list[str], separator: str, found: str | None) -> None:
    records = _records(lines, separator)
    if records and len(records[0]) == 1 and found not in (None, separator):
        name = "tab" if found == "\t" else found
        raise ParameterError(
            f"there is one column only with the separator {separator!r}: did you mean --separator {name!r}?"
        )


def _likely_decimal(lines: list[str], separator: str, header: bool) -> str:
    """A comma, where more numbers are written with a comma than with a point; never beside separating commas."""
    if separator == ",":  # "1,234" in quotes is more likely one thousand and so on
        return "."
    cells = [cell for record in _records(lines, separator)[header:] for cell in record]
    commas, points = (sum(1 for cell in cells if form.fullmatch(cell)) for form in (COMMA_NUMBER, POINT_NUMBER))
    return "," if commas > points else "."


def read_text(file: BinaryIO, name: str, form: ReadOptions, choose: Choose, progress: Progress) -> Raw:
    """Read the chosen columns of a text file."""
    # A device may be sought, and have no end.
    has_end = file.seekable() and file.seek(0, os.SEEK_END) > 0
    file = file if has_end else io.BytesIO(read_stream(file, name))
    file.seek(0)
    first = file.read(4)
    if first in NO_TEXT:
        raise DataError(f"{name} is {NO_TEXT[first]}")
    if first.startswith(GZIP):
        file = _unpacked(file, name)
    total = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = len(BOM) if file.read(len(BOM)) == BOM else 0
    file.seek(start)
    separator, decimal, notes = detect(file.read(SAMPLE_BYTES), form)
    file.seek(start)
    writing = Writing(decimal, missing_words(form.missing_values))
    reader = _Reader(file, name, separator, writing, form.header, choose)
    reader.progress = lambda done: progress(f"reading {name}", done, total)
    try:
        return replace(reader.read(), notes=notes)
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason}): save it as UTF-8") from error
    except csv.Error as error:
        raise DataError(f"{name}: line {reader.line} cannot be read as separated text: {error}") from error


def _unpacked(file: BinaryIO, name: str) -> BinaryIO:
    """Return what a gzip file holds."""
    file.seek(0)
    try:
        return io.BytesIO(read_stream(cast(BinaryIO, gzip.GzipFile(fileobj=file)), name))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name} is a gzip file that cannot be unpacked: {error}") from error


@dataclass
class _Reader:
    """The state of reading one file."""

    file: BinaryIO
    name: str
    separator: str
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

    def read(self) -> Raw:
        self._read_first_line()
        if self.choice is not None:
            self._read_blocks()
        self._read_records()
        if not self.names:
            raise DataError(f"{self.name} is empty")
        if not self.lines:
            raise DataError(f"{self.name} has a header, but no rows")
        raw = Raw(self.names, self.header, tuple(cells.column() for cells in self.cells), len(self.lines))
        raw = replace(raw, lines=np.array(self.lines, dtype=np.int64))
        if self.label is None:
            return raw
        label = self.label.column()
        return replace(raw, label=label.name, labels=labels_of(label), unlabelled=label.empty)

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
        for column, count in Counter(self.names).items():
            if count > 1:
                raise DataError(f"{self.name} has more than one column {column!r}: give each column its own name")
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
            self.lines.extend(range(self.line, self.line + len(numbers)))
            for cells in self.cells:
                cells.add_numbers(numbers[:, cells.position])
            if self.label is not None:
                self.label.add(_cells_at(block, self.separator, self.label.position, len(self.names)))
            self.line += len(numbers)
            self.progress(self.file.tell())

    def _plain_numbers(self, block: bytes) -> Floats | None:
        if len(block) <= SMALL_TEXT:
            return None
        if self.writing.decimal == ",":
            if b"." in block:
                return None
            block = block if self.separator == "," else block.replace(b",", b".")
        return plain_numbers(block, self.separator, len(self.names))

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


def plain_numbers(block: bytes, separator: str, width: int) -> Floats | None:
    """Return the rows of a block if every line holds ``width`` plain numbers and nothing else, otherwise None."""
    block = block.replace(b"\r\n", b"\n")
    if block.translate(None, PLAIN + separator.encode()):
        return None
    import pandas as pd

    # Each cell becomes the nearest float64. From pandas 3.1 on that is the only way, and saying so is deprecated.
    exact: dict[str, Any] = {} if _release(pd.__version__) >= (3, 1) else {"float_precision": "round_trip"}
    try:
        # Without a filter for missing values, an empty cell is an error; so are a blank line and a short one.
        numbers = pd.read_csv(
            io.BytesIO(block), sep=separator, header=None, dtype=np.float64, na_filter=False, skip_blank_lines=False,
            quoting=csv.QUOTE_NONE, **exact,
        ).to_numpy()  # fmt: skip
    except ValueError:
        return None
    # Integers beyond 2^53 are compared with their text by the csv module's way, which can name them.
    return numbers if numbers.shape[1] == width and (np.abs(numbers) < EXACT_INTEGERS).all() else None


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def _cells_at(block: bytes, separator: str, position: int, width: int) -> list[str]:
    """The cells of one column, as text, of a block of plain numbers."""
    lines = block.decode().splitlines()
    if 2 * position < width:
        return [line.split(separator, position + 1)[position] for line in lines]
    return [line.rsplit(separator, width - position)[position - width] for line in lines]
