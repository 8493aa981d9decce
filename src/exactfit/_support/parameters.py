"""Values of options: each check is written once, and its message says what would be right; what docstrings share."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
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
    """A decorator that puts blocks of text into a docstring, in place of their names in braces.

    Examples
    --------
    >>> from exactfit._support.parameters import fill_docstring
    >>> @fill_docstring(names="names : list of str")
    ... def greet(names):
    ...     "Say hello to {names}."
    >>> greet.__doc__
    'Say hello to names : list of str.'
    """

    def fill(thing: Documented) -> Documented:
        for name, block in blocks.items():
            thing.__doc__ = (thing.__doc__ or "").replace(f"{{{name}}}", block)
        return thing

    return fill


def shown(value: object) -> str:
    """A value as a message shows it: what is short as Python writes it, of anything else its type and size.

    NumPy's numbers are numbers here, not ``np.float64(0.5)``.

    Examples
    --------
    >>> import numpy as np
    >>> from exactfit._support.parameters import shown
    >>> shown("adaptive"), shown(np.zeros((3, 2))), shown(list(range(1000))), shown(np.float64(0.5))
    ("'adaptive'", 'ndarray of shape (3, 2)', 'list of length 1000', '0.5')
    """
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


def refuse_weights(options: Mapping[str, object]) -> None:
    """Refuse weights of rows or classes, where every row is fitted."""
    for name in ("class_weight", "sample_weight"):
        if name in options:
            raise ParameterError(
                f"{name} has no meaning here: every row is fitted, whatever its weight. Leave rows out, or, for other "
                "costs of errors, move the threshold on decision_function"
            )


class _OfInit:
    """The signature of a class that is shown: that of its ``__init__``, since its ``__new__`` takes anything."""

    def __get__(self, _: object, owner: type[Any]) -> inspect.Signature:
        found = inspect.signature(owner.__init__)
        return found.replace(parameters=list(found.parameters.values())[1:])


class Unweighted:
    """A class that says why it takes no ``class_weight``."""

    __signature__ = _OfInit()

    def __new__(cls, *_: Any, **options: Any) -> Any:
        """Refuse weights, which are no options, with the reason."""
        refuse_weights(options)
        return super().__new__(cls)


def is_integer(value: object) -> bool:
    """Whether this is an integer; True and False are not."""
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
    """Refuse anything but some integers that are large enough.

    Examples
    --------
    >>> from exactfit._support.parameters import check_integers
    >>> check_integers("widths", 5, at_least=1)
    Traceback (most recent call last):
    ...
    exactfit.exceptions.ParameterError: widths must be a sequence of integers >= 1, got int
    """
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise ParameterError(f"{name} must be a sequence of integers >= {at_least}, got {type(values).__name__}")
    return [check_integer(name, value, at_least=at_least) for value in values]


def check_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {shown(value)}")


def check_number(name: str, value: Any, *, above: float = -np.inf, at_most: float = np.inf) -> float:
    """A finite number in range, or a clear error."""
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
    """The root of all random streams of one call; one draw from what can be drawn from.

    Examples
    --------
    >>> from exactfit._support.parameters import seed_sequence
    >>> seed_sequence(7).entropy
    7
    """
    check_random_state(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(LEGACY_SEEDS)))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(SEEDS)))
    return np.random.SeedSequence(None if random_state is None else int(random_state))
