"""Experiments as files: the paper's own, a user's, and what is refused."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from exactfit import Options
from exactfit.exceptions import DataError, ParameterError
from experiments import experiment
from experiments.experiment import BEYOND, PAPER, axis_values, load_experiment, paper_experiment
from experiments.widths import Cell

# The experiments of the paper: axes, number of points, runs.
N_POINTS = {
    "two-moons": 1000,
    "sample-size": 1_000_000,
    "mnist-pairs": 14_702,
    "mnist": 70_000,
    "mnist-wide": 70_000,
    "cifar10": 60_000,
    "cifar10-wide": 60_000,
    "parallel-lines": 20,
}


RUNS = {"two-moons": 250, "sample-size": 100, "cifar10": 10, "cifar10-wide": 5, "parallel-lines": 1}


def product(widths, biases, points) -> set[Cell]:
    return {Cell(int(n), round(float(lam), 9), N) for n in widths for lam in biases for N in points}


def published(name: str) -> set[Cell]:
    N = [N_POINTS[name]]
    wide = product(range(1000, 10_001, 1000), [0, 1, 2.5], N)
    wide |= product([2500, 5000, 10_000], np.arange(11) * 0.25, N)
    shares = [round(14_702 * k / 10) for k in range(1, 11)]
    return {
        "two-moons": product(range(10, 501, 10), np.arange(51) * 0.05, N),
        "sample-size": product(range(200, 2001, 200), [1], range(100_000, 1_000_001, 100_000)),
        "mnist-pairs": product([500, 5000, 10_000], [0.5], shares),
        "mnist": product(range(20, 501, 20), np.arange(26) * 0.1, N),
        "mnist-wide": wide,
        "cifar10": product(range(150, 1501, 150), np.arange(11) * 0.25, N),
        "cifar10-wide": wide,
        "parallel-lines": product([2000], [1], N),
    }[name]


@pytest.mark.parametrize("name", PAPER)
def test_paper_scale_is_the_published_grid(name: str) -> None:
    experiment = paper_experiment(name)
    cells = experiment.grid.cells(N_POINTS[name])
    assert set(cells) == published(name)
    assert len(set(cells)) == len(cells)
    assert experiment.runs == RUNS.get(name, 25)
    assert not experiment.grid.center


@pytest.mark.parametrize("name", BEYOND)
def test_what_goes_beyond_the_paper_draws_as_it_does(name: str) -> None:
    assert not paper_experiment(name).grid.center


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("extent", ["quick", "committed"])
def test_smaller_extents_are_parts_of_it(name: str, extent: str) -> None:
    experiment = paper_experiment(name, extent)
    cells = set(experiment.grid.cells(N_POINTS[name]))
    whole = published(name) | (product([2000], [0.5], [c.N for c in cells]) if name == "mnist-pairs" else set())
    assert cells <= whole
    assert 1 <= experiment.runs <= RUNS.get(name, 25)


@pytest.mark.parametrize("name", ["mnist", "mnist-wide"])
def test_the_committed_part_is_every_second_value_with_ends_and_quoted_cells(name: str) -> None:
    experiment = paper_experiment(name, "committed")
    cells, whole = set(experiment.grid.cells(N_POINTS[name])), published(name)
    assert experiment.runs >= 5
    quoted = {"mnist": [(140, 0), (260, 1), (300, 0.5), (500, 0), (500, 2)]}.get(name, [])
    assert {Cell(n, float(lam), N_POINTS[name]) for n, lam in quoted} <= cells
    if name.endswith("wide"):
        assert {c.lam for c in cells if c.n == 1000} == {0, 1, 2.5}
        assert {c.n for c in cells if c.lam == 0} >= {1000, 2500, 5000, 10_000}
        assert {c.lam for c in cells if c.n == 2500} >= set(np.arange(6) * 0.5)
    else:
        for axis in ("n", "lam"):
            every = sorted({getattr(cell, axis) for cell in whole})
            kept = {getattr(cell, axis) for cell in cells}
            assert {every[0], every[-1], *every[::2]} <= kept


def test_every_file_is_shipped_and_tells_what_it_is() -> None:
    folder = Path(experiment.__file__).parent / "paper"
    assert sorted(path.stem for path in folder.glob("*.toml")) == sorted(PAPER + BEYOND)
    for path in folder.glob("*.toml"):
        assert path.read_text(encoding="utf-8").startswith("# ")
        assert {"quick", "committed", "title", "runs", "figure"} <= tomllib.loads(
            path.read_text(encoding="utf-8")
        ).keys()


def test_decimal_steps_do_not_drift() -> None:
    values = axis_values({"first": 0, "last": Decimal("2.5"), "step": Decimal("0.05")}, "lambda")
    assert [float(value) for value in values] == [round(k * 0.05, 10) for k in range(51)]


def test_the_last_value_is_always_included() -> None:
    assert [float(v) for v in axis_values({"first": 0, "last": Decimal("2.5"), "step": 1}, "x")] == [0, 1, 2, 2.5]
    assert [float(v) for v in axis_values(7, "x")] == [7]


GOOD = """
runs = 2
[data]
loader = "load_iris"
[grid]
width = [4, 8]
max_bias = 1
"""


def test_a_users_file(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(GOOD + "share = [0.5, 1]\n", encoding="utf-8")
    experiment = load_experiment(path)
    assert (experiment.name, experiment.title, experiment.runs, experiment.folder) == ("own", "own", 2, tmp_path)
    assert experiment.grid.cells(150) == [Cell(n, 1.0, N) for n in (4, 8) for N in (75, 150)]
    assert experiment.grid.center == Options().center
    path.write_text("center = false" + GOOD, encoding="utf-8")
    assert not load_experiment(path).grid.center


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("runs = 2", "runs = 0"), "runs must be"),
        (("runs = 2", "runs = true"), "runs must be"),
        (("runs = 2", "tuns = 2"), "unknown tuns"),
        (("[data]", "[date]"), r"needs a table \[data\]"),
        (("[grid]", "[grids]"), r"needs a table \[grid\]"),
        (("loader", "leader"), "unknown leader"),
        (('loader = "load_iris"', 'loader = "load_iris"\nname = "mnist"'), "exactly one of"),
        (("width = [4, 8]", "width = []"), "width: give a number"),
        (("width = [4, 8]", "width = [4.5]"), "width must be integers"),
        (("width = [4, 8]", "width = [0]"), "width must be integers"),
        (("width = [4, 8]", 'width = ["4"]'), "width: give a number"),
        (("width = [4, 8]", "width = { first = 1, last = 0, step = 1 }"), "first <= last"),
        (("width = [4, 8]", "width = { first = 1, last = 1e15, step = 1 }"), "larger step"),
        (("width = [4, 8]", "width = { first = 1, last = 2, step = 0 }"), "step > 0"),
        (("width = [4, 8]", "width = { first = 1, last = 2 }"), "first, last and step"),
        (("width = [4, 8]", "width = { from = 1, last = 2 }"), "unknown from"),
        (("max_bias = 1", "max_bias = -1"), "max_bias must be numbers >= 0"),
        (("max_bias = 1", "max_bias = nan"), "nan, inf and numbers above 1e.18"),
        (("width = [4, 8]", "width = [4, 1e999000]"), "nan, inf and numbers above 1e.18"),
        (("max_bias = 1", "max_bias = 1\nshare = 2"), "share must not exceed 1"),
        (("max_bias = 1", "max_bias = 1\nshare = 1\npoints = 7"), "may have points or share"),
        (("max_bias = 1", ""), "needs width and max_bias"),
        (("runs = 2", 'runs = 2\nlaw = "gaussian"'), "unknown law"),
        (("runs = 2", 'runs = 2\ndetectors = "heavy"'), "detectors one of mask, weighted"),
        (("runs = 2", "runs = 2\ncenter = 1"), "center must be"),
        (("[data]", "[quick]\ntitle = 'x'\n[data]"), "quick: unknown title"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(GOOD.replace(*change), encoding="utf-8")
    with pytest.raises(ParameterError, match=says):
        load_experiment(path)


@pytest.mark.parametrize("text", ["runs =", f"runs = {'1' * 5000}", f"runs = 1e{'1' * 5000}"])
def test_what_is_no_toml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="not valid TOML"):
        load_experiment(path)


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        load_experiment(path)


def test_unknown_names_and_scales(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no experiment is called"):
        paper_experiment("mnistt")
    with pytest.raises(ParameterError, match=r"no extent 'huge': choose from paper, committed, quick"):
        paper_experiment("mnist", "huge")
    path = tmp_path / "own.toml"
    path.write_text(GOOD + "points = 200\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="N = 200 points, the data have 150"):
        load_experiment(path).grid.cells(150)
