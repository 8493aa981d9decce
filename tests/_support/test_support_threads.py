"""Threads: limits, order, errors; memory: the least of what machine, containers and limits allow."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController

from exactfit._support import threads
from exactfit._support.threads import (
    SERIAL,
    Abandoned,
    Threads,
    _memory_by_ps,
    memory_of,
    n_threads,
    single_threaded_blas,
    split,
)


def blas_threads():
    found = [lib["num_threads"] for lib in ThreadpoolController().info() if lib["user_api"] == "blas"]
    assert found, "NumPy came without a BLAS that tells its threads"
    return found


@pytest.fixture
def two_blas_threads():
    """A limit other than one, whatever the machine, to come back to."""
    # Not as a context: threadpoolctl would then keep other threads from setting limits of their own.
    limiter = ThreadpoolController().limit(limits=2, user_api="blas")
    before = blas_threads()
    yield before if set(before) != {1} else pytest.skip("this BLAS has one thread only")
    limiter.restore_original_limits()


def test_blas_is_limited_inside_and_restored_after(two_blas_threads):
    with single_threaded_blas():
        assert set(blas_threads()) == {1}
    assert blas_threads() == two_blas_threads


def test_blas_is_left_alone_where_it_is_not_needed(two_blas_threads):
    with single_threaded_blas(needed=False):
        assert blas_threads() == two_blas_threads


def test_blas_is_restored_after_an_error(two_blas_threads):
    with pytest.raises(ZeroDivisionError), single_threaded_blas():
        raise ZeroDivisionError
    assert blas_threads() == two_blas_threads


@pytest.mark.parametrize("first_out", [0, 1], ids=["first in leaves first", "last in leaves first"])
def test_two_overlapping_uses_in_two_threads_restore_blas(two_blas_threads, first_out):
    inside, leave, outside = ([threading.Event(), threading.Event()] for _ in range(3))
    end = threading.Event()

    def use(k):
        with single_threaded_blas():
            inside[k].set()
            leave[k].wait(30)
        outside[k].set()
        end.wait(30)  # a thread that lives on is not to keep others from lifting the limit

    for k in range(2):
        threading.Thread(target=use, args=(k,), daemon=True).start()
        assert inside[k].wait(30)
    leave[first_out].set()
    assert outside[first_out].wait(30)
    still_inside = blas_threads()
    leave[1 - first_out].set()
    assert outside[1 - first_out].wait(30)
    all_outside = blas_threads()
    end.set()
    assert set(still_inside) == {1}, "one was still inside, but no longer protected"
    assert all_outside == two_blas_threads


def test_uses_within_one_another_restore_blas(two_blas_threads):
    with single_threaded_blas():
        with single_threaded_blas():
            pass
        assert set(blas_threads()) == {1}
    assert blas_threads() == two_blas_threads


@given(st.integers(-5, 50), st.integers(1, 200), st.integers(1, 60))
def test_split_cuts_into_nearly_equal_ranges_that_follow_each_other(start, length, parts):
    ranges = split(start, start + length, parts)
    assert len(ranges) == min(parts, length)
    assert [k for low, high in ranges for k in range(low, high)] == list(range(start, start + length))
    sizes = [high - low for low, high in ranges]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_map_keeps_the_order(n_jobs):
    with Threads(n_jobs) as threads:
        assert threads.count == n_jobs
        assert threads.map(lambda k: k * k, range(100)) == [k * k for k in range(100)]


def test_map_runs_on_more_than_one_thread():
    barrier = threading.Barrier(2, timeout=30)  # breaks unless two are inside at once
    with Threads(2) as threads:
        threads.map(lambda _: barrier.wait(), range(2))


def test_serial_work_stays_on_the_calling_thread():
    with Threads(1) as threads:
        names = threads.map(lambda _: threading.current_thread(), range(3))
    assert set(names) == {threading.current_thread()}
    assert SERIAL.map(str, [1, 2]) == ["1", "2"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_map_passes_errors_on(n_jobs):
    def work(k):
        return 1 // (3 - k)

    with Threads(n_jobs) as threads, pytest.raises(ZeroDivisionError):
        threads.map(work, range(6))


def test_long_pieces_hear_of_an_error_elsewhere():
    started = threading.Event()

    def work(k):
        if k == 0:
            started.wait(30)
            raise ZeroDivisionError
        started.set()
        while True:  # for ever, but for the error
            threads.go_on()

    with Threads(2) as threads:
        with pytest.raises(ZeroDivisionError):
            threads.map(work, range(2))
        assert threads.map(str, range(2)) == ["0", "1"], "and the next map starts afresh"


@pytest.mark.parametrize("culprit", [0, 1])
def test_the_error_itself_comes_out_whichever_thread_it_is_in(culprit):
    def work(k):
        if k == culprit:
            raise ZeroDivisionError
        while True:
            threads.go_on()

    with Threads(2) as threads, pytest.raises(ZeroDivisionError):
        threads.map(work, range(2))


@pytest.mark.parametrize("fails_in_main", [False, True])
def test_the_error_itself_comes_out_when_others_are_in_a_map_within(fails_in_main):
    inside = threading.Barrier(3, timeout=30)

    def inner(k):
        if k < 2:
            inside.wait()
        time.sleep(0.005)

    def outer(_):
        if (threading.current_thread() is threading.main_thread()) != fails_in_main:
            return threads.map(inner, range(40))
        inside.wait()
        raise ZeroDivisionError

    with Threads(3) as threads, pytest.raises(ZeroDivisionError):
        threads.map(outer, range(2))


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal can be sent to one thread")
def test_an_interrupt_while_waiting_for_the_other_thread_is_heard_there():
    main = threading.main_thread()
    helped, stopped = threading.Event(), threading.Event()

    def work(_):
        if threading.current_thread() is main:
            helped.wait(30)
            return
        helped.set()
        time.sleep(0.2)  # until the main thread has nothing left but to wait
        signal.pthread_kill(main.ident, signal.SIGINT)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                threads.go_on()
            except Abandoned:
                stopped.set()
                raise

    with Threads(2) as threads, pytest.raises(KeyboardInterrupt):
        threads.map(work, range(2))
    assert stopped.is_set()


def test_maps_within_maps_share_what_is_idle():
    def outer(k):
        return threads.map(lambda j: (k, j), range(5))

    with Threads(3) as threads:
        for _ in range(50):
            assert threads.map(outer, range(7)) == [[(k, j) for j in range(5)] for k in range(7)]


def test_a_map_within_a_map_is_helped_by_threads_that_have_finished():
    barrier = threading.Barrier(2, timeout=30)

    def outer(k):
        return [] if k else threads.map(lambda _: barrier.wait(), range(2))

    with Threads(3) as threads:
        threads.map(outer, range(2))


def test_n_jobs_as_in_scikit_learn():
    assert n_threads(None) == n_threads(1) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2):
        assert n_threads(None) == 2


FORKING = """
import os, threading, warnings
from exactfit._support import threads
warnings.simplefilter("ignore", DeprecationWarning)
entered, leave = threading.Event(), threading.Event()
def hold():
    with threads.single_threaded_blas():
        with threads._lock:
            entered.set()
            leave.wait()
