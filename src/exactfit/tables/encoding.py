"""From a table to points: which columns, in which order, as which numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .._support.options import check_choice
from ..data import mean_and_deviation
from ..exceptions import DataError, UnseenCategoryWarning
from ..network.sides import row_tiles
from .reading import LABELS, SHOWN_NAMES, no_column
from .table import Choice, Column, Kind, Table

Floats = NDArray[np.float64]
Scaling = Literal["standard", "none"]
SCALINGS: tuple[Scaling, ...] = get_args(Scaling)
LARGEST_CATEGORIES = 1000  # of one column; more of them, one feature each, are likely an identifier


@dataclass(frozen=True)
class Field:
    """A column as a model takes it.

    Attributes
    ----------
    name : str
    position : int
        Where it stood in the file that the model was fitted to.
    categories : tuple of str or None
        Sorted; None for a column of numbers.
    """

    name: str
    position: int
    categories: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        more = "" if self.categories is None else f", {len(self.categories)} categories"
        return f"Field({self.name!r}, {self.position}{more})"

    @property
    def kind(self) -> Kind:
        """Numbers or categories."""
        return "numeric" if self.categories is None else "categorical"

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it becomes: itself, or an indicator for each category."""
        if self.categories is None:
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How rows of a table become points.

    A numeric column is one feature x, and a categorical one an indicator (0 or 1) for each of
    its categories, in order of the columns. Then every feature becomes (x - mean) / scale in
    float64: one subtraction, one division, each rounded once. Indicators have mean 0 and scale 1,
    as all features do without scaling.

    Attributes
    ----------
    fields : tuple of Field
    mean, scale : ndarray of float64, one for each feature
    header : bool
        Whether columns are known by name.
    n_columns : int
        Of the file, labels and left out columns included.
    label : str or None
        Name of the column that held the labels.
    label_position : int or None
        And its position, if the file was one whose labels are a column.
    """

    fields: tuple[Field, ...]
    mean: Floats
    scale: Floats
    header: bool
    n_columns: int
    label: str | None
    label_position: int | None

    def __repr__(self) -> str:
        labels = "" if self.label is None else f", labels in {self.label!r}"
        return f"<Encoding: {len(self.fields)} columns as {len(self.mean)} features{labels}>"

    @classmethod
    def learn(cls, table: Table, scaling: Scaling) -> Encoding:
        """The encoding that fits a table."""
        check_choice("scale", scaling, SCALINGS)
        for column in table.columns:
            _refuse_many(column)
        fields = tuple(Field(column.name, column.position, column.categories) for column in table.columns)
        count = sum(len(field.features) for field in fields)
        mean, scale = np.zeros(count), np.ones(count)
        if scaling == "standard":
            numeric = np.array([field.categories is None for field in fields for _ in field.features])
            values = [column.values for column in table.columns if column.categories is None]
            moments = [_moments(column) for column in values]
            mean[numeric], scale[numeric] = [m for m, _ in moments], [s for _, s in moments]
        return cls(fields, mean, scale, table.header, table.n_columns, table.label, table.label_position)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(name for field in self.fields for name in field.features)

    def to_dict(self) -> dict[str, Any]:
        """Columns, their order and categories, and where the labels were, as JSON can hold it."""
        plain = {name: getattr(self, name) for name in ("header", "n_columns", "label", "label_position")}
        columns = [asdict(field) for field in self.fields]
        lists = [
            {**one, "categories": None if one["categories"] is None else list(one["categories"])} for one in columns
        ]
        return {**plain, "columns": lists}

    def choose(self, names: Sequence[str], header: bool, labels: bool) -> Choice:
        """Which columns of a file to read: by name where both sides have names, by position otherwise."""
        places = self._by_name(names) if header and self.header else self._by_position(names, header)
        kinds = {place: field.kind for place, field in zip(places, self.fields, strict=True)}
        return Choice({**kinds}, self._labels(names, header) if labels else None)

    def _by_name(self, names: Sequence[str]) -> list[int]:
        known = {name: place for place, name in enumerate(names)}
        for field in self.fields:
            if field.name not in known:
                raise DataError(f"{no_column(field.name, names)} The model was fitted to a column of that name.")
        return [known[field.name] for field in self.fields]

    def _by_position(self, names: Sequence[str], header: bool) -> list[int]:
        count = len(names) - _has_labels_aside(names, header)
        if count == len(self.fields):
            return list(range(count))
        if count == self.n_columns:
            return [field.position for field in self.fields]
        whole = f" (or {self.n_columns}, as when it was fitted)" if self.n_columns != len(self.fields) else ""
        raise DataError(f"there are {count} columns, and the model takes {len(self.fields)}{whole}, by position")

    def _labels(self, names: Sequence[str], header: bool) -> int:
        if _has_labels_aside(names, header):
            return len(names) - 1
        if header and self.header and self.label in names:
            return list(names).index(str(self.label))
        if not (header and self.header) and self.label_position is not None and len(names) == self.n_columns:
            return self.label_position
        raise DataError(
            f"the labels are missing: there is no column {self.label!r} among {', '.join(names[:SHOWN_NAMES])}"
        )

    def raw(self, table: Table) -> Floats:
        """The features of a table before they are scaled."""
        columns = self._matched(table)
        X = np.zeros((len(table), len(self.mean)))
        starts = np.cumsum([0, *(len(field.features) for field in self.fields)])
        codes = [self._codes(field, column) for field, column in zip(self.fields, columns, strict=True)]
        _warn_unseen(table, columns, codes)
        for tile in row_tiles(X):  # row by row in memory, column by column in the table: a tile of both fits the cache
            for start, column, code in zip(starts, columns, codes, strict=False):
                if code is None:
                    X[tile, start] = column.values[tile]
                else:
                    rows = tile.start + np.flatnonzero(code[tile] >= 0)
                    X[rows, start + code[rows]] = 1.0
        return X

    def encode(self, table: Table) -> Floats:
        """The points of a table."""
        X = self.raw(table)
        with np.errstate(over="ignore"):
            for tile in row_tiles(X):
                X[tile] -= self.mean
                X[tile] /= self.scale
        finite = np.isfinite(X).all(axis=0)
        if not finite.all():
            name = self.features[int(finite.argmin())]
            raise DataError(
                f"{table.name}: column {name!r} holds numbers that are too large to be scaled: --scale none"
            )
        return X

    def _matched(self, table: Table) -> list[Column]:
        """The columns of a table in the order of the fields."""
        names = {column.name: column for column in table.columns}
        if not (self.header and table.header):
            if len(table.columns) != len(self.fields):
                raise DataError(
                    f"{table.name} has {len(names)} columns, the model takes {len(self.fields)}, by position"
                )
            return list(table.columns)
        for field in self.fields:
            if field.name not in names:
                raise DataError(f"{table.name}: {no_column(field.name, list(names))}")
        return [names[field.name] for field in self.fields]

    def _codes(self, field: Field, column: Column) -> NDArray[np.int64] | None:
        """A column's categories as the model numbers them, -1 for one that it does not know; None for numbers."""
        if field.kind != column.kind:
            raise DataError(f"column {field.name!r} is {column.kind} here, and {field.kind} for the model")
        if field.categories is None or column.categories is None:
            return None
        known = {category: code for code, category in enumerate(field.categories)}
        table = np.array([known.get(category, -1) for category in column.categories], dtype=np.int64)
        return np.asarray(table[column.values])


