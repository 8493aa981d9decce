"""An experiment as data: a TOML file says on what, over which grid, how often, and which figures.

::

    title = "Iris"
    runs = 20                                    # of every cell

    [data]                                       # or several: [[data]]
    loader = "load_iris"                         # of sklearn.datasets; or file = "my.csv", label = "species";
                                                 # or name = "two-moons", one of the paper's data sets
    [grid]                                       # or several: [[grid]]; each is a product of its axes
    width = { first = 10, last = 100, step = 10 }          # n; the last value is always included
    max_bias = [0, 0.5, 1]                                 # lambda
    share = { first = 0.2, last = 1, step = 0.2 }          # N as a fraction of the points; or points = [100, 150]

    [quick]                                      # optional: what --extent quick puts in place of the above
    runs = 2
    grid = { width = [10, 100], max_bias = [0, 1] }

    [[figure]]                                   # optional: without it, figures that fit the axes
    kind = "heatmap"

Further keys: ``center`` (true, the default, or false: draw around the mean of the points, or the origin) and
``detectors`` ("mask", the default, or "weighted") at the top; ``scale`` ("standard": columns of numbers with mean 0 and
deviation 1, then largest norm 1, the default for files; "unit": largest norm 1, the default for loaders; or "none"),
``order`` ("given", the default, or "stratified"), ``families`` (number of stratified orders, each a data set),
``target`` (a label; all classes get detectors, or the rarer one of two, without it) and ``arguments`` (of a loader) in
``data``, and what ``read_table`` knows about reading.

With ``held_out`` at the top a sweep goes over constructions and their options instead, and measures accuracy::

    title = "Wine"
    runs = 10  # of every cell, each with a split of its own
    held_out = 0.25  # of every class; the rest is built on

    [data]
    file = "wine.csv"
    label = "kind"

    [grid]
    construction = ["default", "lifted-baum", "1-nn"]  # "default", without it: InterpolatingClassifier
    detectors = ["mask", "weighted"]
    margin = [0, "25%"]

An axis is a value or a list of values: ``construction``, or an option of a construction. One that does not have the
option is run once, without it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from exactfit import DataError, ParameterError

from .options import OptionGrid, settings_of
from .widths import DETECTORS, WidthGrid

PAPER = (
    "two-moons",
    "sample-size",
    "mnist-pairs",
    "mnist",
    "mnist-wide",
    "cifar10",
    "cifar10-wide",
    "parallel-lines",
)
BEYOND = ("sample-size-beyond", "mnist-pairs-families", "fashion-mnist")  # questions that the paper leaves open
FULL = "paper"
LARGEST = 10**18  # number on an axis
LONGEST_AXIS = 10**6  # values: far beyond any sweep that ends, and made in a moment
TOP = {"title", "runs", "center", "detectors", "held_out", "data", "grid", "figure"}
READING = ("missing", "missing_values", "drop", "categorical", "separator", "decimal", "date_parts")  # of read_table
DATA = {"name", "file", "loader", "label", "scale", "order", "families", "target", "arguments", *READING}
AXES = {"width", "max_bias", "points", "share"}


@dataclass(frozen=True)
class Experiment:
    """What to run: data sets (as tables of a file), a grid of cells, runs of each, and figures (none: those that fit).

    Names of data files start from ``folder``.
    """

    name: str
    title: str
    runs: int
    data: tuple[dict[str, Any], ...]
    grid: WidthGrid | OptionGrid
    figures: tuple[dict[str, Any], ...] = ()
    folder: Path = Path()


def paper_experiment(name: str, extent: str = FULL) -> Experiment:
    """Load one of ``PAPER`` or ``BEYOND``.

    The extent is "paper" for the published grid and runs, "quick" for a coarse one, "committed" for the part whose
    results are kept beside the code.

    Examples
    --------
    >>> from experiments.experiment import paper_experiment
    >>> paper_experiment("mnist", "quick").title
    'MNIST'
    """
    if name not in PAPER + BEYOND:
        raise ParameterError(f"no experiment is called {name!r}: choose from {', '.join(PAPER + BEYOND)}")
    return load_experiment(Path(__file__).parent / "paper" / f"{name}.toml", extent)


def load_experiment(path: Path, extent: str = FULL) -> Experiment:
    """Load an experiment from a TOML file of the form at the top of this file."""
    name, table = path.stem, _read_toml(path, extent)
    runs = table.get("runs")
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise ParameterError(f"{path.name}: runs must be an integer >= 1, got {str(runs)[:40]}")
    grids = _tables(table, "grid", path.name)
    if "held_out" in table:
        _check_keys(path.name, table, table.keys() - {"center", "detectors", "figure"})
        grid: WidthGrid | OptionGrid = _option_grid(plain(table["held_out"]), grids, path.name)
    else:
        center, detectors = table.get("center", True), table.get("detectors", DETECTORS[0])
        if not isinstance(center, bool) or detectors not in DETECTORS:
            raise ParameterError(
                f"{path.name}: center must be true or false, and detectors one of {', '.join(DETECTORS)}"
            )
        grid = WidthGrid(tuple(_axes(each, path.name) for each in grids), center, str(detectors))
    data = tuple(_data(each, path.name) for each in _tables(table, "data", path.name))
    figures = tuple(plain(each) for each in table.get("figure", []))
    return Experiment(name, str(table.get("title", name)), runs, data, grid, figures, path.parent)


def _read_toml(path: Path, extent: str) -> dict[str, Any]:
    """Read the tables of a file, with those of the extent in their place; numbers with a point are decimal."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path.name} is no ordinary file: save what it gives to one first")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not a text file in UTF-8") from error
    except (ValueError, ArithmeticError) as error:  # also what int and Decimal say to digits without end
        raise DataError(f"{path.name} is not valid TOML: {error}") from error
    for key in ("data", "grid"):
        _tables(table, key, path.name)
    extents = {key for key, value in table.items() if key not in TOP and isinstance(value, dict)}
    _check_keys(path.name, table, TOP | extents)
    if extent != FULL and extent not in extents:
        raise ParameterError(f"{path.name} has no extent {extent!r}: choose from {', '.join([FULL, *sorted(extents)])}")
    for each in extents:
        _check_keys(f"{path.name}, {each}", table[each], {"runs", "grid"})
    chosen = {key: value for key, value in table.items() if key in TOP}
    return chosen | (table[extent] if extent != FULL else {})


