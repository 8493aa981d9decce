"""Networks and models that tests share: the golden table, saved models, models to repair, ONNX graphs."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification, make_moons
from sklearn.linear_model import LogisticRegression

import exactfit
from exactfit import (
    InterpolatingClassifier,
    Options,
    TableModel,
    adaptive_width,
    certify,
    extend,
    fixed_width,
    read_table,
)
from exactfit.constructions import CONSTRUCTORS
from exactfit.network import Decoder, Dense, Integers, Layer, Masks, Network, Sparse, WeightedMasks, object_array
from exactfit.network.activations import RELU, THRESHOLD
from exactfit.network.bits import BitMatrix
from helpers.problems import OWN, squared_relu

# ---- Networks that must not change: what every option and every construction builds from small data ----------------


GOLDEN = Path(__file__).parents[1] / "golden"
FACTS = GOLDEN / "networks.json"

Facts = dict[str, Any]
Points = NDArray[np.float64]

# Their last bits come from LAPACK, whose answers differ between builds.
WITHOUT_DIGEST = ("random-features", "random-features-one-layer")
# Numbers of these come from matrix products, QR or least squares, whose last bits depend on the processor's BLAS.
BY_LINEAR_ALGEBRA = ("baum", "baum-sum", "bubeck", "caps", "lifted-baum", "vershynin")


def moons() -> tuple[Points, NDArray[Any], Points]:
    X, y = make_moons(240, noise=0.1, random_state=0)
    return X[:200], y[:200], X[200:]


def iris() -> tuple[Points, NDArray[Any], Points]:
    data = load_iris()
    rows = np.random.default_rng(0).permutation(150)
    # Rows 101 and 142 are equal, with equal labels.
    return data.data[rows[:120]], data.target_names[data.target[rows[:120]]], data.data[rows[120:]]


def digits() -> tuple[Points, NDArray[Any], Points]:
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300], X[300:400]


def cancer() -> tuple[Points, NDArray[Any], Points]:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:300], y[:300], X[300:400]


def noisy() -> tuple[Points, NDArray[Any], Points]:
    X, y, new = moons()
    wrong = np.random.default_rng(1).choice(200, 20, replace=False)
    y = y.copy()
    y[wrong] = 1 - y[wrong]
    return X, y, new


def doubled() -> tuple[Points, NDArray[Any], Points]:
    """Equal points, three of them with another label."""
    X, y, new = moons()
    return np.repeat(X, 3, axis=0), np.repeat(y, 3) ^ (np.arange(600) % 200 == 7), new


DATA: dict[str, Callable[[], tuple[Points, NDArray[Any], Points]]] = {
    "moons": moons, "iris": iris, "digits": digits, "cancer": cancer, "noisy": noisy, "doubled": doubled,
}  # fmt: skip

# Every option of the estimator written out: a new default does not change what these build.
OPTIONS: dict[str, Any] = {
    "width": "adaptive", "min_width": 0, "max_width": None, "max_bias": "radius", "center": True,
    "hyperplanes": "gaussian", "fallback_cuts": True, "activation": "threshold",
    "detectors": "mask", "margin": 0.0, "image_shape": None,
    "target": None, "conflicts": "raise", "noise": 0.0, "exact_in": None, "n_jobs": None,
    "random_state": 0, "verbose": 0,
}  # fmt: skip

# The estimator's defaults, written out as well, but for the sampler.
ACCURATE: dict[str, Any] = {
    "min_width": "auto", "hyperplanes": "bisector", "detectors": "auto", "target": "all",
}  # fmt: skip


def kept(array: Any) -> str:
    """A digest of answers: of labels as text, so that it does not depend on their type."""
    return hashlib.sha256("\n".join(map(str, np.asarray(array).tolist())).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Built:
    """A network, its own proof, its rows in error and what answers for it."""

    network: Any
    holds: bool
    errors: list[int]
    train: str
    new: str

    def facts(self, digest: bool = True) -> Facts:
        return {
            "digest": self.network.digest if digest else None,
            "widths": list(self.network.widths) if digest and len(self.network.layers) < 5 else None,
            "holds": self.holds,
            "errors": self.errors,
            "train": self.train,
            "new": self.new if digest else None,
        }


def golden_fit(
    X: Points, y: Any, as_given: Callable[[Points], Any] = np.asarray, **options: Any
) -> InterpolatingClassifier:
    chosen = OPTIONS | {name: value() if callable(value) else value for name, value in options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exactfit.ExactfitWarning)
        return InterpolatingClassifier(**chosen).fit(as_given(X), y)


def estimated(data: str, as_given: Callable[[Points], Any] = np.asarray, **options: Any) -> Built:
    X, y, new = DATA[data]()
    model = golden_fit(X, y, as_given, **options)
    certificate = model.certificate_
    answers = kept(model.predict(as_given(X))), kept(model.predict(as_given(new)))
    return Built(model.network_, certificate.holds, certificate.errors.tolist(), *answers)


def constructed(name: str) -> Built:
    X, y, new = digits() if name in ("adaptive-width", "ball-cover", "caps") else moons()
    made = CONSTRUCTORS[name].construct(X, y, 0)
    certificate = certify(made.network, X, y)
    return _bare(made.network, certificate, X, new)


def _bare(network: Any, certificate: Any, X: Points, new: Points) -> Built:
    answers = kept(network.decide(X)), kept(network.decide(new))
    return Built(network, certificate.holds, certificate.errors.tolist(), *answers)


def written_out(data: str, width: int | None, seed: int) -> Built:
    """By the functions, not by the estimator."""
    X, y, new = DATA[data]()
    codes = np.unique(y, return_inverse=True)[1]
    made = (
        adaptive_width(X, codes, random_state=seed)
        if width is None
        else fixed_width(X, codes, width, random_state=seed)
    )
    return _bare(made.network, certify(made.network, X, codes), X, new)


def extended() -> Built:
    X, y, new = moons()
    made = adaptive_width(X[:60], y[:60], options=Options(min_width=300), random_state=0)
    extension = extend(made, [(X[60:130], y[60:130]), (X[130:], y[130:])], training=(X[:60], y[:60]))
    return _bare(extension.construction.network, extension.certificate, X, new)


def other_flowers() -> Any:
    import pandas as pd

    """The rows of iris that ``flowers.csv`` left out, in its columns."""
    sepal, _, petal, width = load_iris().data[1::2].T
    colours = np.resize(["white", "blue", "violet"], len(sepal))
    return pd.DataFrame({"sepal": sepal, "petal": petal, "colour": colours, "petal width": width})


def tabled(scale: Any) -> Built:
    table = read_table(GOLDEN / "flowers.csv", label="species")
    model = TableModel(InterpolatingClassifier(**OPTIONS), scale=scale).fit(table)
    certificate = model.certify(table)
    answers = kept(model.predict(table)), kept(model.predict(other_flowers()))
    return Built(model.classifier_.network_, certificate.holds, certificate.errors.tolist(), *answers)


ESTIMATORS: dict[str, Callable[[], Built]] = {
    name: partial(estimated, data, **options)
    for name, data, options in [
        ("defaults-moons", "moons", {}),
        ("defaults-iris", "iris", {}),
        ("defaults-digits", "digits", {}),
        ("defaults-cancer", "cancer", {}),
        ("seed-1", "moons", {"random_state": 1}),
        ("seed-2-digits", "digits", {"random_state": 2}),
        ("random-state-object", "iris", {"random_state": lambda: np.random.RandomState(5)}),
        ("generator", "iris", {"random_state": lambda: np.random.default_rng(5)}),
        ("center-false", "digits", {"center": False}),
        ("center-false-moons", "moons", {"center": False, "max_bias": 1.0}),
        ("max-bias", "moons", {"max_bias": 0.3}),
        ("min-width", "digits", {"min_width": 500}),
        ("max-width", "moons", ACCURATE | {"max_width": 300}),
        ("fixed", "moons", {"width": 200}),
        ("fixed-too-narrow", "iris", {"width": 3}),
        ("fixed-center-false", "digits", {"width": 300, "center": False, "max_bias": 5.0}),
        ("bisector", "digits", {"hyperplanes": "bisector"}),
        ("target-all", "moons", {"target": "all"}),
        ("target-0", "moons", {"target": 0}),
        ("relu", "moons", {"activation": "relu"}),
        ("relu-center-false", "iris", {"activation": "relu", "center": False, "width": 150}),
        ("float32", "digits", {"exact_in": "float32"}),
        ("float64", "moons", {"exact_in": "float64"}),
        ("float32-center-false", "moons", {"exact_in": "float32", "center": False, "width": 200}),
        ("float32-relu", "iris", {"exact_in": "float32", "activation": "relu"}),
        ("noise", "noisy", {"noise": 0.15}),
        ("noise-center-false", "noisy", {"noise": 0.1, "center": False, "width": 250}),
        ("majority", "doubled", {"conflicts": "majority"}),
        ("no-fallback-cuts", "moons", {"fallback_cuts": False}),
        ("threads", "digits", {"n_jobs": 2, "min_width": 200}),
        ("weighted", "digits", {"detectors": "weighted"}),
        ("weighted-fixed", "moons", {"detectors": "weighted", "width": 300, "target": "all"}),
        ("weighted-float32", "iris", {"detectors": "weighted", "exact_in": "float32"}),
        ("margin", "digits", {"margin": "10%", "hyperplanes": "bisector"}),
        ("margin-fixed", "cancer", {"margin": 0.2, "width": 300}),
        ("margin-weighted", "moons", {"margin": "5%", "detectors": "weighted", "target": "all"}),
    ]
}
CASES: dict[str, Callable[[], Built]] = {
    **ESTIMATORS,
    "sparse": partial(estimated, "digits", sp.csr_array),
    "sparse-center-false": partial(estimated, "digits", sp.csr_array, center=False, width=200),
    "float32-points": partial(estimated, "cancer", lambda X: X.astype(np.float32)),
    "adaptive-function": partial(written_out, "iris", None, 3),
    "fixed-function": partial(written_out, "digits", 128, 4),
    "extended": extended,
    "table": partial(tabled, "standard"),
    "table-unscaled": partial(tabled, "none"),
    **{f"construction-{name}": partial(constructed, name) for name in CONSTRUCTORS},
}


def stream_print() -> str:
    """What NumPy's random streams give: their feature version decides, and is outside the promise."""
    rng = np.random.Generator(np.random.PCG64(0))
    return kept(np.r_[rng.normal(size=8), rng.uniform(size=8), rng.permutation(100), rng.integers(1000, size=8)])


