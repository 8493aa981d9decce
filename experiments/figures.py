"""The figures of an experiment, each from the data, the trials, or networks built for it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from exactfit import InterpolatingClassifier, InterpolationWarning, ParameterError
from exactfit.lab import Dataset
from exactfit.plots import plot_points, plot_regions, style
from exactfit.plots.style import GREY, INK, LINES, color, marker

from .experiment import Experiment
from .options import OptionGrid
from .plots import (
    ABOVE,
    AXES,
    MANY_RUNS,
    VALUES,
    check,
    label_axes,
    legend_handles,
    named,
    other_axis,
    plot_growth,
    plot_heatmap,
    plot_slices,
    values_there,
)
from .trials import growth_power, per_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILE_WORDS = {"n": "width", "lambda": "bias", "N": "samples"}  # n and N are one on some file systems
SEED = 0  # of the networks that are drawn; any would do, and the note below a figure names it
REGIONS_NOTE = f"random_state={SEED}; one colour per detector, stars: anchors"
FEW = 4  # lines in a panel, as many as are told apart in grey
PANEL = 4.9, 3.7  # inches: two side by side fill a page
SMALL = 3.0, 2.3  # inches: three side by side
FINE = 1600  # points of the plane along each axis: wedges thinner than a pixel come out even
SAMPLES = 10  # images of each class
ROW_HEIGHT = 0.32  # inches of a cell's line in a figure of options
MOST_LINES = 60  # cells in one such figure: more would be higher than a page
LETTERS_AN_INCH = 18.0  # of the small line below
SHRINK = 0.35  # of the area of points and stars in small panels


@dataclass(frozen=True, eq=False)
class Material:
    """What figures are drawn from: a data set and the cells run on it."""

    data: Dataset
    cells: pd.DataFrame

    def note(self) -> str:
        """Return the line under a figure of trials."""
        least, most = self.cells["runs"].min(), self.cells["runs"].max()
        runs = f"{least} {'run' if least == 1 else 'runs'}" if least == most else f"{least} to {most} runs"
        return f"{origin_of(self.data)}; {runs} per cell"

    def label(self) -> str:
        """Return the data as a legend has them."""
        return " vs ".join(self.data.classes) if len(self.data.classes) == 2 else self.data.name

    def always(self) -> bool:
        """Return whether every run interpolates: then there is no probability to draw."""
        return bool((self.cells["interpolating"] == self.cells["runs"]).all())


Drawing = tuple[str, "Figure"]  # the end of its file's name, and the figure
Draw = Callable[[Experiment, Sequence[Material], Mapping[str, Any]], Iterator[Drawing]]


def draw_figures(
    experiment: Experiment, data: Sequence[Dataset], trials: Sequence[pd.DataFrame], folder: Path
) -> list[Path]:
    """Draw all figures of an experiment into a folder, as PDF and PNG, from the trials on each data set.

    Raises ParameterError if a figure is of no known kind, or does not fit the data.
    """
    materials = [Material(one, per_cell(rows)) for one, rows in zip(data, trials, strict=True)]
    written = []
    for options in experiment.figures or default_figures(experiment, materials):
        kind = str(options.get("kind"))
        if kind not in KINDS:
            raise ParameterError(f"no figure is of the kind {kind!r}: choose from {', '.join(KINDS)}")
        with style():
            for name, figure in KINDS[kind](experiment, materials, options):
                written += save_figure(figure, folder / f"{experiment.name}{name}")
    return written


def default_figures(experiment: Experiment, materials: Sequence[Material]) -> list[dict[str, Any]]:
    """Return figures that fit the axes of a grid, and the data if they are plane."""
    if isinstance(experiment.grid, OptionGrid):
        return [{"kind": "settings"}]
    cells = materials[0].cells
    running = [name for name in AXES if len(cells) and cells[name].nunique() > 1]
    found: list[dict[str, Any]] = []
    if len(running) >= 2:
        y, x = running[:2]
        found += [{"kind": "heatmap", "x": x, "y": y}, {"kind": "slices", "along": x}]
    found += [{"kind": "slices", "along": running[0]}] if running else []
    return found + ([{"kind": "data"}] if materials[0].data.X.shape[1] == 2 else [])


def origin_of(data: Dataset) -> str:
    """Return the data, whether as published, and their digest."""
    return f"data: {data.name}, {data.standing}, SHA-256 {data.digest[:16]}"


def _panels(
    columns: int, rows: int = 1, size: tuple[float, float] = PANEL, sharey: bool = False
) -> tuple[Figure, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(columns * size[0], rows * size[1]))
    return figure, list(np.atleast_1d(figure.subplots(rows, columns, sharey=sharey)).flat)


def _end(figure: Figure, experiment: Experiment, note: str) -> Figure:
    figure.suptitle(experiment.title, x=0.01, ha="left", fontsize=12)
    note_below(figure, note)
    return figure


def note_below(figure: Figure, text: str) -> None:
    """Write one small line under a figure: what it rests on."""
    text = fill(text, round(LETTERS_AN_INCH * float(figure.get_figwidth())))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=6.5, color=GREY)


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as vector PDF and as PNG; the same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [path.with_name(f"{path.name}.pdf"), path.with_name(f"{path.name}.png")]
    figure.savefig(written[0], metadata={"CreationDate": None})
    figure.savefig(written[1], metadata={"Software": None})
    return written


def _suffix(materials: Sequence[Material], one: Material) -> str:
    return f"-{one.data.name}" if len(materials) > 1 else ""


def _heatmaps(experiment: Experiment, materials: Sequence[Material], options: Mapping[str, Any]) -> Iterator[Drawing]:
    x, y = options.get("x", "lambda"), options.get("y", "n")
    for one in materials:
        figure, panels = _panels(2)
        for value, ax in zip(VALUES, panels, strict=True):
            plot_heatmap(one.cells, ax, value=value, x=x, y=y, levels=value == "detectors")
        note = f"{one.note()}; dashed: 99 % of the runs interpolate; light: lines of equal width, smoothed"
        yield f"-heatmap{_suffix(materials, one)}", _end(figure, experiment, note)


def _slices(experiment: Experiment, materials: Sequence[Material], options: Mapping[str, Any]) -> Iterator[Drawing]:
    along = str(options.get("along", "n"))
    check(along=(along, AXES))
    for one in materials:
        at, drawn, by = None, one, other_axis(one.cells, along)
        if by is not None:
            at = values_there(one.cells, by, options.get("at") or ()) or _few(np.unique(one.cells[by]))
            drawn = replace(one, cells=one.cells[one.cells[by].isin(at)])
        values = VALUES[1:] if drawn.always() else VALUES
        figure, panels = _panels(len(values))
        for value, ax in zip(values, panels, strict=True):
            plot_slices(one.cells, ax, value=value, along=along, at=at, legend=ax is panels[0])
            if "scale" in options:
                ax.set_xscale(str(options["scale"]))
                label_axes(ax, x=along)
        end = f"-slices-{FILE_WORDS[along]}{_suffix(materials, one)}"
        yield end, _end(figure, experiment, _curves_note([drawn]))


def _few(values: Any) -> list[float]:
    """Return a few of all, from the first to the last."""
    places = np.unique(np.linspace(0, len(values) - 1, FEW).round().astype(int))
    return [float(each) for each in values[places]]


def _curves_note(materials: Sequence[Material]) -> str:
    """Return the line under curves; a single run has no interval."""
    most = max(one.cells["runs"].max() for one in materials)
    word = "bands" if most >= MANY_RUNS else "bars"
    parts = [one.note() for one in materials] + ([f"{word}: 95 % confidence"] if most > 1 else [])
    every = all(one.always() for one in materials)
    return "; ".join([*parts, "every run interpolates" if every else "markers: at least 99 % of the runs interpolate"])


def _growth(experiment: Experiment, materials: Sequence[Material], _: Mapping[str, Any]) -> Iterator[Drawing]:
    """Draw a panel for each width, a line for each data set."""
    widths = np.unique(materials[0].cells["n"])
    figure, panels = _panels(len(widths), size=(4.0, 3.5))
    for n, ax in zip(widths, panels, strict=True):
        plot_growth({one.label(): one.cells[one.cells["n"] == n] for one in materials}, ax, legend=False)
        ax.set_title(named("n", n))
    figure.legend(handles=legend_handles(one.label() for one in materials), loc="outside right upper", handlelength=3.2)
    yield "-growth", _end(figure, experiment, _curves_note(materials))


def _families(experiment: Experiment, materials: Sequence[Material], _: Mapping[str, Any]) -> Iterator[Drawing]:
    """Draw every family of subsets thin, their mean thick; the legend says how fast it grows."""
    from matplotlib.ticker import LogLocator

    figure, (ax,) = _panels(1)
    for k, name in enumerate(dict.fromkeys(one.label() for one in materials)):
        alike = [one.cells.sort_values("N") for one in materials if one.label() == name]
        sizes, widths = alike[0]["N"], np.array([cells["detectors"] for cells in alike])
        for each in widths:
            ax.plot(sizes, each, color=color(k), linewidth=0.5, alpha=0.35)
        power, half = growth_power(sizes, widths)
        label = f"{name}: $N^{{{power:.2f} \\pm {half:.2f}}}$"
        look: dict[str, Any] = {"linestyle": LINES[k], "marker": marker(k), "markersize": 4.5}
        ax.plot(sizes, widths.mean(axis=0), color=color(k), label=label, **look)
    ax.set(xscale="log", yscale="log")
    label_axes(ax, x="N", y="detectors")
    ax.legend(**ABOVE, ncols=2)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
        axis.set_minor_formatter(axis.get_major_formatter())
    one = materials[0]
    note = f"{len(materials)} families of nested subsets, {one.cells['runs'].min()} run of each"
    note = f"data: {one.data.standing}; {note}; powers with 95 % intervals over the families"
    yield "-growth", _end(figure, experiment, note)


def _samples(experiment: Experiment, materials: Sequence[Material], _: Mapping[str, Any]) -> Iterator[Drawing]:
    """Draw the first images of every class."""
    for one in materials:
        classes = range(len(one.data.classes))
        figure, panels = _panels(SAMPLES, len(classes), size=(0.62, 0.62))
        for ax in panels:
            ax.set_axis_off()
        for k in classes:
            for ax, row in zip(panels[k * SAMPLES :], np.flatnonzero(one.data.y == k)[:SAMPLES], strict=False):
                ax.imshow(_picture(one.data.X[row]), cmap="gray_r", interpolation="nearest")
        yield f"-samples{_suffix(materials, one)}", _end(figure, experiment, f"{origin_of(one.data)}; a row each class")


def _picture(point: Any) -> Any:
    """Return features as an image: a grey square, or three colour planes one after another."""
    planes = 1 if math.isqrt(len(point)) ** 2 == len(point) else 3
    side = math.isqrt(len(point) // planes)
    image = (point / (point.max() or 1.0)).reshape(planes, side, side)
    return image[0] if planes == 1 else image.transpose(1, 2, 0)


def _data(experiment: Experiment, materials: Sequence[Material], options: Mapping[str, Any]) -> Iterator[Drawing]:
    for one in materials:
        X, y = one.data.X, one.data.y
        sizes = options.get("N") or [len(y)]
        figure, panels = _panels(len(sizes), size=_size_for(X, 4.2))
        for N, ax in zip(sizes, panels, strict=True):
            plot_points(X[:N], y[:N], ax, names=one.data.classes, equal=True)
            ax.set_title(named("N", N))
        yield f"-data{_suffix(materials, one)}", _end(figure, experiment, origin_of(one.data))


def _regions(experiment: Experiment, materials: Sequence[Material], options: Mapping[str, Any]) -> Iterator[Drawing]:
    n, lam = int(options["n"]), float(options["lambda"])
    for one in materials:
        figure, (ax,) = _panels(1, size=_size_for(one.data.X, 6.4))
        model = _fit(experiment, one.data, n, lam)
        plot_regions(model, one.data.X, one.data.y, ax=ax, resolution=FINE, detectors=True, equal=True)
        ax.set_title(_caption(n, lam, model))
        yield f"-regions{_suffix(materials, one)}", _end(figure, experiment, f"{origin_of(one.data)}; {REGIONS_NOTE}")


def _frames(experiment: Experiment, materials: Sequence[Material], options: Mapping[str, Any]) -> Iterator[Drawing]:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    widths, biases = options["n"], options["lambda"]
    look: dict[str, Any] = {"resolution": FINE, "detectors": True, "outlines": False, "legend": False}
    for one in materials:
        figure, panels = _panels(len(biases), len(widths), SMALL)
        figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))  # thick frames take place
        for ax, (n, lam) in zip(panels, ((int(n), float(lam)) for n in widths for lam in biases), strict=True):
            model = _fit(experiment, one.data, n, lam)
            plot_regions(model, one.data.X, one.data.y, ax=ax, **look)
            _shrink(ax)
            ax.set_title(_caption(n, lam, model), fontsize=8)
            ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
            for spine in ax.spines.values():
                width, line = (2.6, (0, (4, 2))) if model.interpolates_ else (0.6, "solid")
                spine.set(visible=True, color=INK, linewidth=width, linestyle=line)
        note = f"{origin_of(one.data)}; {REGIONS_NOTE}; dashed frame: the network interpolates"
        yield f"-frames{_suffix(materials, one)}", _end(figure, experiment, note)


def _size_for(X: Any, width: float) -> tuple[float, float]:
    """Return inches of a panel with equal axes, as high as points, labels and legend ask for."""
    across, up = np.ptp(X, axis=0)
    return width, (width - 0.8) * min(up + 0.12 * across, across) / across + 1.3


def _shrink(ax: Axes) -> None:
    """Make points and stars so small that they do not hide what is behind them in a small panel."""
    from matplotlib.collections import PathCollection

    for each in ax.collections:
        if isinstance(each, PathCollection):
            each.set_sizes(each.get_sizes() * SHRINK)


def _caption(n: float, lam: float, model: InterpolatingClassifier) -> str:
    return f"{named('n', n)}, {named('lambda', lam)}: {model.n_detectors_} detectors"


def _fit(experiment: Experiment, data: Dataset, n: int, lam: float) -> InterpolatingClassifier:
    """Fit the paper's network of fixed width; missing points is no surprise here."""
    target, detectors = "all" if data.target is None else data.target, getattr(experiment.grid, "detectors", "mask")
    model = InterpolatingClassifier.paper(width=n, max_bias=lam, target=target, detectors=detectors, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterpolationWarning)
        return model.fit(data.X, data.y)


