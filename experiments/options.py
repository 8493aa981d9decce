"""Sweeps over options: any construction, whatever it can be told, and how it does on points held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from exactfit import InterpolatingClassifier, InterpolationWarning, ParameterError
from exactfit.constructions import CONSTRUCTORS
from exactfit.lab import Dataset
from exactfit.lab.harness import BASELINES, Built, constructed

from .widths import Row

DEFAULT = "default"  # the estimator with its defaults
TRAINING = 60.0  # seconds that a network which is trained may take


class Setting(NamedTuple):
    """A construction, and the options that it is given."""

    construction: str
    options: dict[str, Any]


@dataclass(frozen=True)
class OptionGrid:
    """Settings by their names, and the fraction of every class that is held out."""

    settings: Mapping[str, Setting]
    held_out: float
    axes: ClassVar[tuple[str, ...]] = ("setting",)

    def count(self) -> int:
        """Return the number of cells."""
        return len(self.settings)

    def facts(self, _: Dataset) -> Row:
        """Return what the outcome of a cell depends on, beside its data, as headers of stores have it."""
        return {"scheme": "held-out", "held_out": self.held_out}

    def groups(self, _: Dataset) -> list[list[tuple[str]]]:
        """Return all cells, each by itself: they share nothing."""
        return [[(name,)] for name in self.settings]

    def run(self, data: Dataset, run: int, cells: list[tuple[str]]) -> Iterator[Row]:
        """Yield a row for each cell: hold out, build, look. The split depends on the run alone: cells share it."""
        kept, others = train_test_split(
            np.arange(len(data.y)), test_size=self.held_out, random_state=run, stratify=data.y
        )
        X, y = data.X[kept], data.y[kept]
        for (name,) in cells:
            began = time.perf_counter()
            built = _build(self.settings[name], X, y, run)
            seconds = time.perf_counter() - began
            predict = built.predict or built.decide
            widths = [layer.n_units for layer in built.layers]
            yield {
                "run": run, "setting": name, "accuracy": float(np.mean(predict(data.X[others]) == data.y[others])),
                "missed": int(np.count_nonzero(predict(X) != y)),
                # Of what is not a network sizes are zero.
                "first_layer": widths[0] if widths else 0, "second_layer": widths[1] if len(widths) > 2 else 0,
                "neurons": sum(widths), "parameters": sum(layer.n_parameters for layer in built.layers),
                "seconds": seconds,
            }  # fmt: skip


def settings_of(grids: Sequence[Mapping[str, Any]], where: str) -> dict[str, Setting]:
    """Return all cells of some grids by their names.

    Examples
    --------
    >>> from experiments.options import settings_of
    >>> list(settings_of([{"construction": ["default", "1-nn"], "detectors": ["mask", "weighted"]}], "my.toml"))
    ['default, detectors mask', 'default, detectors weighted', '1-nn']
    """
    found: dict[str, Setting] = {}
    for grid in grids:
        axes = {name: value if isinstance(value, list) else [value] for name, value in grid.items()}
        constructions = list(map(str, axes.pop("construction", [DEFAULT])))
        used = set[str]()
        for construction in constructions:
            known = _options_of(construction, where)
            own = {name: values for name, values in axes.items() if name in known}
            used |= own.keys()
            for values in product(*own.values()):
                # Lists within a list are values, and options take them as tuples.
                options = {k: tuple(v) if isinstance(v, list) else v for k, v in zip(own, values, strict=True)}
                name = ", ".join([construction, *(f"{name} {value}" for name, value in options.items())])
                found[name] = Setting(construction, options)
        if axes.keys() - used:
            unused = ", ".join(sorted(axes.keys() - used))
            raise ParameterError(f"{where}: none of {', '.join(constructions)} has the option {unused}")
    return found


def _options_of(construction: str, where: str) -> set[str]:
    if construction == DEFAULT:
        return set(InterpolatingClassifier().get_params()) - {"random_state", "verbose"}
    if construction in BASELINES:
        return set()
    if construction not in CONSTRUCTORS:
        names = ", ".join([DEFAULT, *CONSTRUCTORS, *BASELINES])
        raise ParameterError(f"{where}: no construction is called {construction!r}: choose from {names}")
    return {one.name for one in fields(CONSTRUCTORS[construction])}  # type: ignore[arg-type]


def _build(setting: Setting, X: Any, y: Any, run: int) -> Built:
    construction, options = setting
    if construction == DEFAULT:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterpolationWarning)
            model = InterpolatingClassifier(**options, random_state=run).fit(X, y)
        return Built(model.predict, model.network_.layers)
    if construction in BASELINES:
        return BASELINES[construction].build(X, y, run, TRAINING)
    constructor: Any = CONSTRUCTORS[construction]
    return constructed(construction, replace(constructor, **options)).build(X, y, run, TRAINING)
