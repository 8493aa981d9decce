"""A real browser for tests of pages: Chromium as the system has it, driven by Playwright.

``make test-site`` runs them. They are skipped by name where Playwright or Chromium is not there; EXACTFIT_CHROMIUM
names a Chromium that is not on the path.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# No sandbox: containers have none. The others keep the browser from talking to anyone but the page under test.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 20_000  # milliseconds that one action in a page may take: loaded machines are slow


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a browser."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.site)


def find_chromium() -> str | None:
    """The path of a Chromium that is installed here."""
    return os.environ.get("EXACTFIT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install exactfit[site]")
    path = find_chromium()
    if path is None:
        pytest.skip("Chromium is not installed: install your system's package, or set EXACTFIT_CHROMIUM")
    with driver.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """An empty page, 1280 by 900; it fails the test if a script in it raises or the page asks another machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("request", lambda request: problems.extend(_foreign(request.url)))
    yield page
    context.close()
    assert problems == []


def _foreign(url: str) -> list[str]:
    local = url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:"))
    return [] if local else [f"request to elsewhere: {url}"]
