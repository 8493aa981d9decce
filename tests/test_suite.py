"""The suite runs on a machine that lacks optional packages, and where whoever started it ignores Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import durations
import pytest

ROOT = Path(__file__).parents[1]
NODES = (
    "tests/playground/test_playground_server.py::test_ctrl_c_ends_it",
    "tests/test_suite.py::test_ctrl_c_is_answered",
)

BLOCKED = "torch onnx onnxruntime skl2onnx dask distributed polars pyarrow matplotlib"
COLLECT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", ""]))
"""


def test_the_suite_is_collected_without_optional_packages() -> None:
    command = [sys.executable, "-c", COLLECT, BLOCKED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    closing = done.stdout.splitlines()[-1] if done.stdout else done.stderr
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert int(re.findall(r"^(\d+) tests collected", closing)[0]) > 1000
    assert "onnx is not installed" in done.stdout


def test_ctrl_c_is_answered() -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals that children inherit as ignored")
def test_ctrl_c_is_answered_where_the_parent_ignores_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *NODES],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as for a background job of a script
        cwd=ROOT, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_long_tests_are_those_that_take_long_or_start_processes() -> None:
    measured = [
        ("tests/test_b.py::test_quick[1]", 0.04, 0),
        ("tests/test_b.py::test_quick[2]", 0.04, 0),
        ("tests/test_a.py::test_many[1]", 0.3, 0),
        ("tests/test_a.py::test_many[2]", 0.9, 0),
        ("tests/test_a.py::Group::test_process", 0.1, 1),
        ("src/exactfit/options.py::exactfit.options.Options", 0.05, 0),
    ]
    table = durations.table(measured)
    assert table["long"] == ["tests/test_a.py::Group::test_process", "tests/test_a.py::test_many"]
    assert table["files"] == {"tests/test_a.py": 1.3}


def test_the_table_of_long_tests_is_one() -> None:
    table = json.loads(durations.TABLE.read_text(encoding="utf-8"))
    assert list(table) == ["files", "long"]
    assert list(table["files"].values()) == sorted(table["files"].values(), reverse=True)
    assert len(table["long"]) > 100
