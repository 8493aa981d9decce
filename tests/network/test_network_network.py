"""Networks are frozen numbers: evaluated as written down, the same for every batch, and rebuilt from their parts."""

from __future__ import annotations

import json
import operator
import pickle
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import CONSTRUCTORS, OWN, PROBLEMS, RIVALS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exactfit.exceptions import DataError
from exactfit.network import Decoder, Dense, Integers, Layer, Masks, Network, Sparse
from exactfit.network.activations import RELU, THRESHOLD, as_activation
from exactfit.network.bits import BitMatrix
from exactfit.network.network import SwitchedNetwork
from exactfit.network.weights import integers_to_text, text_to_integers

small = st.integers(-3, 3).map(float)


def whole(values):
    array = np.empty(np.shape(values), dtype=object)
    array[...] = values
    return array


def masks(bits, sign=-1):
    return Masks(BitMatrix.from_bool(np.array(bits, dtype=bool)), sign)


def weights_of_every_kind():
    """The same matrix as Dense, Sparse, Integers and, where it fits, Masks."""
    matrix = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    return {
        "dense": Dense(matrix),
        "dense float32": Dense(matrix.astype(np.float32)),
        "sparse": Sparse(sp.csr_array(matrix)),
        "integers": Integers(whole(matrix.astype(int).tolist())),
        "masks": masks(matrix, 1),
    }


# ---- Layers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", weights_of_every_kind())
def test_weights_of_every_kind_know_their_size(kind):
    weights = weights_of_every_kind()[kind]
    assert weights.shape == (2, 3)
    assert weights.n_nonzero == 2
    layer = Layer(weights, np.zeros(2), None)
    assert (layer.n_units, layer.n_parameters) == (2, 4 if kind == "sparse" else 8)  # a sparse layer has its weights
    told = "sparse with 2 weights" if kind == "sparse" else weights.kind
    assert repr(layer) == f"<Layer: 2 units of 3 inputs, {told}, linear>"


@pytest.mark.parametrize("activation", [None, THRESHOLD, RELU], ids=["linear", "threshold", "relu"])
@pytest.mark.parametrize("kind", weights_of_every_kind())
def test_layers_of_every_kind_agree(kind, activation):
    signal = np.array([[2.0, 5.0, -3.0], [1.0, 1.0, 1.0], [4.0, 0.0, 0.0], [0.0, 7.0, 0.0]])
    bias = whole([-1, 1]) if kind == "integers" else np.array([-1.0, 1.0])
    got = Layer(weights_of_every_kind()[kind], bias, activation)(signal)
    expected = np.array([[-2, 1], [1, 1], [3, 1], [-1, 1]])
    if activation is THRESHOLD:
        assert isinstance(got, BitMatrix)
        assert got.to_bool().tolist() == (expected > 0).tolist()
    else:
        assert got.tolist() == (expected if activation is None else np.maximum(expected, 0)).tolist()


@pytest.mark.parametrize("kind", weights_of_every_kind())
def test_layers_of_every_kind_take_bits(kind):
    bits = BitMatrix.from_bool(np.array([[True, True, False], [True, False, True], [False, False, False]]))
    got = Layer(weights_of_every_kind()[kind], whole([0, 0]) if kind == "integers" else np.zeros(2), None)(bits)
    assert got.tolist() == [[1, 0], [2, 0], [0, 0]]


