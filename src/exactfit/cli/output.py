"""How commands speak and end: tables for people, JSON for programs, messages unless quiet, and exit codes."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from statistics import median
from typing import TYPE_CHECKING, Any

import typer

from .._support.console import counted, echo, escape_controls, log, number_columns, text_table

if TYPE_CHECKING:
    from rich.console import Console

    from ..certificate import Certificate
    from ..demo import Exhibit
    from ..tables import TableModel

LONGEST_WORD = 16  # letters of a word that no line break cuts; longer ones (addresses, digests) may be
FRAME = 3  # letters that the lines around a column take
COMPILING = 650  # seconds of compiling for fit and certify at most, in seconds of a million turns of a Python loop
LOOP, TIMED = 100_000, 5  # turns that are timed, some milliseconds, and how often: the median is believed
TOLD_EVERY = 5.0  # seconds between two messages about compiling
SHOWN = 10  # labels, or categories of a column, that a line lists


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


def notify(text: str, style: str | None = "dim") -> None:
    """A message, unless there are to be none."""
    if not state().quiet:
        log(text, style)


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """Say, if something has to be compiled meanwhile, how long all of it would take here, and how far it got."""
    from .._kernels.compile import watched

    began = told = time.perf_counter()

    def tell_parts(done: int) -> None:
        nonlocal began, told
        if not done:
            began = told = time.perf_counter()
            most = 5 * math.ceil(COMPILING * median(_seconds_of_loop() for _ in range(TIMED)) / 5)
            notify(f"compiling, once on this machine: at most about {most} s (exactfit warm-up does it beforehand)")
        elif time.perf_counter() - told >= TOLD_EVERY:
            told = time.perf_counter()
            notify(f"compiled {counted(done, 'part')} in {told - began:.0f} s")

    with watched(tell_parts):
        yield


def _seconds_of_loop() -> float:
    """How long a million turns of a loop take, now, with all else that the machine does."""
    began, total = time.perf_counter(), 0
    for number in range(LOOP):
        total += number & 7
    return (time.perf_counter() - began) * 1_000_000 / LOOP


def show_progress() -> bool:
    """Whether somebody watches: at a terminal, and not asked to be quiet."""
    return sys.stderr.isatty() and not state().quiet


def json_text(plain: Any) -> str:
    """One JSON document, as any program can read it."""
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def print_json(plain: Any) -> None:
    """The same, printed."""
    typer.echo(json_text(plain))


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Names and values, aligned, below a headline."""
    width = max(13, *map(len, pairs))  # as wide as a certificate's lines, which follow
    for name, value in pairs.items():
        echo(f"  {name:<{width}}  {value}")


def print_exhibit(shown: Exhibit, more: Mapping[str, Any] | None = None) -> None:
    """Headline, sizes and certificate of a network."""
    echo(shown.headline(), "bold")
    print_pairs({**shown.sizes(), **(more or {})})
    print_certificate(shown.certificate)


def print_certificate(certificate: Certificate) -> None:
    """A certificate, green or red where there are colours."""
    first, *rest = str(certificate).splitlines()
    echo(first, "green" if certificate.holds else "bold red")
    echo("\n".join(rest))


def print_model(name: str, model: TableModel) -> None:
    """What a model is made of."""
    from ..network.detector_network import DetectorNetwork

    classifier = model.classifier_
    network = classifier.network_
    labels = ", ".join(map(str, model.classes_.tolist()[:SHOWN]))
    more = f" and {len(model.classes_) - SHOWN} more" if len(model.classes_) > SHOWN else ""
    echo(
        f"{name}: {len(model.columns)} columns, {len(model.features_)} features, {len(model.classes_)} classes", "bold"
    )
    print_pairs(
        {
            "labels": f"{labels}{more} (column {model.encoding_.label!r})",
            "scale": model.scale,
            "hyperplanes": network.widths[0],
            "detectors": f"{network.widths[1]}{', weighted' if DetectorNetwork.of(network).are_weighted else ''}",
            "neurons": network.n_neurons,
            "parameters": network.n_parameters,
            "outcome": classifier.outcome_.value,
        }
    )
    print_certificate(model.certificate_)
    print_rows(["column", "kind", "mean", "scale", "categories"], _column_rows(model))


def _column_rows(model: TableModel) -> list[list[Any]]:
    rows, start = [], 0
    for field in model.columns:
        if field.categories is None:
            numbers = [f"{model.mean_[start]:.6g}", f"{model.scale_[start]:.6g}"]
            rows.append([field.name, field.kind, *numbers, ""])
        else:
            shown = ", ".join(field.categories[:SHOWN]) + (" ..." if len(field.categories) > SHOWN else "")
            rows.append([field.name, field.kind, "", "", f"{len(field.categories)}: {shown}"])
        start += len(field.features)
    return rows


def model_info(fitted: TableModel) -> dict[str, Any]:
    """All of a model but its network's numbers, as JSON can hold it."""
    from ..network.activations import as_activation

    classifier = fitted.classifier_
    network = classifier.network_
    return {
        "columns": fitted.encoding_.to_dict()["columns"],
        "label": fitted.encoding_.label,
        "scale": fitted.scale,
        "classes": fitted.classes_.tolist(),
        "widths": list(network.widths),
        "neurons": network.n_neurons,
        "parameters": network.n_parameters,
        "outcome": classifier.outcome_.value,
        "options": {name: value for name, value in classifier.get_params(deep=False).items() if name != "activation"},
        "activation": as_activation(classifier.activation).name,
        "certificate": fitted.certificate_.to_dict(),
    }


def print_rows(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table, never cut: drawn on a terminal, as wide as it; plain columns elsewhere. Numbers stand at the right."""
    from rich.console import Console

    texts = [[escape_controls(str(cell)) for cell in row] for row in rows]
    console = Console()
    if console.is_terminal:
        _draw(console, list(map(escape_controls, header)), texts)
    else:
        typer.echo("\n".join(text_table([list(header), *texts])))


def _draw(console: Console, header: Sequence[str], texts: list[list[str]]) -> None:
    """Cells are wrapped between words; where columns are too narrow even for that, a row is a list."""
    from rich.table import Table
    from rich.text import Text

    least = [_longest_word(column) for column in zip(header, *texts, strict=True)]
    if sum(least) + FRAME * len(least) + 1 > console.width:
        _draw_lists(console, header, texts)
        return
    drawn = Table()
    for name, at_right, width in zip(header, number_columns(texts), least, strict=True):
        drawn.add_column(Text(name), justify="right" if at_right else "left", overflow="fold", min_width=width)
    for row in texts:
        drawn.add_row(*map(Text, row))
    console.print(drawn)


def _longest_word(cells: Sequence[str]) -> int:
    """Letters that a column needs so that no word of it is cut."""
    return min(LONGEST_WORD, max((len(word) for cell in cells for word in cell.split()), default=1))


def _draw_lists(console: Console, header: Sequence[str], texts: list[list[str]]) -> None:
    """Every cell on a line of its own, after the name of its column."""
    from rich.padding import Padding
    from rich.text import Text

    for row in texts:
        for name, cell in zip(header, row, strict=True):
            if not cell:
                continue
            console.print(Padding(Text(f"{name}: {cell}", overflow="fold"), (0, 0, 0, 0 if name == header[0] else 2)))
