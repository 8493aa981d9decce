"""The suspects as a page that one can hand to a colleague."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._support.html import Markup, element, html_table, joined, page
from ..tables.evidence import RowCells, Shape

if TYPE_CHECKING:
    from .listing import Suspects

READING = (
    "Each block is a row whose label looks wrong, and below it the nearest rows that it contradicts: those of other "
    "labels. The score runs from 0 (everything speaks for the label) to 1. Rows are counted from 0, after the header. "
    "A high score is a reason to look, not a verdict."
)


def suspects_page(found: Suspects, m: int, image_shape: Shape | None) -> str:
    """The ``m`` most suspicious rows with their cells or pictures, then duplicates and rows far from all others."""
    name = "data" if found.table is None else found.table.name
    told = f"{len(found):,} rows, {len(set(found.labels.tolist()))} labels. The {min(m, len(found))} most suspicious"
    return page(
        f"Labels worth checking: {name}",
        element("p", f"{told} rows are listed."),
        element("p", READING),
        suspects_table(found, m, image_shape),
        *(_notice(headline, cases) for headline, cases in found.notices(m)),
    )


def suspects_table(found: Suspects, m: int, image_shape: Shape | None) -> Markup:
    """The blocks of the ``m`` most suspicious rows, each with its cells or its picture."""
    from .listing import HEAD

    shown = None if found.table is None else RowCells.of(found.table, image_shape)
    lines: list[list[Any]] = []
    classes: list[str] = []
    for row in found.top(m).tolist():
        block = found.block(row)
        lines += [[*line, *(shown.cells(int(line[0])) if shown else [])] for line in block]
        classes += ["strong apart", *[""] * (len(block) - 1)]
    return html_table([*HEAD, *(shown.names if shown else [])], lines, classes)


def _notice(headline: str, cases: list[str]) -> Markup:
    return joined([element("h2", headline), element("ul", joined(element("li", case) for case in cases))])
