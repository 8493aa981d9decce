"""``read_table``: text, NPZ and Parquet files, frames, matrices and standard input as tables.

The csv module reads text record by record, and knows the line of every record. In large files pandas parses blocks
that hold plain numbers and nothing else. Both give the same numbers: each cell's nearest float64.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import math
import os
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from .._kernels.rounding import EXACT_INTEGERS
from .._support.parameters import check_choice
from .._support.processes import read_stream, refuse_endless
from .._support.threads import usable_memory
from ..data import refuse_masked, refuse_misshapen
from ..exceptions import DataError, MissingDependencyError, ParameterError
from .columns import COMMA_NUMBER, CellFormat, Cells, beyond_float64, labels_of, missing_words, without_gaps
from .table import MISSING, Choice, Choose, Column, Missing, Table, check_parts, place

LABELS = "y"  # the array of labels in an NPZ file
SHOWN_NAMES = 20  # columns that a message lists
UNNAMED = ("", "Unnamed: 0", "...1")  # what pandas and R write over their row numbers
STANDARD_INPUT = "-"
LONGEST_REASON = 200  # characters of somebody else's message that ours repeats
AUTO, TAB = "auto", "\t"
NO_SEPARATOR = '0123456789+-.eE"\r\n'
SEPARATORS = (TAB, ";", "|", ",")  # tried in this order: a comma may be within a cell of any of the others
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

Raw = tuple[Table, NDArray[np.bool_]]
"""What is read of a source, empty cells and all; and which of its rows have no label."""


@dataclass(frozen=True)
class ReadOptions:
    """Options of :func:`~exactfit.read_table`, by their names, that hold whatever is wanted from a file."""

    separator: str = AUTO
    header: bool = True
    missing: Missing = "error"
    decimal: str = AUTO
    missing_values: tuple[str, ...] = ()
    date_parts: tuple[str, ...] = ()


def read_table(
    source: Any, *, label: str | None = None, drop: Collection[str] = (), categorical: Collection[str] = (),
    separator: str = AUTO, header: bool = True, missing: Missing = "error", decimal: str = AUTO,
    missing_values: Collection[str] = (), date_parts: Collection[str] = (),
) -> Table:  # fmt: skip
    r"""Read a table from a file, from standard input or from a frame.

    A column is numeric when every filled cell is a number, one of dates when every filled cell is
    a date or a time, and categorical when none is a number; anything between is an error.
    Files that end in ``.npz`` (arrays X and y) and ``.parquet`` are read as such, all others as
    text: UTF-8, with or without a byte order mark, as it is or packed by gzip.

    Parameters
    ----------
    source : path, "-", frame (pandas, polars, pyarrow) or matrix
        ``"-"`` is text from standard input. The columns of a matrix are named 0, 1, ...
    label : str, optional
        The column that holds the labels: integers if all are written so, else text. Of an
        NPZ file ``"y"``, which need not be said.
    drop, categorical : collections of str
        Columns to leave out, and columns that hold categories whatever they look like.
    separator : str
        Between cells of text; "tab" is one too, and "auto" finds it out.
    header : bool
        Whether the first line of text holds names. Without, columns are named 0, 1, ...
    missing : {"error", "drop-rows", "impute", "indicator"}
        Empty cells are an error, or their rows are left out, or the encoding fills them (median, or
        most frequent category), or fills them and says so in a feature of its own.
    decimal : {"auto", ".", ","}
        Between the digits of a number in text.
    missing_values : collection of str
        Words that count as empty cells beside the usual ones (NA, N/A, ?, null, nan); with the empty
        word ``""`` among them, in place of the usual ones.
    date_parts : collection of {"year", "month", "day", "weekday", "hour", "minute"}
        Parts of dates that become features beside the days.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file cannot be used; the message names the row and the column.
    ParameterError
        If there is no column of a given name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactfit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fruit.csv"
    ...     _ = path.write_text("weight,colour,fruit\n182,red,apple\n118,yellow,banana\n")
    ...     table = exactfit.read_table(path, label="fruit")
    >>> [(column.name, column.kind) for column in table.columns]
    [('weight', 'numeric'), ('colour', 'categorical')]
    >>> table.labels.tolist()
    ['apple', 'banana']
    """
    # Refuses a single text, of which a tuple would make letters.
    missing_words(missing_values)

    def choose(names: Sequence[str], has_header: bool) -> Choice:
        own = LABELS if label is None and not has_header and LABELS in names else label  # of an NPZ file
        if own is not None and not isinstance(own, str):
            raise ParameterError(f"label must be the name of a column, got {type(own).__name__}")
        for name in (*drop, *categorical, *([] if own is None else [own])):
            if name not in names:
                raise ParameterError(no_column(name, names))
        if own in drop:
            raise ParameterError(f"column {own!r} holds the labels: it cannot be dropped")
        kept = {k: name for k, name in enumerate(names) if name != own and name not in drop}
        kinds = {k: "categorical" if name in categorical else None for k, name in kept.items()}
        return Choice(kinds, None if own is None else list(names).index(own))

    form = ReadOptions(separator, header, missing, decimal, tuple(missing_values), tuple(date_parts))
    table = read_chosen(source, form, choose)
    return replace(table, sure_of_labels=table.label in categorical)


def no_column(name: str, names: Sequence[str]) -> str:
    """Say that there is no such column, and what the user may have meant."""
    if len(names) == 1:
        return f"there is no column {name!r}: {names[0]!r} is the only one. Is the separator another one (--separator)?"
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"there is no column {name!r}: did you mean {near[0]!r}?"
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"there is no column {name!r}: the columns are {', '.join(names[:SHOWN_NAMES])}{more}"


def read_chosen(source: Any, form: ReadOptions, choose: Choose) -> Table:
    """Return the table of a source, with the columns that ``choose`` picks from all names."""
    check_choice("missing", form.missing, MISSING)
    parts, cells = check_parts(form.date_parts), CellFormat(words=missing_words(form.missing_values))
    if hasattr(source, "columns") or hasattr(source, "to_pandas"):
        table, unlabelled = _read_frame(source, "the frame", choose, cells)
    elif not isinstance(source, str | os.PathLike):
        table, unlabelled = _read_matrix(source, choose, cells)
    elif source == STANDARD_INPUT:
        table, unlabelled = read_text(sys.stdin.buffer, "standard input", form, choose)
    elif (path := Path(source)).suffix == ".npz":
        table, unlabelled = _read_npz(path, choose, cells)
    elif path.suffix == ".parquet":
        table, unlabelled = _read_parquet(path, choose, cells)
    else:
        with path.open("rb") as file:
            table, unlabelled = read_text(file, path.name, form, choose)
    notes = table.notes
    if table.columns and _is_row_number(first := table.columns[0]):
        notes += (f"column {repr(first.name) if first.name else 'without a name'}: row numbers, left out",)
        table = replace(table, columns=table.columns[1:])
    if not table.columns:
        raise DataError(f"{table.name} has no columns beside the labels and those left out")
    for column in table.columns:
        infinite = np.isinf(column.values)
        if infinite.any():
            where = table.place(int(infinite.argmax()))
            raise DataError(f"{table.name}: column {column.name!r} holds infinity in {where}")
    return without_gaps(replace(table, missing=form.missing, date_parts=parts, notes=notes), unlabelled)


def _is_row_number(column: Column) -> bool:
    """Return whether a nameless first column counts the rows."""
    if column.position or column.name.strip() not in UNNAMED or column.kind != "numeric" or column.given:
        return False
    values = column.values
    return bool(len(values)) and values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def _read_npz(path: Path, choose: Choose, form: CellFormat) -> Raw:
    """Read arrays X and, where labels are asked for, y."""
    with refuse_endless(path).open("rb") as file:  # Python's own words for a file that is not there
        try:
            # Refuse arrays that would not fit in memory before anything of them is unpacked.
            with zipfile.ZipFile(file) as archive:
                members = {f"{name}.npy" for name in ("X", LABELS)} & set(archive.namelist())
                size, most = sum(archive.getinfo(name).file_size for name in members), usable_memory() // 2
            if size > most:  # the numbers as they are, and as float64
                raise DataError(f"its arrays take {size:,} bytes, and no more than {most:,} can be read here")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                X, y = arrays["X"], arrays.get(LABELS)
        except Exception as error:  # zlib, lzma, tokenize, struct, Unicode, memory: damage can raise anything
            raise DataError(
                f"{path.name} must hold an array of numbers X and an array of labels y ({_reason(error)})"
            ) from error
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise DataError(f"{path.name}: X must be a matrix of numbers, got shape {X.shape} of {X.dtype}")
    if y is not None and y.shape != (len(X),):
        raise DataError(f"{path.name}: there must be a label for each row of X, got shapes {X.shape} and {y.shape}")
    return _read_array(X, path.name, choose, form, y)


def _reason(error: Exception) -> str:
    """Return what went wrong, in one line of printable characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:LONGEST_REASON]


