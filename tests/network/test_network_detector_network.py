"""The paper's form as it was put together; slack is positive exactly where a detector fires."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import twins as naive
from helpers.problems import CONSTRUCTORS, PROBLEMS

from exactfit import InterpolatingClassifier, Network, ParameterError, load, save
from exactfit.network import Decoder, Dense, Layer, Masks, Sparse, WeightedMasks, sides
from exactfit.network import detector_network as module
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.bits import BitMatrix
from exactfit.network.detector_network import NO_CLASS, UNKNOWN, DetectorNetwork, read_detectors

LOWEST = -np.finfo(np.float64).max


def counters(weights):
    return weights.values.astype(int) if isinstance(weights, WeightedMasks) else weights.bits.to_bool()


def parts_of(network):
    first, detectors, output = network.layers
    return {
        "W": (first.weights.matrix.toarray() if isinstance(first.weights, Sparse) else first.weights.values).astype(
            float
        ),
        "B": first.bias,
        "masks": counters(detectors.weights),
        "limits": detectors.bias.tolist(),
        "outputs": output.weights.bits.to_bool().argmax(axis=0),
        "n_outputs": network.widths[-1],
        "activation": first.activation,
    }


@pytest.mark.parametrize("name", CONSTRUCTORS)
@pytest.mark.parametrize("problem", ["three classes", "grid"])
def test_the_same_as_the_twin(name, problem):
    X, y = PROBLEMS[problem]()
    network = CONSTRUCTORS[name](X, y, 0).network
    points = np.concatenate([X[:3], np.random.default_rng(0).standard_normal((3, X.shape[1]))])
    np.testing.assert_array_equal(
        DetectorNetwork.of(network).class_slack(points), naive.class_slack(points, **parts_of(network))
    )


@pytest.mark.parametrize("name", CONSTRUCTORS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_positive_exactly_where_the_class_claims(name, problem):
    X, y = PROBLEMS[problem]()
    network = CONSTRUCTORS[name](X, y, 0).network
    points = np.concatenate([X, X + 1e-3, np.random.default_rng(1).standard_normal((200, X.shape[1]))])
    slack = DetectorNetwork.of(network).class_slack(points)
    assert slack.shape == (len(points), network.widths[-1])
    assert (slack != 0).all()
    np.testing.assert_array_equal(slack > 0, network(points) != 0)


@pytest.mark.parametrize("name", ["threshold-adaptive-gaussian-all", "relu-fixed-bisector-all"])
@pytest.mark.parametrize("limits", [{"BITS_AT_ONCE": 20_000}, {"SLACKS_AT_ONCE": 900}])
def test_points_may_come_in_chunks(monkeypatch, name, limits):
    X, y = PROBLEMS["three classes"]()
    network = CONSTRUCTORS[name](X, y, 0).network
    points = np.random.default_rng(3).standard_normal((700, X.shape[1])).round(1)
    expected = DetectorNetwork.of(network).class_slack(points)
    for limit, value in limits.items():
        monkeypatch.setattr(module, limit, value)
    assert DetectorNetwork.of(network).class_slack(points).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["threshold-fixed-bisector-all", "relu-fixed-bisector-all"])
def test_threads_tiles_and_layout_do_not_matter(monkeypatch, name):
    X, y = PROBLEMS["three classes"]()
    network = CONSTRUCTORS[name](X, y, 0).network
    points = np.random.default_rng(2).standard_normal((1500, X.shape[1])).round(1)
    expected = DetectorNetwork.of(network).class_slack(points)
    np.testing.assert_array_equal(DetectorNetwork.of(network).class_slack(points, n_jobs=2), expected)
    np.testing.assert_array_equal(DetectorNetwork.of(network).class_slack(sp.csr_array(points)), expected)
    monkeypatch.setattr(module, "CHUNK_ROWS", 400)
    monkeypatch.setattr(module, "TILE_ROWS", 57)  # a last tile of one row
    np.testing.assert_array_equal(DetectorNetwork.of(network).class_slack(points, n_jobs=2), expected)
    assert DetectorNetwork.of(network).class_slack(points[:0]).shape == (0, 3)


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_few_points_have_the_same_slack_without_kernels(monkeypatch, name):
    X, y = PROBLEMS["two moons"]()
    network = CONSTRUCTORS[name](X, y, 0).network
    expected = DetectorNetwork.of(network).class_slack(X)
    for reader in (sides, module):
        monkeypatch.setattr(reader, "is_loaded", lambda: False)
    if network.layers[0].activation.is_threshold:
        monkeypatch.setattr(module, "best_slack_counts", None)
        monkeypatch.setattr(module, "best_slack_weights", None)
    assert DetectorNetwork.of(network).class_slack(X).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["threshold-too-narrow", "relu-too-narrow"])
def test_an_output_without_detectors_has_the_lowest_slack(name):
    X, y = PROBLEMS["three classes"]()
    network = CONSTRUCTORS[name](X, y, 0).network
    assert network.widths[1] == 0
    assert (DetectorNetwork.of(network).class_slack(X) == LOWEST).all()


# ---- The form --------------------------------------------------------------------------------------------


def by_hand(masks, limits, claims, decoder, activation=THRESHOLD):
    """A network of the paper's form over three hyperplanes in the plane, from lists."""
    planes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    first = Layer(Dense(planes), np.array([0.5, -0.5, 0.25]), activation)
    kind = np.int64 if activation is THRESHOLD else np.float64
    detectors = Layer(Masks(BitMatrix.from_bool(np.array(masks, dtype=bool)), -1), np.array(limits, kind), activation)
    claims = np.array(claims, dtype=bool)
    sign = -1 if decoder.kind == "sign" else 1
    output = Layer(Masks(BitMatrix.from_bool(claims), sign), np.zeros(len(claims), dtype=np.int64), None)
    return Network((first, detectors, output), decoder)


