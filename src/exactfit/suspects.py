"""Rows whose labels look wrong: what a first layer and the nearest neighbours say about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._support.console import as_frame
from ._support.html import element, html_table, joined
from ._support.options import check_random_state, check_whole
from ._support.threads import at_work
from .construct.noise import Claims, drawn_patterns
from .data import Labelled
from .geometry.neighbours import nearest_rows

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

SHOWN = 10  # rows that str() and to_dict() list unless told otherwise
SHOWN_CONFLICTS = 3  # nearest rows of other labels in a line of it
_TABLE = "{:>7}  {:<8} {:>6} {:>7} {:>8} {:>11} {:>10}  {}"
NOBODY = -1  # in place of a row, where there is no such row


@dataclass(frozen=True, eq=False)
class Suspects:
    """What speaks against the label of every row.

    Attributes
    ----------
    score : ndarray of float64, shape (n_samples,)
        How suspicious each row is, from 0 to 1:

            score = (strangers / k + 1 / (1 + ball_ratio)) / 2

        The formula was chosen on scikit-learn's digits with 1, 5 and 10 % of the labels changed, among
        combinations of all numbers here; ``claims`` and ``support`` did not improve it.
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
    labels : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit import find_suspects
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    >>> suspects = find_suspects(X, list("aabaabbb"), k=2, random_state=0)
    >>> suspects.top(2)
    array([2, 4])
    >>> print(suspects)
    8 rows, the most suspicious first
        row  label     score  claims  support  ball ratio  strangers  nearest others
          2  'b'       0.800       0        0       0.667          2  3, 1
          4  'a'       0.750       0        0           1          2  5, 6
          5  'b'       0.607       2        0         0.4          1  4, 3
          1  'a'       0.550       1        1       0.667          1  2, 5
          3  'a'       0.550       0        0       0.667          1  2, 5
          0  'a'       0.417       1        1           2          1  2, 5
          6  'b'       0.250       1        2           1          0  4, 3
          7  'b'       0.167       1        2           2          0  4, 3
    """

    score: Floats
    claims: Rows
    support: Rows
    ball_ratio: Floats
    strangers: Rows
    conflicts: Rows
    labels: NDArray[Any]

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        first = ", ".join(map(str, self.top(SHOWN_CONFLICTS).tolist()))
        return f"<Suspects: {len(self)} rows, the most suspicious {first}>"

    def top(self, m: int) -> Rows:
        """The ``m`` most suspicious rows, the most suspicious first, ties by row."""
        check_whole("m", m, at_least=0)
        return np.argsort(-self.score, kind="stable")[:m].astype(np.int64)

    def __str__(self) -> str:
        head = _TABLE.format("row", "label", "score", "claims", "support", "ball ratio", "strangers", "nearest others")
        lines = [f"{len(self)} rows, the most suspicious first", head.rstrip()]
        return "\n".join(lines + [self._line(int(row)) for row in self.top(SHOWN)])

    def _repr_html_(self) -> str:
        head = ["row", "label", "score", "claims", "support", "ball ratio", "strangers", "nearest others"]
        lines = (self._plain(int(row)) for row in self.top(SHOWN))
        table = [
            [*(one | {"conflicts": ", ".join(map(str, one["conflicts"][:SHOWN_CONFLICTS]))}).values()] for one in lines
        ]
        title = element("strong", f"{len(self):,} rows, the most suspicious first")
        return joined([title, html_table(head, table)])

    def _line(self, row: int) -> str:
        one = self._plain(row)
        near = ", ".join(str(other) for other in one["conflicts"][:SHOWN_CONFLICTS])
        return _TABLE.format(
            row, repr(one["label"]), f"{one['score']:.3f}", one["claims"], one["support"],
            f"{self.ball_ratio[row]:.3g}", one["strangers"], near,
        ).rstrip()  # fmt: skip

    def to_dict(self, m: int = SHOWN) -> dict[str, Any]:
        """The ``m`` most suspicious rows as JSON can hold them; an infinite ratio becomes a string."""
        return {"n_rows": len(self), "suspects": [self._plain(int(row)) for row in self.top(m)]}

    def _plain(self, row: int) -> dict[str, Any]:
        ratio = float(self.ball_ratio[row])
        return {
            "row": row,
            "label": self.labels[row : row + 1].tolist()[0],
            "score": float(self.score[row]),
            "claims": int(self.claims[row]),
            "support": int(self.support[row]),
            "ball_ratio": ratio if np.isfinite(ratio) else str(ratio),
            "strangers": int(self.strangers[row]),
            "conflicts": [int(other) for other in self.conflicts[row] if other != NOBODY],
        }

    def to_frame(self) -> Any:
        """A pandas frame with a line for every row, in the order of the rows."""
        names = ("labels", "score", "claims", "support", "ball_ratio", "strangers")
        columns = {name.removesuffix("s") if name == "labels" else name: getattr(self, name) for name in names}
        return as_frame(columns | {"conflicts": self.conflicts.tolist()})


def find_suspects(
    X: Any,
    y: ArrayLike,
    *,
    width: int = 512,
    k: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Suspects:
    """Find rows whose labels look wrong.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    width : int
        Hyperplanes over which ``claims`` and ``support`` are counted.
    k : int
        How many neighbours to look at.
    random_state : int, RandomState, Generator or None
        For the hyperplanes.
    n_jobs : int or None
        Threads. Changes no result.
    verbose : bool
        Whether to show progress bars on standard error.

    Returns
    -------
    Suspects

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from exactfit import find_suspects
    >>> X, y = load_digits(return_X_y=True)
    >>> y[7] = 1
    >>> find_suspects(X, y, random_state=0).top(1)
    array([7])
    """
    check_whole("width", width, at_least=1)
    check_whole("k", k, at_least=1)
    check_random_state(random_state)
    problem = Labelled.of(X, y)
    points, codes = problem.X, problem.codes
    with at_work(n_jobs, verbose) as work:
        patterns = drawn_patterns(points, width, random_state, work.threads)
        counted = Claims.over(patterns, codes, work.threads, work.progress)
        own, conflicts, to_own, to_other = nearest_rows(points, codes, k, work.threads, work.progress)
    ratio = _ball_ratio(to_other[:, 0], own)
    strangers = _strangers(own, to_own, conflicts, to_other)
    score = (strangers / min(k, len(codes) - 1) + 1 / (1 + ratio)) / 2
    return Suspects(score, counted.claims, counted.support, ratio, strangers, conflicts, problem.classes[codes])


def _ball_ratio(to_other: Floats, own: Rows) -> Floats:
    """Distance to another label, over its median among the nearest rows of the same label."""
    around = np.where(own == NOBODY, np.nan, to_other[own])
    alone = own[:, 0] == NOBODY
    around[alone] = np.inf
    middle = np.nanmedian(around, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(to_other == 0, 0.0, to_other / middle)


def _strangers(own: Rows, to_own: Floats, conflicts: Rows, to_other: Floats) -> Rows:
    """How many of the k nearest rows are among those of other labels; of equally near ones the first row counts."""
    distances, rows = np.hstack([to_own, to_other]), np.hstack([own, conflicts])
    first = np.lexsort((rows, distances), axis=1)[:, : own.shape[1]]
    there = np.isfinite(np.take_along_axis(distances, first, axis=1))
    return np.asarray(np.count_nonzero((first >= own.shape[1]) & there, axis=1), dtype=np.int64)
