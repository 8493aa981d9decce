"""The page's own modules under Node; "Open in Python" ends in the same network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactfit.network import Masks
from exactfit.playground import PAGE

HERE = Path(__file__).parent
NODE = shutil.which("node")
PATIENCE = 120  # seconds: ten times what it takes on a loaded machine

needs_node = pytest.mark.skipif(NODE is None, reason="needs Node.js on the path")

STATES: list[dict[str, Any]] = [
    {},
    {"width": 30},
    {"law": "gaussian", "bias": 0.5},
    {"data": "chessboard", "features": 1, "algorithm": 1, "detectors": "weighted"},
    {"data": "spirals", "classes": 3, "order": "rows"},
    {"data": "chessboard", "classes": 4, "detectors": "weighted", "order": "rows", "width": 80},
    {"data": "circles", "margin": 60, "width": 40},
    {"data": "circles", "margin": 60, "algorithm": 1, "detectors": "weighted"},
    {"data": "line", "algorithm": 1, "law": "bisector", "count": 30},
    {"data": "lines", "algorithm": 1, "law": "bisector", "classes": 3, "count": 60, "bias": 0.5, "seed": 77},
    {"data": "own", "points": [[0.1, 0.2, 0], [0.1, 0.2, 0], [0.101, 0.2, 1], [-0.5, 0, 2]], "algorithm": 1},
]


@needs_node
def test_the_modules_of_the_page() -> None:
    done = subprocess.run(
        [str(NODE), "--test", str(HERE / "page.test.mjs")],
        env=os.environ | {"PAGE": str(PAGE)}, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def built() -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(NODE), str(HERE / "networks.mjs"), str(PAGE)],
        input=json.dumps(STATES), capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    networks: list[dict[str, Any]] = json.loads(done.stdout)
    return networks


@needs_node
@pytest.mark.parametrize("number", range(len(STATES)))
def test_the_lines_of_python_build_the_same_network(
    built: list[dict[str, Any]], number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    page = built[number]
    monkeypatch.chdir(tmp_path)
    Path("exactfit-playground.json").write_text(page["json"], encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(page["lines"], "lines", "exec"), names)
    made = names["made"]
    masks = made.network.layers[1].weights
    weights = masks.bits.to_bool().astype(int) if isinstance(masks, Masks) else masks.values
    assert weights.tolist() == page["weights"]
    assert made.network.layers[1].bias.tolist() == page["limits"]
    assert made.trace.anchors.tolist() == page["anchors"]
    assert made.trace.witnesses.tolist() == page["witnesses"]
    assert made.trace.uncovered.tolist() == page["uncovered"]
    assert made.trace.without_margin.tolist() == page["narrow"]
    assert made.outcome.value == page["outcome"]
    assert page["outcome"] in capsys.readouterr().out


@needs_node
def test_the_robust_radius_is_the_certificates(built: list[dict[str, Any]]) -> None:
    from exactfit import certify, fixed_width

    page = json.loads(built[0]["json"])
    planes = np.array(page["hyperplanes"])
    X, y = np.array(page["points"]), np.array(page["labels"])
    made = fixed_width(X, y, hyperplanes=(planes[:, :2], planes[:, 2]), order=page["order"])
    assert certify(made, X, y).robust_radius == pytest.approx(built[0]["robustRadius"], rel=1e-9)


def test_nothing_of_the_page_becomes_markup_or_asks_another_machine() -> None:
    for path in [*PAGE.rglob("*.js"), *PAGE.rglob("*.html"), *PAGE.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "fetch(",
                     "XMLHttpRequest", "http://", "https://", "//cdn", "style="):  # fmt: skip
            assert word not in text, (path.name, word)
