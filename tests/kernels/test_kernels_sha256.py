"""SHA-256 of rows is hashlib's, whatever the length of messages and how many lanes they fill."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactfit._kernels.sha256 import LANES, sha256_rows


def padded(message: bytes) -> bytes:
    """The standard's padding: one bit, zeros, and the length in bits."""
    zeros = -(len(message) + 9) % 64
    return message + b"\x80" + bytes(zeros) + (8 * len(message)).to_bytes(8, "big")


def digests(messages: list[bytes]) -> list[bytes]:
    blocks = np.frombuffer(b"".join(map(padded, messages)), dtype=np.uint8).reshape(len(messages), -1)
    out = np.empty((len(messages), 32), dtype=np.uint8)
    sha256_rows(blocks.copy(), out)
    return [row.tobytes() for row in out]


@given(st.integers(0, 150), st.integers(1, 2 * LANES + 1), st.integers(0, 2**32))
def test_it_is_that_of_the_standard_library(length, count, seed):
    rng = np.random.default_rng(seed)
    messages = [rng.bytes(length) for _ in range(count)]
    assert digests(messages) == [hashlib.sha256(message).digest() for message in messages]


@pytest.mark.parametrize("length", [0, 1, 55, 56, 63, 64, 119, 120, 1024])
def test_it_is_so_where_padding_takes_another_block(length):
    assert digests([b"\xff" * length]) == [hashlib.sha256(b"\xff" * length).digest()]
