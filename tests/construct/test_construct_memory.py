"""How wide a first layer may be: bytes are counted, and what cannot fit is refused before it is tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exactfit import Options, adaptive_width, fixed_width
from exactfit.construct import memory as memory_module
from exactfit.construct.memory import Memory, Widths
from exactfit.exceptions import TooLargeError

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
Y = np.array([0, 1, 0, 1])


def memory(n_points, d, **options):
    return Memory(2**40, (n_points, d), n_points, **options)


def test_what_does_not_fit_in_memory_is_refused_before_it_is_tried():
    with pytest.raises(
        TooLargeError, match=r"width=1000000000000000 needs .* bytes for 4 points.*choose a smaller width"
    ):
        fixed_width(X, Y, 10**15)
    with pytest.raises(TooLargeError, match="choose a smaller width"):
        adaptive_width(X, Y, options=Options(min_width=10**15))


def test_memory_is_counted_with_weights_and_patterns(monkeypatch):
    assert memory(10, 3).taken_by(65) >= 65 * (4 * 3 + 8) + 2 * 8 * 10
    monkeypatch.setattr(memory_module, "usable_memory", lambda: 100_000)
    found = Memory.for_layer(X)
    width = found.largest_width()
    assert width % 64 == 0
    assert 0 < found.taken_by(width) <= 50_000 < found.taken_by(width + 64)
    found.refuse_too_large(width)
    with pytest.raises(TooLargeError):
        found.refuse_too_large(3 * width)


def test_exact_in_counts_what_may_be_on_too(monkeypatch):
    both = memory(1000, 1, open_bits=True).taken_by(64) - memory(1000, 1).taken_by(64)
    assert both == 2 * 8 * 1000 + 64 * 4
    room = memory(*X.shape).taken_by(640)
    monkeypatch.setattr(memory_module, "usable_memory", lambda: room)
    Memory.for_layer(X).refuse_too_large(640)
    assert Memory.for_layer(X, Options(exact_in="float32")).largest_width() < Memory.for_layer(X).largest_width()
    for build in (lambda r: fixed_width(X, Y, 640, r), lambda r: adaptive_width(X, Y, replace(r, min_width=640))):
        with pytest.raises(TooLargeError):
            build(Options(exact_in="float32"))


def test_sparse_hyperplanes_take_what_their_features_take():
    of_four = 64 * (12 * 4 + 8) + 2 * 8 * 10
    assert memory(10, 100_000, max_features=4).taken_by(64) == of_four
    assert memory(10, 2, max_features=4).taken_by(64) == 64 * (12 * 2 + 8) + 2 * 8 * 10
    assert memory(10, 100_000).taken_by(64) > 1000 * of_four
    options = Options(hyperplanes="sparse", max_features=(2, 7), exact_in="float64")
    assert Memory.for_layer(X, options).max_features == 7
    assert Memory.for_layer(X, Options()).max_features is None


def test_weighted_detectors_need_patterns_more_than_once(monkeypatch):
    plain = memory(1000, 1).taken_by(64)
    assert memory(1000, 1, weighted=True).taken_by(64) - plain == 8 * 1000
    monkeypatch.setattr(memory_module, "usable_memory", lambda: memory(*X.shape).taken_by(640))
    for build in (lambda r: fixed_width(X, Y, 640, r), lambda r: adaptive_width(X, Y, replace(r, min_width=640))):
        with pytest.raises(TooLargeError, match="choose a smaller width"):
            build(Options(detectors="weighted"))
    monkeypatch.setattr(memory_module, "usable_memory", lambda: 2**50)
    with pytest.raises(TooLargeError, match='at most 8388608 hyperplanes, or detectors="mask"'):
        fixed_width(X, Y, 2**23 + 1, Options(detectors="weighted"))
    assert Memory.for_layer(X, Options(detectors="weighted")).largest_width() == 2**23


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (0, 10**4, False)),
        ({"max_width": 70}, (0, 70, True)),
        ({"min_width": 65}, (65, 10**4, False)),
        ({"min_width": 12_000}, (12_000, 12_000, False)),
        ({"min_width": "auto"}, (64, 10**4, False)),
        ({"min_width": "auto", "max_width": 40}, (40, 40, True)),
    ],
)
def test_widths_are_what_is_asked_for_and_fits(options, expected, monkeypatch):
    monkeypatch.setattr(Memory, "largest_width", lambda _self: 10**4)
    found = Widths.of(X, Options(**options))
    assert (found.smallest, found.largest, found.asked) == expected


@pytest.mark.parametrize(
    ("n_points", "least"), [(4, 64), (32, 512), (256, 4096), (1024, 4096), (1025, 4096), (10**6, 4096)]
)
def test_auto_is_a_width_for_so_many_rows(n_points, least):
    points = np.broadcast_to(np.zeros(1), (n_points, 1))
    assert Widths.of(points, Options(min_width="auto")).smallest == least
