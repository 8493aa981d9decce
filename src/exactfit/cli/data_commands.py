"""Commands about data: ``describe``, ``compare``, ``evaluate`` and ``suspects``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.console import harmless
from .options import Estimator, Jobs, Json, LabelledSource, as_label, bias_of
from .output import ExitCode, json_text, print_json, print_rows, show_progress

if TYPE_CHECKING:
    from ..tables import Table

# What is shown of each suspect, and how.
SHOWN: dict[str, Callable[[Any], Any]] = {
    "row": int,
    "label": str,
    "score": "{:.3f}".format,
    "claims": int,
    "support": int,
    "ball_ratio": lambda ratio: f"{float(ratio):.3g}",
    "strangers": int,
    "conflicts": lambda rows: ", ".join(map(str, rows[:3])),
}


def describe_command(
    source: LabelledSource,
    target_class: Annotated[str | None, typer.Option(metavar="LABEL", help="The class that gets detectors.")] = None,
    max_bias: Annotated[str, typer.Option(help="Largest bias: radius (of the data), or a number.")] = "radius",
    center: Annotated[bool, typer.Option(help="Measure from the mean of the data.")] = True,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds; what is not done in time is left out.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Measure what the size of a network for this table depends on, and forecast that size."""
    from ..geometry.report import describe as described
    from ..tables.table import speaking_of

    given = source.encoded()
    with speaking_of(given.table):
        description = described(
            given.X,
            given.labels,
            max_bias=bias_of(max_bias),
            target=as_label(target_class, given.labels),
            center=center,
            time_limit=time_limit,
            random_state=seed,
            n_jobs=jobs,
            verbose=show_progress(),
        )
    typer.echo(json_text(description.to_dict()) if json else harmless(str(description)))


def compare_command(
    source: LabelledSource,
    construction: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="One of the rows, or several by repeating; all by default.")
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds for each.")] = 60.0,
    conflicts: Annotated[str, typer.Option(help="Equal rows with different labels: raise, or majority.")] = "raise",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of every construction.")] = 0,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="How many to run at a time.")] = None,
    json: Json = False,
) -> None:
    """Build networks for this table by every published construction, and put them side by side."""
    from ..lab import compare as compared
    from ..tables.table import speaking_of

    given = source.encoded()
    with speaking_of(given.table):
        comparison = compared(
            given.X, given.labels, construction or "all", time_limit,
            conflicts=conflicts, random_state=seed, n_jobs=jobs, verbose=show_progress(),
        )  # fmt: skip
    typer.echo(json_text(comparison.to_dict()) if json else harmless(str(comparison)))
    if comparison.missing:
        raise typer.Exit(ExitCode.INTERRUPTED)  # with the rows so far


def evaluate_command(
    source: LabelledSource,
    estimator: Estimator,
    folds: Annotated[int, typer.Option(min=2, help="Stratified folds.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="How often folds are drawn.")] = 2,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds for all; what is done by then counts.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure how often a model is right on new rows, beside its settings and the usual classifiers.

    Every fold is encoded and scaled by its training part. Ctrl-C prints what is done by then.
    """
    from ..lab.evaluating import evaluate
    from ..tables.table import speaking_of

    table, labels = source.labelled()
    model = estimator.classifier(labels).set_params(verbose=0)
    seed = 0 if estimator.seed is None else estimator.seed
    with speaking_of(table):
        found = evaluate(
            model, table, n_folds=folds, n_repeats=repeats, scale=source.scale == "standard",
            time_limit=time_limit, random_state=seed, verbose=show_progress(),
        )  # fmt: skip
    typer.echo(json_text(found.to_dict()) if json else str(found))
    if found.end == "interrupted":
        raise typer.Exit(ExitCode.INTERRUPTED)  # with the folds so far


def suspects_command(
    source: LabelledSource,
    top: Annotated[int, typer.Option(min=1, help="How many rows to show, most suspicious first.")] = 20,
    width: Annotated[int, typer.Option(min=1, help="Hyperplanes.")] = 512,
    k: Annotated[int, typer.Option(min=1, help="How many neighbours to compare with.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the hyperplanes.")] = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """List the rows whose labels look wrong, most suspicious first."""
    from ..suspects import find_suspects
    from ..tables.table import speaking_of

    given = source.encoded()
    with speaking_of(given.table):
        found = find_suspects(
            given.X, given.labels, width=width, k=k, random_state=seed, n_jobs=jobs, verbose=show_progress()
        )
    listed = [_in_file(one, given.table) for one in found.to_dict(top)["suspects"]]
    if json:
        print_json({"rows": len(given.table), "suspects": listed})
    else:
        print_rows(list(SHOWN), [[show(one[name]) for name, show in SHOWN.items()] for one in listed])


def _in_file(one: dict[str, Any], table: Table) -> dict[str, Any]:
    """A suspect with rows as the file counts them."""
    return one | {"row": int(table.rows[one["row"]]), "conflicts": table.rows[one["conflicts"]].tolist()}


# Each with an example, which ends its help.
COMMANDS: dict[Callable[..., None], str] = {
    describe_command: "exactfit describe train.csv --label label --time-limit 60",
    compare_command: "exactfit compare train.csv --label label --time-limit 10",
    evaluate_command: "exactfit evaluate train.csv --label label --n-networks 7",
    suspects_command: "exactfit suspects train.csv --label label --top 20",
}
