"""Sparse layers in onnxruntime and PyTorch: the answers of their dense twins, and no zeros in the file."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.attacks import evaluations
from helpers.problems import PROBLEMS
from helpers.runtimes import DTYPES, RUNTIMES, exported, import_torch, ort, run_onnx, run_torch, session
from sklearn.datasets import load_digits

from exactfit import InterpolatingClassifier, to_onnx, to_torch
from exactfit.export.onnx import GATHER_COST, LONGEST, Gathers
from exactfit.network import Decoder, Dense, Layer, Masks, Network, Sparse
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.bits import BitMatrix

# Features, and how many weights a unit has at least and at most.
SHAPES = {
    "few features": (6, 0, 4),
    "a table": (60, 0, 5),
    "images": (784, 1, 4),
    "with long rows": (300, 0, 300),
    "long rows only": (200, 100, 200),
    "no weights": (7, 0, 0),
    "text": (100_000, 0, 60),
}


def layer_weights(shape, n_units, weights=(-1.0, 1.0, 2.0, -0.25)):
    d, low, high = SHAPES[shape]
    rng = np.random.default_rng(n_units)
    counts = rng.integers(low, high + 1, n_units)
    features = [np.sort(rng.choice(d, count, replace=False)) for count in counts]
    parts = rng.choice(np.array(weights, dtype=np.float32), counts.sum()), np.concatenate([*features, []]).astype(int)
    return sp.csr_array((*parts, np.concatenate([[0], np.cumsum(counts)])), shape=(n_units, d))


def whole_points(n, d):
    return np.random.default_rng(d).integers(-20, 20, (n, d)).astype(np.float64)


def network_over(weights, activation, bias):
    rng = np.random.default_rng(len(bias))
    last = Layer(Dense(rng.integers(-3, 4, (3, len(bias))).astype(np.float64)), np.zeros(3), None)
    return Network((Layer(weights, bias, activation), last), Decoder("argmax", (0, 1, 2)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", [THRESHOLD, RELU, None], ids=["threshold", "relu", "linear"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_units_of_any_number_of_weights(runtime, shape, activation, dtype):
    """Numbers are whole or quarters: so that they agree in all digits whatever the order of sums."""
    weights = layer_weights(shape, 70)
    network = network_over(Sparse(weights), activation, np.random.default_rng(3).integers(-9, 9, 70) / 4)
    X = whole_points(20, weights.shape[1])
    outputs = network(X)
    if weights.shape[1] < 1000:
        twin = network_over(Dense(weights.toarray()), activation, network.layers[0].bias)
        np.testing.assert_array_equal(outputs, twin(X))
        np.testing.assert_array_equal(run_onnx(to_onnx(twin, dtype), X.astype(dtype))[1], outputs)
    run = exported(runtime, network, dtype)
    for count in (20, 1, 3, 0):
        np.testing.assert_array_equal(run(X[:count].astype(dtype))[1], outputs[:count])


def test_units_are_gathered_once_each():
    for shape in SHAPES:
        weights = layer_weights(shape, 130)
        found, lengths, d = Gathers.of(weights), np.diff(weights.indptr), weights.shape[1]
        units = np.concatenate([*(units for units, _ in found.groups), found.wide])
        assert sorted(units.tolist()) == list(range(130))
        assert units[found.places].tolist() == list(range(130))
        for units, terms in found.groups:
            assert set(lengths[units].tolist()) == {len(terms)}
            assert 0 < len(terms) <= LONGEST
            assert GATHER_COST * len(terms) < d
            for unit, own in zip(units, terms.T, strict=True):
                line = np.zeros(d)
                np.add.at(line, found.features[own], found.factors[own])
                np.testing.assert_array_equal(line, weights[[unit]].toarray()[0])


def images(width=2000, max_features=4):
    """A network of 2,000 hyperplanes over 784 features, as exactfit fits it to images; and points."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (120, 784)).astype(np.float64), np.arange(120) % 4
    options = {"hyperplanes": "sparse", "image_shape": (28, 28), "max_features": max_features}
    return InterpolatingClassifier(width=width, exact_in="float32", random_state=0, **options).fit(X, y), X, y


def test_the_file_holds_no_zeros():
    model, X, y = images()
    n_weights = model.network_.layers[0].weights.n_nonzero
    proto = to_onnx(model, "float32")
    masks = sum(len(part.raw_data) for part in proto.graph.initializer if part.dims[-1:] == [1])
    size = len(proto.SerializeToString())
    metadata = sum(len(part.value) for part in proto.metadata_props)
    # Two bytes for a weight (which product it is), four for a bias, two for its place, four for more.
    assert size < 2 * n_weights + (4 + 2 + 4) * 2000 + masks + metadata + 40_000
    assert size < 0.05 * 4 * 2000 * 784
    assert run_onnx(proto, X.astype(np.float32))[0].tolist() == y.tolist()