@given(hnp.arrays(bool, (3, 70)), hnp.arrays(bool, (4, 70)), st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_a_detector_fires_below_its_limit_only(bits, points, limits):
    layer = Layer(masks(bits), np.array(limits), THRESHOLD)
    fired = layer(BitMatrix.from_bool(points)).to_bool()
    assert fired.tolist() == [[naive.count(m, p) < t for m, t in zip(bits, limits, strict=True)] for p in points]


def test_a_detector_of_real_values_sums_in_index_order():
    rng = np.random.default_rng(0)
    bits, signal = rng.random((3, 70)) < 0.5, rng.exponential(size=(5, 70)) * 10.0 ** rng.integers(-8, 9, (5, 70))
    sums = Layer(masks(bits), np.array([1.0, 2.0, 3.0]), RELU).sums(signal)
    assert sums.tolist() == [[k + 1.0 - naive.ordered_sum(x[bits[k]]) for k in range(3)] for x in signal]


def test_affine_layers_sum_in_index_order():
    rng = np.random.default_rng(1)
    W, b, X = rng.standard_normal((4, 9)).astype(np.float32), rng.standard_normal(4), rng.standard_normal((6, 9))
    sums = Layer(Dense(W), b, RELU).sums(X)
    assert sums.tolist() == [[naive.dot(W[k], x) + b[k] for k in range(4)] for x in X]


def test_a_threshold_layer_decides_exactly():
    """Rounded sums would say that 0.1 + 0.2 exceeds 0.3 by 5.6e-17; the stored numbers exceed it by 2.8e-17."""
    layer = Layer(Dense(np.array([[1.0, 1.0], [-1.0, -1.0]])), np.array([-0.3, 0.3]), THRESHOLD)
    assert layer(np.array([[0.1, 0.2]])).to_bool().tolist() == [[True, False]]
    huge = Layer(Dense(np.array([[1.0, 1.0, -1.0]])), np.array([0.0]), THRESHOLD)
    assert huge(np.array([[1e300, 1e-300, 1e300], [1e300, 0.0, 1e300]])).to_bool().tolist() == [[True], [False]]


def test_integer_weights_are_never_rounded():
    big = 2**200
    layer = Layer(Integers(whole([[big, 1], [big, -big]])), whole([-3 * big, 0]), RELU)
    assert layer(np.array([[3.0, 1.0], [2.0, 2.0], [1.0, -1.0]])).tolist() == [[1, 2 * big], [0, 0], [0, 2 * big]]
    chained = Layer(Integers(whole([[1, big]])), whole([0]), None)
    assert chained(layer(np.array([[3.0, 1.0]]))).tolist() == [[1 + 2 * big * big]]


def test_integer_weights_do_not_round_real_numbers_either():
    """All numbers between 0 and 1 that a ramp gives, down to the smallest, survive a chain of layers."""
    x = np.array([[0.1], [5e-324], [1e300], [-0.25]])
    chain = (
        Layer(Integers(whole([[3], [-(10**30)]])), whole([-1, 7]), RELU),
        Layer(Integers(whole([[10**9, -1]])), whole([5]), None),
    )
    network = Network(chain, Decoder("nearest", (0, 1), (0.0, 5.0)))

    def ramp(t):
        return max(t, Fraction(0))

    expected = [10**9 * ramp(3 * Fraction(v) - 1) - ramp(7 - 10**30 * Fraction(v)) + 5 for v in x[:, 0].tolist()]
    assert network(x)[:, 0].tolist() == expected
    assert network.decide(x).tolist() == [int(abs(v - 5) < abs(v)) for v in expected]
    assert np.concatenate([network(x[k : k + 1]) for k in range(4)]).tolist() == network(x).tolist()
    assert Layer(Integers(whole([[2]])), whole([-1]), THRESHOLD)(
        np.array([[0.5], [np.nextafter(0.5, 1)]])
    ).to_bool().tolist() == [[False], [True]]


def test_integer_weights_refuse_what_has_no_exact_sum():
    layer = Layer(Integers(whole([[1]])), whole([0]), None)
    with pytest.raises(ValueError, match="finite numbers only"):
        layer(np.array([[np.nan]]))
    with pytest.raises(ValueError, match=r"integer biases, got 0\.5"):
        Layer(Integers(whole([[1]])), np.array([0.5]), None)(np.array([[1.0]]))
    with pytest.raises(ValueError, match="fractions need a layer of integer weights"):
        Layer(Dense(np.ones((1, 1))), np.zeros(1), None)(layer(np.array([[0.5]])))


@pytest.mark.parametrize("activation", [None, THRESHOLD], ids=["linear", "threshold"])
def test_integers_too_large_for_float64_are_not_rounded_on_the_way(activation):
    layer = Layer(Dense(np.array([[1.0]])), np.array([-1.0]), activation)
    assert np.asarray(Layer(Dense(np.array([[1.0]])), np.array([-1.0]), None)(whole([[2**53]]))).tolist() == [
        [2.0**53 - 1]
    ]
    with pytest.raises(ValueError, match="need a layer of integer weights"):
        layer(whole([[2**53 + 1]]))


def test_a_bias_of_the_wrong_size_is_refused():
    fine = Layer(Dense(np.ones((3, 4))), np.zeros(3), THRESHOLD)
    wrong = Layer(Dense(np.ones((2, 3))), np.zeros(3), None)
    with pytest.raises(ValueError, match=r"layer 1 has a bias of shape \(3,\) for weights of shape \(2, 3\)"):
        Network((fine, wrong), Decoder("one_hot", (0, 1)))


@given(st.lists(st.integers(-(2**300), 2**300), max_size=6))
def test_integers_survive_as_text(values):
    array = whole(values) if values else np.empty(0, dtype=object)
    back = text_to_integers(integers_to_text(array), (len(values),))
    assert back.tolist() == values
    assert all(type(value) is int for value in back)


# ---- Decoders --------------------------------------------------------------------------------------------


def test_sign_counts_zero_as_positive():
    decoder = Decoder("sign", (4, 9))
    assert decoder(np.array([[-1.0], [-5e-324], [-0.0], [0.0], [2.0]])).tolist() == [4, 4, 9, 9, 9]


def test_one_hot_needs_exactly_one_claim():
    decoder = Decoder("one_hot", (5, 6, 7))
    outputs = np.array([[1, 0, 0], [0, 0, 3], [0, 0, 0], [1, 2, 0], [0.0, 5e-324, -1.0]])
    assert decoder(outputs).tolist() == [5, 7, -1, -1, 6]


def test_nearest_takes_the_nearest_level_and_the_first_on_a_tie():
    decoder = Decoder("nearest", (3, 1, 2), (0.0, 1.0, 4.0))
    assert decoder(np.array([[-9.0], [0.4], [0.5], [0.6], [3.0], [100.0]])).tolist() == [3, 3, 3, 1, 2, 2]


# ---- Networks --------------------------------------------------------------------------------------------


def tiny_network(**changes):
    first = Layer(
        Dense(np.array([[1.0, -1.0], [0.5, 2.0], [-1.0, 0.0]], dtype=np.float32)), np.array([0.0, -1.0, 2.0]), RELU
    )
    second = Layer(masks([[1, 0, 1], [1, 1, 0]]), np.array([1.5, 2.5]), RELU)
    output = Layer(masks([[1, 1]]), np.zeros(1, dtype=np.int64), None)
    return replace(Network((first, second, output), Decoder("sign", (1, 0))), **changes)


def test_a_network_is_evaluated_as_written_down():
    def by_hand(x, y):
        a, b, c = max(x - y, 0.0), max(0.5 * x + 2 * y - 1, 0.0), max(2.0 - x, 0.0)
        return -(max(1.5 - (a + c), 0.0) + max(2.5 - (a + b), 0.0))

    points = [(x / 2, y / 2) for x in range(-3, 8) for y in range(-3, 8)]
    outputs = tiny_network()(np.array(points))
    assert outputs[:, 0].tolist() == [by_hand(*point) for point in points]
    assert tiny_network().decide(np.array(points)).tolist() == [1 if by_hand(*p) < 0 else 0 for p in points]


def test_sizes():
    network = tiny_network()
    assert network.n_features == 2
    assert network.widths == (3, 2, 1)
    assert network.n_neurons == 6
    assert network.n_parameters == 3 * 3 + 2 * 4 + 1 * 3


def test_squared_norms_can_be_appended_to_the_input():
    ball = Layer(Dense(np.array([[0.0, 0.0, -1.0]])), np.array([1.0]), THRESHOLD)
    output = Layer(Dense(np.array([[1.0]])), np.array([0.0]), None)
    network = Network((ball, output), Decoder("one_hot", (0,)), "append_squared_norm")
    assert network.n_features == 2
    assert network.decide(np.array([[0.5, 0.5], [1.0, 0.0], [0.6, 0.7], [-1.0, -1.0]])).tolist() == [0, -1, 0, -1]


def test_squared_norms_do_not_depend_on_the_batch():
    X = np.random.default_rng(2).standard_normal((50, 300))
    layer = Layer(Dense(np.eye(301)[-1:]), np.zeros(1), None)
    network = Network((layer,), Decoder("sign", (0, 1)), "append_squared_norm")
    alone = np.concatenate([network(X[k : k + 1]) for k in range(50)])
    np.testing.assert_array_equal(network(X), alone)
    np.testing.assert_array_equal(network(np.asfortranarray(X)), alone)
    # Not sum(): from Python 3.12 on it makes up for what rounding loses.
    in_order = [reduce(operator.add, (entry * entry for entry in row), 0.0) for row in X.tolist()]
    assert alone[:, 0].tolist() == in_order


def sparse_and_dense(rng, units, inputs):
    values = rng.standard_normal((units, inputs)) * (rng.random((units, inputs)) < 0.2)
    rows, columns = np.nonzero(values)
    order = rng.permutation(len(rows))
    shuffled = sp.csr_array(sp.coo_array((values[rows, columns][order], (rows[order], columns[order])), values.shape))
    return Sparse(shuffled), Dense(values)


@pytest.mark.parametrize("activation", [None, THRESHOLD, RELU], ids=["linear", "threshold", "relu"])
def test_sparse_layers_give_what_dense_ones_give_bit_for_bit(activation):
    rng = np.random.default_rng(5)
    sparse, dense = sparse_and_dense(rng, 200, 30)
    X, bias = rng.standard_normal((50, 30)), rng.standard_normal(200)
    found, expected = (Layer(weights, bias, activation)(X) for weights in (sparse, dense))
    if activation is THRESHOLD:
        found, expected = found.to_bool(), expected.to_bool()
    np.testing.assert_array_equal(found, expected)


def test_sparse_layers_are_not_made_dense():
    rows = np.arange(10**6)
    diagonal = sp.csr_array((np.full(10**6, 2.0), (rows, rows)))  # 8 TB if it were dense
    output = Sparse(sp.csr_array((np.ones(10**6), (np.zeros(10**6, dtype=int), rows))))
    layers = Layer(Sparse(diagonal), np.zeros(10**6), RELU), Layer(output, np.zeros(1), None)
    X = sp.csr_array(([1.0, -1.0, 3.0], ([0, 0, 1], [5, 7, 999_999])), shape=(2, 10**6))
    assert Network(layers, Decoder("sign", (0, 1)))(X).tolist() == [[2.0], [6.0]]


def test_wide_layers_are_evaluated_a_few_points_at_a_time(monkeypatch):
    rng = np.random.default_rng(6)
    steps = Layer(Dense(np.ones((300, 1))), rng.standard_normal(300), THRESHOLD)
    network = Network((steps, Layer(Dense(rng.standard_normal((1, 300))), np.zeros(1), None)), Decoder("sign", (0, 1)))
    X = rng.standard_normal((40, 1))
    expected = network(X)
    sizes = []
    forward = Network._forward
    monkeypatch.setattr(Network, "_forward", lambda self, tile: sizes.append(len(tile)) or forward(self, tile))
    monkeypatch.setattr("exactfit.network.network.TILE_NUMBERS", 300 * 7)
    np.testing.assert_array_equal(network(X), expected)
    assert max(sizes) == 7


def test_layers_that_do_not_fit_are_refused():
    first = Layer(Dense(np.ones((3, 2))), np.zeros(3), THRESHOLD)
    with pytest.raises(ValueError, match="a layer of 2 inputs follows one of 3 units"):
        Network((first, Layer(Dense(np.ones((1, 2))), np.zeros(1), None)), Decoder("sign", (0, 1)))


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.ones((1, 3)), "X has 3 features, the network takes 2"),
        (np.ones(2), "X must have rows and columns"),
        ([[1.0, np.nan]], "row 0 of X holds NaN"),
        (np.ones((1, 2)) + 1j, "Complex data not supported"),
        ([[2**53 + 1, 0]], "beyond 2\\*\\*53"),
    ],
)
def test_points_that_do_not_pass_the_gate_are_refused(X, match):
    network = tiny_network()
    switched = SwitchedNetwork(replace(network, decoder=Decoder("one_hot", (0, 1))), network)
    for answer in (network, network.decide, switched.decide):
        with pytest.raises(DataError, match=match):
            answer(X)


