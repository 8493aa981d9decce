"""Pages and tables in HTML: one file that holds all it shows, asks nobody, obeys no cell; and progress in notebooks."""

from __future__ import annotations

import base64
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
td{overflow-wrap:break-word;max-width:24rem}
th{background:#f2f4f7;white-space:nowrap}
.long{min-width:13rem}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.strong td{background:#fff4e0;font-weight:600}
.apart td{border-top:2px solid #8b95a3}
img{image-rendering:pixelated;width:4.5rem;height:auto;border:1px solid #d9dee5;background:#fff}
@media print{body{margin:0}.wide{overflow:visible}}
"""
# What a browser may load for such a page: pictures that stand in it, and its own style. Nothing else, and no script.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
SENTENCE = 25  # letters from which on a cell is a text to read, and its column wide
PAUSE = 0.2  # seconds between two drawings: a notebook keeps up with a few messages a second


class Markup(str):
    """HTML as it is; any other text is escaped before it becomes a part of a page."""

    __slots__ = ()


def as_html(cell: Any) -> Markup:
    """What stands in a cell, with nothing in it that a browser would obey.

    Examples
    --------
    >>> from exactfit._support.html import as_html
    >>> as_html("<script>alert(1)</script>")
    '&lt;script&gt;alert(1)&lt;/script&gt;'
    """
    return cell if isinstance(cell, Markup) else Markup(escape(escape_controls(str(cell))))


def element(name: str, content: Any, **attributes: str) -> Markup:
    """An element around a text, escaped; ``class_`` stands for class, which is a word of Python.

    Examples
    --------
    >>> from exactfit._support.html import element
    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    said = "".join(f' {key.rstrip("_")}="{as_html(value)}"' for key, value in attributes.items() if value)
    return Markup(f"<{name}{said}>{as_html(content)}</{name}>")


def joined(parts: Iterable[Markup]) -> Markup:
    """Several pieces, one after the other."""
    return Markup("".join(parts))


def html_table(header: Sequence[Any], rows: Sequence[Sequence[Any]], classes: Sequence[str] = ()) -> Markup:
    """A table, numbers at the right; ``classes`` may name one of the style for each row: strong, or apart.

    Examples
    --------
    >>> from exactfit._support.html import html_table
    >>> print(html_table(["row", "label"], [[3, "a&b"]]))  # doctest: +ELLIPSIS
    <div class="wide"><table>...<td class="n" style="text-align:right">3</td><td>a&amp;b</td>...</table></div>
    """
    right = number_columns([["" if isinstance(cell, Markup) else str(cell) for cell in row] for row in rows])
    looks = [_AT_RIGHT if right[k] else _look([row[k] for row in rows]) for k in range(len(right))]
    head = joined(element("th", name, **look) for name, look in zip(header, looks, strict=True))
    body = []
    for k, row in enumerate(rows):
        inner = joined(element("td", cell, **look) for cell, look in zip(row, looks, strict=True))
        body.append(element("tr", inner, class_=classes[k] if classes else ""))
    table = joined([element("thead", element("tr", head)), element("tbody", joined(body))])
    return element("div", element("table", table), class_="wide")


def _look(cells: Sequence[Any]) -> dict[str, str]:
    """Wide enough to read sentences, where there are any."""
    return {"class_": "long"} if any(len(cell) > SENTENCE for cell in cells if type(cell) is str) else {}


# Notebooks show tables without the page's style.
_AT_RIGHT = {"class_": "n", "style": "text-align:right"}


def facts(title: str, named: Mapping[str, Any], *more: Markup) -> Markup:
    """A headline and a line for each fact, as notebooks show a record.

    Examples
    --------
    >>> from exactfit._support.html import facts
    >>> text = facts("2 points", {"radius": "1 < 2"})
    >>> "<strong>2 points</strong>" in text, "1 &lt; 2" in text
    (True, True)
    """
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
    """Boxes from left to right with arrows between them, the taller the larger their number.

    Examples
    --------
    >>> from exactfit._support.html import boxes
    >>> boxes([("2 features", 2), ("64 hyperplanes", 64)]).count("<div")
    3
    """
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
    """An image inside the page: numbers of shape (height, width) or (height, width, 3), the lowest dark.

    They are stretched from the lowest to the highest; a constant image is black.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit._support.html import picture
    >>> picture(np.eye(2), "row 3")[:32]
    '<img src="data:image/png;base64,'
    """
    values = np.asarray(pixels, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    stretched = np.rint((values - low) * (255 / (high - low) if high > low else 0)).astype(np.uint8)
    octets = base64.b64encode(png(stretched)).decode()
    return Markup(f'<img src="data:image/png;base64,{octets}" alt="{as_html(description)}">')


def png(pixels: NDArray[np.uint8]) -> bytes:
    """The bytes of a PNG file: one value to a pixel, or three."""
    height, width = pixels.shape[:2]
    kind = GREY if pixels.ndim == 2 else COLOUR
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))  # each with its filter: none
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    octets = b"\x89PNG\r\n\x1a\n"
    for name, content in ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")):
        octets += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return octets


def page(title: str, *parts: Markup) -> str:
    """A whole document, which loads nothing and runs nothing.

    Examples
    --------
    >>> from exactfit._support.html import element, page
    >>> text = page("Rows <1>", element("p", "none"))
    >>> "<h1>Rows &lt;1&gt;</h1>" in text, "<script" in text
    (True, False)
    """
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


def in_notebook() -> bool:
    """Whether what is shown goes to a notebook's cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def notebook_bars(now: Callable[[], float] = time.monotonic) -> Iterator[Callable[[str, int, int | None], None]]:
    """Bars below the cell for every task, gone when the work is done."""
    from IPython.display import HTML, display

    shown: Any = display(HTML("\u2026"), display_id=True)
    tasks: dict[str, tuple[int, int | None]] = {}
    last = now() - PAUSE

    def tell(what: str, done: int, total: int | None) -> None:
        nonlocal last
        tasks[what] = done, total
        if now() - last >= PAUSE:
            last = now()
            shown.update(HTML(bars(tasks)))

    try:
        yield tell
    finally:
        shown.update(HTML(""))


def bars(tasks: dict[str, tuple[int, int | None]]) -> Markup:
    """A line for each task: what it is, how far it is.

    Examples
    --------
    >>> from exactfit._support.html import bars
    >>> print(bars({"cover": (3, 4)}))
    <div>cover <progress value="3" max="4"></progress> 3/4</div>
    """
    lines = []
    for what, (done, total) in tasks.items():
        known = {} if total is None else {"value": str(done), "max": str(total)}
        count = f" {done:,}" if total is None else f" {done:,}/{total:,}"
        lines.append(element("div", joined([as_html(f"{what} "), element("progress", "", **known), Markup(count)])))
    return joined(lines)
