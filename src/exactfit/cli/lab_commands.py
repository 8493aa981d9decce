"""Commands to measure, compare and try: ``describe``, ``compare``, ``evaluate``, ``reproduce``, ``demo`` and others."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._support.console import echo, escape_controls
from ..exceptions import ParameterError
from .arguments import (
    EXISTING,
    Conflicts,
    Estimator,
    Jobs,
    Json,
    LabelledSource,
    MaxBias,
    argument,
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

if TYPE_CHECKING:
    from ..lab.experiment import Experiment
    from ..lab.option_sweep import OptionSweep
    from ..lab.reproducing import SweepOptions

Extent = Annotated[
    str | None,
    option(
        "quick (the default), paper, or committed: the part whose results are kept in results/, and the default "
        "with --start-from."
    ),
]
TrialFiles = Annotated[list[Path], argument("Stores and packed files.", **EXISTING)]
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


@dataclass(frozen=True)
class Sweeping:
    """How trials are run, and where they go."""

    runs: Annotated[int | None, option("Runs of every cell, in place of the experiment's own.", min=1)] = None
    store: Annotated[Path | None, option("Trials; exactfit-results/NAME.jsonl by default.", dir_okay=False)] = None
    output: Annotated[
        Path | None, option("Summary and figures; exactfit-results/NAME by default.", "--output", "-o", file_okay=False)
    ] = None
    data: Annotated[
        Path | None, option("Folder with MNIST, Fashion-MNIST or CIFAR-10; that of EXACTFIT_DATA by default.")
    ] = None
    start_from: Annotated[Path | None, option("Trials (.csv.gz, .jsonl) to start a new store from.", **EXISTING)] = None
    independent: Annotated[bool, option("Draw anew for every cell: slow, nothing is shared.", "--independent")] = False
    jobs: Annotated[int, option("Processes (or threads) at a time; -1 for all cores.", "--jobs", "-j")] = -1
    backend: Annotated[str, option("processes, threads or dask.")] = "processes"
    scheduler: Annotated[str | None, option("Address of a Dask scheduler, with --backend dask.")] = None
    shard: Annotated[str | None, option("Run the I-th of K parts only, for array jobs.", metavar="I/K")] = None

    def options(self) -> SweepOptions:
        """As the library takes it."""
        from .._support.threads import n_threads
        from ..lab.reproducing import SweepOptions
        from ..lab.sweep import Backend, Shard

        if self.jobs == 0:
            raise ParameterError("--jobs must not be 0: give how many, or -1 for all cores")
        alike = ("store", "output", "data", "start_from", "runs", "independent")
        return SweepOptions(
            **{name: getattr(self, name) for name in alike},
            backend=Backend(self.backend, n_threads(self.jobs), self.scheduler),
            shard=None if self.shard is None else Shard.parse(self.shard),
        )


def reproduce_command(
    experiment: Annotated[str, argument("An experiment of the paper, or all.")],
    sweeping: Sweeping,
    extent: Extent = None,
) -> None:
    """Run an experiment of the paper, and draw its figures; run again to continue.

    Experiments: two-moons, sample-size, mnist-pairs, mnist, mnist-wide, cifar10, cifar10-wide,
    parallel-lines, and all. Beyond the paper: sample-size-beyond, mnist-pairs-families,
    fashion-mnist.
    """
    from ..lab.experiment import PAPER, paper_experiment

    names = PAPER if experiment == "all" else (experiment,)
    if len(names) > 1 and (sweeping.store is not None or sweeping.start_from is not None):
        raise ParameterError("--store and --start-from go with one experiment: leave them out, or name one")
    options, output = sweeping.options(), sweeping.output
    chosen = extent or ("quick" if sweeping.start_from is None else "committed")
    failed = 0
    for name in names:
        own = replace(options, output=output / name) if output is not None and len(names) > 1 else options
        failed += _carry_out(paper_experiment(name, chosen), own)
    if failed:
        raise typer.Exit(ExitCode.FAILS)


def sweep_command(
    file: Annotated[Path, argument("An experiment as TOML.", **EXISTING)],
    sweeping: Sweeping,
    extent: Annotated[str, option("An extent that the file has; paper stands for all of it.")] = "paper",
) -> None:
    """Run an experiment of your own, on your own data, and draw its figures; run again to continue.

    Over widths, biases and sample sizes; or, with held_out in the file, over constructions and their options.
    """
    from ..lab import load_sweep

    options = sweeping.options()
    if _carry_out(load_sweep(file, extent), options):
        raise typer.Exit(ExitCode.FAILS)


def _carry_out(experiment: Experiment | OptionSweep, options: SweepOptions) -> int:
    """Run, tell what was written; how many trials failed."""
    from ..lab import Experiment, reproduce, sweep_options

    if isinstance(experiment, Experiment):
        done = reproduce(experiment, options, notify)
    else:
        done = sweep_options(experiment, options, notify)
    for path in [*([done.summary] if done.summary else []), *done.figures]:
        echo(str(path))
    if done.report.failed:
        notify(
            f"{experiment.name}: {done.report.failed} trials failed, their rows say where; run again to retry", "red"
        )
    return done.report.failed


def merge_command(
    output: Annotated[Path, argument("A store (.jsonl), or packed (.csv.gz); replaced.", dir_okay=False)],
    inputs: TrialFiles,
) -> None:
    """Put the trials of several files into one, each once; or pack and unpack one."""
    from ..lab import merge_trials, read_trials, write_trials

    merged = merge_trials([read_trials(path) for path in inputs])
    write_trials(output, merged)
    echo(f"{output}: {len(merged.rows)} trials")


def summary_command(
    file: Annotated[Path, argument("A store or packed trials.", **EXISTING)],
    output: Annotated[Path | None, argument("CSV; standard output by default.", dir_okay=False)] = None,
) -> None:
    """Write one line for every cell: runs, interpolation probability, mean width, 95 % intervals."""
    from ..lab import read_trials
    from ..lab.trials import summary_text, write_summary

    text = summary_text(read_trials(file))
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_summary(output, text)


def cost_command(files: TrialFiles) -> None:
    """Print how many trials each file holds and the core-hours that they took, beside the published ones."""
    from ..lab import read_trials
    from ..lab.reproducing import cost_text

    for path in files:
        echo(f"{path.name}: {cost_text(read_trials(path))}")


def published_command(files: TrialFiles) -> None:
    """Print the cells whose numbers the paper's authors published, beside ours, with z values."""
    from ..lab import read_trials
    from ..lab.reproducing import agreements, pair_texts

    for path in files:
        trials = read_trials(path)
        for told in [*map(str, agreements(trials)), *pair_texts(trials)]:
            echo(told)


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

    serve(port, browser=browser, tell=echo)


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
