"""Experiments from the shell: from a file to trials, summary and figures; and what is refused."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.problems import write_mnist
from helpers.processes import dask_cluster, started
from sklearn.datasets import load_iris, make_moons
from toys import GRID_TOML, ONE_FIGURE, moons_toml, write_toml

from exactfit.exceptions import DataError
from exactfit.lab import load_dataset
from experiments import __main__ as commands
from experiments.__main__ import main
from experiments.store import read_trials
from experiments.trials import merge_trials

pytestmark = pytest.mark.usefixtures("here")
ROOT = Path(__file__).parents[2]
ZERO = Path("/dev/zero")


def lines(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_pair(stem: str) -> None:
    """A figure, as vectors and as pixels."""
    assert Path(f"{stem}.pdf").read_bytes().startswith(b"%PDF")
    assert Path(f"{stem}.png").read_bytes().startswith(b"\x89PNG")


def test_reproduce_prints_where_things_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "parallel-lines", "-j", "1"]) == 0
    out, err = capsys.readouterr()
    store, folder = Path("exactfit-results/parallel-lines.jsonl"), Path("exactfit-results/parallel-lines")
    assert f"trials in {store}, summary and figures in {folder}" in err
    assert out.splitlines()[0] == str(folder / "parallel-lines.csv")
    assert all(Path(line).exists() for line in out.splitlines())
    check_pair(str(folder / "parallel-lines-regions"))
    (cell,) = lines(folder / "parallel-lines.csv")
    assert (cell["runs"], cell["interpolating"], cell["detectors"]) == ("1", "1", "10"), (
        "every target point is an anchor"
    )
    assert (cell["standing"], cell["digest"]) == ("generated", load_dataset("parallel-lines").digest)


def test_reproduce_two_moons_with_all_its_figures() -> None:
    assert main(["reproduce", "two-moons", "--runs", "2", "-j", "1", "--store", "s.jsonl", "--output", "out"]) == 0
    kinds = ("heatmap", "slices-bias", "slices-width", "data", "regions", "frames")
    for kind in kinds:
        check_pair(f"out/two-moons-{kind}")
    assert len(list(Path("out").iterdir())) == 2 * len(kinds) + 1
    assert len(lines("out/two-moons.csv")) == 110


def test_reproduce_on_files_that_are_not_the_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    write_mnist(Path("data/mnist"))
    assert main(["reproduce", "mnist", "--data", "data", "-j", "1", "--runs", "1", "-o", "out"]) == 0
    err = capsys.readouterr().err
    assert [line for line in err.splitlines() if "not the published ones" in line] == [
        "mnist: 30 images of the right shape, but not the published ones "
        "(files train-images-idx3-ubyte.gz ... t10k-labels-idx1-ubyte.gz)"
    ]
    assert {cell["standing"] for cell in lines("out/mnist.csv")} == {"other"}


def test_reproduce_pairs_of_digits() -> None:
    write_mnist(Path("data"))
    own = "[[data]]\nname = 'mnist-1-vs-8'\n[[data]]\nname = 'mnist-1-vs-9'\n"
    figure = "[[figure]]\nkind = 'growth'\n"
    grid = "[grid]\nwidth = [16, 32]\nmax_bias = 0.5\npoints = [3, 6]\n"
    write_toml("pairs.toml", f"runs = 5\n{own}{grid}{figure}")
    assert main(["sweep", "pairs.toml", "--data", "data", "-j", "1", "-o", "out"]) == 0
    check_pair("out/pairs-growth")
    assert {cell["data"] for cell in lines("out/pairs.csv")} == {"mnist-1-vs-8", "mnist-1-vs-9"}


def frames() -> tuple[pd.DataFrame, str]:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(kind=np.array(["x", "y", "z"])[y])
    return frame.drop_duplicates(["a", "b", "c", "d"]), "kind"


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "loader"])
def test_sweep_over_data_of_ones_own(ending: str) -> None:
    frame, label = frames()
    source = f'file = "own.{ending}"\nlabel = "{label}"'
    if ending == "csv":
        frame.to_csv("own.csv", index=False)
    elif ending == "parquet":
        pl.DataFrame({str(name): frame[name].to_numpy() for name in frame}).write_parquet("own.parquet")
    elif ending == "npz":
        np.savez("own.npz", X=frame.drop(columns=label).to_numpy(), y=frame[label].to_numpy().astype(str))
        source = 'file = "own.npz"'
    else:
        source = 'loader = "make_moons"\narguments = { n_samples = 50, random_state = 0 }\ntarget = 0'
    write_toml("mine.toml", f"runs = 2\n[data]\n{source}\n{GRID_TOML}")
    assert main(["sweep", "mine.toml", "-j", "1"]) == 0
    stem = "exactfit-results/mine/mine"
    assert len(lines(f"{stem}.csv")) == 12
    for kind in ("heatmap", "slices-bias", "slices-width", *(["data"] if ending == "loader" else [])):
        check_pair(f"{stem}-{kind}")
    (header,) = read_trials("exactfit-results/mine.jsonl").headers.values()
    assert header["classes"] == (["0", "1"] if ending == "loader" else ["x", "y", "z"])
    assert header["target"] == ("0" if ending == "loader" else None)
    assert header["digest"]


def test_the_same_data_in_any_form_have_the_same_rows() -> None:
    X, y = make_moons(40, random_state=0)
    np.savez("own.npz", X=X, y=y)
    pd.DataFrame(X).assign(label=y).to_csv("own.csv", index=False)
    for name, source in (("a", 'file = "own.npz"'), ("b", 'file = "own.csv"\nlabel = "label"')):
        write_toml(f"{name}.toml", f"runs = 2\n[data]\n{source}\n{GRID_TOML}{ONE_FIGURE}")
        assert main(["sweep", f"{name}.toml", "-j", "1"]) == 0
    one, other = (read_trials(f"exactfit-results/{name}.jsonl") for name in "ab")
    assert len(merge_trials([one, other]).rows) == len(one.rows) == 24


def test_growing_samples_get_their_figures() -> None:
    source = 'loader = "make_moons"\narguments = { n_samples = 60, random_state = 0 }\norder = "stratified"'
    grid = "[grid]\nwidth = [16, 32]\nmax_bias = 1\nshare = { first = 0.2, last = 1, step = 0.4 }\n"
    write_toml("grow.toml", f"runs = 5\ncenter = true\n[data]\n{source}\n{grid}")
    assert main(["sweep", "grow.toml", "-j", "1", "-o", "out"]) == 0
    for kind in ("heatmap", "slices-samples", "slices-width", "data"):
        check_pair(f"out/grow-{kind}")


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        ('file = "none.csv"\nlabel = "y"', 2, "No such file"),
        ('file = "none.parquet"\nlabel = "y"', 2, "No such file"),
        ('file = "own.csv"', 2, "say which column"),
        ('file = "own.csv"\nlabel = "z"', 2, "no column 'z'"),
        ('file = "mixed.csv"\nlabel = "y"', 3, "row 1 (line 3) holds the text 'you'"),
        ('file = "own.npz"', 3, "must hold an array"),
        ('file = "one.csv"\nlabel = "y"', 3, "two classes"),
        ('file = "gap.csv"\nlabel = "y"', 3, "1 empty cell, the first in row 1 (line 3), column 'x'"),
        ('file = "clash.csv"\nlabel = "y"', 3, "equal points with different labels"),
        ('loader = "load_nothing"', 2, "no loader"),
        ('loader = "get_data_home"', 2, "no loader"),
        ('loader = "make_spd_matrix"\narguments = { n_dim = 3 }', 3, "does not return points and labels"),
        ('file = "own.csv"\nlabel = "y"\nscale = "log"', 2, "scale must be"),
        ('file = "own.csv"\nlabel = "y"\norder = "random"', 2, "order must be"),
        ('file = "own.csv"\nlabel = "y"\ntarget = "c"', 2, "target must be"),
        ('name = "nothing"', 2, "no data set is called"),
    ],
)
def test_data_that_cannot_be_used(source: str, code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_toml("own.csv", "x,y\n1,a\n2,b\n3,a\n")
    write_toml("mixed.csv", "x,word,y\n1,4,a\n2,you,b\n")
    write_toml("one.csv", "x,y\n1,a\n2,a\n")
    write_toml("gap.csv", "x,y\n1,a\n,b\n")
    write_toml("clash.csv", "x,y\n1,a\n1,b\n2,a\n")
    np.savez("own.npz", X=np.ones((2, 2)))
    write_toml("mine.toml", f"runs = 1\n[data]\n{source}\n{GRID_TOML}")
    assert main(["sweep", "mine.toml", "-j", "1"]) == code
    assert says in capsys.readouterr().err


def test_processes_and_a_scheduler(tmp_path: Path) -> None:
    toml = moons_toml()
    with dask_cluster(tmp_path, 1, 2) as address:
        arguments = ["--scheduler", address, "--store", "dask.jsonl"]
        assert main(["sweep", toml, *arguments]) == 0
    assert main(["sweep", toml, "-j", "2", "--store", "two.jsonl"]) == 0
    parts = [read_trials("dask.jsonl"), read_trials("two.jsonl")]
    assert len(merge_trials(parts).rows) == len(parts[0].rows) == 48


def test_a_second_sweep_on_the_same_store_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from experiments.store import Store; "
        "s = Store('s.jsonl', print); print('open', flush=True); sys.stdin.readline()"
    )
    with started([sys.executable, "-c", code, str(ROOT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "open\n"
        assert main(["sweep", moons_toml(), "-j", "1", "--store", "s.jsonl"]) == 2
        assert "in use by another process" in capsys.readouterr().err
        first.communicate("\n", timeout=60)
    assert main(["sweep", "mine.toml", "-j", "1", "--store", "s.jsonl"]) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_interrupted_and_continued() -> None:
    import signal

    toml = moons_toml(runs=4000)
    command = [sys.executable, "-m", "experiments", "sweep", toml, "-j", "1", "--store", "s.jsonl"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with started(command, stderr=subprocess.PIPE, env=environment) as process:
        end = time.monotonic() + 60
        while not (Path("s.jsonl").exists() and Path("s.jsonl").stat().st_size > 5000):
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "interrupted" in err
    assert len(read_trials("s.jsonl").rows) > 10


@pytest.mark.parametrize(
    ("given", "extent"),
    [([], "quick"), (["--start-from", "some.jsonl"], "committed"), (["--extent", "paper"], "paper")],
)
def test_the_extent_goes_with_the_trials_to_start_from(
    given: list[str], extent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("some.jsonl").touch()
    asked = []

    def note(name: str, extent: str) -> None:
        asked.append((name, extent))
        raise DataError("that is all")

    monkeypatch.setattr(commands, "paper_experiment", note)
    assert main(["reproduce", "mnist", *given]) == 3
    assert asked == [("mnist", extent)]


def test_stores_are_merged_packed_and_continued_from(capsys: pytest.CaptureFixture[str]) -> None:
    toml = moons_toml()
    for runs in ("2", "4"):
        assert main(["sweep", toml, "-j", "1", "--runs", runs, "--store", f"{runs}.jsonl", "-o", runs]) == 0
    capsys.readouterr()
    assert main(["trials", "merge", "all.csv.gz", "2.jsonl", "4.jsonl"]) == 0
    assert capsys.readouterr().out == "all.csv.gz: 48 trials\n"
    assert main(["sweep", toml, "-j", "1", "--start-from", "all.csv.gz", "--store", "new.jsonl", "-o", "out"]) == 0
    assert "48 trials are there, 0 to run" in capsys.readouterr().err
    assert main(["sweep", toml, "-j", "1", "--runs", "5", "--store", "new.jsonl", "--start-from", "all.csv.gz"]) == 0
    err = capsys.readouterr().err
    assert "48 trials are there, 12 to run" in err
    assert "is there already" in err
    assert main(["sweep", toml, "-j", "1", "--store", "whole.jsonl", "-o", "whole"]) == 0
    capsys.readouterr()
    assert main(["trials", "summary", "all.csv.gz"]) == 0
    printed = capsys.readouterr().out
    assert main(["trials", "summary", "whole.jsonl", "whole.csv"]) == 0

    def but_seconds(text: str) -> list[str]:
        return [line.rpartition(",")[0] for line in text.splitlines()]

    assert but_seconds(printed) == but_seconds(Path("whole.csv").read_text(encoding="utf-8"))
    assert but_seconds(printed) == but_seconds(Path("out/mine.csv").read_text(encoding="utf-8"))
    assert main(["trials", "cost", "all.csv.gz"]) == 0
    assert capsys.readouterr().out.startswith("all.csv.gz: 48 trials in ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["reproduce", "nothing"],
        ["reproduce", "two-moons", "--extent", "huge"],
        ["reproduce", "all", "--store", "s.jsonl"],
        ["reproduce", "two-moons", "--runs", "0"],
        ["reproduce", "two-moons", "--jobs", "0"],
        ["reproduce", "two-moons", "--store", "s.csv.gz"],
        ["reproduce"],
        ["sweep", "nothing.toml"],
        ["trials", "merge", "out.jsonl", "nothing.jsonl"],
    ],
)
def test_wrong_usage_is_told_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("experiments: ")


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("reproduce", "sweep", "trials"))


@pytest.mark.skipif(not ZERO.exists(), reason="needs a device without end")
@pytest.mark.parametrize("name", ["zero.toml", "zero.csv", "zero.csv.gz", "zero.jsonl"])
def test_devices_are_no_files(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).symlink_to(ZERO)
    command = ["sweep", name] if name.endswith("toml") else ["trials", "summary", name]
    assert main(command) == 3
    assert "is no ordinary file" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "axes"), [("", "max_bias = [1]"), ("held_out = 0.5", "")])
@pytest.mark.parametrize("runs", [10**20, 10**9])
def test_a_sweep_that_would_never_end_is_refused(
    more: str, axes: str, runs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    data = '[data]\nloader = "load_iris"\n[grid]\nwidth = [10]\n'
    write_toml("own.toml", f"runs = {runs}\n{more}\n{data}{axes}\n")
    assert main(["sweep", "own.toml"]) == 2
    told = capsys.readouterr().err
    assert "own: 1000000000" in told
    assert "are more than 100,000,000 trials: use fewer" in told
