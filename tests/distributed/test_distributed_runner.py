"""Real workers in processes of their own: the same network from two of them, and when they are killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import dask_cluster
from sklearn.datasets import load_digits

from exactfit import InterpolatingClassifier
from exactfit.distributed import DaskInterpolatingClassifier, runner
from exactfit.exceptions import ClusterError, DataError

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

X, Y = load_digits(return_X_y=True)
X, Y = X[:600], Y[:600]


def from_source(folder: Path, deadly: int | None = None, n_chunks: int = 6):
    """Digits whose chunks are loaded anew for every pass; the ``deadly``-th load ends its worker, once."""
    points, size = X, len(X) // n_chunks

    def load(block_info=None):
        number = len(list(folder.glob("load-*")))
        if deadly is not None:
            (folder / f"load-{number}-{time.time_ns()}").touch()
            if number >= deadly and not (folder / "dead").exists():
                (folder / "dead").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        start = block_info[None]["array-location"][0][0]
        return points[start : start + size]

    return da.map_blocks(load, chunks=((size,) * n_chunks, (64,)), dtype=np.float64, meta=np.empty((0, 0)))


@pytest.mark.slow
def test_two_workers_then_one_then_none(tmp_path, monkeypatch) -> None:
    local = InterpolatingClassifier(random_state=0).fit(X, Y)
    monkeypatch.setattr(runner, "PATIENCE", 2.0)
    with dask_cluster(tmp_path, 2, 1) as address, distributed.Client(address, set_as_default=False) as client:
        options = {"random_state": 0, "client": client}
        model = DaskInterpolatingClassifier(**options).fit(from_source(tmp_path), Y)
        assert model.network_.digest == local.network_.digest
        assert model.certificate_.data_digest == local.certificate_.data_digest
        assert model.score(from_source(tmp_path), Y) == 1.0

        broken = X.copy()
        broken[599, 0] = np.inf
        with pytest.raises(DataError, match="row 599"):
            DaskInterpolatingClassifier(**options).fit(da.from_array(broken, chunks=(100, 64)), Y)

        again = DaskInterpolatingClassifier(**options).fit(from_source(tmp_path, deadly=14), Y)
        assert (tmp_path / "dead").exists()
        assert again.network_.digest == local.network_.digest
        assert again.certificate_.data_digest == local.certificate_.data_digest
        assert len(client.nthreads()) == 1

        # A chunk that only the last worker holds dies with it; nobody is left to do anything either.
        held = client.scatter(X)
        scattered = da.from_delayed(held, shape=X.shape, dtype=X.dtype)
        end_worker(client)
        start = time.monotonic()
        with pytest.raises(ClusterError):
            DaskInterpolatingClassifier(**options).fit(scattered, Y)
        with pytest.raises(ClusterError, match="no worker for 2 seconds"):
            DaskInterpolatingClassifier(**options).fit(from_source(tmp_path), Y)
        assert time.monotonic() - start < 60


def end_worker(client) -> None:
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while client.nthreads():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_current_client_is_taken_and_nothing_is_left(tmp_path, monkeypatch) -> None:
    with dask_cluster(tmp_path, 1, 2) as address, distributed.Client(address) as client:
        assert runner.Runner().client is client
        gather, fetches = client.gather, []
        monkeypatch.setattr(client, "gather", lambda futures: fetches.append(futures) or gather(futures))
        model = DaskInterpolatingClassifier(width=500, random_state=0).fit(from_source(tmp_path), Y)
        assert model.network_.digest == InterpolatingClassifier(500, random_state=0).fit(X, Y).network_.digest
        assert model.round_trips_ == len(fetches) >= 4  # few chunks: nobody is asked how many workers there are
        end = time.monotonic() + 30
        while any(client.has_what().values()):
            assert time.monotonic() < end, client.has_what()
            time.sleep(0.1)
    assert runner.Runner().client is None
