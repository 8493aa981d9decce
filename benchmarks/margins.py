"""Attacks on networks with a margin: digits, Two Moons, breast cancer and 2,000 MNIST images.

    python benchmarks/margins.py [--moves 1000000] [--data FOLDER]

Every training point is moved by just below the margin: towards its nearest hyperplanes, along weighted sums of their
normals, towards the nearest point of another label, and in random directions. Prints what the margin cost and how many
answers changed, which has to be none; the exit code is 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_moons

from exactfit import InterpolatingClassifier, certify
from exactfit.lab.datasets import load_dataset

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from attacks import moves_towards

MNIST_ROWS = 2000  # images, the first ones


def problems(folder: str | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Points and labels by name."""
    mnist = load_dataset("mnist", folder)
    return {
        "two moons": make_moons(1000, noise=0.05, random_state=0),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "mnist": (mnist.X[:MNIST_ROWS], mnist.y[:MNIST_ROWS]),
    }


def main() -> int:
    """Build, certify and attack."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--moves", type=int, default=10**6, help="random moves for each data set")
    parser.add_argument("--data", help="folder with MNIST; that of EXACTFIT_DATA by default")
    parser.add_argument("--margin", default="25%")
    given, changed = parser.parse_args(), 0
    for name, (X, y) in problems(given.data).items():
        start = time.perf_counter()
        model = InterpolatingClassifier.paper(center=True, margin=given.margin, random_state=0).fit(X, y)
        seconds = time.perf_counter() - start
        certificate = certify(model, X, y)
        codes, moves, wrong = np.searchsorted(model.classes_, y), 0, 0
        rounds = -(-given.moves // (2 * len(X)))
        for moved in moves_towards(model.network_, X, y, model.trace_.margin, np.random.default_rng(0), rounds):
            moves += len(X)
            wrong += int((model.network_.decide(moved) != codes).sum() + (model.predict(moved) != y).sum())
        print(
            f"{name}: margin {model.trace_.margin:.4g}, {model.width_} hyperplanes, {model.n_detectors_} detectors, "
            f"{seconds:.1f} s; proved: {certificate.holds and not len(certificate.narrow)}; "
            f"{moves:,} moves, {wrong} answers changed",
            flush=True,
        )
        changed += wrong
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
