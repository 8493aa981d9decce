"""Measure every test (`make durations`) and write tests/durations.json, which conftest.py reads.

A test is long if it starts processes, or if it and those that share its function take longer than LONG seconds of a
core; `make check` leaves long tests out. ``files`` has what each file takes: files that take longest start first.
A test that is not in the table is short. Processor time is measured, so that a busy machine changes little.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).parents[1] / "tests" / "durations.json"
LONG = 0.1  # seconds of a core, over all parameters of a function
STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.spawn", "os.system"}

Measured = tuple[str, float, int]  # a test, its seconds, the processes that it started


class Meter:
    """A plugin of pytest: each worker sends what it measured to the process that writes the table."""

    def __init__(self) -> None:
        self.started = 0
        self.measured: list[Measured] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: Any) -> None:
        self.started += event in STARTS

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before, started = sum(os.times()[:4]), self.started
        try:
            return (yield)
        finally:
            self.measured.append((item.nodeid, sum(os.times()[:4]) - before, self.started - started))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.measured += getattr(node, "workeroutput", {}).get("measured", [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["measured"] = self.measured
        else:
            TABLE.write_text(json.dumps(table(self.measured), indent=1) + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Measure."""
    config.pluginmanager.register(Meter())


def function_of(test: str) -> str:
    """Return a test's name without its parameters."""
    return test.partition("[")[0]


def table(measured: list[Measured]) -> dict[str, Any]:
    """Return seconds per file, longest first, and the long functions of tests."""
    files: Counter[str] = Counter()
    functions: dict[str, float] = defaultdict(float)
    processes: Counter[str] = Counter()
    for test, seconds, started in measured:
        files[test.partition("::")[0]] += seconds
        functions[function_of(test)] += seconds
        processes[function_of(test)] += started
    return {
        "files": {file: round(seconds, 1) for file, seconds in files.most_common() if seconds >= 1},
        "long": sorted(name for name, seconds in functions.items() if seconds > LONG or processes[name]),
    }