def _check_keys(where: str, table: Mapping[str, Any], known: set[str]) -> None:
    """Refuse keys that nothing reads."""
    unknown = sorted(table.keys() - known)
    if unknown:
        raise ParameterError(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}")


def _tables(table: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """Return a table, or a list of tables."""
    found = table.get(key)
    found = [found] if isinstance(found, dict) else found
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        raise ParameterError(f"{where} needs a table [{key}]")
    return found


def _data(table: dict[str, Any], where: str) -> dict[str, Any]:
    _check_keys(f"{where}, data", table, DATA)
    if sum(key in table for key in ("name", "file", "loader")) != 1:
        raise ParameterError(f"{where}: data need exactly one of name, file and loader")
    return dict(plain(table))


def _option_grid(held_out: Any, grids: list[dict[str, Any]], where: str) -> OptionGrid:
    if isinstance(held_out, bool) or not isinstance(held_out, int | float) or not 0 < held_out < 1:
        raise ParameterError(f"{where}: held_out must be a fraction between 0 and 1, got {held_out!r}")
    return OptionGrid(settings_of([plain(each) for each in grids], where), float(held_out))


def _axes(table: dict[str, Any], where: str) -> dict[str, tuple[Decimal, ...]]:
    """Return the axes of a grid of widths, checked."""
    _check_keys(f"{where}, grid", table, AXES)
    axes = {key: axis_values(value, f"{where}, {key}") for key, value in table.items()}
    if "width" not in axes or "max_bias" not in axes or ("points" in axes and "share" in axes):
        raise ParameterError(f"{where}: a grid needs width and max_bias, and may have points or share")
    for key, values in axes.items():
        is_count = key in {"width", "points"}
        if min(values) < (1 if is_count else 0) or (is_count and any(value != int(value) for value in values)):
            raise ParameterError(f"{where}: {key} must be {'integers >= 1' if is_count else 'numbers >= 0'}")
    if max(axes.get("share", (1,))) > 1:
        raise ParameterError(f"{where}: share must not exceed 1")
    return axes


def axis_values(value: Any, where: str) -> tuple[Decimal, ...]:
    """Return the values of an axis: a number, a list of numbers, or first, last and step; the last is always included.

    Examples
    --------
    >>> from experiments.experiment import axis_values
    >>> [float(value) for value in axis_values({"first": 0, "last": 2.5, "step": 0.9}, "max_bias")]
    [0.0, 0.9, 1.8, 2.5]
    """
    # Numbers are decimal, so that 0.05 twenty times is 1: a cell of one range is the same cell in another.
    if isinstance(value, dict):
        _check_keys(where, value, {"first", "last", "step"})
        try:
            first, last, step = (Decimal(str(value[key])) for key in ("first", "last", "step"))
        except (KeyError, ArithmeticError) as error:
            raise ParameterError(f"{where}: a range needs first, last and step") from error
        _refuse_endless((first, last, step), where)
        if step <= 0 or last < first:
            raise ParameterError(f"{where}: a range needs step > 0 and first <= last")
        if last - first > step * LONGEST_AXIS:
            raise ParameterError(f"{where}: more than {LONGEST_AXIS:,} values: use a larger step")
        values = [first + step * k for k in range(int((last - first) / step) + 1)]
        return tuple(values if values[-1] == last else [*values, last])
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, int | Decimal) and not isinstance(each, bool) for each in values):
        raise ParameterError(f"{where}: give a number, a list of numbers, or first, last and step")
    numbers = tuple(map(Decimal, values))
    _refuse_endless(numbers, where)
    return numbers


def _refuse_endless(values: tuple[Decimal, ...], where: str) -> None:
    # Of a decimal with a million digits an integer takes minutes to make.
    if not all(value.is_finite() and -LARGEST <= value <= LARGEST for value in values):
        raise ParameterError(f"{where}: nan, inf and numbers above {LARGEST:g} have no place on a grid")


def plain(value: Any) -> Any:
    """Return decimals as floats, in whatever tables and lists they stand."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return float(value) if isinstance(value, Decimal) else value
