"""A record shows what it is about in a line or two, however large its arrays are."""

from __future__ import annotations

from dataclasses import is_dataclass
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.problems import write_points
from sklearn.base import BaseEstimator

import exactfit
from exactfit import InterpolatingClassifier, TableModel, adaptive_width, certify, describe, extend, lab
from exactfit.construct import Options
from exactfit.network import BitMatrix, Dense, Integers, Layer, Masks, Network, Sparse, WeightedMasks, object_array
from exactfit.network.activations import THRESHOLD
from exactfit.tables import Column, ReadOptions

PACKAGES = ("", ".geometry", ".lab", ".network", ".plots", ".repairs", ".suspects", ".tables")
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(300, 40)), RNG.integers(3, size=300)


def of_models():
    model = InterpolatingClassifier(min_width=500, random_state=0).fit(X, Y)
    made = adaptive_width(X, Y)
    explained = model.explain(X)
    bits = BitMatrix.from_bool(X > 0)
    yield from (explained, explained[0], explained[0].other, explained.responses)
    yield from (certify(model, X, np.roll(Y, 1)), model.certificate_, model.network_, model.trace_, model.outcome_)
    yield from (made, extend(made, [(X, Y)]), Network(made.network.layers, made.network.decoder), bits)
    yield from (Dense(X), Sparse(sp.csr_array(X)), Masks(bits, -1), Integers(object_array(range(4), (2, 2))))
    yield from (WeightedMasks(RNG.integers(-9, 9, size=(50, 60), dtype=np.int8), -1), THRESHOLD)
    yield Layer(Dense(X), np.zeros(300), THRESHOLD)
    yield from made.network.layers
    yield made.network.decoder
    yield exactfit.repair(lambda Z: np.zeros(len(Z)), X, Y.astype(float)).report()
    yield exactfit.find_suspects(X, Y)
    sparse = InterpolatingClassifier(random_state=0).fit(X, Y)
    yield sparse.explain(X[:1])[0].conditions[0]


def of_geometry():
    found = describe(X[:60], Y[:60] > 0)
    yield from (found, found.separation, found.mean_widths, found.limit, found.covering, found.bounds)
    yield found.calibration


def of_the_lab():
    compared = exactfit.compare(X[:60], Y[:60], ["huang", "1-nn"])
    measured = exactfit.evaluate({"width": 20}, X[:60], Y[:60], n_folds=2, n_repeats=1)
    yield from (compared, compared.rows[0], measured, measured.standings[0], lab.load_dataset("two-moons"))


def of_tables(folder):
    write_points(folder)
    table = exactfit.read_table(folder / "points.csv", label="kind")
    model = TableModel().fit(table)
    explained = model.explain(table, training=table)
    yield from (table, table.columns[0], explained, explained[0], model.encoding_, model.encoding_.fields[0])
    yield from (Column("age", 0, X[:, 0]), ReadOptions())


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    return [*of_models(), *of_geometry(), *of_the_lab(), *of_tables(folder)]


def test_it_fits_in_a_few_lines(records):
    for record in records:
        text = repr(record)
        assert type(record).__name__ in text or "certificate" in text
        assert len(text) < 300
        assert "array" not in text


def test_no_public_record_is_forgotten(records):
    """Options and estimators aside, whose repr is what to paste."""
    packages = [import_module(f"exactfit{name}") for name in PACKAGES]
    public = [getattr(package, name) for package in packages for name in package.__all__]
    classes = {one for one in public if isinstance(one, type) and is_dataclass(one)}
    told = {one for one in classes if not issubclass(one, BaseEstimator | Options)}
    assert not {one.__name__ for one in told - set(map(type, records))}
