"""Patterns that stay in parts: limits, claims and words are those of the same patterns in one place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit._support.threads import SERIAL
from exactfit.construct.distinct import ClassOrder, Groups
from exactfit.construct.evidence import Counts
from exactfit.distributed.kept import KeptCounts, join_parts, part_of, split_groups
from exactfit.distributed.runner import Runner
from exactfit.network.bits import BitMatrix

dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@given(st.integers(2, 25), st.integers(1, 130), st.integers(1, 5), st.integers(0, 2**32))
def test_evidence_in_parts_is_evidence_in_one_place(n_points, n_bits, n_parts, seed):
    rng = np.random.default_rng(seed)
    bits = BitMatrix.from_bool(rng.random((n_points, n_bits)) < 0.5)
    codes = np.concatenate([[0, 1], rng.integers(0, 2, n_points - 2)])
    half = n_points // 2
    chunks = [
        Groups.of(bits.take(rows).words, codes[rows], rows, rng.permutation(len(rows)))[0]
        for rows in (np.arange(half), np.arange(half, n_points))
        if len(rows)
    ]
    splits = [split_groups(groups, n_parts) for groups in chunks]
    parts = [join_parts(*(part_of(split, k) for split in splits)) for k in range(n_parts)]
    kept = KeptCounts([dask.delayed(part) for part in parts], n_bits, Runner())

    whole = Groups.joined(chunks)
    counts = Counts(BitMatrix(whole.words, n_bits), SERIAL)
    assert kept.groups.firsts.tolist() == whole.firsts.tolist()
    everyone = np.arange(len(whole))
    assert kept.highest.take(everyone).words.tolist() == whole.words.tolist()
    order = ClassOrder.of(whole.codes)
    for k in range(2):
        target, rest = order.target(k), order.rest(k)
        assert kept.cost(rest) == counts.cost(rest)
        anchors = np.arange(*target)
        limits, witnesses = kept.limits(anchors, rest)
        expected, first = counts.limits(anchors, rest)
        usable = expected > 0
        assert limits.tolist() == expected.tolist()
        assert witnesses[usable].tolist() == first[usable].tolist()
        own = kept.heights(anchors[usable], kept.select(slice(*target))) < limits[usable, None]
        claims = counts.heights(anchors[usable], counts.select(slice(*target))) < expected[usable, None]
        assert own.tolist() == claims.tolist()
