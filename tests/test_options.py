"""The record of options: presets name options of it, and whatever a shell offers is taken."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module

from exactfit import InterpolatingClassifier, Options
from exactfit.options import ACCURATE, PAPER

NAMES = {option.name for option in fields(Options)}
PACKAGES = ("", ".constructions", ".geometry", ".lab", ".plots", ".repairs", ".suspects", ".tables")
RETIRED = {"memory", "repeats", "group", "shape", "seed", "rng", "time_budget"}


def test_loading_the_record_loads_no_arrays() -> None:
    code = "import sys, exactfit.options; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_public_parameters_have_one_name_per_idea() -> None:
    packages = [import_module(f"exactfit{name}") for name in PACKAGES]
    public = {name: getattr(package, name) for package in packages for name in package.__all__}
    for name, one in public.items():
        if inspect.isfunction(one) or is_dataclass(one):
            taken = inspect.signature(one).parameters.keys()
            assert not taken & RETIRED, name
            assert "order" not in taken or name == "fixed_width"  # there it is the candidates' rows


def test_presets_name_options() -> None:
    assert PAPER.keys() <= NAMES
    assert ACCURATE.keys() <= PAPER.keys(), "what the estimator changes, the paper's preset changes back"


def test_the_estimator_has_the_options_of_the_record_with_its_own_defaults() -> None:
    defaults = InterpolatingClassifier().get_params()
    assert defaults.keys() - NAMES == {"random_state", "verbose"}
    assert {name: defaults[name] for name in NAMES} == {
        option.name: ACCURATE.get(option.name, option.default) for option in fields(Options)
    }
    assert InterpolatingClassifier.paper().get_params().items() >= PAPER.items()


def test_every_option_has_a_text() -> None:
    text = inspect.getdoc(InterpolatingClassifier) or ""  # without indentation, whatever the Python
    for name, default in InterpolatingClassifier().get_params().items():
        assert re.search(rf"(?m)^{name} : ", text), name
        (said,) = re.findall(rf"(?m)^{name} : .*?default=(.*)$", text) or [repr(default)]
        assert said.replace('"', "'") == repr(default), name


def test_python_without_docstrings_fits_and_has_commands() -> None:
    code = (
        "from exactfit import InterpolatingClassifier; from exactfit.cli import main;"
        "model = InterpolatingClassifier(random_state=0).fit([[0.0], [1.0]], ['a', 'b']);"
        "print(model.certificate_.holds, main(['fit', '--help']))"
    )
    command = [sys.executable, "-OO", "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert said.splitlines()[-1] == "True 0"
