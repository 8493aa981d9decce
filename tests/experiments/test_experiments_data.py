"""Data of experiments: loaders and tables, scaled, in a given or a stratified order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toys import TOY

from experiments.data import load_data, stratified_order


def test_every_beginning_of_a_stratified_order_has_the_classes_in_their_proportions() -> None:
    y = np.repeat([0, 1, 2], [600, 300, 100])
    order = stratified_order(y)
    assert sorted(order.tolist()) == list(range(1000))
    for size in (50, 100, 333, 777):
        counts = np.bincount(y[order[:size]], minlength=3)
        assert np.abs(counts - size * np.array([0.6, 0.3, 0.1])).max() <= 1.5
    assert (order == stratified_order(y)).all()
    assert (order != stratified_order(y, random_state=1)).any()


@pytest.mark.parametrize(("scale", "ratio"), [(None, 1.0), ("standard", 1.0), ("unit", 1000.0), ("none", 1000.0)])
def test_tables_are_standardised_unless_told_otherwise(tmp_path: Path, scale: str | None, ratio: float) -> None:
    rows = np.random.default_rng(0).normal(5, 1, (40, 2)) * [1.0, 1000.0]
    np.savez(tmp_path / "own.npz", X=rows, y=np.arange(40) % 2)
    spec = {"file": "own.npz"} | ({} if scale is None else {"scale": scale})
    (data,) = load_data(replace(TOY, data=(spec,), folder=tmp_path))
    first, second = data.X.std(axis=0)
    assert second / first == pytest.approx(ratio, rel=0.5)
    assert scale == "none" or np.linalg.norm(data.X, axis=1).max() == pytest.approx(1.0)
    assert scale not in (None, "standard") or np.abs(data.X.mean(axis=0)).max() < 1e-12


def test_own_data_are_not_called_generated(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", X=np.arange(4.0)[:, None], y=[0, 1, 0, 1])
    shipped, made, standard = (
        {"loader": "load_wine"},
        {"loader": "make_moons", "arguments": {"n_samples": 20, "random_state": 0}},
        {"loader": "load_wine", "scale": "standard"},
    )
    found = load_data(replace(TOY, data=({"file": "own.npz"}, shipped, made, standard), folder=tmp_path))
    assert [data.standing for data in found] == ["own", "own", "generated", "own"]
    assert np.ptp(found[3].X.std(axis=0)) < 1e-12 < np.ptp(found[1].X.std(axis=0))


def test_own_tables_take_the_options_of_reading(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b;y\n1,5;u;p\n;v;q\n3,5;w;p\n", encoding="utf-8")
    spec = {"file": "t.csv", "label": "y", "missing": "impute", "drop": ["b"], "scale": "none"}
    (data,) = load_data(replace(TOY, data=(spec,), folder=tmp_path))
    assert (data.name, data.X.tolist(), data.y.tolist()) == ("t", [[1.5], [2.5], [3.5]], [0, 1, 0])