def test_points_of_any_kind_are_answered():
    network, X = tiny_network(), np.array([[1.0, 2.0], [-3.0, 0.5]])
    for points in (X.tolist(), sp.csr_array(X), np.asfortranarray(X), X.astype(object)):
        np.testing.assert_array_equal(network(points), network(X, checked=True))
    assert network.decide(X[:0]).tolist() == []


def test_networks_are_frozen():
    network = tiny_network()
    for thing, name in [(network, "layers"), (network.layers[0], "bias"), (network.layers[0].weights, "values")]:
        with pytest.raises(AttributeError):
            setattr(thing, name, None)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", ["threshold-fixed-bisector-all", "relu-adaptive-bisector-one", "relu-too-narrow"])
def test_answers_do_not_depend_on_batch_layout_order_or_threads(problem, name):
    X, y = PROBLEMS[problem]()
    network = CONSTRUCTORS[name](X, y, 0).network
    rng = np.random.default_rng(3)
    # More rows than a tile has, with training points and points close to them among the others.
    more = np.concatenate([X, X + 1e-9 * rng.standard_normal(X.shape), rng.standard_normal((2100, X.shape[1]))])
    outputs = network(more)
    assert len(outputs) == len(more)
    order = rng.permutation(len(more))
    np.testing.assert_array_equal(network(more[order]), outputs[order])
    np.testing.assert_array_equal(network(more, n_jobs=2), outputs)
    np.testing.assert_array_equal(network(np.asfortranarray(more)), outputs)
    np.testing.assert_array_equal(network(sp.csr_array(more)), outputs)
    np.testing.assert_array_equal(np.concatenate([network(more[k : k + 1]) for k in range(40)]), outputs[:40])
    assert network(more[:0]).shape == (0, network.widths[-1])


