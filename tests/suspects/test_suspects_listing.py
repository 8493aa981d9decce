"""Lists of suspects: with cells of the row and of those that it contradicts, duplicates, rows far away."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from exactfit import Suspects, find_suspects, read_table


@pytest.fixture
def fruit(tmp_path: Path) -> Suspects:
    rng = np.random.default_rng(0)
    lines = ["weight,colour,fruit"]
    lines += [f"{weight:.3f},red,apple" for weight in rng.normal(100, 1, 20)]  # rows 0 to 19
    lines += [f"{weight:.3f},green,pear" for weight in rng.normal(120, 1, 20)]  # rows 20 to 39
    lines += ["120.01,green,apple", ",green,pear", "100.5,red,apple", "100.5,red,apple"]  # 40 wrong, 41 empty, 42 = 43
    lines += ["400,red,apple", "119.5,green,pear", "119.5,green,apple"]  # 44 is far, 45 and 46 contradict
    lines += ["121.50000,green,pear", "121.50001,green,apple"]  # 47 and 48 nearly do
    path = tmp_path / "fruit.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return find_suspects(read_table(path, label="fruit", missing="drop-rows"), k=5, random_state=0)


def test_wrong_rows_come_first_by_their_number_in_the_file(fruit: Suspects) -> None:
    assert set(fruit.top(3).tolist()) == {40, 46, 48}
    assert (fruit.suggested[fruit.places([40, 46, 48])] == "pear").all()


def test_doubles_and_rows_far_away_are_named(fruit: Suspects) -> None:
    assert fruit.contradictions == [[45, 46]]
    assert fruit.duplicates == [[42, 43]]
    assert fruit.near_duplicates == [(47, 48)]
    assert fruit.far[0] == 44
    told = dict(fruit.notices())
    assert told["Equal rows with different labels: 1"] == ["row 45: pear, row 46: apple"]
    assert told["Nearly equal rows with different labels: 1"] == ["row 47: pear, row 48: apple"]
    assert told[f"Rows far from everything: {len(fruit.far)}"][0] == "row 44: apple"


def test_the_text_has_the_cells_of_the_row_and_of_those_it_contradicts(fruit: Suspects) -> None:
    lines = [line.split() for line in str(fruit).splitlines()]
    (wrong,) = [k for k, line in enumerate(lines) if line[:3] == ["40", "apple", "pear"]]
    assert lines[wrong][-2:] == ["120.01", "green"]
    for line in lines[wrong + 1 : wrong + 4]:
        assert line[1] == "pear"
        assert line[-1] == "green"
    assert "equals row 45" in fruit.why(46)
    assert any(line[:3] == ["row", "45:", "pear,"] for line in lines)


def test_json_has_everything(fruit: Suspects) -> None:
    plain = fruit.to_dict(2)
    assert json.loads(json.dumps(plain)) == plain
    first = next(one for one in fruit.to_dict(3)["suspects"] if one["row"] == 40)
    assert first["cells"]["40"] == {"weight": "120.01", "colour": "green"}
    assert set(first["cells"]) == {"40", *map(str, first["conflicts"][:3])}
    assert (plain["n_rows"], len(plain["suspects"]), plain["far"][0]) == (48, 2, 44)


def test_arrays_have_no_cells() -> None:
    X, y = load_digits(return_X_y=True)
    found = find_suspects(X[:100], y[:100].astype(str), k=3, random_state=0)
    frame = found.to_frame()
    names = ["row", "label", "score", "suggested", "claims", "support", "ball_ratio", "strangers", "conflicts"]
    assert list(frame) == names
    assert frame["score"].to_numpy().argmax() == found.top(1)[0]
    assert str(found).splitlines()[2].split()[0] == str(found.top(1)[0])
    assert "cells" not in found.to_dict(1)["suspects"][0]
    assert len(found) == 100
    assert len(found.top(1000)) == 100


def test_wide_tables_say_what_they_leave_out() -> None:
    X, y = load_digits(return_X_y=True)
    found = find_suspects(X[:50], y[:50], k=3, random_state=0).of_table(read_table(X[:50]))
    assert "and 52 more columns" in str(found)
