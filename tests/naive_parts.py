"""Points that stand for parts elsewhere: whatever is asked of them is found by going over all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactfit._support.console import silent
from exactfit._support.threads import SERIAL, Executor
from exactfit.construct.evidence import Counts
from exactfit.construct.hyperplanes import largest_distance
from exactfit.construct.patterns import patterns_of
from exactfit.construct.unique_patterns import PatternGroups, UniquePatterns, ranks_of
from exactfit.data import ChunkedPoints, mean
from exactfit.data.equal import hashes_of
from exactfit.data.pairs import closest_pair
from exactfit.network.bits import BitMatrix
from exactfit.network.sides import sides


class InParts(ChunkedPoints):
    """An array in place of parts."""

    def __init__(self, X, memory=2**30):
        self.X, self.shape, self.memory = X, X.shape, memory

    def __getitem__(self, rows):
        return self.X[rows]

    def mean(self):
        return mean(self.X)

    def radius(self, origin):
        return largest_distance(self.X, origin)

    def closest_pair(self, codes):
        return closest_pair(self.X, codes, Executor(SERIAL, silent))

    def hashed_rows(self):
        yield np.arange(len(self.X)), hashes_of(self.X)

    def _keys(self, planes, order):
        words = sides(self.X, planes.weights, planes.biases).words
        return [(int(code), *map(int, line)) for code, line in zip(order.codes(), words.T, strict=True)]

    def groups(self, planes, order, candidates):
        rows_of, by_row = {}, np.empty(len(self.X), dtype=np.int64)
        by_row[order.rows] = ranks_of(candidates, len(self.X))
        for row, key in enumerate(self._keys(planes, order)):
            rows_of.setdefault(key, []).append(row)
        keys = sorted(rows_of, key=lambda key: (key[0], rows_of[key][0]))
        found = PatternGroups(
            np.array([key[1:] for key in keys], dtype=np.uint64).T.copy(),
            np.array([key[0] for key in keys]),
            np.array([len(rows_of[key]) for key in keys]),
            np.array([rows_of[key][0] for key in keys]),
            np.array([by_row[rows_of[key]].min() for key in keys]),
        )
        return found if found.n_bytes <= self.memory else None

    def members(self, planes, order, groups):
        places = {
            (int(code), *map(int, line)): k
            for k, (code, line) in enumerate(zip(groups.codes, groups.words.T, strict=True))
        }
        found = [(row, places[key]) for row, key in enumerate(self._keys(planes, order)) if key in places]
        return tuple(np.array(found, dtype=np.int64).reshape(-1, 2).T)

    def unique_patterns(self, planes, order, candidates, threads):
        groups = self.groups(planes, order, candidates)
        return self.as_unique(planes, order, candidates, groups, threads)

    def as_unique(self, planes, order, candidates, groups, threads):
        column = np.argsort(order.rows)

        def members(columns):
            return np.sort(column[self.members(planes, order, groups.take(columns))[0]])

        evidence = Counts(BitMatrix(groups.words, planes.count), threads)
        named = replace(groups, firsts=column[groups.firsts])
        return UniquePatterns.of_groups(named, evidence, candidates, len(order.starts) - 1, members)

    def patterns(self, planes, options):
        return patterns_of(self.X, planes, options, SERIAL)
