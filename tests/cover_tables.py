"""Covers over any table of counts: evidence for the code, for its twin, and tables of every kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from exactfit.construct.values import roundest


class Table:
    """Evidence read from a table: what mask a counts at column x."""

    def __init__(self, masked_counts, cost=1, rounds=False):
        self.table, self._cost, self._rounds = masked_counts, cost, rounds
        self.n_limits = 0

    def cost(self, rest):
        return self._cost

    def limits(self, anchors, rest):
        self.n_limits += len(anchors)
        columns = np.concatenate([np.arange(*piece) for piece in rest])
        part = self.table[anchors][:, columns]
        lowest = part.min(axis=1)
        return np.where(self.table[anchors, anchors] < lowest, lowest, 0), columns[part.argmin(axis=1)]

    def select(self, columns):
        return np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns

    def masked_counts(self, anchors, selected):
        return self.table[anchors][:, selected]

    def stored(self, limit, highest):
        return roundest(float(highest), float(limit)) if self._rounds else limit

    def stored_limits(self, limits, highest):
        return [self.stored(*pair) for pair in zip(limits, highest, strict=True)]


class TableTwin:
    def __init__(self, table):
        self.table = table.table
        self.stored = table.stored

    def low(self, anchor, point):
        return self.table[anchor, point]

    high = low


@st.composite
def tables(draw, max_target=40):
    """(table, target, rest pieces, order): columns of the rest before and after the target."""
    rng = np.random.default_rng(draw(st.integers(0, 10**9)))
    before, n, after = int(rng.integers(0, 8)), int(rng.integers(1, max_target)), int(rng.integers(1, 8))
    total = before + n + after
    high = int(rng.choice([2, 4, 12]))
    masked_counts = rng.integers(0, high, (total, total))
    if draw(st.booleans()):
        masked_counts = masked_counts * 0.3 + rng.integers(0, 2, (total, total))
    masked_counts[np.arange(total), np.arange(total)] = rng.integers(0, 2, total)
    target = (before, before + n)
    rest = [piece for piece in [(0, before), (before + n, total)] if piece[0] < piece[1]]
    cost = int(rng.choice([1, 2**17, 2**18, 2**25]))
    return Table(masked_counts, cost, draw(st.booleans())), target, rest, before + rng.permutation(n)


def assert_same_cover(fast, slow):
    assert fast.anchors == slow.anchors
    assert fast.limits == slow.limits
    assert fast.witnesses == slow.witnesses
    assert fast.coverage == slow.coverage
    assert fast.uncovered.tolist() == list(slow.uncovered)
    assert fast.n_rejected == slow.n_rejected


def rows_of(rest):
    return [x for piece in rest for x in range(*piece)]
