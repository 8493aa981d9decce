"""Imports point down, importing exactfit stays light, and what it exports is documented."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "exactfit"

# From top to bottom. A package (a file, or a folder with all in it) imports from lower lines only.
PACKAGES = (
    ("__init__", "__main__"),
    ("cli",),
    ("demo", "lab", "playground"),
    ("plots",),
    ("suspects",),
    ("persistence",),
    ("tables",),
    ("export",),
    ("repairs",),
    ("distributed",),
    ("estimators",),
    ("constructions", "explanation"),
    ("conditions", "geometry"),
    ("construct",),
    ("options",),
    ("certificate",),
    ("network", "outcome"),
    ("data",),
    ("_support",),
    ("exceptions",),
    ("_kernels", "_version", "reference"),
)
LINE = {package: line for line, packages in enumerate(PACKAGES) for package in packages}

# Slow to load or optional: whoever only imports exactfit pays for none of them.
HEAVY = {"numba", "matplotlib", "pandas", "torch", "onnx", "dask"}


def dotted_name(path: Path) -> str:
    return ".".join(("exactfit", *path.relative_to(SOURCE).with_suffix("").parts))


def targets(node: ast.AST, package: str) -> Iterator[str]:
    """Dotted names of what a node imports, made absolute."""
    match node:
        case ast.Import(names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(name, names, level):
            base = resolve_name("." * level + (name or ""), package)
            yield from (f"{base}.{alias.name}" for alias in names)
        case ast.Call(
            ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
            [ast.Constant(str(name)), *_],
        ):
            yield resolve_name(name, package)


def package_of(dotted: str) -> str:
    """The package that a name in exactfit belongs to; what has no file of its own comes from ``__init__``."""
    package = dotted.split(".")[1] if "." in dotted else "__init__"
    is_package = package in LINE or (SOURCE / package).is_dir() or (SOURCE / f"{package}.py").is_file()
    return package if is_package else "__init__"


def upward_imports(tree: ast.AST, module: str) -> Iterator[str]:
    """Every import of a module that does not point down, wherever in the module it stands."""
    own, parent = package_of(module), module.rpartition(".")[0]
    found = {target for node in ast.walk(tree) for target in targets(node, parent)}
    for target in sorted(found):
        package = package_of(target)
        if target.split(".")[0] == "exactfit" and package != own and LINE[package] <= LINE[own]:
            yield f"{module} imports {target}, which is not below it"


def test_every_package_has_its_place() -> None:
    packages = {package_of(dotted_name(path)) for path in SOURCE.rglob("*.py")}
    assert sorted(packages - LINE.keys()) == [], "give each new package its line in PACKAGES"


def test_imports_point_down() -> None:
    wrong = [
        line
        for path in sorted(SOURCE.rglob("*.py"))
        for line in upward_imports(ast.parse(path.read_text(encoding="utf-8")), dotted_name(path))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("exactfit.network", "import exactfit"),
        ("exactfit.network", "import exactfit.cli"),
        ("exactfit.network", "from exactfit import Network"),
        ("exactfit.network", "from . import certificate"),
        ("exactfit.network", "from . import __version__"),
        ("exactfit.network", "from .outcome import Outcome"),
        ("exactfit.network", "def later():\n    from .certificate import certify"),
        ("exactfit.network", "if TYPE_CHECKING:\n    from .estimators import ExactClassifier"),
        ("exactfit.network", "importlib.import_module('.cli', 'exactfit')"),
        ("exactfit.network", "import_module('exactfit.cli')"),
        ("exactfit.construct.cover", "from ..constructions.base import Constructor"),
        ("exactfit.construct.__init__", "from .. import constructions"),
        ("exactfit.construct.cover", "import_module('..constructions', __package__)"),
        ("exactfit._kernels.counting", "from ..network.bits import BitMatrix"),
        ("exactfit._kernels.counting", "from .._support.threads import Threads"),
    ],
)
def test_an_import_that_does_not_point_down_is_seen(module: str, statement: str) -> None:
    assert len(list(upward_imports(ast.parse(statement), module))) == 1


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("exactfit.__init__", "from .cli import main"),
        ("exactfit.__main__", "from exactfit.cli import main"),
        ("exactfit.network", "import numpy.exactfit"),
        ("exactfit.construct", "from .network.bits import BitMatrix"),
        ("exactfit.network", "from . import _kernels, _version"),
        ("exactfit.construct.cover", "from .separation import open_pairs"),
        ("exactfit.construct.cover", "from . import separation"),
        ("exactfit.construct.cover", "from ..certificate import Certificate"),
        ("exactfit.construct.__init__", "from .adaptive import adaptive"),
        ("exactfit.export.__init__", "import_module('.onnx', __package__)"),
        ("exactfit._kernels.counting", "from .compile import compiled"),
    ],
)
def test_an_import_that_points_down_passes(module: str, statement: str) -> None:
    assert list(upward_imports(ast.parse(statement), module)) == []


def test_modules_that_docstrings_name_are_there() -> None:
    named = {
        (package, name)
        for path in SOURCE.rglob("*.py")
        for package, name in re.findall(r"``(?:exactfit\.)?(\w+)\.(\w+)[\w.]*``", path.read_text(encoding="utf-8"))
        if (SOURCE / package).is_dir()
    }
    missing = [
        f"{package}.{name}"
        for package, name in sorted(named)
        if not (SOURCE / package / f"{name}.py").is_file() and not hasattr(import_module(f"exactfit.{package}"), name)
    ]
    assert len(named) > 10
    assert missing == ["certificate.errors"]  # no module: a tensor in model files


def test_importing_exactfit_loads_nothing_heavy() -> None:
    code = f"import sys, exactfit; print(*sorted({HEAVY} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", ["constructions", "distributed", "export", "geometry", "lab", "plots"])
def test_a_package_is_there_without_an_import_of_its_own(name: str) -> None:
    code = f"import sys, exactfit; early = 'exactfit.{name}' in sys.modules; print(early, exactfit.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"False exactfit.{name}\n", "")


def lacks(name: str) -> str | None:
    """What an exported name's documentation lacks."""
    import exactfit

    thing = getattr(exactfit, name)
    if not (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)):
        return None
    text = inspect.cleandoc(thing.__doc__ or "")  # not getdoc: a base class's text is not this one's
    if not text:
        return f"{name}: a docstring"
    needs_example = not (inspect.ismodule(thing) or (inspect.isclass(thing) and issubclass(thing, BaseException)))
    return f"{name}: an Examples section" if needs_example and "\nExamples\n--------\n" not in text else None


