"""The playground's mathematics is Python's: several hundred networks, equal to the last bit."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from golden_cases import Case, all_cases

import exactfit

HERE = Path(__file__).parent
ENGINE = Path(exactfit.__file__).parent / "playground" / "page" / "engine"
NODE = shutil.which("node")
PATIENCE = 120  # seconds: ten times what the cases take on a loaded machine

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js on the path")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return all_cases(0)


def run_engine(cases: list[Case], engine: Path = ENGINE) -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(NODE), str(HERE / "golden.mjs"), str(engine)],
        input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # JavaScript writes whole numbers without a point, and above 2^53 with as many digits as a float needs.
    networks: list[dict[str, Any]] = json.loads(done.stdout, parse_int=float)
    return networks


def differences(cases: list[Case], networks: list[dict[str, Any]]) -> list[str]:
    return [
        f"{case['name']}: {name}"
        for case, network in zip(cases, networks, strict=True)
        for name, value in case["expected"].items()
        if network[name] != value
    ]


def test_every_network_is_pythons(cases: list[Case]) -> None:
    assert len(cases) > 500
    assert differences(cases, run_engine(cases)) == []


def test_the_cases_have_what_is_hard(cases: list[Case]) -> None:
    """Missed points, missed margins, several weighted detectors, shares, ties on hyperplanes, cuts, large weights."""
    expected = [case["expected"] for case in cases]
    assert {network["outcome"] for network in expected} == {"interpolates", "points missed", "margin missed"}
    assert any(case["detectors"] == "weighted" and len(case["expected"]["limits"]) > 20 for case in cases)
    assert any(min(map(min, network["weights"]), default=0) < -100 for network in expected)
    assert any(max(network["labels"]) == 3 for network in expected if network["labels"])
    assert any(len(case["expected"].get("planes", ())) > len(case.get("planes", ())) > 1000 for case in cases)
    on_a_plane = [
        any(wx * x + wy * y + b == 0 for wx, wy, b in case["planes"] for x, y in case["points"])
        for case in cases
        if case["name"].startswith("on hyperplanes")
    ]
    assert all(on_a_plane)
    sparse = [plane for case in cases if case["name"].startswith("sparse") for plane in case["expected"]["planes"]]
    sizes = {max(abs(wx), abs(wy)) for wx, wy, _ in sparse if wx and wy}
    assert len(sizes) > 5
    assert max(sizes) == 2.0**60
    assert any(0 in plane[:2] for plane in sparse)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("signs.js", "return exactSign(wx, wy, b, x, y) > 0;", "return value > 0;"),
        ("signs.js", "exactSign(wx, wy, b, x, y) > 0", "exactSign(wx, wy, b, x, y) >= 0"),
        ("cover.js", "if (here < limit)", "if (here <= limit)"),
        ("patterns.js", "margin * norms[i] * ROOMY", "margin * ROOMY"),
        ("halfspaces.js", "LARGEST_WEIGHT = 127", "LARGEST_WEIGHT = 126"),
        ("halfspaces.js", "stale = judged.coverage > record", "stale = judged.coverage >= record"),
        ("sparse.js", "high.rest > 0 ?", "high.rest >= 0 ?"),
        ("sparse.js", "[weights, flipped, ", "[weights, "),
        ("sparse.js", "sizes.length >> 1", "(sizes.length - 1) >> 1"),
        ("numpy.js", "this.half = Number(word >> 32n);", ""),
        ("adaptive.js", "along[feature][b] > at ? 1 : -1", "along[feature][b] > at ? -1 : 1"),
    ],
)
def test_a_mutation_of_the_engine_is_caught(cases: list[Case], file: str, old: str, new: str, tmp_path: Path) -> None:
    mutant = shutil.copytree(ENGINE, tmp_path / "engine")
    text = (mutant / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (mutant / file).write_text(text.replace(old, new), encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    assert differences(cases, run_engine(cases, mutant))
