"""How long Ctrl-C takes: signals at random moments of long computations, and when each of them ended.

Every computation runs in a process of its own, again and again, and is interrupted at a moment within its length, or
within :data:`LATEST`. A delay is the time from the signal to the end; beside it the seconds of a
processor that the process took meanwhile, which say more on a machine that has other work.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from exactfit import InterpolatingClassifier, certify, compare, describe

from .cases import Case, Row, Settings, images
from .weighted import SEED, markdown

ROWS = 10_000  # images of MNIST; --size for another number
SIGNALS = 10  # to each computation
LATEST = 20.0  # seconds after which a signal is sent in any case
SOONEST = 0.1  # seconds: on a busy machine the beginning is heard of late
TICKS = os.sysconf("SC_CLK_TCK")  # of the kernel's clock of processes, in a second


def computations(rows: int, folder: str | None) -> dict[str, Callable[[], Any]]:
    """What is interrupted, on images."""
    X, y = images("mnist", rows, folder)
    paper = partial(InterpolatingClassifier.paper, width=1000, center=True, random_state=SEED, n_jobs=2)
    few = slice(0, rows // 10)

    return {
        "fit": lambda: paper().fit(X, y),
        "fit, as many as it takes": lambda: InterpolatingClassifier.paper(random_state=SEED, n_jobs=2).fit(X, y),
        "fit, weighted": lambda: paper(detectors="weighted").fit(X, y),
        "fit, margin": lambda: paper(width="adaptive", margin="25%").fit(X[few], y[few]),
        "fit, default": lambda: InterpolatingClassifier(random_state=SEED, n_jobs=2).fit(X, y),
        "fit and certify": lambda: certify(paper().fit(X, y), X, y, radii=True, n_jobs=2),
        "fit and predict": lambda: paper().fit(X[few], y[few]).predict(X),
        "compare": partial(compare, X[few], y[few], random_state=SEED, n_jobs=2),
        "describe": partial(describe, X, y, random_state=SEED),
    }


def serve(name: str, rows: int, folder: str | None) -> None:
    """In the child: compute again and again, and say when that began and ended; a late signal is nobody's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work = computations(rows, folder)[name]
    for _ in sys.stdin:  # a line asks for a run
        print("begun", flush=True)
        with suppress(KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.default_int_handler)
            work()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a signal may come in this very line
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(time.monotonic(), time.process_time(), flush=True)


def processor_seconds(pid: int) -> float:
    """What a process has taken so far, by the kernel's count."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(name: str, options: Settings) -> list[Row]:
    """The delays of one computation."""
    rows, rng = options.size or ROWS, np.random.default_rng(SEED)
    command = [sys.executable, "-m", "benchmarks.interrupts", name, str(rows), options.data or ""]
    delays, taken = [], []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        lines = (line.split() for line in child.stdout)
        latest = LATEST
        while len(delays) < SIGNALS:
            print(file=child.stdin, flush=True)
            assert next(lines) == ["begun"]
            begun = time.monotonic()
            time.sleep(latest * rng.random())
            sent, before = time.monotonic(), processor_seconds(child.pid)
            child.send_signal(signal.SIGINT)
            at, used = next(lines)
            if float(at) > sent:  # compare ends with what it has, all others by KeyboardInterrupt
                delays.append(float(at) - sent)
                taken.append(max(0.0, float(used) - before))
            else:  # it took no longer than that
                latest = max(SOONEST, min(latest, float(at) - begun))
        child.kill()
    return [
        {
            "computation": name, "signals within s": latest, "signals": len(delays),
            "delay s, median": float(np.median(delays)), "longest": max(delays),
            "of a processor, median": float(np.median(taken)), "most": max(taken),
        }
    ]  # fmt: skip


NAMES = (
    "fit", "fit, as many as it takes", "fit, weighted", "fit, margin", "fit, default", "fit and certify",
    "fit and predict", "compare", "describe",
)  # fmt: skip
CASES = [
    Case(f"interrupts/{name.replace(', ', '-').replace(' ', '-')}", partial(measure, name), markdown, needs_data=True)
    for name in NAMES
]

if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3] or None)
