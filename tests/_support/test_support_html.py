"""HTML: escaped whatever stands in a cell, whole in one file, pictures that other programs read."""

import io
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from exactfit._support.html import Markup, as_html, element, html_table, page, picture, png

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</table></body><iframe src='https://example.org'>",
    "' onmouseover='alert(1)",
    "&lt;b&gt; &#60;",
    "\x1b]0;title\x07 \u202e backwards",
]


class Reader(HTMLParser):
    """What a browser would make of a page: the elements, their attributes, and the text of each cell."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.cells, self._inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self._inside = True
            self.cells.append("")

    def handle_endtag(self, tag):
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self._inside:
            self.cells[-1] += data


@pytest.mark.parametrize("cell", HOSTILE)
def test_a_hostile_cell_is_text(cell):
    text = page(cell, html_table([cell], [[cell]]), element("p", cell, title=cell))
    read = Reader(text)
    assert {name for name, _ in read.elements} <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "div", "table", "thead", "tbody", "tr", "th", "td"),
        "p",
    }
    assert not [key for _, given in read.elements for key in given if key.startswith("on")]
    assert read.cells[0] == read.cells[1]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp"])))
def test_what_a_cell_holds_is_what_is_read(text):
    assert Reader(html_table(["a"], [[text]])).cells[1] == text


def test_a_page_asks_nobody_for_anything():
    text = page("title", picture(np.eye(3), "eye"))
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src 'none'" in text
    sources = [given["src"] for _, given in Reader(text).elements if "src" in given]
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_numbers_stand_at_the_right():
    names = [
        given.get("class") for name, given in Reader(html_table("ab", [[1, "x"], ["", 2]])).elements if name == "td"
    ]
    assert names == ["n", None, "n", None]


def test_rows_may_be_marked():
    table = html_table("a", [[1], [2]], ["strong", ""])
    assert [given for name, given in Reader(table).elements if name == "tr"][1:] == [{"class": "strong"}, {}]


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3)])
def test_others_read_our_pictures(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    assert np.array_equal(np.rint(imread(io.BytesIO(png(pixels))) * 255), pixels)


def test_a_constant_picture_is_black_and_not_an_error():
    assert "base64" in picture(np.full((2, 2), 7.0), "flat")


def test_markup_is_left_as_it_is():
    assert as_html(Markup("<b>")) == "<b>"
    assert as_html("<b>") == "&lt;b&gt;"