def algebra_print() -> str:
    """What BLAS and LAPACK give here: their kernels are the processor's, and are outside the promise."""
    A = np.random.Generator(np.random.PCG64(1)).normal(size=(40, 24))
    basis, triangle = np.linalg.qr(A)
    found = np.linalg.lstsq(A, A[:, 0] ** 2, rcond=None)[0]
    return kept(np.concatenate([(A @ A.T).ravel(), basis.ravel(), triangle.ravel(), found]))


def is_by_linear_algebra(name: str) -> bool:
    return name.removeprefix("construction-") in BY_LINEAR_ALGEBRA


def facts(name: str) -> Facts:
    return CASES[name]().facts(digest=name.removeprefix("construction-") not in WITHOUT_DIGEST)


def main() -> None:
    networks = {name: facts(name) for name in CASES}
    table = {"streams": stream_print(), "algebra": algebra_print(), "networks": networks}
    FACTS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()


# ---- Small networks and problems that the tests of certificates share, and what they answer, by definition ---------


def whole(values) -> np.ndarray:
    array = np.array(values, dtype=object)
    return array.reshape(np.shape(values))


def line(activation, weights, bias, out, out_bias, decoder) -> Network:
    """Units of one input each, and an output."""
    first = Layer(Dense(np.array(weights, dtype=float)[:, None]), np.array(bias, dtype=float), activation)
    return Network(
        (first, Layer(Dense(np.array([out], dtype=float)), np.array([out_bias], dtype=float), None)), decoder
    )


