"""Where trials are kept: two forms of file that hold the same ones, read, written, and added to.

A store (``.jsonl``) has one JSON object per line, with its own CRC-32: header lines, each with what an invocation was
run on and with, and rows that name their header. It is append-only, belongs to one process at a time, and is sound
after any end: rows are written in one piece when they arrive. A process that dies leaves at most a half-written last
line, which the next one drops.

A packed file (``.csv.gz`` or ``.csv``) has the headers as comments, then one line per trial, sorted, with seconds in
two digits: small enough to keep beside the code. Trials that failed are kept in stores only; they are run again.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from exactfit import DataError, ParameterError

from .trials import AXES, ESTIMATED, SIZES, Header, Trials, axes_of

FLUSH_SECONDS = 0.5  # between two flushes to disk: of a row they take longer than a small trial
LOCKED_BYTE = 2**40  # far beyond the end: where Windows locks parts of a file
TAIL = 2**16  # bytes read at a time in search of the last complete line
PACKED = (".csv", ".csv.gz")
CHECKSUM = re.compile(rb', "crc": "([0-9a-f]{8})"}\s*\Z')
COUNTS = ("run", "n", "N", "detectors", "missed", *SIZES)
NUMBERS = ("lambda", "accuracy", "seconds")
# Columns of a packed file, those of them that a kind of sweep has.
COLUMNS = ("header", "run", *AXES, *ESTIMATED, "per_class", "missed", *SIZES, "seconds")
NEEDED = {"header", "run", "missed", "seconds"}  # of them all kinds have these
# Whatever reading numbers, JSON, text or gzip can raise when bytes are not as they were written.
DAMAGE = (LookupError, TypeError, ValueError, OverflowError, RecursionError, EOFError, zlib.error, gzip.BadGzipFile)


def read_trials(path: str | os.PathLike[str]) -> Trials:
    """Read trials from a store (``.jsonl``) or a packed file (``.csv.gz``, ``.csv``)."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise DataError(f"{path.name} is no ordinary file: save what it gives to one first")
    try:
        return _read_packed(path) if path.name.endswith(PACKED) else _read_lines(path)
    except DAMAGE as error:
        if isinstance(error, DataError):
            raise
        told = " ".join(str(error).split())[:80]
        raise DataError(f"{path.name} does not hold trials of exactfit, or is damaged ({told})") from error


def _read_lines(path: Path) -> Trials:
    trials, rows = Trials(), list[dict[str, Any]]()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(_without_checksum(line))
                if not isinstance(row, dict):
                    raise ValueError("a line must be an object")
                if "header" in row:
                    trials.headers[str(row["header"])] = row
                elif "error" in row:
                    trials.failures.append(row)
                else:
                    rows.append(_as_row(row, trials.headers))
            except DAMAGE as error:
                raise DataError(f"{path.name}, line {number} is damaged: restore the file, or cut the line") from error
    return Trials(trials.headers, checked(pd.DataFrame(rows)), trials.failures)


def _without_checksum(line: bytes) -> bytes:
    """Return the JSON of a line, if its checksum agrees; lines of old stores have none."""
    found = CHECKSUM.search(line)
    if found is None:
        return line
    text = line[: found.start()] + b"}"
    if zlib.crc32(text) != int(found[1], 16):
        raise ValueError("the checksum does not agree")
    return text


def _as_row(row: dict[str, Any], headers: dict[str, Header]) -> dict[str, Any]:
    """Return a line of a store as a row of the frame."""
    name = row.pop("in")
    headers[name]  # raises if there is none
    if "per_class" in row:
        row["per_class"] = " ".join(map(str, row["per_class"]))
    return {"header": name, **row}


