"""The documentation as a reader meets it: in a browser, with nothing but this machine to ask."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "_build" / "html"
INCLUDED = {"contributing", "security", "changelog"}  # pages of the repository's first folder
MADE = ("playground/index", "gallery/index", "api/index", "api/plots", "api/generated/exactfit.InterpolatingClassifier")
MAIN = [*sorted({path.stem for path in (ROOT / "docs").glob("*.md")} - INCLUDED), *MADE]
PHONE = {"width": 375, "height": 700}
# Text that ends beyond the edge, where nothing scrolls.
CUT_OFF = """[...document.querySelectorAll(".bd-article :is(p, li, dt, dd, h1, h2, h3, code)")]
    .filter((one) => !one.closest("pre, table, .math") && one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.textContent.slice(0, 60))"""
DARK = 90  # mean of red, green and blue below which a background is dark

pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="make docs-quick (or make docs) builds it")


class Quiet(SimpleHTTPRequestHandler):
    """Serves without a line for every request."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the site is served, by a server of this test alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Links(HTMLParser):
    """What a page refers to, what it loads by itself, and what can be referred to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names.update(filter(None, (given.get("id"), given.get("name"))))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        if tag in {"script", "img", "iframe", "source", "video"} and given.get("src"):
            self.loads.append(given["src"] or "")
        if tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.loads.append(given["href"] or "")


@cache
def read(path: Path) -> Links:
    page = Links()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(path: Path) -> Iterator[str]:
    """Links of a page that lead nowhere."""
    page = read(path)
    for link in page.links + page.loads:
        where, name = urldefrag(link)
        if re.match(r"[a-z]+:", link):
            continue
        to = path if not where else (path.parent / unquote(where.partition("?")[0])).resolve()
        to = to / "index.html" if to.is_dir() else to
        if not to.is_file():
            yield f"{path.relative_to(SITE)}: {link}"
        elif name and to.suffix == ".html" and unquote(name) not in read(to).names:
            yield f"{path.relative_to(SITE)}: {link} (no such section)"


def test_no_link_is_broken() -> None:
    pages = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
    assert len(pages) > 100
    assert [line for path in pages for line in broken(path)] == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    foreign = {load for path in SITE.rglob("*.html") for load in read(path).loads if re.match(r"(https?:)?//", load)}
    assert foreign == set()


def test_every_public_name_has_its_page_with_an_example() -> None:
    import exactfit

    lacking = []
    for name in exactfit.__all__:
        thing = getattr(exactfit, name)
        if hasattr(thing, "__path__"):
            continue
        page = (SITE / "api" / "generated" / f"exactfit.{name}.html").read_text(encoding="utf-8")
        if not name.endswith(("Error", "Warning")) and "&gt;&gt;&gt;" not in page:
            lacking.append(name)
    assert lacking == []


@pytest.mark.parametrize("name", MAIN)
def test_a_page_loads_without_complaint_and_fits_a_phone(name: str, tab: Any, address: str) -> None:
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    tab.set_viewport_size(PHONE)
    answer = tab.goto(f"{address}/{name}.html")
    assert answer.ok
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert tab.evaluate(CUT_OFF) == []
    assert tab.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)") == []
    assert said == []


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("adaptive_width", "exactfit.adaptive_width"),
        ("plot_regions", "exactfit.plots.plot_regions"),
        ("mean width", "exactfit.geometry.mean_width"),
        ("mutual covering", "geometry"),
        ("witness", "glossary"),
    ],
)
def test_search_finds_functions_and_terms_of_the_paper(words: str, page: str, tab: Any, address: str) -> None:
    tab.goto(f"{address}/search.html?q={words.replace(' ', '+')}")
    tab.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('found')")
    found = tab.evaluate("[...document.querySelectorAll('#search-results li a')].map(a => a.href)")
    assert any(page in link for link in found), found


def test_formulas_are_set(tab: Any, address: str) -> None:
    tab.goto(f"{address}/how-it-works.html")
    tab.wait_for_selector("mjx-container svg")
    assert tab.evaluate("document.querySelectorAll('mjx-container svg').length") > 40
    assert tab.evaluate("document.querySelectorAll('mjx-merror, [data-mml-node=merror]').length") == 0


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_colours_are_those_that_the_reader_prefers(scheme: str, dark: bool, browser: Any, address: str) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/how-it-works.html")
    back, front = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('article p')).color]"
    )
    context.close()
    levels = [sum(map(float, re.findall(r"[\d.]+", text)[:3])) / 3 for text in (back, front)]
    assert (levels[0] < DARK) is dark
    assert abs(levels[0] - levels[1]) > DARK


def test_the_three_doors_and_the_links_at_the_top_lead_on(tab: Any, address: str) -> None:
    tab.goto(f"{address}/index.html")
    doors = tab.evaluate("[...document.querySelectorAll('.sd-card a.sd-stretched-link')].map(a => a.href)")
    assert [link.rsplit("/", 1)[1] for link in doors] == [
        "getting-started.html",
        "how-it-works.html",
        "reproduction.html",
    ]
    tab.click("nav >> text=Gallery")
    tab.wait_for_url("**/gallery/index.html")


def test_the_gallery_has_a_picture_for_every_example(tab: Any, address: str) -> None:
    tab.goto(f"{address}/gallery/index.html")
    cards = tab.evaluate(
        "[...document.querySelectorAll('.sphx-glr-thumbcontainer')].map(c => [c.querySelector('a').href, "
        "c.querySelector('img').src, c.querySelector('img').naturalWidth])"
    )
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert {Path(link.partition("#")[0]).stem for link, _, _ in cards} == examples
    assert all(width > 0 for _, _, width in cards)


def test_examples_that_were_run_show_their_pictures() -> None:
    pages = [SITE / "gallery" / f"{path.stem}.html" for path in (ROOT / "examples").glob("plot_*.py")]
    with_pictures = [
        page for page in pages if re.search(r"<img [^>]*sphx_glr_\w+_001", page.read_text(encoding="utf-8"))
    ]
    if not with_pictures:
        pytest.skip("the gallery was not run: make docs runs it")
    assert with_pictures == pages
