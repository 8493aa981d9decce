"""``read_table``: text, NPZ and Parquet files, frames, matrices and standard input as tables.

pandas parses blocks of plain numbers in text. From the first block on that holds anything else (text, quotes, empty
cells, blank lines), and for small files, the csv module reads record by record: it knows the line of every record.
Both give the same numbers: each cell's nearest float64.
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
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from .._kernels.rounding import EXACT_INTEGERS
from .._support.console import Progress, progress_bar
from .._support.parameters import check_choice
from .._support.processes import read_stream, refuse_endless
from .._support.threads import usable_memory
from ..data import refuse_masked, refuse_misshapen
from ..exceptions import DataError, MissingDependencyError, ParameterError
from .columns import COMMA_NUMBER, Cells, Writing, beyond_float64, labels_of, missing_words, with_roles, without_gaps
from .table import MISSING, Choice, Choose, Column, Floats, Kind, Missing, Raw, Table, check_parts, place

LABELS = "y"  # the array of labels in an NPZ file
SHOWN_NAMES = 20  # columns that a message lists
STANDARD_INPUT = "-"
LONGEST_REASON = 200  # characters of somebody else's message that ours repeats
LARGE_BYTES = 2**24  # 16 MiB: from here on reading takes so long that somebody may wonder
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


def read_table(
    source: Any, *, label: str | None = None, drop: Collection[str] = (), categorical: Collection[str] = (),
    separator: str = AUTO, header: bool = True, missing: Missing = "error", verbose: bool = False,
    decimal: str = AUTO, missing_values: Collection[str] = (), date_parts: Collection[str] = (), **old: Any,
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
    verbose : bool
        Whether to show progress, where a file is large.
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
    refuse_old("read_table", old)
    missing_words(missing_values)  # refuses a single text, of which a tuple would make letters
    form = ReadOptions(separator, header, missing, verbose, decimal, tuple(missing_values), tuple(date_parts))
    table = read_chosen(source, form, lambda names, has_header: all_but(names, has_header, label, drop, categorical))
    return replace(table, sure_of_labels=table.label in categorical)


def all_but(
    names: Sequence[str], header: bool, label: str | None, drop: Collection[str], categorical: Collection[str]
) -> Choice:
    """All columns but the labels and those to drop."""
    if label is not None and not isinstance(label, str):
        raise ParameterError(f"label must be the name of a column, got {type(label).__name__}")
    if label is None and not header and LABELS in names:  # the labels of an NPZ file
        label = LABELS
    for name in (*drop, *categorical, *([] if label is None else [label])):
        if name not in names:
            raise ParameterError(no_column(name, names))
    if label in drop:
        raise ParameterError(f"column {label!r} holds the labels: it cannot be dropped")
    kept = {k: name for k, name in enumerate(names) if name != label and name not in drop}
    kinds: dict[int, Any] = {k: "categorical" if name in categorical else None for k, name in kept.items()}
    return Choice(kinds, None if label is None else list(names).index(label))


def no_column(name: str, names: Sequence[str]) -> str:
    """That there is no such column, and what the user may have meant."""
    if len(names) == 1:
        return f"there is no column {name!r}: {names[0]!r} is the only one. Is the separator another one (--separator)?"
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"there is no column {name!r}: did you mean {near[0]!r}?"
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"there is no column {name!r}: the columns are {', '.join(names[:SHOWN_NAMES])}{more}"


def refuse_old(function: str, old: Collection[str]) -> None:
    """Say what became of ``target``; refuse other keywords as Python does."""
    if "target" in old:
        raise ParameterError(
            "the column that holds the labels is named by label=..., not target= "
            "(target= of InterpolatingClassifier names the class that gets detectors)"
        )
    for name in old:
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def read_chosen(source: Any, form: ReadOptions, chosen: Choose) -> Table:
    """The table of a file, with the columns that ``chosen`` picks from all names."""
    check_choice("missing", form.missing, MISSING)
    parts, name, known = check_parts(form.date_parts), name_of(source), {}

    def choose(names: Sequence[str], header: bool) -> Choice:
        choice = chosen(names, header)
        known.update(choice.dates)
        return choice

    is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    with progress_bar(form.verbose and is_file and os.path.getsize(source) >= LARGE_BYTES) as progress:
        raw = _open(source, name, form, choose, progress)
    columns, notes = with_roles(raw, known)
    if not columns:
        raise DataError(f"{name} has no columns beside the labels and those left out")
    table = Table(
        name=name,
        columns=columns,
        rows=np.arange(raw.n_rows),
        lines=raw.lines,
        labels=raw.labels,
        label=raw.label,
        label_position=raw.names.index(raw.label) if raw.label in raw.names else None,
        header=raw.header,
        n_columns=len(raw.names),
        missing=form.missing,
        date_parts=parts,
        notes=(*raw.notes, *notes),
    )
    _refuse_infinite(table)
    return without_gaps(table, raw)


def name_of(source: Any) -> str:
    """What messages call a source."""
    if not isinstance(source, str | os.PathLike):
        return "the frame" if _is_frame(source) else "the matrix"
    return "standard input" if source == STANDARD_INPUT else Path(source).name


def _is_frame(source: Any) -> bool:
    return hasattr(source, "columns") or hasattr(source, "to_pandas")


def _open(source: Any, name: str, form: ReadOptions, chosen: Choose, progress: Progress) -> Raw:
    writing = Writing(words=missing_words(form.missing_values))
    if _is_frame(source):
        return _read_frame(source, name, chosen, writing)
    if not isinstance(source, str | os.PathLike):
        return _read_matrix(source, name, chosen, writing)
    if source == STANDARD_INPUT:
        return read_text(sys.stdin.buffer, name, form, chosen, progress)
    path = Path(source)
    if path.suffix == ".npz":
        return _read_npz(path, chosen, writing)
    if path.suffix == ".parquet":
        return _read_parquet(path, chosen, writing)
    with path.open("rb") as file:
        return read_text(file, name, form, chosen, progress)


def _refuse_infinite(table: Table) -> None:
    for column in table.columns:
        if column.categories is None and np.isinf(column.values).any():
            row = int(np.isinf(column.values).argmax())
            raise DataError(f"{table.name}: column {column.name!r} holds infinity in {table.place(row)}")


def _read_npz(path: Path, choose: Choose, writing: Writing) -> Raw:
    """Read arrays X and, where labels are asked for, y."""
    with refuse_endless(path).open("rb") as file:  # Python's own words for a file that is not there
        try:
            _refuse_bomb(file)
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
    return _read_arrays(X, y, path.name, choose, writing)


def _refuse_bomb(file: BinaryIO) -> None:
    """Refuse an archive whose arrays would not fit in memory, before anything of them is unpacked."""
    with zipfile.ZipFile(file) as archive:
        names = {f"{name}.npy" for name in ("X", LABELS)} & set(archive.namelist())
        size = sum(archive.getinfo(name).file_size for name in names)
    if size > usable_memory() // 2:  # the numbers as they are, and as float64
        raise DataError(f"its arrays take {size:,} bytes, and no more than {usable_memory() // 2:,} can be read here")
    file.seek(0)


def _reason(error: Exception) -> str:
    """Return what went wrong, in one line of printable characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:LONGEST_REASON]


