"""One trial: shared draws, seeds, and sides for many bias vectors at once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs

from exactfit import certify, fixed_width
from exactfit._support.console import silent
from exactfit._support.threads import SERIAL
from exactfit.construct import Options, evidence
from exactfit.construct.construction import assemble
from exactfit.construct.cover import cover_classes
from exactfit.construct.evidence import Counts
from exactfit.construct.first_layer import TrainingSet
from exactfit.construct.hyperplanes import Hyperplanes
from exactfit.construct.unique_patterns import ClassOrder
from exactfit.data import data_digest, mean
from exactfit.exceptions import ParameterError
from exactfit.lab import Dataset, load_dataset
from exactfit.lab.trial import (
    INDEPENDENT,
    Cell,
    Draw,
    FirstLayers,
    OrderedPoints,
    Scheme,
    cover_cell,
    draw_hyperplanes,
    run_cell,
    sides_of_many,
    stream_seed,
)
from exactfit.network.sides import sides

PAPERS = Scheme(center=False)  # draws around the origin


def dataset(X: np.ndarray, y: np.ndarray, target: int | None = None) -> Dataset:
    X, y = np.ascontiguousarray(X, dtype=np.float64), y.astype(np.int64)
    return Dataset(
        X=X, y=y, name="toy", classes=tuple(map(str, range(int(y.max()) + 1))), target=target,
        digest=data_digest(X, y, version=1), published=None, source="test",
    )  # fmt: skip


@pytest.fixture(scope="module")
def digits() -> Dataset:
    X, y = load_digits(return_X_y=True)
    X = X[:300] / np.sqrt((X[:300] ** 2).sum(axis=1)).max()
    return dataset(X, y[:300])


@pytest.fixture(scope="module")
def moons() -> Dataset:
    return load_dataset("two-moons")


def by_hand(data: Dataset, cell: Cell, run: int, scheme: Scheme):
    """The same cell with the package's constructions, on the first N points alone."""
    draw = Draw(data.digest, scheme, run)
    X, y = data.X[: cell.N], data.y[: cell.N]
    weights, v = draw_hyperplanes(OrderedPoints.of(data), draw, cell, cell.n)
    biases = cell.lam * v
    if scheme.center:
        origin = mean(X)
        for i, w in enumerate(weights.astype(np.float64)):
            total = 0.0
            for j, each in enumerate(w):
                total += each * origin[j]
            biases[i] -= total
    planes, order = Hyperplanes(weights, biases), ClassOrder.of(y)
    targets = OrderedPoints.of(data).targets
    patterns = sides(X, weights, biases, rows=order.rows)
    options = Options(detectors=scheme.detectors)
    covers = cover_classes(Counts(patterns, SERIAL), order, targets, options, draw.order(cell))
    classes = np.arange(len(order.starts) - 1)
    training = TrainingSet(X, y, classes, targets, draw.order(cell), Options(), SERIAL, silent)
    return assemble(training, planes, with_bits(covers, patterns))


def with_bits(covers, patterns):
    """Covers with the patterns of their anchors, whose complements are masks."""
    for cover in covers:
        if cover.weights is None:
            cover.bits = patterns.take(np.array(cover.anchors, dtype=np.intp))
    return covers


def planes_of(layers: FirstLayers, cell: Cell) -> Hyperplanes:
    """The first layer of one cell."""
    return Hyperplanes(layers.weights, layers._biases(*layers._key(cell))).first(cell.n)


def build_cell(data: Dataset, cell: Cell, run: int, scheme: Scheme | None = None):
    """The network behind one cell of one run."""
    points, draw = OrderedPoints.of(data), Draw(data.digest, scheme or PAPERS, run)
    layers = FirstLayers(points, draw, [cell])
    covers, patterns = cover_cell(layers, cell), layers.patterns(cell)
    classes = np.arange(len(points.order.starts) - 1)
    data = SimpleNamespace(order=points.order, targets=points.targets, options=Options(), classes=classes)
    return assemble(data, planes_of(layers, cell), with_bits(covers, patterns))


CELLS = [Cell(n, lam, N) for n in (10, 64, 100) for lam in (0.0, 0.5, 1.3) for N in (150, 300)]


@pytest.mark.parametrize(
    "scheme", [PAPERS, Scheme(center=True), replace(PAPERS, kind=INDEPENDENT), replace(PAPERS, detectors="weighted")]
)
def test_shared_first_layers_change_nothing(digits: Dataset, scheme: Scheme) -> None:
    draw = Draw(digits.digest, scheme, 3)
    shared = FirstLayers(OrderedPoints.of(digits), draw, CELLS if scheme.kind != INDEPENDENT else CELLS[:1])
    for cell in CELLS:
        layers = shared if scheme.kind != INDEPENDENT else FirstLayers(OrderedPoints.of(digits), draw, [cell])
        trial, made = run_cell(layers, cell), by_hand(digits, cell, 3, scheme)
        assert trial.per_class == tuple(np.bincount(made.trace.detector_classes, minlength=10).tolist())
        assert trial.missed == len(made.trace.uncovered)
        assert trial.detectors == made.network.widths[1]
        assert (trial.run, trial.cell, trial.error) == (3, cell, "")
        assert (planes_of(layers, cell).biases == made.network.layers[0].bias).all()


