"""Output of commands: tables for people, JSON for programs, messages unless quiet, and exit codes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import typer

from .._support.console import counted, echo, log, text_table

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..demo import Exhibit
    from ..tables import TableModel

REPORT_SECONDS = 5.0  # seconds between two messages about compiling
SHOWN = 10  # labels, or categories of a column, that a line lists


class ExitCode(IntEnum):
    """Exit codes of the program, and what they mean."""

    meaning: str

    FINE = 0, "fine"
    FAILS = 1, "the claim does not hold: a certificate fails, or no interpolating network came out"
    USAGE = 2, "usage: an option, a missing package, a file that cannot be read or written"
    DATA = 3, "bad data: a table or a model file that cannot be used"
    BUG = 70, "a mistake in exactfit itself"
    INTERRUPTED = 130, "interrupted"
    PIPE_CLOSED = 141, "whoever read the output stopped reading"

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        """Make a code that knows what it means."""
        made = int.__new__(cls, code)
        made._value_, made.meaning = code, meaning
        return made


@dataclass
class State:
    """Options that any command takes."""

    debug: bool = False
    quiet: bool = False


state = State()  # of this run


def notify(text: str, style: str | None = "dim") -> None:
    """Show a message, unless --quiet says that there are to be none."""
    if not state.quiet:
        log(text, style)


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """Say meanwhile, if kernels have to be compiled, that this happens once, and how far it is."""
    from .._kernels.compile import watched

    began = last = time.perf_counter()

    def report(done: int) -> None:
        nonlocal began, last
        if not done:
            began = last = time.perf_counter()
            notify("compiling, once on this machine: about 20 s, more if it is busy (or beforehand: exactfit warm-up)")
        elif time.perf_counter() - last >= REPORT_SECONDS:
            last = time.perf_counter()
            notify(f"compiled {counted(done, 'part')} in {last - began:.0f} s")

    with watched(report):
        yield


def show_progress() -> bool:
    """Return whether somebody watches: at a terminal, and not asked to be quiet."""
    return sys.stderr.isatty() and not state.quiet


def json_text(plain: Any) -> str:
    """Return one JSON document, as any program can read it."""
    # NaN and infinity are Python's own words, which other readers refuse.
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def print_json(plain: Any) -> None:
    """Print one JSON document."""
    typer.echo(json_text(plain))


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Print names and values, aligned, below a headline."""
    width = max(13, *map(len, pairs))  # as wide as a certificate's lines, which follow
    for name, value in pairs.items():
        echo(f"  {name:<{width}}  {value}")


def print_exhibit(shown: Exhibit, more: Mapping[str, Any] | None = None) -> None:
    """Print headline, sizes and certificate of a network."""
    echo(shown.headline(), "bold")
    print_pairs({**shown.sizes(), **(more or {})})
    print_certificate(shown.certificate)


def print_certificate(certificate: Certificate) -> None:
    """Print a certificate, green or red where there are colours."""
    first, *rest = str(certificate).splitlines()
    echo(first, "green" if certificate.holds else "bold red")
    echo("\n".join(rest))


def print_model(name: str, model: TableModel) -> None:
    """Print columns, sizes and certificate of a model."""
    from ..network.detector_network import DetectorNetwork

    classifier = model.classifier_
    network = classifier.network_
    labels = _shortened(map(str, model.classes_.tolist()))
    echo(
        f"{name}: {len(model.columns)} columns, {len(model.features_)} features, {len(model.classes_)} classes", "bold"
    )
    print_pairs(
        {
            "labels": f"{labels} (column {model.encoding_.label!r})",
            "scale": model.scale,
            "hyperplanes": network.widths[0],
            "detectors": f"{network.widths[1]}{', weighted' if DetectorNetwork.of(network).are_weighted else ''}",
            "neurons": network.n_neurons,
            "parameters": network.n_parameters,
            "outcome": classifier.outcome_.value,
        }
    )
    print_certificate(model.certificate_)
    rows, start = [], 0
    for field in model.columns:
        numbers = [f"{model.mean_[start]:.6g}", f"{model.scale_[start]:.6g}", ""]
        start += len(field.features)
        if field.categories is not None:
            numbers = ["", "", f"{len(field.categories)}: {_shortened(field.categories)}"]
        rows.append([field.name, field.kind, *numbers])
    print_rows(["column", "kind", "mean", "scale", "categories"], rows)


def _shortened(names: Iterable[str]) -> str:
    first, rest = (names := list(names))[:SHOWN], names[SHOWN:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")


def print_rows(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table in aligned columns, never cut; a terminal that is too narrow wraps its lines."""
    echo("\n".join(text_table([list(header), *(list(map(str, row)) for row in rows)])))
