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
    share = { first = 0.2, last = 1, step = 0.2 }          # N as a share of the points; or points = [100, 150]

    [quick]                                      # optional: what --extent quick puts in place of the above
    runs = 2
    grid = { width = [10, 100], max_bias = [0, 1] }

    [[figure]]                                   # optional: without it, figures that fit the axes
    kind = "heatmap"

Further keys: ``law``, ``center`` (true, the default, or false: draw around the mean of the points, or the origin) and
``detectors`` ("mask", the default, or "weighted") at the top;
``scale`` ("standard": columns of numbers with mean 0 and deviation 1, then largest norm 1, the default for files;
"unit": largest norm 1, the default for loaders; or "none"), ``order`` ("given", the default, or "stratified"),
``families`` (how many stratified orders, each a data set),
``target`` (a label; all classes get detectors, or the rarer one of two, without it) and ``arguments`` (of a
loader) in ``data``. With ``held_out`` at the top a sweep is one over options, see ``option_sweep``.
"""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.console import counted
from .._support.parameters import shown
from .._support.processes import refuse_endless
from .._version import __version__
from ..exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from .datasets import Dataset
    from .trials import Header

SHARED, INDEPENDENT = "shared", "independent"
SCHEMES = (SHARED, INDEPENDENT)
LAWS = ("gaussian",)
DETECTORS = ("mask", "weighted")


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
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "joblib")  # whose versions headers name
FULL = "paper"
MOST_TRIALS = 10**8  # of a sweep: a year of a hundred cores, if one takes half a minute
LONGEST_AXIS = 10**6  # values: far beyond any sweep that ends, and made in a moment
TOP = {"title", "runs", "law", "center", "detectors", "data", "grid", "figure"}
READING = ("missing", "missing_values", "drop", "categorical", "separator", "decimal", "date_parts")  # of read_table
DATA = {"name", "file", "loader", "label", "scale", "order", "families", "target", "arguments", *READING}
GRID = {"width", "max_bias", "points", "share"}


@dataclass(frozen=True, order=True)
class Cell:
    """A place in a grid: n hyperplanes, biases up to lambda, the first N points."""

    n: int
    lam: float
    N: int


@dataclass(frozen=True)
class Scheme:
    """How random numbers are drawn."""

    kind: str = SHARED  # whether the cells of a run share their draws
    law: str = "gaussian"  # of the hyperplanes
    center: bool = True  # whether to draw around the mean of the points instead of the origin
    detectors: str = "mask"  # what they count with: it changes no draw

    def __post_init__(self) -> None:
        if self.kind not in SCHEMES or self.law not in LAWS:
            raise ParameterError(f"no scheme {self.kind!r} of the law {self.law!r}: see {SCHEMES} and {LAWS}")
        if self.detectors not in DETECTORS:
            raise ParameterError(f"detectors must be one of {', '.join(DETECTORS)}, got {self.detectors!r}")


@dataclass(frozen=True)
class Experiment:
    """What to run.

    Attributes
    ----------
    name, title : str
    runs : int
        Of every cell.
    data : tuple of dict
        How to get each data set.
    grids : tuple of dict
        Axes, each a tuple of values: ``width``, ``max_bias``, and ``points`` or ``share``.
    scheme : Scheme
    figures : tuple of dict
        ``kind`` and options of each figure; empty: those that fit the axes.
    folder : Path or None
        Where the names of data files start from.

    Examples
    --------
    >>> from exactfit.lab import paper_experiment
    >>> two_moons = paper_experiment("two-moons")
    >>> two_moons.name, two_moons.runs
    ('two-moons', 250)
    """

    name: str
    title: str
    runs: int
    data: tuple[dict[str, Any], ...]
    grids: tuple[dict[str, tuple[Any, ...]], ...]
    scheme: Scheme = field(default_factory=Scheme)
    figures: tuple[dict[str, Any], ...] = ()
    folder: Path | None = None

    def __repr__(self) -> str:
        return f"<Experiment: {self.name}, {counted(self.runs, 'run')} of every cell>"

    def cells(self, n_points: int) -> list[Cell]:
        """All cells of the grid, for data of so many points; each once, in order.

        Examples
        --------
        >>> from exactfit.lab.experiment import paper_experiment
        >>> cells = paper_experiment("two-moons").cells(1000)
        >>> len(cells), cells[0]
        (2550, Cell(n=10, lam=0.0, N=1000))
        """
        found = {cell: None for grid in self.grids for cell in _cells(grid, n_points)}
        return list(found)


def _cells(grid: Mapping[str, tuple[Any, ...]], n_points: int) -> Iterable[Cell]:
    sizes = grid.get("points") or tuple(round(part * n_points) for part in grid.get("share", (Decimal(1),)))
    for N in sizes:
        if not 2 <= N <= n_points:
            raise ParameterError(f"the grid asks for N = {N} points, the data have {n_points}")
    for n, lam, N in product(grid["width"], grid["max_bias"], sizes):
        yield Cell(int(n), float(lam), int(N))


def paper_experiment(name: str, extent: str = FULL) -> Experiment:
    """One of the paper's experiments, or one that goes beyond them.

    Parameters
    ----------
    name : str
        One of ``PAPER`` or ``BEYOND``.
    extent : str
        ``"paper"`` for the published grid and runs, ``"quick"`` for a coarse one, ``"committed"``
        for the part whose results are kept beside the code.

    Examples
    --------
    >>> from exactfit.lab.experiment import paper_experiment
    >>> paper_experiment("mnist", "quick").title
    'MNIST'
    """
    if name not in PAPER + BEYOND:
        raise ParameterError(f"no experiment is called {name!r}: choose from {', '.join(PAPER + BEYOND)}")
    file = resources.files(__package__).joinpath("paper", f"{name}.toml")
    return experiment_of(read_toml(file, extent, TOP), name, None)


def load_experiment(path: Path, extent: str = FULL) -> Experiment:
    """An experiment from a TOML file of the form at the top of this file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from exactfit import lab
    >>> moons = lab.load_experiment(Path(lab.__file__).parent / "paper" / "two-moons.toml", "quick")
    >>> moons.name, len(moons.cells(1000))
    ('two-moons', 110)
    """
    return experiment_of(read_toml(path, extent, TOP), path.stem, path.parent)


def read_toml(file: Traversable, extent: str, known: set[str]) -> dict[str, Any]:
    """The tables of an experiment, with what the extent puts in their place; numbers are decimal."""
    name = Path(file.name).stem
    if isinstance(file, Path):
        refuse_endless(file)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
    except UnicodeDecodeError as error:
        raise DataError(f"{file.name} is not a text file in UTF-8") from error
    except (ValueError, ArithmeticError) as error:  # also what int and Decimal say to digits without end
        raise DataError(f"{name}.toml is not valid TOML: {error}") from error
    for key in ("data", "grid"):
        tables_of(table, key, name)
    extents = {key for key, value in table.items() if key not in known and isinstance(value, dict)}
    check_keys(f"{name}.toml", table, known | extents)
    if extent != FULL and extent not in extents:
        raise ParameterError(f"{name}.toml has no extent {extent!r}: choose from {', '.join([FULL, *sorted(extents)])}")
    for each in extents:
        check_keys(f"{name}.toml, {each}", table[each], {"runs", "grid"})
    return table | (table[extent] if extent != FULL else {})


def experiment_of(chosen: Mapping[str, Any], name: str, folder: Path | None) -> Experiment:
    """An experiment from its tables."""
    center = chosen.get("center", True)
    law = chosen.get("law", LAWS[0])
    if not isinstance(center, bool) or law not in LAWS:
        raise ParameterError(f"{name}.toml: center must be true or false, and law one of {', '.join(LAWS)}")
    return Experiment(
        **common_of(chosen, name, folder),
        grids=tuple(_grid(each, name) for each in tables_of(chosen, "grid", name)),
        scheme=Scheme(law=law, center=center, detectors=str(chosen.get("detectors", DETECTORS[0]))),
        figures=tuple(plain_values(each) for each in chosen.get("figure", [])),
    )


def common_of(table: Mapping[str, Any], name: str, folder: Path | None) -> dict[str, Any]:
    """What every kind of sweep has: name, title, runs, data, and the folder where the names of files start from."""
    runs = table.get("runs")
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise ParameterError(f"{name}.toml: runs must be an integer >= 1, got {shown(runs)}")
    data = tuple(_data(each, name) for each in tables_of(table, "data", name))
    return {"name": name, "title": str(table.get("title", name)), "runs": runs, "data": data, "folder": folder}


def check_trials(name: str, runs: int, n_cells: int) -> None:
    """Refuse a sweep that would never end."""
    if runs * n_cells > MOST_TRIALS:
        raise ParameterError(
            f"{name}: {shown(runs)} runs of {counted(n_cells, 'cell')} are more than {MOST_TRIALS:,} trials: use fewer"
        )


def check_keys(where: str, table: Mapping[str, Any], known: set[str]) -> None:
    """Refuse keys that nobody reads."""
    unknown = sorted(table.keys() - known)
    if unknown:
        raise ParameterError(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}")


def tables_of(table: Mapping[str, Any], key: str, name: str) -> list[dict[str, Any]]:
    """A table, or a list of tables."""
    found = table.get(key)
    found = [found] if isinstance(found, dict) else found
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        raise ParameterError(f"{name}.toml needs a table [{key}]")
    return found


def _data(table: dict[str, Any], name: str) -> dict[str, Any]:
    check_keys(f"{name}.toml, data", table, DATA)
    if sum(key in table for key in ("name", "file", "loader")) != 1:
        raise ParameterError(f"{name}.toml: data need exactly one of name, file and loader")
    return dict(plain_values(table))


def _grid(table: dict[str, Any], name: str) -> dict[str, tuple[Any, ...]]:
    check_keys(f"{name}.toml, grid", table, GRID)
    axes = {key: axis_values(value, f"{name}.toml, {key}") for key, value in table.items()}
    if "width" not in axes or "max_bias" not in axes or ("points" in axes and "share" in axes):
        raise ParameterError(f"{name}.toml: a grid needs width and max_bias, and may have points or share")
    for key, values in axes.items():
        whole = key in {"width", "points"}
        if min(values) < (1 if whole else 0) or (whole and any(value != int(value) for value in values)):
            kind = "whole numbers >= 1" if whole else "numbers >= 0"
            raise ParameterError(f"{name}.toml: {key} must be {kind}")
    if max(axes.get("share", (1,))) > 1:
        raise ParameterError(f"{name}.toml: share must not exceed 1")
    return axes


def axis_values(value: Any, where: str) -> tuple[Decimal, ...]:
    """The values of an axis: a number, a list of numbers, or first, last and step.

    Numbers are decimal, so that 0.05 twenty times is 1; the last value is always included.

    Examples
    --------
    >>> from exactfit.lab.experiment import axis_values
    >>> [float(value) for value in axis_values({"first": 0, "last": 2.5, "step": 0.9}, "max_bias")]
    [0.0, 0.9, 1.8, 2.5]
    """
    if isinstance(value, dict):
        check_keys(where, value, {"first", "last", "step"})
        try:
            first, last, step = (Decimal(str(value[key])) for key in ("first", "last", "step"))
        except (KeyError, ArithmeticError) as error:
            raise ParameterError(f"{where}: a range needs first, last and step") from error
        _finite((first, last, step), where)
        if step <= 0 or last < first:
            raise ParameterError(f"{where}: a range needs step > 0 and first <= last")
        if (last - first) / step > LONGEST_AXIS:
            raise ParameterError(f"{where}: more than {LONGEST_AXIS:,} values: use a larger step")
        values = [first + step * k for k in range(int((last - first) / step) + 1)]
        return tuple(values if values[-1] == last else [*values, last])
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, int | Decimal) and not isinstance(each, bool) for each in values):
        raise ParameterError(f"{where}: give a number, a list of numbers, or first, last and step")
    return _finite(tuple(map(Decimal, values)), where)


def _finite(values: tuple[Decimal, ...], where: str) -> tuple[Decimal, ...]:
    if not all(value.is_finite() for value in values):
        raise ParameterError(f"{where}: nan and inf have no place on a grid")
    return values


def plain_values(value: Any) -> Any:
    """Decimals as floats, in whatever tables and lists they stand."""
    if isinstance(value, dict):
        return {key: plain_values(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain_values(each) for each in value]
    return float(value) if isinstance(value, Decimal) else value


def header_of(experiment: str, data: Dataset, scheme: Scheme) -> Header:
    """What rows are run on and with: the header of one invocation."""
    return {
        "experiment": experiment,
        "data": data.name,
        "standing": data.standing,
        "digest": data.digest,
        "source": data.source,
        "points": len(data.y),
        "features": data.X.shape[1],
        "classes": list(data.classes),
        "target": None if data.target is None else data.classes[data.target],
        "scheme": scheme.kind,
        "law": scheme.law,
        "center": scheme.center,
        **({"detectors": scheme.detectors} if scheme.detectors != "mask" else {}),  # as older files, without it
        "exactfit": __version__,
        "python": platform.python_version(),
        **{name: _version_of(name) for name in PACKAGES},
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
    }


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _cpu() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