def _read_parquet(path: Path, choose: Choose, form: CellFormat) -> Raw:
    """Read a Parquet file, by way of pandas."""
    import pandas as pd

    try:
        import pyarrow  # noqa: F401  (pandas would name several packages)
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {path.name} needs pyarrow: pip install pyarrow (or exactfit[files])"
        ) from error
    try:
        with refuse_endless(path).open("rb") as file:  # Python's own words for a file that is not there
            frame = pd.read_parquet(file)
    except Exception as error:  # pyarrow, JSON, Unicode, keys, memory: damage can raise anything
        if getattr(error, "errno", None) is not None:  # of the file system; those of pyarrow have no number
            raise
        raise DataError(f"{path.name} cannot be read as Parquet: {_reason(error)}") from error
    return _read_frame(frame, path.name, choose, form)


def _read_matrix(matrix: Any, choose: Choose, form: CellFormat) -> Raw:
    """Read an array, or what NumPy makes one of; text and objects in it are read as cells of a file are."""
    name = "the matrix"
    refuse_masked(matrix, name)
    try:
        refuse_misshapen(matrix)
        X = check_array(matrix, dtype=None, ensure_all_finite=False, input_name="X")
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {error}") from error
    return _read_array(X, name, choose, form)


def _read_array(X: NDArray[Any], name: str, choose: Choose, form: CellFormat, y: NDArray[Any] | None = None) -> Raw:
    """Read a matrix whose columns are named 0, 1, ..., and labels beside it."""
    import pandas as pd

    columns = [str(k) for k in range(X.shape[1])]
    # Booleans are 0 and 1 in a matrix, and categories in a frame, where a column has a kind of its own.
    frame = pd.DataFrame(X.astype(np.uint8) if X.dtype.kind == "b" else X, columns=columns)
    return _read_frame(frame, name, choose, form, None if y is None else pd.Series(y, name=LABELS), has_names=False)


