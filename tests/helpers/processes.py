"""Other programs that tests start: the command line, the checker, Dask, ONNX Runtime, PyTorch."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from threading import Timer
from types import ModuleType
from typing import Any

import pytest

import exactfit
from exactfit.cli import main
from exactfit.data import pairs

# ---- Processes that tests start: killed at the end, and after some minutes at the latest ---------------------------


LONGEST = 300.0  # seconds


@contextmanager
def started(command: Sequence[str | PathLike[str]], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process with text streams; whoever reads or waits without a time limit is released when it is killed."""
    with subprocess.Popen(command, text=True, **options) as process:
        timer = Timer(LONGEST, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


# ---- Commands, run in this process or another ----------------------------------------------------------------------


SOURCE = Path(exactfit.__file__).parents[1]


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, **options
    )


def raising(error: BaseException) -> Any:
    def fail(*_: object) -> None:
        raise error

    return fail


Capture = pytest.CaptureFixture[str]


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


FIT = ["fit", "fruit.csv", "--label", "fruit", "-o", "m.exactfit", "--seed", "0"]


def fit_fruit(capsys: Capture) -> str:
    """The file of a model of fruit.csv."""
    assert main(FIT) == 0
    capsys.readouterr()
    return "m.exactfit"


def output_of(arguments: list[str], capsys: Capture, code: int = 0) -> tuple[str, str]:
    assert main(arguments) == code, capsys.readouterr().err
    captured = capsys.readouterr()
    return captured.out, captured.err


def error_of(arguments: list[str], capsys: Capture, code: int) -> str:
    """The one line on standard error that says what is wrong."""
    out, err = output_of([*arguments, "--quiet"], capsys, code)
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("exactfit: ")
    return line


# ---- Runs of the stand-alone checker: in this process, or as the program that it is --------------------------------


CHECKER = Path(__file__).parents[2] / "checker" / "check_exactfit.py"
HOLDS, FAILS, REFUSED = 0, 1, 2


def loaded() -> ModuleType:
    """The checker as a module."""
    spec = importlib.util.spec_from_file_location("check_exactfit", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_here(program: ModuleType, *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors; an exception that leaves the program is one that leaves this."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = program.main(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


def run_alone(*arguments: object, seconds: float = 300) -> tuple[int, str, str]:
    """The same in a process of its own; -I leaves it without the package."""
    command = [sys.executable, "-I", "-S", str(CHECKER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    return done.returncode, done.stdout, done.stderr


def is_sound(code: int, out: str, err: str) -> bool:
    """Whether what was said fits the exit code: a verdict about one row at least, or one line of why not."""
    if code == REFUSED:
        return out == "" and err.startswith("cannot check: ") and err.endswith("\n") and err.count("\n") == 1
    verdicts = [line for line in out.splitlines() if line.startswith(("answers: ", "margin: "))]
    checked = [int(line.split("(")[1].split()[0]) for line in verdicts]
    failed = any(": fails for rows " in line for line in verdicts)
    said = err == "" and out.startswith("data: ") and verdicts and verdicts[0].startswith("answers: ")
    return bool(said) and min(checked) > 0 and failed == (code == FAILS) and code in (HOLDS, FAILS)


def parts_of_file(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and outer header of a model file, as they lie there."""
    octets = path.read_bytes()
    size = int.from_bytes(octets[:8], "little")
    outer = json.loads(octets[8 : 8 + size])
    return json.loads(outer["__metadata__"]["exactfit"]), outer


# ---- A Dask cluster as others run it: a scheduler and workers in processes of their own, on this machine -----------


SECONDS = 120  # to start
IDLE = 900  # seconds after which a scheduler ends if its test died: kernels may be compiled meanwhile


@dataclass
class Cluster:
    """Processes in a folder; ``address`` is the scheduler's."""

    folder: Path
    n_threads: int
    memory_limit: str = "auto"
    workers: list[subprocess.Popen] = field(default_factory=list)
    scheduler: subprocess.Popen | None = None
    address: str = ""

    def start(self, n_workers: int) -> None:
        distributed = pytest.importorskip("distributed")
        self.scheduler = self._process(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show", "--idle-timeout", str(IDLE)
        )
        for _ in range(n_workers):
            self.add_worker()
        end = time.monotonic() + SECONDS
        while not self._file.exists():  # a client would wait for it for ever
            assert self.scheduler.poll() is None, (self.folder / "cluster.txt").read_text(encoding="utf-8")
            assert time.monotonic() < end, "the scheduler does not start"
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(self._file), timeout=SECONDS) as client:
            client.wait_for_workers(n_workers, timeout=SECONDS)
            self.address = client.scheduler.address

    def add_worker(self) -> subprocess.Popen:
        """One more, which may take some seconds to be there."""
        options = ["--no-nanny", "--nthreads", str(self.n_threads), "--local-directory", str(self.folder)]
        options += ["--memory-limit", self.memory_limit, "--death-timeout", str(SECONDS)]
        self.workers.append(self._process("worker", *options))
        return self.workers[-1]

    def end(self) -> None:
        """Nobody waits for anybody."""
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                process.kill()
                process.wait()

    @property
    def _file(self) -> Path:
        return self.folder / "scheduler.json"

    def _process(self, *command: str) -> subprocess.Popen:
        with (self.folder / "cluster.txt").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *command, "--no-dashboard", "--scheduler-file", str(self._file)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip


@contextmanager
def real_cluster(folder: Path, n_workers: int, n_threads: int, memory_limit: str = "auto") -> Iterator[Cluster]:
    """A cluster, once all workers are there."""
    pytest.importorskip("distributed")
    cluster = Cluster(folder, n_threads, memory_limit)
    try:
        cluster.start(n_workers)
        yield cluster
    finally:
        cluster.end()


@contextmanager
def dask_cluster(folder: Path, n_workers: int, n_threads: int) -> Iterator[str]:
    """The scheduler's address, once all workers are there."""
    with real_cluster(folder, n_workers, n_threads) as cluster:
        yield cluster.address


# ---- The ways that a search for close points can take, forced by its constants -------------------------------------


PATHS = {
    "tree": {},
    "float64 blocks": {"TREE_DIMENSION": 0, "LEFT_TILE": 4, "RIGHT_TILE": 3},
    "float32 blocks": {"TREE_DIMENSION": 0, "DOUBLE_DIMENSION": 0, "LEFT_TILE": 4, "RIGHT_TILE": 3},
    "few candidates": {"TREE_DIMENSION": 0, "MOST_CANDIDATES": 3, "LEFT_TILE": 4, "RIGHT_TILE": 3},
}


def take_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for constant, value in PATHS[name].items():
        monkeypatch.setattr(pairs, constant, value)
