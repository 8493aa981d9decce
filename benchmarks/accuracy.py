"""Accuracy on new points, beside the usual classifiers: on data for choosing, on data for reporting, with wrong labels.

Five stratified folds, the same for all, standardised by their training part (images are not). Every line goes to
``accuracy.jsonl`` in the folder of ``--output`` (``results`` by default) as soon as it is measured, and what stands
there is not measured again. Seconds are those of one fit and its answers, on a machine that may have other work;
``accuracy-time`` measures side by side.
"""

from __future__ import annotations

import json
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
from exactfit.lab.contenders import fold_scores
from exactfit.options import PAPER

from .accuracy_data import CHOOSING, IMAGES, REPORTING, Data, Load
from .cases import THREADS, Case, Options, Row, images
from .weighted import markdown as markdown_table

SEED = 0  # of folds, flips and classifiers
FOLDS = 5
FILE = "accuracy.jsonl"
REPEATS = 3  # fits of a timing, of which the median counts
BASE = "1-nn"  # what differences are to
FLIPS = (0.1, 0.2)  # shares of training labels that are made wrong
MEASURED = ("accuracy", "balanced_accuracy", "auc", "claimed", "accuracy_claimed", "seconds")


def ours(**options: Any) -> InterpolatingClassifier:
    """Our estimator; of equal points the majority's label counts."""
    return InterpolatingClassifier(conflicts="majority", random_state=SEED, n_jobs=THREADS, **options)


OWN: dict[str, InterpolatingClassifier] = {
    "default": ours(),
    "paper": ours(**PAPER | {"center": True}),  # on standardised data all but the same as without
}
# One change to the default at a time, and how wide a single network of masks should be.
SETTINGS: dict[str, InterpolatingClassifier] = {
    "masks": ours(detectors="mask"),
    "weights": ours(detectors="weighted"),
    "width 0": ours(min_width=0),
    "width 256": ours(min_width=256),
    "width 1024": ours(min_width=1024),
    "gaussian": ours(hyperplanes="gaussian"),
    "bisector": ours(hyperplanes="bisector"),
    "one class": ours(target=None),
    "margin 10%": ours(margin="10%"),
    "margin 25%": ours(margin="25%"),
}
OTHERS: dict[str, Any] = {
    BASE: KNeighborsClassifier(1),
    "10-nn": KNeighborsClassifier(10),
    "tree": DecisionTreeClassifier(random_state=SEED),
    "logistic": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(random_state=SEED, n_jobs=THREADS),
    "boosting": HistGradientBoostingClassifier(random_state=SEED),
    "svm": SVC(random_state=SEED),
    "mlp": MLPClassifier(early_stopping=True, random_state=SEED),  # else minutes for each of the larger ones
}


class Kept:
    """Lines of a file, by what they are about."""

    def __init__(self, folder: Path | None) -> None:
        self.path = (folder or Path("results")) / FILE
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
    names = sorted({*PAPER, "target", "noise"})
    return ", ".join(f"{name}={getattr(model, name)!r}" for name in names)


def scaled(old: np.ndarray, new: np.ndarray, is_image: bool) -> tuple[np.ndarray, np.ndarray]:
    """Both by the means and deviations of the first; images as they are."""
    if is_image:
        return old, new
    scaler = StandardScaler().fit(old)
    return scaler.transform(old), scaler.transform(new)


def in_folds(name: str, data: Callable[[], Data], model: Any, flips: float = 0.0) -> Row:
    """Mean scores over the folds, and the accuracy in each."""
    X, labels = data()
    y = np.unique(labels, return_inverse=True)[1]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    found = [
        fold_scores(model, scaled(X[old], X[new], name in IMAGES), (flipped(y[old], flips), y[new]))
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


def on_sets(sets: dict[str, Load], models: dict[str, Any], options: Options) -> list[Row]:
    """Every model on every data set."""
    kept = Kept(options.output)
    return [
        kept.get(name, title, model, partial(in_folds, name, load, model))
        for title, model in models.items()
        for name, load in sets.items()
    ]


def with_noise(options: Options) -> list[Row]:
    """Digits in folds, and the test images of MNIST after 10,000 training images, some of their labels wrong."""
    kept, rows = Kept(options.output), list[Row]()
    for share in FLIPS:
        models = OTHERS | noisy_settings(share)
        for title in ("1-nn", "10-nn", "forest", *noisy_settings(share)):
            model, data = models[title], f"digits, {share:.0%} wrong"
            rows.append(kept.get(data, title, model, partial(in_folds, "digits", CHOOSING["digits"], model, share)))
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


def _on_mnist(options: Options, model: Any, share: float) -> Row:
    X, y = images("mnist", 70_000, options.data)
    found = fold_scores(model, (X[:10_000], X[60_000:]), (flipped(y[:10_000], share), y[60_000:]))
    return {metric: found[metric] for metric in MEASURED}


def times(options: Options) -> list[Row]:
    """Fits on 20,000 rows, one after the other in turn, kernels compiled before."""
    X, y = REPORTING["letter"]()
    X = StandardScaler().fit_transform(X)
    rows, seconds = list[Row](), dict[str, list[float]]()
    models = dict(OWN)
    models |= {name: SETTINGS[name] for name in ("masks", "weights")}
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


def gaps(found: dict[str, dict[str, float]], name: str) -> list[float]:
    """Differences to 1-NN, in points, on the data sets that both have."""
    return [value - found[BASE][data] for data, value in found[name].items() if data in found[BASE]]


def markdown(rows: Sequence[Row], metric: str = "accuracy") -> str:
    """A table with a line for each model: its percentage on every data set, and how far that is from 1-NN."""
    found = by_name(rows, metric)
    there = {row["data"] for row in rows}
    sets = [name for name in (*CHOOSING, *REPORTING) if name in there] or sorted(there)
    lines = [_line("", [*sets, "median", "worst"]), _line("---", ["---:"] * (len(sets) + 2))]
    names = dict.fromkeys((BASE, *OWN, *SETTINGS, *OTHERS, *found))
    for name, values in ((name, found[name]) for name in names if name in found):
        apart = gaps(found, name)
        ends = [f"{np.median(apart):+.1f}", f"{min(apart):+.1f}"] if len(apart) == len(sets) else ["-", "-"]
        lines.append(_line(name, [*(f"{values[data]:.1f}" if data in values else "-" for data in sets), *ends]))
    return "\n".join(lines)


def show(console: Console, rows: Sequence[Row], options: Options) -> None:
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
            apart = gaps(found, name)
            ax.plot(apart, [place] * len(apart), "o", color="C0", alpha=0.55, ms=5, mec="none")
            ax.plot(np.median(apart), place, "|", color="C4", ms=16, mew=2.5)
        ax.axvline(0, color="#8C8C8C", lw=1)
        counts = {name: len(gaps(found, name)) for name in names}
        few = {name: f"{name} (on {count})" if count < len(CHOOSING) else name for name, count in counts.items()}
        ax.set_yticks(range(len(names)), [few[name] for name in reversed(names)])
        ax.set(xlabel="points of accuracy more than 1-NN", title="What settings buy: ten data sets, medians as bars")
        figure.savefig(path)


def _line(first: Any, cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, [first, *cells]))} |"


CASES = [
    Case("accuracy-choosing", partial(on_sets, CHOOSING, {BASE: OTHERS[BASE]} | OWN | SETTINGS), show),
    Case("accuracy-reporting", partial(on_sets, REPORTING, {BASE: OTHERS[BASE]} | OWN | OTHERS), show),
    Case("accuracy-noise", with_noise, show),
    Case("accuracy-time", times, markdown_table),
]