# ---- Parts and digests -----------------------------------------------------------------------------------


def integers_and_sparse():
    big = Layer(Integers(whole([[2**100, -1], [0, 1]])), whole([-(2**90), 0]), RELU)
    small = Layer(Integers(whole([[0, 3]])), whole([-2]), RELU)
    sparse = Layer(Sparse(sp.csr_matrix(np.array([[0.0], [2.5]]))), np.array([0.0, 1.0]), None)
    return Network((big, small, sparse), Decoder("one_hot", (0, 1)))


NETWORKS = {
    "tiny": tiny_network,
    "levels": lambda: tiny_network(decoder=Decoder("nearest", (0, 1, 2), (0.1, -1e-300, 1e300))),
    "squares": lambda: tiny_network(input_map="append_squared_norm"),
    "integers and sparse": integers_and_sparse,
}
NETWORKS |= {
    name: lambda build=build: build(*PROBLEMS["three classes"](), 0).network
    for name, build in (CONSTRUCTORS | RIVALS).items()
}


def look_up(name):
    return OWN if name == OWN.name else as_activation(name)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_rebuilt_from_its_parts(name):
    network = NETWORKS[name]()
    header = json.loads(json.dumps(network.header()))
    tensors = {name: tensor.copy() for name, tensor in network.tensors().items()}
    twin = Network.from_parts(header, tensors, look_up)
    assert twin.digest == network.digest
    assert [layer.activation for layer in twin.layers] == [layer.activation for layer in network.layers]
    assert [layer.bias.dtype for layer in twin.layers] == [layer.bias.dtype for layer in network.layers]
    X = np.random.default_rng(4).integers(-3, 4, (20, network.n_features)).astype(float)
    np.testing.assert_array_equal(twin(X), network(X))
    np.testing.assert_array_equal(twin.decide(X), network.decide(X))
    assert pickle.loads(pickle.dumps(network)).digest == network.digest


