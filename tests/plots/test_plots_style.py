"""The style changes nothing outside its block, and no picture rests on colour alone."""

from __future__ import annotations

import sys
from itertools import pairwise

import matplotlib
import pytest

from exactfit import MissingDependencyError, ParameterError, Suspects
from exactfit.plots import style
from exactfit.plots.style import MARKERS, PALETTE, check_kind, color, marker, shade, tint


def lightness(hexadecimal: str) -> float:
    """CIE L*, from 0 (black) to 100 (white)."""
    channels = [int(hexadecimal[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    y = sum(share * value for share, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def test_settings_hold_inside_the_block_only() -> None:
    before = dict(matplotlib.rcParams)
    with style({"font.size": 13}):
        assert matplotlib.rcParams["font.size"] == 13
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"] == list(PALETTE)
        assert not matplotlib.rcParams["axes.spines.top"]
    assert dict(matplotlib.rcParams) == before


def test_an_error_inside_the_block_restores_settings_too() -> None:
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError), style():
        1 / 0  # noqa: B018  (the error is the point)
    assert dict(matplotlib.rcParams) == before


def test_neighbouring_colours_differ_in_grey() -> None:
    levels = [lightness(each) for each in PALETTE]
    assert min(abs(a - b) for a, b in pairwise(levels)) > 10


def test_colour_and_marker_together_are_unique() -> None:
    pairs = {(color(k), marker(k)) for k in range(2 * len(PALETTE) * len(MARKERS))}
    assert len(pairs) == 2 * len(PALETTE) * len(MARKERS)


def test_colours_are_unique_for_sixteen_classes() -> None:
    assert len({color(k) for k in range(16)}) == 16
    assert color(16) == color(0)


@pytest.mark.parametrize("index", range(20))
def test_tints_and_shades_end_in_white_black_and_the_colour(index: int) -> None:
    assert tint(index, 0.0) == (1.0, 1.0, 1.0)
    assert shade(index, 0.0) == (0.0, 0.0, 0.0)
    assert matplotlib.colors.to_hex(tint(index, 1.0)).upper() == color(index)
    assert tint(index, 1.0) == pytest.approx(shade(index, 1.0))


def test_without_matplotlib_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="pip install matplotlib"), style():
        pass


def test_a_picture_of_something_else_is_refused() -> None:
    with pytest.raises(ParameterError, match="this picture is of a Suspects, as find_suspects makes it, got int"):
        check_kind(3, Suspects, "find_suspects")
