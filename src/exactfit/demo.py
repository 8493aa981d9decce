"""Small data sets of ``exactfit demo``, from points to certificate and picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .certificate import Certificate, certify
from .estimators import InterpolatingClassifier

Data = tuple[NDArray[np.float64], NDArray[Any]]


def two_moons() -> Data:
    """Return the paper's Two Moons: 1000 points in the plane, scaled to largest norm 1."""
    from sklearn.datasets import make_moons

    X, y = make_moons(1000, noise=0.05, random_state=0)
    return X / np.sqrt((X * X).sum(axis=1)).max(), y


def digits() -> Data:
    """Return the 1797 handwritten digits that come with scikit-learn."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


DATA = {"Two Moons": two_moons, "Digits": digits}


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A data set, the model that fits it, and the certificate proved again from both."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    model: InterpolatingClassifier
    certificate: Certificate

    def __repr__(self) -> str:
        return f"<Exhibit {self.headline()}>"

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the network by their names."""
        network = self.model.network_
        hyperplanes, detectors, *_ = network.widths
        sizes = {"hyperplanes": hyperplanes, "detectors": detectors}
        return sizes | {"neurons": network.n_neurons, "parameters": network.n_parameters}

    def headline(self) -> str:
        """Return the data in a few words."""
        n_points, n_features = self.X.shape
        return f"{self.name}: {n_points} points, {n_features} features, {len(self.model.classes_)} classes"


def exhibit(name: str, random_state: int = 0) -> Exhibit:
    """Fit one of the data sets of ``DATA`` with the default options, and certify the network."""
    X, y = DATA[name]()
    model = InterpolatingClassifier(random_state=random_state).fit(X, y)
    return Exhibit(name, X, y, model, certify(model, X, y))


def draw(shown: Exhibit, folder: Path) -> Path:
    """Write the decision regions as a PNG into a folder, which is made if need be; return the path."""
    from .plots import plot_regions, style

    path = folder / f"{shown.name.lower().replace(' ', '-')}.png"
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.6))
        ax = plot_regions(shown.model, shown.X, shown.y, ax=figure.subplots(), resolution=600)
        sizes = shown.sizes()
        ax.set_title(f"{shown.name}: {sizes['hyperplanes']:,} hyperplanes, {sizes['detectors']:,} detectors")
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    return path
