"""What ``load`` accepts, ``certify`` judges as the model answers: a label that holds is the label that it gives."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing.cases import ModelBase
from helpers.networks import CLASSIFIERS, NETWORKS, fitted_model, labels, points
from helpers.problems import CONSTRUCTORS, OWN, PROBLEMS, RIVALS, squared_relu
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import exactfit
from exactfit import certify
from exactfit.exceptions import DataError, ExactfitError
from exactfit.network import Decoder, Dense, Layer, Network
from exactfit.network.activations import RELU, THRESHOLD, Activation

ACTIVATIONS = [OWN, Activation("vanishing", lambda t: np.where(t > 0, t, 0.0) ** 3), squared_relu]


def answers(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    """What the model says of every point: labels, or class indices of a network; None where it refuses."""
    decide = model.predict if hasattr(model, "predict") else getattr(model, "network", model).decide
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(decide(X))
        except DataError:
            if len(X) == 1:
                return np.array([None])
            return np.concatenate([answers(model, x) for x in X[:, None]]) if len(X) else np.empty(0)


def network_of(model: Any) -> Any:
    return getattr(model, "network_", getattr(model, "network", model))


def hard_points(model: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points anywhere, and on both sides of where answers change, as close to it as float64 can be."""
    d = network_of(model).n_features
    scale = float(rng.choice([1.0, 1.0, 1.0, 1e-3, 1e3, 1e-160, 1e150, 1e300]))
    some = rng.normal(size=(12, d)) * scale
    whole = rng.integers(-2, 3, size=(6, d)).astype(float)
    one, other = some[:6].copy(), some[6:].copy()
    at = answers(model, one)
    for _ in range(1100):
        middle = one / 2 + other / 2
        if ((middle == one) | (middle == other)).all():
            break
        same = answers(model, middle) == at
        one[same], other[~same] = middle[same], middle[~same]
    return np.concatenate([some, whole, one, other, np.zeros((1, d))])


def attack(model: Any, rng: np.random.Generator) -> int:
    """Certify every label for hard points; the number of claims that were compared with an answer."""
    X, compared = hard_points(model, rng), 0
    if getattr(model, "exact_in", None) == "float32":
        X = X[np.abs(X).max(axis=1) < 1e38]
    given = answers(model, X)
    classes = getattr(model, "classes_", None)
    names = np.unique(network_of(model).decoder.classes) if classes is None else classes
    for name in names.tolist():
        y = np.full(len(X), name, dtype=names.dtype)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # own functions overflow
            warnings.simplefilter("ignore")
            certificate = certify(model, X, y)
        claimed = np.delete(np.arange(len(X)), certificate.errors)
        assert [given[row] for row in claimed] == y[claimed].tolist(), certificate
        if certificate.mispredicted is not None and classes is not None:
            wrong = [row for row in certificate.errors.tolist() if given[row] != name]
            assert certificate.mispredicted.tolist() == wrong
        compared += len(claimed)
    return compared


def repaired(patches: str, model: Any, **options: Any) -> Any:
    return exactfit.repair(model.fit(points(), labels(0, 1, 2)), points(seed=1), labels(2, 0, 1), patches=patches,
                           random_state=0, **options)  # fmt: skip


def vanishing() -> Any:
    """Two labels, and an activation of one's own whose values underflow before the network's output is zero."""
    return fitted_model(points(), labels(0, 1), activation=ACTIVATIONS[1])


MADE: dict[str, Callable[[], Any]] = {
    **{f"construction {name}, {problem}": (lambda make=make, problem=problem: make(*PROBLEMS[problem](), 0))
       for name, make in CONSTRUCTORS.items() for problem in ("two moons", "three classes")},
    **{f"published {name}": (lambda make=make: make(*PROBLEMS["two moons"](), 0)) for name, make in RIVALS.items()},
    **{f"network {name}": make for name, make in NETWORKS.items()},
    **{f"classifier {name}": make for name, make in CLASSIFIERS.items() if name != "frame"},
    **{f"repaired {kind}": (lambda kind=kind: repaired(kind, LogisticRegression()))
       for kind in ("ball", "mask", "weighted")},
    "repaired far": lambda: repaired("ball", MLPClassifier((5,), max_iter=20, random_state=0), reach="full"),
    "repaired float32": lambda: repaired("ball", LogisticRegression(), exact_in="float32"),
    "vanishing": vanishing,
    "margin": lambda: fitted_model(points(), labels("a", "b"), margin="30%"),
    "noise": lambda: fitted_model(points(), labels(0, 1, 2), noise=0.2),
    "relu for float64": lambda: fitted_model(points(), labels(0, 1), exact_in="float64", activation="relu"),
}  # fmt: skip


# Of these no class claims any of the points in question, so that no label holds.
UNCLAIMED = {
    "construction three-networks, three classes", "classifier points missed", "network masks", "network integers",
    "network weighted",
}  # fmt: skip


def reloaded(model: Any, path: Path) -> Any:
    exactfit.save(model, path)
    return exactfit.load(path, activations=ACTIVATIONS)


