"""Notebooks: records as HTML that runs nothing, and progress without widgets."""

from __future__ import annotations

import re
import sys
import types
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

from exactfit import InterpolatingClassifier, TableModel, certify, compare, describe, find_suspects
from exactfit._support.console import progress_bar
from exactfit._support.html import boxes, facts

EVIL = "<script>alert(1)</script>"


class Balanced(HTMLParser):
    """Fails on elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in {"img", "meta", "br", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(record: Any) -> str:
    text = str(record._repr_html_())
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    return text


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, InterpolatingClassifier]:
    X, y = make_moons(60, noise=0.1, random_state=0)
    labels = np.array([EVIL, "b"])[y]
    return X, labels, InterpolatingClassifier(random_state=0).fit(X, labels)


def test_records_show_what_they_print_and_obey_no_label(fitted: Any) -> None:
    X, y, model = fitted
    records = (
        certify(model, X, y),
        model.network_,
        find_suspects(X, y, random_state=0),
        model.explain(X[:3]),
        describe(X, y, time_limit=1.0),
    )
    for record in records:
        text = shown(record)
        assert EVIL not in text
        assert "<strong>" in text or "<table>" in text
    assert "holds for all 60 points" in shown(records[0])
    assert f"{model.width_:,} hyperplanes" in shown(records[1])
    assert "&lt;script&gt;" in shown(records[2]) + shown(records[3])


def test_a_comparison_is_a_table() -> None:
    X, y = make_moons(40, random_state=0)
    text = shown(compare(X, y, ["huang"], time_limit=60))
    assert "<td>huang</td>" in text
    assert "fastest to build: huang" in text


def test_estimators_show_scikit_learns_diagram_then_size_and_certificate(fitted: Any) -> None:
    X, y, model = fitted
    for estimator in (model, TableModel(InterpolatingClassifier(random_state=0)).fit(X, y)):
        html = estimator._repr_mimebundle_()["text/html"]
        assert estimator._repr_html_().endswith(html[-1000:])
        assert html.index("sk-top-container") < html.rindex("hyperplanes") < html.index("holds for all 60 points")
    assert "holds for" not in InterpolatingClassifier()._repr_html_()


def test_boxes_grow_with_their_numbers() -> None:
    heights = [int(h) for h in re.findall(r"min-height:(\d+)px", boxes([("a", 2), ("b", 64), ("c", 10**9)]))]
    assert heights == sorted(heights)
    assert heights[-1] == 180
    assert EVIL not in facts(EVIL, {EVIL: EVIL})


class Shown:
    """A display of a notebook that remembers what it was told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.texts.append(bundle["text/plain"])


def test_progress_in_a_notebook_is_drawn_in_place_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Shown()
    shell = type("ZMQInteractiveShell", (), {})()
    display = types.SimpleNamespace(display=lambda bundle, **_: screen)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress_bar(True) as tell:
        tell("cover", 1, 4)
        tell("cover", 2, 4)  # too soon to be drawn again
    assert screen.texts == ["cover 1/4", ""]
