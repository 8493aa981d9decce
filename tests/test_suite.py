"""The suite runs on a machine that lacks optional packages, and where whoever started it ignores Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NODES = (
    "tests/playground/test_playground_server.py::test_ctrl_c_ends_it",
    "tests/test_suite.py::test_ctrl_c_is_answered",
)

BLOCKED = "torch onnx onnxruntime skl2onnx dask distributed pandas polars pyarrow matplotlib"
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
    assert "pandas is not installed" in done.stdout


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
