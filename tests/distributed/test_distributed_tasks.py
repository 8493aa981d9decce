"""Tasks: what chunks say of their own rows is what one loop over all rows says; empty chunks say nothing."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
import scipy.sparse as sp

from exactfit import InterpolatingClassifier, certify
from exactfit.construct.hyperplanes import Hyperplanes
from exactfit.construct.unique_patterns import NO_RANK
from exactfit.distributed.tasks import (
    SHORT_NO_RANK,
    Own,
    answers_of_chunk,
    certified_chunk,
    closest_of_chunks,
    digests_of_chunk,
    groups_of_chunk,
    hashes_of_chunk,
    members_of_chunk,
    radius_of_chunk,
    rows_of_chunk,
    survey_chunk,
)

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
    without = groups_of_chunk(X, own._replace(ranks=np.empty(0)), PLANES)
    assert without.ranks.tolist() == [NO_RANK] * 4


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
