"""Neural networks that fit your data exactly: built, not trained.

Public names are loaded when first used, so that importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .activations import Activation as Activation
    from .certificate import Certificate as Certificate
    from .certificate import certify as certify
    from .construct import Construction as Construction
    from .construct import Recipe as Recipe
    from .construct import Trace as Trace
    from .construct import adaptive_width as adaptive_width
    from .construct import fixed_width as fixed_width
    from .estimators import InterpolatingClassifier as InterpolatingClassifier
    from .exceptions import ConflictWarning as ConflictWarning
    from .exceptions import ConstructionError as ConstructionError
    from .exceptions import ContradictoryLabelsError as ContradictoryLabelsError
    from .exceptions import DataError as DataError
    from .exceptions import ExactfitError as ExactfitError
    from .exceptions import ExactfitWarning as ExactfitWarning
    from .exceptions import InterpolationWarning as InterpolationWarning
    from .exceptions import MissingDependencyError as MissingDependencyError
    from .exceptions import ModelFileError as ModelFileError
    from .exceptions import NoGapError as NoGapError
    from .exceptions import ParameterError as ParameterError
    from .exceptions import TooLargeError as TooLargeError
    from .exceptions import WidthLimitError as WidthLimitError
    from .network import Network as Network
    from .outcome import Outcome as Outcome
    from .persistence import load as load
    from .persistence import save as save

_HOMES = {
    "activations": ["Activation"],
    "certificate": ["Certificate", "certify"],
    "construct": ["Construction", "Recipe", "Trace", "adaptive_width", "fixed_width"],
    "estimators": ["InterpolatingClassifier"],
    "exceptions": [
        "ConflictWarning",
        "ConstructionError",
        "ContradictoryLabelsError",
        "DataError",
        "ExactfitError",
        "ExactfitWarning",
        "InterpolationWarning",
        "MissingDependencyError",
        "ModelFileError",
        "NoGapError",
        "ParameterError",
        "TooLargeError",
        "WidthLimitError",
    ],
    "network": ["Network"],
    "outcome": ["Outcome"],
    "persistence": ["load", "save"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'exactfit' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
