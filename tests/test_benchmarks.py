"""Benchmarks: every case has a name, small ones run, and the pages quote commands that are there."""

from __future__ import annotations

import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "comparison"
PAGES = [ROOT / "Makefile", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import __main__ as found

    return found


def run(program: Any, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    program.main()


def test_names_are_unique_and_listed(
    program: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(program, monkeypatch, "--list")
    names = capsys.readouterr().out.split()
    assert names == [case.name for case in program.CASES]
    assert len(set(names)) == len(names)


def test_pages_quote_cases_that_are_there(program: Any) -> None:
    quoted = [
        (page.name, word)
        for page in PAGES
        for command in re.findall(r"-m benchmarks((?: [\w/]+)+)", page.read_text(encoding="utf-8"))
        for word in command.split()
    ]
    assert quoted
    assert [pair for pair in quoted if not any(pair[1] in case.name for case in program.CASES)] == []


def test_an_unknown_case_is_named(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="no case has 'nothing' in its name"):
        run(program, monkeypatch, "nothing")


def test_what_needs_data_is_skipped_by_name(
    program: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(program, monkeypatch, "geometry/limit-mnist", "--data", "")
    assert "skipped: geometry/limit-mnist (needs --data or EXACTFIT_DATA)" in capsys.readouterr().out


def test_a_case_leaves_its_rows(
    program: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(program, monkeypatch, "geometry/covering-digits", "--json", str(tmp_path / "rows.json"))
    (row,) = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert row["n"] == 1797
    assert row["result"] in capsys.readouterr().out


def test_a_side_of_a_fit_in_a_process_of_its_own(program: Any) -> None:
    from exactfit._support.processes import run_alone

    fits = program.fits
    mine = run_alone(fits.measure_side, 0, "exactfit", None, 0, 0)
    other = run_alone(fits.measure_side, 0, "other", None, mine["width"], mine["examined"])
    assert fits.ratio_of(fits.FITS[0], mine, other)["note"] == "networks equal"
    assert min(mine["peak_bytes"], other["peak_bytes"]) > 2**24


def test_every_table_is_what_its_file_says(program: Any) -> None:
    tables = program.comparison
    text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert {path.stem for path in RESULTS.glob("*.json")} == {contest.name for contest in tables.CONTESTS}
    for contest in tables.CONTESTS:
        found = tables.read_comparison(RESULTS / f"{contest.name}.json")
        assert tables.markdown(contest, found).strip() in text


@pytest.mark.parametrize("name", ["accuracy", "sparse"])
def test_tables_of_accuracy_are_what_the_file_says(program: Any, name: str) -> None:
    cases, text = getattr(program, name), (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for marker, table in cases.tables(program.Settings(output=ROOT / "results")).items():
        assert f"<!-- {marker} -->\n\n{table}\n\n" in text


def test_tables_are_put_behind_their_markers(program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n\n<!-- reporting auc -->\n\n| old |\n| --- |\n\nb\n", encoding="utf-8")
    kept = program.accuracy.Kept(tmp_path)
    for name, auc in (("1-nn", 0.5), ("forest 300", 0.75), ("default", 0.7)):
        kept.get("iris", name, program.accuracy.OTHERS["1-nn"], lambda auc=auc: {"accuracy": 0.5, "auc": auc})
    monkeypatch.setattr(program.accuracy, "PAGE", page)
    program.accuracy.write_tables(program.Settings(output=tmp_path))
    assert page.read_text(encoding="utf-8").splitlines() == [
        "a", "", "<!-- reporting auc -->", "",
        "|  | iris | to 1-nn | to forest | worst |", "| --- | ---: | ---: | ---: | ---: |",
        "| 1-nn | 50.0 | +0.0 | -25.0 | -25.0 |", "| default | 70.0 | +20.0 | -5.0 | -5.0 |",
        "| forest 300 | 75.0 | +25.0 | +0.0 | +0.0 |", "", "b",
    ]  # fmt: skip


def test_a_network_of_sparse_hyperplanes_beside_a_forest(
    program: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("sparse-fits/table", "--size", "60", "--output", str(tmp_path))
    run(program, monkeypatch, *words)
    (line,) = (tmp_path / "sparse.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(line)
    assert (row["data"], row["name"], row["hyperplanes"], row["missed"]) == ("table, 60 rows", "forest of 100", 960, 0)
    assert row["file KB"] > 10
    assert min(row["accuracy"], row["accuracy, other"]) > 0.5
    first = capsys.readouterr().out
    run(program, monkeypatch, *words)
    assert capsys.readouterr().out == first
    assert (tmp_path / "sparse.jsonl").read_text(encoding="utf-8").splitlines() == [line]


def test_what_is_kept_is_not_measured_again(program: Any, tmp_path: Path) -> None:
    accuracy = program.accuracy
    model = accuracy.OTHERS["1-nn"]
    first = accuracy.Kept(tmp_path).get("iris", "1-nn", model, lambda: {"accuracy": 0.5})
    again = accuracy.Kept(tmp_path).get("iris", "1-nn", model, lambda: {"accuracy": 0.9})
    assert first == again
    other = accuracy.Kept(tmp_path).get("iris", "1-nn", accuracy.OTHERS["10-nn"], lambda: {"accuracy": 0.9})
    assert other["accuracy"] == 0.9


def test_a_share_of_the_labels_is_made_wrong(program: Any) -> None:
    import numpy as np

    y = np.arange(100) % 4
    wrong = program.accuracy.flipped(y, 0.2)
    assert (wrong != y).sum() == 20
    assert set(wrong.tolist()) <= {0, 1, 2, 3}


def test_sides_by_pieces_are_those_of_fractions(program: Any) -> None:
    """Points on hyperplanes, a hair beside them, and of very different sizes."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((7, 3)).astype(np.float32)
    b = rng.standard_normal(7)
    X = rng.standard_normal((20, 3)) * 2.0 ** rng.integers(-30, 30, (20, 3))
    points = program.reliability.near_planes(X, W, b, rng)
    points = np.vstack([points, np.zeros((1, 3)), -W.astype(float) * (b / (W.astype(float) ** 2).sum(1))[:, None]])
    exact = [
        [sum((Fraction(float(w)) * Fraction(x) for w, x in zip(row, point, strict=True)), Fraction(bias)) > 0
         for row, bias in zip(W, b, strict=True)]
        for point in points
    ]  # fmt: skip
    assert program.reliability.exact_sides(points, W, b).tolist() == exact
    whole = rng.integers(-3, 4, (40, 2)).astype(float)
    on = np.array([[1.0, 1.0], [2.0, -1.0]]), np.array([0.0, 1.0])
    assert (program.reliability.exact_sides(whole, *on) == (whole @ on[0].T + on[1] > 0)).all()


def test_a_case_of_reliability_counts_and_finds(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reliability, right = program.reliability, program.reliability.sides
    assert reliability.sides_beside_integers(program.Settings(size=1))[0]["different"] == 0

    def wrong(*args: Any) -> Any:
        return right(args[0], args[1], args[2] + 1e-3)

    monkeypatch.setattr(reliability, "sides", wrong)
    assert reliability.sides_beside_integers(program.Settings(size=1))[0]["different"] > 0