def _read_frame(frame: Any, name: str, choose: Choose, form: CellFormat, y: Any = None, has_names: bool = True) -> Raw:
    """Read a pandas frame, or what can be made into one (polars, pyarrow); ``y`` are labels beside it."""
    frame = frame if hasattr(frame, "iloc") else frame.to_pandas()
    names = tuple(str(column) for column in frame.columns)
    if len(set(names)) < len(names):
        raise DataError(f"{name} has columns of the same name: give each column its own")
    if not len(frame):
        raise DataError(f"{name} has no rows")
    choice = choose(names if y is None else (*names, LABELS), has_names)
    columns = tuple(_column_of(frame.iloc[:, k], k, kind, form) for k, kind in sorted(choice.kinds.items()))
    table = Table(name, columns, np.arange(len(frame)), header=has_names, n_columns=len(names))
    if choice.label is None:
        return table, np.zeros(len(frame), dtype=bool)
    aside = choice.label == len(names)
    series = y if aside else frame.iloc[:, choice.label]
    unlabelled = series.isna().to_numpy()
    filled = typed_labels(series[~unlabelled].to_numpy(), name)
    labels = np.zeros(len(frame), dtype=filled.dtype)
    labels[~unlabelled] = filled
    position = None if aside else choice.label
    return replace(table, labels=labels, label=str(series.name), label_position=position), unlabelled


