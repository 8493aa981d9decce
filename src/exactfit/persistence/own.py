"""Activations that a user brought: a file names them, and loading needs them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..construct import Construction
from ..exceptions import ModelFileError, ParameterError
from ..network import Network
from ..network.activations import RELU, THRESHOLD, Activation, as_activation
from .container import refuse_unless
from .description import Lookup
from .kinds import inside

Given = Mapping[str, Any] | Iterable[Any]

STANDARD = {activation.name: activation for activation in (THRESHOLD, RELU)}

# Where a function is compared with the one that was saved; every Activation is finite here.
PROBES = np.array([0.01, 0.5, 1.0, 2.0, 7.5, 100.0])
TOLERANCE = 1e-6  # other machines round exp and its like in another way, but not by so much


def lookup_in(named: Mapping[str, Activation]) -> Lookup:
    """From name to activation, among the standard ones and these."""

    def look_up(name: str) -> Activation:
        known = STANDARD | dict(named)
        if name not in known:
            raise ModelFileError(
                f"it needs the activation {name!r}, of which it holds the name only: "
                f"pass activations={{{name!r}: function}}"
            )
        return known[name]

    return look_up


def read_given(given: Given | None) -> dict[str, Activation]:
    """By name, the activations that a user gives to ``load``."""
    if isinstance(given, Mapping):
        functions = {name: part.function if isinstance(part, Activation) else part for name, part in given.items()}
        parts = [Activation(name, function) for name, function in functions.items()]
    elif given is None or (isinstance(given, Iterable) and not isinstance(given, str)):
        parts = [as_activation(part) for part in given or ()]
    else:
        raise ParameterError(f"activations must be a dict or a list of Activation, got {given!r}")
    return by_name(parts)


def by_name(activations: Iterable[Activation]) -> dict[str, Activation]:
    """The activations that are not standard ones, by name; refuses two of the same name."""
    named = dict(STANDARD)
    for activation in activations:
        if named.setdefault(activation.name, activation) != activation:
            raise ParameterError(f"two activations have the name {activation.name!r}: rename one of them")
    return {name: activation for name, activation in named.items() if name not in STANDARD}


def own_activations(model: Any) -> dict[str, Activation]:
    """The activations in a model that are not standard ones, by name."""
    model = inside(model)
    if isinstance(model, Network | Construction):
        network = model if isinstance(model, Network) else model.network
        used = [layer.activation for layer in network.layers]
    else:
        used = [layer.activation for layer in model.network_.layers] + [as_activation(model.activation)]
    return by_name(activation for activation in used if activation is not None)


def sample(model: Any) -> dict[str, list[float]]:
    """Some values of every activation that is not a standard one, to know it again."""
    return {name: activation(PROBES).tolist() for name, activation in own_activations(model).items()}


def compare(model: Any, saved: Mapping[str, list[float]]) -> None:
    """Refuse activations that are not those that the model was saved with."""
    now = sample(model)
    refuse_unless(now.keys() == saved.keys(), "it does not describe the activations that it names")
    for name, values in now.items():
        for probe, value, before in zip(PROBES.tolist(), values, saved[name], strict=True):
            refuse_unless(
                abs(value - before) <= TOLERANCE * abs(before),
                f"the function given for {name!r} is not the one that it was saved with: "
                f"at t = {probe} it is {value}, and was {before}",
            )
