"""Points in parts make the network that they make in one place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, seeds

from exactfit.construct import Recipe
from exactfit.construct.build import build
from exactfit.construct.distinct import Distinct, Groups, ranks_of
from exactfit.construct.evidence import Counts
from exactfit.construct.hyperplanes import largest_distance, nearest_row
from exactfit.data import Labelled, PartedPoints, mean
from exactfit.data.equal import hashes_of
from exactfit.exceptions import WidthLimitError
from exactfit.network.bits import BitMatrix
from exactfit.network.sides import sides


class InParts(PartedPoints):
    """An array that stands for parts elsewhere: everything is found by going over all rows."""

    def __init__(self, X, memory=2**30):
        self.X, self.shape, self.memory = X, X.shape, memory

    def __getitem__(self, rows):
        return self.X[rows]

    def nearest(self, points, candidates):
        return np.array(
            [nearest_row(self.X, x, np.unique(rows))[1] for x, rows in zip(points, candidates, strict=True)]
        )

    def mean(self):
        return mean(self.X)

    def radius(self, origin):
        return largest_distance(self.X, origin)

    def hashed_rows(self):
        yield np.arange(len(self.X)), hashes_of(self.X)

    def _keys(self, planes, order):
        words = sides(self.X, planes.weights, planes.biases).words
        return [(int(code), *map(int, line)) for code, line in zip(order.codes(), words.T, strict=True)]

    def groups(self, planes, order, ranks):
        rows_of, by_row = {}, np.empty(len(self.X), dtype=np.int64)
        by_row[order.rows] = ranks
        for row, key in enumerate(self._keys(planes, order)):
            rows_of.setdefault(key, []).append(row)
        keys = sorted(rows_of, key=lambda key: (key[0], rows_of[key][0]))
        found = Groups(
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

    def distinct(self, planes, order, candidates, threads):
        groups = self.groups(planes, order, ranks_of(candidates, len(self.X)))
        return self.as_distinct(planes, order, candidates, groups, threads)

    def as_distinct(self, planes, order, candidates, groups, threads):
        column = np.argsort(order.rows)

        def members(columns):
            return np.sort(column[self.members(planes, order, groups.take(columns))[0]])

        evidence = Counts(BitMatrix(groups.words, planes.count), threads)
        named = replace(groups, firsts=column[groups.firsts])
        return Distinct.of_groups(named, evidence, candidates, len(order.starts) - 1, members)

    def patterns(self, planes, options):
        raise AssertionError("without open bits nobody asks for all patterns")


def facts(made):
    trace = made.trace
    return (
        made.network.digest,
        made.outcome,
        *(getattr(trace, name).tolist() for name in ("anchors", "witnesses", "coverage", "uncovered", "support")),
        *(trace.n_rejected, trace.n_drawn, trace.n_rescued),
    )


SECOND_LAYERS = [{}, {"selection": "greedy"}, {"detectors": "weighted"}]
RECIPES = st.builds(
    lambda second, **others: Recipe(conflicts="majority", **second, **others),
    st.sampled_from(SECOND_LAYERS),
    width=st.sampled_from(["adaptive", "adaptive", 40, 130]),
    min_width=st.sampled_from([0, 0, 65, 300]),
    hyperplanes=st.sampled_from(["gaussian", "bisector", "near-bisector"]),
)


@given(problems(), RECIPES, seeds)
def test_the_network_is_that_of_points_in_one_place(problem, recipe, seed):
    X, y = problem
    whole = Labelled.of_codes(X, y)
    parted = replace(whole, X=InParts(np.asarray(whole.X, dtype=np.float64)))
    assert facts(build(parted, recipe, seed)) == facts(build(whole, recipe, seed))


def test_what_memory_cannot_hold_ends_with_a_remedy():
    rng = np.random.default_rng(0)
    data = Labelled.of_codes(rng.normal(size=(200, 3)), rng.integers(0, 2, 200))
    with pytest.raises(WidthLimitError, match=r"distinct patterns of 256 hyperplanes exceed.*Use a fixed width"):
        build(replace(data, X=InParts(data.X, memory=4000)), Recipe(), 0)
