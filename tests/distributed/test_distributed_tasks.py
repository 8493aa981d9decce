"""Tasks: what chunks say of their own rows is what one loop over all rows says; empty chunks say nothing.

Patterns that stay in parts: limits, claims and words are those of the same patterns in one place.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from exactfit import InterpolatingClassifier, certify
from exactfit._support.threads import SERIAL
from exactfit.construct.evidence import Counts
from exactfit.construct.hyperplanes import Hyperplanes
from exactfit.construct.unique_patterns import NO_RANK, ClassOrder, PatternGroups
from exactfit.distributed.runner import Runner, delayed
from exactfit.distributed.tasks import (
    SHORT_NO_RANK,
    KeptCounts,
    Own,
    answers_of_chunk,
    certified_chunk,
    closest_of_chunks,
    digests_of_chunk,
    groups_of_chunk,
    hashes_of_chunk,
    join_parts,
    members_of_chunk,
    radius_of_chunk,
    rows_of_chunk,
    split_groups,
    survey_chunk,
)
from exactfit.network.bits import BitMatrix

X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.0, 2.0], [-0.0, 2.0]])
PLANES = Hyperplanes(np.eye(2, dtype=np.float32), np.array([-0.75, -1.0]))  # on beyond x = 3/4 and beyond y = 1


def test_a_survey_counts_sums_and_hashes():
    found = survey_chunk(X, True)
    assert (found.n_rows, found.n_features, found.not_finite) == (5, 2, -1)
    assert found.total.over(1).tolist() == [1.5, 4.0]
    assert (found.hashes[3] == found.hashes[4], len(set(found.hashes.tolist()))) == (True, 4)
    assert not len(survey_chunk(X, False).hashes)
    spoilt = X.copy()
    spoilt[2, 1] = np.inf
    assert survey_chunk(spoilt, True).not_finite == 2


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda points: points.astype(np.float32)])
def test_rows_and_radii(make):
    chunk = make(X)
    assert rows_of_chunk(chunk, np.array([3, 0])).tolist() == [[0.0, 2.0], [0.0, 0.0]]
    radius, digests = radius_of_chunk(chunk, None, np.zeros(2))
    assert (radius, digests.shape) == (2.0, (0, 32))
    labels = np.arange(len(X))
    radius, digests = radius_of_chunk(chunk, labels, np.zeros(2))
    assert (radius, digests.tolist()) == (2.0, digests_of_chunk(chunk, labels).tolist())
    assert radius_of_chunk(make(X[:0]), None, np.zeros(2))[0] == 0.0


def test_the_closest_rows_of_two_chunks():
    assert closest_of_chunks(X[:2], X[2:], np.array([0, 1, 0, 1, 1])) == (0.5, (1, 2))
    assert closest_of_chunks(sp.csr_array(X[:2]), sp.csr_array(X[2:]), np.array([0, 1, 0, 1, 1])) == (0.5, (1, 2))
    assert closest_of_chunks(X[:2], X[2:], np.zeros(5, dtype=np.int64))[0] == np.inf


def test_hashes_of_all_parts_are_all_hashes():
    whole = survey_chunk(X, True).hashes
    parts = [hashes_of_chunk(X, part, 3) for part in range(3)]
    assert sorted(row for rows, _ in parts for row in rows) == list(range(5))
    assert all((whole[rows] == hashes).all() for rows, hashes in parts)


def test_groups_are_rows_of_one_class_and_pattern_and_know_their_members():
    own = Own(10, np.array([0, 0, 0, 1, 0], dtype=np.uint8), np.array([4, 3, 2, SHORT_NO_RANK, 0], dtype=np.uint32))
    groups = groups_of_chunk(X, own, PLANES)
    assert groups.words.tolist() == [[0, 1, 2, 2]]
    assert groups.codes.tolist() == [0, 0, 0, 1]
    assert groups.sizes.tolist() == [2, 1, 1, 1]
    assert groups.firsts.tolist() == [10, 11, 14, 13]
    assert groups.ranks.tolist() == [2, 3, 0, NO_RANK]
    rows, places = members_of_chunk(X, own, PLANES, groups.take(np.array([0, 3])))
    assert (rows.tolist(), places.tolist()) == ([10, 12, 13], [0, 0, 1])
    assert Own(0, own.codes, np.empty(0)).all_ranks().tolist() == [NO_RANK] * 5


def test_digests_are_those_of_rows():
    expected = [hashlib.sha256(struct.pack("<2d", *(row + 0.0)) + str(k).encode()).digest() for k, row in enumerate(X)]
    assert [row.tobytes() for row in digests_of_chunk(X, np.arange(5))] == expected
    assert digests_of_chunk(X[:0], np.arange(0)).shape == (0, 32)


def test_answers_and_proofs_are_those_of_the_model():
    y = np.array([0, 1, 0, 1, 1])
    model = InterpolatingClassifier(random_state=0).fit(X, y)
    nothing = np.empty(0, dtype=y.dtype)
    assert answers_of_chunk(X, (model, "predict", nothing)).tolist() == y.tolist()
    assert answers_of_chunk(X[:0], (model, "predict", nothing)) is nothing
    certificate, digests = certified_chunk(X, y, model, {})
    assert str(certificate) == str(certify(model, X, y))
    assert digests.tolist() == digests_of_chunk(X, y).tolist()
    assert certified_chunk(X[:0], y[:0], model, {})[0] is None


@given(st.integers(2, 25), st.integers(1, 130), st.integers(1, 5), st.integers(0, 2**32))
def test_evidence_in_parts_is_evidence_in_one_place(n_points, n_bits, n_parts, seed):
    rng = np.random.default_rng(seed)
    bits = BitMatrix.from_bool(rng.random((n_points, n_bits)) < 0.5)
    codes = np.concatenate([[0, 1], rng.integers(0, 2, n_points - 2)])
    half = n_points // 2
    chunks = [
        PatternGroups.of(bits.take(rows).words, codes[rows], rows, rng.permutation(len(rows)))
        for rows in (np.arange(half), np.arange(half, n_points))
        if len(rows)
    ]
    splits = [split_groups(groups, n_parts) for groups in chunks]
    parts = [join_parts(*(split[k] for split in splits)) for k in range(n_parts)]
    kept = KeptCounts([delayed(part) for part in parts], n_bits, Runner())

    whole = PatternGroups.joined(chunks)
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
        own = kept.masked_counts(anchors[usable], kept.select(slice(*target))) < limits[usable, None]
        claims = counts.masked_counts(anchors[usable], counts.select(slice(*target))) < expected[usable, None]
        assert own.tolist() == claims.tolist()
