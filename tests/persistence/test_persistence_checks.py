"""Files whose digests are right and whose contents never were a model: refused, part by part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.attacks import (
    FORGERIES,
    NETWORK_FORGERIES,
    PACKINGS,
    SPARSE_FORGERIES,
    W0,
    Forge,
    drop,
    forged,
    put,
    swap,
    table_file,
)
from helpers.networks import NETWORKS, fitted_model, labels, points

from exactfit import save
from exactfit.construct import Construction, Trace
from exactfit.outcome import Outcome
from exactfit.persistence.container import read_container


@pytest.mark.parametrize("section", ["certificate", "trace"])
@pytest.mark.parametrize("value", [[1.5], {"a": 1}])
def test_a_field_of_another_type_is_refused(section: str, value: Any, small: bytes, path: Path) -> None:
    path.write_bytes(small)
    for name in read_container(path)[0][section]:
        forged(small, path, put(section, name, value))


@pytest.mark.parametrize("name", FORGERIES)
def test_what_was_never_written_is_refused(name: str, small: bytes, path: Path) -> None:
    forged(small, path, FORGERIES[name])


@pytest.mark.parametrize(("name", "change"), NETWORK_FORGERIES)
def test_what_no_network_is_is_refused(name: str, change: Forge, path: Path) -> None:
    save(NETWORKS[name](), path)
    forged((path).read_bytes(), path, change)


@pytest.fixture(scope="module")
def sparse(path: Path) -> bytes:
    """The bytes of a small classifier with sparse hyperplanes and weighted detectors."""
    save(fitted_model(points(), labels(0, 1, 2), hyperplanes="sparse", detectors="weighted", width=70), path)
    return path.read_bytes()


@pytest.mark.parametrize("name", SPARSE_FORGERIES)
def test_what_no_sparse_layer_is_is_refused(name: str, sparse: bytes, path: Path) -> None:
    forged(sparse, path, SPARSE_FORGERIES[name])


@pytest.mark.parametrize("name", PACKINGS)
def test_numbers_packed_in_another_way_are_refused(name: str, sparse: bytes, path: Path) -> None:
    forged(sparse, path, PACKINGS[name], repacked=False)


def test_rows_of_a_sparse_layer_are_followed_before_scipy_sees_them(path: Path) -> None:
    """SciPy's own check believes an indptr that ends at or below zero, and its sorting then leaves its arrays."""
    save(NETWORKS["three sparse"](), path)
    message = forged(path.read_bytes(), path, swap(f"{W0}indptr", lambda ends: [0, 10**8, 2, -1]))
    assert "do not follow one another" in message


def test_a_construction_names_rows(path: Path) -> None:
    one = np.zeros(1, dtype=np.int64)
    made = Construction(NETWORKS["dense"](), Outcome.POINTS_MISSED, Trace(one, one, one, one), errors=one)
    save(made, path)
    octets = path.read_bytes()
    for wrong in (np.array([-1]), np.array([2, 1]), np.array([0.5]), one[None]):
        assert "its construction.errors has to be numbers" in forged(
            octets, path, swap("construction.errors", lambda _, w=wrong: w)
        )


def test_a_trace_of_unknown_classes_is_refused(path: Path) -> None:
    one = np.zeros(1, dtype=np.int64)
    save(Construction(NETWORKS["dense"](), Outcome.INTERPOLATES, Trace(one, one, one, one)), path)
    message = forged(path.read_bytes(), path, swap("trace.detector_classes", lambda codes: codes + 2))
    assert "detectors for a class that its network does not know" in message


@pytest.mark.parametrize("name", ["importances", "spreads", "on_counts"])
@pytest.mark.parametrize(
    "change", [lambda numbers: numbers[:-1], lambda numbers: numbers.astype(float), lambda numbers: numbers - np.inf]
)
def test_a_trace_says_the_same_about_all_features_and_hyperplanes(path: Path, name: str, change: Any) -> None:
    save(fitted_model(points(), labels(0, 1)), path)
    message = forged(path.read_bytes(), path, swap(f"trace.{name}", change))
    assert f"its Trace.{name} has to be" in message


@pytest.fixture(scope="module")
def weighted(path: Path) -> bytes:
    """The bytes of a small classifier with weighted detectors."""
    save(fitted_model(points(), labels(0, 1), detectors="weighted"), path)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["support", "shares", "support_starts"])
