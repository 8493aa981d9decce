"""Figures of an experiment: their kinds, their files, and what stands below them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from toys import GRID_TOML, TOY, moons_toml, records, write_toml

from exactfit.lab import load_dataset
from exactfit.plots import style
from experiments import figures
from experiments.__main__ import main
from experiments.figures import Material, note_below, save_figure
from experiments.options import OptionGrid, Setting
from experiments.plots import plot_heatmap

pytestmark = pytest.mark.usefixtures("here")


def test_unknown_figures_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    write_toml("mine.toml", Path(moons_toml(runs=1)).read_text(encoding="utf-8").replace('"data"', '"pie"'))
    assert main(["sweep", "mine.toml", "-j", "1"]) == 2
    assert "no figure is of the kind 'pie'" in capsys.readouterr().err


def test_figures_say_what_stands_for_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setattr(figures, "note_below", lambda _, note: notes.append(note))
    sweep = [
        "sweep",
        write_toml("my.toml", 'runs = 4\n[data]\nname = "two-moons"\n' + GRID_TOML + '\n[[figure]]\nkind = "slices"\n'),
        "-j",
        "1",
    ]
    for runs in ("1", "4", "20"):
        assert main([*sweep, "--runs", runs, "--store", f"{runs}.jsonl"]) == 0
    one, few, enough = notes
    assert "1 run per cell; markers" in one
    assert "4 runs per cell; bars: 95 % confidence; markers" in few
    assert "20 runs per cell; bands: 95 % confidence; markers" in enough


def test_no_panel_of_probability_where_every_run_interpolates(monkeypatch: pytest.MonkeyPatch) -> None:
    panels: list[int] = []
    monkeypatch.setattr(figures, "save_figure", lambda figure, _: panels.append(len(figure.axes)) or [])
    for widths in ("[10, 500]", "[600, 700]"):
        grid = f'runs = 2\n[data]\nname = "two-moons"\n[grid]\nwidth = {widths}\nmax_bias = [0.75, 1]\n'
        toml = write_toml("my.toml", f'{grid}[[figure]]\nkind = "slices"\n')
        assert main(["sweep", toml, "-j", "1", "--store", f"{len(panels)}.jsonl"]) == 0
    assert panels == [2, 1]


def test_families_are_data_sets_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setattr(figures, "note_below", lambda _, note: notes.append(note))
    source = 'loader = "make_moons"\narguments = { n_samples = 60, random_state = 0 }\norder = "stratified"\n'
    grid = "[grid]\nwidth = 200\nmax_bias = 1\nshare = [0.5, 1]\n"
    text = f'runs = 1\n[data]\n{source}families = 3\n{grid}[[figure]]\nkind = "families"\n'
    assert main(["sweep", write_toml("my.toml", text), "-j", "1"]) == 0
    assert "3 families of nested subsets, 1 run of each" in notes[0]
    bare = text.replace('order = "stratified"', "")
    assert main(["sweep", write_toml("bare.toml", bare), "-j", "1"]) == 2


def test_samples_of_images(monkeypatch: pytest.MonkeyPatch) -> None:
    panels: list[int] = []
    monkeypatch.setattr(figures, "save_figure", lambda figure, _: panels.append(len(figure.axes)) or [])
    grid = "[grid]\nwidth = 100\nmax_bias = 1\n"
    toml = write_toml("my.toml", f'runs = 1\n[data]\nloader = "load_digits"\n{grid}[[figure]]\nkind = "samples"\n')
    assert main(["sweep", toml, "-j", "1"]) == 0
    assert panels == [100]


def test_files_are_the_same_each_time_and_the_note_is_in_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with style():
            figure, ax = plt.subplots()
            plot_heatmap(records(), ax)
            note_below(figure, "data: published, SHA-256 0123")
            written = save_figure(figure, tmp_path / "deep" / name)
        assert [path.suffix for path in written] == [".pdf", ".png"]
    for ending in ("pdf", "png"):
        assert (tmp_path / f"deep/a.{ending}").read_bytes() == (tmp_path / f"deep/b.{ending}").read_bytes()
    assert figure._supxlabel.get_text() == "data: published, SHA-256 0123"
    assert b"/Image" not in (tmp_path / "deep/a.pdf").read_bytes().split(b"/XObject")[0], "cells are vectors"


@pytest.mark.parametrize(("neurons", "scale"), [([71, 518], "linear"), ([71, 5180], "log"), ([0, 0], "linear")])
def test_labels_of_settings_do_not_overlap(neurons: list[int], scale: str) -> None:
    cells = pd.DataFrame({"setting": ["a", "b"], "neurons": neurons, "runs": 1, "accuracy": 0.9})
    cells = cells.assign(accuracy_low=float("nan"), accuracy_high=float("nan"))
    experiment = replace(TOY, grid=OptionGrid({name: Setting(name, {}) for name in "ab"}, 0.25))
    with style():
        ((name, figure),) = figures.KINDS["settings"](experiment, [Material(load_dataset("two-moons"), cells)], {})
    assert name == ""
    axis = figure.axes[1].xaxis
    assert axis.get_scale() == scale
    figure.draw_without_rendering()
    labels = [*axis.get_ticklabels(minor=True), *axis.get_ticklabels()]
    boxes = sorted((box.x0, box.x1) for box in (label.get_window_extent() for label in labels if label.get_text()))
    assert all(one[1] < two[0] for one, two in pairwise(boxes))
    assert "25% held out, 1 split;" in " ".join(text.get_text() for text in figure.texts)
