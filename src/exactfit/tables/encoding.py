"""From a table to points: which columns, in which order, as which numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .._support.parameters import check_choice
from ..data import mean_and_deviation
from ..data.matrices import row_tiles
from ..exceptions import DataError, UnseenCategoryWarning
from .columns import COMMA_NUMBER
from .reading import LABELS, SHOWN_NAMES, ReadOptions, no_column, read_chosen
from .table import Choice, Column, Floats, Missing, OfAKind, Table, parts_of_dates

Scaling = Literal["standard", "none"]
UNSEEN, EMPTY = -1, -2  # in place of a category's number
SCALINGS: tuple[Scaling, ...] = get_args(Scaling)
LIKE_A_NUMBER = re.compile(r"[-+$€£]*[0-9][0-9.,' ]*(?:\s[^\W\d_]{1,3}|[%°€$£])?")  # 1.234,5 or 12 % or 3.5 cm
MOSTLY_DISTINCT = 0.5  # share of the filled cells: then categories say more about the row than about its label
FEWEST_DISTINCT = 30  # below, a share says little
FREE_TEXT_WORDS = 3.0  # words to a cell on average, from which on text is rather prose than a name
MANY_LABELS = 20  # distinct ones; with fewer a number may well be a class
FEW_ROWS = 5.0  # to a label on average: fewer, and there is no class to speak of; many fractions are never one


@dataclass(frozen=True)
class Field(OfAKind):
    """A column as a model takes it."""

    name: str
    position: int  # in the file that the model was fitted to
    categories: tuple[str, ...] | None = None  # sorted; None for a column of numbers
    dates: str | None = None  # how dates are written; the number is then in days
    parts: tuple[str, ...] = ()  # of the dates, features of their own
    fill: float | str | None = None  # what an empty cell becomes; None if it is an error
    indicator: bool = False  # whether a feature of its own says that the cell was empty

    def __repr__(self) -> str:
        more = "" if self.categories is None else f", {len(self.categories)} categories"
        return f"Field({self.name!r}, {self.position}{more})"

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it becomes: itself and parts of it, or an indicator for each category."""
        own = (self.name, *(f"{self.name} {part}" for part in self.parts))
        if self.categories is not None:
            own = tuple(f"{self.name}={category}" for category in self.categories)
        return (*own, f"{self.name} is missing") if self.indicator else own

    @property
    def scaled(self) -> tuple[bool, ...]:
        """Which of its features are numbers to be scaled: all that are no indicators."""
        own = (self.categories is None,) * (len(self.features) - self.indicator)
        return (*own, False) if self.indicator else own

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is as in a plain column is left out."""
        plain = {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(self).items()}
        usual: dict[str, Any] = {"dates": None, "parts": [], "fill": None, "indicator": False}
        return {name: one for name, one in plain.items() if name not in usual or one != usual[name]}


@dataclass(frozen=True, eq=False)
class Encoding:
    """Encoding of a table's rows as points."""

    # A numeric column is one feature, one of dates the days since 1970 and the parts that were asked for, and a
    # categorical one an indicator (0 or 1) for each category, in order of the columns. Every feature becomes
    # (x - mean) / scale in float64: one subtraction and one division, each rounded once, so that any program gets the
    # same points. Indicators have mean 0 and scale 1, as all features do without scaling.
    fields: tuple[Field, ...]
    mean: Floats  # one number for each feature
    scale: Floats
    header: bool  # whether columns are known by name
    n_columns: int  # of the file, labels and left out columns included
    label: str | None  # name of the column that held the labels
    label_position: int | None  # if the labels of the file are a column
    missing: Missing = "error"
    rows: NDArray[np.int64] | None = None  # where rows stood in their file; None if none was left out

    def __repr__(self) -> str:
        labels = "" if self.label is None else f", labels in {self.label!r}"
        return f"<Encoding: {len(self.fields)} columns as {len(self.mean)} features{labels}>"

    @classmethod
    def learn(cls, table: Table, scaling: Scaling) -> Encoding:
        """The encoding that fits a table."""
        check_choice("scale", scaling, SCALINGS)
        for column in table.columns:
            refuse_identifier(column)
        missing: Missing = table.missing if table.missing in ("impute", "indicator") else "error"
        fields = tuple(
            Field(
                column.name,
                column.position,
                column.categories,
                column.dates,
                # A time of day has hours and minutes only.
                tuple(
                    part
                    for part in (table.date_parts if column.dates is not None else ())
                    if column.dates != "hour:minute" or part in ("hour", "minute")
                ),
                _fill(column, table.name) if missing != "error" else None,
                missing == "indicator" and bool(column.empty.any()),
            )
            for column in table.columns
        )
        count = sum(len(field.features) for field in fields)
        rows = None if np.array_equal(table.rows, np.arange(len(table))) else table.rows
        plain = cls(
            fields, np.zeros(count), np.ones(count), table.header, table.n_columns, table.label,
            table.label_position, missing, rows,
        )  # fmt: skip
        if scaling == "standard":
            start = 0
            for field, column in zip(fields, table.columns, strict=True):
                for k, values in enumerate(_numbers(field, column) if field.categories is None else ()):
                    plain.mean[start + k], plain.scale[start + k] = column_moments(values)
                start += len(field.features)
        return plain

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(name for field in self.fields for name in field.features)

    def to_dict(self) -> dict[str, Any]:
        """Columns, their order and categories, and where the labels were, as JSON can hold it."""
        plain = {name: getattr(self, name) for name in ("header", "n_columns", "label", "label_position")}
        return {**plain, "columns": [field.to_dict() for field in self.fields]}

    def choose(self, names: Sequence[str], header: bool, labels: bool) -> Choice:
        """Which columns of a file to read: by name where both sides have names, by position otherwise."""
        places = self._by_name(names) if header and self.header else self._by_position(names, header)
        kinds = {place: field.kind for place, field in zip(places, self.fields, strict=True)}
        dates = {place: field.dates for place, field in zip(places, self.fields, strict=True) if field.dates}
        return Choice({**kinds}, self._labels(names, header) if labels else None, dates)

    def _by_name(self, names: Sequence[str]) -> list[int]:
        known = {name: place for place, name in enumerate(names)}
        for field in self.fields:
            if field.name not in known:
                raise DataError(f"the model takes a column {field.name!r}, but {no_column(field.name, names)}")
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
        missing = f"there is no column {self.label!r} among {', '.join(names[:SHOWN_NAMES])}"
        if self.label is None:
            missing = "the model was fitted to labels beside its table, so pass them here too, as y"
        raise DataError(f"the labels are missing: {missing}")

    def read(self, source: Any, *, labels: bool = False, form: ReadOptions | None = None) -> Table:
        """Read the columns that this encoding takes; see :meth:`TableModel.read`."""
        form = form or ReadOptions()
        if form.missing == "error":
            form = replace(form, missing=self.missing)
        return read_chosen(source, form, lambda names, header: self.choose(names, header, labels))

    def raw(self, X: Any) -> Floats:
        """Return the features of a table, or of what :meth:`read` makes one of, before they are scaled."""
        table = X if isinstance(X, Table) else self.read(X)
        columns = self.matched(table)
        for field, column in zip(self.fields, columns, strict=True):
            if field.fill is None and column.empty.any():
                where = table.place(int(column.empty.argmax()))
                raise DataError(
                    f"{table.name}: column {field.name!r} has an empty cell in {where}, "
                    "and the model was fitted without --missing impute: it does not know how to fill it"
                )
        points = np.zeros((len(table), len(self.mean)))
        starts = np.cumsum([0, *(len(field.features) for field in self.fields)])
        pairs = list(zip(self.fields, columns, strict=True))
        codes = [self._codes(field, column) for field, column in pairs]
        _warn_unseen(table, columns, codes)
        gaps = [column.empty if field.indicator else None for field, column in pairs]
        numbers = [_numbers(*pair) if code is None else [] for pair, code in zip(pairs, codes, strict=True)]
        # Row by row in memory, column by column in the table: a tile of both fits the cache.
        for tile in row_tiles(points):
            for start, stop, own, code, gap in zip(starts, starts[1:], numbers, codes, gaps, strict=False):
                for k, values in enumerate(own):
                    points[tile, start + k] = values[tile]
                if code is not None:
                    rows = tile.start + np.flatnonzero(code[tile] >= 0)
                    points[rows, start + code[rows]] = 1.0
                if gap is not None:
                    points[tile, stop - 1] = gap[tile]
        return points

    def encode(self, X: Any) -> Floats:
        """Return the points of a table, or of what :meth:`read` makes one of."""
        table = X if isinstance(X, Table) else self.read(X)
        points = self.raw(table)
        with np.errstate(over="ignore"):
            for tile in row_tiles(points):
                points[tile] -= self.mean
                points[tile] /= self.scale
        finite = np.isfinite(points).all(axis=0)
        if not finite.all():
            name = self.features[int(finite.argmin())]
            raise DataError(
                f"{table.name}: column {name!r} holds numbers that are too large to be scaled: --scale none"
            )
        return points

    def matched(self, table: Table) -> list[Column]:
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
        fill = known[str(field.fill)] if field.fill is not None and not field.indicator else EMPTY
        table = np.array([*(known.get(category, UNSEEN) for category in column.categories), fill], dtype=np.int64)
        return np.asarray(table[column.values])  # -1, an empty cell, is the last