STEPS = line(THRESHOLD, [1, 1], [-0.3, -0.7], [1, 1], 0, Decoder("nearest", (0, 1, 2), (0.0, 1.0, 2.0)))


def small_problem(rng: np.random.Generator, d: int = 2, n: int = 9, points: int = 10, classes: int = 3, law="gauss"):
    """Points on a grid or in general position, and hyperplanes of which some touch points."""
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, points - classes)])
    if law == "grid":
        X, W = rng.integers(-2, 3, (points, d)).astype(float), rng.integers(-2, 3, (n, d)).astype(float)
        return X, y, W, rng.integers(-3, 4, n).astype(float)
    X, W = rng.normal(size=(points, d)), rng.normal(size=(n, d)).astype(np.float32)
    b = rng.normal(size=n)
    if law == "mixed":
        X *= 10.0 ** rng.integers(-300, 300, (points, d))
        W = W.astype(np.float64) * 10.0 ** rng.integers(-300, 300, (n, d))
        b *= 10.0 ** rng.integers(-300, 300, n)
    if law == "cuts":
        axes, signs = rng.integers(0, d, n), rng.choice([-1.0, 1.0], n)
        W = np.zeros((n, d))
        W[np.arange(n), axes] = signs
        b = -signs * X[rng.integers(0, points, n), axes]
    if law == "touching":
        W = W.astype(np.float64)
        b = np.array([-np.dot(w, X[k]) for w, k in zip(W, rng.integers(0, points, n), strict=True)])
    return X, y, W, b


