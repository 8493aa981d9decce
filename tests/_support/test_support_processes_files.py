"""There is the old file or the new one, whole, and nothing beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from exactfit._support import processes
from exactfit._support.processes import read_stream, refuse_endless, write_atomically
from exactfit.exceptions import DataError


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for octets in (b"old", b"", b"new and longer"):
        write_atomically(path, octets, "the text")
        assert path.read_bytes() == octets
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_on_any_failure_the_old_file_stays_and_nothing_is_left_behind(tmp_path, monkeypatch, step) -> None:
    path = tmp_path / "a.bin"
    write_atomically(path, b"old", "the text")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OSError, match="cannot save the text: No space left"):
        write_atomically(path, b"new", "the text")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real.bin", tmp_path / "link.bin"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_atomically(link, b"new", "the text")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot save the text: there is no such folder") as caught:
        write_atomically(tmp_path / "none" / "a.bin", b"", "the text")
    assert caught.value.filename == str(tmp_path / "none")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new", "the text")
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b"new"


def test_nobody_reads_the_new_file_before_it_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "a.bin", []
    path.write_bytes(b"old")
    path.chmod(0o600)
    monkeypatch.setattr(Path, "chmod", lambda path, _: seen.append(path.stat().st_mode & 0o777))
    write_atomically(path, b"new", "the text")
    assert seen == [0o600]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_or_a_device_is_not_replaced(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match=r"cannot save the text: what has this name is no ordinary file.*pipe"):
            write_atomically(path, b"new", "the text")
    assert pipe.is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device")
def test_devices_and_pipes_have_no_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (Path("/dev/zero"), pipe):
        with pytest.raises(DataError, match="is no ordinary file: save what it gives to one first"):
            refuse_endless(path)
    for path in (tmp_path, tmp_path / "none"):  # opening these has an error of its own
        assert refuse_endless(path) == path


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device")
def test_a_stream_is_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LARGEST_STREAM", 2**20)
    path = tmp_path / "a"
    path.write_bytes(bytes(2**20))
    with path.open("rb") as file:
        assert len(read_stream(file, "a")) == 2**20
    with Path("/dev/zero").open("rb") as file, pytest.raises(DataError, match=r"^a goes on beyond 1 MiB: save what"):
        read_stream(file, "a")


STOPPED = """
import os, signal, sys
from exactfit._support import processes
os.fsync = lambda handle: (print("written", flush=True), signal.pause())
processes.write_atomically(sys.argv[1], b"new", "the text")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_leftovers_of_a_killed_save_are_removed_by_the_next_one_and_not_before_it_is_killed(tmp_path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tmp_path / "a.bin")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"
        (left,) = tmp_path.glob(".exactfit-*.tmp")
        write_atomically(tmp_path / "b.bin", b"other", "the text")
        assert left.exists()  # its writer is alive
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    write_atomically(tmp_path / "b.bin", b"other", "the text")
    assert sorted(os.listdir(tmp_path)) == ["b.bin"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipes_and_links_that_are_named_like_leftovers_are_not_waited_for_nor_followed(tmp_path: Path) -> None:
    """In a process of its own, since the pipe has nobody who writes to it."""
    (tmp_path / "theirs").write_bytes(b"theirs")
    dead = 2**22 + 1  # beyond the largest number of a process
    (tmp_path / f".exactfit-{processes._HERE}-{dead}-1.tmp").symlink_to("theirs")
    os.mkfifo(tmp_path / f".exactfit-{processes._HERE}-{dead}-2.tmp")
    code = "import sys; from exactfit._support import processes as p; p.write_atomically(sys.argv[1], b'new', 'it')"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.bin")], timeout=60, check=True)
    assert (tmp_path / "a.bin").read_bytes() == b"new"
    assert (tmp_path / "theirs").read_bytes() == b"theirs"
