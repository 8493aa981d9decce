"""Commands to measure, compare and try: ``describe``, ``compare``, ``evaluate``, ``demo`` and others."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from .._support.console import echo, escape_controls
from .arguments import (
    Conflicts,
    Estimator,
    Jobs,
    Json,
    LabelledSource,
    MaxBias,
    as_label,
    estimator_flags,
    option,
)
from .output import (
    ExitCode,
    json_text,
    notify,
    print_exhibit,
    print_json,
    show_progress,
    telling_of_compiling,
)

DEMO = Path("exactfit-demo")


def describe_command(
    source: LabelledSource,
    target_class: Annotated[str | None, option("The class that gets detectors.", metavar="LABEL")] = None,
    max_bias: MaxBias = "radius",
    center: Annotated[bool, option("Measure from the mean of the data.")] = True,
    time_limit: Annotated[float | None, option("Seconds; what is not done in time is left out.", min=0)] = None,
    seed: Annotated[int, option("Seed of all that is random.", min=0)] = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Measure what the size of a network for this table depends on, and forecast that size."""
    from ..geometry.report import describe as described
    from ..tables.table import speaking_of

    table, _, X, labels = source.encoded()
    with speaking_of(table):
        description = described(
            X, labels, max_bias=max_bias,  # type: ignore[arg-type]
            target=as_label(target_class, labels), center=center,
            time_limit=time_limit, random_state=seed, n_jobs=jobs, verbose=show_progress(),
        )  # fmt: skip
    typer.echo(json_text(description.to_dict()) if json else escape_controls(str(description)))


def compare_command(
    source: LabelledSource,
    construction: Annotated[
        list[str] | None, option("One of the rows, or several by repeating; all by default.", metavar="NAME")
    ] = None,
    time_limit: Annotated[float, option("Seconds for each.", min=0)] = 60.0,
    conflicts: Conflicts = "raise",
    seed: Annotated[int, option("Seed of the split and of every construction.", min=0)] = 0,
    jobs: Annotated[int | None, option("How many to run at a time.", "--jobs", "-j")] = None,
    json: Json = False,
) -> None:
    """Build networks for this table by every published construction, and put them side by side."""
    from ..lab import compare as compared
    from ..tables.table import speaking_of

    table, _, X, labels = source.encoded()
    with speaking_of(table):
        comparison = compared(
            X, labels, construction or "all", time_limit,
            conflicts=conflicts, random_state=seed, n_jobs=jobs, verbose=show_progress(),
        )  # fmt: skip
    typer.echo(json_text(comparison.to_dict()) if json else escape_controls(str(comparison)))
    if comparison.missing:
        raise typer.Exit(ExitCode.INTERRUPTED)  # with the rows so far


def evaluate_command(
    source: LabelledSource,
    estimator: Estimator,
    folds: Annotated[int, option("Stratified folds.", min=2)] = 5,
    repeats: Annotated[int, option("How often folds are drawn.", min=1)] = 2,
    time_limit: Annotated[float | None, option("Seconds for all; what is done by then counts.", min=0)] = None,
    json: Json = False,
) -> None:
    """Measure how often a model is right on new rows, beside its settings and the usual classifiers.

    Every fold is encoded and scaled by its training part. Ctrl-C prints what is done by then.
    """
    from ..lab.evaluation import evaluate
    from ..tables import TableModel
    from ..tables.table import speaking_of

    table, labels = source.labelled()
    model = TableModel(estimator.classifier(labels).set_params(verbose=0), scale=source.scale)
    seed = 0 if estimator.seed is None else estimator.seed
    with speaking_of(table):
        found = evaluate(
            model, table, n_folds=folds, n_repeats=repeats, time_limit=time_limit, random_state=seed,
            verbose=show_progress(),
        )  # fmt: skip
    best = found.recommended
    command = None
    if best is not None:
        options = estimator_flags(best.options or {})
        command = shlex.join(["exactfit", "fit", *source.flags(), *options, "-o", "model.exactfit"])
    if json:
        print_json({**found.to_dict(), "command": command})
    else:
        typer.echo("\n".join([found.table(), "", found.reason, *([command] if command else [])]))
    if found.end == "interrupted":
        raise typer.Exit(ExitCode.INTERRUPTED)  # with the folds so far


def demo_command(
    output: Annotated[Path, option("Folder for the picture.", "--output", "-o", file_okay=False)] = DEMO,
    seed: Annotated[int, option("Seed of the hyperplanes.", min=0)] = 0,
) -> None:
    """Fit Two Moons and handwritten digits; print sizes and certificates, draw a picture."""
    from .. import demo as show

    shown = []
    with telling_of_compiling():
        for name in show.DATA:
            notify(f"{name}: building and certifying ...")
            shown.append(show.exhibit(name, seed))
            print_exhibit(shown[-1])
            echo("")
    echo(f"picture: {show.draw(shown[0], output)}")
    if not all(each.certificate.holds for each in shown):
        raise typer.Exit(ExitCode.FAILS)


def playground_command(
    port: Annotated[int, option("Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, option("Open the page in the browser.")] = True,
) -> None:
    """Serve a page to play with: the construction, step by step, in the browser; Ctrl-C ends it."""
    from ..playground import serve

    serve(port, browser=browser, log=echo)


def warm_up_command() -> None:
    """Compile what fitting, certifying and explaining need, so that the first run of all need not wait for it."""
    import numpy as np

    from ..certificate import certify
    from ..estimators import InterpolatingClassifier

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 3)), np.arange(24) % 3
    steps = [{"detectors": "weighted"}, {"detectors": "mask"}, {"activation": "relu"}]
    for step, options in enumerate(steps, 1):
        began = time.perf_counter()
        model = InterpolatingClassifier(random_state=0, **options).fit(X, y)  # type: ignore[arg-type]
        certify(model, X, y)
        model.explain(X)
        words = ", ".join(f"{name} {value}" for name, value in options.items())
        notify(f"{step} of {len(steps)} ({words}): {time.perf_counter() - began:.1f} s")
    echo("ready")
