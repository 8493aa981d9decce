"""There is the old file or the new one, whole, and nothing beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exactfit._support.processes import write_whole


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for octets in (b"old", b"", b"new and longer"):
        write_whole(path, octets, "the text")
        assert path.read_bytes() == octets
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_on_any_failure_the_old_file_stays_and_nothing_is_left_behind(tmp_path, monkeypatch, step) -> None:
    path = tmp_path / "a.bin"
    write_whole(path, b"old", "the text")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OSError, match="cannot save the text: No space left"):
        write_whole(path, b"new", "the text")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real.bin", tmp_path / "link.bin"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new", "the text")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot save the text: there is no such folder") as caught:
        write_whole(tmp_path / "none" / "a.bin", b"", "the text")
    assert caught.value.filename == str(tmp_path / "none")
