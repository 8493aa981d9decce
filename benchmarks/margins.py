"""Networks with a margin: what it costs, and attacks on it.

*Price*: hyperplanes, detectors and held-out accuracy of digits for growing margins, masks beside weights. *Attack*:
every training point is moved by just below the margin: towards its nearest hyperplanes, along weighted sums of their
normals, towards the nearest point of another label, and a million times at random. The moves that came closest to
another answer are decided again in fractions. No answer may change. *Radii*: what they take on MNIST.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.model_selection import train_test_split

from exactfit import InterpolatingClassifier, Network, certify
from exactfit.lab.datasets import load_dataset

from .cases import THREADS, Case, Data, Row, Settings, images
from .weighted import SEED, fitted, markdown

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.attacks import moves_towards

MOVES = 10**6  # random ones for each data set; --size for fewer
MARGINS = {"mask": "25%", "weighted": "10%"}  # of half the separation, in attacks: up to 10 % weights share detectors
CLOSEST = 20  # moves of a data set that are decided again in fractions: a second or so each
MNIST_ROWS = 2000  # images, the first ones
PRICES = (0, "5%", "10%", "25%", "50%", "90%", "99%")


def mnist(options: Settings) -> Data:
    """The first images."""
    images = load_dataset("mnist", options.data)
    return images.X[:MNIST_ROWS], images.y[:MNIST_ROWS]


PROBLEMS: dict[str, Callable[[Settings], Data]] = {
    "two-moons": lambda _: make_moons(1000, noise=0.05, random_state=0),
    "breast-cancer": lambda _: load_breast_cancer(return_X_y=True),
    "digits": lambda _: load_digits(return_X_y=True),
    "mnist": mnist,
}


def answers(model: InterpolatingClassifier, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Class by the network's output (-1 for none), class by ``predict``, and how clear the nearest decision was."""
    scores = model.decision_function(points)
    if scores.ndim == 1:
        found = (scores > 0).astype(np.int64)
        return found, found, np.abs(scores)
    claims = scores > 0
    bare = np.where(claims.sum(axis=1) == 1, claims.argmax(axis=1), -1)
    return bare, scores.argmax(axis=1), np.abs(scores).min(axis=1)


def decide_in_fractions(network: Network, point: np.ndarray) -> int:
    """The class of a point by exact arithmetic on the stored numbers, and nothing else."""
    first, second, last = network.layers
    x = [Fraction(float(value)) for value in point]
    bits = [
        sum((Fraction(float(w)) * value for w, value in zip(row, x, strict=True)), Fraction(float(bias))) > 0
        for row, bias in zip(first.weights.values, first.bias, strict=True)
    ]
    fires = [int(limit) > count for limit, count in zip(second.bias, _counts(second.weights, bits), strict=True)]
    sums = [last.weights.sign * sum(np.array(fires)[own].tolist()) for own in last.weights.bits.to_bool()]
    return int(network.decoder(np.array([sums]))[0])


def _counts(weights: object, bits: list[bool]) -> list[int]:
    rows = weights.bits.to_bool() if hasattr(weights, "bits") else weights.values
    return [sum(int(w) for w, bit in zip(row, bits, strict=True) if bit) for row in rows]


def attack(name: str, detectors: str, options: Settings) -> list[Row]:
    """One network, and all moves against it."""
    X, y = PROBLEMS[name](options)
    model, seconds = fitted((X, y), {"margin": MARGINS[detectors]}, detectors, SEED)
    certificate = certify(model, X, y)
    assert certificate.holds
    assert not len(certificate.narrow)
    codes, moves, changed = np.searchsorted(model.classes_, y), 0, 0
    closest: list[tuple[float, int, np.ndarray]] = []
    rounds = -(-(options.size or MOVES) // (2 * len(X)))
    for moved in moves_towards(model.network_, X, y, model.trace_.margin, np.random.default_rng(SEED), rounds):
        bare, predicted, clear = answers(model, moved)
        moves += len(X)
        changed += int(np.count_nonzero((bare != codes) | (predicted != codes)))
        few = np.argsort(clear)[:CLOSEST]
        closest = sorted(
            [*closest, *zip(clear[few].tolist(), few.tolist(), moved[few], strict=True)], key=lambda c: c[:2]
        )
        del closest[CLOSEST:]
    wrong = sum(decide_in_fractions(model.network_, point) != codes[row] for _, row, point in closest)
    return [
        {
            "data": name, "detectors": f"{model.n_detectors_} ({detectors})", "hyperplanes": model.width_,
            "margin": model.trace_.margin, "fit s": seconds, "moves": moves, "answers changed": changed,
            "closest, in fractions": f"{wrong} of {len(closest)}",
        }
    ]  # fmt: skip


def price(detectors: str, margin: float | str, options: Settings) -> list[Row]:
    """One margin, on four fifths of digits."""
    X, y = load_digits(return_X_y=True)
    X, new, y, labels = train_test_split(X, y, test_size=0.2, random_state=SEED, stratify=y)
    model, seconds = fitted((X, y), {"margin": margin}, detectors, SEED)
    return [
        {
            "margin": str(margin), "detectors are": detectors, "distance": model.trace_.margin,
            "hyperplanes": model.width_, "detectors": model.n_detectors_,
            "accuracy": float(np.mean(model.predict(new) == labels)), "fit s": seconds,
        }
    ]  # fmt: skip


def radii(detectors: str, options: Settings) -> list[Row]:
    """What a radius for every one of 60,000 images takes, in seconds of a processor."""
    X, y = images("mnist", options.size or 60_000, options.data)
    model, _ = fitted((X, y), {"width": 2000}, detectors, SEED)
    seconds = {}
    for asked in (False, True):
        began = time.process_time()
        certificate = certify(model, X, y, radii=asked, n_jobs=THREADS)
        seconds[asked] = time.process_time() - began
    return [
        {
            "detectors": f"{model.n_detectors_} ({detectors})", "rows": len(X), "certify, processor s": seconds[False],
            "with radii": seconds[True], "smallest": f"{certificate.robust_radius:.2g}",
            "median": f"{np.median(certificate.radii):.2g}",
        }
    ]  # fmt: skip


CASES = [
    *(Case(f"margin-radii/{kind}", partial(radii, kind), markdown, needs_data=True) for kind in ("mask", "weighted")),
    *(
        Case(f"margin-price/{kind}-{str(margin).rstrip('%')}", partial(price, kind, margin), markdown)
        for kind in ("mask", "weighted")
        for margin in PRICES
    ),
    *(
        Case(f"margin-attack/{name}-{kind}", partial(attack, name, kind), markdown, needs_data=name == "mnist")
        for name in PROBLEMS
        for kind in ("mask", "weighted")
    ),
]
