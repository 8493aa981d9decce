"""The tables of docs/comparison.md are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "comparison"


def test_every_table_is_what_its_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import comparison as tables

    text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert {path.stem for path in RESULTS.glob("*.json")} == {case.name for case in tables.CASES}
    for case in tables.CASES:
        assert tables.markdown(case, tables.read(RESULTS / f"{case.name}.json")).strip() in text
