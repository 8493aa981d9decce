"""Commands of the lab; what they compute and draw is tested with the lab."""

from __future__ import annotations

import pytest
from command_line import Capture, error_of

pytestmark = pytest.mark.usefixtures("at_fruit")


@pytest.mark.parametrize(
    "arguments",
    [
        ["reproduce", "nothing"],
        ["reproduce", "two-moons", "--extent", "huge"],
        ["reproduce", "all", "--store", "s.jsonl"],
        ["reproduce", "two-moons", "--runs", "0"],
        ["reproduce", "two-moons", "--jobs", "0"],
        ["reproduce", "two-moons", "--shard", "5/4"],
        ["reproduce", "two-moons", "--backend", "ray"],
        ["reproduce", "two-moons", "--backend", "dask"],
        ["reproduce", "two-moons", "--store", "s.csv.gz"],
        ["sweep", "nothing.toml"],
        ["trials", "merge", "out.jsonl", "nothing.jsonl"],
    ],
)
def test_wrong_usage_is_told_in_one_line(arguments: list[str], capsys: Capture) -> None:
    error_of(arguments, capsys, 2)
