"""How long Ctrl-C takes: signals at random moments of long computations, and when each of them ended.

Every computation runs in a process of its own, again and again; from its first whole run the moments are drawn. A
delay is the time from the signal to the KeyboardInterrupt; beside it the seconds of a processor that the process took
meanwhile, which say more on a machine that has other work.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from exactfit import InterpolatingClassifier, certify, compare, describe

from .cases import Case, Options, Row, images
from .weighted import SEED, markdown

ROWS = 10_000  # images of MNIST; --size for another number
SIGNALS = 10  # to each computation
LATEST = 60.0  # seconds after which a signal is sent in any case
TICKS = os.sysconf("SC_CLK_TCK")  # of the kernel's clock of processes, in a second


def computations(rows: int, folder: str | None) -> dict[str, Callable[[], Any]]:
    """What is interrupted, on images."""
    X, y = images("mnist", rows, folder)
    paper = partial(InterpolatingClassifier.paper, width=1000, center=True, random_state=SEED, n_jobs=2)
    few = slice(0, rows // 10)

    def fitted() -> Any:
        return paper().fit(X[few], y[few])

    return {
        "fit": lambda: paper().fit(X, y),
        "fit, as many as it takes": lambda: InterpolatingClassifier.paper(random_state=SEED, n_jobs=2).fit(X, y),
        "fit, weighted": lambda: paper(detectors="weighted").fit(X, y),
        "fit, margin": lambda: paper(width=None, margin="25%").fit(X[few], y[few]),
        "fit, default": lambda: InterpolatingClassifier(random_state=SEED, n_jobs=2).fit(X, y),
        "certify": partial(certify, fitted(), X[few], y[few], radii=True, n_jobs=2),
        "predict": partial(fitted().predict, X),
        "compare": partial(compare, X[few], y[few], random_state=SEED, n_jobs=2),
        "geometry": partial(describe, X, y, random_state=SEED),
    }


def serve(name: str, rows: int, folder: str | None) -> None:
    """In the child: compute again and again, and say when that began and how it ended; a late signal is nobody's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work = computations(rows, folder)[name]
    while True:
        print("begun", flush=True)
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            work()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            ended = "whole"
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            ended = "interrupted"
        print(ended, time.monotonic(), time.process_time(), flush=True)


def processor_seconds(pid: int) -> float:
    """What a process has taken so far, by the kernel's count."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(name: str, options: Options) -> list[Row]:
    """The delays of one computation."""
    rows, rng = options.size or ROWS, np.random.default_rng(SEED)
    command = [sys.executable, "-m", "benchmarks.interrupts", name, str(rows), options.data or ""]
    delays, taken = [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = (line.split() for line in child.stdout)
        whole = 0.0
        while len(delays) < SIGNALS:
            while next(lines) != ["begun"]:
                pass
            begun = time.monotonic()
            if whole:
                time.sleep(min(LATEST, whole * rng.random()))
                sent, before = time.monotonic(), processor_seconds(child.pid)
                child.send_signal(signal.SIGINT)
            how, at, used = next(lines)
            if how == "interrupted":
                delays.append(float(at) - sent)
                taken.append(max(0.0, float(used) - before))
            else:
                whole = float(at) - begun
        child.kill()
    return [
        {
            "computation": name, "whole s": whole, "signals": len(delays),
            "delay s, median": float(np.median(delays)), "longest": max(delays),
            "of a processor, median": float(np.median(taken)), "most": max(taken),
        }
    ]  # fmt: skip


NAMES = (
    "fit", "fit, as many as it takes", "fit, weighted", "fit, margin", "fit, default", "certify", "predict", "compare",
    "geometry",
)  # fmt: skip
CASES = [
    Case(f"interrupts/{name.replace(', ', '-').replace(' ', '-')}", partial(measure, name), markdown, needs_data=True)
    for name in NAMES
]

if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3] or None)
