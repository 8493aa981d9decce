"""Commands about data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import Capture, output_of, write

from exactfit.cli import ExitCode, main

pytestmark = pytest.mark.usefixtures("at_fruit")


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_damaged_tables_are_one_line_and_exit_code_3(ending: str, capsys: Capture) -> None:
    rng, frame = np.random.default_rng(1), pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40) % 2})
    if ending == "npz":
        np.savez_compressed("t.npz", X=frame[["x"]].to_numpy(), y=frame["y"].to_numpy())
    else:
        frame.to_parquet("t.parquet")
    whole, codes = Path(f"t.{ending}").read_bytes(), set()
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[int(rng.integers(len(whole)))] ^= int(rng.integers(1, 256))
        Path(f"t.{ending}").write_bytes(damaged)
        codes.add(code := main(["fit", f"t.{ending}", "--label", "y", "--dry-run"]))
        message = capsys.readouterr().err
        assert code == ExitCode.FINE or (message.startswith("exactfit: ") and message.count("\n") == 1), message
    assert ExitCode.DATA in codes
    assert codes <= {ExitCode.FINE, ExitCode.DATA}


def test_describe(capsys: Capture) -> None:
    out, _ = output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "0.5"], capsys)
    assert out.startswith("5 points, 4 features, 3 labels\n")
    plain = json.loads(
        output_of(["describe", "fruit.csv", "--label", "fruit", "--time-limit", "1e-9", "--json"], capsys)[0]
    )
    assert plain["sizes"] == {"apple": 2, "banana": 1, "pear": 2}
    assert plain["left_out"]


def test_suspects_are_rows_of_the_file(capsys: Capture) -> None:
    rows = [(0.0, "a"), ("", "a"), (0.1, "a"), (0.2, "b"), (0.3, "a"), (5.0, "b"), (5.1, "b"), (5.2, "b")]
    write("t.csv", "x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    command = ["suspects", "t.csv", "--label", "y", "--missing", "drop-rows", "--k", "2", "--top", "1"]
    header, line = output_of(command, capsys)[0].splitlines()
    assert header.split() == ["row", "label", "score", "claims", "support", "ball_ratio", "strangers", "conflicts"]
    assert line.split()[:2] == ["3", "b"]
    plain = json.loads(output_of([*command, "--json"], capsys)[0])
    (suspect,) = plain["suspects"]
    assert (plain["rows"], suspect["row"]) == (7, 3)
    assert set(suspect["conflicts"]) == {2, 4}


def test_compare_puts_constructions_side_by_side(capsys: Capture) -> None:
    write("t.csv", "x,y\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(20)))
    command = ["compare", "t.csv", "--label", "y", "--construction", "huang", "--time-limit", "60"]
    plain = json.loads(output_of([*command, "--json"], capsys)[0])
    assert [row["name"] for row in plain["rows"]] == ["huang"]
    assert plain["rows"][0]["certified"]