POINTS = np.array([[0.0, 0.0], [-1.0, 2.0], [3.0, 1.0], [-0.5, 0.5], [1.0, 1.25]])
MASKS = [[1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize("activation", [THRESHOLD, RELU], ids=["threshold", "relu"])
@pytest.mark.parametrize(
    ("claims", "decoder"),
    [
        ([[1, 1, 1, 1]], Decoder("sign", (1, 0))),
        ([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], Decoder("one_hot", (0, 1, 2))),
        ([[0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]], Decoder("one_hot", (5, 2, 0))),
    ],
    ids=["one-sided", "one-hot", "a class without detectors"],
)
def test_the_form_and_its_slack_are_those_of_the_lists(activation, claims, decoder):
    limits = [2, 1, 3, 1]
    network = by_hand(MASKS, limits, claims, decoder, activation)
    found = DetectorNetwork.of(network)
    pairs = [(number, owner) for number in range(4) for owner in range(len(claims)) if claims[owner][number]]
    assert list(enumerate(found.outputs.tolist())) == pairs
    assert found.counters.bits.to_bool().tolist() == [[bool(bit) for bit in MASKS[m]] for m, _ in pairs]
    assert found.limits.tolist() == [limits[m] for m, _ in pairs] == found.spans.tolist()
    assert found.classes == decoder.classes[: len(claims)]
    first = network.layers[0]
    twin = naive.detector_slack(POINTS, first.weights.values, first.bias, np.array(MASKS) > 0, limits, activation)
    np.testing.assert_array_equal(found.slack(POINTS), [twin[m] for m, _ in pairs])
    best = np.full((len(POINTS), len(claims)), LOWEST)
    for row, (_, owner) in zip(found.slack(POINTS), pairs, strict=True):
        best[:, owner] = np.maximum(best[:, owner], row)
    np.testing.assert_array_equal(DetectorNetwork.of(network).class_slack(POINTS), best)
    np.testing.assert_array_equal(DetectorNetwork.of(network).class_slack(POINTS) > 0, network(POINTS) != 0)


def test_some_of_the_rows_with_other_limits():
    found = DetectorNetwork.of(by_hand(MASKS, [2, 1, 3, 1], [[1, 1, 1, 1]], Decoder("sign", (1, 0))))
    some = found.take(np.array([3, 0]), np.array([4, 5]))
    assert some.counters.bits.to_bool().tolist() == [[False, False, True], [True, True, False]]
    assert some.spans.tolist() == [4.0, 5.0]
    assert some.of_output(0).tolist() == [0, 1]


def test_places_of_classes():
    one_hot = DetectorNetwork.of(
        by_hand(MASKS, [1] * 4, [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], Decoder("one_hot", (5, 2, 0)))
    )
    assert one_hot.positions(np.array([0, 5, 7, 2, -1])).tolist() == [2, 0, UNKNOWN, 1, UNKNOWN]
    assert one_hot.silent == NO_CLASS
    one_sided = DetectorNetwork.of(by_hand(MASKS, [1] * 4, [[1] * 4], Decoder("sign", (1, 0))))
    assert one_sided.positions(np.array([0, 1])).tolist() == [1, 0]
    assert one_sided.silent == 1


def changed(network, index, **parts):
    layers = list(network.layers)
    layers[index] = replace(layers[index], **parts)
    return Network(tuple(layers), network.decoder)


def test_other_forms_are_none():
    network = by_hand(MASKS, [2, 1, 3, 1], [[1, 1, 1, 1]], Decoder("sign", (1, 0)))
    masks, output = network.layers[1].weights, network.layers[2].weights
    others = [
        Network(network.layers[:2], network.decoder),
        replace(network, decoder=Decoder("nearest", (0, 1), (0.0, 1.0))),
        replace(network, decoder=Decoder("sign", (1, 1))),
        changed(network, 0, activation=RELU),
        changed(network, 0, activation=None),
        changed(network, 0, bias=np.zeros(3, dtype=np.int64)),
        changed(network, 1, weights=Masks(masks.bits, 1)),
        changed(network, 1, weights=Dense(-masks.bits.to_bool().astype(float))),
        changed(network, 1, bias=np.array([2.0, 1.0, 3.0, 1.0])),
        changed(network, 1, bias=np.array([2, 1, 3, 2**60 + 1])),
        changed(network, 2, bias=np.ones(1, dtype=np.int64)),
        changed(network, 2, activation=THRESHOLD),
        changed(network, 2, weights=Masks(output.bits, 1)),
        by_hand(MASKS, [2, 1, 3, 1], [[1, 1, 1, 0]], Decoder("sign", (1, 0))),  # a unit of no output
        by_hand(MASKS, [2, 1, 3, 1], [[1, 1, 1, 0], [0, 0, 1, 1]], Decoder("one_hot", (0, 1))),  # one of two
    ]
    assert read_detectors(network) is not None
    assert [read_detectors(other) for other in others] == [None] * len(others)
    with pytest.raises(ParameterError, match="fixed_width"):
        DetectorNetwork.of(others[0]).class_slack(POINTS)


def test_limits_of_real_values_are_finite():
    network = by_hand(MASKS, [2, 1, 3, np.inf], [[1, 1, 1, 1]], Decoder("sign", (1, 0)), RELU)
    assert read_detectors(network) is None


# ---- The result of a fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_what_is_built_is_its_own_detectors_and_what_its_layers_are_read_to(name):
    X, y = PROBLEMS["three classes"]()
    network = CONSTRUCTORS[name](X, y, 0).network
    assert isinstance(network, DetectorNetwork)
    assert network.detectors is network
    generic = Network(network.layers, network.decoder)
    assert (generic.digest, generic.widths, generic.n_parameters) == (
        network.digest, network.widths, network.n_parameters
    )  # fmt: skip
    again = read_detectors(generic)
    assert again.layers is generic.layers
    assert replace(again).digest == network.digest
    for part in ("limits", "outputs", "biases", "counter_rows"):
        np.testing.assert_array_equal(getattr(again, part), getattr(network, part))
    np.testing.assert_array_equal(network.decide(X), generic.decide(X))


@pytest.mark.parametrize("options", [{}, {"activation": "relu"}, {"detectors": "mask"}, {"hyperplanes": "gaussian"}])
def test_files_hold_the_same_network(options, tmp_path):
    X, y = PROBLEMS["three classes"]()
    model = InterpolatingClassifier(random_state=0, **options).fit(X, y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model").network_
    assert isinstance(loaded, DetectorNetwork)
    assert loaded.digest == model.network_.digest == replace(loaded).digest


def test_a_foreign_network_of_the_form_keeps_its_digest_in_files(tmp_path):
    network = by_hand(MASKS, [2, 1, 3, 1], [[1, 0, 0, 1], [0, 1, 1, 0]], Decoder("one_hot", (0, 1)))
    others = [
        network,
        changed(network, 2, bias=np.zeros(2)),
        changed(network, 1, bias=np.array([2, 1, 3, 1], np.int64)),
    ]
    others.append(by_hand(MASKS, [2, 1, 3, 1], [[0, 1, 1, 0], [1, 1, 0, 0]], Decoder("one_hot", (5, 2))))
    for number, other in enumerate(others):
        save(other, tmp_path / str(number))
        loaded = load(tmp_path / str(number))
        assert loaded.digest == other.digest
        np.testing.assert_array_equal(loaded.decide(POINTS), other.decide(POINTS))
    assert isinstance(load(tmp_path / "0"), DetectorNetwork)
    assert not isinstance(load(tmp_path / "3"), DetectorNetwork)  # a unit of several outputs


def test_parts_that_do_not_fit_are_refused():
    found = DetectorNetwork.of(by_hand(MASKS, [2, 1, 3, 1], [[1, 1, 1, 1]], Decoder("sign", (1, 0))))
    for part in ({"limits": found.limits[1:]}, {"biases": found.biases[1:]}, {"outputs": found.outputs[1:]}):
        with pytest.raises(ValueError, match=r"detectors|limits"):
            replace(found, **part)
