"""Settings that every test shares."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import durations
import numba  # noqa: F401  (small work does without kernels until it is loaded: here kernels are tested)
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, however slow the machine; HYPOTHESIS_PROFILE=thorough looks further.
settings.register_profile(
    "exactfit", derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("exactfit"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "exactfit"))

# Tests that need one of these are skipped by its name where it is not installed.
OPTIONAL = (
    *("dask", "distributed", "IPython", "matplotlib", "nbclient", "onnx", "onnxruntime", "PIL"),
    *("playwright", "polars", "pyarrow", "skl2onnx", "torch", "yaml"),
)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out helper modules: they hold no tests, and may import what is not installed."""
    is_helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_helper else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a test module that imports an optional package which is not installed."""
    report: Any = yield
    error = report.call.excinfo.value.__cause__ if report.failed and report.call.excinfo else None
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in OPTIONAL:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {package} is not installed")
    if report.skipped and "torch is not installed" in str(report.longrepr) and find_spec("torch"):
        report.outcome, report.longrepr = "failed", "PyTorch is installed: the module looks for it by a wrong name"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long tests; test processes that share the work begin with the files that take longest."""
    measured = json.loads(durations.TABLE.read_text(encoding="utf-8"))
    long = set(measured["long"])
    for item in items:
        if durations.function_of(item.nodeid) in long:
            item.add_marker("long")
    if "PYTEST_XDIST_WORKER" in os.environ:
        seconds = measured["files"]
        items.sort(key=lambda item: -seconds.get(item.nodeid.partition("::")[0], 0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Refuse a test that PyTorch's absence skips, and that `make check-torch` would not run either."""
    report: Any = yield
    if report.skipped and "torch" in str(report.longrepr) and item.get_closest_marker("torch") is None:
        report.outcome, report.longrepr = "failed", "a test that needs PyTorch is marked so: @pytest.mark.torch"
    return report


def pytest_configure() -> None:
    """Answer Ctrl-C, whoever started the tests: a background job of a script inherits that it is ignored."""
    # Children inherit an ignored signal, and the default action where a handler is set here.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def answer_ctrl_c() -> None:
    """Set Python's own handler again: importing Polars installs one that does not wake who waits for a lock."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


os.environ["MPLBACKEND"] = "agg"  # no windows, here and in processes that tests start

FRUIT = "weight,colour,fruit\n182,red,apple\n118,yellow,banana\n171,green,apple\n120,yellow,pear\n90,red,pear\n"


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    """A small table as a file."""
    path = tmp_path / "fruit.csv"
    path.write_text(FRUIT, encoding="utf-8")
    return path


@pytest.fixture
def at_fruit(fruit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where that file is, at a plain terminal."""
    monkeypatch.chdir(fruit.parent)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
