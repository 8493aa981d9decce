"""All cases, one table: ``python -m benchmarks.run``.

Every row runs exactfit and what it is compared with one after the other, each in a
process of its own, on the same data, hyperplanes and order; networks must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from .calibration import gemm_seconds, packing_rate, word_rates
from .cases import CASES, Case

THREADS = 2
ROWS = (8, 32, 79)
BARE = (("bare_seconds", "{:.3g} s"), ("over_bare", "{:.2f} x"), ("word_rate", "{:.2g}"))


def call(index: int, side: str, folder: str, width: int = 0, examined: int = 0) -> dict[str, Any]:
    """One side of a case, in its own process."""
    command = [sys.executable, "-m", "benchmarks.worker", str(index), side, folder, str(width), str(examined)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(case: Case, mine: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Ratio and, for the dense form, proof that the networks are equal."""
    if case.against != "dense":
        return {"other_seconds": other["seconds"], "note": ""}
    if other["complete"]:
        assert mine["digest"] == other["digest"], f"{case.name}: the networks differ"
        return {"other_seconds": other["seconds"], "note": "networks equal"}
    same = [k for k in mine["prefixes"] if int(k) <= other["detectors"]]
    assert all(mine["prefixes"][k] == other["prefixes"][k] for k in same), f"{case.name}: the networks differ"
    whole = other["first_layer"] + other["each"] * mine["examined"]
    each = other["each"] * mine["examined"] / mine["seconds"]
    note = (
        f"dense: first {other['examined']} of {mine['examined']} candidates, {each:.3g} x for each; "
        f"first {same[-1]} detectors equal"
    )
    return {"other_seconds": whole, "note": note}


def roofline(mine: dict[str, Any], rate: float, packing: float) -> float:
    """The bare cost: one GEMM, packing every entry, counting the words that must be counted."""
    gemm = gemm_seconds(mine["n"], mine["d"], mine["width"])
    return gemm + mine["n"] * mine["width"] / packing + mine["words"] / rate


def measure(index: int, folder: str, rate: float, packing: float) -> dict[str, Any]:
    """One row of the table."""
    case = CASES[index]
    mine = call(index, "exactfit", folder)
    other = call(index, "other", folder, mine["width"], mine["examined"])
    row = {"case": case.name, "target": case.target, "against": case.against, **mine, **compare(case, mine, other)}
    row["other_peak_bytes"] = other["peak_bytes"]
    row["other_detectors"] = other.get("detectors")
    row["ratio"] = row["other_seconds"] / row["seconds"]
    if case.against != "neighbours":
        row["bare_seconds"] = roofline(mine, rate, packing)
        row["over_bare"] = row["seconds"] / row["bare_seconds"]
        row["word_rate"] = mine["words"] / row["seconds"]
    return row


def calibrate(console: Console) -> tuple[float, float]:
    """Word rates of the plain loop and the cover kernel, and the packing rate."""
    table = Table("threads", "plain loop", *(f"cover, {n_words} words" for n_words in ROWS))
    for threads in (1, THREADS):
        plain, kernels = word_rates(threads, ROWS)
        table.add_row(str(threads), f"{plain / 1e9:.2f} G words/s", *(f"{rate / plain:.0%}" for rate in kernels))
    console.print(table)
    packing = packing_rate(THREADS)
    console.print(f"packing: {packing / 1e9:.2f} G entries/s on {THREADS} threads")
    return plain, packing


def show(console: Console, rows: list[dict[str, Any]]) -> None:
    """The table."""
    costs = ("seconds", "other", "ratio", "target", "bare", "over bare", "words/s", "peak", "other peak")
    table = Table("case", "against", *costs, "note")
    for row in rows:
        bare = [form.format(row[name]) if name in row else "" for name, form in BARE]
        detectors = f"{row['detectors']} against {row['other_detectors']} detectors" if row["other_detectors"] else ""
        table.add_row(
            row["case"], row["against"], f"{row['seconds']:.4g}", f"{row['other_seconds']:.4g}",
            f"{row['ratio']:.3g}", row["target"], *bare, f"{row['peak_bytes'] / 1e9:.2f} GB",
            f"{row['other_peak_bytes'] / 1e9:.2f} GB", row["note"] or detectors,
        )  # fmt: skip
    console.print(table)


def main() -> None:
    """Run the chosen cases; those without their data are skipped by name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("EXACTFIT_DATA", ""), help="folder with MNIST and CIFAR-10")
    parser.add_argument("--only", nargs="*", default=[""], help="run cases whose name contains one of these words")
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args()
    console = Console(width=max(Console().width, 170))
    rate, packing = calibrate(console)
    rows = []
    for index, case in enumerate(CASES):
        if not any(word in case.name for word in options.only):
            continue
        if case.needs_data and not options.data:
            console.print(f"skipped: {case.name} (needs --data or EXACTFIT_DATA)")
            continue
        try:
            rows.append(measure(index, options.data, rate, packing))
        except subprocess.CalledProcessError as error:
            console.print(f"skipped: {case.name} ({error.stderr.strip().splitlines()[-1]})")
            continue
        console.print(f"done: {case.name}, {rows[-1]['ratio']:.3g} x")
    show(console, rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
