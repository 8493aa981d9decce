"""What a forge reads (workflow, hooks, templates) agrees with the README and with pyproject.toml."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
JOBS = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]


README = [
    line.partition(" #")[0].rstrip() for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
]  # without the comments beside commands


def commands_of(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


@pytest.mark.parametrize("job", ["with-make", "without-make"])
def test_the_workflow_runs_commands_of_the_readme(job: str) -> None:
    commands = commands_of(job)
    assert commands
    assert [command for command in commands if command not in README] == []


def test_the_workflow_runs_every_command_to_try_or_check_that_the_readme_gives() -> None:
    start, end = README.index("make demo"), README.index("exactfit playground")
    with_make = [command for command in README[start:end] if command.startswith("make ")]
    assert commands_of("with-make") == with_make == ["make demo", "make test", "make docs"]
    without = README[README.index('pip install ".[plot]"') : README.index("python -m pytest") + 1]
    assert commands_of("without-make") == without


def test_the_workflow_covers_the_systems_and_pythons_that_are_promised() -> None:
    matrices = [job for job in JOBS.values() if "strategy" in job]
    systems = {system for job in matrices for system in job["strategy"]["matrix"].get("os", [job["runs-on"]])}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    for job in matrices:
        assert job["strategy"]["matrix"]["python"] == promised
    (setup,) = (step["with"] for step in JOBS["all-checks"]["steps"] if "with" in step)
    assert sorted(setup["python-version"].split()) == promised
    assert PROJECT["project"]["requires-python"] == f">={promised[0]}"


MAKE = """#!/usr/bin/env bash
if [ -e .venv ] || [ -e .venvs ]; then echo "not as new"; exit 1; fi
if read -r line; then echo "there is something to read"; exit 1; fi
echo "ignores Ctrl-C: $(trap -p INT | wc -l | tr -d ' ')"
case $1 in
    demo) ;;
    docs-quick) echo "a page is broken"; exit 2 ;;
    check-newest)
        echo "3 passed in 1.00s"
        echo "skipped: Python 3.12: is not here"
        echo "2 passed, 1 skipped in 61.00s (0:01:01)" ;;
    check-torch) echo "==== 1 failed, 7 passed, 2 errors in 9.00s ===="; exit 2 ;;
    *) echo "==== 40 passed, 2 skipped, 9 deselected in 3.00s ====" ;;
esac
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script for bash")
@pytest.mark.parametrize("broken", [False, True])
def test_all_checks_run_as_on_a_new_machine_and_are_counted(broken: bool, tmp_path: Path) -> None:
    script = ROOT / ".ci" / "run"
    if not script.is_file():
        pytest.skip("the source distribution is without it")
    clone, tools = tmp_path / "clone", tmp_path / "tools"
    for folder in (clone / ".ci", clone / ".venv", clone / ".venvs" / "torch", tools):
        folder.mkdir(parents=True)
    shutil.copy(script, clone / ".ci" / "run")
    (tools / "make").write_text(MAKE if broken else MAKE.replace("exit 2", "exit 0"), encoding="utf-8")
    (tools / "make").chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", ".ci/run"], env=os.environ | {"PATH": path}, cwd=clone,
        input="a line\n", capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert "not as new" not in done.stdout
    assert "there is something to read" not in done.stdout
    assert re.findall(r"ignores Ctrl-C: (\d)", done.stdout) == ["1", "1", "0", "0", "0", "0"]
    closing = done.stdout[done.stdout.index("== all steps") :]
    assert re.findall(r"make ([\w-]+): (\d+) passed, (\d+) failed, (\d+) errors, (\d+) skipped", closing) == [
        ("demo", "0", "0", "0", "0"),
        ("test", "40", "0", "0", "2"),
        ("check-newest", "5", "0", "0", "1"),
        ("check-lowest", "40", "0", "0", "2"),
        ("check-torch", "7", "1", "2", "0"),
        ("docs-quick", "0", "0", "0", "0"),
    ]
    assert "    skipped: Python 3.12: is not here\n" in closing
    assert "\n92 passed, 1 failed\n" in closing
    assert closing.endswith("broken: check-torch docs-quick\n") == broken
    assert done.returncode == int(broken)


def test_the_heading_that_the_pull_request_form_names_is_in_the_changelog() -> None:
    form = (ROOT / ".github/PULL_REQUEST_TEMPLATE.md").read_text(encoding="utf-8")
    (heading,) = re.findall(r"CHANGELOG\.md under (\w+)", form)
    sections = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sections[0] == heading


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_hooks_and_tests_use_one_version_of_each_checker(tool: str) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    (pinned,) = (repo["rev"].removeprefix("v") for repo in hooks if tool in repo["repo"])
    (needed,) = (line for line in PROJECT["project"]["optional-dependencies"]["test"] if re.match(rf"{tool}\W", line))
    assert needed == f"{tool}=={pinned}"


def test_the_workflow_has_the_steps_of_the_script_that_runs_all_checks() -> None:
    script = ROOT / ".ci" / "run"
    if not script.is_file():
        pytest.skip("the source distribution is without it")
    (steps,) = re.findall(r"^steps=\((.*)\)$", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands_of("all-checks") == [f"make {step}" for step in steps.split()]
    assert steps.split()[:2] == ["demo", "test"]  # as the README says, before anything else
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name for line in re.findall(r"^([a-z][\w -]*):", makefile, re.MULTILINE) for name in line.split()}
    assert [step for step in steps.split() if step not in targets] == []


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_forms_have_a_name_and_fields(form: Path) -> None:
    fields = yaml.safe_load(form.read_text(encoding="utf-8"))
    if form.stem != "config":
        assert fields["name"]
        assert fields["description"]
        assert all(field["attributes"]["label"] for field in fields["body"])