def typed_labels(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Return labels as integers or text."""
    # pandas has integers with gaps among them as fractions.
    if y.dtype.kind == "f":
        fractions = y[~(np.isfinite(y) & (y == np.rint(y)) & (np.abs(y) < EXACT_INTEGERS))]
        if len(fractions):
            raise DataError(f"{name}: labels must be integers or text, got the number {fractions[0]}")
        return y.astype(np.int64)
    if y.dtype.kind not in "iu" and not (y.dtype.kind == "O" and all(type(label) is int for label in y)):
        return np.array([str(label) for label in y.tolist()], dtype=str)
    least, most = (int(y.min()), int(y.max())) if len(y) else (0, 0)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return y.astype(dtype)
    raise DataError(f"{name}: labels from {least} to {most} fit no integer of 64 bits: write them as text")


def _column_of(series: Any, position: int, kind: str | None, form: CellFormat) -> Column:
    """Return a column of numbers, or else what its cells are as text."""
    title = str(series.name)
    if series.dtype.kind not in "iuf":
        cells = ["" if gap else str(cell) for gap, cell in zip(series.isna(), series.tolist(), strict=True)]
    else:
        integers = series.dropna().to_numpy() if series.dtype.kind in "iu" else np.empty(0)
        for integer in integers[np.abs(integers.astype(np.float64)) >= EXACT_INTEGERS].tolist():
            if int(float(integer)) != integer:
                raise beyond_float64(title, str(integer))
        numbers = form.without_gaps(series.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind in (None, "numeric"):
            return Column(title, position, numbers, given=kind is not None)
        # As a text file would have them: integers without a point.
        cells = [
            "" if math.isnan(number) else str(int(number)) if number.is_integer() else repr(number)
            for number in numbers.tolist()
        ]
    gathered = Cells(title, position, kind, lambda row: place(row, None), form)
    gathered.add(cells)
    return gathered.column()


def detect(sample: bytes, form: ReadOptions) -> tuple[str, str, tuple[str, ...]]:
    """Return separator and decimal sign of a file, from its beginning, and notes on them; what is given stays."""
    separator, decimal = form.separator, form.decimal
    if not isinstance(separator, str):
        raise ParameterError(f"the separator must be one character, got {type(separator).__name__}")
    separator = TAB if separator in ("tab", "\\t") else separator
    if separator != AUTO and (len(separator) != 1 or separator in NO_SEPARATOR or not separator.isascii()):
        raise ParameterError(f"the separator must be one character, such as , or ; or tab, got {separator!r}")
    if decimal not in (AUTO, ".", ","):
        raise ParameterError(f"decimal must be '.', ',' or 'auto', got {decimal!r}")
    lines = sample.decode("utf-8", errors="replace").splitlines(keepends=True)
    lines = lines[:-1] if len(sample) >= SAMPLE_BYTES else lines  # the last one may be cut
    found, notes = _likely_separator(lines, form.header), []
    if separator == AUTO:
        separator = found or ","
        notes += [f"cells are separated by {'tabs' if separator == TAB else repr(separator)}"] * (separator != ",")
    elif found not in (None, separator) and len((_records(lines, separator) or [[]])[0]) == 1:
        raise ParameterError(
            f"there is one column only with the separator {separator!r}: did you mean "
            f"--separator {'tab' if found == TAB else found!r}?"
        )
    if decimal == AUTO:
        # A comma, where more numbers are written with a comma than with a point; never beside separating commas:
        # "1,234" in quotes is more likely one thousand and so on.
        cells = [cell for record in _records(lines, separator)[form.header :] for cell in record]
        commas, points = (sum(1 for cell in cells if way.fullmatch(cell)) for way in (COMMA_NUMBER, POINT_NUMBER))
        decimal = "," if separator != "," and commas > points else "."
        notes += ["numbers have decimal commas"] * (decimal == ",")
    return separator, decimal, (", ".join(notes),) if notes else ()


def _records(lines: Iterable[str], separator: str) -> list[list[str]]:
    """Return the first records, as far as they can be split at all."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # reading will say where
        for record in csv.reader(lines, delimiter=separator, strict=True):
            if record:
                records.append(record)
            if len(records) == SAMPLE_RECORDS:
                break
    return records


def _likely_separator(lines: list[str], header: bool) -> str | None:
    """Return the first separator that splits every record into the same number of cells, more than one."""
    fitting = []
    for separator in SEPARATORS:
        sizes = {len(record) for record in _records(lines, separator)}
        if len(sizes) == 1 and sizes.pop() > 1:
            fitting.append(separator)
    if "," in fitting and not header and fitting[0] != ",":  # 1,5;2,5 can be split at either
        cells = (cell for record in _records(lines, fitting[0]) for cell in record)
        return fitting[0] if any(map(COMMA_NUMBER.fullmatch, cells)) else ","
    return fitting[0] if fitting else None


def read_text(file: BinaryIO, name: str, form: ReadOptions, choose: Choose) -> Raw:
    """Read the chosen columns of a text file."""
    # A device may be sought, and have no end.
    has_end = file.seekable() and file.seek(0, os.SEEK_END) > 0
    file = file if has_end else io.BytesIO(read_stream(file, name))
    file.seek(0)
    first = file.read(4)
    file.seek(0)
    if first in NO_TEXT:
        raise DataError(f"{name} is {NO_TEXT[first]}")
    if first.startswith(GZIP):
        try:
            file = io.BytesIO(read_stream(cast(BinaryIO, gzip.GzipFile(fileobj=file)), name))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{name} is a gzip file that cannot be unpacked: {error}") from error
    start = len(BOM) if file.read(len(BOM)) == BOM else 0
    file.seek(start)
    sample = file.read(SAMPLE_BYTES)
    file.seek(start)
    # Lines as on old Macs, which reading line by line would take for one.
    if b"\r" in sample and b"\n" not in sample:
        file = io.BytesIO(file.read().replace(b"\r", b"\n"))
    separator, decimal, notes = detect(sample, form)
    text = _TextTable(file, name, form.header, separator, CellFormat(decimal, missing_words(form.missing_values)))
    try:
        table, unlabelled = text.read(choose)
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason}): save it as UTF-8") from error
    except csv.Error as error:
        raise DataError(f"{name}: line {text.end + 1} cannot be read as separated text: {error}") from error
    return replace(table, notes=notes), unlabelled


