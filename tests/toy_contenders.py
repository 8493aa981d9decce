"""Data and constructors for comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.datasets import make_moons

from exactfit.construct import fixed_width

X, Y = make_moons(60, noise=0.05, random_state=0)
WIDTH = 200


class Base:
    """What the protocol asks of a constructor, for the ones below."""

    name: ClassVar[str] = "base"
    citation: ClassVar[str] = "this file"
    labels: ClassVar[tuple[str, ...]] = ("binary", "multiclass")
    activation: ClassVar[str] = "threshold"
    assumptions: ClassVar[str] = "none"
    randomized: ClassVar[bool] = True

    def construct(self, X: Any, y: Any, random_state: Any = None) -> Any:
        return fixed_width(X, y, WIDTH, random_state=random_state)


@dataclass(frozen=True)
class Good(Base):
    name: ClassVar[str] = "good"
