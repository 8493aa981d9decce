"""Contenders in processes of their own, ended when time or memory is out: build, look, prove; a row for each.

The folder above a contender's holds the data, its own who is to build. What came out so far is in ``report.json`` at
any time, replaced as a whole after every stage, so that whoever ends the process finds it. A process is started
afresh, not forked and not from the caller's main module, so that scripts need no ``if __name__ == "__main__"`` and
nothing of the caller's state counts.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing.spawn
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import wrap_non_picklable_objects
from numpy.typing import NDArray

from .._support.files import write_whole
from .._support.options import check_choice
from .._support.processes import end_with, memory_of
from ..data import Labelled, resolve_conflicts
from ..exceptions import AssumptionError, ContradictoryLabelsError, DataError, ExactfitError
from ..network.sides import dense_rows
from .comparison import Row
from .contenders import Built, Contender
from .measures import Probes, choose_probes, sizes, smallest_change

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Rows = NDArray[np.int64]

HELD_OUT = 0.2
_ARRAYS = ("X", "y", "rows", "others", "other_codes", "starts", "ends")
POLL_SECONDS = 0.02
MEMORY_SECONDS = 0.1
WARM_UP_SECONDS = 600.0  # for starting and compiling, which the time limit does not count
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

Tell = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Data:
    """Points to build on, points held out, and probes for the robust radius.

    Attributes
    ----------
    X, y : ndarray
        Four fifths of every class, as class indices.
    rows : ndarray of int64
        Where they stand in the data as given.
    others, other_codes : ndarray
        The points held out, and their class indices.
    starts, ends : ndarray
        See :class:`~exactfit.lab.measures.Probes`.
    """

    X: Floats
    y: Codes
    rows: Rows
    others: Floats
    other_codes: Codes
    starts: Floats
    ends: Floats

    @property
    def probes(self) -> Probes:
        """Segments to look for changes on."""
        return Probes(self.starts, self.ends)

    def save(self, folder: Path) -> None:
        """Write every array to a file of its own."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, folder: Path) -> Data:
        """The same arrays, read from disk as they are needed; writing to them changes no file."""
        return cls(**{name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="c")) for name in _ARRAYS})


def prepare(X: Any, y: Any, conflicts: str, seed: int) -> tuple[Data, int]:
    """Check and split; also how many classes there are."""
    problem = _agreeing(Labelled.of(X, y), conflicts)
    rng = np.random.default_rng(seed)
    kept, held_out = split(problem.codes, rng)
    points = np.ascontiguousarray(dense_rows(problem.X, slice(0, problem.X.shape[0])), dtype=np.float64)
    train, codes = points[kept], problem.codes[kept]
    probes = choose_probes(train, codes, rng)
    data = Data(train, codes, kept, points[held_out], problem.codes[held_out], probes.starts, probes.ends)
    return data, len(problem.classes)


def _agreeing(problem: Labelled, how: str) -> Labelled:
    """The same points, equal ones with equal labels."""
    check_choice("conflicts", how, ("raise", "majority"))
    kept = resolve_conflicts(problem.X, problem.codes, how)
    left, codes = np.unique(kept, return_inverse=True)
    if len(left) < 2:
        raise DataError("only one class is left after conflicts='majority': correct the labels of equal points")
    return Labelled(problem.X, problem.y, codes.astype(np.int64), problem.classes[left])


