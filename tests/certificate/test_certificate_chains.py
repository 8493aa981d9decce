"""Chains of any depth: every verdict against fractions, and against evaluations that try to break it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import certificate_twins as naive
from helpers.networks import STEPS, line, whole
from hypothesis import given, settings
from hypothesis import strategies as st

from exactfit.certificate import certify
from exactfit.exceptions import DataError
from exactfit.network import Decoder, Dense, Integers, Layer, Masks, Network, Sparse
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.bits import BitMatrix

ALL = ("exact", "float64", "float32")
LAWS = ["gauss", "grid", "mixed", "touching", "halves"]
KINDS = ["dense", "float32", "sparse", "masks", "integers", "large integers"]
DECODERS = ["sign", "one_hot", "nearest", "argmax"]


def numbers(rng, law: str, shape) -> np.ndarray:
    if law == "grid":
        return rng.integers(-2, 3, shape).astype(float)
    if law == "halves":
        return rng.integers(-3, 4, shape) / 2
    scale = 10.0 ** rng.integers(-160, 160, shape) if law == "mixed" else 1.0
    return rng.normal(size=shape) * scale


def weights_of(rng, kind: str, law: str, shape):
    match kind:
        case "dense":
            return Dense(numbers(rng, law, shape))
        case "float32":
            return Dense(numbers(rng, "grid" if law == "mixed" else law, shape).astype(np.float32))
        case "sparse":
            return Sparse(sp.csr_array(numbers(rng, law, shape) * (rng.random(shape) < 0.6)))
        case "masks":
            return Masks(BitMatrix.from_bool(rng.random(shape) < 0.5), int(rng.choice([-1, 1])))
        case "integers":
            return Integers(whole(rng.integers(-3, 4, shape).tolist()))
        case _:
            large = [[int(v) * 2 ** int(rng.integers(0, 1200)) + int(rng.integers(0, 3)) for v in row]
                     for row in rng.integers(-2, 3, shape)]  # fmt: skip
            return Integers(whole(large))


def bias_of(rng, weights, law: str, n: int) -> np.ndarray:
    if isinstance(weights, Integers):
        return whole([int(v) for v in rng.integers(-3, 4, n)])
    if isinstance(weights, Masks) and rng.random() < 0.5:
        return rng.integers(-2, 3, n)
    return numbers(rng, law, n)


def touching(rng, weights, bias, signals) -> np.ndarray:
    """Biases that put a point on, or next to, each unit's boundary."""
    layer = Layer(weights, np.zeros(len(bias)), None)
    sums = [naive.chain_layer(layer, signals[pick])[unit] for unit, pick in enumerate(rng.integers(0, 7, len(bias)))]
    return np.array([-float(total) if abs(total) < 1e300 else 1.0 for total in sums])


def decoder_of(rng, kind: str, outputs) -> Decoder:
    """Levels near the outputs, some of them with an output exactly in the middle."""
    if kind == "sign":
        return Decoder("sign", (0, 1))
    if kind in ("one_hot", "argmax"):
        return Decoder(kind, (0, 1, 2))
    found = [float(row[0]) if abs(row[0]) < 1e300 else 1.0 for row in outputs]
    centre = found[int(rng.integers(0, len(found)))]
    return Decoder("nearest", (0, 1, 2), (centre - 0.5, centre + 0.5, float(rng.normal())))


def random_chain(drawn) -> tuple[Network, np.ndarray, np.ndarray]:
    """A chain of one to four layers of any kind, seven points, and labels of which most are right."""
    seed, law, kind = drawn
    rng = np.random.default_rng(seed)
    X = numbers(rng, law, (7, int(rng.integers(1, 4))))
    input_map = str(rng.choice(["identity", "append_squared_norm"], p=[0.75, 0.25]))
    blank = Network((), Decoder("sign", (0, 1)), input_map)
    signals = [naive.chain_input(blank, x) for x in X]
    widths = [*rng.integers(1, 5, int(rng.integers(0, 4))).tolist(), 3 if kind in ("one_hot", "argmax") else 1]
    layers: list[Layer] = []
    for width in widths:
        choice = str(rng.choice(KINDS, p=[0.3, 0.15, 0.2, 0.15, 0.15, 0.05]))
        weights = weights_of(rng, choice, law, (width, len(signals[0])))
        bias = bias_of(rng, weights, law, width)
        if law == "touching" and not isinstance(weights, Integers):
            bias = touching(rng, weights, bias, signals)
        last = len(layers) == len(widths) - 1
        layers.append(Layer(weights, bias, None if last else [None, THRESHOLD, RELU][rng.integers(0, 3)]))
        signals = [naive.chain_layer(layers[-1], signal) for signal in signals]
    network = Network(tuple(layers), decoder_of(rng, kind, signals), input_map)
    y = np.array([naive.chain_answer(network, x) for x in X])
    return network, X, np.where(rng.random(7) < 0.15, (y + 1) % 3, np.maximum(y, 0))


