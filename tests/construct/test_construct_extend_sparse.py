"""Sparse hyperplanes beyond the fit: streams, cuts, wide data; each as for the dense twin."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.problems import PROBLEMS, dense_twin, documents, twin_of

from exactfit import InterpolatingClassifier, Options, adaptive_width, extend, fixed_width
from exactfit.network import Sparse

OPTIONS = {
    "masks": {"detectors": "mask"},
    "weights": {"detectors": "weighted"},
    "relu": {"activation": "relu", "detectors": "mask"},
    "float32": {"exact_in": "float32"},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.filterwarnings("ignore::exactfit.InterpolationWarning")
def test_limits_lowered_over_a_stream_are_the_twins(options):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (400, 12)).astype(float), rng.integers(0, 3, 400)
    X, rows = np.unique(X, axis=0, return_index=True)
    y = y[rows]
    model = InterpolatingClassifier(hyperplanes="sparse", random_state=0, **OPTIONS[options]).fit(X[:200], y[:200])
    for batch in (X[200:], sp.csr_array(X[200:])):
        found = extend(model, [(batch, y[200:])], training=(X[:200], y[:200]))
        twin = extend(twin_of(model), [(X[200:], y[200:])], training=(X[:200], y[:200]))
        assert isinstance(found.construction.network.layers[0].weights, Sparse)
        own, other = (one.construction.network.layers[1] for one in (found, twin))
        # Of real values limits lie within the bounds of rounding, which count the weights of a hyperplane.
        np.testing.assert_allclose(own.bias, other.bias, rtol=1e-9 if options == "relu" else 0)
        if options != "relu":
            assert dense_twin(found.construction.network).digest == twin.construction.network.digest
        assert len(found.lowered) > 0
        np.testing.assert_array_equal(found.lowered, twin.lowered)
        np.testing.assert_array_equal(found.uncovered, twin.uncovered)


@pytest.mark.parametrize("activation", ["threshold", "relu"])
def test_cuts_stay_sparse_beside_sparse_hyperplanes(activation):
    X, y = PROBLEMS["close pairs"]()
    wide = sp.hstack([sp.csr_array(X), sp.csr_array((len(X), 50_000))], format="csr")
    made = adaptive_width(wide, y, Options(hyperplanes="sparse", activation=activation), 0)
    first = made.network.layers[0]
    assert isinstance(first.weights, Sparse)
    assert first.weights.rows.nnz <= 4 * first.n_units
    assert made.network.decide(wide).tolist() == y.tolist()
    narrow = adaptive_width(X, y, Options(hyperplanes="sparse", activation=activation), 0)
    assert narrow.network.decide(X).tolist() == y.tolist()
    assert narrow.trace.n_fallback_cuts == made.trace.n_fallback_cuts


@pytest.mark.parametrize("options", [{}, {"activation": "relu", "width": 200}], ids=str)
@pytest.mark.filterwarnings("ignore::exactfit.InterpolationWarning")
def test_fits_to_text_never_hold_it_dense(options):
    X, y = documents(500, 100_000)
    few, labels = documents(40, 100_000)
    InterpolatingClassifier(random_state=0, **options).fit(few, labels).predict(few)  # the compiler has been here
    tracemalloc.start()
    model = InterpolatingClassifier(random_state=0, **options).fit(X, y)
    answers = model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (answers == y).mean() > 0.9
    assert peak < 120e6 < 500 * 100_000 * 8 / 3
    first = model.network_.layers[0]
    assert first.n_parameters <= 5 * model.width_


def test_batches_of_text_are_looked_at_a_few_rows_at_a_time():
    X, y = documents(900, 50_000)
    made = fixed_width(X[:100], y[:100], 100, Options(hyperplanes="sparse"), 0)
    extend(made, [(X[:10], y[:10])])
    tracemalloc.start()
    extend(made, [(X[100:], y[100:])])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6 < 800 * 50_000 * 8 / 2
