"""The table of networks that must not change, and model files that must load for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.networks import (
    CASES,
    DATA,
    ESTIMATORS,
    FACTS,
    GOLDEN,
    OPTIONS,
    algebra_print,
    facts,
    is_by_linear_algebra,
    kept,
    stream_print,
)

import exactfit
from exactfit.exceptions import ModelFileError, ParameterError
from exactfit.persistence.container import FORMAT, read_container

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


def test_there_are_files_of_every_format() -> None:
    assert {read_container(GOLDEN / name)[0]["format"] for name in FILES} == set(range(1, FORMAT + 1))


def test_every_option_that_a_network_depends_on_is_tried() -> None:
    tried = {key for case in ESTIMATORS.values() for key, value in case.keywords.items() if value != OPTIONS[key]}
    assert OPTIONS.keys() - tried == {"verbose", "image_shape"}  # which is for images, and no law here looks at them


@pytest.mark.parametrize("name", ["table", "table-unscaled"])
def test_new_points_of_tables_are_other_rows(name: str) -> None:
    assert TABLE["networks"][name]["new"] != TABLE["networks"][name]["train"]


@pytest.mark.parametrize("name", sorted(FILES))
def test_old_file_loads_to_the_same_network(name: str) -> None:
    model = exactfit.load(GOLDEN / name)
    network = getattr(model, "classifier_", model)
    network = getattr(network, "network_", network)
    assert network.digest == FILES[name]["digest"]


@pytest.mark.parametrize("name", sorted(name for name in FILES if FILES[name]["answers"]))
def test_old_file_answers_as_it_did(name: str) -> None:
    X, _, new = DATA[FILES[name]["data"]]()
    model = exactfit.load(GOLDEN / name)
    assert [kept(model.predict(X)), kept(model.predict(new))] == FILES[name]["answers"]


def test_a_file_of_several_networks_is_refused_with_the_reason() -> None:
    with pytest.raises(ModelFileError, match=r"several networks.*\(n_networks of exactfit 0\.2\).*fit it again"):
        exactfit.load(GOLDEN / "networks.exactfit")


@pytest.mark.parametrize("name", ["margin.exactfit", "near-bisector.exactfit", "local.exactfit"])
def test_a_file_that_names_options_that_are_gone_proves_what_it_did_and_is_saved_again(
    name: str, tmp_path: Path
) -> None:
    X, y, _ = DATA[FILES[name]["data"]]()
    model = exactfit.load(GOLDEN / name)
    proof = exactfit.certify(model, X, y)
    assert (proof.holds, proof.data_digest) == (True, model.certificate_.data_digest)
    exactfit.save(model, tmp_path / "again")
    assert exactfit.load(tmp_path / "again").get_params() == model.get_params()


@pytest.mark.parametrize(("name", "law"), [("near-bisector.exactfit", "near-bisector"), ("local.exactfit", "local")])
def test_a_law_that_is_gone_is_refused_by_fit_alone(name: str, law: str) -> None:
    X, y, _ = DATA[FILES[name]["data"]]()
    with pytest.raises(
        ParameterError, match=f"hyperplanes must be one of 'gaussian', 'bisector', 'sparse', got '{law}'"
    ):
        exactfit.load(GOLDEN / name).fit(X, y)
