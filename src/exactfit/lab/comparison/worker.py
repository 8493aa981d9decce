"""One contender in a process of its own: ``python -m exactfit.lab.comparison.worker FOLDER PARENT``.

The folder above holds the data, the folder itself who is to build. What came out so far is in ``report.json`` at
any time, replaced as a whole after every stage, so that whoever ends this process finds it.
"""

from __future__ import annotations

import json
import pickle
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..._support.files import write_whole
from ..._support.processes import end_with
from ...exceptions import AssumptionError, ContradictoryLabelsError, ExactfitError
from .contender import Built, Contender
from .data import Data
from .radius import smallest_change
from .sizes import sizes

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