class _TextTable:
    """Reader of one file: records by the csv module, and blocks of plain numbers by pandas."""

    def __init__(self, file: BinaryIO, name: str, header: bool, separator: str, form: CellFormat) -> None:
        self.file, self.name, self.header, self.separator, self.form = file, name, header, separator, form
        self.names: tuple[str, ...] = ()
        self.cells: list[Cells] = []  # of the chosen columns, and at the end of the labels
        self.lines: list[int] = []  # on which each row began
        self.end = 0  # the line on which the last record ended

    def read(self, choose: Choose) -> Raw:
        """Read all records."""
        # The csv module takes line by line: between two records the file is where the next one begins.
        reader = csv.reader(
            (line.decode() for line in iter(self.file.readline, b"")), delimiter=self.separator, strict=True
        )
        batch, in_blocks = list[list[str]](), 0
        for record in reader:
            begin, self.end = self.end + 1, reader.line_num + in_blocks
            if not record:
                continue
            if not self.names:
                choice = self._choose(record, choose)
                if not self.header:
                    self.lines.append(begin)
                    self._add([record])
                in_blocks = self._add_blocks()
                continue
            if len(record) != len(self.names):
                first = "its header" if self.header else "its first row"
                raise DataError(
                    f"{self.name}: {place(len(self.lines), begin)} has {len(record)} cells, and {first} has "
                    f"{len(self.names)}: correct the line, or say what stands between the cells with --separator "
                    f"(now {self.separator!r})"
                )
            batch.append(record)
            self.lines.append(begin)
            if len(batch) * len(record) >= BATCH_CELLS:
                self._add(batch)
                batch = []
        self._add(batch)
        if not self.names:
            raise DataError(f"{self.name} is empty")
        if not self.lines:
            raise DataError(f"{self.name} has a header, but no rows")
        columns = [cells.column() for cells in self.cells]
        table = Table(
            self.name, tuple(columns), np.arange(len(self.lines)), np.array(self.lines, dtype=np.int64),
            header=self.header, n_columns=len(self.names),
        )  # fmt: skip
        if choice.label is None:
            return table, np.zeros(len(table), dtype=bool)
        *others, label = columns
        return replace(
            table, columns=tuple(others), labels=labels_of(label), label=label.name, label_position=label.position
        ), label.empty

    def _choose(self, record: Sequence[str], choose: Choose) -> Choice:
        """Choose among the columns that the first record shows."""
        self.names = tuple(record) if self.header else tuple(str(k) for k in range(len(record)))
        for column, count in Counter(self.names).items():
            if count > 1:
                raise DataError(f"{self.name} has more than one column {column!r}: give each column its own name")
        choice = choose(self.names, self.header)
        kinds = sorted(choice.kinds.items()) + ([] if choice.label is None else [(choice.label, "categorical")])
        self.cells = [
            Cells(self.names[k], k, kind, lambda row: place(row, self.lines[row]), self.form) for k, kind in kinds
        ]
        return choice

    def _add(self, batch: list[list[str]]) -> None:
        columns = list(zip(*batch, strict=True))
        for cells in self.cells if batch else ():
            cells.add(columns[cells.position])

    def _add_blocks(self) -> int:
        """Add blocks of plain numbers, as long as there are such; return how many lines they had."""
        text = {cells.position for cells in self.cells if cells.kind == "categorical"}
        before = self.end
        while True:
            start = self.file.tell()
            block = self.file.read(BLOCK_BYTES) + self.file.readline()
            frame = None
            if len(block) > SMALL_TEXT:
                frame = plain_numbers(block, self.separator, len(self.names), self.form.decimal, text)
            if frame is None:
                self.file.seek(start)
                return self.end - before
            self.lines.extend(range(self.end + 1, self.end + 1 + len(frame)))
            self.end += len(frame)
            for cells in self.cells:
                if cells.position in text:
                    cells.add(frame[cells.position].tolist())
                else:
                    cells.add_numbers(frame[cells.position].to_numpy())


