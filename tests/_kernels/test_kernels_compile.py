"""The one instruction NumPy does not lend kernels; who is told that they are compiled."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from kernel_inputs import ALL
from numba import njit
from numba.core.errors import TypingError

from exactfit._kernels.compile import compiled, popcount, watched


@compiled
def call_popcount(word):
    return popcount(word)


@pytest.mark.parametrize("word", [0, 1, 2**63, ALL, 2**63 - 1, 0x0123456789ABCDEF, 0xAAAAAAAAAAAAAAAA])
def test_popcount(word):
    assert call_popcount(np.uint64(word)) == word.bit_count()


def test_popcount_takes_words_only():
    with pytest.raises((TypeError, TypingError), match="popcount takes uint64"):
        call_popcount(np.int64(3))


def test_the_beginning_is_told_once_though_kernels_compile_within_kernels():
    told = []
    with watched(told.append):

        @njit
        def inner(x):
            return x + 1

        @njit
        def outer(x):
            return 2 * inner(x)

        assert outer(3) == 8
    assert told == [0, 1, 2]


LATER = """
import sys, pkgutil, importlib, exactfit._kernels as room
names = [f"exactfit._kernels.{one.name}" for one in pkgutil.iter_modules(room.__path__)]
modules = [importlib.import_module(name) for name in names]
assert "numba" not in sys.modules
from exactfit._kernels.compile import watched
from exactfit._kernels.counting import full_add
told = []
with watched(told.append):
    from numba import njit
    assert njit(lambda x: x + 1)(1) == 2
    assert told == []
    full_add.ready
    assert njit(lambda x: x + 2)(1) == 3
assert told == [0, 1], told
"""


def test_the_compiler_is_loaded_by_the_first_kernel_that_is_called():
    subprocess.run([sys.executable, "-c", LATER], check=True, timeout=120)