chains = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from(LAWS), st.sampled_from(DECODERS))


@given(chains)
@settings(max_examples=150)
def test_errors_are_those_of_exact_arithmetic(drawn) -> None:
    network, X, y = random_chain(drawn)
    certificate = certify(network, X, y)
    wrong = [k for k, x in enumerate(X) if naive.chain_answer(network, x) != y[k]]
    differing = [k for k, x in enumerate(X) if k not in wrong and decided(network, x) != y[k]]
    assert certificate.errors.tolist() == sorted(wrong + differing)
    assert certificate.proof == "recomputed"
    assert certificate.note.endswith("proved right, but answered otherwise") == bool(differing)
    assert certificate.method != "evaluation"


def decided(network: Network, x: np.ndarray) -> int | None:
    """What evaluation answers, None if it refuses to round."""
    with np.errstate(all="ignore"):
        try:
            return int(network.decide(x[None])[0])
        except DataError:
            return None


@given(chains, st.sampled_from([np.float32, np.float64]))
@settings(max_examples=150)
def test_no_evaluation_contradicts_a_row_called_safe(drawn, form) -> None:
    network, X, y = random_chain(drawn)
    rng = np.random.default_rng(drawn[0])
    certificate = certify(network, X, y, arithmetic=form.__name__)
    safe = set(range(len(X))) - set(certificate.errors.tolist())
    with np.errstate(all="ignore"):
        for row in safe:
            assert naive.chain_answer(network, X[row]) == y[row]
            for order in naive.ORDERS:
                assert naive.chain_runtime(network, X[row], form, order, rng) == y[row]
            assert naive.chain_runtime(network, X[row], form, naive.in_turn, rng, fused=True) == y[row]


@given(chains)
@settings(max_examples=80)
def test_the_network_itself_is_an_evaluation_in_float64(drawn) -> None:
    network, X, y = random_chain(drawn)
    if any(isinstance(layer.weights, Integers) for layer in network.layers):
        return
    unsafe = set(certify(network, X, y, arithmetic="float64").errors.tolist())
    with np.errstate(all="ignore"):
        decided = network.decide(X)
    assert all(decided[row] == y[row] for row in range(len(X)) if row not in unsafe)


@given(chains)
@settings(max_examples=80)
def test_points_may_move_by_less_than_the_radius(drawn) -> None:
    network, X, y = random_chain(drawn)
    certificate = certify(network, X, y)
    radius = certificate.robust_radius
    if radius is None or radius == 0.0 or not certificate.holds:
        return
    rng = np.random.default_rng(drawn[0])
    step = min(radius, 1e6)
    for x, code in zip(X, y, strict=True):
        for _ in range(4):
            way = rng.normal(size=len(x))
            moved = [
                naive.fraction(a) + naive.fraction(b)
                for a, b in zip(x, way / np.linalg.norm(way) * step * (1 - 1e-12), strict=True)
            ]
            assert naive.chain_answer(network, moved) == code


@pytest.mark.parametrize("arithmetic", ALL)
@pytest.mark.parametrize("activation", [None, RELU, THRESHOLD])
@pytest.mark.parametrize("decoder", ["sign", "one_hot", "argmax"])
def test_a_layer_without_units_leaves_the_biases_behind_it(arithmetic, activation, decoder) -> None:
    bias = np.array({"sign": [-0.5], "one_hot": [0.5, -0.5], "argmax": [0.1, 0.1]}[decoder])
    none, last = np.empty((0, 2)), Layer(Dense(np.empty((len(bias), 0))), bias, None)
    bits = Layer(Dense(np.eye(2)), np.zeros(2), THRESHOLD)
    network = Network((bits, Layer(Dense(none), np.empty(0), activation), last), Decoder(decoder, (0, 1)))
    points = np.array([[1.0, 2.0], [-1.0, 1.0]])
    assert certify(network, points, [0, 0]).holds
    assert 1 in certify(network, points, [0, 1], arithmetic=arithmetic).errors


