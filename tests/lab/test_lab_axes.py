"""What pictures of trials share: edges of cells, files and notes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from toy_trials import records

from exactfit.lab import plot_heatmap
from exactfit.lab.axes import edges_of, note_below, save_figure, shown
from exactfit.plots import style

pytestmark = pytest.mark.usefixtures("pictures")


def test_edges_lie_halfway() -> None:
    assert edges_of(np.array([0.0, 1.0, 3.0])).tolist() == [-0.5, 0.5, 2.0, 4.0]
    assert edges_of(np.array([10.0])).tolist() == [5.0, 15.0]
    assert [shown(value) for value in (0.5, 1.0, 1e6)] == ["0.5", "1", "1,000,000"]


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