def test_the_network_behind_a_cell_of_weights(digits: Dataset) -> None:
    cell, scheme = Cell(100, 0.5, 300), replace(PAPERS, detectors="weighted")
    made, other = build_cell(digits, cell, 3, scheme), by_hand(digits, cell, 3, scheme)
    assert made.network.digest == other.network.digest
    for name in ("anchors", "witnesses", "support", "dual_coef", "support_starts", "uncovered"):
        assert getattr(made.trace, name).tolist() == getattr(other.trace, name).tolist()
    assert made.network.widths[1] < build_cell(digits, cell, 3).network.widths[1]
    with pytest.raises(ParameterError, match="detectors must be one of mask, weighted, got 'heavy'"):
        Scheme(detectors="heavy")


def test_limits_worked_out_ahead_change_nothing(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, draw = OrderedPoints.of(digits), Draw(digits.digest, PAPERS, 4)
    plain = [run_cell(FirstLayers(problem, draw, CELLS), cell) for cell in CELLS]
    monkeypatch.setattr(evidence, "WORTHWHILE", 0)
    monkeypatch.setattr(evidence, "SHARE", 0.0)
    layers = FirstLayers(problem, draw, CELLS)
    ahead = [run_cell(layers, cell) for cell in CELLS]
    assert [replace(trial, seconds=0) for trial in ahead] == [replace(trial, seconds=0) for trial in plain]
    assert set(layers.ahead) == set(CELLS)
    assert all(list(found.limits) == [10, 64, 100] for found in layers.ahead.values())
    assert all(trial.seconds >= layers.share_ahead(trial.cell) > 0 for trial in ahead)
    assert sum(layers.share_ahead(cell) for cell in CELLS) == pytest.approx(layers.seconds_ahead)
    other = Cell(70, 0.5, 300)
    assert replace(run_cell(layers, other), seconds=0) == replace(
        run_cell(FirstLayers(problem, draw, [other]), other), seconds=0
    )


def test_the_first_layer_is_that_of_fixed_width(moons: Dataset) -> None:
    cell = Cell(130, 0.7, 1000)
    draw = Draw(moons.digest, PAPERS, 5)
    options = Options(max_bias=0.7, center=False, target=1)
    made = fixed_width(moons.X, moons.y, 130, options, random_state=draw.hyperplanes(cell))
    planes = planes_of(FirstLayers(OrderedPoints.of(moons), draw, [Cell(500, 0.7, 1000)]), cell)
    assert (made.network.layers[0].weights.values == planes.weights).all()
    assert (made.network.layers[0].bias == planes.biases).all()


def test_centred_first_layer_is_that_of_fixed_width(digits: Dataset) -> None:
    cell, scheme = Cell(70, 0.7, 200), Scheme(center=True)
    draw = Draw(digits.digest, scheme, 1)
    options = Options(max_bias=0.7, center=True)
    made = fixed_width(digits.X[:200], digits.y[:200], 70, options, random_state=draw.hyperplanes(cell))
    planes = planes_of(FirstLayers(OrderedPoints.of(digits), draw, [cell]), cell)
    assert (made.network.layers[0].bias == planes.biases).all()


def test_built_networks_are_those_of_the_trials(moons: Dataset, digits: Dataset) -> None:
    for data, cell in ((moons, Cell(200, 0.5, 1000)), (digits, Cell(400, 0.5, 300))):
        made = build_cell(data, cell, run=2)
        trial = run_cell(FirstLayers(OrderedPoints.of(data), Draw(data.digest, PAPERS, 2), [cell]), cell)
        assert made.network.widths[:2] == (cell.n, trial.detectors)
        assert certify(made.network, data.X, data.y).holds == (trial.missed == 0)


@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=6), st.integers(0, 3))
def test_a_cell_does_not_depend_on_its_company(digits: Dataset, company: list[Cell], run: int) -> None:
    problem, draw = OrderedPoints.of(digits), Draw(digits.digest, PAPERS, run)
    cell = company[0]
    alone = run_cell(FirstLayers(problem, draw, [cell]), cell)
    among = run_cell(FirstLayers(problem, draw, company), cell)
    assert replace(alone, seconds=0) == replace(among, seconds=0)