def _settings(experiment: Experiment, materials: Sequence[Material], _: Mapping[str, Any]) -> Iterator[Drawing]:
    """Draw accuracy and number of neurons of every setting, a line for each."""
    grid = experiment.grid
    assert isinstance(grid, OptionGrid)
    for one in materials:
        if len(one.cells):
            cells = one.cells.set_index("setting")  # in the order of the grid
            cells = cells.loc[[name for name in grid.settings if name in cells.index]]
            yield _suffix(materials, one), _settings_figure(experiment, one.data, cells.head(MOST_LINES), grid.held_out)


def _settings_figure(experiment: Experiment, data: Dataset, cells: pd.DataFrame, held_out: float) -> Figure:
    figure, (left, right) = _panels(2, size=(4.5, 1.6 + ROW_HEIGHT * len(cells)), sharey=True)
    places = np.arange(len(cells))
    left.hlines(places, *(100 * cells[f"accuracy_{end}"].clip(0, 1) for end in ("low", "high")), color(0), alpha=0.5)
    left.plot(100 * cells["accuracy"], places, "o", color=color(0))
    is_network = cells["neurons"].to_numpy() > 0
    right.plot(cells["neurons"][is_network], places[is_network], "o", color=color(1))
    left.set_yticks(places, list(cells.index))
    left.invert_yaxis()
    left.set_xlabel("accuracy on points held out, %")
    right.set_xlabel("neurons")
    least, most = right.dataLim.intervalx
    if most >= 10 * least:  # within a decade, labels between the powers of ten would overlap
        right.set_xscale("log")
    runs = int(cells["runs"].max())
    note = f"{held_out:.0%} held out, {runs} {'split' if runs == 1 else 'splits'}; lines: 95 % confidence"
    return _end(figure, experiment, f"{origin_of(data)}; {note}")


KINDS: dict[str, Draw] = {
    "heatmap": _heatmaps,
    "slices": _slices,
    "growth": _growth,
    "families": _families,
    "samples": _samples,
    "data": _data,
    "regions": _regions,
    "frames": _frames,
    "settings": _settings,
}
