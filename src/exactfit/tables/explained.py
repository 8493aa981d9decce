"""Tables for people: how columns were read; and answers with the rows behind them, as text or as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from .._support.console import counted, text_table
from ..exceptions import ParameterError
from ..explanation import SHOWN_POINTS, Explanation, Explanations, conditions_table
from .table import Column, Table

MOST_LINES = 40  # about columns, before those of numbers share one
SHOWN_COLUMNS = 12  # of a table, in text: what a wide terminal holds
SHOWN_BEHIND = 5  # detectors of an explanation whose rows are shown: of those that fire, the clearest
HEAD = ("row", "of", "part")  # then the cells
READING = (
    "Each block is a row with its answer, and below it the training rows on which the answer rests. A detector claims "
    "rows for one class; its anchor is the row that it was built on, and the row that set its limit is the one of "
    "another class that it came nearest to claiming. Support is a row's share in a detector with weights: + for rows "
    "of its class, - for others."
)
Shape = tuple[int, ...]
ROLES = {"fires": "anchor", "nearest": "came close: anchor", "other": "other class: anchor"}


def described(table: Table, dropped: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return a line for each column: its name, and how it was read; many columns of numbers in a row are one line."""
    lines: list[tuple[str, str]] = []
    for plain, group in groupby(table.columns, lambda column: column.kind == "numeric" and not column.empty.any()):
        columns = list(group)
        if plain and len(table.columns) > MOST_LINES and len(columns) > 1:
            values = np.concatenate([column.values for column in columns])
            name = f"{columns[0].name} to {columns[-1].name}"
            lines.append((name, f"{len(columns):,} columns of numbers, {values.min():.6g} to {values.max():.6g}"))
        else:
            lines += [(column.name, _reading(column, table)) for column in columns]
    lines += [(name, "left out") for name in dropped]
    if table.labels is not None:
        lines.append((str(table.label), f"label, {counted(len(np.unique(table.labels)), 'class', 'classes')}"))
    return lines


def _reading(column: Column, table: Table) -> str:
    """Return how a column was read."""
    if column.dates is not None:
        said = f"date ({column.dates}), as days" + (f" and {', '.join(table.date_parts)}" if table.date_parts else "")
    elif column.categories is not None:
        said = f"category, {counted(len(column.categories), 'level')}"
    else:
        values = column.values[~column.empty]
        said = "number" + (f", {values.min():.6g} to {values.max():.6g}" if len(values) else "")
    gaps = int(np.count_nonzero(column.empty))
    marked = "imputed and marked" if table.missing == "indicator" else "imputed"
    return said + (f"; {counted(gaps, 'empty cell')} {marked}" if gaps else "")


@dataclass(frozen=True, eq=False)
class RowCells:
    """Cells of a table's rows as people read them, or the images that the rows are."""

    table: Table
    image_shape: Shape | None = None

    def __post_init__(self) -> None:
        shape, table = self.image_shape, self.table
        if shape is None:
            return
        if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
            raise ParameterError(f"an image has height and width, and one or three colours, got the shape {shape}")
        if prod(shape) != len(table.columns) or any(column.categories is not None for column in table.columns):
            raise ParameterError(
                f"images of shape {','.join(map(str, shape))} are {prod(shape)} columns of numbers; {table.name} has "
                f"{len(table.columns)} columns"
            )

    @property
    def names(self) -> list[str]:
        """Names of what :meth:`cells` returns."""
        return ["picture"] if self.image_shape else [column.name for column in self.table.columns]

    def cells(self, row: int) -> list[Any]:
        """Return what is to be shown of a row, named as its file counts it."""
        k = int(np.searchsorted(self.table.rows, row))
        if self.image_shape is None:
            return [column.text(k) for column in self.table.columns]
        from .._support.html import picture

        pixels = np.array([column.values[k] for column in self.table.columns]).reshape(self.image_shape)
        return [picture(pixels[:, :, 0] if pixels.shape[2:] == (1,) else pixels, f"row {row}")]

    def plain(self, row: int) -> dict[str, Any]:
        """Return the same by name."""
        return dict(zip(self.names, self.cells(row), strict=True))


