"""The pages of the API reference, written from what the packages export: complete whatever is added."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

# What stands at the top, by what one wants to do. Names that are in no group follow at the end.
GROUPS = {
    "Fit, predict, explain": [
        "InterpolatingClassifier", "Explanations", "Explanation", "Condition", "evaluate", "Evaluation",
    ],
    "Tables": ["read_table", "Table", "TableModel"],
    "Prove": ["certify", "Certificate"],
    "Save and load": ["save", "load"],
    "Mend a trained model": ["repair", "RepairedClassifier", "RepairReport"],
    "Other runtimes": ["to_onnx", "to_torch", "register_onnx_converter"],
    "The paper's algorithms": [
        "adaptive_width", "fixed_width", "Options", "Construction", "Outcome", "Trace", "extend", "Extension",
    ],
    "Networks": ["Network", "Activation"],
    "Data": ["describe", "Description", "find_suspects", "Suspects"],
    "Comparison": ["compare", "Comparison"],
}  # fmt: skip
PACKAGES = {
    "plots": "Pictures",
    "constructions": "Published constructions",
    "geometry": "The theorem's quantities",
    "lab": "The laboratory",
    "distributed": "Beyond one machine",
    "network": "Parts of a network",
}


def exported(package: ModuleType) -> list[str]:
    """What a package exports and the top does not, in order."""
    top = set(import_module("exactfit").__all__)
    return [name for name in package.__all__ if package.__name__ == "exactfit" or name not in top]


def kind(thing: object) -> str:
    """The heading for a name that is in no group."""
    if inspect.isclass(thing):
        return "Exceptions and warnings" if issubclass(thing, BaseException) else "Classes"
    return "Functions" if inspect.isroutine(thing) else "Values"


def groups(package: ModuleType) -> dict[str, list[str]]:
    """Headings and the names below them."""
    there = set(package.__all__)
    found = {heading: [name for name in names if name in there] for heading, names in GROUPS.items()}
    found = {heading: names for heading, names in found.items() if names and package.__name__ == "exactfit"}
    known = {name for names in found.values() for name in names}
    for name in exported(package):
        thing = getattr(package, name)
        if name not in known and not inspect.ismodule(thing):
            found.setdefault(kind(thing), []).append(name)
    return found


def listing(package: str, names: list[str]) -> list[str]:
    """The names as a table, each with a page of its own."""
    head = ["```{eval-rst}", ".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return [*head, *(f"   {package}.{name}" for name in names), "```", ""]


def page(package: ModuleType, title: str) -> str:
    """A page of the reference."""
    about = (inspect.getdoc(package) or "").split("\n")[0]
    lines = [f"# {title}", "", f"`{package.__name__}`: {about}", ""]
    for heading, names in groups(package).items():
        lines += [f"## {heading}", "", *listing(package.__name__, names)]
    return "\n".join(lines)


def index() -> str:
    """The first page: the names at the top, then the packages."""
    top = page(import_module("exactfit"), "API reference")
    rows = [f"- [{title}]({name}.md): `exactfit.{name}`" for name, title in PACKAGES.items()]
    tree = ["```{toctree}", ":hidden:", "", *PACKAGES, "```", ""]
    first, _, rest = top.partition("\n## ")
    return "\n".join([first, "## Packages", "", *rows, "", *tree, "## " + rest])


def write(folder: Path) -> None:
    """Write what has changed, so that Sphinx reads only that again."""
    folder.mkdir(exist_ok=True)
    pages = {"index": index()}
    pages |= {name: page(import_module(f"exactfit.{name}"), title) for name, title in PACKAGES.items()}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
