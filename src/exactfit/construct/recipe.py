"""The options of the paper's constructions: written once, taken by functions, estimator, command line and files."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from .._support.parameters import check_choice, check_flag, check_n_jobs, check_whole, is_whole
from ..exceptions import ParameterError
from ..network.activations import Activation, as_activation

LAWS = ("gaussian", "bisector", "near-bisector", "local")
SELECTIONS = ("random", "greedy")
DETECTORS = ("mask", "weighted", "auto")
CONFLICTS = ("raise", "majority")
FORMATS = ("float64", "float32")
# What "auto" stands for is measured in docs/accuracy.md. Ten networks win little over five, and take twice as long.
AUTO_NETWORKS = 5
FEW_ROWS = 1024  # rows up to which weighted detectors are found in a second or so, and answer better than masks


# The paper's algorithms as they are published; width, biases and activation are what its experiments vary.
PAPER: dict[str, Any] = {
    "min_width": 0,
    "center": False,
    "hyperplanes": "gaussian",
    "detectors": "mask",
    "selection": "random",
    "target": None,
    "n_networks": 1,
    "margin": 0.0,
}


def shell(text: str, kind: Any = str, **settings: Any) -> dict[str, Any]:
    """What the command line says of an option, and the type that it reads it as."""
    return {"help": text, "kind": kind, **settings}


@dataclass(eq=False, repr=False)
class Options:
    """Options of the paper's constructions, not checked yet: :class:`Recipe` and the estimator are such records.

    Parameters
    ----------
    width : "adaptive" or int, default="adaptive"
        Hyperplanes in the first layer: as many as it takes (Algorithm 1 of the paper), or
        so many (Algorithm 2, which may miss points and then warns).
    min_width : int or "auto", default=0
        Adaptive only: draw at least so many. More hyperplanes mean fewer detectors, and answers on new points that
        are right more often. ``"auto"``: 16 for each row of X, at most 512 for each of several networks; for one
        network at most 4096, or 2048 for more than 1,024 rows; never more than ``max_width`` and what memory allows.
    max_width : int or None, default=None
        Adaptive only: give up beyond so many (None: what memory allows).
    max_bias : "radius" or float, default="radius"
        Biases are uniform on [-max_bias, max_bias], the paper's lambda; ``"radius"`` takes the
        largest norm of the data (as drawn upon, that is after centring).
    center : bool, default=True
        Draw hyperplanes around the mean of the data; False is the paper's choice.
    hyperplanes : {"gaussian", "bisector", "near-bisector", "local"}, default="gaussian"
        The paper's law; perpendicular bisectors of random pairs of different labels; of a random point and
        the nearest of 256 random ones of other labels (an eighth of them, if that is fewer); or, for images,
        of random pairs of different labels as seen through a random window.
    image_shape : (height, width) or (height, width, channels), default=None
        For ``hyperplanes="local"``: what a row of X is an image of, pixel by pixel in C order.
    rescue : bool, default=True
        Adaptive only: when random draws stall, finish with coordinate cuts.
    activation : {"threshold", "relu"}, Activation or named function, default="threshold"
    detectors : {"mask", "weighted", "auto"}, default="mask"
        What detectors count with: the mask of their anchor (the paper), or integer weights, which need far
        fewer of them. ``"auto"``: weights for at most 1,024 rows, where they take little time, if the width is
        adaptive and ``selection`` and ``activation`` allow them; else masks.
    selection : {"random", "greedy"}, default="random"
        Anchors in random order (the paper), or always the one that claims most.
    greedy_memory : int, default=2**28
        Bytes for greedy selection's coverage rows.
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
    n_networks : int or "auto", default=1
        So many networks, each from a seed of its own, that answer by the mean of their scores. Each
        interpolates, so the mean does; on new points it is right more often. ``"auto"``: five, if the width is
        adaptive; one of a given width.
    margin : float or str, default=0.0
        Every training point keeps its right answer wherever it moves by at most this Euclidean distance, in the
        units of X; or a text like ``"25%"`` of half the separation. At a given width, points that are right
        without the margin are listed. Threshold activation only.
    n_jobs : int or None, default=None
        Threads, BLAS included. Changes no result.
    """

    width: Literal["adaptive"] | int = field(
        default="adaptive", metadata=shell("Hyperplanes: adaptive, or a number (which may miss points).")
    )
    _: KW_ONLY
    min_width: Literal["auto"] | int = field(
        default=0, metadata=shell("Adaptive: at least so many hyperplanes, or auto (512 a network; more of one alone).")
    )
    max_width: int | None = field(
        default=None, metadata=shell("Adaptive: give up beyond so many hyperplanes.", int | None, min=1)
    )
    max_bias: Literal["radius"] | float = field(
        default="radius", metadata=shell("Largest bias: radius (of the data), or a number.")
    )
    center: bool = field(default=True, metadata=shell("Draw hyperplanes around the mean of the data.", bool))
    hyperplanes: str = field(
        default="gaussian",
        metadata=shell(f"{LAWS[0]} (the paper's), {', '.join(LAWS[1:-1])}, or {LAWS[-1]} (for images)."),
    )
    image_shape: tuple[int, ...] | None = field(
        default=None,
        metadata=shell("For local: what a row is an image of, as 28,28 or 32,32,3.", str | None, metavar="H,W[,C]"),
    )
    rescue: bool = field(
        default=True, metadata=shell("Adaptive: finish with cuts when random hyperplanes stall.", bool)
    )
    activation: str | Activation | Callable[..., Any] = field(default="threshold", metadata=shell("threshold or relu."))
    detectors: str = field(
        default="mask", metadata=shell("What detectors count with: mask (the paper's), weighted (far fewer), or auto.")
    )
    selection: str = field(
        default="random", metadata=shell("Anchors: random (the paper's), or greedy (fewer, slower).")
    )
    greedy_memory: int = field(default=2**28, metadata=shell("Bytes that greedy selection may use.", int))
    target: Any = field(
        default=None,
        metadata=shell("Two classes: the one that gets detectors, or all.", str | None, metavar="LABEL"),
    )
    conflicts: str = field(default="raise", metadata=shell("Equal rows with different labels: raise, or majority."))
    noise: float = field(
        default=0.0,
        metadata=shell("Rows that may be given up, as a fraction: labels may be wrong.", float, min=0, max=0.5),
    )
    exact_in: Literal["float64", "float32"] | None = field(
        default=None,
        metadata=shell("Stay exact in every evaluation in float64 or float32.", str | None, metavar="FORMAT"),
    )
    n_networks: Literal["auto"] | int = field(
        default=1, metadata=shell("Networks that answer by the mean of their scores, or auto (5 if adaptive).")
    )
    margin: float | str = field(
        default=0.0,
        metadata=shell("How far a row may move and keep its answer: a distance, or 25% of half the separation."),
    )
    n_jobs: int | None = field(
        default=None, metadata=shell("Threads; -1 for all cores. Changes no result.", int | None)
    )


def shell_of(name: str) -> Any:
    """What :func:`shell` was told of an option, for a class that gives it another default."""
    return Options.__dataclass_fields__[name].metadata


@dataclass(unsafe_hash=True)
class Recipe(Options):
    """Options of the paper's constructions, checked when they are written down.

    Each is described at :class:`~exactfit.InterpolatingClassifier`.

    Attributes
    ----------
    s : Activation
        The activation, as the paper writes it.
    is_adaptive : bool
        Whether the width is found, not given.
    has_margin : bool
        Whether points are to keep their answers when they move.
    has_open_bits : bool
        Whether a bit may be open: surely neither on nor off.

    Examples
    --------
    >>> from exactfit.construct import Recipe
    >>> Recipe(selection="best")
    Traceback (most recent call last):
    ...
    exactfit.exceptions.ParameterError: selection must be one of 'random', 'greedy', got 'best'
    """

    def __post_init__(self) -> None:
        self.s = as_activation(self.activation)
        _check_kinds(self)
        _check_widths(self)
        _check_max_bias(self.max_bias)
        _check_image_shape(self)
        _check_noise(self.noise)
        self.is_adaptive, self.has_margin = isinstance(self.width, str), _distance(self.margin) > 0
        self.has_open_bits = self.exact_in is not None or self.has_margin
        _check_agreement(self)
        self._is_written = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Options that were checked stay as they are."""
        if getattr(self, "_is_written", False):
            raise FrozenInstanceError(f"cannot change {name!r} of a recipe: use dataclasses.replace")
        super().__setattr__(name, value)


