"""Command: ``demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._support.console import tell
from .options import command
from .state import ExitCode, say

DEMO = Path("exactfit-demo")


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    command(app, "exactfit demo -o pictures --seed 3")(demo)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the picture.")] = DEMO,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the hyperplanes.")] = 0,
) -> None:
    """Fit Two Moons and handwritten digits; print sizes and certificates, draw a picture."""
    from .. import demo as show
    from .output import print_exhibit

    shown = []
    for name in show.DATA:
        say(f"{name}: building and certifying (the first run compiles, which takes a while) ...")
        shown.append(show.exhibit(name, seed))
        print_exhibit(shown[-1])
        tell("")
    tell(f"picture: {show.draw(shown[0], output)}")
    if not all(each.certificate.holds for each in shown):
        raise typer.Exit(ExitCode.FAILS)