def plain_numbers(
    block: bytes, separator: str, width: int, decimal: str = ".", text: Collection[int] = ()
) -> Any | None:
    """Return the rows of a block as a frame if every line holds ``width`` plain numbers, otherwise None.

    The columns of ``text`` stay as they are written.
    """
    block = block.replace(b"\r\n", b"\n")
    comma = decimal == "," and separator != ","
    if block.translate(None, PLAIN + separator.encode() + b"," * comma) or (decimal == "," and b"." in block):
        return None
    # pandas fills short lines up, which must not happen.
    n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if block.count(separator.encode()) != n_lines * (width - 1):
        return None
    import pandas as pd

    # Each cell becomes the nearest float64. From pandas 3.1 on that is the only way, and saying so is deprecated.
    is_exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    exact: dict[str, Any] = {} if is_exact else {"float_precision": "round_trip"}
    try:
        # Without a filter for missing values, an empty cell is an error, and so is a blank line.
        frame = pd.read_csv(
            io.BytesIO(block), sep=separator, header=None, na_filter=False, skip_blank_lines=False,
            quoting=csv.QUOTE_NONE, decimal="," if comma else ".",
            dtype={k: str if k in text else np.float64 for k in range(width)}, **exact,
        )  # fmt: skip
    except ValueError:
        return None
    # Integers beyond 2^53 are compared with their text by the csv module's way, which can name them.
    is_plain = frame.shape == (n_lines, width)
    return frame if is_plain and (np.abs(frame.select_dtypes("number").to_numpy()) < EXACT_INTEGERS).all() else None
