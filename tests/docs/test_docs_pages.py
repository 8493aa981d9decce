"""Sessions that pages show are real, and the site's own files keep to their rules."""

from __future__ import annotations

import doctest
import pydoc
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "exactfit"
SESSION = re.compile(r"^```pycon\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
WITH_SESSIONS = [name for name, text in PAGES.items() if SESSION.search(text)]
GUIDES = [*sorted(DOCS.glob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY"))]
METADATA = {f"exactfit.{key}" for key in ("columns", "feature_names", "proved")}  # keys in exported files, not names
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", WITH_SESSIONS)
def test_the_sessions_of_a_page_give_the_output_that_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # they may write files
    session = "\n".join(SESSION.findall(PAGES[name]))
    parsed = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)
    report: list[str] = []
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(parsed, out=report.append).failed == 0, "".join(report)


def test_there_are_sessions() -> None:
    assert {"getting-started.md", "certificates.md"} <= set(WITH_SESSIONS)


@pytest.mark.parametrize("name", PAGES)
def test_links_between_pages_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", PAGES[name])
    made = re.compile(r"^(gallery|api)/")  # written when the site is built
    missing = [link for link in links if not made.match(link) and not (DOCS / link).exists()]
    assert missing == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_files_that_a_page_names_are_there(path: Path) -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|js|toml))`", path.read_text(encoding="utf-8")))
    places = (ROOT, SOURCE, DOCS)
    missing = [name for name in named if not any((place / name).is_file() for place in places)]
    assert [name for name in missing if "/" in name or not list(SOURCE.rglob(name))] == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_names_of_the_package_that_a_page_writes_out_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`(exactfit(?:\.\w+)+)(?=[`(\[])", text)) - METADATA
    named |= {f"{room}.{name}" for name, room in re.findall(r"`(\w+)` of `(exactfit[\w.]*)`", text)}
    assert [name for name in named if pydoc.locate(name) is None] == []


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_names_are_in_the_file_that_a_page_gives_for_them(path: Path) -> None:
    placed = re.findall(r"`(\w+)` in `([\w/]+\.py)`", path.read_text(encoding="utf-8"))
    defined = r"^(?:(?:def|class) {0}\b|{0}\b.* = )"
    texts = {file: (SOURCE / file).read_text(encoding="utf-8") for _, file in placed}
    assert [name for name, file in placed if not re.search(defined.format(name), texts[file], re.MULTILINE)] == []


def test_tests_that_the_guide_for_contributors_runs_are_there() -> None:
    named = re.findall(r"(?:pytest|`)[^`\n]*?(tests/[\w/*.]+)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert "tests/network" in named
    assert [name for name in named if not list(ROOT.glob(name))] == []
