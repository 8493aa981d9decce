"""Changed model files, tables, sweeps, stores, ONNX graphs and checks until the time is up: ``make fuzz SECONDS=600``.

Cases run in processes of their own, :data:`BATCH` in each, with limits on the time of a case and on memory. A case
may be answered, or refused with an error that exactfit documents; a crash, a hang or any other exception is a finding,
and is printed with the kind and the seed that make it again: ``python tests/fuzzing --kind model --seed 123``. With
``--counts FILE`` a run goes on where the last one ended, and FILE says how many cases there were in all.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import exactfit
from exactfit.persistence import container

# Started as a folder, Python finds only what is in it.
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))
from fuzzing.cases import KINDS

SECONDS = 10  # of a processor, for a case
WAITING = 10  # times as long on the clock: the machine may have other work
BATCH = 1024  # cases in a process: a fork, and code that is compiled or loaded in it, cost more than many cases
ROOM = 2**31  # bytes that a case may take beside what is there already
MEMORY = "/dev/shm"  # where Linux keeps files in memory
FINE = (exactfit.ExactfitError, OSError)


def run_cases(kind: str, bases: Any, seeds: range, folder: Path) -> Iterator[tuple[int, str]]:
    """Seeds, and how their cases end: "fine", or what is wrong.

    Cases run in a child that shares what is loaded already; after one that ends the child, the others get a new child.
    """
    while seeds:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            in_child(kind, bases, seeds, folder, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            for line in pipe:
                yield seeds[0], json.loads(line)
                seeds = seeds[1:]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if seeds:
            late = code in {-signal.SIGPROF, -signal.SIGALRM}
            yield seeds[0], f"took longer than {SECONDS} seconds" if late else f"ended with code {code}"
            seeds = seeds[1:]


def in_child(kind: str, bases: Any, seeds: range, folder: Path, writing: int) -> NoReturn:
    """Say how each case ended as soon as it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for seed in seeds:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WAITING * SECONDS)
        os.write(writing, (json.dumps(outcome(kind, bases, seed, folder)[:4000]) + "\n").encode())
    os._exit(0)


def outcome(kind: str, bases: Any, seed: int, folder: Path) -> str:
    try:
        KINDS[kind][1](bases, np.random.default_rng(seed), folder)
    except FINE as error:
        return "fine" if error.__class__ is not OSError or error.errno is not None else f"foreign: {error!r}"
    except BaseException:
        return "foreign: " + "".join(traceback.format_exc().splitlines(keepends=True)[-7:])
    return "fine"


class Counts:
    """How many cases of each kind there were, in this run and, if there is a file, in those before it."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.here = path, Counter[str]()
        known = json.loads(path.read_text()) if path is not None and path.exists() else {}
        self.cases, self.findings = Counter[str](known.get("cases", {})), Counter[str](known.get("findings", {}))

    def add(self, kind: str, said: str) -> bool:
        """Count a case; whether it is a finding of a sort that is still rare."""
        self.cases[kind] += 1
        self.here[kind] += 1
        if said == "fine":
            return False
        what = said.strip().splitlines()[-1][:100]
        self.findings[what] += 1
        return self.findings[what] <= 3

    def keep(self) -> None:
        """To the file: a run may be stopped at any moment."""
        if self.path is not None:
            aside = self.path.with_suffix(".tmp")
            aside.write_text(json.dumps({"cases": self.cases, "findings": self.findings}, indent=1) + "\n")
            aside.replace(self.path)

    def __str__(self) -> str:
        shown = ", ".join(f"{count:,} changed {kind}s" for kind, count in self.cases.items())
        return f"{shown} - {sum(self.findings.values())} findings"


def main() -> int:
    """Run batches of cases of all kinds in turn; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--seed", type=int, help="one case only")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="end earlier, with so many of each kind")
    parser.add_argument("--counts", type=Path, help="a file that counts over several runs; seeds go on from there")
    given = parser.parse_args()
    kinds = [given.kind] if given.kind else list(KINDS)
    # Nobody needs these files after a power cut, and no case changes how much memory there is.
    os.fsync = lambda _: None
    container.usable_memory = functools.cache(container.usable_memory)
    counts, first = Counts(given.counts), 0 if given.counts else int(time.time()) * 10**6
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as name:
        folder = Path(name)
        bases = {kind: KINDS[kind][0](folder) for kind in kinds}
        end = time.monotonic() + given.seconds
        for kind in itertools.cycle(kinds):
            start = first + counts.cases[kind] if given.seed is None else given.seed
            for seed, said in run_cases(
                kind, bases[kind], range(start, start + (BATCH if given.seed is None else 1)), folder
            ):
                if counts.add(kind, said):
                    print(f"--kind {kind} --seed {seed}: {said}", flush=True)
            counts.keep()
            enough = min(counts.cases[kind] for kind in kinds) >= given.cases
            if time.monotonic() >= end or given.seed is not None or enough:
                break
    print(counts)
    return int(bool(counts.findings))


if __name__ == "__main__":
    sys.exit(main())