def checked(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows that trials can be: counts and finite numbers, none below zero; ValueError for others."""
    if not len(rows):
        return rows
    if not NEEDED <= set(rows) <= set(COLUMNS) or not axes_of(rows):
        raise ValueError(f"columns {', '.join(map(str, rows))} are not those of trials")
    for name in rows.columns.intersection([*COUNTS, *NUMBERS]):
        values = rows[name].to_numpy()
        if values.dtype.kind not in ("i" if name in COUNTS else "if"):
            raise ValueError(f"{name} must be {'integers' if name in COUNTS else 'numbers'}")
        if not (np.isfinite(values) & (values >= 0)).all():
            raise ValueError(f"{name} must be finite and not below zero")
    if "per_class" in rows:
        sums = [sum(map(_count, text.split())) for text in rows["per_class"]]
        if sums != rows["detectors"].tolist():
            raise ValueError("the detectors of all classes are not those of a trial")
    return rows.astype({name: np.float64 for name in NUMBERS if name in rows})


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text} is no number of detectors")
    return int(text)


def _read_packed(path: Path) -> Trials:
    headers: dict[str, Header] = {}
    with (gzip.open if path.name.endswith(".gz") else open)(path, "rt", encoding="utf-8", newline="") as file:
        line = file.readline()
        while line.startswith("#"):
            header = json.loads(line[1:])
            headers[str(header["header"])] = header
            line = file.readline()
        columns = line.strip().split(",")
        if not NEEDED <= set(columns) <= set(COLUMNS):
            raise DataError(f"{path.name} does not hold trials: its columns are not among {', '.join(COLUMNS)}")
        # Python reads decimals exactly, as pandas' own reader does not in all versions: cells are told apart by them.
        text = dict.fromkeys(["per_class", "setting", *NUMBERS], str)
        rows = pd.read_csv(file, names=columns, dtype=text, keep_default_na=False, low_memory=False, index_col=False)
    rows = rows.astype({name: np.float64 for name in NUMBERS if name in rows})
    # Where there is one class only, detectors per class are left out.
    if "per_class" in rows:
        rows["per_class"] = rows["per_class"].where(rows["per_class"] != "", rows["detectors"].astype(str))
    names = np.array(list(headers), dtype=object)
    numbers = rows["header"].to_numpy()
    if len(rows) and (numbers.dtype.kind != "i" or numbers.min() < 0):
        raise ValueError("numbers of headers must be integers")
    return Trials(headers, checked(rows.assign(header=names[numbers] if len(rows) else [])))


def write_trials(path: str | os.PathLike[str], trials: Trials) -> None:
    """Write trials as a store or packed, by the ending of the name; an existing file is replaced."""
    path = Path(path)
    text = (_packed_text(trials) if path.name.endswith(PACKED) else _store_text(trials)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(gzip.compress(text, mtime=0) if path.name.endswith(".gz") else text)
    beside.replace(path)


def _packed_text(trials: Trials) -> str:
    head = "".join(f"# {json.dumps(header)}\n" for header in trials.headers.values())
    rows = trials.in_order() if len(trials.rows) else pd.DataFrame(columns=sorted(NEEDED))
    numbers = {name: number for number, name in enumerate(trials.headers)}
    rows = rows.assign(header=rows["header"].map(numbers))
    if "per_class" in rows:
        rows["per_class"] = rows["per_class"].where(rows["per_class"].str.contains(" "), "")
    rows["seconds"] = rows["seconds"].map("{:.2g}".format)
    columns = [name for name in COLUMNS if name in rows]
    return head + str(rows[columns].to_csv(index=False, lineterminator="\n"))


def _store_text(trials: Trials) -> str:
    lines = [*trials.headers.values(), *map(_as_line, trials.rows.to_dict("records")), *trials.failures]
    return "".join(map(line_of, lines))


def _as_line(row: dict[Any, Any]) -> dict[str, Any]:
    """Return a row of the frame as a line of a store."""
    line = {"in": row["header"], **{str(name): value for name, value in row.items() if name != "header"}}
    return line | ({"per_class": list(map(int, row["per_class"].split()))} if "per_class" in row else {})


def line_of(entry: dict[str, Any]) -> str:
    r"""Return a header or a row as a line of a store, with its checksum.

    Examples
    --------
    >>> from experiments.store import line_of
    >>> line_of({"in": "a", "run": 0})
    '{"in": "a", "run": 0, "crc": "3085fc5c"}\n'
    """
    text = json.dumps(entry)
    return f'{text[:-1]}, "crc": "{zlib.crc32(text.encode()):08x}"}}\n'


class Store:
    """A store, made or opened to add to it; BlockingIOError if another process has it open.

    ``trials`` is what it held when it was opened; ``note`` is called with what had to be mended.
    """

    def __init__(self, path: str | os.PathLike[str], note: Callable[[str], None]) -> None:
        self.path = Path(path)
        if self.path.name.endswith(PACKED):
            raise ParameterError(
                f"{self.path.name} holds packed trials, which cannot be added to: name a store (.jsonl), "
                "and continue from the packed file"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        self._flushed = time.monotonic()
        try:
            if not _lock(self._file):
                said = f"{self.path} is in use by another process: wait for it, or name another store"
                raise BlockingIOError(errno.EAGAIN, said)
            dropped = _drop_half_line(self._file)
            if dropped:
                note(f"{self.path.name}: dropped a half-written last line ({dropped} bytes)")
            self.trials = read_trials(self.path)
        except BaseException:
            os.close(self._file)
            raise

    def begin(self, header: Header) -> str:
        """Write the header of an invocation; return the name that its rows refer to."""
        text = json.dumps(header, sort_keys=True)
        name = f"{header['scheme']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        self._write(line_of({"header": name, **header}))
        return name

    def add(self, header: str, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows, in one piece; seconds in three digits."""
        short = ({**row, **({"seconds": float(f"{row['seconds']:.3g}")} if "seconds" in row else {})} for row in rows)
        self._write("".join(line_of({"in": header, **row}) for row in short))

    def _write(self, text: str) -> None:
        data = text.encode()
        if os.write(self._file, data) < len(data):
            raise OSError(errno.ENOSPC, f"{self.path}: no room for the next trial; make room and run again")
        if time.monotonic() - self._flushed >= FLUSH_SECONDS:
            os.fsync(self._file)
            self._flushed = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file)
        os.close(self._file)


def _lock(file: int) -> bool:
    """Lock an open file against other processes for as long as it is open; the system unlocks it when we die."""
    try:
        import fcntl
    except ImportError:  # on Windows
        import msvcrt

        locking: Any = msvcrt.locking  # type: ignore[attr-defined,unused-ignore]  # only there on Windows
        try:
            os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
            locking(file, 2, 1)  # LK_NBLCK
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _drop_half_line(file: int) -> int:
    """Cut the file after its last complete line; return how many bytes were dropped."""
    size = os.lseek(file, 0, os.SEEK_END)
    position, tail = size, b""
    while position > 0 and b"\n" not in tail:
        position = max(0, position - TAIL)
        os.lseek(file, position, os.SEEK_SET)
        tail = os.read(file, TAIL) + tail
    kept = position + tail.rfind(b"\n") + 1
    if kept < size:
        os.ftruncate(file, kept)
    return size - kept