# What stands at the top besides exceptions, and why a user should find it there.
SURFACE = {
    "Activation": "to bring one's own",
    "Certificate": "what certify returns",
    "Comparison": "what compare returns",
    "Evaluation": "what evaluate returns",
    "Construction": "what the two algorithms return",
    "Description": "what describe returns",
    "Explanation": "one answer with its reasons",
    "Condition": "a sentence of an explanation",
    "Explanations": "what explain returns",
    "Extension": "what extend returns",
    "InterpolatingClassifier": "the estimator",
    "Network": "what is built, saved and certified",
    "Outcome": "how a construction ended",
    "Options": "the options of the two algorithms",
    "RepairReport": "what was repaired, and what else changed",
    "RepairedClassifier": "a trained model with patches before it",
    "Suspects": "what find_suspects returns",
    "Table": "what read_table returns",
    "TableModel": "the estimator for tables",
    "Trace": "how a network came about",
    "adaptive_width": "Algorithm 1",
    "certify": "the proof, made again",
    "compare": "every construction on one data set",
    "evaluate": "how often it is right on new points",
    "constructions": "the published constructions",
    "describe": "why a network is as large as it is",
    "distributed": "data on a cluster, or larger than memory",
    "export": "other runtimes",
    "extend": "limits over further points",
    "find_suspects": "labels worth checking",
    "fixed_width": "Algorithm 2",
    "geometry": "the theorem's quantities",
    "lab": "comparisons, evaluation, data by name",
    "load": "the only loader",
    "plots": "pictures",
    "read_table": "files of rows and columns",
    "register_onnx_converter": "pipelines for skl2onnx",
    "repair": "right on the points that matter",
    "save": "the only writer",
    "to_onnx": "the export that most ask for",
    "to_torch": "the other one",
}


def test_the_surface_is_what_it_says() -> None:
    import exactfit

    exceptions = {name for name in exactfit.__all__ if name.endswith(("Error", "Warning"))}
    assert set(exactfit.__all__) - exceptions == SURFACE.keys(), "a new name at the top needs its reason here"


def test_every_exported_name_resolves_and_is_documented() -> None:
    import exactfit

    assert len(set(exactfit.__all__)) == len(exactfit.__all__) > 0
    assert [missing for name in exactfit.__all__ if (missing := lacks(name))] == []
