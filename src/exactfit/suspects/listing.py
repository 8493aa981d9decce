"""Findings about every row, and lists of them: as text, as JSON, as a frame, as a page for a colleague."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.console import as_frame, counted, text_table
from .._support.html import Markup, element, html_table, joined, page
from .._support.parameters import check_integer
from ..geometry.neighbours import NOBODY
from ..tables import Table
from ..tables.explained import SHOWN_COLUMNS, RowCells, Shape

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

SHOWN = 10  # rows that str() and to_dict() list unless told otherwise
SHOWN_CONFLICTS = 3  # rows that a suspect contradicts, below it
NEAR = 0.1  # of the usual distance to the nearest row: so near are rows that are nearly the same
FENCE = 3.0  # times the distance between the quartiles, beyond the upper one: Tukey's outer fence
HEAD = ("row", "label", "looks like", "score", "why")
READING = (
    "Each block is a row whose label looks wrong, and below it the nearest rows that it contradicts: those of other "
    "labels. The score runs from 0 (everything speaks for the label) to 1. Rows are counted from 0, after the header. "
    "A high score is a reason to look, not a verdict."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Suspects:
    """Evidence against the label of every row; duplicates and rows far from all others.

    Arrays have an entry for every row of the data. Rows are named as their file counts them, from 0 after the
    header, if they come from a table: ``rows`` has the names, ``places`` the way back.

    Attributes
    ----------
    score : ndarray of float64, shape (n_samples,)
        How suspicious each label is, from 0 to 1: 1 - the probability of the label, by what the nearest rows say, and
        by probabilities that were given or made; or how far another label is ahead. See docs/suspects.md.
    suggested : ndarray
        The likeliest label.
    claims : ndarray of int64, shape (n_samples,)
        How many other rows of its label have a detector that claims it; 0 means that it would be
        an anchor in every cover over this first layer.
    support : ndarray of int64, shape (n_samples,)
        How many other rows of its label its own detector claims.
    ball_ratio : ndarray of float64, shape (n_samples,)
        Distance to the nearest row of another label, over the median of the same among its k nearest
        rows of its own label: how deep it lies in its class, compared with its neighbours there. 0 for
        a row that equals one of another label, and for the only row of a label.
    strangers : ndarray of int64, shape (n_samples,)
        How many of its k nearest rows bear another label.
    conflicts : ndarray of int64, shape (n_samples, k)
        The k nearest rows of other labels, the nearest first (of equally near ones the first); -1 where
        there are no more.
    to_conflict, nearest, away : ndarray of float64, shape (n_samples,)
        Distance to the first of these; to the nearest row whatever its label; to the k-th nearest.
    first_equal : ndarray of int64, shape (n_samples,)
        The first row that equals it in all columns; itself, if it is the first.
    labels : ndarray
    rows : ndarray of int64
        What the rows are called.
    table : Table or None
        Where their cells are.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import find_suspects
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> suspects = find_suspects(X, list("aabaabbb"), k=2, random_state=0)
    >>> suspects.top(2)
    array([2, 4])
    >>> print(suspects.to_dict(1)["suspects"][0]["why"])
    2 of the 2 nearest rows bear another label
    """

    score: Floats
    suggested: NDArray[Any]
    claims: Rows
    support: Rows
    ball_ratio: Floats
    strangers: Rows
    conflicts: Rows
    to_conflict: Floats
    nearest: Floats
    away: Floats
    first_equal: Rows
    labels: NDArray[Any]
    rows: Rows
    table: Table | None = None

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        first = ", ".join(map(str, self.top(SHOWN_CONFLICTS).tolist()))
        return f"<Suspects: {len(self)} rows, the most suspicious {first}>"

    def of_table(self, table: Table) -> Suspects:
        """Return the same with rows as a table's file counts them, and with its cells."""
        names = table.rows
        conflicts = np.where(self.conflicts == NOBODY, NOBODY, names[self.conflicts])
        return replace(self, conflicts=conflicts, first_equal=names[self.first_equal], rows=names, table=table)

    def places(self, rows: Any) -> Rows:
        """Return the places of rows in the arrays."""
        return np.asarray(np.searchsorted(self.rows, rows), dtype=np.int64)

    def top(self, m: int) -> Rows:
        """Return the ``m`` most suspicious rows, the most suspicious first, ties by row."""
        check_integer("m", m, at_least=0)
        return self.rows[np.argsort(-self.score, kind="stable")[:m]]

    @property
    def contradictions(self) -> list[list[int]]:
        """Groups of equal rows with different labels: no function fits them."""
        return [group for group in self._equal_rows() if len(set(self._labels_of(group))) > 1]

    @property
    def duplicates(self) -> list[list[int]]:
        """Groups of equal rows with one label."""
        return [group for group in self._equal_rows() if len(set(self._labels_of(group))) == 1]

    def _equal_rows(self) -> list[list[int]]:
        order = np.argsort(self.first_equal, kind="stable")
        groups = np.split(self.rows[order], np.flatnonzero(np.diff(self.first_equal[order])) + 1)
        return [group.tolist() for group in groups if len(group) > 1]

    @property
    def near_duplicates(self) -> list[tuple[int, int]]:
        """Pairs of rows that are nearly the same and bear different labels, the nearest first.

        Nearly: at most a tenth as far from each other as a row usually is from its nearest.
        """
        # Equal rows have the distance zero: with them the usual distance would be zero as well.
        apart = self.nearest[(self.nearest > 0) & np.isfinite(self.nearest)]
        limit = NEAR * float(np.median(apart)) if len(apart) else 0.0
        close = np.flatnonzero((self.to_conflict > 0) & (self.to_conflict <= limit))
        # A pair is there from both its rows, and named once.
        close = close[np.argsort(self.to_conflict[close], kind="stable")]
        pairs = [(int(self.rows[place]), int(self.conflicts[place, 0])) for place in close]
        return list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))

    @property
    def far(self) -> Rows:
        """Rows far from everything, the farthest first: their k-th nearest row is unusually far away."""
        known = self.away[np.isfinite(self.away)]
        if not len(known):
            return self.rows[:0]
        # Quartiles, since means and deviations follow the very rows that are looked for.
        low, high = np.quantile(known, [0.25, 0.75])
        beyond = np.flatnonzero(np.isfinite(self.away) & (self.away > high + FENCE * (high - low)) & (self.away > 0))
        return self.rows[beyond[np.argsort(-self.away[beyond], kind="stable")]]

    def _labels_of(self, rows: Sequence[int]) -> list[Any]:
        return list(self.labels[self.places(rows)].tolist())

    def why(self, row: int) -> str:
        """Return the reasons against the label of a row, in words."""
        place = int(self.places(row))
        k = min(self.conflicts.shape[1], len(self) - 1)
        equal = f"equals row {self.conflicts[place, 0]}, " if self.to_conflict[place] == 0 else ""
        return f"{equal}{self.strangers[place]} of the {k} nearest rows bear another label"

    def listing(self, m: int, columns: int | None = None) -> list[list[str]]:
        """Return the ``m`` most suspicious rows as a table, each above the rows that it contradicts; names first."""
        stop = None if columns is None else len(HEAD) + columns
        return [line[:stop] for line in self._lines(m)]

    def _lines(self, m: int, image_shape: Shape | None = None) -> list[list[Any]]:
        """Return the lines of the listing, with all cells or with pictures."""
        cells = None if self.table is None else RowCells(self.table, image_shape)
        lines: list[list[Any]] = [[*HEAD, *(cells.names if cells else ())]]
        for row in self.top(m).tolist():
            place = int(self.places(row))
            label, likeliest = self.labels[place], self.suggested[place]
            score, suggested = f"{self.score[place]:.3f}", str(likeliest) if likeliest != label else ""
            block = [(row, str(label), suggested, score, self.why(row))]
            against = [int(other) for other in self.conflicts[place][:SHOWN_CONFLICTS] if other != NOBODY]
            others = zip(against, self._labels_of(against), strict=True)
            block += [(other, str(its_label), "", "", f"contradicts row {row}") for other, its_label in others]
            lines += [[str(at), *facts, *(cells.cells(at) if cells else ())] for at, *facts in block]
        return lines

    def notices(self, m: int = SHOWN) -> list[tuple[str, list[str]]]:
        """Return what else there is to look at: a headline, and the first ``m`` cases of each kind."""
        kinds: dict[str, Sequence[Sequence[int]]] = {
            "Equal rows with different labels": self.contradictions,
            "Nearly equal rows with different labels": self.near_duplicates,
            "Equal rows with one label": self.duplicates,
            "Rows far from everything": [[row] for row in self.far.tolist()],
        }
        notices = []
        for name, cases in kinds.items():
            named = [zip(rows, self._labels_of(rows), strict=True) for rows in cases[:m]]
            lines = [", ".join(f"row {row}: {label}" for row, label in case) for case in named]
            notices += [(f"{name}: {len(cases):,}", lines)] if cases else []
        return notices

    def __str__(self) -> str:
        more = 0 if self.table is None else len(self.table.columns) - SHOWN_COLUMNS
        lines = [f"{len(self)} rows, the most suspicious first", *text_table(self.listing(SHOWN, SHOWN_COLUMNS))]
        lines += [f"and {more} more columns"] if more > 0 else []
        for headline, cases in self.notices(SHOWN_CONFLICTS):
            lines += [headline, *(f"  {case}" for case in cases)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self._html_table(SHOWN, None)

    def to_dict(self, m: int = SHOWN) -> dict[str, Any]:
        """Return the ``m`` most suspicious rows, and all else there is to look at, as JSON can hold it.

        An infinite ratio becomes a string.
        """
        return {
            "n_rows": len(self),
            "suspects": [self._plain(int(row)) for row in self.top(m)],
            "contradictions": self.contradictions,
            "near_duplicates": [list(pair) for pair in self.near_duplicates],
            "duplicates": self.duplicates,
            "far": self.far.tolist(),
        }

    def _plain(self, row: int) -> dict[str, Any]:
        place = int(self.places(row))
        ratio = float(self.ball_ratio[place])
        against = [int(other) for other in self.conflicts[place] if other != NOBODY]
        plain = {
            "row": row,
            "label": self._labels_of([row])[0],
            "suggested": self.suggested[place : place + 1].tolist()[0],
            "score": float(self.score[place]),
            "why": self.why(row),
            "claims": int(self.claims[place]),
            "support": int(self.support[place]),
            "ball_ratio": ratio if np.isfinite(ratio) else str(ratio),
            "strangers": int(self.strangers[place]),
            "conflicts": against,
        }
        if self.table is None:
            return plain
        shown = RowCells(self.table)
        return plain | {"cells": {str(one): shown.plain(one) for one in (row, *against[:SHOWN_CONFLICTS])}}

    def to_html(self, m: int = SHOWN, *, image_shape: tuple[int, ...] | None = None) -> str:
        """Return a page in one file with the ``m`` most suspicious rows and all else there is to look at.

        Rows that are images of ``image_shape`` (height, width and perhaps three colours) are shown as pictures.
        """
        name = "data" if self.table is None else self.table.name
        several = "one is" if min(m, len(self)) == 1 else f"{min(m, len(self)):,} are"
        size = f"{counted(len(self), 'row')}, {counted(len(set(self.labels.tolist())), 'label')}"
        parts = [element("p", f"{size}. The most suspicious {several} listed."), element("p", READING)]
        parts.append(self._html_table(m, image_shape))
        for headline, cases in self.notices(m):
            parts += [element("h2", headline), element("ul", joined(element("li", case) for case in cases))]
        return page(f"Labels worth checking: {name}", *parts)

    def _html_table(self, m: int, image_shape: Shape | None) -> Markup:
        header, *lines = self._lines(m, image_shape)
        scored = [line[HEAD.index("score")] for line in lines]  # the first of a block only
        return html_table(header, lines, ["strong apart" if score else "" for score in scored])

    def to_frame(self) -> Any:
        """Return a pandas frame with a line for every row, in the order of the rows."""
        names = ("score", "suggested", "claims", "support", "ball_ratio", "strangers")
        columns = {"row": self.rows, "label": self.labels} | {name: getattr(self, name) for name in names}
        return as_frame(columns | {"conflicts": self.conflicts.tolist()})
