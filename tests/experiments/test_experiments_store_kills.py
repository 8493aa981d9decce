"""kill -9, for real: a sweep that is killed again and again ends with the same rows."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from experiments.store import read_trials
from experiments.trials import Trials

TOY = """
runs = 60
[data]
loader = "make_moons"
arguments = { n_samples = 120, noise = 0.05, random_state = 0 }
target = 1
[grid]
width = { first = 10, last = 100, step = 10 }
max_bias = { first = 0, last = 2, step = 0.2 }
[[figure]]
kind = "data"
"""


ROOT = Path(__file__).parents[2]
N_TRIALS = 60 * 10 * 11


# Everything is loaded once; then each order is carried out by a fresh fork of this process, which
# the test may kill. So kills come quickly, and at all moments of a sweep, its beginning included.
# What sweeps print goes elsewhere: standard output has one number a line.
WARM = """
import os, sys
from experiments.__main__ import main
main(["sweep", sys.argv[1], "--runs", "1", "--store", sys.argv[2], "--output", sys.argv[3], "--jobs", "1"])
print("warm", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        os._exit(main(line.split()))
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Runner:
    """Sweeps in processes of their own, by order."""

    def __init__(self, folder: Path) -> None:
        self.toml = folder / "toy.toml"
        self.toml.write_text(TOY, encoding="utf-8")
        warm = [str(self.toml), str(folder / "warm.jsonl"), str(folder / "warm")]
        self.errors = (folder / "errors.txt").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-c", WARM, *warm], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, env=os.environ | {"MPLBACKEND": "agg"},
        )  # fmt: skip
        while self._line() != "warm":
            pass

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line, "the runner ended"
        return line.strip()

    def run(self, store: Path, *more: str, kill_when: Callable[[], bool] | None = None) -> int:
        """Run, and kill when it is time; what the system says of the end."""
        assert self.process.stdin is not None
        order = ["sweep", self.toml, "--store", store, "--output", store.with_suffix(""), *more]
        self.process.stdin.write((" ".join(map(str, order)) + "\n").encode())
        self.process.stdin.flush()
        child = int(self._line())
        if kill_when is not None:
            with suppress(ProcessLookupError):  # it may have come to its end
                while not kill_when():
                    time.sleep(0.002)
                    os.kill(child, 0)
                os.kill(child, signal.SIGKILL)
        return int(self._line())

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.errors.close()


def rows(trials: Trials) -> list[tuple]:
    return sorted(trials.rows[["run", "n", "lambda", "N", "detectors", "missed"]].itertuples(index=False, name=None))


def whole_lines(path: Path) -> bytes:
    contents = path.read_bytes() if path.exists() else b""
    return contents[: contents.rfind(b"\n") + 1]


def after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def longer(store: Path, by: int) -> Callable[[], bool]:
    end = store.stat().st_size + by
    return lambda: store.stat().st_size > end


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("seed", range(5))
def test_killed_twenty_times_at_random_moments(tmp_path: Path, seed: int) -> None:
    runner, moments = Runner(tmp_path), random.Random(seed)
    store, counts = tmp_path / "killed.jsonl", []
    store.touch()
    try:
        before = b""
        for kill in range(20):
            moment = longer(store, moments.randrange(50_000)) if kill % 2 else after(moments.uniform(0, 0.15))
            ended = runner.run(store, "--jobs", "2" if kill % 7 == 3 else "1", kill_when=moment)
            assert ended in {signal.SIGKILL, 0}
            now = whole_lines(store)
            assert now.startswith(before), "what stood in the store stays there"
            counts.append(sum("run" in json.loads(line) for line in now.splitlines()))
            before = now
        assert runner.run(store, "--jobs", "1") == 0
        assert runner.run(tmp_path / "whole.jsonl", "--jobs", "1") == 0
    finally:
        runner.close()
    assert counts == sorted(counts)
    assert len(set(counts)) > 5, "kills came while trials were run"
    assert rows(read_trials(store)) == rows(read_trials(tmp_path / "whole.jsonl"))
    assert len(rows(read_trials(store))) == N_TRIALS, "each trial stands there once"
    assert (tmp_path / "killed" / "toy.csv").exists()
