"""Trials as columns: read from a store or a packed file, merged, written.

Two forms hold the same trials. A store (``.jsonl``) has one JSON object per line, with its own CRC-32: header
lines, each with what an invocation was run on and with, and rows that name their header.
A packed file (``.csv.gz`` or ``.csv``) has the headers as comments, then one line per trial,
sorted, with seconds in two digits: small enough to keep beside the code. Trials that failed
stand in stores only; they are run again.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import DataError

Rows = NDArray[np.void]
Header = dict[str, Any]

# What a cell's outcome depends on, beside run, n, lambda and N.
IDENTITY = ("digest", "target", "scheme", "law", "center", "detectors")
KEY = ("run", "n", "lambda", "N")
PLAIN = ("header", *KEY, "detectors", "missed")
COLUMNS = ("header", *KEY, "detectors", "per_class", "missed", "seconds")
CHECKSUM = re.compile(rb', "crc": "([0-9a-f]{8})"}\s*\Z')
# Whatever reading numbers, JSON, text or gzip can raise when bytes are not as they were written.
DAMAGE = (KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError, EOFError, zlib.error)


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials by column, with the headers that they refer to.

    Attributes
    ----------
    headers : tuple of dict
        What the trials were run on and with; the key ``"header"`` has a header's name.
    rows : structured ndarray
        One row per trial that did not fail: position of its header, run, n, lambda, N,
        detectors, missed, seconds, and detectors per target class (-1 beyond the last).
    failures : tuple of dict
        Rows of trials that failed, with the traceback as ``"error"``.

    Examples
    --------
    >>> from exactfit.lab import Trials, merge_trials
    >>> merge_trials([]).headers
    ()
    """

    headers: tuple[Header, ...]
    rows: Rows
    failures: tuple[dict[str, Any], ...] = ()

    def where(self, **wanted: Any) -> Rows:
        """The rows whose header has the given entries.

        Examples
        --------
        >>> from exactfit.lab.trials import Trials, no_rows
        >>> len(Trials((), no_rows()).where(data="mnist"))
        0
        """
        fits = [all(header.get(name) == value for name, value in wanted.items()) for header in self.headers]
        return self.rows[np.asarray(fits, dtype=bool)[self.rows["header"]]] if fits else self.rows

    def kinds(self) -> list[Header]:
        """One header for each kind of trials, by data and scheme."""
        found = {identity(header): header for header in self.headers}
        return list(found.values())


def identity(header: Header) -> tuple[Any, ...]:
    """What two headers must share for their rows to be comparable."""
    return tuple(header.get(name) for name in IDENTITY)


def row_dtype(n_classes: int) -> np.dtype[np.void]:
    """Columns of a trial."""
    whole = [(name, np.float64 if name == "lambda" else np.int64) for name in PLAIN]
    return np.dtype([*whole, ("seconds", np.float64), ("per_class", np.int64, (n_classes,))])


def no_rows() -> Rows:
    """An empty table of trials."""
    return np.empty(0, dtype=row_dtype(1))


@dataclass
class _Builder:
    """Collects rows column by column."""

    headers: list[Header] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    lines: list[tuple[Any, ...]] = field(default_factory=list)
    per_class: list[Sequence[int]] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)

    def add_header(self, header: Header) -> None:
        hash(identity(header))  # kinds of trials are told apart by it
        self.positions[header["header"]] = len(self.headers)
        self.headers.append(header)

    def add(self, header: int, row: Sequence[Any], per_class: Sequence[int]) -> None:
        """A row of run, n, lambda, N, detectors, missed, seconds."""
        self.lines.append((header, *row))
        self.per_class.append(per_class)

    def add_object(self, row: dict[str, Any]) -> None:
        """A line of a store."""
        if "header" in row:
            self.add_header(row)
        elif "error" in row:
            self.failures.append(row)
        else:
            names = (*KEY, "detectors", "missed", "seconds")
            self.add(self.positions[row["in"]], [row[name] for name in names], row["per_class"])

    def trials(self) -> Trials:
        n_classes = max(map(len, self.per_class), default=1)
        rows = np.empty(len(self.lines), dtype=row_dtype(n_classes))
        for name, values in zip((*PLAIN, "seconds"), zip(*self.lines, strict=True), strict=False):
            found = np.array(values)
            if found.dtype.kind not in ("iuf" if name in ("lambda", "seconds") else "iu"):
                raise ValueError(f"{name} must be numbers, whole ones but for lambda and seconds")
            rows[name] = found
        rows["per_class"] = [[*each, *[-1] * (n_classes - len(each))] for each in self.per_class] or -1
        _check(rows, len(self.headers))
        return Trials(tuple(self.headers), rows, tuple(self.failures))


