"""What may happen on a cluster: workers die and join, others fit, somebody presses Ctrl-C, memory is short."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import Cluster, real_cluster
from sklearn.datasets import load_digits, make_moons

from exactfit import InterpolatingClassifier, certify
from exactfit.distributed import DaskInterpolatingClassifier

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

X, Y = load_digits(return_X_y=True)
X, Y = X[:600], Y[:600]
KILLS = 20


def on_disk(folder: Path, points: np.ndarray, n_chunks: int, seconds: float = 0.0):
    """Points whose chunks every pass loads anew, which takes a moment; each worker leaves its number."""
    path, size = folder / f"{len(points)}.npy", len(points) // n_chunks
    if not path.exists():
        np.save(path, points)

    def load(block_info=None):
        time.sleep(seconds)
        (folder / f"worker-{os.getpid()}").touch()
        start = block_info[None]["array-location"][0][0]
        return np.load(path, mmap_mode="r")[start : start + size].copy()

    shape = ((size,) * n_chunks, (points.shape[1],))
    return da.map_blocks(
        load, chunks=shape, dtype=points.dtype, meta=np.empty((0, 0)), name=f"load-{seconds}-{n_chunks}"
    )


def wait_until(true, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def is_clean(client) -> bool:
    """Whether nothing is on the workers, and nobody is about to compute anything."""
    return not any(client.has_what().values()) and not any(client.processing().values())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with real_cluster(tmp_path_factory.mktemp("cluster"), 2, 1) as found:
        yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster.address, set_as_default=False) as found:
        yield found


def test_a_fit_on_real_workers_leaves_nothing(client, tmp_path) -> None:
    points, labels = make_moons(1200, noise=0.05, random_state=0)
    options = {"width": 200, "hyperplanes": "gaussian", "detectors": "mask", "random_state": 0}
    local = InterpolatingClassifier(**options).fit(points, labels)
    model = DaskInterpolatingClassifier(**options, client=client)
    model.fit(on_disk(tmp_path, points, 4), labels)
    assert model.network_.digest == local.network_.digest
    assert model.certify(on_disk(tmp_path, points, 3), labels).to_dict() == certify(local, points, labels).to_dict()
    wait_until(lambda: is_clean(client))


def test_two_fits_at_once(client, tmp_path) -> None:
    def fit(seed: int) -> str:
        model = DaskInterpolatingClassifier(100, random_state=seed, client=client)
        return model.fit(on_disk(tmp_path, X, 6, 0.05), Y).network_.digest

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(fit, (0, 1)))
    assert found == [InterpolatingClassifier(100, random_state=s).fit(X, Y).network_.digest for s in (0, 1)]


def test_ctrl_c_cancels_what_runs(client, tmp_path) -> None:
    def press() -> None:
        wait_until(lambda: any(client.processing().values()))
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        DaskInterpolatingClassifier(random_state=0, client=client).fit(on_disk(tmp_path, X, 60, 0.2), Y)
    presser.join()
    wait_until(lambda: is_clean(client))


def test_a_worker_that_joins_late_is_used(cluster: Cluster, client, tmp_path) -> None:
    points, model = on_disk(tmp_path, X, 60, 0.1), DaskInterpolatingClassifier(100, random_state=0, client=client)
    late = tmp_path / f"worker-{cluster.add_worker().pid}"
    end = time.monotonic() + 60
    while not late.exists():  # a fit takes as long as a worker takes to start, about
        model.fit(points, Y)
        assert time.monotonic() < end
    assert model.network_.digest == InterpolatingClassifier(100, random_state=0).fit(X, Y).network_.digest


# ---- Many kills: make test-slow -----------------------------------------------------------------------------


class Herd:
    """A cluster of three whose workers are killed, and what fit, predict and certify come to without that."""

    def __init__(self, cluster: Cluster, client, folder: Path) -> None:
        self.cluster, self.client = cluster, client
        self.X, self.y = make_moons(1200, noise=0.1, random_state=0)
        self.points = on_disk(folder, self.X, 12, 0.05)
        self.local = InterpolatingClassifier(300, random_state=0).fit(self.X, self.y)
        self.proof = certify(self.local, self.X, self.y).to_dict()
        self.model = self.fitted()

    def fitted(self) -> DaskInterpolatingClassifier:
        return DaskInterpolatingClassifier(300, random_state=0, client=self.client).fit(self.points, self.y)

    def comes_out_right(self, name: str) -> bool:
        """Do something, which takes some passes over chunks, and compare."""
        if name == "predict":
            return self.client.compute(self.model.predict(self.points)).result(120).tolist() == self.y.tolist()
        if name == "certify":
            return self.model.certify(self.points, self.y).to_dict() == self.proof
        return self.fitted().network_.digest == self.local.network_.digest


@pytest.fixture(scope="module")
def herd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("herd")
    with (
        real_cluster(folder, 3, 1) as cluster,
        distributed.Client(cluster.address, set_as_default=False) as client,
    ):
        yield Herd(cluster, client, folder)


@pytest.mark.slow
@pytest.mark.parametrize("kill", range(KILLS))
def test_a_worker_killed_at_a_random_moment_changes_nothing(herd: Herd, kill: int) -> None:
    """Two are left, and whatever the dead one had is computed again; then one joins."""
    name = ("fit", "predict", "certify")[kill % 3]
    victim = herd.cluster.workers.pop(0)
    killer = threading.Timer(float(np.random.default_rng(kill).uniform(0.0, 1.5)), victim.kill)
    killer.start()
    try:
        assert herd.comes_out_right(name)
    finally:
        killer.join()
        victim.wait(60)
        herd.cluster.add_worker()
        herd.client.wait_for_workers(3, timeout=300)


@pytest.mark.slow
def test_memory_of_workers_is_respected(tmp_path) -> None:
    """Points that exceed the workers' memory go through them."""
    points, labels = make_moons(400_000, noise=0.2, random_state=0)
    with (
        real_cluster(tmp_path, 2, 1, "500MB") as cluster,
        distributed.Client(cluster.address, set_as_default=False) as client,
    ):
        model = DaskInterpolatingClassifier(1000, random_state=0, client=client)
        with pytest.warns(match="of 400000"):
            model.fit(on_disk(tmp_path, points, 20), labels)
        peaks = client.run(lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]))
    assert max(peaks.values()) < 700_000, peaks  # kilobytes; libraries alone take 250 MB
    with pytest.warns(match="of 400000"):
        local = InterpolatingClassifier(1000, random_state=0).fit(points, labels)
    assert model.network_.digest == local.network_.digest
