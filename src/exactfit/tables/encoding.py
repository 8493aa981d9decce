"""Encoding of tables as points: which columns, in which order, as which numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .._support.console import user_stacklevel
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
    categories: tuple[str, ...] | None = field(default=None, repr=False)  # sorted; None for a column of numbers
    dates: str | None = None  # how dates are written; the number is then in days
    parts: tuple[str, ...] = ()  # of the dates, features of their own
    fill: float | str | None = None  # what an empty cell becomes; None if it is an error
    indicator: bool = False  # whether a feature of its own says that the cell was empty

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numbers that it becomes: itself and its parts, or an indicator for each category."""
        own = (self.name, *(f"{self.name} {part}" for part in self.parts))
        if self.categories is not None:
            own = tuple(f"{self.name}={category}" for category in self.categories)
        return (*own, f"{self.name} is missing") if self.indicator else own

    @property
    def scaled(self) -> tuple[bool, ...]:
        """Mask of the features that are numbers to be scaled: all that are no indicators."""
        own = (self.categories is None,) * (len(self.features) - self.indicator)
        return own + (False,) * self.indicator

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it; what is as in a plain column is left out."""
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
    fields: tuple[Field, ...] = field(repr=False)
    mean: Floats = field(repr=False)  # one number for each feature
    scale: Floats = field(repr=False)
    header: bool  # whether columns are known by name
    n_columns: int  # of the file, labels and left out columns included
    label: str | None  # name of the column that held the labels
    label_position: int | None  # if the labels of the file are a column
    missing: Missing = "error"
    rows: NDArray[np.int64] | None = field(default=None, repr=False)  # numbers in the file; None if none was left out

    @classmethod
    def learn(cls, table: Table, scaling: Scaling) -> Encoding:
        """Return the encoding that fits a table."""
        check_choice("scale", scaling, SCALINGS)
        fields, means, scales = [], list[float](), list[float]()
        fills: Missing = table.missing if table.missing in ("impute", "indicator") else "error"
        for column in table.columns:
            refuse_identifier(column)
            # A time of day has hours and minutes only.
            known = {None: (), "hour:minute": ("hour", "minute")}.get(column.dates, table.date_parts)
            own = Field(
                column.name, column.position, column.categories, column.dates,
                tuple(part for part in table.date_parts if part in known),
                None if fills == "error" else _fill(column, table.name),
                fills == "indicator" and bool(column.empty.any()),
            )  # fmt: skip
            fields.append(own)
            # From exact sums, so that no order of rows and no machine changes a point.
            moments = [(0.0, 1.0)] * len(own.features)
            if scaling == "standard" and own.categories is None:
                moments[: len(own.parts) + 1] = map(column_moments, _numbers(own, column))
            means += [mean for mean, _ in moments]
            scales += [scale for _, scale in moments]
        rows = None if np.array_equal(table.rows, np.arange(len(table))) else table.rows
        return cls(
            tuple(fields), np.array(means), np.array(scales), table.header, table.n_columns, table.label,
            table.label_position, fills, rows,
        )  # fmt: skip

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(name for field in self.fields for name in field.features)

    def to_dict(self) -> dict[str, Any]:
        """Return columns, their order and categories, and where the labels were, as JSON can hold it."""
        plain = {name: getattr(self, name) for name in ("header", "n_columns", "label", "label_position")}
        return {**plain, "columns": [field.to_dict() for field in self.fields]}

    def choose(self, names: Sequence[str], header: bool, labels: bool) -> Choice:
        """Choose columns of a file: by name where both sides have names, by position otherwise."""
        by_name = header and self.header
        # Labels of an NPZ file are the last name, and no column.
        aside = not header and names[-1] == LABELS
        count = len(names) - aside
        if by_name:
            positions = {name: position for position, name in enumerate(names)}
            for own in self.fields:
                if own.name not in positions:
                    raise DataError(f"the model takes a column {own.name!r}, but {no_column(own.name, names)}")
            places = [positions[own.name] for own in self.fields]
        elif count in (len(self.fields), self.n_columns):
            places = [k if count == len(self.fields) else own.position for k, own in enumerate(self.fields)]
        else:
            more = f" (or {self.n_columns}, as when it was fitted)" if self.n_columns != len(self.fields) else ""
            raise DataError(f"there are {count} columns, and the model takes {len(self.fields)}{more}, by position")
        kinds: dict[int, str | None] = {
            place: own.dates or own.kind for place, own in zip(places, self.fields, strict=True)
        }
        if not labels:
            return Choice(kinds)
        if aside:
            return Choice(kinds, count)
        if by_name and self.label in names:
            return Choice(kinds, list(names).index(str(self.label)))
        if not by_name and self.label_position is not None and count == self.n_columns:
            return Choice(kinds, self.label_position)
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
        features = list[Floats | None]()  # None for all categories of a column but the last
        indicators = []  # first feature of each column of categories, and the codes of its cells
        unseen = []
        for own, column in zip(self.fields, self.matched(table), strict=True):
            if own.fill is None and column.empty.any():
                where = table.place(int(column.empty.argmax()))
                raise DataError(
                    f"{table.name}: column {own.name!r} has an empty cell in {where}, "
                    "and the model was fitted without --missing impute: it does not know how to fill it"
                )
            if own.kind != column.kind:
                raise DataError(f"column {own.name!r} is {column.kind} here, and {own.kind} for the model")
            if own.categories is None or column.categories is None:
                features += _numbers(own, column)
            else:
                known = {category: code for code, category in enumerate(own.categories)}
                fill = EMPTY if own.fill is None or own.indicator else known[str(own.fill)]
                codes = np.array([*(known.get(category, UNSEEN) for category in column.categories), fill])
                code = codes[column.values]  # -1, an empty cell, is the last
                indicators.append((len(features), code))
                features += [None] * len(known)
                rows = np.flatnonzero(code == UNSEEN)
                if len(rows):
                    first = f"{column.categories[column.values[rows[0]]]!r} in {table.place(rows[0])}"
                    unseen.append(f"{len(rows)} in column {own.name!r} (first {first})")
            features += [column.empty.astype(np.float64)] * own.indicator
        if unseen:
            warnings.warn(
                f"{table.name}: categories unseen in training, encoded as all zeros: {', '.join(unseen)}",
                UnseenCategoryWarning,
                stacklevel=user_stacklevel(),
            )
        points = np.zeros((len(table), len(self.mean)))
        # Row by row in memory, column by column in the table: a tile of both fits the cache.
        for tile in row_tiles(points):
            for k, values in enumerate(features):
                if values is not None:
                    points[tile, k] = values[tile]
            for start, code in indicators:
                rows = tile.start + np.flatnonzero(code[tile] >= 0)
                points[rows, start + code[rows]] = 1.0
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
        """Return the columns of a table in the order of the fields."""
        names = {column.name: column for column in table.columns}
        if not (self.header and table.header):
            if len(table.columns) != len(self.fields):
                raise DataError(
                    f"{table.name} has {len(names)} columns, the model takes {len(self.fields)}, by position"
                )
            return list(table.columns)
        for own in self.fields:
            if own.name not in names:
                raise DataError(f"{table.name}: {no_column(own.name, list(names))}")
        return [names[own.name] for own in self.fields]


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
    """Return the features of a column of numbers or dates, the mark of empty cells aside."""
    values = column.values
    if field.fill is not None:
        values = np.where(np.isnan(values), field.fill, values)
    return [values, *parts_of_dates(values, field.parts)] if field.parts else [values]


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
