"""Networks that must not change: what every option and every construction builds from small data.

``CASES`` maps a name to a function that builds something; ``facts`` says what is kept of it: the network's digest,
digests of its answers on training and on new points, whether its certificate holds, and which rows are wrong.
``golden/networks.json`` holds the facts, ``golden/*.exactfit`` some models as files. A change that rewrites either
needs a reason in the changelog:

    python tests/golden_networks.py        # writes the facts again; model files are never rewritten
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_moons

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

GOLDEN = Path(__file__).parent / "golden"
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

# The estimator's defaults, written out as well.
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


def fitted(
    X: Points, y: Any, as_given: Callable[[Points], Any] = np.asarray, **options: Any
) -> InterpolatingClassifier:
    chosen = OPTIONS | {name: value() if callable(value) else value for name, value in options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exactfit.ExactfitWarning)
        return InterpolatingClassifier(**chosen).fit(as_given(X), y)


def estimated(data: str, as_given: Callable[[Points], Any] = np.asarray, **options: Any) -> Built:
    X, y, new = DATA[data]()
    model = fitted(X, y, as_given, **options)
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


def other_flowers() -> pd.DataFrame:
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
