"""Constructions as contenders, and the choice of who takes part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...certificate import Certificate, certify
from ...constructions import CONSTRUCTORS, Constructor
from ...exceptions import ParameterError
from .baselines import BASELINES
from .contender import Built, Claim, Codes, Contender, Floats, Kind


@dataclass(frozen=True, eq=False)
class Constructed:
    """Network by construction, then certified."""

    name: str
    constructor: Constructor
    kind: Kind = field(default="construction", init=False)

    @property
    def is_known(self) -> bool:
        """Whether the constructor is one of the library's."""
        return type(self.constructor).__module__.startswith("exactfit.")

    def build(self, X: Floats, y: Codes, seed: int, seconds: float) -> Built:
        """Construct the network."""
        network = self.constructor.construct(X, y, random_state=seed).network
        return Built(network.decide, network.layers, network)

    def prove(self, built: Built, X: Floats, y: Codes) -> Claim:
        """Certify it from its numbers and the points alone."""
        return _claim(certify(built.network, X, y))


def _claim(certificate: Certificate) -> Claim:
    proved = certificate.method != "evaluation"
    wrong = f"the certificate fails for {certificate.n_errors} of {certificate.n_samples} points"
    return Claim(
        certified=certificate.holds and proved,
        proof=certificate.method or "",
        robust_radius=certificate.robust_radius,
        radius_method=certificate.radius_method or "",
        reason=("" if proved else "no proof is known: right by evaluation only") if certificate.holds else wrong,
    )


def choose(constructions: Any) -> list[Contender]:
    """Contenders for ``"all"``, a name, a constructor, several of these, or a mapping of names of one's own to them.

    Examples
    --------
    >>> from exactfit.lab.comparison.constructions import choose
    >>> [contender.name for contender in choose(["huang", "1-nn"])]
    ['huang', '1-nn']
    """
    if isinstance(constructions, str) and constructions == "all":
        return [_contender(name) for name in (*CONSTRUCTORS, *BASELINES)]
    if isinstance(constructions, Mapping):
        return [_contender(one, str(name)) for name, one in constructions.items()]
    several = isinstance(constructions, Iterable) and not isinstance(constructions, str)
    chosen = [_contender(one) for one in (constructions if several else [constructions])]
    names = [contender.name for contender in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"constructions must have different names, got {', '.join(twice)} more than once")
    return chosen


def _contender(one: Any, name: str | None = None) -> Contender:
    if isinstance(one, str):
        if one in CONSTRUCTORS:
            return Constructed(name or one, CONSTRUCTORS[one])
        if one in BASELINES:
            return BASELINES[one]
        raise ParameterError(f"no construction is called {one!r}: choose from {', '.join([*CONSTRUCTORS, *BASELINES])}")
    if isinstance(one, Constructor) and not isinstance(one, type):
        return Constructed(name or one.name, one)
    raise ParameterError(f"constructions must be 'all', names, or constructors, got {type(one).__name__}")
