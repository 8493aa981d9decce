"""The network of a Dask collection is the one of the same rows in memory, whatever the chunks."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons

import exactfit
from exactfit import InterpolatingClassifier
from exactfit.distributed import DaskInterpolatingClassifier, tasks
from exactfit.exceptions import (
    AssumptionError,
    ConflictWarning,
    ContradictoryLabelsError,
    DataError,
    InterpolationWarning,
    ParameterError,
    TooLargeError,
    WidthLimitError,
)

da = pytest.importorskip("dask.array")


def digits(n: int = 300):
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


def in_chunks(X: np.ndarray, *lengths: int):
    assert sum(lengths) == len(X)
    return da.from_array(X, chunks=(lengths, X.shape[1]))


def assert_same(model: DaskInterpolatingClassifier, local: InterpolatingClassifier) -> None:
    """All that is remembered of a fit is the same."""
    assert model.network_.digest == local.network_.digest
    assert model.outcome_ is local.outcome_
    assert vars(model.trace_).keys() == vars(local.trace_).keys()
    for name, value in vars(local.trace_).items():
        np.testing.assert_array_equal(getattr(model.trace_, name), value)
    for name, value in vars(local.certificate_).items():
        np.testing.assert_array_equal(getattr(model.certificate_, name), value)


RECIPES = [
    {},
    {"width": 130},
    {"hyperplanes": "gaussian", "center": False, "min_width": 100},
    {"hyperplanes": "gaussian", "max_bias": 20.0, "width": 256},
    {"hyperplanes": "gaussian", "margin": 1.0},
    {"hyperplanes": "sparse", "max_features": (2, 3), "detectors": "mask", "min_width": 0},
    {"hyperplanes": "sparse", "image_shape": (8, 8), "min_width": 300},
    {"hyperplanes": "sparse", "image_shape": (4, 4, 4), "max_features": 6, "width": 100},
    {"detectors": "weighted", "width": 150},
    {"hyperplanes": "bisector"},
    {"hyperplanes": "bisector", "width": 128},
    {"detectors": "weighted", "min_width": 200, "n_jobs": 2},
    {"hyperplanes": "bisector", "max_width": 2000, "min_width": 200},
    {"margin": 1.0},
    {"margin": 1.0, "width": 200},
    {"margin": "20%", "width": 200},
]


@pytest.mark.parametrize("options", RECIPES, ids=str)
@pytest.mark.filterwarnings("ignore::exactfit.InterpolationWarning")
def test_the_network_is_that_of_one_machine(options) -> None:
    X, y = digits()
    local = InterpolatingClassifier(random_state=3, **options).fit(X, y)
    parts = in_chunks(X, 0, 120, 1, 0, 179, 0)
    model = DaskInterpolatingClassifier(random_state=3, **options).fit(parts, da.from_array(y, chunks=77))
    assert_same(model, local)


@pytest.mark.parametrize("hyperplanes", ["gaussian", "sparse"])
@given(st.lists(st.integers(0, 70), max_size=6), st.lists(st.integers(1, 199), max_size=4), st.integers(0, 5))
@settings(max_examples=8, deadline=None)
def test_chunks_change_nothing(hyperplanes: str, lengths: list[int], edges: list[int], seed: int) -> None:
    X, y = make_moons(200, noise=0.2, random_state=seed)
    cuts = np.minimum(np.cumsum([0, *lengths]), 200)
    parts = in_chunks(X, *np.diff([*cuts, 200]).tolist())
    labels = da.from_array(y, chunks=(tuple(np.diff([0, *sorted(set(edges)), 200]).tolist()),))
    options = {"hyperplanes": hyperplanes, "random_state": seed}
    model = DaskInterpolatingClassifier(**options).fit(parts, labels)
    assert_same(model, InterpolatingClassifier(**options).fit(X, y))


def test_chunks_of_one_class_and_two_classes_of_words() -> None:
    X, y = digits()
    order = np.argsort(y, kind="stable")
    X, words = X[order], np.where(y[order] < 5, "low", "high and long")
    model = DaskInterpolatingClassifier(random_state=0).fit(
        in_chunks(X, 100, 100, 100), da.from_array(words, chunks=50)
    )
    assert_same(model, InterpolatingClassifier(random_state=0).fit(X, words))
    assert model.predict(in_chunks(X, 300)).compute().tolist() == words.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8, np.int64])
def test_every_type_of_numbers(kind) -> None:
    X, y = digits()
    model = DaskInterpolatingClassifier(random_state=0).fit(in_chunks(X.astype(kind), 123, 177), y)
    assert_same(model, InterpolatingClassifier(random_state=0).fit(X, y))


@pytest.mark.parametrize("chunks", [(100, 64), (100, 20)])
def test_sparse_chunks_also_with_features_in_several(chunks, caplog) -> None:
    X, y = digits()
    parts = da.from_array(X, chunks=chunks).map_blocks(sp.csr_matrix)
    with caplog.at_level(logging.INFO, logger="exactfit"):
        model = DaskInterpolatingClassifier(random_state=0).fit(parts, y)
    assert ("joined" in caplog.text) == (chunks[1] < 64)
    local = InterpolatingClassifier(random_state=0).fit(X, y)
    assert_same(model, local)
    assert model.score(parts, y) == 1.0
    assert str(model.explain(parts)) == str(local.explain(X))


def test_lengths_that_dask_does_not_know() -> None:
    X, y = digits()
    parts, labels = in_chunks(X, 150, 150), da.from_array(y, chunks=100)
    some = parts[parts[:, 2] > 3], labels[da.from_array(X[:, 2] > 3, chunks=100)]
    assert np.isnan(some[0].shape[0])
    model = DaskInterpolatingClassifier(random_state=0).fit(*some)
    kept = X[:, 2] > 3
    assert_same(model, InterpolatingClassifier(random_state=0).fit(X[kept], y[kept]))
    assert (model.predict(some[0]).compute() == y[kept]).all()


def test_frames_keep_their_names() -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = digits()
    frame = pd.DataFrame(X, columns=[f"pixel {k}" for k in range(64)])
    frame["pixel 3"] = frame["pixel 3"].astype("Int64")
    parts, labels = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y.astype(str)), npartitions=2)
    model = DaskInterpolatingClassifier(random_state=0).fit(parts, labels)
    local = InterpolatingClassifier(random_state=0).fit(frame, y.astype(str))
    assert_same(model, local)
    assert model.feature_names_in_.tolist() == local.feature_names_in_.tolist() == list(frame.columns)
    assert model.score(parts, labels) == 1.0
    assert str(model.explain(parts.partitions[1])) == str(local.explain(parts.partitions[1].compute()))
    with pytest.raises(DataError, match="features"):
        model.predict(parts[["pixel 1", "pixel 0"]])


def test_columns_of_words_are_refused_by_name() -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": [1.0, 2.0], "town": ["Ulm", "Bonn"], "kind": pd.Categorical(["x", "y"])})
    with pytest.raises(DataError, match=r"\['town', 'kind'\]"):
        DaskInterpolatingClassifier().fit(dd.from_pandas(frame, npartitions=1), [0, 1])


def test_answers_are_lazy_and_the_same() -> None:
    X, y = digits()
    parts = in_chunks(X, 0, 200, 100)
    for classes in (10, 2):
        model = DaskInterpolatingClassifier(random_state=0, target="all" if classes == 2 else None)
        model.fit(parts, y % classes)
        local = model.to_local()
        for name in ("predict", "decision_function", "abstains"):
            answers = getattr(model, name)(parts)
            assert isinstance(answers, da.Array)
            expected = getattr(local, name)(X)
            assert answers.shape == expected.shape
            np.testing.assert_array_equal(answers.compute(), expected)
            assert answers.dtype == expected.dtype


def test_to_local_can_be_saved_and_certified(tmp_path) -> None:
    X, y = digits()
    model = DaskInterpolatingClassifier(random_state=0).fit(in_chunks(X, 99, 201), y)
    path, twin = tmp_path / "a.exactfit", tmp_path / "b.exactfit"
    exactfit.save(model.to_local(), path)
    exactfit.save(InterpolatingClassifier(random_state=0).fit(X, y), twin)
    assert path.read_bytes() == twin.read_bytes()
    proof = exactfit.certify(model.to_local(), X, y)
    assert proof.holds
    assert proof.data_digest == model.certificate_.data_digest


@pytest.mark.parametrize("options", [{}, {"width": 30}], ids=str)
@pytest.mark.filterwarnings("ignore::exactfit.InterpolationWarning")
def test_one_certificate_from_all_chunks(options) -> None:
    X, y = digits()
    model = DaskInterpolatingClassifier(random_state=0, **options).fit(in_chunks(X, 300), y)
    parts, labels = in_chunks(X, 0, 7, 193, 100), da.from_array(y, chunks=90)
    for proof in ({}, {"arithmetic": "float32"}, {"radii": True}, {"margin": 1e-3}):
        expected = exactfit.certify(model.to_local(), X, y, **proof)
        found = exactfit.certify(model, parts, labels, **proof)
        for name, value in vars(expected).items():
            np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)
    with pytest.raises(ParameterError, match="neither attack nor given_up"):
        exactfit.certify(model, parts, labels, attack=True)


def test_contradictory_rows_are_found_across_chunks() -> None:
    X, y = digits()
    X, y = np.concatenate([X, X[[7, 7, 250]], -0.0 * X[:1]]), np.concatenate([y, [9, 8, 5, 0]])
    parts = in_chunks(X, 100, 100, 101, 3)
    local, model = InterpolatingClassifier(random_state=0), DaskInterpolatingClassifier(random_state=0)
    with pytest.raises(ContradictoryLabelsError) as there:
        model.fit(parts, y)
    with pytest.raises(ContradictoryLabelsError) as here:
        local.fit(X, y)
    assert there.value.pairs == here.value.pairs
    with pytest.warns(ConflictWarning):
        local.set_params(conflicts="majority").fit(X, y)
    with pytest.warns(ConflictWarning):
        assert_same(model.set_params(conflicts="majority").fit(parts, y), local)


def test_close_points_are_rescued_alike() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[20:] = np.nextafter(X[:20], np.inf)
    y = np.repeat([0, 1], 20)
    local = InterpolatingClassifier(random_state=0).fit(X, y)
    assert local.trace_.n_fallback_cuts
    assert_same(DaskInterpolatingClassifier(random_state=0).fit(in_chunks(X, 7, 33), y), local)


def test_a_width_that_misses_points_warns_alike() -> None:
    X, y = digits()
    with pytest.warns(InterpolationWarning) as here:
        local = InterpolatingClassifier(8, random_state=0).fit(X, y)
    with pytest.warns(InterpolationWarning) as there:
        model = DaskInterpolatingClassifier(8, random_state=0).fit(in_chunks(X, 299, 1), y)
    assert [str(one.message) for one in here] == [str(one.message) for one in there]
    assert_same(model, local)


def test_what_is_left_out_is_refused() -> None:
    X, y = digits()
    for options in ({"noise": 0.1}, {"exact_in": "float32"}, {"activation": "relu"}):
        with pytest.raises(ParameterError, match=f"{next(iter(options))}=.*Dask collections yet"):
            DaskInterpolatingClassifier(**options).fit(in_chunks(X, 300), y)
    for name in ("noise", "exact_in"):
        with pytest.raises(ParameterError, match=rf"{name} must be .*, got ndarray of shape \(300,\)"):
            DaskInterpolatingClassifier(**{name: np.arange(300.0)}).fit(in_chunks(X, 300), y)
    with pytest.raises(TooLargeError, match="a margin needs the patterns of all 300 points"):
        DaskInterpolatingClassifier(100, margin=1e-4, memory_limit=9000).fit(
            in_chunks(moons(300)[0], 300), moons(300)[1]
        )
    with pytest.raises(ParameterError, match="memory_limit"):
        DaskInterpolatingClassifier(memory_limit=0).fit(in_chunks(X, 300), y)


def test_a_margin_that_is_too_large_names_two_rows_alike() -> None:
    X, y = digits()
    with pytest.raises(AssumptionError) as here:
        InterpolatingClassifier(margin="100%", random_state=0).fit(X, y)
    with pytest.raises(AssumptionError) as there:
        DaskInterpolatingClassifier(margin="100%", random_state=0).fit(in_chunks(X, 140, 0, 159, 1), y)
    assert str(there.value) == str(here.value)


def test_data_that_will_not_do_are_refused_with_global_rows() -> None:
    X, y = digits()
    broken = X.copy()
    broken[217, 3] = np.nan
    model = DaskInterpolatingClassifier()
    with pytest.raises(DataError, match="row 217 of X"):
        model.fit(in_chunks(broken, 200, 100), y)
    with pytest.raises(DataError, match="Dask array or frame"):
        model.fit(X, y)
    with pytest.raises(DataError, match="one label for each of the 300 rows"):
        model.fit(in_chunks(X, 300), y[:299])
    with pytest.raises(DataError, match="only one class"):
        model.fit(in_chunks(X, 300), np.zeros(300))
    with pytest.raises(DataError, match="at least one row"):
        model.fit(in_chunks(X[:0], 0), y[:0])
    with pytest.raises(DataError, match=r"2\*\*53"):
        model.fit(in_chunks(np.array([[2**53 + 1], [0]]), 1, 1), [0, 1])
    assert not hasattr(model, "network_")


def test_a_memory_limit_is_kept() -> None:
    X, y = digits()
    with pytest.raises(TooLargeError, match="smaller width"):
        DaskInterpolatingClassifier(5000, hyperplanes="gaussian", memory_limit=2**20).fit(in_chunks(X, 300), y)
    sparse = DaskInterpolatingClassifier(5000, memory_limit=2**20, random_state=0).fit(in_chunks(X, 300), y)
    assert sparse.width_ == 5000  # of few features each: they fit
    points, noisy = moons(300)[0], np.random.default_rng(0).integers(0, 2, 300)
    model = DaskInterpolatingClassifier(hyperplanes="gaussian", min_width=0, memory_limit=2**13, random_state=0)
    with pytest.raises(WidthLimitError, match=r"what memory allows.*Use a smaller fixed width, which may miss"):
        model.fit(in_chunks(points, 300), noisy)


def moons(n: int = 1500):
    return make_moons(n, noise=0.15, random_state=0)


@pytest.mark.parametrize("detectors", ["mask", "weighted"])
def test_patterns_of_a_fixed_width_beyond_the_memory_are_refused(detectors: str) -> None:
    X, y = moons()
    model = DaskInterpolatingClassifier(300, detectors=detectors, memory_limit=10_000)
    with pytest.raises(TooLargeError, match=r"patterns of 300 hyperplanes exceed .*raise memory_limit"):
        model.fit(in_chunks(X, 700, 800), y)


def test_hashes_come_in_parts_where_they_are_many() -> None:
    X, y = moons()
    X, y = np.concatenate([X, X[[7, 7, 1250]]]), np.concatenate([y, 1 - y[[7, 7, 1250]]])
    model = DaskInterpolatingClassifier(300, random_state=0, memory_limit=20_000)
    with pytest.raises(ContradictoryLabelsError) as there:
        model.fit(in_chunks(X, 700, 800, 3), y)
    with pytest.raises(ContradictoryLabelsError) as here:
        InterpolatingClassifier(300).fit(X, y)
    assert there.value.pairs == here.value.pairs


@given(st.integers(0, 10**6), st.integers(1, 1500))
@settings(max_examples=15, deadline=None)
def test_cells_with_many_points_are_one_column(seed: int, cut: int) -> None:
    """Few hyperplanes on a grid: equal points, equal patterns, and points that none claims."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (1500, 2)).astype(np.float64)
    y = (X.sum(axis=1) % 5 > 2).astype(int)
    for options in ({}, {"width": 6}, {"width": 12}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InterpolationWarning)
            local = InterpolatingClassifier(random_state=seed, **options).fit(X, y)
            model = DaskInterpolatingClassifier(random_state=seed, **options).fit(in_chunks(X, cut, 1500 - cut), y)
        assert_same(model, local)


def test_it_is_an_estimator_with_a_client() -> None:
    client = object()
    model = clone(DaskInterpolatingClassifier(width=7))
    assert model.set_params(client=client).get_params()["client"] is client
    with pytest.raises(Exception, match="not fitted"):
        model.predict(in_chunks(digits()[0], 300))


def test_tasks_carry_sparse_hyperplanes_and_rows_are_fetched_once_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = digits()
    carried, fetched = [], []
    groups, rows = tasks.groups_of_chunk, tasks.rows_of_chunk
    monkeypatch.setattr(tasks, "groups_of_chunk", lambda *some: carried.append(some[2].weights) or groups(*some))
    monkeypatch.setattr(tasks, "rows_of_chunk", lambda *some: fetched.append(len(some[1])) or rows(*some))
    DaskInterpolatingClassifier(width=200, random_state=0).fit(in_chunks(X, 300), y)
    assert carried
    assert all(sp.issparse(weights) and weights.nnz <= 4 * 200 for weights in carried)
    # After the rows that tell how far features spread, and before those that importances rest on.
    assert fetched[1:] == [128] * 4 + [256]