def _has_labels_aside(names: Sequence[str], header: bool) -> bool:
    """Whether the last name is that of an NPZ file's labels, which are no column."""
    return not header and names[-1] == LABELS


def _fill(column: Column, name: str) -> float | str:
    """Return the median, or the most frequent category, the first of equals."""
    if column.empty.all():
        raise DataError(
            f"{name}: column {column.name!r} has no filled cell: leave it out with --drop {column.name} "
            f"(drop=[{column.name!r}] in Python)"
        )
    if column.categories is None:
        return float(np.median(column.values[~column.empty]))
    counts = np.bincount(column.values[~column.empty], minlength=len(column.categories))
    return column.categories[int(counts.argmax())]


def _numbers(field: Field, column: Column) -> list[Floats]:
    """The features of a column of numbers or dates but the last, which says that a cell was empty."""
    values = column.values
    if field.fill is not None:
        values = np.where(np.isnan(values), field.fill, values)
    return [values, *parts_of_dates(values, field.parts)] if field.parts else [values]


def _warn_unseen(table: Table, columns: list[Column], codes: list[NDArray[np.int64] | None]) -> None:
    found = []
    for column, code in zip(columns, codes, strict=True):
        rows = np.flatnonzero(code == UNSEEN) if code is not None else np.empty(0, dtype=np.int64)
        if len(rows):
            category = (column.categories or ())[column.values[rows[0]]]
            found.append(f"{len(rows)} in column {column.name!r} (first {category!r} in {table.place(rows[0])})")
    if found:
        warnings.warn(
            f"{table.name}: categories unseen in training, encoded as all zeros: {', '.join(found)}",
            UnseenCategoryWarning,
            stacklevel=5,
        )


