"""The lowest versions that pyproject.toml names: as constraints for pip, or held against what is installed.

python .ci/lowest_versions.py > lowest.txt && pip install --constraint lowest.txt --editable ".[test]"
python .ci/lowest_versions.py --installed
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def as_numbers(text: str) -> tuple[int, ...]:
    """Return a version to compare by: 3.9 and 3.9.0 are one."""
    numbers = [int(number) for number in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def lowest_versions(pyproject: str) -> dict[str, str]:
    """Return the lowest version of each package, over the dependencies and all extras."""
    project = tomllib.loads(pyproject)["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    lowest: dict[str, str] = {}
    for line in lines:
        if line.startswith(f"{project['name']}["):  # an extra made of others
            continue
        found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?[>=]=([\d.]+)", line)
        if found is None:
            raise ValueError(f"pyproject.toml: {line!r} is neither name>=version nor name==version")
        name, number = found.groups()
        lowest[name] = max(lowest.get(name, number), number, key=as_numbers)
    return lowest


def differences(lowest: dict[str, str]) -> Iterator[str]:
    """Yield a line for each installed package that is not at its lowest version."""
    for name, number in lowest.items():
        try:
            installed = version(name)
        except PackageNotFoundError:  # of an extra that is not installed
            continue
        if as_numbers(re.match(r"[\d.]*\d", installed)[0]) != as_numbers(number):
            yield f"{name} {installed} is installed, where pyproject.toml names {number}"


if __name__ == "__main__":
    LOWEST = lowest_versions(PYPROJECT.read_text(encoding="utf-8"))
    if "--installed" in sys.argv:
        sys.exit("\n".join(differences(LOWEST)) or None)
    print(*(f"{name}=={number}" for name, number in sorted(LOWEST.items())), sep="\n")