thread = threading.Thread(target=hold)
thread.start()
entered.wait()
child = os.fork()
if child == 0:
    with threads.single_threaded_blas():
        pass
    os._exit(0 if threads._limited == 0 and threads._inherited is None else 1)
leave.set()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_does_not_wait_for_a_lock_that_was_held_at_the_fork():
    run = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout.strip() == "0", run.stderr


MACHINE = 2**35


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of 32 GiB without limits; the folder is where its control groups lie."""
    monkeypatch.setattr(threads, "_main_memory", lambda: MACHINE)
    monkeypatch.setattr(threads, "_address_limits", lambda: ())
    monkeypatch.setattr(threads, "CGROUPS", tmp_path)
    monkeypatch.setattr(threads, "OWN_CGROUPS", tmp_path / "cgroup")
    return tmp_path


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_without_limits_it_is_the_machines() -> None:
    assert threads.usable_memory() == MACHINE


@pytest.mark.parametrize(
    ("own", "folder", "name"),
    [
        ("0::/\n", ".", "memory.max"),
        ("0::/user/job/step\n", "user/job/step", "memory.max"),
        ("0::/user/job/step\n", "user", "memory.max"),
        ("0::/../../docker/abc\n", ".", "memory.max"),
        ("5:cpu:/x\n3:cpuset,memory:/job\n", "memory/job", "memory.limit_in_bytes"),
        ("5:cpu:/x\n3:memory:/docker/abc\n", "memory", "memory.limit_in_bytes"),
    ],
)
def test_a_container_sets_a_limit(own: str, folder: str, name: str, machine: Path) -> None:
    (machine / "cgroup").write_text(own)
    put(machine / folder, name, "1288490188\n")
    assert threads.usable_memory() == 1288490188


@pytest.mark.parametrize("text", ["max\n", "9223372036854771712\n", "", "lots"])
def test_a_container_without_a_limit_sets_none(text: str, machine: Path) -> None:
    (machine / "cgroup").write_text("0::/job\n3:memory:/job\nnonsense\n\n")
    put(machine / "job", "memory.max", text)
    put(machine / "memory" / "job", "memory.limit_in_bytes", text)
    assert threads.usable_memory() == MACHINE


def test_the_narrowest_container_counts(machine: Path) -> None:
    (machine / "cgroup").write_text("0::/a/b\n")
    put(machine / "a", "memory.max", "2000000000")
    put(machine / "a" / "b", "memory.max", "3000000000")
    assert threads.usable_memory() == 2000000000


def test_memory_is_guessed_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert threads.usable_memory() > 2**20
    monkeypatch.delattr(threads.os, "sysconf")
    assert threads._main_memory() == threads.UNKNOWN_MEMORY


LIMITED = """
import resource
import numpy as np
import exactfit
from exactfit._support.threads import usable_memory
X, y = np.random.default_rng(0).normal(size=(200, 20)), np.arange(200) % 2
exactfit.fixed_width(X, y, 64)
X, y = np.zeros((200_000, 20), dtype=np.float32), np.arange(200_000) % 2
X[:, 0] = np.arange(200_000)
resource.setrlimit(resource.RLIMIT_AS, (int({room}) + int(open("/proc/self/statm").read().split()[0]) * 4096,) * 2)
assert usable_memory() <= {room}
try:
    exactfit.fixed_width(X, y, 60_000)
except exactfit.TooLargeError as error:
    print("refused:", error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_limit_on_addresses_refuses_instead_of_failing() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LIMITED.format(room=1_200_000_000)], capture_output=True, text=True, check=False
    )
    assert run.stdout.startswith("refused: width=60000 needs "), run.stderr


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells through files")
def test_memory_of_a_process_is_told() -> None:
    before = memory_of(os.getpid())
    # Fresh pages: what tests before this one have freed would serve an array of NumPy's.
    kept = np.frombuffer(mmap.mmap(-1, 2**26, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype=np.float64)
    kept[:] = 1
    after = memory_of(os.getpid())
    assert before is not None
    assert after is not None
    assert kept.nbytes * 0.9 < after - before < kept.nbytes * 1.5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ps")
def test_memory_is_told_where_there_are_no_files_to_read() -> None:
    told = _memory_by_ps(os.getpid())
    if told is None:
        pytest.skip("there is no ps")
    assert told > 2**24
    assert _memory_by_ps(2**22 + 1) is None
