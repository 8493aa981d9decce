"""Accuracy on new points, beside the usual classifiers: on data for choosing, on data for reporting, with wrong labels.

Five stratified folds, the same for all, standardised by their training part (images, and the setting ``raw``, are
not). Every line goes to
``accuracy.jsonl`` in the folder of ``--output`` (``results`` by default) as soon as it is measured, and what stands
there is not measured again. Seconds are those of one fit and its answers, on a machine that may have other work;
``accuracy-time`` measures side by side.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from exactfit import InterpolatingClassifier
from exactfit.lab.evaluation import fold_scores
from exactfit.options import PAPER

from .accuracy_data import CHOOSING, IMAGES, REPORTING, Data, Load
from .cases import THREADS, Case, Row, Settings, images, nothing
from .weighted import markdown as markdown_table

SEED = 0  # of folds, flips and classifiers
FOLDS = 5
PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
REPEATS = 3  # fits of a timing, of which the median counts
BASE, FOREST = "1-nn", "forest 300"  # what differences are to
RAW = "raw"  # the default on columns as they are
FLIPS = (0.1, 0.2)  # shares of training labels that are made wrong
MEASURED = ("accuracy", "balanced_accuracy", "auc", "claimed", "accuracy_claimed", "seconds")


def ours(**options: Any) -> InterpolatingClassifier:
    """Our estimator; of equal points the majority's label counts."""
    return InterpolatingClassifier(conflicts="majority", random_state=SEED, n_jobs=THREADS, **options)


OWN: dict[str, InterpolatingClassifier] = {
    "default": ours(),
    "paper": ours(**PAPER | {"center": True}),  # on standardised data all but the same as without
}
# One change to the default at a time.
SETTINGS: dict[str, InterpolatingClassifier] = {
    RAW: ours(),
    **{f"features {most}": ours(max_features=most) for most in (1, 2, 8)},
    **{f"width {width}": ours(min_width=width) for width in (1024, 2048, 8192)},
    "gaussian": ours(hyperplanes="gaussian"),
    "bisector": ours(hyperplanes="bisector"),
    "masks": ours(detectors="mask"),
    "one class": ours(target=None),
    "margin 10%": ours(margin="10%"),
}
OTHERS: dict[str, Any] = {
    BASE: KNeighborsClassifier(1),
    "10-nn": KNeighborsClassifier(10),
    "tree": DecisionTreeClassifier(random_state=SEED),
    "logistic": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(random_state=SEED, n_jobs=THREADS),
    FOREST: RandomForestClassifier(300, random_state=SEED, n_jobs=THREADS),
    "boosting": HistGradientBoostingClassifier(random_state=SEED),
    "svm": SVC(random_state=SEED),
    "mlp": MLPClassifier(early_stopping=True, random_state=SEED),  # else minutes for each of the larger ones
}


class Kept:
    """Lines of a file, by what they are about."""

    def __init__(self, folder: Path | None, name: str = "accuracy.jsonl") -> None:
        self.path = (folder or Path("results")) / name
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.lines: dict[tuple[str, str, str], Row] = {}
        for line in map(json.loads, lines):
            self.lines[line["data"], line["name"], line["model"]] = line

    def get(self, data: str, name: str, model: Any, measure: Callable[[], Row]) -> Row:
        """The line, measured now if it is not there yet."""
        key = data, name, written_out(model)
        if key not in self.lines:
            self.lines[key] = {"data": data, "name": name, "model": key[2], **measure()}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.lines[key]) + "\n")
        return self.lines[key]


def written_out(model: Any) -> str:
    """A model as text; ours with the options that a default could change."""
    if not isinstance(model, InterpolatingClassifier):
        return " ".join(repr(model).split())
    names = sorted({*PAPER, "noise", "width", "max_features", "image_shape"})
    return ", ".join(f"{name}={getattr(model, name)!r}" for name in names)


