"""Conditions in the words of a table: its columns, categories and dates, and cells that are empty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from ..conditions import Inequality, Sentence, Wording
from .encoding import Encoding, Field
from .table import Floats, Table, written

MOST_CELLS = 2**20  # numbers of a training table that is looked at for short thresholds: a millisecond for each
DATES = {">": "after", "<": "before", ">=": "on or after", "<=": "on or before"}


class TableWording(Wording):
    """Names and units of a table's columns."""

    def __init__(self, encoding: Encoding, asked: Table, training: Table | None) -> None:
        # With the rows that the model was fitted to, thresholds are as short as the same rows allow.
        super().__init__()
        self.encoding, self.training = encoding, training
        self.columns = dict(zip(encoding.fields, encoding.matched(asked), strict=True))
        self.homes = [(field, k) for field in encoding.fields for k in range(len(field.features))]

    def name(self, feature: int) -> str:
        """Return a number's name, or what an indicator says if it is 1."""
        field, k = self.homes[feature]
        return self._says(feature, True) if self.is_indicator(feature) else field.features[k]

    def is_indicator(self, feature: int) -> bool:
        """Return whether a feature stands for a category, or says that a cell was empty."""
        field, k = self.homes[feature]
        return not field.scaled[k]

    def units(self, features: list[int]) -> tuple[Floats, Floats]:
        """Return the scale and the mean of features."""
        return self.encoding.scale[features], self.encoding.mean[features]

    def training_sums(self, found: Inequality) -> Floats | None:
        """Return the weighted sums of the training rows that a condition is about, if they are at hand."""
        if self._raw is None:
            return None
        rows = (self._raw[:, list(found.fixed)] == list(found.fixed.values())).all(axis=1)
        return np.asarray(self._raw[rows][:, found.features] @ found.weights)

    @cached_property
    def _raw(self) -> Floats | None:
        if self.training is None or len(self.training) * len(self.homes) > MOST_CELLS:
            return None
        return self.encoding.raw(self.training)

    def sentence(self, found: Inequality, row: int) -> Sentence | None:
        """Return a condition in words; None if there is nothing to say."""
        homes = [self.homes[j] for j in found.features]
        if self.is_indicator(found.features[0]):
            text = self._of_indicators(found)
            return Sentence(text) if text else None
        said = super().sentence(found, row)
        assert said is not None
        if all(field.dates is not None and k == 0 for field, k in homes) and sum(found.weights) in (0, 1):
            days = said._replace(text=f"{said.text} days", unit="days")
            said = days if len(homes) > 1 else self._of_date(found, homes[0][0])
        where = " and ".join(self._fixed(found.fixed))
        sums = self.training_sums(found) if where else None
        if sums is not None and found.holds(sums).all():  # then the categories say it all
            return Sentence(where, where=where)
        gaps = {self.homes[j][0].name: self.columns[self.homes[j][0]] for j in (*found.features, *found.fixed)}
        empty = [name for name, column in gaps.items() if column.empty[row]]
        imputed = f" with {' and '.join(empty)} imputed" if empty else ""
        return said._replace(
            text=f"{said.text} where {where}" if where else said.text, here=said.here + imputed, where=where
        )

    def _fixed(self, fixed: dict[int, float]) -> Iterator[str]:
        """Yield what a row's indicators say, for each column; nothing if they are all of a column's."""
        for field in dict.fromkeys(self.homes[j][0] for j in fixed):
            own = {j: x for j, x in fixed.items() if self.homes[j][0] is field}
            true = [j for j, x in own.items() if x]
            if len(own) < len(field.features):
                listed = " or ".join(self._what(j) for j in true or own)
                yield f"{field.name} is {'' if true else 'not '}{listed}"

    @staticmethod
    def _of_date(found: Inequality, field: Field) -> Sentence:
        """Return a condition on a date, which between days without a time is one on the day that follows."""
        relation, threshold = found.relation, found.threshold
        if found.value.is_integer() and field.dates != "hour:minute":
            threshold = float(math.floor(threshold) + 1 if relation in (">", "<=") else math.ceil(threshold))
            relation = {">": ">=", "<=": "<"}.get(relation, relation)
        day, here = (written(number, str(field.dates)) for number in (threshold, found.value))
        return Sentence(f"{field.name} {DATES[relation]} {day}", here, "days")

    def _of_indicators(self, found: Inequality) -> str:
        """Return what a sum of indicators says; nothing if it is always so, or if they have several weights."""
        homes = [self.homes[j] for j in found.features]
        fields = {field for field, _ in homes}
        if len(fields) == 1 and not any(self._is_gap(*home) for home in homes):
            (field,) = fields  # of which a row has one category
            others = bool(found.holds(0.0))
            same = [k for (_, k), w in zip(homes, found.weights, strict=True) if bool(found.holds(w)) != others]
            listed = " or ".join((field.categories or ())[k] for k in same)
            return listed and f"{field.name} is {'not ' if others else ''}{listed}"
        if len({abs(w) for w in found.weights}) > 1:
            return ""
        negative = sum(w < 0 for w in found.weights)
        allowed = [n for n in range(len(homes) + 1) if found.holds(n - negative)]
        at_least = len(homes) in allowed  # so many of the statements are true, or else of their opposites
        least = allowed[0] if at_least else len(homes) - allowed[-1]
        said = [self._says(j, (w > 0) == at_least) for j, w in zip(found.features, found.weights, strict=True)]
        if least in (0, 1, len(said)):
            return "" if not least else (" or " if least == 1 else " and ").join(said)
        return f"at least {least} of these: {', '.join(said)}"

    def _says(self, feature: int, true: bool) -> str:
        return f"{self.homes[feature][0].name} is {'' if true else 'not '}{self._what(feature)}"

    def _what(self, feature: int) -> str:
        """Return an indicator's category, or that a cell is missing."""
        field, k = self.homes[feature]
        return "missing" if self._is_gap(field, k) else (field.categories or ())[k]

    @staticmethod
    def _is_gap(field: Field, k: int) -> bool:
        """Whether a feature says that the cell was empty."""
        return field.indicator and k == len(field.features) - 1