def column_moments(values: Floats) -> tuple[float, float]:
    """Return mean and standard deviation, from exact sums; scale 1 for a constant column."""
    if values.min() == values.max():
        return float(values[0]), 1.0
    middle, scale = mean_and_deviation(values)
    return middle, scale if scale >= np.finfo(np.float64).tiny else 1.0


def refuse_identifier(column: Column) -> None:
    """Refuse categories that hardly ever come twice or are numbers, unless somebody said that they are categories."""
    if column.categories is None or column.given:
        return
    filled = int(np.count_nonzero(~column.empty))
    distinct = len(column.categories)
    if distinct > 1 and all(map(COMMA_NUMBER.fullmatch, column.categories)):
        raise DataError(
            f"column {column.name!r} holds texts such as {column.categories[0]!r}: are they numbers? Read decimal "
            f"commas with --decimal , (decimal=',' in Python), write thousands without a comma, or keep the column, "
            f"one feature for each text, with --categorical {column.name}"
        )
    if distinct < FEWEST_DISTINCT or distinct <= MOSTLY_DISTINCT * filled:
        return
    words = sum(len(category.split()) for category in column.categories) / distinct
    what = "free text" if words >= FREE_TEXT_WORDS else "an identifier"
    if all(map(LIKE_A_NUMBER.fullmatch, column.categories)):
        what = f"{what}, or are these numbers, such as {column.categories[0]!r}, to be written plainly as 1234.5"
    raise DataError(
        f"column {column.name!r} has {distinct:,} different texts in {filled:,} rows: is it {what}? Leave it out with "
        f"--drop {column.name} (drop=[{column.name!r}] in Python), or keep it, one feature for each text, with "
        f"--categorical {column.name}"
    )


def refuse_measure(table: Table) -> None:
    """Refuse labels that look like a quantity, unless somebody said that they are categories."""
    labels = table.labels
    if labels is None or table.label is None or table.sure_of_labels:
        return
    distinct = np.unique(labels)
    if len(distinct) <= MANY_LABELS:
        return
    try:
        values = distinct.astype(np.float64)
    except ValueError:  # text
        return
    if len(labels) >= FEW_ROWS * len(distinct) and (values == np.trunc(values)).all():
        return
    raise DataError(
        f"{table.name}: the labels in column {table.label!r} are numbers with {len(distinct):,} different values in "
        f"{len(labels):,} rows: is this a quantity to predict (regression)? A classifier needs classes: make a column "
        f"of ranges and name that one, or say that every number is a class of its own with --categorical {table.label}"
    )
