"""A comparison as text: columns in blocks as wide as the terminal, reasons below."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .record import Comparison, Row

DEFAULT_WIDTH = 100
GAP = "  "

_LETTERS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**4, "k"))


def count(value: int | None) -> str:
    """A size, in short.

    Examples
    --------
    >>> from exactfit.lab.comparison.table import count
    >>> [count(value) for value in (None, 0, 9876, 50_618, 2_300_000)]
    ['-', '0', '9,876', '50.6k', '2.30M']
    """
    if value is None:
        return "-"
    for size, letter in _LETTERS:
        if value >= size:
            unit = 1000 if letter == "k" else size
            return f"{value / unit:#.3g}".rstrip(".") + letter
    return f"{value:,}"


def number(value: float | None) -> str:
    """A number to three digits.

    Examples
    --------
    >>> from exactfit.lab.comparison.table import number
    >>> [number(value) for value in (None, 0.0, 3.0, 0.01234, 2.4e11, float("inf"))]
    ['-', '0', '3', '0.0123', '2.4e+11', 'inf']
    """
    return "-" if value is None else f"{value:.3g}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _proof(row: Row) -> str:
    if row.certified:
        return row.proof
    return "no" if row.kind == "construction" else row.kind


_COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("certified", _proof),
    ("depth", lambda row: count(row.depth)),
    ("neurons", lambda row: count(row.neurons)),
    ("parameters", lambda row: count(row.parameters)),
    ("nonzero", lambda row: count(row.nonzero)),
    ("distinct", lambda row: count(row.distinct)),
    ("bits", lambda row: count(row.bits_per_weight)),
    ("total bits", lambda row: count(row.total_bits)),
    ("max weight", lambda row: number(row.largest_weight)),
    ("radius >=", lambda row: number(row.robust_radius)),
    ("radius <=", lambda row: number(row.radius_upper)),
    ("seconds", lambda row: number(row.build_seconds)),
    ("held out", lambda row: _share(row.accuracy)),
    ("radius by", lambda row: row.radius_method),
)
_WORDS = {"certified", "radius by"}  # read from the left; numbers are aligned on the right


def to_text(comparison: Comparison, width: int | None = None) -> str:
    """Headline, table, winners, reasons."""
    width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if width is None else width
    parts = [_wrapped(_headline(comparison), width), *_blocks(comparison.rows, width)]
    parts += ["\n".join(_wrapped(line, width) for line in _winners(comparison))]
    parts += ["\n".join(_wrapped(f"{row.name}: {row.reason}", width) for row in comparison.rows if row.reason)]
    if comparison.missing:
        parts.append(_wrapped(f"interrupted, so not run: {', '.join(comparison.missing)}", width))
    return "\n\n".join(part for part in parts if part)


def _headline(comparison: Comparison) -> str:
    held_out = f"{comparison.n_held_out:,} held out" if comparison.n_held_out else "none held out"
    return (
        f"built on {comparison.n_samples:,} points of {comparison.n_features:,} features "
        f"and {comparison.n_classes:,} classes, {held_out}; {comparison.time_limit:g} s each"
    )


def _wrapped(line: str, width: int) -> str:
    return textwrap.fill(line, max(width, 20), subsequent_indent="  ", break_on_hyphens=False)


def _blocks(rows: Sequence[Row], width: int) -> list[str]:
    """The table, cut into blocks that fit; each begins with the names."""
    names = _column("", [row.name for row in rows], left=True)
    blocks = [names]
    for title, cell in _COLUMNS:
        column = _column(title, [cell(row) for row in rows], left=title in _WORDS)
        if blocks[-1] is not names and len(blocks[-1][0]) + len(GAP) + len(column[0]) > width:
            blocks.append(names)
        blocks[-1] = [GAP.join(pair) for pair in zip(blocks[-1], column, strict=True)]
    return ["\n".join(line.rstrip() for line in block) for block in blocks]


def _column(title: str, cells: list[str], left: bool) -> list[str]:
    size = max(map(len, [title, *cells]))
    return [text.ljust(size) if left else text.rjust(size) for text in (title, *cells)]


def _winners(comparison: Comparison) -> list[str]:
    """Who is first among the certified networks."""
    smallest, robust, fastest = comparison.smallest, comparison.most_robust, comparison.fastest
    lines = []
    if smallest is not None:
        lines.append(f"smallest certified network: {smallest.name}, {count(smallest.total_bits)} bits")
    if robust is not None:
        lines.append(f"most robust: {robust.name}, at least {number(robust.robust_radius)}")
    if fastest is not None:
        lines.append(f"fastest to build: {fastest.name}, {number(fastest.build_seconds)} s")
    return lines
