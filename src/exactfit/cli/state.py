"""What all commands share while one runs."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum

from .._support import console as _console


class ExitCode(IntEnum):
    """How the program ends."""

    FINE = 0
    FAILS = 1
    USAGE = 2
    DATA = 3
    BUG = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS = {
    ExitCode.FINE: "fine",
    ExitCode.FAILS: "the claim does not hold: a certificate fails, or no interpolating network came out",
    ExitCode.USAGE: "usage: an option, a missing package, a file that cannot be read or written",
    ExitCode.DATA: "bad data: a table or a model file that cannot be used",
    ExitCode.BUG: "a mistake in exactfit itself",
    ExitCode.INTERRUPTED: "interrupted",
    ExitCode.PIPE_CLOSED: "whoever read the output stopped reading",
}


@dataclass
class State:
    """Options that any command takes."""

    debug: bool = False
    quiet: bool = False


_state: ContextVar[State] = ContextVar("state")


def begin() -> State:
    """A new state, for a new run."""
    _state.set(State())
    return _state.get()


def state() -> State:
    """The state of this run."""
    return _state.get()


def say(text: str, style: str | None = "dim") -> None:
    """A message, unless there are to be none."""
    if not state().quiet:
        _console.say(text, style)