def split(codes: Codes, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows to build on and rows held out: a fifth of every class, of a class of one or two none.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit.lab.comparing import split
    >>> kept, held_out = split(np.repeat([0, 1, 2], [10, 5, 1]), np.random.default_rng(0))
    >>> len(kept), np.repeat([0, 1, 2], [10, 5, 1])[held_out]
    (13, array([0, 0, 1]))
    """
    held_out = np.zeros(len(codes), dtype=bool)
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held_out[rows[: round(HELD_OUT * len(rows))]] = True
    return np.flatnonzero(~held_out).astype(np.int64), np.flatnonzero(held_out).astype(np.int64)


@dataclass(frozen=True)
class Limits:
    """Seconds and bytes for each contender, how many run at a time, and the seed they get."""

    seconds: float
    memory: int
    at_once: int
    seed: int


def run(contenders: Sequence[Contender], folder: Path, limits: Limits, tell: Tell) -> Generator[Row]:
    """Rows as they arrive, in any order; whoever still runs when the iterator is closed is ended."""
    waiting, running = list(contenders), list[_Process]()
    try:
        while waiting or running:
            while waiting and len(running) < limits.at_once:
                running.append(_Process(waiting.pop(0), folder, limits))
            for process in list(running):
                row = process.poll(tell)
                if row is not None:
                    running.remove(process)
                    yield row
            time.sleep(POLL_SECONDS)
    finally:
        for process in running:
            process.end()


class _Process:
    """One contender at work."""

    def __init__(self, contender: Contender, folder: Path, limits: Limits) -> None:
        self.contender, self.limits = contender, limits
        self.folder = folder / f"contender-{contender.name.encode().hex()}"
        self.folder.mkdir()
        # Plain pickle knows nothing of classes that a script or a notebook defines.
        task = wrap_non_picklable_objects((contender, limits.seed, limits.seconds), keep_wrapper=False)
        (self.folder / "task.pickle").write_bytes(pickle.dumps(task))
        self.clock = self.next_look = time.monotonic()
        self.is_warm = False
        python = multiprocessing.spawn.get_executable()
        command = [python, "-P", "-m", "exactfit.lab.contest", str(self.folder), str(os.getpid())]
        with (self.folder / "output.txt").open("wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_environment(limits.at_once),
                start_new_session=True,
            )  # fmt: skip

    def poll(self, tell: Tell) -> Row | None:
        """The row, once there is one."""
        ended = self.process.poll() is not None
        if ended:
            return self._row(self._own_end())
        if not self.is_warm and self.report().get("stage"):
            self.is_warm, self.clock = True, time.monotonic()
        passed = time.monotonic() - self.clock
        tell(self.contender.name, passed if self.is_warm else 0.0)
        if passed > (self.limits.seconds if self.is_warm else WARM_UP_SECONDS):
            return self._stop(f"time limit of {self.limits.seconds:g} s")
        if self._uses_too_much():
            return self._stop(f"memory limit of {self.limits.memory / 2**20:,.0f} MiB")
        return None

    def _uses_too_much(self) -> bool:
        if time.monotonic() < self.next_look:
            return False
        self.next_look = time.monotonic() + MEMORY_SECONDS
        used = memory_of(self.process.pid)
        return used is not None and used > self.limits.memory

    def _stop(self, limit: str) -> Row:
        self.end()
        return self._row(limit)

    def _row(self, end: str) -> Row:
        """What the process reported, and how it ended if it did not finish."""
        facts = self.report()
        stage = facts.pop("stage", "starting")
        if stage not in ("done", "failed"):
            built = "built, but not certified: " if "build_seconds" in facts else ""
            facts["reason"] = f"{built}{end}, while {stage}"
        return Row(name=self.contender.name, kind=self.contender.kind, **facts)

    def _own_end(self) -> str:
        """How the process ended by itself without having finished."""
        code = self.process.returncode
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"ended by {signal.Signals(-code).name}"
        lines = (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "without a word")
        return f"ended with exit code {code} ({last})"

    def report(self) -> dict[str, Any]:
        """What the process has written so far."""
        try:
            return dict(json.loads((self.folder / "report.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}

    def end(self) -> None:
        """End the process, and those that it started, at once."""
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _environment(at_once: int) -> dict[str, str]:
    """That of the caller, with its module path, and cores shared out if several run at a time."""
    share = str(max(1, (os.cpu_count() or 1) // at_once))
    threads = dict.fromkeys(_THREAD_VARIABLES, share) if at_once > 1 else {}
    path = os.pathsep.join(os.path.abspath(part) for part in sys.path)
    return {**threads, **os.environ, "PYTHONPATH": path}


LOOKING_SHARE = 0.25  # of the time limit, for the accuracy and for the radius: proofs need the rest
ROW_TILE = 256
FEW_CLASSES, FEW_POINTS = 4, 32


class Report:
    """What is known so far, on disk."""

    def __init__(self, folder: Path) -> None:
        self.path, self.facts = folder / "report.json", dict[str, Any]()

    def __call__(self, **facts: Any) -> None:
        """Add facts and write all of them."""
        self.facts |= facts
        write_whole(self.path, json.dumps(self.facts).encode(), "the report")


def work(folder: Path) -> None:
    """Build, look, prove; report after each."""
    report, data = Report(folder), Data.open(folder.parent)
    contender, seed, seconds = pickle.loads((folder / "task.pickle").read_bytes())
    if contender.is_known:
        warm_up(contender, data)
    report(stage="building")
    try:
        _stages(contender, data, seed, seconds, report)
    except Exception as error:
        report(stage="failed", reason=explain(error, data.rows))


def warm_up(contender: Contender, data: Data) -> None:
    """Import and compile whatever would count as building time otherwise, on a few points of some classes."""
    found = [np.flatnonzero(data.y == code)[:FEW_POINTS] for code in np.unique(data.y)[:FEW_CLASSES]]
    few = np.sort(np.concatenate(found))
    points, codes = data.X[few], np.unique(data.y[few], return_inverse=True)[1]
    with suppress(ExactfitError):  # too few points for some recipes; they compile when they run
        contender.prove(contender.build(points, codes, 0, 0.0), points, codes)


def _stages(contender: Contender, data: Data, seed: int, seconds: float, report: Report) -> None:
    start = time.perf_counter()
    built = contender.build(data.X, data.y, seed, seconds)
    report(stage="measuring", build_seconds=time.perf_counter() - start, reason=built.reason)
    if built.layers:
        report(**asdict(sizes(built.layers)))
    report(accuracy=accuracy(built, data, LOOKING_SHARE * seconds))
    report(stage="certifying", radius_upper=smallest_change(built.decide, data.probes, LOOKING_SHARE * seconds))
    claim = asdict(contender.prove(built, data.X, data.y))
    report(stage="done", **{**claim, "reason": built.reason or claim["reason"]})


def accuracy(built: Built, data: Data, seconds: float) -> float | None:
    """Share of the points held out that are right, None if there are none or time is out."""
    end, right, total = time.monotonic() + seconds, 0, len(data.other_codes)
    for start in range(0, total, ROW_TILE):
        tile = slice(start, start + ROW_TILE)
        right += int(np.count_nonzero(built.decide(data.others[tile]) == data.other_codes[tile]))
        if time.monotonic() > end and start + ROW_TILE < total:
            return None
    return right / total if total else None


def explain(error: Exception, rows: Any) -> str:
    """What went wrong, in one line, with rows as the caller's data have them."""
    if isinstance(error, AssumptionError):
        error = AssumptionError(error.assumption, [int(rows[row]) for row in error.rows], error.remedy)
    elif isinstance(error, ContradictoryLabelsError):
        error = ContradictoryLabelsError([(int(rows[a]), int(rows[b])) for a, b in error.pairs])
    text = " ".join(str(error).split())
    return text if isinstance(error, ExactfitError) else f"{type(error).__name__}: {text}".removesuffix(": ")


def main() -> None:
    """Work in the folder given, for as long as the process that asked for it lives."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    if sys.platform != "win32":  # where a launcher may stand between the two processes
        threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    work(folder)


if __name__ == "__main__":
    main()
