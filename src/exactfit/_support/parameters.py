"""Checks of options, each written once, whose message says what would be right; and what docstrings share."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import numpy as np

from ..exceptions import ParameterError

Documented = TypeVar("Documented", bound=Callable[..., Any])
Seed = int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None

# One draw decides the seed of a whole construction: as many values as the generator's kind offers.
LEGACY_SEEDS = 2**31 - 1  # of RandomState.randint's int32
SEEDS = 2**63  # of Generator.integers' int64
LONGEST_SHOWN = 80  # characters, or things, of a value that a message repeats


def fill_docstring(**blocks: str) -> Callable[[Documented], Documented]:
    """Return a decorator that puts blocks of text into a docstring, in place of their names in braces."""

    def fill(thing: Documented) -> Documented:
        for name, block in blocks.items():
            thing.__doc__ = (thing.__doc__ or "").replace(f"{{{name}}}", block)
        return thing

    return fill


def shown(value: object) -> str:
    """Return a value as a message shows it: what is short as Python writes it, else its type and size."""
    kind, shape = type(value).__name__, getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{kind} of shape {shape}"
    size = len(value) if isinstance(value, Collection) and shape is None else None
    with np.printoptions(legacy="1.25"):  # as Python writes numbers, also in lists
        if (size or 0) <= LONGEST_SHOWN and len(text := repr(value)) <= LONGEST_SHOWN:
            return text
    return kind if size is None else f"{kind} of length {size}"


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse anything but one of the allowed strings."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}")


def is_integer(value: object) -> bool:
    """Return whether this is an integer; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_integer(name: str, value: Any, *, at_least: int) -> int:
    """Refuse anything but an integer that is large enough."""
    if not is_integer(value) or int(value) < at_least:
        raise ParameterError(f"{name} must be an integer >= {at_least}, got {shown(value)}")
    return int(value)


def check_integer_or(word: str, name: str, value: Any, *, at_least: int) -> None:
    """Refuse anything but a word and integers that are large enough."""
    if not (isinstance(value, str) and value == word) and not (is_integer(value) and int(value) >= at_least):
        raise ParameterError(f"{name} must be {word!r} or an integer >= {at_least}, got {shown(value)}")


def check_integers(name: str, values: Any, *, at_least: int) -> list[int]:
    """Refuse anything but some integers that are large enough."""
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise ParameterError(f"{name} must be a sequence of integers >= {at_least}, got {type(values).__name__}")
    return [check_integer(name, value, at_least=at_least) for value in values]


def check_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {shown(value)}")


def check_number(name: str, value: Any, *, above: float = -np.inf, at_most: float = np.inf) -> float:
    """Return a finite number in range, or refuse it."""
    try:
        number = float("nan") if np.ndim(value) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not np.isfinite(number) or not above < number <= at_most:
        upper = f" and <= {at_most}" if np.isfinite(at_most) else ""
        lower = f" > {above}" if np.isfinite(above) else ""
        raise ParameterError(f"{name} must be a finite number{lower}{upper}, got {shown(value)}")
    return number


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse anything but None and an integer other than 0."""
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise ParameterError(f"n_jobs must be None or an integer other than 0, got {shown(n_jobs)}")


def check_random_state(random_state: Any) -> None:
    """Refuse what no seed can be made of."""
    made = np.random.RandomState | np.random.Generator | np.random.SeedSequence
    if random_state is None or isinstance(random_state, made):
        return
    if not is_integer(random_state) or random_state < 0:
        raise ParameterError(
            f"random_state must be None, an integer >= 0, a RandomState or a Generator, got {shown(random_state)}"
        )


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the root of all random streams of one call: one draw from what can be drawn from."""
    check_random_state(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(LEGACY_SEEDS)))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(SEEDS)))
    return np.random.SeedSequence(None if random_state is None else int(random_state))