@dataclass(frozen=True, repr=False)
class RowExplanation(Explanation):
    """Explanation of the answer for a row, with the cells of the rows that are named.

    Attributes
    ----------
    row : int
        As its file counts it.
    cells : tuple of tuples of str
        For each row that is shown its number, which file it is of, its part in the answer, and its cells; the names
        of all these first. Of the training rows only if the table was given, see ``TableModel.explain``.
    """

    row: int = 0
    cells: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        more = len(self.cells[0]) - len(HEAD) - SHOWN_COLUMNS
        lines = text_table([line[: len(HEAD) + SHOWN_COLUMNS] for line in self.cells])
        lines += [f"and {more} more columns"] if more > 0 else []
        return "\n".join([super().__str__(), *(f"  {line}" for line in lines)])

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        names, *lines = self.cells
        return {"row": self.row, **super().to_dict(), "cells": [dict(zip(names, line, strict=True)) for line in lines]}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowExplanations(Explanations):
    """Explanations of a table's rows; rows are named as their files count them.

    Attributes
    ----------
    asked : Table
        The rows that were asked about.
    training : Table or None
        Those that the model was fitted to, whose cells are shown.
    """

    asked: Table
    training: Table | None = None

    def __getitem__(self, place: Any) -> Any:
        one = super().__getitem__(place)
        if isinstance(place, slice):
            return one
        row = int(self.asked.rows[range(len(self))[place]])
        names, lines = self.lines(one, row)
        cells = (tuple(map(str, line)) for line in (names, *lines))
        return RowExplanation(**vars(one), row=row, cells=tuple(cells))

    def lines(self, one: Explanation, row: int, image_shape: Shape | None = None) -> tuple[list[str], list[list[Any]]]:
        """Return names, a line for the row itself, and one for each training row behind its answer."""
        asked = RowCells(self.asked, image_shape)
        lines = [[row, self.asked.name, f"answer {one.label}", *asked.cells(row)]]
        if self.training is None:
            return [*HEAD, *asked.names], lines
        known, labels = RowCells(self.training, image_shape), self.training.labels
        order = [known.names.index(name) for name in asked.names]
        parts: dict[int, str] = {}  # of each row the first that it has
        for number, (role, found) in enumerate(one.roles()):
            if role == "fires" and number >= SHOWN_BEHIND:
                continue
            parts.setdefault(found.anchor, f"{ROLES[role]} of detector {found.detector}")
            parts.setdefault(found.witness, f"set the limit of detector {found.detector}")
            for each in found.support[:SHOWN_BEHIND]:
                parts.setdefault(each.row, f"support {each.share:+.2g}")
        for other, part in parts.items():
            label = "" if labels is None else f", label {labels[np.searchsorted(self.training.rows, other)]}"
            cells = known.cells(other)
            lines.append([other, self.training.name, f"{part}{label}", *(cells[k] for k in order)])
        return [*HEAD, *asked.names], lines

    def __str__(self) -> str:
        more = len(self) - SHOWN_POINTS
        lines = [f"row {one.row}: {one}" for one in self[:SHOWN_POINTS]]
        return "\n".join(lines + ([f"and {more} more rows"] if more > 0 else []))

    def to_html(self, image_shape: Shape | None = None) -> str:
        """Return a page in one file: a table for each row, with pictures where the rows are images of a shape.

        Parameters
        ----------
        image_shape : tuple of int, optional
            Height, width, and three for colours.
        """
        from .._support.html import element, html_table, page

        rows = f"{counted(len(self), 'row')} of {self.asked.name}. Rows are counted from 0, after the header."
        parts = [element("p", rows), element("p", READING)]
        for one in self[:]:
            claims = " and ".join(map(str, one.claimed_by)) or "no class"
            names, lines = self.lines(one, one.row, image_shape)
            parts.append(element("h2", f"Row {one.row}: {one.label}"))
            fires = "one detector fires" if len(one.fires) == 1 else f"{len(one.fires)} detectors fire"
            parts.append(element("p", f"Claimed by {claims}: {fires}."))
            parts.append(conditions_table(one))
            parts.append(html_table(names, lines, ["strong", *[""] * (len(lines) - 1)]))
        return page(f"What stands behind the answers for {self.asked.name}", *parts)
