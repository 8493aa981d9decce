"""The tables and pictures of docs/comparison.md: ``python -m benchmarks.comparison FOLDER``.

Each case is one call of ``exactfit.compare`` with seed 0, one construction at a time. It leaves ``<case>.json`` in the
folder; ``--markdown`` prints the tables of all cases there, ``--pictures`` draws them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from exactfit import Comparison, compare
from exactfit.constructions import CONSTRUCTORS
from exactfit.lab import load_dataset
from exactfit.lab.comparison import Row, short_count, short_number
from exactfit.lab.contenders import BASELINES
from exactfit.lab.datasets import load_images

HEAD = (
    "construction", "certified by", "depth", "neurons", "parameters", "bits", "max weight", "radius >=", "radius <=",
    "seconds", "held out",
)  # fmt: skip
METHODS = {"nearest hyperplane": "h", "nearest sphere": "s", "Lipschitz bound": "L", "half the separation, exact": "e"}


@dataclass(frozen=True)
class Case:
    """A data set, and seconds for each construction."""

    name: str
    title: str
    load: Callable[[str | None], tuple[Any, Any]]
    seconds: float


def moons(_: str | None) -> tuple[Any, Any]:
    data = load_dataset("two-moons")
    return data.X, data.y


def digits(_: str | None) -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X, y


def breast_cancer(_: str | None) -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def mnist(n: int) -> Callable[[str | None], tuple[Any, Any]]:
    def load(folder: str | None) -> tuple[Any, Any]:
        images = load_images("mnist", folder)
        return images.pixels[:n].astype(np.float64), images.labels[:n]

    return load


CASES = (
    Case("two-moons", "Two Moons: 1,000 points in the plane, two classes", moons, 60),
    Case("digits", "Digits: 1,797 images of 8 x 8 pixels from 0 to 16, ten classes", digits, 60),
    Case("breast-cancer", "Breast cancer: 569 points, 30 features (standardised), two classes", breast_cancer, 60),
    Case("mnist-10000", "MNIST: the first 10,000 images, 784 pixels from 0 to 255, ten classes", mnist(10_000), 60),
    Case("mnist-60000", "MNIST: all 60,000 training images", mnist(60_000), 300),
)


def read(path: Path) -> Comparison:
    """What ``to_dict`` left in a file."""
    plain = json.loads(path.read_text(encoding="utf-8"))
    known = {field.name for field in fields(Row)}
    rows = [{name: _number(value) for name, value in row.items() if name in known} for row in plain["rows"]]
    return Comparison(**{**plain, "rows": tuple(Row(**row) for row in rows), "missing": tuple(plain["missing"])})


def joined(before: Comparison, now: Comparison) -> Comparison:
    """All rows of two comparisons on the same split, the newer ones where both have them, in the usual order."""
    rows = {row.name: row for row in (*before.rows, *now.rows)}
    names = [name for name in (*CONSTRUCTORS, *BASELINES) if name in rows]
    return replace(now, rows=tuple(rows[name] for name in names), missing=())


def _number(value: Any) -> Any:
    return math.inf if value == "inf" else value


def line(row: Row) -> str:
    """One row of a Markdown table."""
    proof = row.proof if row.certified else ("no" if row.kind == "construction" else row.kind)
    method = f" {METHODS[row.radius_method]}" if row.radius_method else ""
    cells = [
        row.name, proof, short_count(row.depth), short_count(row.neurons),
        _several(row.parameters, row.nonzero, row.distinct), _several(row.bits_per_weight, row.total_bits),
        short_number(row.largest_weight), f"{short_number(row.robust_radius)}{method}", short_number(row.radius_upper),
        short_number(row.build_seconds), "-" if row.accuracy is None else f"{100 * row.accuracy:.1f} %",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _several(*values: int | None) -> str:
    return "-" if values[0] is None else " / ".join(map(short_count, values))


def markdown(case: Case, comparison: Comparison) -> str:
    """A table and what it leaves open."""
    head = " | ".join(HEAD)
    rule = "|".join([" --- ", " --- ", *[" ---: "] * 9])
    sizes = f"Built on {comparison.n_samples:,} points, {comparison.n_held_out:,} held out"
    facts = f"{sizes}; {comparison.time_limit:g} s each."
    reasons = [f"- {row.name}: {row.reason}." for row in comparison.rows if row.reason]
    table = [f"| {head} |", f"|{rule}|", *map(line, comparison.rows)]
    return "\n".join([f"### {case.title}", "", facts, "", *table, "", *reasons])


def main() -> None:
    """Run the chosen cases, or show what they left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default=os.environ.get("EXACTFIT_DATA"), help="folder with MNIST")
    parser.add_argument("--only", nargs="*", default=[""], help="cases whose name contains one of these words")
    parser.add_argument("--constructions", nargs="*", help="names of rows, to add to those there; all by default")
    parser.add_argument("--markdown", action="store_true", help="print the tables of what was measured")
    parser.add_argument("--pictures", action="store_true", help="draw what was measured into the folder")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        path = options.folder / f"{case.name}.json"
        if not any(word in case.name for word in options.only):
            continue
        if options.markdown or options.pictures:
            show(case, path, options.markdown)
            continue
        chosen = options.constructions or "all"
        comparison = compare(*case.load(options.data), chosen, time_limit=case.seconds, verbose=True)
        if options.constructions and path.exists():
            comparison = joined(read(path), comparison)
        path.write_text(json.dumps(comparison.to_dict(), indent=1), encoding="utf-8")
        print(f"{case.title}\n\n{comparison.to_text(200)}\n", flush=True)


def show(case: Case, path: Path, as_markdown: bool) -> None:
    """The table, or the picture."""
    if not path.exists():
        return
    comparison = read(path)
    if as_markdown:
        print(markdown(case, comparison), end="\n\n")
        return
    from exactfit.lab import plot_comparison
    from exactfit.plots import style

    with style():
        ax = plot_comparison(comparison)
        ax.set_title(case.title)
        ax.figure.savefig(path.with_suffix(".png"), metadata={"Software": None})


if __name__ == "__main__":
    main()