def _check(rows: Rows, n_headers: int) -> None:
    """What holds for every trial, and not for most rows with a changed digit."""
    sums = np.maximum(rows["per_class"], 0).sum(axis=1)
    good = (sums == rows["detectors"]) & (rows["header"] < n_headers)
    for name in (*PLAIN, "seconds"):
        good &= (rows[name] >= 0) & np.isfinite(rows[name])
    if not good.all():
        raise ValueError(f"trial {int(np.argmin(good)) + 1} is damaged")


def read_trials(path: str | os.PathLike[str]) -> Trials:
    """Trials from a store (``.jsonl``) or a packed file (``.csv.gz``, ``.csv``).

    Parameters
    ----------
    path : path

    Returns
    -------
    Trials

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from exactfit.lab import SweepOptions, paper_experiment, read_trials, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = SweepOptions(store=Path(folder, "lines.jsonl"), output=Path(folder), figures=False)
    ...     done = reproduce(paper_experiment("parallel-lines"), options)
    ...     trials = read_trials(options.store)
    >>> trials.rows["detectors"].tolist(), trials.rows["missed"].tolist()
    ([10], [0])
    """
    path, builder = Path(path), _Builder()
    try:
        if path.name.endswith((".csv", ".csv.gz")):
            _read_packed(path, builder)
        else:
            _read_store(path, builder)
        return builder.trials()
    except (*DAMAGE, gzip.BadGzipFile) as error:
        if isinstance(error, DataError):
            raise
        told = " ".join(str(error).split())[:80]
        raise DataError(f"{path.name} does not hold trials of exactfit, or is damaged ({told})") from error


def _read_store(path: Path, builder: _Builder) -> None:
    for _ in read_lines(path, builder.add_object):
        pass


def read_lines(path: Path, take: Callable[[dict[str, Any]], None] = lambda row: None) -> Iterator[dict[str, Any]]:
    """The objects of a store, line by line, each given to ``take`` before; names a line that is damaged."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(_without_checksum(line))
                take(row)
            except DAMAGE as error:
                raise DataError(f"{path.name}, line {number} is damaged: restore the file, or cut the line") from error
            yield row


def _without_checksum(line: bytes) -> bytes:
    """The JSON of a line, if its checksum agrees; lines of old stores have none."""
    found = CHECKSUM.search(line)
    if found is None:
        return line
    text = line[: found.start()] + b"}"
    if zlib.crc32(text) != int(found[1], 16):
        raise ValueError("the checksum does not agree")
    return text


def line_of(entry: dict[str, Any]) -> str:
    r"""A header or a row as a line of a store, with its checksum.

    Examples
    --------
    >>> from exactfit.lab.trials import line_of
    >>> line_of({"in": "a", "run": 0})
    '{"in": "a", "run": 0, "crc": "3085fc5c"}\n'
    """
    text = json.dumps(entry)
    return f'{text[:-1]}, "crc": "{zlib.crc32(text.encode()):08x}"}}\n'


def _text_of(path: Path) -> io.TextIOBase:
    if path.name.endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _read_packed(path: Path, builder: _Builder) -> None:
    with _text_of(path) as file:
        line = file.readline()
        while line.startswith("#"):
            builder.add_header(json.loads(line[1:]))
            line = file.readline()
        if tuple(line.strip().split(",")) != COLUMNS:
            raise DataError(f"{path.name} does not hold trials: its columns are not {','.join(COLUMNS)}")
        for header, run, n, lam, N, detectors, per_class, missed, seconds in csv.reader(file):
            row = (int(run), int(n), float(lam), int(N), int(detectors), int(missed), float(seconds))
            each = [int(count) for count in per_class.split()] if per_class else [int(detectors)]
            builder.add(int(header), row, each)


def merge_trials(parts: Iterable[Trials]) -> Trials:
    """All trials of several stores, each once.

    Raises
    ------
    DataError
        If two of them differ in what came out of the same cell of the same run.

    Examples
    --------
    >>> from exactfit.lab import merge_trials
    >>> len(merge_trials([merge_trials([]), merge_trials([])]).rows)
    0
    """
    headers: dict[str, Header] = {}
    tables: list[Rows] = []
    failures: list[dict[str, Any]] = []
    for part in parts:
        headers |= {header["header"]: header for header in part.headers}
        positions = {name: position for position, name in enumerate(headers)}
        rows = part.rows.copy()
        rows["header"] = np.array([positions[header["header"]] for header in part.headers], dtype=np.int64)[
            part.rows["header"]
        ]
        tables.append(rows)
        failures += part.failures
    return Trials(tuple(headers.values()), _unique(_stack(tables), list(headers.values())), tuple(failures))


def _stack(tables: list[Rows]) -> Rows:
    n_classes = max((table["per_class"].shape[1] for table in tables), default=1)
    out = np.empty(sum(map(len, tables)), dtype=row_dtype(n_classes))
    out["per_class"] = -1
    start = 0
    for table in tables:
        part = out[start : start + len(table)]
        for name in (*PLAIN, "seconds"):
            part[name] = table[name]
        part["per_class"][:, : table["per_class"].shape[1]] = table["per_class"]
        start += len(table)
    return out


def _sorted(rows: Rows, headers: Sequence[Header]) -> tuple[Rows, NDArray[np.int64]]:
    """Rows by kind, N, n, lambda and run; and each row's kind."""
    names = [json.dumps(identity(header)) for header in headers]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    kinds = np.array([numbers[name] for name in names], dtype=np.int64)[rows["header"]] if names else rows["header"]
    order = np.lexsort((rows["run"], rows["lambda"], rows["n"], rows["N"], kinds))
    return rows[order], kinds[order]