def test_an_unknown_kind_of_weights_is_refused():
    header = tiny_network().header()
    header["layers"][1]["weights"] = "quantum"
    with pytest.raises(ValueError, match="unknown kind of weights 'quantum'"):
        Network.from_parts(header, tiny_network().tensors())


def test_digests_do_not_depend_on_layout_or_byte_order():
    network = tiny_network()
    first = network.layers[0]
    for values, bias in [
        (np.asfortranarray(first.weights.values), first.bias),
        (first.weights.values.astype(">f4"), first.bias.astype(">f8")),
        (np.repeat(first.weights.values, 2, axis=0)[::2], np.repeat(first.bias, 2)[::2]),
    ]:
        twin = replace(network, layers=(Layer(Dense(values), bias, RELU), *network.layers[1:]))
        assert twin.digest == network.digest


def test_digests_of_sparse_weights_do_not_depend_on_the_order_of_entries():
    def network(indices, data):
        matrix = sp.csr_array((np.array(data), np.array(indices), np.array([0, 2])), shape=(1, 3))
        return Network((Layer(Sparse(matrix), np.zeros(1), None),), Decoder("sign", (0, 1)))

    assert network([0, 2], [1.0, 2.0]).digest == network([2, 0], [2.0, 1.0]).digest
    assert network([0, 2], [1.0, 2.0]).digest != network([0, 1], [1.0, 2.0]).digest


