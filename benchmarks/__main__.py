"""One runner for all cases: ``python -m benchmarks CASE... [--data FOLDER]``, and ``--list`` for their names.

A case is run if one of the words given is in its name: ``fit``, ``geometry/angle``, ``mnist``.
"""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from pathlib import Path

from rich.console import Console

from . import (
    accuracy,
    answers,
    clusters,
    comparison,
    files,
    fits,
    geometry,
    growth,
    interrupts,
    labels,
    larger,
    margins,
    pages,
    reliability,
    repair,
    sparse,
    weighted,
    weighted_growth,
)
from .cases import Case, Row, Settings

GROUPS = (
    fits, growth, geometry, answers, labels, clusters, larger, comparison, weighted, files, weighted_growth, margins,
    accuracy, sparse, repair, pages, reliability, interrupts,
)  # fmt: skip
CASES: list[Case] = [case for group in GROUPS for case in group.CASES]


def chosen(words: list[str]) -> list[Case]:
    """The cases that are meant; a word that means none is a mistake."""
    for word in words:
        if not any(word in case.name for case in CASES):
            raise SystemExit(f"no case has {word!r} in its name: --list shows them all")
    return [case for case in CASES if any(word in case.name for word in words)]


def run(case: Case, options: Settings, console: Console) -> list[Row]:
    """The rows of a case; none, with a reason, if it cannot be run."""
    if case.needs_data and not options.data:
        console.print(f"skipped: {case.name} (needs --data or EXACTFIT_DATA)")
        return []
    try:
        rows = case.run(options)
    except (ChildProcessError, FileNotFoundError, ImportError) as error:
        console.print(f"skipped: {case.name} ({error})")
        return []
    console.print(f"done: {case.name}", style="dim")
    return rows


def main() -> None:
    """Run the chosen cases, group by group."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="CASE", help="a word in the names of the cases to run")
    parser.add_argument("--list", action="store_true", help="print the names of all cases")
    parser.add_argument("--data", default=Settings.data, help="folder with the images; that of EXACTFIT_DATA")
    parser.add_argument("--output", type=Path, help="folder for pictures and comparisons")
    parser.add_argument("--constructions", nargs="+", default=[], help="comparisons: rows to add to those there")
    parser.add_argument(
        "--size",
        type=int,
        help="sparse, weighted, repair: at most so many points; larger: so many; reliability: so many sums",
    )
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    given = parser.parse_args()
    if given.list or not given.words:
        print(*(case.name for case in (chosen(given.words) if given.words else CASES)), sep="\n")
        return
    console, everything = Console(), list[Row]()
    options = Settings(given.data or None, given.output, tuple(given.constructions), given.size)
    for show, group in groupby(chosen(given.words), key=lambda case: case.show):
        rows = []
        for case in group:
            found = run(case, options, console)
            rows += found
            everything += found
            if given.json:  # after each case: one that is ended loses its own rows only
                given.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")
        if rows:
            show(console, rows, options)


if __name__ == "__main__":
    main()
