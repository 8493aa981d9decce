"""Where trials are kept: two forms of file that hold the same ones, read, written, and added to.

A store (``.jsonl``) has one JSON object per line, with its own CRC-32: header lines, each with what an invocation was
run on and with, and rows that name their header. It is append-only, belongs to one process at a time, and is whole
after any end: every trial is one line, written in one piece when it arrives, and flushed to disk at least every second.
A process that dies leaves at most a half-written last line, which the next one drops.

A packed file (``.csv.gz`` or ``.csv``) has the headers as comments, then one line per trial, sorted, with seconds in
two digits: small enough to keep beside the code. Trials that failed stand in stores only; they are run again.
"""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import json
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._support.processes import refuse_endless
from ..exceptions import DataError, ParameterError
from .trial import Trial
from .trials import KEY, PLAIN, Header, Rows, Trials, identity, row_dtype, sorted_rows

FLUSH_SECONDS = 0.5  # between two flushes: a power cut loses no more than a second
LOCKED_BYTE = 2**40  # far beyond the end: where Windows locks whole ranges of a file
TAIL = 2**16  # bytes read at a time in search of the last whole line
PACKED = (".csv", ".csv.gz")
PACKED_COLUMNS = ("header", *KEY, "detectors", "per_class", "missed", "seconds")
CHECKSUM = re.compile(rb', "crc": "([0-9a-f]{8})"}\s*\Z')
# Whatever reading numbers, JSON, text or gzip can raise when bytes are not as they were written.
DAMAGE = (KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError, EOFError, zlib.error)


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
        if path.name.endswith(PACKED):
            _read_packed(path, builder)
        else:
            for _ in read_lines(path, builder.add_object):
                pass
        return builder.trials()
    except (*DAMAGE, gzip.BadGzipFile) as error:
        if isinstance(error, DataError):
            raise
        told = " ".join(str(error).split())[:80]
        raise DataError(f"{path.name} does not hold trials of exactfit, or is damaged ({told})") from error


def read_lines(path: Path, take: Callable[[dict[str, Any]], None] = lambda row: None) -> Iterator[dict[str, Any]]:
    """The objects of a store, line by line, each given to ``take`` before; names a line that is damaged."""
    with refuse_endless(path).open("rb") as file:
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
    >>> from exactfit.lab.store import line_of
    >>> line_of({"in": "a", "run": 0})
    '{"in": "a", "run": 0, "crc": "3085fc5c"}\n'
    """
    text = json.dumps(entry)
    return f'{text[:-1]}, "crc": "{zlib.crc32(text.encode()):08x}"}}\n'


def _text_of(path: Path) -> io.TextIOBase:
    if path.name.endswith(".gz"):
        return gzip.open(refuse_endless(path), "rt", encoding="utf-8", newline="")
    return refuse_endless(path).open(encoding="utf-8", newline="")


def _read_packed(path: Path, builder: _Builder) -> None:
    with _text_of(path) as file:
        line = file.readline()
        while line.startswith("#"):
            builder.add_header(json.loads(line[1:]))
            line = file.readline()
        if tuple(line.strip().split(",")) != PACKED_COLUMNS:
            raise DataError(f"{path.name} does not hold trials: its columns are not {','.join(PACKED_COLUMNS)}")
        for header, run, n, lam, N, detectors, per_class, missed, seconds in csv.reader(file):
            row = (int(run), int(n), float(lam), int(N), int(detectors), int(missed), float(seconds))
            each = [int(count) for count in per_class.split()] if per_class else [int(detectors)]
            builder.add(int(header), row, each)


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
    text = "".join(_packed_lines(trials) if path.name.endswith(PACKED) else _store_lines(trials)).encode()
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
    yield ",".join(PACKED_COLUMNS) + "\n"
    for header, run, n, lam, N, detectors, missed, seconds, each in _plain(sorted_rows(trials.rows, trials.headers)[0]):
        several = " ".join(map(str, each)) if len(each) > 1 else ""
        yield f"{header},{run},{n},{lam!r},{N},{detectors},{several},{missed},{seconds:.2g}\n"


def _store_lines(trials: Trials) -> Iterator[str]:
    for header in trials.headers:
        yield line_of(header)
    names = [header["header"] for header in trials.headers]
    for header, *key, detectors, missed, seconds, each in _plain(trials.rows):
        yield _row_line(names[header], key, detectors, each, missed, seconds)
    for failure in trials.failures:
        yield line_of(failure)


def _row_line(
    header: str, key: Sequence[float], detectors: int, per_class: Sequence[int], missed: int, seconds: float
) -> str:
    row = {"in": header, **dict(zip(KEY, key, strict=True)), "detectors": detectors}
    return line_of(row | {"per_class": list(per_class), "missed": missed, "seconds": float(f"{seconds:.3g}")})


class Lines:
    """A file of whole lines (``.jsonl``), made or opened to add to it; BlockingIOError if another process has it open.

    ``note`` is told what had to be mended.
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
        try:
            if not _lock(self._file):
                said = f"{self.path} is in use by another process: wait for it, or name another store"
                raise BlockingIOError(errno.EAGAIN, said)
            dropped = _drop_half_line(self._file)
            if dropped:
                note(f"{self.path.name}: dropped a half-written last line ({dropped} bytes)")
            self._read()
        except BaseException:
            os.close(self._file)
            raise
        self._dirty = False
        self._closing = threading.Event()
        self._flusher = threading.Thread(target=self._keep_flushed, daemon=True)
        self._flusher.start()

    def _read(self) -> None:
        """What stands in it, for those who want to know."""

    def _keep_flushed(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        """Bring to disk what was written."""
        if self._dirty:
            self._dirty = False
            os.fsync(self._file)

    def write(self, line: str) -> None:
        """Add a line, in one piece."""
        data = line.encode()
        written = os.write(self._file, data)
        self._dirty = True
        if written < len(data):
            raise OSError(errno.ENOSPC, f"{self.path}: no room for the next trial; make room and run again")

    def close(self) -> None:
        """Flush and let go."""
        self._closing.set()
        self._flusher.join()
        self.flush()
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store(Lines):
    """The store of a sweep, opened to add trials to it; see :class:`Lines`.

    Attributes
    ----------
    trials : Trials
        What stood in it when it was opened.
    """

    def _read(self) -> None:
        self.trials: Trials = read_trials(self.path)

    def begin(self, header: Header) -> str:
        """Write the header of an invocation; returns the name that its rows refer to."""
        text = json.dumps(header, sort_keys=True)
        name = f"{header['scheme']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        self.write(line_of({"header": name, **header}))
        return name

    def add(self, header: str, trial: Trial) -> None:
        """Write one trial."""
        key = (trial.run, trial.cell.n, trial.cell.lam, trial.cell.N)
        if trial.error:
            self.write(line_of({"in": header, **dict(zip(KEY, key, strict=True)), "error": trial.error}))
        else:
            self.write(_row_line(header, key, trial.detectors, trial.per_class, trial.missed, trial.seconds))


def _lock(file: int) -> bool:
    """Lock an open file against other processes for as long as it is open; the system unlocks it when we die."""
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_on_windows(file: int) -> bool:
    import msvcrt

    locking: Any = msvcrt.locking  # type: ignore[attr-defined,unused-ignore]  # only there on Windows
    try:
        os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
        locking(file, 2, 1)  # LK_NBLCK
    except OSError:
        return False
    return True


def _drop_half_line(file: int) -> int:
    """Cut the file after its last whole line; how many bytes were dropped."""
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
