"""Exports to PyTorch where it is missing: these run with and without it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers.networks import CLASSIFIERS

from exactfit import to_torch
from exactfit.exceptions import MissingDependencyError


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match="pip install torch"):
        to_torch(CLASSIFIERS["one-sided"]())


def test_torch_is_loaded_on_first_use_only_and_is_not_needed_until_then():
    code = (
        "import sys\n"
        "import exactfit.export\n"
        "assert 'torch' not in sys.modules\n"
        "sys.modules['torch'] = None\n"
        "from exactfit import to_torch\n"
        "try:\n"
        "    to_torch(None)\n"
        "except exactfit.MissingDependencyError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("exporting to PyTorch needs torch: pip install torch\n", "")