def recipe_of(options: Options) -> Recipe:
    """Options as a recipe: that checks them, unless they are one already."""
    if isinstance(options, Recipe):
        return options
    return Recipe(**{option.name: getattr(options, option.name) for option in fields(Options)})


def count_networks(options: Options) -> int:
    """How many networks the options ask for."""
    if isinstance(options.n_networks, str):
        return AUTO_NETWORKS if options.width == "adaptive" else 1
    return int(options.n_networks)


def settled(recipe: Recipe, n_rows: int) -> Recipe:
    """The recipe for so many rows: how many networks, and what their detectors count with."""
    detectors = recipe.detectors
    if detectors == "auto":
        suits = recipe.is_adaptive and recipe.s.is_threshold and recipe.selection == "random"
        detectors = "weighted" if suits and n_rows <= FEW_ROWS else "mask"
    return replace(recipe, detectors=detectors, n_networks=count_networks(recipe))


def _check_kinds(options: Options) -> None:
    """What can be said of an option without looking at others."""
    check_flag("center", options.center)
    check_flag("rescue", options.rescue)
    check_choice("hyperplanes", options.hyperplanes, LAWS)
    check_choice("selection", options.selection, SELECTIONS)
    check_choice("detectors", options.detectors, DETECTORS)
    check_choice("conflicts", options.conflicts, CONFLICTS)
    check_whole("greedy_memory", options.greedy_memory, at_least=1)
    if options.n_networks != "auto":
        check_whole("n_networks", options.n_networks, at_least=1)
    check_n_jobs(options.n_jobs)


