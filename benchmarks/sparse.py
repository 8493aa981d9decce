"""Networks of sparse hyperplanes beside a forest: images, a noisy table, a million points.

Both sides of a line are measured in one run, in turn, on two threads, after a small fit that compiles the kernels; the
fastest of a few rounds counts. Every line goes to ``sparse.jsonl`` in the folder of ``--output`` (``results`` by
default), and what is in there is not measured again; ``sparse-tables`` puts it on the page. ``--size`` limits the
training rows.
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from exactfit import InterpolatingClassifier, save
from exactfit.lab.datasets import load_images

from .accuracy import Kept, put_on_page
from .cases import THREADS, Case, Data, Row, Settings, moons, nothing
from .weighted import cell, markdown
from .yardsticks import by_turns

PAGE = Path(__file__).parents[1] / "docs" / "sparse.md"
SEED = 0  # of the table and of every fit
NEW = 10_000  # rows to predict: the test images, or further rows of the table
ROUNDS = 3  # of predictions, and of fits that take seconds
SINGLE = 100  # rows that are predicted one at a time
FEW = 40  # rows of each class in the fit that compiles
FOREST = RandomForestClassifier(100, random_state=SEED, n_jobs=THREADS)


@dataclass(frozen=True)
class Comparison:
    """Rows to fit and new ones, a network, another model and its name, and how often both are fitted."""

    name: str
    load: Callable[[Settings], tuple[Data, Data]]
    ours: InterpolatingClassifier
    other: Any = FOREST
    beside: str = "forest of 100"
    rounds: int = ROUNDS
    needs_data: bool = False


def image_sets(name: str, options: Settings) -> tuple[Data, Data]:
    """The 60,000 training images as pixels from 0 to 255, and the test images."""
    found = load_images(name, options.data)
    X, y = found.pixels.astype(np.float64), found.labels
    rows = min(options.size or 60_000, 60_000)
    return (X[:rows], y[:rows]), (X[60_000:], y[60_000:])


def noisy_table(options: Settings) -> tuple[Data, Data]:
    """20,000 rows of 20 columns, a tenth of the labels drawn at random, and new rows of the same kind."""
    X, y = make_classification(20_000 + NEW, 20, n_informative=10, flip_y=0.1, random_state=SEED)
    rows = min(options.size or 20_000, 20_000)
    return (X[:rows], y[:rows]), (X[20_000:], y[20_000:])


def two_moons(options: Settings) -> tuple[Data, Data]:
    """A million points of Two Moons, and the first of them again."""
    X, y = moons(options.size or 1_000_000)
    return (X, y), (X[:NEW], y[:NEW])


def network(**options: Any) -> InterpolatingClassifier:
    """The estimator, with what differs from its defaults."""
    return InterpolatingClassifier(random_state=SEED, n_jobs=THREADS, **options)


COMPARISONS = (
    Comparison("mnist", partial(image_sets, "mnist"),
               network(width=8000, max_features=(2, 4), image_shape=(28, 28)), rounds=1, needs_data=True),
    Comparison("fashion-mnist", partial(image_sets, "fashion-mnist"),
               network(width=16_000, max_features=(2, 3), image_shape=(28, 28)), rounds=1, needs_data=True),
    Comparison("table", noisy_table, network()),
    Comparison("moons", two_moons, network(),
               InterpolatingClassifier.paper(width=2000, random_state=SEED, n_jobs=THREADS), "paper, width 2000"),
)  # fmt: skip


def one_by_one(model: Any, X: np.ndarray) -> None:
    """Predict each row by itself."""
    for row in X:
        model.predict(row[None])


def compare(ours: InterpolatingClassifier, other: Any, data: Data, new: Data, rounds: int) -> Row:
    """Size and accuracy of both, and seconds of their fits and predictions."""
    (X, y), (X_new, y_new) = data, new
    few = np.concatenate([np.flatnonzero(y == label)[:FEW] for label in np.unique(y)])
    for model in (ours, other):
        one_by_one(clone(model).fit(X[few], y[few]), X_new[:1])
    cpu = [math.inf, math.inf]

    def fit(place: int) -> None:
        began = time.process_time()
        (ours, other)[place].fit(X, y)
        cpu[place] = min(cpu[place], time.process_time() - began)

    fits = by_turns([partial(fit, 0), partial(fit, 1)], rounds)
    with tempfile.TemporaryDirectory() as folder:
        save(ours, Path(folder) / "model")
        size = (Path(folder) / "model").stat().st_size
    right = [float(np.mean(model.predict(X_new) == y_new)) for model in (ours, other)]
    single = by_turns([partial(one_by_one, model, X_new[:SINGLE]) for model in (ours, other)], ROUNDS)
    batch = by_turns([partial(model.predict, X_new) for model in (ours, other)], ROUNDS)
    return {
        "hyperplanes": ours.width_,
        "detectors": ours.n_detectors_,
        "missed": ours.certificate_.n_errors,
        "file KB": round(size / 1000, 1),
        **_pair("accuracy", right),
        **_pair("fit s", fits),
        **_pair("fit cpu s", cpu),  # of both cores together: other work on the machine disturbs it less
        **_pair("one row ms", [1000 * seconds / SINGLE for seconds in single]),
        **_pair("new rows s", batch),
    }


def _pair(name: str, values: Sequence[float]) -> Row:
    return {name: round(values[0], 5), f"{name}, other": round(values[1], 5)}


def measure(comparison: Comparison, options: Settings) -> list[Row]:
    """A line, measured now if it is not there yet."""
    data, new = comparison.load(options)
    work = partial(compare, comparison.ours, comparison.other, data, new, comparison.rounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # points that are missed are counted
        kept = Kept(options.output, "sparse.jsonl")
        row = kept.get(f"{comparison.name}, {len(data[1]):,} rows", comparison.beside, comparison.ours, work)
    return [row]


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """A table with a line for each comparison."""
    markdown(console, [{key: row[key] for key in row if key != "model"} for row in rows], options)


def tables(options: Settings) -> dict[str, str]:
    """The table of the page, by its marker, from the lines that are kept: two lines for each comparison."""
    lines = [
        "| | hyperplanes | detectors | file, KB | % right | fit, s | both cores, s | one row, ms | 10,000 rows, s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in Kept(options.output, "sparse.jsonl").lines.values():
        sizes = [row["hyperplanes"], row["detectors"], round(row["file KB"])]
        for first, cells, ending in ((row["data"], list(map(cell, sizes)), ""), (row["name"], [""] * 3, ", other")):
            cells.append(f"{100 * row['accuracy' + ending]:.1f}")
            cells += [cell(row.get(name + ending)) for name in ("fit s", "fit cpu s", "one row ms", "new rows s")]
            lines.append(f"| {' | '.join([first, *cells])} |")
    return {"sparse fits": "\n".join(lines)}


def write_tables(options: Settings) -> list[Row]:
    """Put the table behind its marker."""
    put_on_page(PAGE, tables(options))
    return []


CASES = [Case(f"sparse-fits/{one.name}", partial(measure, one), show, one.needs_data) for one in COMPARISONS]
CASES.append(Case("sparse-tables", write_tables, nothing))
