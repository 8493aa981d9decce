"""How fast the playground is in a browser (docs/playground.md): headless Chromium, as `make test-site` has it.

*construct*: 500 points and 500 Gaussian hyperplanes, masks: milliseconds of whole constructions in the worker, for
several seeds: the first one, while the browser still compiles, and the fastest, the median and the slowest of others.

*drag*: with these points and hyperplanes, a point is dragged for two seconds: how often the picture is drawn anew in a
second, how many networks are built for it, and how many milliseconds of the page's own thread a picture takes (median
and fastest). At 30 pictures a second there are 33.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

from rich.console import Console

from exactfit.playground import Playground

from .cases import Case, Row, Settings, table_of

DATASETS = ("moons", "spirals", "chessboard")
LARGE = "count=500&width=500&law=gaussian"
SEEDS = range(2, 12)
DRAG = 2.0  # seconds
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
# Counts what is drawn on the picture and what the worker answers.
COUNTERS = """
    window.drawn = []; window.built = 0; window.spent = [];
    const frame = window.requestAnimationFrame;
    window.requestAnimationFrame = (draw) => frame((now) => {
        const began = performance.now();
        draw(now);
        window.spent.push(performance.now() - began);
    });
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
        if (this.canvas.id === "picture") window.drawn.push(performance.now());
        return clear.apply(this, box);
    };
    const Own = Worker;
    window.Worker = class extends Own {
        constructor(...given) { super(...given); this.addEventListener("message", () => { window.built += 1; }); }
    };
"""


@contextmanager
def page_of(state: str) -> Iterator[Any]:
    """The page with a state, in a browser of its own."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("EXACTFIT_CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise FileNotFoundError("Chromium is not installed")
    with Playground() as playground, sync_playwright() as driver:
        Thread(target=playground.serve_forever, daemon=True).start()
        page = driver.chromium.launch(executable_path=path, args=list(FLAGS)).new_page()
        page.add_init_script(COUNTERS)
        page.goto(f"{playground.address}#{state}")
        page.wait_for_selector("body[data-outcome]")
        page.wait_for_timeout(1000)
        yield page
        page.context.browser.close()
        playground.shutdown()


def built_in(page: Any) -> float:
    """Milliseconds of the construction that is shown."""
    return float(page.locator("#facts dd").last.text_content().removesuffix(" ms"))


def construct(_: Settings) -> list[Row]:
    """Whole constructions, for each data set."""
    rows = []
    for data in DATASETS:
        with page_of(f"data={data}&{LARGE}") as page:
            times = [built_in(page)]
            for seed in SEEDS:
                page.fill("#seed", str(seed))
                page.wait_for_timeout(400)
                page.wait_for_selector("body[data-busy=no]")
                page.wait_for_timeout(100)
                times.append(built_in(page))
            outcome = page.get_attribute("body", "data-outcome")
        first, *others = times
        rows.append({
            "data": data, "first ms": round(first), "fastest ms": round(min(others)),
            "median ms": round(statistics.median(others)), "slowest ms": round(max(others)), "outcome": outcome,
        })  # fmt: skip
    return rows


def drag(_: Settings) -> list[Row]:
    """A point dragged across the picture, for each data set."""
    rows = []
    for data in DATASETS:
        with page_of(f"data={data}&{LARGE}") as page:
            box = page.locator("#picture").bounding_box()
            middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.move(*middle)
            page.mouse.down()
            page.wait_for_timeout(500)
            page.evaluate("window.drawn = []; window.built = 0; window.spent = [];")
            began = time.perf_counter()
            while (passed := time.perf_counter() - began) < DRAG:
                page.mouse.move(middle[0] + 100 * passed, middle[1] + 60 * passed)
            drawn, built, spent = page.evaluate("[window.drawn.length, window.built, window.spent]")
            page.mouse.up()
        rows.append({
            "data": data, "pictures a second": round(drawn / passed), "networks a second": round(built / passed),
            "ms a picture": round(statistics.median(spent), 1), "fastest": round(min(spent), 1),
        })  # fmt: skip
    return rows


def show(console: Console, rows: Sequence[Row], _: Settings) -> None:
    """One table."""
    console.print(table_of(rows))


def show_drag(console: Console, rows: Sequence[Row], _: Settings) -> None:
    """One table, apart from the other."""
    console.print(table_of(rows))


CASES = [Case("playground/construct", construct, show), Case("playground/drag", drag, show_drag)]