def changed(network: Network, index: int, **parts) -> Network:
    layers = list(network.layers)
    layers[index] = replace(layers[index], **parts)
    return Network(tuple(layers), network.decoder, network.input_map)


def weights_of(detectors) -> np.ndarray:
    if isinstance(detectors.counters, WeightedMasks):
        return detectors.counters.values.astype(np.int64)
    return detectors.counters.bits.to_bool().astype(np.int64)


def answer(detectors, bits: np.ndarray) -> int:
    """The class index of a pattern, -1 for none."""
    fires = weights_of(detectors) @ bits < detectors.limits
    claims = {int(owner) for owner in detectors.outputs[fires]}
    if detectors.decoder.kind == "sign":
        return detectors.decoder.classes[0] if claims else detectors.decoder.classes[1]
    return detectors.decoder.classes[claims.pop()] if len(claims) == 1 else -1


def distances_to(detectors, x: np.ndarray) -> np.ndarray:
    planes = detectors.normals.astype(np.float64)
    return np.abs(planes @ x + detectors.biases) / np.linalg.norm(planes, axis=1)


# ---- Models for the persistence tests: every kind of label, parameter, weight and decoder, once at least -----------


def points(n: int = 40, d: int = 3, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, d))


def labels(*names: Any, dtype: Any = None) -> NDArray[Any]:
    """One for each of forty points, from at least the first two of the given ones."""
    return np.array([names[k * k % 7 % len(names)] for k in range(40)], dtype=dtype)


def fitted_model(X: Any, y: Any, **options: Any) -> InterpolatingClassifier:
    options = {"random_state": 0, "detectors": "mask"} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exactfit.ExactfitWarning)
        return InterpolatingClassifier(**options).fit(X, y)


def as_given(model: InterpolatingClassifier, X: NDArray[Any]) -> Any:
    """Points for a model as it was fitted_model to them: in a frame, if its features have names."""
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else pytest.importorskip("pandas").DataFrame(X, columns=names)


def fitted_to_frame() -> InterpolatingClassifier:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(points(), columns=["größe", 'quo"te\\', "🦀 crab"])
    return fitted_model(frame, pd.Series(labels("x", "y")))


