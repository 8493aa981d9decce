"""What the README shows is what comes out, and what the documents name is there."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_architecture import PACKAGES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TARGETS = re.findall(r"^make (\w+) +# \w", README, flags=re.MULTILINE)  # each with a word on what it does
PICTURE = ROOT / "docs" / "images" / "two-moons.png"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def test_the_session_gives_the_output_that_is_shown() -> None:
    (session,) = blocks("pycon")
    parsed = doctest.DocTestParser().get_doctest(session, {}, "README.md", "README.md", 0)
    report: list[str] = []
    assert len(parsed.examples) >= 5
    assert sum(example.source.count("\n") for example in parsed.examples) <= 10
    assert doctest.DocTestRunner(optionflags=0).run(parsed, out=report.append).failed == 0, "".join(report)


def test_the_session_ends_in_a_certificate() -> None:
    (session,) = blocks("pycon")
    assert session.count("certificate: holds for all 1797 points (proof: recomputed, exact arithmetic)") == 1


def test_sizes_are_those_that_the_command_prints() -> None:
    page = (ROOT / "docs" / "sizes.md").read_text(encoding="utf-8")
    assert "`python examples/sizes.py`" in page
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "sizes.py")],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = [line for line in page.splitlines() if line.startswith("|")]
    assert done.stdout.splitlines() == shown


def test_the_picture_is_there_and_small() -> None:
    assert f"]({PICTURE.relative_to(ROOT).as_posix()})" in README
    assert PICTURE.stat().st_size < 200_000


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)\)|python (\S+\.py)", README))))
def test_files_that_are_named_exist(path: tuple[str, str]) -> None:
    assert (ROOT / "".join(path)).is_file()


@pytest.mark.parametrize("target", TARGETS)
def test_make_has_the_targets(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_both_commands_are_named() -> None:
    assert TARGETS == ["demo", "test", "docs"]
    assert "python -m exactfit demo\n" in README


def test_the_direction_of_imports_is_the_one_that_is_enforced() -> None:
    lines = re.findall(r"^\| (`.*?`) \|", ARCHITECTURE.partition("## Packages")[2], re.MULTILINE)
    assert [tuple(re.findall(r"`(\w+)`", line)) for line in lines] == list(PACKAGES)
