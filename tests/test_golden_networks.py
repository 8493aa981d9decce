"""The table of networks that must not change, and model files that must load for ever."""

from __future__ import annotations

import json

import pytest
from golden_networks import CASES, FACTS, GOLDEN, algebra_print, facts, is_by_linear_algebra, kept, stream_print

import exactfit

TABLE = json.loads(FACTS.read_text(encoding="utf-8"))
FILES = json.loads((GOLDEN / "files.json").read_text(encoding="utf-8"))


def test_every_case_is_in_the_table() -> None:
    assert set(CASES) == set(TABLE["networks"])


@pytest.mark.skipif(stream_print() != TABLE["streams"], reason="NumPy's random streams are those of another version")
@pytest.mark.parametrize("name", sorted(CASES))
def test_network_is_what_it_was(name: str) -> None:
    found, expected = facts(name), TABLE["networks"][name]
    if is_by_linear_algebra(name) and algebra_print() != TABLE["algebra"]:
        found, expected = found | {"digest": None}, expected | {"digest": None}
    assert found == expected


@pytest.mark.parametrize("name", sorted(FILES))
def test_old_file_loads_to_the_same_network(name: str) -> None:
    model = exactfit.load(GOLDEN / name)
    network = getattr(model, "classifier_", model)
    network = getattr(network, "network_", network)
    assert network.digest == FILES[name]["digest"]


@pytest.mark.parametrize("name", sorted(name for name in FILES if FILES[name]["answers"]))
def test_old_file_answers_as_it_did(name: str) -> None:
    from golden_networks import DATA

    X, _, new = DATA[FILES[name]["data"]]()
    model = exactfit.load(GOLDEN / name)
    assert [kept(model.predict(X)), kept(model.predict(new))] == FILES[name]["answers"]