FIVEFOLD = np.repeat(points(8), 5, axis=0)
CLASSIFIERS: dict[str, Callable[[], InterpolatingClassifier]] = {
    "one-sided": lambda: fitted_model(points(), labels(0, 1), target=None),
    "target": lambda: fitted_model(points(), labels("no", "yes"), target="no"),
    "numpy target": lambda: fitted_model(points(), labels(3, 5), target=np.int64(3), min_width=np.int32(100)),
    "both classes": lambda: fitted_model(points(), labels(0, 1), target="all"),
    "many classes": lambda: fitted_model(points(), labels("a", "bc", "d"), max_bias=0.1 + 0.2, n_jobs=2),
    "relu": lambda: fitted_model(points(), labels(0, 1, 2), activation="relu"),
    "relu one-sided": lambda: fitted_model(points(), labels(0, 1), activation=RELU, hyperplanes="bisector"),
    "sparse hyperplanes": lambda: fitted_model(points(), labels(0, 1, 2), hyperplanes="sparse", detectors="weighted"),
    "sparse images": lambda: fitted_model(
        points(), labels(0, 1), hyperplanes="sparse", image_shape=(3, 1), max_features=2
    ),
    "sparse relu": lambda: fitted_model(points(), labels(0, 1, 2), hyperplanes="sparse", activation="relu", width=400),
    "weighted bisectors": lambda: fitted_model(points(), labels(0, 1), hyperplanes="bisector", detectors="weighted"),
    "weighted": lambda: fitted_model(points(), labels(0, 1, 2), detectors="weighted"),
    "sparse masks": lambda: fitted_model(points(), labels("a", "b"), hyperplanes="sparse", max_features=(2, 3)),
    "images": lambda: fitted_model(
        points(), labels(0, 1), hyperplanes="sparse", image_shape=(1, 3), detectors="weighted"
    ),
    "sparse and bisectors": lambda: fitted_model(
        points(), labels(0, 1), hyperplanes="sparse", detectors="weighted", margin=0.02, min_width=0
    ),
    "own function": lambda: fitted_model(points(), labels(0, 1), activation=squared_relu),
    "own activation": lambda: fitted_model(points(), labels(0, 1, 2), activation=OWN),
    "bool labels": lambda: fitted_model(points(), labels(True, False)),
    "float labels": lambda: fitted_model(points(), labels(-1.0, 2.0, 1e15)),
    "half labels": lambda: fitted_model(points(), labels(1, 2, dtype=np.float16)),
    "small labels": lambda: fitted_model(points(), labels(1, 255, dtype=np.uint8)),
    "big-endian labels": lambda: fitted_model(points(), labels(1, -2, dtype=">i2")),
    "wide labels": lambda: fitted_model(points(), labels("é", "\ud800", dtype="U30")),
    "object labels": lambda: fitted_model(points(), labels("x", "y", "", dtype=object)),
    "frame": fitted_to_frame,
    "sparse": lambda: fitted_model(sp.csr_array(points() * (points(seed=1) > -1)), labels(0, 1)),
    "float32": lambda: fitted_model(points().astype(np.float32), labels(0, 1)),
    "points missed": lambda: fitted_model(points(), labels(0, 1), width=2),
    "conflicts": lambda: fitted_model(FIVEFOLD, np.r_[1, 0, np.repeat(np.arange(8) % 3, 5)[2:]], conflicts="majority"),
    "class without points": lambda: fitted_model(
        FIVEFOLD, np.r_[2, np.repeat([0, 1, 3, 1] * 2, 5)[1:]], conflicts="majority"
    ),
    "points given up": lambda: fitted_model(points(), labels(0, 1), noise=0.3),
    "random state": lambda: fitted_model(points(), labels(0, 1), random_state=np.random.RandomState(0)),
    "generator": lambda: fitted_model(points(), labels(0, 1), random_state=np.random.default_rng(0)),
}


def output(*signs: int) -> Layer:
    return Layer(Dense(np.array([[float(sign)] for sign in signs])), np.zeros(len(signs)), None)


def network(first: Layer, last: Layer | None = None, decoder: Decoder | None = None, **options: Any) -> Network:
    return Network((first, last or output(-1)), decoder or Decoder("sign", (1, 0)), **options)


HUGE = object_array([3**200, -5, 0], (1, 3))
NETWORKS: dict[str, Callable[[], Network]] = {
    "dense": lambda: network(Layer(Dense(points(1)), np.array([0.1]), RELU)),
    "big-endian": lambda: network(Layer(Dense(points(1).astype(">f8")), np.array([0.1]).astype(">f8"), THRESHOLD)),
    "column-major": lambda: network(
        Layer(Dense(np.asfortranarray(points(4))), np.zeros(4), RELU), Layer(Dense(points(1, 4)), np.zeros(1), None)
    ),
    "sparse": lambda: network(Layer(Sparse(sp.csr_array([[0.0, 2.5, 0.0]])), np.array([0.1]), THRESHOLD)),
    "whole sparse": lambda: network(
        Layer(Sparse(sp.csr_array(np.float32([[1, 0, -1], [0, 300, 0], [0, 0, 0]]))), np.ones(3), THRESHOLD),
        Layer(Dense(-np.ones((1, 3))), np.zeros(1), None),
    ),
    "three sparse": lambda: network(
        Layer(Sparse(sp.csr_array(np.eye(3) * 1.5)), np.array([0.1, 0.2, 0.3]), THRESHOLD),
        Layer(Dense(-np.ones((1, 3))), np.zeros(1), None),
    ),
    "weighted": lambda: network(
        Layer(Dense(points(3)), np.zeros(3), THRESHOLD),
        Layer(WeightedMasks(np.array([[3, -127, 0]], dtype=np.int8), -1), np.array([2]), THRESHOLD),
    ),
    "integers": lambda: network(
        Layer(Integers(HUGE), object_array([-(7**99)], (1,)), RELU),
        Layer(Integers(object_array([-1], (1, 1))), object_array([0], (1,)), None),
    ),
    "masks": lambda: network(Layer(Masks(BitMatrix.from_bool(np.eye(1, 3, dtype=bool)), 1), np.array([-1]), RELU)),
    "squared norm": lambda: network(
        Layer(Dense(points(1, 4)), np.array([-2.0]), THRESHOLD), input_map="append_squared_norm"
    ),
    "nearest": lambda: network(
        Layer(Dense(points(1)), np.array([0.5]), RELU), output(1), Decoder("nearest", (np.int64(2), 0), (0.1, 1 / 3))
    ),
    "numpy classes": lambda: network(
        Layer(Dense(points(1)), np.zeros(1), RELU), output(1, -1), Decoder("one_hot", tuple(np.arange(2)))
    ),
    "own": lambda: network(Layer(Dense(points(1)), np.zeros(1), OWN)),
}