@pytest.mark.parametrize(
    "change",
    [
        lambda numbers: numbers[:-1],
        lambda numbers: numbers[:0],
        lambda numbers: numbers[None],
        lambda numbers: numbers.astype(np.float64),
        lambda numbers: np.concatenate([numbers, numbers]),
    ],
)
def test_what_weighted_detectors_rest_on_is_checked(name: str, change: Any, weighted: bytes, path: Path) -> None:
    forged(weighted, path, swap(f"trace.{name}", change))


@pytest.mark.parametrize("numbers", [lambda rows: rows + 10**6, lambda rows: rows - 10**6])
def test_rows_that_weighted_detectors_rest_on_are_rows(numbers: Any, weighted: bytes, path: Path) -> None:
    forged(weighted, path, swap("trace.support", numbers))
    forged(weighted, path, swap("trace.support_starts", numbers))


@pytest.fixture(scope="module")
def small_table(path: Path) -> bytes:
    """The bytes of a small table model's file."""
    return table_file(path)


def columns(change: Any) -> Any:
    return lambda header, _: change(header["table"]["columns"])


TABLE_FORGERIES: dict[str, Any] = {
    "no section": drop("table"),
    "no columns": drop("table", "columns"),
    "empty columns": put("table", "columns", []),
    "columns that are none": put("table", "columns", ["x", "c"]),
    "one column": columns(list.pop),
    "columns in another order": columns(list.reverse),
    "more in a column": put("table", "columns", 0, "more", 1),
    "name that is none": put("table", "columns", 0, "name", 1),
    "name twice": put("table", "columns", 0, "name", "c"),
    "position that is none": put("table", "columns", 0, "position", True),
    "negative position": put("table", "columns", 0, "position", -1),
    "position beyond the table": put("table", "columns", 1, "position", 7),
    "categories of numbers": put("table", "columns", 0, "categories", []),
    "categories out of order": put("table", "columns", 1, "categories", ["v", "u"]),
    "category twice": put("table", "columns", 1, "categories", ["u", "u"]),
    "category that is none": put("table", "columns", 1, "categories", ["u", 3]),
    "categories in a text": put("table", "columns", 1, "categories", "uv"),
    "more categories": put("table", "columns", 1, "categories", ["u", "v", "w"]),
    "numbers for categories": put("table", "columns", 1, "categories", None),
    "more in the section": put("table", "code", "print()"),
    "header": put("table", "header", 1),
    "no header, but names": put("table", "header", False),
    "fewer columns than there are": put("table", "n_columns", 1),
    "columns that cannot be counted": put("table", "n_columns", 3.0),
    "no label": put("table", "target", None),
    "label position": put("table", "target_position", 0),
    "label beyond the table": put("table", "target_position", 3),
    "label position that is none": put("table", "target_position", "2"),
    "scale": put("table", "scale", "unit"),
    "scale that is none": put("table", "scale", ["standard"]),
    "no scaling, but numbers": put("table", "scale", "none"),
    "kind": put("kind", "classifier"),
    "unknown kind": put("kind", "tables"),
    "kind that is none": put("kind", ["table"]),
    "no mean": lambda _, tensors: tensors.pop("table.mean"),
    "no deviation": lambda _, tensors: tensors.pop("table.scale"),
    "more tensors": lambda _, tensors: tensors.update({"table.more": np.zeros(3)}),
    "mean that is not finite": swap("table.mean", lambda mean: mean + np.nan),
    "mean of an indicator": swap("table.mean", lambda mean: mean + 1),
    "short mean": swap("table.mean", lambda mean: mean[:-1]),
    "float32 mean": swap("table.mean", lambda mean: mean.astype(np.float32)),
    "square mean": swap("table.mean", lambda mean: mean[:, None]),
    "division by zero": swap("table.scale", lambda scale: scale * [0, 1, 1]),
    "negative deviation": swap("table.scale", lambda scale: -scale),
    "infinite deviation": swap("table.scale", lambda scale: scale * [np.inf, 1, 1]),
    "deviation of an indicator": swap("table.scale", lambda scale: scale * 2),
    "no network": drop("network"),
    "certificate": put("certificate", "holds", False),
}


@pytest.mark.parametrize("name", TABLE_FORGERIES)
def test_what_no_table_is_is_refused(name: str, small_table: bytes, path: Path) -> None:
    forged(small_table, path, TABLE_FORGERIES[name])