@pytest.mark.parametrize("name", MADE)
def test_what_holds_is_what_the_model_and_its_file_answer(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MADE[name]()
    loaded = reloaded(model, tmp_path / "m")
    rng = np.random.default_rng(0)
    compared = sum(attack(loaded, rng) for _ in range(3))
    assert compared or name in UNCLAIMED or "too-narrow" in name


FORGED = [
    "classifier relu", "classifier relu one-sided", "classifier both classes",
    "classifier sparse hyperplanes", "classifier class without points", "classifier own function",
    "classifier sparse relu", "repaired ball", "repaired mask", "network sparse", "network squared norm",
    "network nearest", "network dense", "network integers", "published vardi", "published yun",
    "construction own-fixed-gaussian-all, three classes",
]  # fmt: skip


def forge(tensors: dict[str, Any], rng: np.random.Generator) -> None:
    """Other numbers in the network: huge, tiny, whole, equal, or beside where they were."""
    names = sorted(name for name in tensors if name.startswith("network.") and tensors[name].size)
    for name in rng.choice(names, min(2, len(names)), replace=False):
        tensor = tensors[name].copy()
        if tensor.dtype.kind == "f":
            with np.errstate(over="ignore"):
                change = rng.integers(6)
                if change == 0:
                    tensor = tensor * tensor.dtype.type(rng.choice([2.0**90, 2.0**-90, 2.0**-120, -1.0]))
                elif change == 1:
                    tensor = np.round(tensor)
                elif change == 2:
                    tensor = np.nextafter(tensor, np.inf).astype(tensor.dtype)
                elif change == 3:
                    tensor.flat[rng.integers(tensor.size)] = rng.choice([0.0, 1e30, -1e30, 1e-40])
                elif change == 4:
                    tensor = np.full_like(tensor, tensor.flat[0])
                else:
                    tensor = rng.permutation(tensor)
        elif "bits_sign" in name or "shape" in name or "ind" in name or "text" in name:
            continue
        elif tensor.dtype == np.uint64:
            tensor = tensor & rng.integers(0, 2**63, tensor.shape, dtype=np.uint64)
        else:
            tensor.flat[rng.integers(tensor.size)] ^= 1  # one more or one less, which every type can hold
        tensors[name] = tensor


def forge_network(network: dict[str, Any], rng: np.random.Generator) -> None:
    """Other classes, levels or kind of a decoder, or another activation of a layer."""
    network = network[rng.choice(["patches", "model"])] if network.keys() == {"patches", "model"} else network
    if "decoder" not in network:  # the model behind patches is not in the file
        return
    decoder, change = network["decoder"], rng.integers(4)
    if change == 0:
        decoder["classes"] = rng.permutation(decoder["classes"]).tolist()
    elif change == 1:
        decoder["kind"] = str(rng.choice(["sign", "one_hot", "argmax", "nearest"]))
    elif change == 2:
        decoder["levels"] = [level.hex() for level in np.sort(rng.normal(size=len(decoder["classes"]))).tolist()]
    else:
        layer = network["layers"][rng.integers(len(network["layers"]))]
        layer["activation"] = [None, "relu", "threshold"][rng.integers(3)]


def attack_forgeries(
    name: str, folder: Path, change: Callable[[Any, Any, np.random.Generator], None], n_files: int
) -> int:
    """Attack what changed files hold; the number of files that were accepted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exactfit.save(MADE[name](), folder / "m")
    base, rng, accepted = ModelBase.of(folder / "m"), np.random.default_rng(0), 0
    for _ in range(n_files):
        header, tensors = json.loads(base.header), dict(base.tensors)
        change(header, tensors, rng)
        (folder / "f").write_bytes(base.sealed(header, tensors))
        try:
            loaded = exactfit.load(folder / "f", activations=ACTIVATIONS)
        except ExactfitError:
            continue
        attack(loaded, rng)
        accepted += 1
    return accepted


@pytest.mark.parametrize("name", FORGED)
def test_what_holds_is_what_a_forged_file_answers(name: str, tmp_path: Path) -> None:
    assert attack_forgeries(name, tmp_path, lambda _, tensors, rng: forge(tensors, rng), 10) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_what_holds_is_what_a_forged_file_of_any_kind_answers(name: str, tmp_path: Path) -> None:
    def change(header: Any, tensors: Any, rng: np.random.Generator) -> None:
        for _ in range(rng.integers(1, 4)):
            forge(tensors, rng)
        if rng.random() < 0.4:
            forge_network(header["network"], rng)

    attack_forgeries(name, tmp_path, change, 25)


def test_a_row_that_float64_answers_otherwise_is_an_error_that_the_note_tells() -> None:
    # 2^53 + 1 - 2^53: exactly one, and zero in float64 if the one is added to the large number first.
    first = Layer(Dense(np.array([[1.0, 1.0, -1.0]])), np.array([0.0]), RELU)
    network = Network((first, Layer(Dense(np.array([[-1.0]])), np.array([0.0]), None)), Decoder("sign", (1, 0)))
    X = np.array([[2.0**53, 1.0, 2.0**53], [3.0, 1.0, 2.0]])
    assert network.decide(X).tolist() == [0, 1]
    certificate = certify(network, X, [1, 1], radii=True)
    assert (certificate.holds, certificate.errors.tolist()) == (False, [0])
    assert certificate.note == "exact arithmetic; 1 row proved right, but answered otherwise"
    assert certificate.radii[0] == certificate.robust_radius == 0.0 < certificate.radii[1]
    assert certify(network, X[1:], [1]).holds
    assert not certify(network, X, [0, 1]).holds  # what is answered is not right either


def test_balls_of_patches_whose_squared_norm_is_rounded_are_compared_with_answers() -> None:
    ball = Layer(Dense(np.array([[0.0, -1.0]])), np.array([1.0]), THRESHOLD)  # 1 - x^2 > 0
    out = Layer(Dense(np.array([[-1.0]])), np.array([0.0]), None)
    network = Network((ball, out), Decoder("sign", (1, 0)), "append_squared_norm")
    x = np.array([[1.0 - 2.0**-53]])
    close = np.array([[1.0], x[0], [1.0 + 2.0**-52]])
    for code in (0, 1):
        certificate = certify(network, close, np.full(3, code))
        claimed = np.delete(np.arange(3), certificate.errors)
        assert (network.decide(close)[claimed] == code).all()