def test_steps_on_a_line() -> None:
    X = np.array([[0.25], [0.5], [0.75]])
    certificate = certify(STEPS, X, [0, 1, 2])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, True)
    assert (certificate.method, certificate.radius_method) == ("running error bound", "nearest hyperplane")
    assert certificate.slack == pytest.approx(0.5, abs=1e-12)
    assert certificate.robust_radius == pytest.approx(0.05, abs=1e-12)
    assert certificate.robust_radius <= 0.3 - 0.25
    assert certify(STEPS, X, [0, 2, 2]).errors.tolist() == [1]
    assert certify(STEPS, X, [0, 1, 3]).errors.tolist() == [2]


def test_a_point_on_a_boundary_is_off_in_exact_arithmetic_and_open_elsewhere() -> None:
    network = line(THRESHOLD, [3.0], [-0.3], [1], -0.5, Decoder("sign", (0, 1)))
    # Neither is the number that it is written as: 3 * 0.1 > 0.3 as stored, 3 * the number before is not.
    X = np.array([[0.1], [np.nextafter(0.1, 0.0)]])
    certificate = certify(network, X, [naive.chain_answer(network, x) for x in X])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, False, False)
    halves = line(THRESHOLD, [3.0], [-1.5], [1], -0.5, Decoder("sign", (0, 1)))
    certificate = certify(halves, np.array([[0.5]]), [0])
    assert (certificate.holds, certificate.float64_safe, certificate.float32_safe) == (True, True, True)
    assert certificate.robust_radius == 0.0


def test_an_open_bit_matters_only_where_it_counts() -> None:
    x = np.array([[-0.7, 0.9]])
    W = np.array([[0.1, 0.3], [1.0, 1e-3]])
    first = Layer(Dense(W), np.array([-(0.1 * -0.7 + 0.3 * 0.9), 0.0]), THRESHOLD)

    def certificate(weight):
        output = Layer(Dense(np.array([[weight, 1.0]])), np.array([-0.5]), None)
        return certify(Network((first, output), Decoder("sign", (0, 1))), x, [0], arithmetic="float64")

    assert certificate(0.0).holds
    assert certificate(0.25).holds
    assert not certificate(1.0).holds


def test_threads_tiles_and_layout_change_nothing(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(-9, 9, (700, 12)) / 8
    first = Layer(
        Sparse(sp.random_array((40, 12), density=0.4, format="csr", random_state=rng)), rng.normal(size=40), RELU
    )
    second = Layer(Dense(rng.normal(size=(3, 40)).astype(np.float32)), rng.normal(size=3), None)
    network = Network((first, second), Decoder("one_hot", (0, 1, 2)))
    y = rng.integers(0, 3, 700)
    expected = certify(network, X, y, n_jobs=1)
    assert 0 < expected.n_errors < 700
    assert expected.errors.tolist() == np.flatnonzero(network.decide(X) != y).tolist()
    assert certify(network, sp.csr_array(X), y, n_jobs=2).errors.tolist() == expected.errors.tolist()
    monkeypatch.setattr("exactfit.certificate.chains.LARGEST_TILE", 7)
    monkeypatch.setattr("exactfit.certificate.layers.BLOCK_NUMBERS", 50)
    again = certify(network, np.asfortranarray(X), y, n_jobs=2)
    assert (again.errors.tolist(), again.method) == (expected.errors.tolist(), expected.method)


def test_no_points_and_no_units() -> None:
    with pytest.raises(DataError, match="at least one row"):
        certify(STEPS, np.empty((0, 1)), [])
    bare = line(THRESHOLD, [], [], [], 1.0, Decoder("nearest", (0, 1), (0.0, 1.0)))
    certificate = certify(bare, np.array([[3.0]]), [1])
    assert (certificate.holds, certificate.float32_safe, certificate.robust_radius) == (True, True, np.inf)
