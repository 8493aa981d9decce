"""``exactfit fit --backend dask``: the model that one machine would have built, from Parquet files and folders."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.processes import dask_cluster
from sklearn.datasets import make_moons

from exactfit import load
from exactfit.cli import main

pd = pytest.importorskip("pandas")
pytest.importorskip("dask.dataframe")


@pytest.fixture
def data(tmp_path):
    X, y = make_moons(300, noise=0.1, random_state=0)
    frame = pd.DataFrame({"a": X[:, 0], "number": np.arange(300), "b": X[:, 1], "kind": np.where(y, "up", "down")})
    frame.to_parquet(tmp_path / "all.parquet")
    (tmp_path / "parts").mkdir()
    for k, start in enumerate((0, 130, 131)):
        frame[start : (130, 131, 300)[k]].to_parquet(tmp_path / "parts" / f"{k}.parquet")
    return tmp_path


def fit(*arguments) -> int:
    return main(["fit", *map(str, arguments), "--label", "kind", "--drop", "number", "--seed", "0", "--quiet"])


def test_the_file_is_that_of_one_machine(data, capsys) -> None:
    assert fit(data / "all.parquet", "--scale", "none", "-o", data / "here") == 0
    for source in ("all.parquet", "parts"):
        there = data / f"there-{source}"
        assert fit(data / source, "--scale", "none", "-o", there, "--backend", "dask") == 0
        assert there.read_bytes() == (data / "here").read_bytes()
    assert "holds for all 300 points" in capsys.readouterr().out
    assert main(["predict", str(there), str(data / "all.parquet"), "-o", str(data / "answers.csv")]) == 0
    assert (pd.read_csv(data / "answers.csv").prediction == pd.read_parquet(data / "all.parquet").kind).all()


def test_a_scheduler_is_asked(data) -> None:
    with dask_cluster(data, 1, 1) as address:
        options = ["--backend", "dask", "--scheduler", address, "--scale", "none"]
        assert fit(data / "parts", *options, "-o", data / "model") == 0
    assert load(data / "model").classifier_.certificate_.holds


def test_what_does_not_work_there_says_so(data, capsys) -> None:
    dask = ["--backend", "dask", "-o", data / "model"]
    for arguments, says in [
        ([data / "parts", *dask], "say --scale none"),
        ([data / "parts", *dask, "--scale", "none", "--missing", "impute"], "say --missing error"),
        ([data / "parts", *dask, "--scale", "none", "--categorical", "a"], "numeric columns only"),
        ([data / "parts", "-o", data / "model"], "only exactfit fit --backend dask takes folders"),
        ([data / "all.parquet", "-o", data / "model", "--scheduler", "tcp://a:1"], "goes with --backend dask"),
        ([data / "all.parquet", "-o", data / "model", "--backend", "ray"], "is not one of 'local', 'dask'"),
    ]:
        assert fit(*arguments) != 0
        assert says in " ".join(capsys.readouterr().err.split())
    frame = pd.read_parquet(data / "all.parquet").assign(town="Ulm")
    frame.to_parquet(data / "words.parquet")
    assert fit(data / "words.parquet", *dask, "--scale", "none") != 0
    assert "columns ['town'] of X hold no numbers" in " ".join(capsys.readouterr().err.split())
