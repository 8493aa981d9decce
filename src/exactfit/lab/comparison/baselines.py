"""What people would use otherwise: nearest neighbour, decision tree, a network that is trained.

They stand beside the constructions for scale. Nothing about their answers is certified.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...geometry.separation import separation
from ...network import Layer
from ...network.activations import RELU
from ...network.weights import Dense
from .contender import Built, Claim, Codes, Contender, Floats, Kind

TRAINING_SHARE = 0.8  # of the time limit; the rest is for looking at what came out


class _Baseline:
    """Nothing to prove."""

    is_known: ClassVar[bool] = True

    def prove(self, built: Built, X: Floats, y: Codes) -> Claim:
        """Nothing is certified."""
        return Claim()


@dataclass(frozen=True)
class NearestNeighbour(_Baseline):
    """The label of the nearest training point. Its robust radius is known: half the separation."""

    name: ClassVar[str] = "1-nn"
    kind: ClassVar[Kind] = "not a network"

    def build(self, X: Floats, y: Codes, seed: int, seconds: float) -> Built:
        """Keep the points."""
        from sklearn.neighbors import KNeighborsClassifier

        return _fitted(KNeighborsClassifier(n_neighbors=1), X, y)

    def prove(self, built: Built, X: Floats, y: Codes) -> Claim:
        """Half the smallest distance between labels: no farther point is nearer, and halfway two are."""
        half = separation(X, y).value / 2
        return Claim(robust_radius=float(np.nextafter(half, 0.0)), radius_method="half the separation, exact")


@dataclass(frozen=True)
class DecisionTree(_Baseline):
    """A tree grown until its leaves are pure."""

    name: ClassVar[str] = "decision-tree"
    kind: ClassVar[Kind] = "not a network"

    def build(self, X: Floats, y: Codes, seed: int, seconds: float) -> Built:
        """Grow it."""
        from sklearn.tree import DecisionTreeClassifier

        return _fitted(DecisionTreeClassifier(random_state=seed), X, y)


@dataclass(frozen=True)
class TrainedNetwork(_Baseline):
    """scikit-learn's MLPClassifier, as it comes, on standardised features, trained until no training point is wrong."""

    name: ClassVar[str] = "mlp"
    kind: ClassVar[Kind] = "trained network"

    def build(self, X: Floats, y: Codes, seed: int, seconds: float) -> Built:
        """Train, epoch by epoch, until the training error is zero or time is out."""
        from sklearn.neural_network import MLPClassifier
        from sklearn.preprocessing import StandardScaler

        end = time.monotonic() + TRAINING_SHARE * seconds
        scaler, model = StandardScaler().fit(X), MLPClassifier(random_state=seed)
        scaled, wrong, epochs = scaler.transform(X), len(y), 0
        while wrong and (not epochs or time.monotonic() < end):
            model.partial_fit(scaled, y, classes=np.unique(y))
            wrong, epochs = int(np.count_nonzero(model.predict(scaled) != y)), epochs + 1
        reason = f"{wrong} of {len(y)} training points wrong after {epochs} epochs" if wrong else ""
        return Built(
            lambda points: np.asarray(model.predict(scaler.transform(points))), _layers(model, scaler), None, reason
        )


def _fitted(model: Any, X: Floats, y: Codes) -> Built:
    model.fit(X, y)
    return Built(lambda points: np.asarray(model.predict(points)))


def _layers(model: Any, scaler: Any) -> tuple[Layer, ...]:
    """The trained layers, the scaling of features absorbed in the first."""
    (first, *weights), (bias, *biases) = model.coefs_, model.intercepts_
    absorbed = first / scaler.scale_[:, None]
    pairs = [(absorbed, bias - scaler.mean_ @ absorbed), *zip(weights, biases, strict=True)]
    *hidden, output = [Dense(np.ascontiguousarray(matrix.T)) for matrix, _ in pairs]
    shifts: list[NDArray[Any]] = [shift for _, shift in pairs]
    made = [Layer(dense, shift, RELU) for dense, shift in zip(hidden, shifts[:-1], strict=True)]
    return (*made, Layer(output, shifts[-1], None))


BASELINES: dict[str, Contender] = {
    baseline.name: baseline for baseline in (NearestNeighbour(), DecisionTree(), TrainedNetwork())
}