def _unique(rows: Rows, headers: Sequence[Header]) -> Rows:
    rows, kinds = _sorted(rows, headers)
    if len(rows) == 0:
        return rows
    same = kinds[1:] == kinds[:-1]
    for name in KEY:
        same &= rows[name][1:] == rows[name][:-1]
    differ = (rows["detectors"][1:] != rows["detectors"][:-1]) | (rows["missed"][1:] != rows["missed"][:-1])
    if (same & differ).any():
        one, other = rows[int((same & differ).argmax()) :][:2]
        cell = ", ".join(f"{name} {one[name]}" for name in KEY)
        raise DataError(
            f"the same trial came out in two ways ({cell}): {one['detectors']} and {other['detectors']} detectors, "
            f"{one['missed']} and {other['missed']} points missed. Are they of different versions of NumPy?"
        )
    first: Rows = rows[np.concatenate([[True], ~same])]
    return first


def write_trials(path: str | os.PathLike[str], trials: Trials) -> None:
    """Write trials as a store or packed, by the ending of the name; an existing file is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from exactfit.lab import merge_trials, read_trials, write_trials
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_trials(Path(folder, "none.csv.gz"), merge_trials([]))
    ...     len(read_trials(Path(folder, "none.csv.gz")).rows)
    0
    """
    path = Path(path)
    packed = path.name.endswith((".csv", ".csv.gz"))
    text = "".join(_packed_lines(trials) if packed else _store_lines(trials)).encode()
    if path.name.endswith(".gz"):
        text = gzip.compress(text, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(text)
    beside.replace(path)


def _plain(rows: Rows) -> Iterator[tuple[Any, ...]]:
    """Rows as Python's own numbers, detectors per class as a list."""
    columns = [rows[name].tolist() for name in (*PLAIN, "seconds")]
    each = ([count for count in counts if count >= 0] for counts in rows["per_class"].tolist())
    return zip(*columns, each, strict=True)


def _packed_lines(trials: Trials) -> Iterator[str]:
    for header in trials.headers:
        yield f"# {json.dumps(header)}\n"
    yield ",".join(COLUMNS) + "\n"
    for header, run, n, lam, N, detectors, missed, seconds, each in _plain(_sorted(trials.rows, trials.headers)[0]):
        several = " ".join(map(str, each)) if len(each) > 1 else ""
        yield f"{header},{run},{n},{lam!r},{N},{detectors},{several},{missed},{seconds:.2g}\n"


def _store_lines(trials: Trials) -> Iterator[str]:
    for header in trials.headers:
        yield line_of(header)
    names = [header["header"] for header in trials.headers]
    for header, run, n, lam, N, detectors, missed, seconds, each in _plain(trials.rows):
        yield row_line(names[header], (run, n, lam, N), detectors, each, missed, seconds)
    for failure in trials.failures:
        yield line_of(failure)


def row_line(
    header: str, key: tuple[int, int, float, int], detectors: int, per_class: Sequence[int], missed: int, seconds: float
) -> str:
    """A trial as a line of a store."""
    run, n, lam, N = key
    row = {"in": header, "run": run, "n": n, "lambda": lam, "N": N, "detectors": detectors}
    row |= {"per_class": list(per_class), "missed": missed, "seconds": float(f"{seconds:.3g}")}
    return line_of(row)
