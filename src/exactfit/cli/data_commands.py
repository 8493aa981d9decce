"""Commands about data: ``describe``, ``compare``, ``evaluate`` and ``suspects``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.console import harmless, tell, text_table
from ..exceptions import DataError
from .arguments import Encoded, Jobs, Json, LabelledSource, Report, as_label, bias_of, option
from .fitting import Estimator
from .output import ExitCode, json_text, notify, print_rows, show_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..suspects import Suspects
    from ..tables import Table


def describe_command(
    source: LabelledSource,
    target_class: Annotated[str | None, typer.Option(metavar="LABEL", help="The class that gets detectors.")] = None,
    max_bias: Annotated[str, option("max_bias")] = "radius",
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
    conflicts: Annotated[str, option("conflicts")] = "raise",
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
    from ..lab.evaluation import evaluate
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


class Rater(StrEnum):
    """Classifiers that suspects can be found with."""

    NONE = "none"
    RANDOM_FOREST = "random-forest"
    LOGISTIC_REGRESSION = "logistic-regression"
    GRADIENT_BOOSTING = "gradient-boosting"


@dataclass(frozen=True)
class Looking:
    """Who is asked about a label."""

    model: Annotated[
        Rater, typer.Option(help="Also ask a model about every row, cross-validated; slower, and finds more.")
    ] = Rater.NONE
    pred_probs: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Out-of-sample probabilities: NPY or CSV, a column a label."),
    ] = None
    width: Annotated[int, typer.Option(min=1, help="Hyperplanes.")] = 512
    k: Annotated[int, typer.Option(min=1, help="How many neighbours to compare with.")] = 10
    seed: Annotated[int, typer.Option(min=0, help="Seed of the hyperplanes and of the folds.")] = 0
    jobs: Jobs = None

    def at(self, given: Encoded) -> Suspects:
        """What they say."""
        from ..suspects import find_suspects

        return find_suspects(
            given.X, given.labels, pred_probs=_probabilities(self.pred_probs, given.table),
            model=_rater(self.model, self.seed, self.jobs), width=self.width, k=self.k, random_state=self.seed,
            n_jobs=self.jobs, verbose=show_progress(),
        ).of_table(given.table)  # fmt: skip


def suspects_command(
    source: LabelledSource,
    output: Report,
    looking: Looking,
    top: Annotated[int, typer.Option(min=1, help="How many rows to show, most suspicious first.")] = 20,
    json: Json = False,
) -> None:
    """List the rows whose labels look wrong, most suspicious first, with the rows that they contradict.

    Then rows that are there twice, nearly equal rows with different labels, and rows far from everything.
    """
    from ..tables.table import speaking_of

    output.check()
    given = source.encoded()
    with speaking_of(given.table):
        found = looking.at(given)
    output.write_page(lambda shape: found.to_html(top, image_shape=shape))
    if json:
        output.write(json_text(found.to_dict(top)), "the suspects")
    else:
        _print_suspects(found, top, output, len(given.table.columns))


def _print_suspects(found: Suspects, top: int, output: Report, n_columns: int) -> None:
    """A table of the rows, then what else was noticed."""
    from ..tables.explained import SHOWN_COLUMNS

    header, *rows = found.listing(top, SHOWN_COLUMNS)
    notices = [line for headline, cases in found.notices(top) for line in (headline, *map("  {}".format, cases))]
    if output.output is None:
        print_rows(header, rows)
        for notice in notices:
            tell(notice)
    else:
        output.write("\n".join([*text_table([header, *rows]), *notices]), "the suspects")
    if n_columns > SHOWN_COLUMNS:
        notify(f"and {n_columns - SHOWN_COLUMNS} more columns: --json and --report show them all")


def _rater(name: Rater, seed: int, jobs: int | None) -> Any:
    """The classifier of a name, with scikit-learn's own settings."""
    if name is Rater.RANDOM_FOREST:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(random_state=seed, n_jobs=jobs)
    if name is Rater.LOGISTIC_REGRESSION:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)
    if name is Rater.GRADIENT_BOOSTING:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=seed)
    return None


def _probabilities(path: Path | None, table: Table) -> NDArray[Any] | None:
    """Numbers of a file, a line for every row of the table's file or of those that are left."""
    if path is None:
        return None
    import numpy as np

    try:
        text = path.suffix != ".npy"
        found = np.loadtxt(path, delimiter=",", ndmin=2) if text else np.load(path, allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{path.name} must hold an array of numbers, NPY or CSV without a header: {error}") from error
    return found[table.rows] if len(found) == len(table) + table.n_dropped else found


# Each with an example, which ends its help.
COMMANDS: dict[Callable[..., None], str] = {
    describe_command: "exactfit describe train.csv --label label --time-limit 60",
    compare_command: "exactfit compare train.csv --label label --time-limit 10",
    evaluate_command: "exactfit evaluate train.csv --label label --n-networks 7",
    suspects_command: "exactfit suspects train.csv --label label --top 20",
}
