"""What ``certify`` is asked about: the network in whatever was fitted, with the points and labels that it sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..exceptions import ParameterError
from ..network import Network


@dataclass(frozen=True, eq=False)
class Subject:
    """A network, and the data that a certificate is to be about.

    Attributes
    ----------
    network : Network
    X : array, sparse matrix or frame
        The points that the network sees.
    y : sequence, or None if none were given
    classes : ndarray or None
        Labels by class index; None where labels are class indices themselves.
    exact_in : str or None
        The format that points are rounded to first.
    networks : tuple of Network
        Those that the network holds side by side, each of which is to be proved; empty for itself.
    margin : float
        What the construction claims; 0.0 if nothing.
    """

    network: Network
    X: Any
    y: Any
    classes: Any = None
    exact_in: str | None = None
    networks: tuple[Network, ...] = ()
    margin: float = 0.0

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> Subject:
        """The subject in a network, construction, classifier, table's model or pipeline, by what it has."""
        if isinstance(model, Network):
            return cls(model, X, y)
        if isinstance(getattr(model, "network", None), Network):  # a construction
            return cls(model.network, X, y, networks=getattr(model, "networks", ()), margin=_margin(model, "trace"))
        if hasattr(model, "network_") and hasattr(model, "classes_"):  # a classifier
            networks, margin = getattr(model, "networks_", ()), _margin(model, "trace_")
            return cls(model.network_, X, y, model.classes_, getattr(model, "exact_in", None), networks, margin)
        if hasattr(model, "points_and_labels") and hasattr(model, "classifier_"):  # a table's model
            return cls.of(model.classifier_, *model.points_and_labels(X, y))
        if hasattr(model, "named_steps"):  # a pipeline: what its last step sees
            return cls.of(model.steps[-1][1], X if len(model.steps) == 1 else model[:-1].transform(X), y)
        if hasattr(model, "fit") and not any(name.endswith("_") for name in vars(model)):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit before certify")
        raise ParameterError(
            "certify takes a Network, a Construction, a fitted classifier or table's model, or a fitted pipeline "
            f"that ends in one, got {type(model).__name__}"
        )


def _margin(model: Any, trace: str) -> float:
    return float(getattr(getattr(model, trace, None), "margin", 0.0))
