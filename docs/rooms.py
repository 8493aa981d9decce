"""The list of modules in architecture.md, written from the first lines of their docstrings: python docs/rooms.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "exactfit"
PAGE = ROOT / "docs" / "architecture.md"
BLOCK = re.compile(r"^```\nsrc/exactfit/\n.*?^```$", re.DOTALL | re.MULTILINE)
COLUMN = 26


def about(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0].rstrip(".")


def lines(folder: Path, depth: int) -> Iterator[str]:
    """Folders first, then files, each with what it is about."""
    indent = "  " * depth
    for path in sorted(folder.iterdir()):
        if (path / "__init__.py").is_file():
            yield f"{indent}{path.name + '/':<{COLUMN - 2 * depth}}{about(path / '__init__.py')}"
            yield from lines(path, depth + 1)
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py" or depth == 1:
            yield f"{indent}{path.name:<{COLUMN - 2 * depth}}{about(path)}"


def drawing() -> str:
    """The list as the page has it."""
    return "\n".join(["```", "src/exactfit/", *lines(SOURCE, 1), "```"])


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: drawing(), text), encoding="utf-8")
