"""How commands speak and end: tables for people, JSON for programs, messages unless quiet, and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import typer

from .._support.console import harmless, number_columns, say, tell

if TYPE_CHECKING:
    from rich.console import Console

    from ..certificate import Certificate
    from ..demo import Exhibit
    from ..tables import TableModel

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
        say(text, style)


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
        tell(f"  {name:<{width}}  {value}")


def print_exhibit(shown: Exhibit, more: Mapping[str, Any] | None = None) -> None:
    """Headline, sizes and certificate of a network."""
    tell(shown.headline(), "bold")
    print_pairs({**shown.sizes(), **(more or {})})
    print_certificate(shown.certificate)


def print_certificate(certificate: Certificate) -> None:
    """A certificate, green or red where there are colours."""
    first, *rest = str(certificate).splitlines()
    tell(first, "green" if certificate.holds else "bold red")
    tell("\n".join(rest))


def print_model(name: str, model: TableModel) -> None:
    """What a model is made of."""
    classifier = model.classifier_
    network = classifier.network_
    labels = ", ".join(map(str, model.classes_.tolist()[:SHOWN]))
    more = f" and {len(model.classes_) - SHOWN} more" if len(model.classes_) > SHOWN else ""
    tell(
        f"{name}: {len(model.columns)} columns, {len(model.features_)} features, {len(model.classes_)} classes", "bold"
    )
    print_pairs(
        {
            "labels": f"{labels}{more} (column {model.encoding_.label!r})",
            "scale": model.scale,
            **({"networks": len(classifier.networks_)} if len(classifier.networks_) > 1 else {}),
            "hyperplanes": network.widths[0],
            "detectors": f"{network.widths[1]}{', weighted' if classifier.detectors == 'weighted' else ''}",
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


def print_rows(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table: drawn on a terminal, as wide as it; plain columns, never cut, elsewhere. Numbers stand at the right."""
    from rich.console import Console

    texts = [[harmless(str(cell)) for cell in row] for row in rows]
    right = number_columns(texts)
    console = Console()
    if console.is_terminal:
        _draw(console, header, texts, right)
    else:
        _print_plain([list(header), *texts], right)


def _draw(console: Console, header: Sequence[str], texts: list[list[str]], right: list[bool]) -> None:
    from rich.table import Table
    from rich.text import Text

    drawn = Table()
    for name, at_right in zip(header, right, strict=True):
        drawn.add_column(Text(name), justify="right" if at_right else "left")
    for row in texts:
        drawn.add_row(*map(Text, row))
    console.print(drawn)


def _print_plain(rows: list[list[str]], right: list[bool]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(row, widths, right, strict=True)
        ]
        typer.echo("  ".join(cells).rstrip())