def _read_parquet(path: Path, choose: Choose, writing: Writing) -> Raw:
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
    return _read_frame(frame, path.name, choose, writing)


def _read_matrix(matrix: Any, name: str, choose: Choose, writing: Writing) -> Raw:
    """Read an array, or what NumPy makes one of; text and objects in it are read as cells of a file are."""
    refuse_masked(matrix, name)
    try:
        refuse_misshapen(matrix)
        X = check_array(matrix, dtype=None, ensure_all_finite=False, input_name="X")
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {error}") from error
    return _read_arrays(X, None, name, choose, writing)


def _read_arrays(X: NDArray[Any], y: NDArray[Any] | None, name: str, choose: Choose, writing: Writing) -> Raw:
    """Read a matrix whose columns are named 0, 1, ..., and labels beside it."""
    import pandas as pd

    names = tuple(str(k) for k in range(X.shape[1]))
    choice = choose(names if y is None else (*names, LABELS), False)
    frame = pd.DataFrame(X.astype(np.uint8) if X.dtype.kind == "b" else X, columns=names)  # booleans are 0 and 1
    columns = _columns_of(frame, choice, writing)
    if y is None or choice.label is None:
        return Raw(names, False, columns, len(X))
    return Raw(names, False, columns, len(X), None, LABELS, *typed_labels(y, name))


