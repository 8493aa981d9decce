"""Whoever is compared: the protocol that constructions and baselines meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...network import Layer, Network
from .radius import Decide

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Kind = Literal["construction", "trained network", "not a network"]


@dataclass(frozen=True, eq=False)
class Built:
    """What a contender made of the points.

    Attributes
    ----------
    decide : callable
        Class indices of points.
    layers : tuple of Layer
        What to count; empty if it is not a network.
    network : Network or None
        What can be certified.
    reason : str
        What it fell short of.
    """

    decide: Decide
    layers: tuple[Layer, ...] = ()
    network: Network | None = None
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """What is proved of it, and how."""

    certified: bool = False
    proof: str = ""
    robust_radius: float | None = None
    radius_method: str = ""
    reason: str = ""


class Contender(Protocol):
    """Builds, then proves what can be proved."""

    @property
    def name(self) -> str:
        """As the table shows it."""
        ...

    @property
    def kind(self) -> Kind:
        """What comes out."""
        ...

    @property
    def is_known(self) -> bool:
        """Whether it may be tried on a few points first: one of a stranger may do anything."""
        ...

    def build(self, X: Floats, y: Codes, seed: int, seconds: float) -> Built:
        """Fit all points; who can stop early has this many seconds."""
        ...

    def prove(self, built: Built, X: Floats, y: Codes) -> Claim:
        """What holds for sure."""
        ...
