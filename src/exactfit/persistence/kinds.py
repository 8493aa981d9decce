"""Models that hold a classifier and more; whoever defines one adds it here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..estimators import InterpolatingClassifier
from .container import Header, Tensors


@dataclass(frozen=True)
class Kind:
    """A kind of model: its classifier goes into a file as any other, the rest into a section of its own.

    Attributes
    ----------
    name : str
        Of the kind, of its section in the header, and the prefix of its tensors.
    type : type
    inside : function
        From model to classifier; raises NotFittedError if there is none yet.
    encode : function
        From model to section and tensors.
    decode : function
        From classifier, section and tensors to the model, if they make one.
    """

    name: str
    type: type
    inside: Callable[[Any], InterpolatingClassifier]
    encode: Callable[[Any], tuple[Header, Tensors]]
    decode: Callable[[InterpolatingClassifier, Header, Tensors], Any]


KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Let ``save`` and ``load`` take models of this kind."""
    KINDS[kind.name] = kind


def kind_of(model: Any) -> Kind | None:
    """The kind of a model that holds more than a classifier."""
    return next((kind for kind in KINDS.values() if type(model) is kind.type), None)


def inside(model: Any) -> Any:
    """The classifier in such a model; any other model itself."""
    kind = kind_of(model)
    return model if kind is None else kind.inside(model)
