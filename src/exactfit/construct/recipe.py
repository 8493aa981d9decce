"""Recipes: options of the paper's constructions that were checked, each and together."""

from __future__ import annotations

import numbers
from copy import copy
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any

import numpy as np

from .._support.parameters import check_choice, check_flag, check_n_jobs, check_whole, is_whole
from ..exceptions import ParameterError
from ..network.activations import as_activation
from ..options import CONFLICTS, DETECTORS, FORMATS, LAWS, SELECTIONS, Options

# What "auto" stands for is measured in docs/accuracy.md. Ten networks win little over five, and take twice as long.
AUTO_NETWORKS = 5
FEW_ROWS = 1024  # rows up to which weighted detectors are found in a second or so, and answer better than masks


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
    network_count : int
        How many networks are built.

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
        self.network_count = count_networks(self)
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
    made = copy(recipe)  # with what was checked already
    vars(made).update(detectors=detectors, n_networks=recipe.network_count)
    return made


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
