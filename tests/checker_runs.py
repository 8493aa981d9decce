"""Runs of the stand-alone checker: in this process, or as the program that it is."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

CHECKER = Path(__file__).parents[1] / "checker" / "check_exactfit.py"
HOLDS, FAILS, REFUSED = 0, 1, 2


def loaded() -> ModuleType:
    """The checker as a module."""
    spec = importlib.util.spec_from_file_location("check_exactfit", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_here(program: ModuleType, *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors; an exception that leaves the program is one that leaves this."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = program.main(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


def run_alone(*arguments: object, seconds: float = 300) -> tuple[int, str, str]:
    """The same in a process of its own; -I leaves it without the package."""
    command = [sys.executable, "-I", "-S", str(CHECKER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    return done.returncode, done.stdout, done.stderr


def is_sound(code: int, out: str, err: str) -> bool:
    """Whether what was said fits the exit code: a verdict about one row at least, or one line of why not."""
    if code == REFUSED:
        return out == "" and err.startswith("cannot check: ") and err.endswith("\n") and err.count("\n") == 1
    verdicts = [line for line in out.splitlines() if line.startswith(("answers: ", "margin: "))]
    checked = [int(line.split("(")[1].split()[0]) for line in verdicts]
    failed = any(": fails for rows " in line for line in verdicts)
    said = err == "" and out.startswith("data: ") and verdicts and verdicts[0].startswith("answers: ")
    return bool(said) and min(checked) > 0 and failed == (code == FAILS) and code in (HOLDS, FAILS)


def parts_of_file(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and outer header of a model file, as they lie there."""
    octets = path.read_bytes()
    size = int.from_bytes(octets[:8], "little")
    outer = json.loads(octets[8 : 8 + size])
    return json.loads(outer["__metadata__"]["exactfit"]), outer