def _read_frame(frame: Any, name: str, choose: Choose, writing: Writing) -> Raw:
    """Read a pandas frame, or what can be made into one (polars, pyarrow)."""
    frame = frame if hasattr(frame, "iloc") else frame.to_pandas()
    names = tuple(str(column) for column in frame.columns)
    if len(set(names)) < len(names):
        raise DataError(f"{name} has columns of the same name: give each column its own")
    if not len(frame):
        raise DataError(f"{name} has no rows")
    choice = choose(names, True)
    columns = _columns_of(frame, choice, writing)
    if choice.label is None:
        return Raw(names, True, columns, len(frame))
    series = frame.iloc[:, choice.label]
    empty = series.isna().to_numpy()
    filled, _ = typed_labels(series[~empty].to_numpy(), name)
    labels = np.zeros(len(frame), dtype=filled.dtype)
    labels[~empty] = filled
    return Raw(names, True, columns, len(frame), None, names[choice.label], labels, empty)


def typed_labels(y: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels as integers or text, and which are empty."""
    filled = np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "b":
        return y.astype(str), filled
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.rint(y)) & (np.abs(y) < EXACT_INTEGERS)
        if not (whole | np.isnan(y)).all():
            raise DataError(f"{name}: labels must be integers or text, got the number {y[~whole & ~np.isnan(y)][0]}")
        return np.where(whole, y, 0).astype(np.int64), np.isnan(y)
    if y.dtype.kind in "iu" or (y.dtype.kind == "O" and all(type(label) is int for label in y)):
        return _integer_labels(y, name), filled
    return np.array([str(label) for label in y.tolist()], dtype=str), filled


def _integer_labels(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Return integers as int64, or as uint64 if that is what holds them all."""
    least, most = (int(y.min()), int(y.max())) if len(y) else (0, 0)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return y.astype(dtype)
    raise DataError(f"{name}: labels from {least} to {most} fit no integer of 64 bits: write them as text")


def _columns_of(frame: Any, choice: Choice, writing: Writing) -> tuple[Column, ...]:
    """Return the chosen columns of a pandas frame."""
    return tuple(_column_of(frame.iloc[:, k], k, kind, writing) for k, kind in sorted(choice.kinds.items()))


def _column_of(series: Any, position: int, kind: Kind | None, writing: Writing) -> Column:
    """Return a column of numbers, or else what its cells are as text."""
    title, empty = str(series.name), series.isna().to_numpy()
    if series.dtype.kind in "iuf":
        if series.dtype.kind in "iu":
            _refuse_rounded(title, series.dropna().to_numpy())
        numbers = writing.without_gaps(series.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind not in ("categorical", "date"):
            return Column(title, position, numbers, given=kind is not None)
        # As a text file would have them: integers without a point.
        cells = [
            "" if math.isnan(number) else str(int(number)) if number.is_integer() else repr(number)
            for number in numbers.tolist()
        ]
    else:
        cells = ["" if gap else str(cell) for gap, cell in zip(empty, series.tolist(), strict=True)]
    gathered = Cells(title, position, kind, lambda row: place(row, None), writing)
    gathered.add(cells)
    return gathered.column()


def _refuse_rounded(title: str, integers: NDArray[Any]) -> None:
    """Refuse integers that float64 would round."""
    for integer in integers[np.abs(integers.astype(np.float64)) >= EXACT_INTEGERS].tolist():
        if int(float(integer)) != integer:
            raise beyond_float64(title, str(integer))


def detect(sample: bytes, form: ReadOptions) -> tuple[str, str, tuple[str, ...]]:
    """Return separator and decimal sign of a file, from its beginning, and notes on them; what is given stays."""
    separator, decimal = _separator(form.separator), form.decimal
    if decimal not in (AUTO, ".", ","):
        raise ParameterError(f"decimal must be '.', ',' or 'auto', got {decimal!r}")
    lines = sample.decode("utf-8", errors="replace").splitlines(keepends=True)
    lines = lines[:-1] if len(sample) >= SAMPLE_BYTES else lines  # the last one may be cut
    found, notes = _likely_separator(lines, form.header), []
    if separator != AUTO:
        records = _records(lines, separator)
        if records and len(records[0]) == 1 and found not in (None, separator):
            name = "tab" if found == "\t" else found
            raise ParameterError(
                f"there is one column only with the separator {separator!r}: did you mean --separator {name!r}?"
            )
    else:
        separator = found or ","
        shown = "tabs" if separator == "\t" else repr(separator)
        notes += [f"cells are separated by {shown}"] if separator != "," else []
    if decimal == AUTO:
        decimal = _likely_decimal(lines, separator, form.header)
        notes += ["numbers have decimal commas"] if decimal == "," else []
    return separator, decimal, (", ".join(notes),) if notes else ()


def _separator(separator: str) -> str:
    """Return the separator as one character; "tab" is one too, and "auto" leaves it to the file."""
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
        file.seek(0)
        try:
            file = io.BytesIO(read_stream(cast(BinaryIO, gzip.GzipFile(fileobj=file)), name))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{name} is a gzip file that cannot be unpacked: {error}") from error
    total = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = len(BOM) if file.read(len(BOM)) == BOM else 0
    file.seek(start)
    separator, decimal, notes = detect(file.read(SAMPLE_BYTES), form)
    file.seek(start)
    writing = Writing(decimal, missing_words(form.missing_values))
    reader = _Reader(
        file, name, separator, writing, form.header, choose, lambda done: progress(f"reading {name}", done, total)
    )
    try:
        return replace(reader.read(), notes=notes)
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text ({error.reason}): save it as UTF-8") from error
    except csv.Error as error:
        raise DataError(f"{name}: line {reader.line} cannot be read as separated text: {error}") from error


@dataclass
class _Reader:
    """The state of reading one file."""

    file: BinaryIO
    name: str
    separator: str
    writing: Writing
    header: bool
    choose: Choose
    progress: Callable[[int], None]
    line: int = 1  # where the next record begins
    names: tuple[str, ...] = ()
    choice: Choice | None = None
    cells: list[Cells] = field(default_factory=list)
    label: Cells | None = None
    lines: list[int] = field(default_factory=list)

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
            numbers = None
            # Beside decimal commas a point belongs to no number; where commas separate as well, cells are in quotes.
            if len(block) > SMALL_TEXT and not (self.writing.decimal == "," and b"." in block):
                swap = self.writing.decimal == "," and self.separator != ","
                numbers = plain_numbers(block.replace(b",", b".") if swap else block, self.separator, len(self.names))
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
                first = "its header" if self.header else "its first row"
                raise DataError(
                    f"{self.name}: {place(len(self.lines), start)} has {len(record)} cells, and {first} has "
                    f"{len(self.names)}: correct the line, or say what stands between the cells with --separator "
                    f"(now {self.separator!r})"
                )
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