# ---- Models to repair, and kinds of patches: shared by the tests of repairs ----------------------------------------


KINDS = ["ball", "mask", "weighted"]


def trained(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def class_data(n_classes: int):
    return make_classification(150, 6, n_informative=4, n_classes=n_classes, random_state=0)


def trained_on_classes(model, n_classes: int):
    X, y = class_data(n_classes)
    return X, trained(model, X, y)


class Constant:
    """A model that always says the same."""

    def __init__(self, label, classes=None):
        self.label = label
        if classes is not None:
            self.classes_ = np.asarray(classes)

    def predict(self, X):
        return np.full(X.shape[0], self.label)


def moons_and_model():
    X, y = make_moons(400, noise=0.3, random_state=0)
    return X, y, trained(LogisticRegression(), X, y)


# ---- Small ONNX graphs of somebody else's making -------------------------------------------------------------------


ROWS = 60


def two_layers(
    n_inputs: int, n_outputs: int, *, middle: str | None = "Relu", last: str | None = None, gemm: bool = True,
    shape: tuple[int, ...] | None = None, rows: Any = "N", opset: int = 18, labels: list[str] | None = None,
    only_sums: bool = False, dtype: Any = np.float32, inputs: int | None = 0, outputs: int | None = None,
) -> Any:  # fmt: skip
    """Weights, an activation, weights again; whole numbers, so that every evaluation agrees."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(n_inputs + n_outputs)
    n_outputs = outputs or n_outputs
    shape = (n_inputs,) if shape is None else shape
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    first, second = rng.integers(-4, 5, (n_inputs, 8)), rng.integers(-4, 5, (8, n_outputs))
    constants = {"W": first, "b": rng.integers(-3, 4, 8), "V": second.T if gemm else second, "c": np.arange(n_outputs)}
    given = [numpy_helper.from_array(values.astype(dtype), name) for name, values in constants.items()]
    nodes = [helper.make_node("Flatten", ["points"], ["flat"], axis=1)] if len(shape) > 1 else []
    start = "flat" if nodes else "points"
    nodes += [helper.make_node("MatMul", [start, "W"], ["s"]), helper.make_node("Add", ["s", "b"], ["t"])]
    if middle:
        nodes.append(helper.make_node(middle, ["t"], ["h"]))
    before = "h" if middle else "t"
    if gemm:
        nodes.append(helper.make_node("Gemm", [before, "V", "c"], ["z"], transB=1))
    else:
        nodes += [helper.make_node("MatMul", [before, "V"], ["r"]), helper.make_node("Add", ["c", "r"], ["z"])]
    found = [helper.make_tensor_value_info("z", kind, [rows, n_outputs])]
    if last == "ArgMax":
        nodes.append(helper.make_node("ArgMax", ["z"], ["best"], axis=1, keepdims=0))
        found.append(helper.make_tensor_value_info("best", TensorProto.INT64, [rows]))
    elif last:
        nodes.append(helper.make_node(last, ["z"], ["shares"], axis=1))
        found = [helper.make_tensor_value_info("shares", kind, [rows, n_outputs])]
    if labels:
        given.append(numpy_helper.from_array(np.array(labels, dtype=object), "names"))
        nodes.append(helper.make_node("Gather", ["names", "best"], ["answer"]))
        found = [found[0], helper.make_tensor_value_info("answer", TensorProto.STRING, [rows])]
    if only_sums:
        nodes.append(helper.make_node("ReduceSum", ["z"], ["sum"], keepdims=0))
        found = [helper.make_tensor_value_info("sum", kind, [])]
    sizes = [rows, *(["d"] if inputs is None else shape)]
    points = helper.make_tensor_value_info("points", kind, sizes)
    graph = helper.make_graph(nodes, "foreign", [points], found, given)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    proto.ir_version = 8
    return proto


def written(proto: Any, folder: Path) -> Path:
    """The graph in a file."""
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path