def _check_widths(options: Options) -> None:
    width, smallest, largest = options.width, options.min_width, options.max_width
    if not (isinstance(width, str) and width == "adaptive") and not (is_whole(width) and int(width) >= 1):
        raise ParameterError(f"width must be 'adaptive' or a whole number >= 1, got {width!r}")
    is_auto = isinstance(smallest, str) and smallest == "auto"
    if not is_auto and not (is_whole(smallest) and int(smallest) >= 0):
        raise ParameterError(f"min_width must be 'auto' or a whole number >= 0, got {smallest!r}")
    if largest is not None and check_whole("max_width", largest, at_least=1) < (0 if is_auto else int(smallest)):
        raise ParameterError(f"max_width={largest} is below min_width={smallest}")


def _check_image_shape(options: Options) -> None:
    shape = options.image_shape
    if (shape is None) == (options.hyperplanes == "local"):
        raise ParameterError(
            f"image_shape goes with hyperplanes='local' and with nothing else, "
            f"got {shape!r} and hyperplanes={options.hyperplanes!r}"
        )
    whole = shape is None or (
        isinstance(shape, tuple | list) and len(shape) in (2, 3) and all(is_whole(side) and side >= 1 for side in shape)
    )
    if not whole:
        raise ParameterError(
            f"image_shape must be (height, width) or (height, width, channels), whole numbers >= 1, got {shape!r}"
        )


def _check_max_bias(value: Any) -> None:
    if isinstance(value, str):
        if value != "radius":
            raise ParameterError(f"max_bias must be 'radius' or a number >= 0, got {value!r}")
    elif not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
        raise ParameterError(f"max_bias must be 'radius' or a finite number >= 0, got {value!r}")


def _check_noise(noise: Any) -> None:
    if not isinstance(noise, numbers.Real) or isinstance(noise, bool) or not 0 <= float(noise) < 0.5:
        raise ParameterError(f"noise must be a fraction of the points, at least 0 and below 0.5, got {noise!r}")


def percentage(text: str) -> float | None:
    """The number before a per cent sign; None for any other text."""
    try:
        return float(text[:-1]) if text.endswith("%") else None
    except ValueError:
        return None


def _distance(margin: Any) -> float:
    """The number in a margin, be it a distance or a share; refuses what is neither."""
    if isinstance(margin, str):
        share = percentage(margin)
        if share is None or not 0 <= share <= 100:
            raise ParameterError(f"margin must be a distance >= 0, or '0%' to '100%' as a text, got {margin!r}")
        return share
    if not isinstance(margin, numbers.Real) or isinstance(margin, bool) or not 0 <= float(margin) < np.inf:
        raise ParameterError(f"margin must be a finite distance >= 0, or a text like '25%', got {margin!r}")
    return float(margin)


def _check_agreement(recipe: Recipe) -> None:
    """Options that do not go together."""
    activation, exact_in, weighted = recipe.s, recipe.exact_in, recipe.detectors == "weighted"
    if weighted and recipe.selection == "greedy":
        raise ParameterError('selection="greedy" chooses among masks: use detectors="mask", or selection="random"')
    if weighted and not activation.is_threshold:
        raise ParameterError(
            'detectors="weighted" counts bits: use activation="threshold", '
            f'or detectors="mask" with {activation.name!r}'
        )
    if recipe.has_margin and not activation.is_threshold:
        raise ParameterError(
            f"a margin is proved for bits only: use activation='threshold', or margin=0 with {activation.name!r}"
        )
    if exact_in is None:
        return
    if exact_in not in FORMATS:
        raise ParameterError(f"exact_in must be None, 'float64' or 'float32', got {exact_in!r}")
    if activation.is_own:
        raise ParameterError(
            f"exact_in={exact_in!r} needs an activation whose rounding is known: "
            f"use 'threshold' or 'relu', or exact_in=None with {activation.name!r}"
        )
