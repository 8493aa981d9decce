"""Neural networks that fit your data exactly: built, not trained.

Public names, and the packages ``constructions``, ``distributed``, ``export``, ``geometry``, ``lab`` and ``plots``, are
loaded when first used, so that importing exactfit is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from . import constructions as constructions
    from . import distributed as distributed
    from . import export as export
    from . import geometry as geometry
    from . import lab as lab
    from . import plots as plots
    from .certificate import Certificate as Certificate
    from .certificate import certify as certify
    from .conditions import Condition as Condition
    from .construct import Construction as Construction
    from .construct import Options as Options
    from .construct import Trace as Trace
    from .construct import adaptive_width as adaptive_width
    from .construct import fixed_width as fixed_width
    from .construct.extend import Extension as Extension
    from .construct.extend import extend as extend
    from .estimators import InterpolatingClassifier as InterpolatingClassifier
    from .exceptions import AssumptionError as AssumptionError
    from .exceptions import ClusterError as ClusterError
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
    from .exceptions import UnseenCategoryWarning as UnseenCategoryWarning
    from .exceptions import WidthLimitError as WidthLimitError
    from .explanation import Explanation as Explanation
    from .explanation import Explanations as Explanations
    from .export import register_onnx_converter as register_onnx_converter
    from .export import to_onnx as to_onnx
    from .export import to_torch as to_torch
    from .geometry.report import Description as Description
    from .geometry.report import describe as describe
    from .lab.comparison import Comparison as Comparison
    from .lab.comparison import compare as compare
    from .lab.evaluation import Evaluation as Evaluation
    from .lab.evaluation import evaluate as evaluate
    from .network import Network as Network
    from .network.activations import Activation as Activation
    from .outcome import Outcome as Outcome
    from .persistence import load as load
    from .persistence import save as save
    from .repairs import RepairedClassifier as RepairedClassifier
    from .repairs import RepairReport as RepairReport
    from .repairs import repair as repair
    from .suspects import Suspects as Suspects
    from .suspects import find_suspects as find_suspects
    from .tables import Table as Table
    from .tables import TableModel as TableModel
    from .tables import read_table as read_table

# Where public names are from, relative to this package.
_HOMES = {
    "network.activations": "Activation",
    "certificate": "Certificate certify",
    "conditions": "Condition",
    "lab.comparison": "Comparison compare",
    "lab.evaluation": "Evaluation evaluate",
    "construct": "Construction Options Trace adaptive_width fixed_width",
    "construct.extend": "Extension extend",
    "estimators": "InterpolatingClassifier",
    "exceptions": (
        "AssumptionError ClusterError ConflictWarning ConstructionError ContradictoryLabelsError DataError "
        "ExactfitError ExactfitWarning InterpolationWarning MissingDependencyError ModelFileError NoGapError "
        "ParameterError TooLargeError UnseenCategoryWarning WidthLimitError"
    ),
    "export": "register_onnx_converter to_onnx to_torch",
    "explanation": "Explanation Explanations",
    "geometry.report": "Description describe",
    "network": "Network",
    "outcome": "Outcome",
    "persistence": "load save",
    "repairs": "RepairReport RepairedClassifier repair",
    "suspects": "Suspects find_suspects",
    "tables": "Table TableModel read_table",
}
_PACKAGES = ("constructions", "distributed", "export", "geometry", "lab", "plots")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = [*_HOME_OF, *_PACKAGES]  # noqa: PLE0604  (ruff cannot see that these are strings)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)  # the next use asks nobody
    return value


def __dir__() -> list[str]:
    return __all__