@pytest.mark.torch
def test_the_state_of_a_module_holds_no_zeros():
    torch = import_torch()
    model, X, y = images()
    content = io.BytesIO()
    module = to_torch(model, "float32")
    torch.save(module.state_dict(), content)
    assert len(content.getvalue()) < 0.05 * 4 * 2000 * 784
    assert run_torch(module, X.astype(np.float32))[0].tolist() == y.tolist()


def test_few_features_are_a_matrix_whose_zeros_are_not_in_the_file():
    weights = layer_weights("a table", 5000, weights=(1.0,))
    weights = weights[np.diff(weights.indptr) == 4]
    proto = to_onnx(network_over(Sparse(weights), THRESHOLD, np.zeros(weights.shape[0])), "float32")
    operations = [node.op_type for node in proto.graph.node]
    assert "ScatterElements" in operations
    first = sum(len(part.raw_data) for part in proto.graph.initializer if len(part.dims) == 1)
    assert first < 10 * weights.nnz < 4 * weights.shape[0] * 60


@pytest.mark.parametrize("exact_in", DTYPES)
@pytest.mark.parametrize("activation", ["threshold", "relu"])
@pytest.mark.parametrize("problem", ["two moons", "three classes", "grid", "digits"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_exact_in_every_evaluation_and_in_the_runtimes(runtime, problem, activation, exact_in):
    X, y = PROBLEMS[problem]() if problem in PROBLEMS else load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    options = {"hyperplanes": "sparse", "exact_in": exact_in, "activation": activation}
    model = InterpolatingClassifier(random_state=0, width=600, **options).fit(X, y)
    seen, codes = X.astype(exact_in), np.searchsorted(model.classes_, y)
    fitted = model.network_.decide(seen.astype(np.float64)) == codes  # a fixed width may miss points
    assert fitted.mean() > 0.9
    assert set(np.flatnonzero(~fitted)) == set(model.certificate_.errors.tolist())
    for how, found in evaluations(model.network_, seen[:20], exact_in):
        assert (found == codes[:20])[fitted[:20]].all(), how
    run = exported(runtime, model, exact_in)
    for size in (1, 7, len(X)):
        for low in range(0, len(X) if size > 1 else 40, size):
            part, right = seen[low : low + size], fitted[low : low + size]
            assert (run(part)[0] == y[low : low + size])[right].all()


def test_two_threads_of_the_runtime_and_without_its_optimizations():
    model, X, y = images(width=800)
    content = to_onnx(model, "float32").SerializeToString()
    for threads, level in ((2, "ORT_ENABLE_ALL"), (1, "ORT_DISABLE_ALL")):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        runtime = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        assert runtime.run(["label"], {"X": X.astype(np.float32)})[0].tolist() == y.tolist()


@pytest.mark.parametrize("opset", [18, 19, 20, 21])
def test_pipelines_in_every_operator_set(opset):
    from skl2onnx import to_onnx as convert
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import exactfit

    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    model = InterpolatingClassifier(hyperplanes="sparse", random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    exactfit.register_onnx_converter()
    proto = convert(pipeline, X[:1], target_opset=opset)
    assert next(part.version for part in proto.opset_import if part.domain == "") == opset
    runtime = session(proto.SerializeToString())
    assert runtime.run(["label"], {"X": X})[0].tolist() == y.tolist()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_modules_work_under_torch_export():
    torch = import_torch()
    model, X, y = images(width=500)
    program = torch.export.export(
        to_torch(model, "float32"),
        (torch.from_numpy(X[:5].astype(np.float32)),),
        dynamic_shapes={"x": {0: torch.export.Dim("rows")}},
    )
    for rows in (X, X[:2]):
        label, _ = run_torch(program.module(), rows.astype(np.float32))
        assert label.tolist() == y[: len(rows)].tolist()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_numbers_beyond_float32_are_refused(runtime):
    from exactfit.exceptions import ParameterError

    huge = sp.csr_array((np.array([1e200]), ([0], [50])), shape=(1, 100))
    network = Network((Layer(Sparse(huge), np.zeros(1), THRESHOLD), Layer(
        Masks(BitMatrix.from_bool(np.ones((1, 1), dtype=bool)), -1), np.zeros(1), None
    )), Decoder("sign", (1, 0)))  # fmt: skip
    with pytest.raises(ParameterError, match="numbers beyond float32"):
        exported(runtime, network, "float32")
