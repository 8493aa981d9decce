"""The tables and pictures of docs/comparison.md.

Each case is one call of ``exactfit.compare`` with seed 0, one construction at a time, and leaves ``<name>.json`` in the
output folder; the cases of ``table`` print what is there as Markdown, those of ``picture`` draw it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from exactfit import Comparison, compare
from exactfit.constructions import CONSTRUCTORS
from exactfit.lab import load_dataset, plot_comparison
from exactfit.lab.comparison import Row as Compared
from exactfit.lab.comparison import certified_by, short_count, short_fraction, short_number
from exactfit.lab.datasets import load_images
from exactfit.lab.harness import BASELINES
from exactfit.plots import style

from .cases import Case, Row, Settings, nothing

HEAD = (
    "construction", "certified by", "depth", "neurons", "parameters", "bits", "max weight", "radius >=", "median",
    "radius <=", "seconds", "held out", "by predict",
)  # fmt: skip
METHODS = {
    "slack of detectors": "d",
    "nearest hyperplane": "h",
    "nearest sphere": "s",
    "Lipschitz bound": "L",
    "half the separation, exact": "e",
}


@dataclass(frozen=True)
class Contest:
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


CONTESTS = (
    Contest("two-moons", "Two Moons: 1,000 points in the plane, two classes", moons, 60),
    Contest("digits", "Digits: 1,797 images of 8 x 8 pixels from 0 to 16, ten classes", digits, 60),
    Contest("breast-cancer", "Breast cancer: 569 points, 30 features (standardised), two classes", breast_cancer, 60),
    Contest("mnist-10000", "MNIST: the first 10,000 images, 784 pixels from 0 to 255, ten classes", mnist(10_000), 300),
    Contest("mnist-60000", "MNIST: all 60,000 training images", mnist(60_000), 300),
)


def read_comparison(path: Path) -> Comparison:
    """What ``to_dict`` left in a file."""
    plain = json.loads(path.read_text(encoding="utf-8"))
    known = {field.name for field in fields(Compared)}
    rows = [{name: _number(value) for name, value in row.items() if name in known} for row in plain["rows"]]
    return Comparison(**{**plain, "rows": tuple(Compared(**row) for row in rows), "missing": tuple(plain["missing"])})


def joined(before: Comparison, now: Comparison) -> Comparison:
    """All rows of two comparisons on the same split, the newer ones where both have them, in the usual order."""
    rows = {row.name: row for row in before.rows}
    rows |= {row.name: _fastest(rows.get(row.name), row) for row in now.rows}
    names = [name for name in (*CONSTRUCTORS, *BASELINES) if name in rows]
    return replace(now, rows=tuple(rows[name] for name in names), missing=())


def _fastest(before: Compared | None, now: Compared) -> Compared:
    """The newer row, with the lesser time if both built the same network: what a busy machine adds is not its own."""
    size = attrgetter("neurons", "nonzero", "total_bits", "largest_weight")
    if before is None or before.build_seconds is None or now.build_seconds is None or size(before) != size(now):
        return now
    return replace(now, build_seconds=min(before.build_seconds, now.build_seconds))


def _number(value: Any) -> Any:
    return math.inf if value == "inf" else value


def line(row: Compared) -> str:
    """One row of a Markdown table."""
    method = f" {METHODS[row.radius_method]}" if row.radius_method else ""
    cells = [
        row.name, certified_by(row), short_count(row.depth), short_count(row.neurons),
        _several(row.parameters, row.nonzero, row.distinct), _several(row.bits_per_weight, row.total_bits),
        short_number(row.largest_weight), f"{short_number(row.robust_radius)}{method}",
        short_number(row.median_radius), short_number(row.radius_upper), short_number(row.build_seconds),
        short_fraction(row.accuracy), short_fraction(row.predict_accuracy),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _several(*values: int | None) -> str:
    return "-" if values[0] is None else " / ".join(map(short_count, values))


def markdown(contest: Contest, comparison: Comparison) -> str:
    """A table and what it leaves open."""
    head = " | ".join(HEAD)
    rule = "|".join([" --- ", " --- ", *[" ---: "] * 11])
    sizes = f"Built on {comparison.n_samples:,} points, {comparison.n_held_out:,} held out"
    facts = f"{sizes}; {comparison.time_limit:g} s each."
    reasons = [f"- {row.name}: {row.reason}." for row in comparison.rows if row.reason]
    table = [f"| {head} |", f"|{rule}|", *map(line, comparison.rows)]
    return "\n".join([f"### {contest.title}", "", facts, "", *table, "", *reasons])


def path_of(contest: Contest, options: Settings) -> Path:
    """Where a comparison is kept."""
    return (options.output or Path()) / f"{contest.name}.json"


def run(contest: Contest, options: Settings) -> list[Row]:
    """Compare all, or some, which join those that are there."""
    path = path_of(contest, options)
    found = compare(
        *contest.load(options.data), options.constructions or "all", time_limit=contest.seconds, verbose=True
    )
    if options.constructions and path.exists():
        found = joined(read_comparison(path), found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found.to_dict(), indent=1), encoding="utf-8")
    print(f"{contest.title}\n\n{found.to_text(200)}\n", flush=True)
    return []


def print_table(contest: Contest, options: Settings) -> list[Row]:
    """The table of what was measured."""
    print(markdown(contest, read_comparison(path_of(contest, options))), end="\n\n")
    return []


def draw(contest: Contest, options: Settings) -> list[Row]:
    """The picture of what was measured."""
    path = path_of(contest, options)
    with style():
        ax = plot_comparison(read_comparison(path))
        ax.set_title(contest.title)
        ax.figure.savefig(path.with_suffix(".png"), metadata={"Software": None})
    return []


CASES = [
    Case(f"{group}/{contest.name}", partial(work, contest), nothing, needs_data=work is run and "mnist" in contest.name)
    for group, work in (("comparison", run), ("table", print_table), ("picture", draw))
    for contest in CONTESTS
]