def test_what_seeds_depend_on() -> None:
    draw, cell = Draw("d", PAPERS, 0), Cell(10, 1.0, 100)
    others = [Cell(11, 1.0, 100), Cell(10, 2.0, 100), Cell(10, 1.0, 99)]
    assert all(draw.hyperplanes(other).entropy == draw.hyperplanes(cell).entropy for other in others)
    assert len({draw.order(each).entropy for each in [cell, *others]}) == 4
    changed = [Draw("e", PAPERS, 0), Draw("d", Scheme(center=True), 0), Draw("d", PAPERS, 1)]
    assert len({each.hyperplanes(cell).entropy for each in [draw, *changed]}) == 4
    assert changed[0].order(cell).entropy == draw.order(cell).entropy
    free = Draw("d", replace(PAPERS, kind=INDEPENDENT), 0)
    assert len({free.hyperplanes(each).entropy for each in [cell, *others]} | {draw.hyperplanes(cell).entropy}) == 5
    assert len({each.order(cell).entropy for each in (free, replace(free, digest="e"), draw)}) == 3


def test_seeds_are_fixed_for_good() -> None:
    """Rows of old stores must stay comparable: a change here makes all of them void."""
    draw, cell = Draw("0" * 64, PAPERS, 7), Cell(500, 0.5, 1000)
    assert draw.hyperplanes(cell).entropy % 10**12 == 248799980553
    assert draw.order(cell).entropy == stream_seed("order", 7, 500, 0.5, 1000).entropy


def test_whole_and_broken_numbers_are_one_lambda() -> None:
    draw = Draw("d", PAPERS, 0)
    assert draw.order(Cell(10, 1, 100)).entropy == draw.order(Cell(10, 1.0, 100)).entropy


def test_lambda_zero_and_a_class_alone_in_a_beginning() -> None:
    X, y = make_blobs(60, centers=3, random_state=0)
    data = dataset(X, np.sort(y))
    trial = run_cell(
        FirstLayers(OrderedPoints.of(data), Draw(data.digest, PAPERS, 0), [Cell(64, 0.0, 25)]), Cell(64, 0.0, 25)
    )
    assert len(trial.per_class) == 3
    assert trial.per_class[2] == 0


@pytest.mark.parametrize("wrong", [{"kind": "both"}, {"law": "cauchy"}])
def test_unknown_schemes(wrong: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match="no scheme"):
        Scheme(**wrong)


@pytest.mark.parametrize("d", [1, 2, 16, 17, 100, 700])
@pytest.mark.parametrize("n", [1, 64, 65, 130])
def test_same_as_one_bias_vector_at_a_time(d: int, n: int) -> None:
    rng = np.random.default_rng(d + n)
    X, weights = rng.normal(size=(83, d)), rng.normal(size=(n, d)).astype(np.float32)
    biases = np.array([0.0, 0.3, 1.0, 1e-9, 1e9])[:, None] * rng.uniform(-1, 1, n)
    rows = rng.permutation(83)[:70]
    many = sides_of_many(X, weights, biases, rows=rows)
    for bits, each in zip(many, biases, strict=True):
        assert (bits.words == sides(X, weights, each, rows=rows).words).all()


def test_sparse_points() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 40)) * (rng.random((90, 40)) < 0.2)
    weights, biases = rng.normal(size=(70, 40)).astype(np.float32), rng.normal(size=(3, 70))
    for dense, sparse in zip(
        sides_of_many(X, weights, biases), sides_of_many(sp.csr_array(X), weights, biases), strict=True
    ):
        assert (dense.words == sparse.words).all()


@given(st.integers(17, 40), st.integers(0, 2**32))
def test_points_on_hyperplanes_are_off(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (20, d)).astype(np.float64)
    weights = rng.integers(-3, 4, (10, d)).astype(np.float32)
    exact = X @ weights.T.astype(np.float64)
    biases = -exact[:3]  # each bias vector puts one point on every hyperplane
    for bits, each in zip(sides_of_many(X, weights, biases), biases, strict=True):
        assert (bits.to_bool() == (exact + each > 0)).all()


def test_huge_and_tiny_numbers() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, 30)) * 10.0 ** rng.integers(-300, 300, (70, 1))
    weights = rng.normal(size=(5, 30)).astype(np.float32)
    biases = rng.normal(size=(4, 5)) * np.array([[1e-300], [1.0], [1e300], [0.0]])
    for bits, each in zip(sides_of_many(X, weights, biases), biases, strict=True):
        assert (bits.words == sides(X, weights, each).words).all()


def test_nothing_to_decide() -> None:
    assert sides_of_many(np.empty((0, 20)), np.ones((3, 20)), np.zeros((2, 3)))[1].n_rows == 0
    assert sides_of_many(np.ones((4, 20)), np.ones((3, 20)), np.empty((0, 3))) == []
