"""Input without end, and numbers without measure: one line that says so, and no internal error."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.processes import Capture, error_of

from exactfit import InterpolatingClassifier
from exactfit._support import processes
from exactfit.exceptions import AssumptionError, ParameterError

ZERO = Path("/dev/zero")
pytestmark = [
    pytest.mark.usefixtures("at_fruit"),
    pytest.mark.skipif(not ZERO.exists(), reason="needs a device without end"),
]


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LARGEST_STREAM", 2**20)


@pytest.mark.usefixtures("limited")
def test_a_table_from_a_device_ends_at_the_limit(capsys: Capture) -> None:
    told = error_of(["fit", str(ZERO), "--label", "fruit", "-o", "m"], capsys, 3)
    assert "zero goes on beyond 1 MiB: save what it gives to a file first" in told


@pytest.mark.usefixtures("limited")
def test_endless_standard_input_ends_at_the_limit(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = (b"1,2,a\n" * (len(buffer) // 6 + 1))[: len(buffer)]
            return len(buffer)

    stream = io.TextIOWrapper(io.BufferedReader(Endless()))
    monkeypatch.setattr(sys, "stdin", stream)
    told = error_of(["fit", "-", "--label", "2", "--no-header", "-o", "m"], capsys, 3)
    assert "standard input goes on beyond 1 MiB" in told


COMMANDS = {
    "zero.npz": ["fit", "zero.npz", "-o", "m"],
    "zero.parquet": ["fit", "zero.parquet", "--label", "fruit", "-o", "m"],
    "zero.safetensors": ["predict", "zero.safetensors", "fruit.csv"],
    "zero.onnx": ["repair", "zero.onnx", "fruit.csv", "--label", "fruit", "--drop", "colour", "-o", "new.onnx"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_devices_are_no_files_of_other_kinds(name: str, capsys: Capture) -> None:
    Path(name).symlink_to(ZERO)
    assert "is no ordinary file" in error_of(COMMANDS[name], capsys, 3)


def test_messages_show_numbers_as_numbers() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    margin = np.float64(1.001557382911365)
    with pytest.raises(AssumptionError, match=r"^margin=1\.00156 "):
        InterpolatingClassifier(margin=margin, random_state=0).fit(X, y)
    for options in ({"width": np.float64(2.5)}, {"max_bias": np.float32(-1.5)}, {"margin": -np.float64(1.5)}):
        with pytest.raises(ParameterError, match=r"got -?\d\.5"):
            InterpolatingClassifier(**options).fit(X, y)