def scaled(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both by the means and deviations of the first."""
    scaler = StandardScaler().fit(old)
    return scaler.transform(old), scaler.transform(new)


def in_folds(data: Callable[[], Data], model: Any, *, scale: bool, flips: float = 0.0) -> Row:
    """Mean scores over the folds, and the accuracy in each."""
    X, labels = data()
    y = np.unique(labels, return_inverse=True)[1]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    found = [
        fold_scores(model, scaled(X[old], X[new]) if scale else (X[old], X[new]), (flipped(y[old], flips), y[new]))
        for old, new in folds.split(X, y)
    ]
    means = {metric: _mean([one[metric] for one in found]) for metric in MEASURED}
    return means | {"folds": [round(float(one["accuracy"] or 0), 5) for one in found]}


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return round(float(np.mean(there)), 5) if there else None


def flipped(y: np.ndarray, share: float) -> np.ndarray:
    """Labels of which a share is another one, each of the others alike."""
    rng, wrong = np.random.default_rng(SEED), y.copy()
    rows = rng.choice(len(y), int(share * len(y)), replace=False)
    wrong[rows] = (y[rows] + rng.integers(1, y.max() + 1, len(rows))) % (y.max() + 1)
    return wrong


def on_sets(sets: dict[str, Load], models: dict[str, Any], options: Settings) -> list[Row]:
    """Every model on every data set."""
    kept = Kept(options.output)
    return [
        kept.get(name, title, model, partial(in_folds, load, model, scale=name not in IMAGES and title != RAW))
        for title, model in models.items()
        for name, load in sets.items()
    ]


def with_noise(options: Settings) -> list[Row]:
    """Digits in folds, and the test images of MNIST after 10,000 training images, some of their labels wrong."""
    kept, rows = Kept(options.output), list[Row]()
    for share in FLIPS:
        models = OTHERS | noisy_settings(share)
        for title in ("1-nn", "10-nn", "forest", *noisy_settings(share)):
            model, data = models[title], f"digits, {share:.0%} wrong"
            digits = partial(in_folds, CHOOSING["digits"], model, scale=False, flips=share)
            rows.append(kept.get(data, title, model, digits))
            if options.data:
                data = f"mnist 10,000, {share:.0%} wrong"
                rows.append(kept.get(data, title, model, partial(_on_mnist, options, model, share)))
    return rows


def noisy_settings(share: float) -> dict[str, Any]:
    """What may help against wrong labels."""
    return {
        "default": ours(),
        "noise": ours(noise=share),
    }


def _on_mnist(options: Settings, model: Any, share: float) -> Row:
    X, y = images("mnist", 70_000, options.data)
    found = fold_scores(model, (X[:10_000], X[60_000:]), (flipped(y[:10_000], share), y[60_000:]))
    return {metric: found[metric] for metric in MEASURED}


def times(options: Settings) -> list[Row]:
    """Fits on 20,000 rows, one after the other in turn, kernels compiled before."""
    X, y = REPORTING["letter"]()
    X = StandardScaler().fit_transform(X)
    rows, seconds = list[Row](), dict[str, list[float]]()
    models: dict[str, Any] = OWN | {"masks": SETTINGS["masks"], "forest": OTHERS["forest"]}
    for round_ in range(REPEATS + 1):
        for name, model in models.items():
            began = time.perf_counter()
            model.fit(X, y)
            if round_:
                seconds.setdefault(name, []).append(time.perf_counter() - began)
    base = float(np.median(seconds["paper"]))
    for name, took in seconds.items():
        median = float(np.median(took))
        rows.append({"data": "letter", "name": name, "seconds": round(median, 3), "ratio": round(median / base, 2)})
    return rows


def by_name(rows: Sequence[Row], metric: str = "accuracy") -> dict[str, dict[str, float]]:
    """For every model its percentage on each data set."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row[metric] is not None:
            found.setdefault(row["name"], {})[row["data"]] = 100 * row[metric]
    return found


def gaps(found: dict[str, dict[str, float]], name: str, *bases: str) -> list[float]:
    """Differences to the best of some models, in points, on the data sets that all have."""
    given = [found.get(base, {}) for base in bases]
    common = [data for data in found[name] if all(data in base for base in given)]
    return [found[name][data] - max(base[data] for base in given) for data in common]


def markdown(rows: Sequence[Row], metric: str = "accuracy") -> str:
    """A table with a line for each model: its percentage on every data set, and how far that is from others.

    The last columns are medians of the differences to 1-NN and to the forest, and the worst difference to the better of
    both.
    """
    found = by_name(rows, metric)
    there = {row["data"] for row in rows}
    sets = [name for name in (*CHOOSING, *REPORTING) if name in there] or sorted(there)
    lines = [_line("", [*sets, "to 1-nn", "to forest", "worst"]), _line("---", ["---:"] * (len(sets) + 3))]
    names = dict.fromkeys((BASE, *OWN, *SETTINGS, *OTHERS, *found))
    for name, values in ((name, found[name]) for name in names if name in found):
        ends = [
            f"{summary(apart):+.1f}" if len(apart := gaps(found, name, *bases)) == len(sets) else "-"
            for summary, bases in ((np.median, (BASE,)), (np.median, (FOREST,)), (min, (BASE, FOREST)))
        ]
        lines.append(_line(name, [*(f"{values[data]:.1f}" if data in values else "-" for data in sets), *ends]))
    return "\n".join(lines)


def show(console: Console, rows: Sequence[Row], options: Settings) -> None:
    """Tables of accuracy and of areas under the curve; with a folder also a picture of what settings buy."""
    for metric in ("accuracy", "auc"):
        console.print(f"{metric}\n{markdown(rows, metric)}\n", soft_wrap=True)
    if options.output and rows[0]["data"] in CHOOSING:
        draw(rows, options.output / "accuracy-settings.png")


def draw(rows: Sequence[Row], path: Path) -> None:
    """Differences to 1-NN, a dot for each data set and a bar at the median, of every setting."""
    from matplotlib.figure import Figure

    from exactfit.plots import style

    found = by_name(rows)
    names = [name for name in (*OWN, *SETTINGS) if name in found]
    with style():
        figure = Figure(figsize=(7.2, 4.8))
        ax = figure.subplots()
        for place, name in enumerate(reversed(names)):
            apart = gaps(found, name, BASE)
            ax.plot(apart, [place] * len(apart), "o", color="C0", alpha=0.55, ms=5, mec="none")
            ax.plot(np.median(apart), place, "|", color="C4", ms=16, mew=2.5)
        ax.axvline(0, color="#8C8C8C", lw=1)
        counts = {name: len(found[name]) for name in names}
        few = {name: f"{name} (on {count})" if count < len(CHOOSING) else name for name, count in counts.items()}
        ax.set_yticks(range(len(names)), [few[name] for name in reversed(names)])
        ax.set(xlabel="points of accuracy more than 1-NN", title="What settings buy: ten data sets, medians as bars")
        figure.savefig(path)


def _line(first: Any, cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, [first, *cells]))} |"


