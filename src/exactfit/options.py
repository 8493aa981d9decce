"""The options of the paper's constructions: written once, taken by functions, estimator, command line and files.

Nothing but the standard library is loaded here, so that the command line can tell its options at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .network.activations import Activation

LAWS = ("gaussian", "bisector", "sparse")
ACTIVATIONS = ("threshold", "relu")
DETECTORS = ("mask", "weighted", "auto")
CONFLICTS = ("raise", "majority")
FORMATS = ("float64", "float32")

# The paper's algorithms as they are published; width, biases and activation are what its experiments vary.
PAPER: dict[str, Any] = {
    "min_width": 0,
    "center": False,
    "hyperplanes": "gaussian",
    "detectors": "mask",
    "target": None,
    "margin": 0.0,
}
# Where the estimator differs from the record below. Measured on data sets that are not those of docs/accuracy.md,
# which says what they reach.
ACCURATE: dict[str, Any] = {
    "min_width": "auto",
    "hyperplanes": "sparse",
    "detectors": "auto",
    "target": "all",
}


@dataclass(frozen=True)
class Shell:
    """How the command line takes an option.

    Parameters
    ----------
    help : str
    kind : type
        What it is read as.
    words : tuple of str
        What a shell offers.
    number : type, optional
        What a text stands for that is none of the words.
    flags : tuple of str
        Its names there, if not its own.
    settings : dict
        What else is said of it: smallest and largest value, what stands for the value.
    """

    help: str
    kind: Any = str
    words: tuple[str, ...] = ()
    number: type[int] | type[float] | None = None
    flags: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def _option(default: Any, text: str, kind: Any = str, **more: Any) -> Any:
    """A field with what the command line says of it."""
    return field(default=default, metadata={"shell": Shell(text, kind, **more)})


@dataclass(eq=False, repr=False)
class Options:
    """Options of the paper's constructions, unchecked: :class:`~exactfit.Recipe` and the estimator are such records.

    Parameters
    ----------
    width : "adaptive" or int, default="adaptive"
        Hyperplanes in the first layer: as many as it takes (Algorithm 1 of the paper), or
        so many (Algorithm 2, which may miss points and then warns).
    min_width : int or "auto", default=0
        Adaptive only: draw at least so many. More hyperplanes mean fewer detectors, and answers on new points that
        are right more often. ``"auto"``: 16 for each row of X, at most 4096; never more than ``max_width`` and what
        memory allows.
    max_width : int or None, default=None
        Adaptive only: give up beyond so many (None: what memory allows).
    max_bias : "radius" or float, default="radius"
        Biases are uniform on [-max_bias, max_bias], the paper's lambda; ``"radius"`` takes the
        largest norm of the data (as drawn upon, that is after centring).
    center : bool, default=True
        Draw hyperplanes around the mean of the data; False is the paper's choice.
    hyperplanes : {"gaussian", "bisector", "sparse"}, default="gaussian"
        The paper's law; perpendicular bisectors of random pairs of different labels; or hyperplanes that look at
        a few features each, between two rows of different labels.
    max_features : int or (low, high), default=4
        For ``hyperplanes="sparse"``: the number of features of a hyperplane is uniform from 1 to that, or from low
        to high.
    image_shape : (height, width) or (height, width, channels), default=None
        For ``hyperplanes="sparse"``: what a row of X is an image of, pixel by pixel in C order. The features of a
        hyperplane then lie in a random square window.
    rescue : bool, default=True
        Adaptive only: when random draws stall, finish with coordinate cuts.
    activation : {"threshold", "relu"}, Activation or named function, default="threshold"
    detectors : {"mask", "weighted", "auto"}, default="mask"
        What detectors count with: the mask of their anchor (the paper), or integer weights, which need far
        fewer of them. ``"auto"``: weights where the activation is a threshold, else masks.
    target : label, "all" or None, default=None
        Two classes only: the class that gets detectors. None: the rarer one, the last of
        the sorted labels on a tie. ``"all"``: both.
    conflicts : {"raise", "majority"}, default="raise"
        Equal points with different labels: an error, or the majority's label (with a warning).
    noise : float, default=0.0
        Give up at most this fraction of the training points, below 0.5: those whose labels look wrong
        (see ``exactfit.construct.noise``). The network is the one of the others.
    exact_in : {None, "float64", "float32"}, default=None
        None: every answer is the one of exact arithmetic on the stored numbers. A format: every
        training point is also right in every IEEE evaluation in that format, in any order of sums,
        fused or not, so that exports stay exact. Points are rounded to the format first, here and
        in ``predict``; points that become equal by it must have equal labels.
    margin : float or str, default=0.0
        Every training point keeps its right answer wherever it moves by at most this Euclidean distance, in the
        units of X; or a text like ``"25%"`` of half the separation. At a given width, points that are right
        without the margin are listed. Threshold activation only.
    n_jobs : int or None, default=None
        Threads, BLAS included. Changes no result.
    """

    width: Literal["adaptive"] | int = _option(
        "adaptive", "Hyperplanes: adaptive, or a number (which may miss points).", words=("adaptive",), number=int
    )
    _: KW_ONLY
    min_width: Literal["auto"] | int = _option(
        0, "Adaptive: at least so many hyperplanes, or auto (16 to a row, at most 4096).", words=("auto",), number=int
    )
    max_width: int | None = _option(
        None, "Adaptive: give up beyond so many hyperplanes.", int | None, settings={"min": 1}
    )
    max_bias: Literal["radius"] | float = _option(
        "radius", "Largest bias: radius (of the data), or a number.", words=("radius",), number=float
    )
    center: bool = _option(True, "Draw hyperplanes around the mean of the data.", bool)
    hyperplanes: str = _option(
        "gaussian", "gaussian (the paper's), bisector, or sparse (few features each).", words=LAWS
    )
    max_features: int | tuple[int, int] = _option(
        4, "For sparse: features of a hyperplane, from 1 to so many, or from low to high.",
        settings={"metavar": "N|LOW,HIGH"},
    )  # fmt: skip
    image_shape: tuple[int, ...] | None = _option(
        None, "For images: what a row is an image of, as 28,28 or 32,32,3.", str | None, settings={"metavar": "H,W[,C]"}
    )
    rescue: bool = _option(True, "Adaptive: finish with cuts when random hyperplanes stall.", bool)
    activation: str | Activation | Callable[..., Any] = _option("threshold", "threshold or relu.", words=ACTIVATIONS)
    detectors: str = _option(
        "mask", "What detectors count with: mask (the paper's), weighted (far fewer), or auto.", words=DETECTORS
    )
    target: Any = _option(
        None, "Two classes: the one that gets detectors, or all.", str | None,
        flags=("--target-class",), settings={"metavar": "LABEL"},
    )  # fmt: skip
    conflicts: str = _option("raise", "Equal rows with different labels: raise, or majority.", words=CONFLICTS)
    noise: float = _option(
        0.0, "Rows that may be given up, as a fraction below 0.5: labels may be wrong.", float, settings={"min": 0}
    )
    exact_in: Literal["float64", "float32"] | None = _option(
        None, "Stay exact in every evaluation in float64 or float32.", str | None,
        words=FORMATS, settings={"metavar": "FORMAT"},
    )  # fmt: skip
    margin: float | str = _option(
        0.0, "How far a row may move and keep its answer: a distance, or 25% of half the separation."
    )
    n_jobs: int | None = _option(
        None, "Threads; -1 for all cores. Changes no result.", int | None, flags=("--jobs", "-j")
    )


def accurate(name: str) -> Any:
    """An option of the record, with the estimator's default."""
    return field(default=ACCURATE[name], kw_only=True, metadata=Options.__dataclass_fields__[name].metadata)


def options_text(defaults: Mapping[str, Any]) -> str:
    """What the record's docstring says of the options, with other defaults.

    Examples
    --------
    >>> from exactfit.options import options_text
    >>> options_text({"width": 7}).splitlines()[0]
    'width : "adaptive" or int, default=7'
    """
    # Under ``python -OO`` there are no docstrings, and nothing to fill in.
    text = (Options.__doc__ or "").partition("----------\n")[2].strip("\n ")
    for name, default in defaults.items():
        text = re.sub(rf"(?m)^( *{name} : .*default=).*$", rf"\g<1>{json.dumps(default)}", text)
    return text
