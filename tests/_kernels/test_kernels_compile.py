"""The one instruction NumPy does not lend kernels; who is told that they are compiled."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import ALL
from numba import njit
from numba.core.errors import TypingError

from exactfit._kernels.compile import compiled, popcount, watched

KERNELS = Path(__file__).parents[2] / "src" / "exactfit" / "_kernels"


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


def defined_kernels() -> set[str]:
    """Public functions that are compiled."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in KERNELS.glob("*.py")]
    functions = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if node.decorator_list and not node.name.startswith("_")}


def names_in(path: Path) -> set[str]:
    """Names that a file imports, and those that it takes of modules that it imports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    modules = {alias.asname or alias.name for alias in imported}
    taken = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    return {*(alias.name for alias in imported), *(node.attr for node in taken if node.value.id in modules)}


def test_every_kernel_that_others_call_is_called_by_a_test_of_kernels() -> None:
    others = [path for path in KERNELS.parent.rglob("*.py") if path.parent != KERNELS]
    users = [path for path in others if "_kernels" in path.read_text(encoding="utf-8")]
    called = defined_kernels() & set().union(*map(names_in, users))
    tested = set().union(*map(names_in, Path(__file__).parent.glob("test_*.py")))
    assert len(called) > 30
    assert sorted(called - tested) == []


LATER = """
import sys, pkgutil, importlib, exactfit._kernels as room
names = [f"exactfit._kernels.{one.name}" for one in pkgutil.iter_modules(room.__path__) if one.name != "cache"]
modules = [importlib.import_module(name) for name in names]
assert "numba" not in sys.modules
from exactfit._kernels.compile import watched
from exactfit._kernels.counting import full_add
told = []
with watched(told.append):
    from numba import njit
    assert njit(lambda x: x + 1)(1) == 2
    assert told == []
    full_add.load()
    assert njit(lambda x: x + 2)(1) == 3
assert told == [0, 1], told
"""


def test_the_compiler_is_loaded_by_the_first_kernel_that_is_called():
    subprocess.run([sys.executable, "-c", LATER], check=True, timeout=120)