TABLES = {
    "reporting accuracy": (REPORTING, "accuracy"),
    "reporting auc": (REPORTING, "auc"),
    "choosing accuracy": (CHOOSING, "accuracy"),
}


def tables(options: Settings) -> dict[str, str]:
    """Every table of the page, by its marker, from the lines that are kept."""
    rows = list(Kept(options.output).lines.values())
    return {
        marker: markdown([row for row in rows if row["data"] in sets], metric)
        for marker, (sets, metric) in TABLES.items()
    }


def write_tables(options: Settings) -> list[Row]:
    """Put every table behind its marker."""
    put_on_page(PAGE, tables(options))
    return []


def put_on_page(page: Path, tables: dict[str, str]) -> None:
    """Replace the table behind each marker of a page."""
    text = page.read_text(encoding="utf-8")
    for marker, table in tables.items():
        text = re.sub(rf"(<!-- {marker} -->\n\n)(?:\|.*\n)*", lambda found, table=table: f"{found[1]}{table}\n", text)
    page.write_text(text, encoding="utf-8")


REFERENCES = {name: OTHERS[name] for name in (BASE, FOREST)}
CASES = [
    Case("accuracy-choosing", partial(on_sets, CHOOSING, REFERENCES | OWN | SETTINGS), show),
    Case("accuracy-reporting", partial(on_sets, REPORTING, {BASE: OTHERS[BASE]} | OWN | OTHERS), show),
    Case("accuracy-noise", with_noise, show),
    Case("accuracy-time", times, markdown_table),
    Case("accuracy-tables", write_tables, nothing),
]