def test_every_part_counts_in_the_digest():
    network = tiny_network()
    first, second, output = network.layers
    up = first.weights.values.copy()
    up[1, 1] = np.nextafter(up[1, 1], np.float32(9))
    changed = [
        replace(network, decoder=Decoder("sign", (0, 1))),
        replace(network, decoder=Decoder("nearest", (1, 0), (0.0, 1.0))),
        replace(network, decoder=Decoder("nearest", (1, 0), (0.0, np.nextafter(1.0, 2.0)))),
        replace(network, input_map="append_squared_norm"),
        replace(network, layers=(replace(first, weights=Dense(up)), second, output)),
        replace(network, layers=(replace(first, weights=Dense(first.weights.values.astype(float))), second, output)),
        replace(network, layers=(replace(first, bias=np.nextafter(first.bias, 9)), second, output)),
        replace(network, layers=(replace(first, activation=THRESHOLD), second, output)),
        replace(network, layers=(first, replace(second, weights=masks([[1, 0, 1], [1, 1, 0]], 1)), output)),
        replace(network, layers=(first, replace(second, weights=masks([[1, 0, 1], [0, 1, 0]])), output)),
        replace(network, layers=(first, second, replace(output, bias=np.ones(1, dtype=np.int64)))),
    ]
    digests = [network.digest, *(other.digest for other in changed)]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 64 for digest in digests)


def test_a_digest_is_the_same_everywhere():
    assert tiny_network().digest == "11737289d1ddd06f7322add348858854c2abd1ea367a740849bf49104dc88bf9"
