"""The reference has every public name, and each has an example that runs."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return import_module("reference")


def test_every_package_that_is_exported_has_its_page(reference: Any) -> None:
    import exactfit

    packages = {name for name in exactfit.__all__ if inspect.ismodule(getattr(exactfit, name))}
    assert packages - {"export"} <= set(reference.PACKAGES)  # what export exports stands at the top


def test_every_public_name_is_listed(reference: Any, tmp_path: Path) -> None:
    reference.write(tmp_path)
    pages = {path.stem: path.read_text(encoding="utf-8").split() for path in tmp_path.glob("*.md")}
    for page in ("index", *reference.PACKAGES):
        package = import_module("exactfit" if page == "index" else f"exactfit.{page}")
        names = [name for name in reference.exported(package) if not inspect.ismodule(getattr(package, name))]
        assert [name for name in names if pages[page].count(f"{package.__name__}.{name}") != 1] == []


def test_every_public_class_and_function_has_an_example(reference: Any) -> None:
    lacking = []
    for home in ("exactfit", *(f"exactfit.{name}" for name in reference.PACKAGES)):
        package = import_module(home)
        for name in package.__all__:
            thing = getattr(package, name)
            plain = inspect.isclass(thing) and not issubclass(thing, BaseException)
            if (plain or inspect.isroutine(thing)) and ">>> " not in (thing.__doc__ or ""):
                lacking.append(f"{home}.{name}")
    assert lacking == []


def test_no_example_is_left_out_of_the_run() -> None:
    sources = (DOCS.parent / "src" / "exactfit").rglob("*.py")
    assert [path.name for path in sources if "+SKIP" in path.read_text(encoding="utf-8")] == []
