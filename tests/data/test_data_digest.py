"""The digest of data over the digests of rows, which shards can compute; what it tells apart: test_data_labelled."""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np
import pytest

from exactfit.data import data_digest, row_digests

X = np.array([[0.5, -0.0, 3.0], [1.0, 2.0, 0.0], [0.0, 0.0, -7.25]])
y = np.array([0, 1, 0])


def naive_digest(points, labels) -> str:
    whole = hashlib.sha256(json.dumps({"shape": [len(points), len(points[0])]}).encode())
    for row, label in zip(points, labels, strict=True):
        numbers = struct.pack(f"<{len(row)}d", *(value + 0.0 for value in row))
        whole.update(hashlib.sha256(numbers + str(label).encode()).digest())
    return whole.hexdigest()


@pytest.mark.parametrize("d", [1, 2, 40, 127, 128, 129, 300])
def test_rows_short_and_long_have_the_digest_of_hashlib(d) -> None:
    points = np.random.default_rng(d).normal(size=(70, d))
    labels = [("", "a", "bc", "\N{SNOWMAN}" * 30)[k % 4] for k in range(70)]
    assert data_digest(points, labels) == naive_digest(points, labels)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False, True]), np.array([3, -200, 3], dtype=np.int16), np.array([0.0, -0.0, 0.5]),
        np.array(["a", "bcd", "a"]), np.array(["x", 7, None], dtype=object),
        np.array([2**63, 1, 2**63], dtype=np.uint64),
    ],
    ids=lambda labels: str(labels.dtype),
)  # fmt: skip
def test_labels_of_every_kind_are_their_text(labels) -> None:
    X = np.arange(6.0).reshape(3, 2)
    expected = [
        hashlib.sha256(row.tobytes() + str(label).encode()).digest()
        for row, label in zip(X, labels.tolist(), strict=True)
    ]
    assert [row.tobytes() for row in row_digests(X, labels)] == expected


def test_shards_compute_the_digests_of_their_rows() -> None:
    points, labels = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50)
    parts = [row_digests(points[low:high], labels[low:high]) for low, high in ((0, 7), (7, 7), (7, 50))]
    np.testing.assert_array_equal(np.concatenate(parts), row_digests(points, labels))


def test_the_first_version_stays_as_it_is() -> None:
    assert data_digest(X, y, version=1) == "38984f1f97deb542295c642cc11363e80a03fa42d8b46bd722ad3258315aa8d8"