def _has_labels_aside(names: Sequence[str], header: bool) -> bool:
    """Whether the last name is that of an NPZ file's labels, which are no column."""
    return not header and names[-1] == LABELS


def _refuse_many(column: Column) -> None:
    if column.categories is not None and len(column.categories) > LARGEST_CATEGORIES:
        raise DataError(
            f"column {column.name!r} has {len(column.categories):,} categories, more than {LARGEST_CATEGORIES:,}: "
            f"is it an identifier? Leave it out with --drop {column.name} (drop=[{column.name!r}] in Python)"
        )


def _warn_unseen(table: Table, columns: list[Column], codes: list[NDArray[np.int64] | None]) -> None:
    found = []
    for column, code in zip(columns, codes, strict=True):
        rows = np.flatnonzero(code < 0) if code is not None else np.empty(0, dtype=np.int64)
        if len(rows):
            category = (column.categories or ())[column.values[rows[0]]]
            found.append(f"{len(rows)} in column {column.name!r} (first {category!r} in {table.place(rows[0])})")
    if found:
        warnings.warn(
            f"{table.name}: categories unseen in training, encoded as all zeros: {', '.join(found)}",
            UnseenCategoryWarning,
            stacklevel=5,
        )


def _moments(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation, from exact sums; scale 1 for a constant column."""
    if values.min() == values.max():
        return float(values[0]), 1.0
    middle, scale = mean_and_deviation(values)
    return middle, scale if scale >= np.finfo(np.float64).tiny else 1.0
