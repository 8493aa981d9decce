"""Rows in chunks say of themselves what all rows in one place say, for any chunks."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.problems import InChunks
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit._support.threads import SERIAL
from exactfit.construct import Options
from exactfit.construct.hyperplanes import GaussianSampler
from exactfit.construct.unique_patterns import ClassOrder, candidates_of
from exactfit.data import data_digest
from exactfit.distributed.runner import Runner
from exactfit.distributed.shards import Shards, gathered_labels, is_collection, row_chunks
from exactfit.exceptions import DataError, TooLargeError

da = pytest.importorskip("dask.array")


@st.composite
def parts(draw):
    """Points on a coarse grid, so that patterns repeat, in chunks of any lengths, with two or three classes."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(-3, 4, (sum(lengths) + 3, 2)) / 2
    y = np.concatenate([[0, 1, 1], rng.integers(0, 3, sum(lengths))])
    _, y = np.unique(y, return_inverse=True)
    return X, y, da.from_array(X, chunks=((*lengths, 3), 2))


def columns(groups):
    return [getattr(groups, name).tolist() for name in ("words", "codes", "sizes", "firsts", "ranks")]


@settings(max_examples=20)
@given(parts(), st.integers(1, 70))
def test_shards_say_what_all_rows_say(given_parts, width):
    X, y, chunks = given_parts
    shards, naive = Shards.of(chunks, Runner()), InChunks(X)
    assert (shards.shape, len(shards)) == (naive.shape, len(X))
    np.testing.assert_array_equal(shards.mean(), naive.mean())
    shards.labels = y
    assert shards.radius(shards.mean()) == naive.radius(naive.mean())
    told = len(shards.runner.seconds)
    assert shards.digest(y) == data_digest(X, y)  # found with the radius: nobody is asked again
    assert len(shards.runner.seconds) == told
    assert shards.digest(y.copy()) == data_digest(X, y)
    (rows, hashes), (all_rows, all_hashes) = *shards.hashed_rows(), *naive.hashed_rows()
    assert (rows.tolist(), hashes.tolist()) == (all_rows.tolist(), all_hashes.tolist())
    some = np.random.default_rng(width).integers(0, len(X), (5, 4))
    np.testing.assert_array_equal(shards[some[0]], naive[some[0]])
    assert shards.digest(y) == data_digest(X, y)
    assert shards.closest_pair(y) == naive.closest_pair(y)

    planes = GaussianSampler(X, np.random.SeedSequence(width), max_bias="radius", center=True).first(width)
    order = ClassOrder.of(y)
    candidates = candidates_of(order, tuple(range(int(y.max()) + 1)), np.random.SeedSequence(1))
    groups = shards.groups(planes, order, candidates)
    assert columns(groups) == columns(naive.groups(planes, order, candidates))
    half = groups.take(np.arange(0, len(groups), 2))
    for found, expected in zip(shards.members(planes, order, half), naive.members(planes, order, half), strict=True):
        assert found.tolist() == expected.tolist()
    here, there = (one.unique_patterns(planes, order, candidates, SERIAL) for one in (shards, naive))
    assert here.order.rows.tolist() == there.order.rows.tolist()
    assert here.leaders.tolist() == there.leaders.tolist()
    assert [own.tolist() for own in here.candidates.values()] == [own.tolist() for own in there.candidates.values()]
    every = np.arange(len(here.leaders))
    assert here.members(every).tolist() == there.members(every).tolist()
    options = Options(margin=0.1)
    assert shards.patterns(planes, options).maybe.words.tolist() == naive.patterns(planes, options).maybe.words.tolist()


def test_rows_that_will_not_do_are_named_by_their_number_among_all():
    with pytest.raises(DataError, match="row 3 of X holds NaN"):
        Shards.of(da.from_array(np.array([[0.0], [1.0], [2.0], [np.nan]]), chunks=(2, 1)), Runner())


def test_patterns_beyond_the_memory_are_refused():
    shards = Shards.of(da.from_array(np.arange(20.0)[:, None], chunks=(5, 1)), Runner(), memory=100)
    planes = GaussianSampler(np.ones((2, 1)), np.random.SeedSequence(0), max_bias=1.0, center=False).first(64)
    with pytest.raises(TooLargeError, match="patterns of all 20 points here, 320 bytes, memory_limit allows 100"):
        shards.patterns(planes, Options(margin=0.1))


def test_labels_are_gathered_in_order():
    y = np.array(["b", "a", "c", "a"])
    chunks = da.from_array(y, chunks=(3,))
    assert is_collection(chunks)
    assert not is_collection(y)
    assert gathered_labels(chunks, Runner()).tolist() == y.tolist()
    assert gathered_labels(y, Runner()) is y
    assert len(row_chunks(da.zeros((6, 4), chunks=(2, 2)))) == 3
