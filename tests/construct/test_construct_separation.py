"""Open pairs agree with the one-hyperplane-at-a-time twin, whatever the patterns, budget and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from helpers.twins import n_group_pairs, open_matrices, open_matrix
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from exactfit._support.threads import Threads
from exactfit.construct import separation
from exactfit.construct.separation import OpenPairs

Words = NDArray[np.uint64]
BUDGETS = (0, 20, 200, 2**24)


@pytest.fixture(scope="module", params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[Threads]:
    with Threads(request.param) as pool:
        yield pool


def any_words(n: int, rng: np.random.Generator) -> Words:
    return rng.integers(0, 2**64, n, dtype=np.uint64)


def single_bits(n: int, rng: np.random.Generator) -> Words:
    return np.uint64(1) << rng.integers(0, 64, n, dtype=np.uint64)


KINDS: dict[str, Callable[[int, np.random.Generator], Words]] = {
    "random": any_words,
    "few": lambda n, rng: any_words(3, rng)[rng.integers(0, 3, n)],
    "equal": lambda n, rng: np.repeat(any_words(1, rng), n),
    "nested": lambda n, rng: single_bits(n, rng) - np.uint64(1),
    "sparse": lambda n, rng: any_words(n, rng) & any_words(n, rng) & any_words(n, rng),
    "last bit": lambda n, rng: rng.integers(0, 2, n, dtype=np.uint64) << np.uint64(63),
    "one bit": single_bits,
}


@st.composite
def problems(draw: st.DrawFn) -> tuple[NDArray[np.int64], list[int], list[Words]]:
    n = draw(st.integers(1, 40))
    n_classes = draw(st.sampled_from([1, 2, 3, 10, n]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    y = rng.integers(0, n_classes, n)
    targets = list(range(n_classes)) if draw(st.booleans()) else [draw(st.integers(0, n_classes - 1))]
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6))
    blocks = [KINDS[kind](n, rng) for kind in kinds]
    if draw(st.booleans()):  # fewer hyperplanes to tell points apart
        blocks = [words & np.uint64(draw(st.integers(0, 2**64 - 1))) for words in blocks]
    return y, targets, blocks


def point_pairs(pairs: OpenPairs) -> NDArray[np.int64]:
    chunks = [np.stack(chunk, axis=1) for chunk in pairs.iter_point_pairs()]
    return np.concatenate(chunks) if chunks else np.empty((0, 2), np.int64)


def check_open(pairs: OpenPairs, is_open: NDArray[np.bool_], n_groups: int, budget: int) -> None:
    assert pairs.closed == (not is_open.any())
    assert pairs.n_point_pairs() == is_open.sum()
    count, exact = pairs.n_group_pairs()
    assert count == n_groups <= budget if exact else 0 < count <= n_groups
    np.testing.assert_array_equal(point_pairs(pairs), np.argwhere(is_open))


def check(
    y: NDArray[np.int64], targets: Sequence[int], blocks: Sequence[Words], threads: Threads, budget: int = 2**24
) -> None:
    matrices = open_matrices(y, targets, blocks)
    pairs = OpenPairs(y, targets, threads=threads, budget=budget)
    for n, words in enumerate([None, *blocks]):
        if words is not None:
            pairs.add(words)
        check_open(pairs, matrices[64 * n], n_group_pairs(matrices[64 * n], y, blocks[:n]), budget if n else 2**24)
        if pairs.closed:
            assert pairs.needed_width() == next(k for k, open_ in enumerate(matrices) if not open_.any())


@settings(deadline=None)
@given(problem=problems())
@pytest.mark.parametrize("budget", BUDGETS)
def test_agrees_with_the_naive_twin(threads: Threads, budget: int, problem) -> None:
    y, targets, blocks = problem
    check(y, targets, blocks, threads, budget)


@pytest.mark.parametrize("budget", [7, 2**24])
@pytest.mark.parametrize("n", [separation.TILE - 1, separation.TILE, 3 * separation.TILE + 5])
def test_more_points_than_a_tile(threads: Threads, n: int, budget: int) -> None:
    rng = np.random.default_rng(n)
    for make in KINDS.values():
        y = rng.integers(0, 3, n)
        blocks = [make(n, rng) & rng.integers(0, 2**64, dtype=np.uint64) for _ in range(2)]
        check(y, [0, 1, 2], blocks, threads, budget)


@pytest.mark.parametrize("budget", [0, 1000, 2**24])
@pytest.mark.parametrize("n_bits", [6, 14, 40])
def test_many_tiles(threads: Threads, n_bits: int, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough children that tiles share leading bits and are skipped whole, some within a group only."""
    monkeypatch.setattr(separation, "RUNS_PER_CALL", 10)
    rng = np.random.default_rng(n_bits)
    n = 16 * separation.TILE + 77
    y = rng.integers(0, 3, n)
    keep = np.bitwise_or.reduce(single_bits(n_bits // 2, rng))
    blocks = [any_words(n, rng) & keep | single_bits(n, rng) for _ in range(3)]
    pairs = OpenPairs(y, [0, 2], threads=threads, budget=budget)
    for k, words in enumerate(blocks, start=1):
        pairs.add(words)
        expected = open_matrix(y, [0, 2], blocks[:k])
        check_open(pairs, expected, n_group_pairs(expected, y, blocks[:k]), budget)


@pytest.mark.parametrize("budget", [0, 1000, 2**24])
def test_the_width_over_many_tiles_is_the_smallest(threads: Threads, budget: int) -> None:
    rng = np.random.default_rng(budget)
    n = 16 * separation.TILE + 77
    y = rng.integers(0, 3, n)
    blocks = [any_words(n, rng) for _ in range(2)]
    pairs = OpenPairs(y, [0, 1, 2], threads=threads, budget=budget)
    for words in blocks:
        pairs.add(words)
    width = pairs.needed_width()
    for n_bits, is_open in ((width - 1, True), (width, False)):
        mask = [np.uint64(((1 << n_bits) - 1) >> (64 * block) & (2**64 - 1)) for block in range(2)]
        cut = [words & used for words, used in zip(blocks, mask, strict=True)]
        assert open_matrix(y, [0, 1, 2], cut).any() == is_open


@pytest.mark.parametrize("name", ["PIECE", "CHUNK", "RUNS_PER_CALL"])
def test_pieces_of_work_do_not_show(threads: Threads, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, name, 10)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    blocks = [KINDS[kind](150, rng) for kind in ("last bit", "nested", "sparse", "one bit")]
    for budget in BUDGETS:
        check(y, [0, 1], blocks, threads, budget)


@pytest.mark.parametrize("budget", [0, 2**24])
def test_the_width_ends_at_any_bit(threads: Threads, budget: int) -> None:
    for last in range(1, 128):
        # Bit last - 1 separates row 0 from row 2, and bit last separates row 1 from it.
        patterns = [0, 1 << (last - 1), 3 << (last - 1)]
        pairs = OpenPairs(np.array([0, 0, 1]), [0], threads=threads, budget=budget)
        for block in range(2):
            pairs.add(np.array([(pattern >> (64 * block)) % 2**64 for pattern in patterns], dtype=np.uint64))
        assert pairs.needed_width() == last + 1


def test_chunks_are_bounded(monkeypatch: pytest.MonkeyPatch, threads: Threads) -> None:
    monkeypatch.setattr(separation, "CHUNK", 64)
    y = np.arange(100) % 2
    pairs = OpenPairs(y, [0, 1], threads=threads)
    sizes = [len(a) for a, _ in pairs.iter_point_pairs()]
    assert sum(sizes) == 5000
    assert max(sizes) < 64 + 50


def test_group_pairs_are_exact_within_the_budget_and_a_lower_bound_beyond(threads: Threads) -> None:
    y = np.array([0, 0, 1, 1])
    words = np.array([0, 0, 0, 1], dtype=np.uint64)
    within, beyond = (OpenPairs(y, [0, 1], threads=threads, budget=budget) for budget in (1000, 2))
    assert within.n_group_pairs() == (2, True)
    within.add(words)
    beyond.add(words)
    # Rows 0 and 1 are one group: open are (01, 2), (2, 01) and (3, 01).
    assert within.n_group_pairs() == (3, True)
    assert beyond.n_group_pairs() == (1, False)
    assert within.n_point_pairs() == beyond.n_point_pairs() == 6


def test_points_in_no_open_pair_leave(threads: Threads) -> None:
    y = np.array([0, 0, 0, 1, 1])
    pairs = OpenPairs(y, [0], threads=threads)
    pairs.add(np.array([0, 0, 1, 1, 2], dtype=np.uint64))
    assert list(pairs._rows) == [2, 3]


def test_every_point_its_own_class(threads: Threads) -> None:
    n = 200
    y = np.arange(n)
    pairs = OpenPairs(y, range(n), threads=threads)
    assert pairs.n_group_pairs() == (n * (n - 1), True)
    assert pairs._level.first.size <= 2 * n  # not one entry per pair of classes
    rng = np.random.default_rng(0)
    check(y, range(n), [any_words(n, rng) for _ in range(2)], threads)


def test_one_class_needs_nothing(threads: Threads) -> None:
    pairs = OpenPairs(np.zeros(3, np.int64), [0], threads=threads)
    assert pairs.closed
    assert pairs.needed_width() == 0
    pairs.add(np.zeros(3, np.uint64))
    assert pairs.needed_width() == 0
    assert list(pairs.iter_point_pairs()) == []


def test_no_points_need_nothing(threads: Threads) -> None:
    pairs = OpenPairs(np.empty(0, np.int64), [0], threads=threads)
    assert pairs.closed
    assert pairs.needed_width() == pairs.n_point_pairs() == 0


def test_further_blocks_leave_the_width_alone(threads: Threads) -> None:
    pairs = OpenPairs(np.array([0, 1]), [0], threads=threads)
    for word in (0, 2**63, 1):
        pairs.add(np.array([0, word], dtype=np.uint64))
    assert pairs.needed_width() == 128


def test_no_width_while_pairs_are_open(threads: Threads) -> None:
    with pytest.raises(ValueError, match="still open"):
        OpenPairs(np.array([0, 1]), [0], threads=threads).needed_width()


@pytest.mark.parametrize("words", [np.zeros(3, np.uint64), np.zeros(2, np.int64), np.zeros((2, 1), np.uint64)])
def test_refuses_anything_but_one_word_per_point(threads: Threads, words: NDArray[np.generic]) -> None:
    with pytest.raises(ValueError, match="expected 2 words"):
        OpenPairs(np.array([0, 1]), [0], threads=threads).add(words)  # type: ignore[arg-type]
