"""Pages and tables in HTML: one file that holds all it shows, asks nobody and obeys no cell."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .console import escape_controls, number_columns

GREY, COLOUR = 0, 2  # PNG's numbers for one and for three values to a pixel
STYLE = """\
body{font:15px/1.45 system-ui,sans-serif;color:#1d2530;background:#fff;max-width:76rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;margin:.6rem 0}
th,td{border-bottom:1px solid #d9dee5;padding:.28rem .6rem;text-align:left;vertical-align:top}
td{overflow-wrap:break-word;min-width:3rem;max-width:24rem}
th{background:#f2f4f7;white-space:nowrap}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.strong td{background:#fff4e0;font-weight:600}
.apart td{border-top:2px solid #8b95a3}
img{image-rendering:pixelated;width:4.5rem;height:auto;border:1px solid #d9dee5;background:#fff}
@media print{body{margin:0}.wide{overflow:visible}}
"""
# What a browser may load for such a page: pictures that stand in it, and its own style. Nothing else, and no script.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"


class Markup(str):
    """HTML as it is; any other text is escaped before it becomes a part of a page."""

    __slots__ = ()


def as_html(cell: Any) -> Markup:
    """Escape a cell, so that there is nothing in it that a browser would obey."""
    return cell if isinstance(cell, Markup) else Markup(escape(escape_controls(str(cell))))


def element(name: str, content: Any, **attributes: str) -> Markup:
    """Return an element around a text, escaped; ``class_`` is its class."""
    said = "".join(f' {key.rstrip("_")}="{as_html(value)}"' for key, value in attributes.items() if value)
    return Markup(f"<{name}{said}>{as_html(content)}</{name}>")


def joined(parts: Iterable[Markup]) -> Markup:
    """Return several pieces, one after the other."""
    return Markup("".join(parts))


def html_table(header: Sequence[Any], rows: Sequence[Sequence[Any]], classes: Sequence[str] = ()) -> Markup:
    """Return a table, numbers at the right; ``classes`` may name one of the style for each row: strong, or apart."""
    right = number_columns([["" if isinstance(cell, Markup) else str(cell) for cell in row] for row in rows])
    # Notebooks show tables without the page's style.
    looks = [{"class_": "n", "style": "text-align:right"} if at_right else {} for at_right in right]
    looks = looks or [{}] * len(header)
    head = joined(element("th", name, **look) for name, look in zip(header, looks, strict=True))
    body = []
    for k, row in enumerate(rows):
        inner = joined(element("td", cell, **look) for cell, look in zip(row, looks, strict=True))
        body.append(element("tr", inner, class_=classes[k] if classes else ""))
    table = joined([element("thead", element("tr", head)), element("tbody", joined(body))])
    return element("div", element("table", table), class_="wide")


def facts(title: str, named: Mapping[str, Any], *more: Markup) -> Markup:
    """Return a headline and a line for each fact, as notebooks show a record."""
    left, mono = {"style": "text-align:left"}, {"style": "text-align:left;font-family:monospace"}
    cells = ([element("th", name, **left), element("td", text, **mono)] for name, text in named.items())
    lines = [element("tr", joined(line)) for line in cells]
    return element("div", joined([element("strong", title), element("table", joined(lines)), *more]))


class FactsBelow:
    """Notebooks show an estimator as scikit-learn draws it, and below it what ``_fitted_html`` says of a fitted one."""

    def _fitted_html(self) -> str:
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        drawn: str = super()._repr_html_inner()  # type: ignore[misc]
        return drawn + self._fitted_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        return {kind: text + self._fitted_html() * (kind == "text/html") for kind, text in bundle.items()}


def boxes(texts: Sequence[tuple[str, int]]) -> Markup:
    """Return boxes from left to right with arrows between them, the taller the larger their number."""
    arrow = element("span", "\u2192", style="margin:0 .4rem")
    drawn = [element("div", text, style=_BOX.format(min(28 + 10 * size.bit_length(), 180))) for text, size in texts]
    inner = [part for box in drawn for part in (arrow, box)][1:]
    return element("div", joined(inner), style="display:flex;align-items:center;flex-wrap:wrap;margin:.4rem 0")


# The colours are the notebook's own, light or dark. Height: pixels, growing with the logarithm of a layer's width.
_BOX = (
    "border:1px solid currentColor;border-radius:4px;padding:.2rem .6rem;min-height:{}px;display:flex;"
    "align-items:center;text-align:center;max-width:9rem"
)


def picture(pixels: NDArray[Any], description: str) -> Markup:
    """Return an image inside the page: numbers of shape (height, width) or (height, width, 3), the lowest dark.

    They are stretched from the lowest to the highest; a constant image is black.
    """
    values = np.asarray(pixels, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    stretched = np.rint((values - low) * (255 / (high - low) if high > low else 0)).astype(np.uint8)
    content = base64.b64encode(png(stretched)).decode()
    return Markup(f'<img src="data:image/png;base64,{content}" alt="{as_html(description)}">')


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return the bytes of a PNG file: one value to a pixel, or three."""
    # Neither matplotlib nor Pillow is installed with exactfit, and the format is three chunks.
    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))  # each with its filter: none
    head = struct.pack(">IIBBBBB", width, height, 8, GREY if pixels.ndim == 2 else COLOUR, 0, 0, 0)
    written = b"\x89PNG\r\n\x1a\n"
    for name, content in ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")):
        written += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return written


def page(title: str, *parts: Markup) -> str:
    """Return a whole document, which loads nothing and runs nothing."""
    head = joined(
        [
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            Markup('<meta name="viewport" content="width=device-width">'),
            element("title", title),
            element("style", Markup(STYLE)),
        ]
    )
    body = joined([element("h1", title), *parts])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'
