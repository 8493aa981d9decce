"""Commands to see and try: ``reproduce``, ``sweep``, ``trials``, ``demo``, ``playground``, ``warm-up``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._support.console import tell
from ..exceptions import ParameterError
from .output import ExitCode, notify, print_exhibit, telling_of_compiling

if TYPE_CHECKING:
    from ..lab.experiment import Experiment
    from ..lab.option_sweep import OptionSweep
    from ..lab.reproducing import Reproduced, SweepOptions

Extent = Annotated[
    str | None,
    typer.Option(
        help="quick (the default), paper, or committed: the part whose results are kept in results/, and the default "
        "with --start-from."
    ),
]
DEMO = Path("exactfit-demo")


@dataclass(frozen=True)
class Sweeping:
    """How trials are run, and where they go."""

    runs: Annotated[int | None, typer.Option(min=1, help="Runs of every cell, in place of the experiment's own.")] = (
        None
    )
    store: Annotated[
        Path | None, typer.Option("--store", dir_okay=False, help="Trials; exactfit-results/NAME.jsonl by default.")
    ] = None
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", file_okay=False, help="Summary and figures; exactfit-results/NAME by default."),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder with the files of MNIST or CIFAR-10; that of EXACTFIT_DATA by default."),
    ] = None
    start_from: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Trials (.csv.gz, .jsonl) to start a new store from."),
    ] = None
    independent: Annotated[
        bool, typer.Option("--independent", help="Draw anew for every cell: slow, nothing is shared.")
    ] = False
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes (or threads) at a time; -1 for all cores.")] = -1
    backend: Annotated[str, typer.Option("--backend", help="processes, threads or dask.")] = "processes"
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, with --backend dask.")] = None
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/K", help="Run the I-th of K parts only, for array jobs.")
    ] = None

    def options(self) -> SweepOptions:
        """As the library takes it."""
        from .._support.threads import n_threads
        from ..lab.reproducing import SweepOptions
        from ..lab.sweep import Backend, Shard

        if self.jobs == 0:
            raise ParameterError("--jobs must not be 0: give how many, or -1 for all cores")
        return SweepOptions(
            store=self.store,
            output=self.output,
            data=self.data,
            start_from=self.start_from,
            runs=self.runs,
            independent=self.independent,
            backend=Backend(self.backend, n_threads(self.jobs), self.scheduler),
            shard=None if self.shard is None else Shard.parse(self.shard),
        )


def reproduce_command(
    experiment: Annotated[str, typer.Argument(help="An experiment of the paper, or all.")],
    sweeping: Sweeping,
    extent: Extent = None,
) -> None:
    """Run an experiment of the paper, and draw its figures; run again to continue.

    Experiments: two-moons, sample-size, mnist-pairs, mnist, mnist-wide, cifar10, cifar10-wide,
    parallel-lines, and all. Beyond the paper: sample-size-beyond, mnist-pairs-families.
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
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="An experiment as TOML.")],
    sweeping: Sweeping,
    extent: Annotated[str, typer.Option(help="An extent that the file has; paper stands for all of it.")] = "paper",
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
    _print_files(done)
    if done.report.failed:
        notify(
            f"{experiment.name}: {done.report.failed} trials failed, their rows say where; run again to retry", "red"
        )
    return done.report.failed


def _print_files(done: Reproduced) -> None:
    for path in [*([done.summary] if done.summary else []), *done.figures]:
        tell(str(path))


def merge_command(
    output: Annotated[Path, typer.Argument(dir_okay=False, help="A store (.jsonl), or packed (.csv.gz); replaced.")],
    inputs: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Stores and packed files.")],
) -> None:
    """Put the trials of several files into one, each once; or pack and unpack one."""
    from ..lab import merge_trials, read_trials, write_trials

    merged = merge_trials([read_trials(path) for path in inputs])
    write_trials(output, merged)
    tell(f"{output}: {len(merged.rows)} trials")


def summary_command(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A store or packed trials.")],
    output: Annotated[Path | None, typer.Argument(dir_okay=False, help="CSV; standard output by default.")] = None,
) -> None:
    """Write one line for every cell: runs, interpolation probability, mean width, 95 % intervals."""
    from ..lab import read_trials
    from ..lab.trials import summary_text, write_summary

    text = summary_text(read_trials(file))
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_summary(output, text)


def cost_command(
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Stores and packed files.")],
) -> None:
    """Print how many trials each file holds and the core-hours that they took, beside the published ones."""
    from ..lab import read_trials
    from ..lab.reproducing import cost_text

    for path in files:
        tell(f"{path.name}: {cost_text(read_trials(path))}")


def published_command(
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Stores and packed files.")],
) -> None:
    """Print the cells whose numbers the paper's authors published, beside ours, with z values."""
    from ..lab import read_trials
    from ..lab.reproducing import agreements, pair_texts

    for path in files:
        trials = read_trials(path)
        for told in [*map(str, agreements(trials)), *pair_texts(trials)]:
            tell(told)


def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the picture.")] = DEMO,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the hyperplanes.")] = 0,
) -> None:
    """Fit Two Moons and handwritten digits; print sizes and certificates, draw a picture."""
    from .. import demo as show

    shown = []
    with telling_of_compiling():
        for name in show.DATA:
            notify(f"{name}: building and certifying ...")
            shown.append(show.exhibit(name, seed))
            print_exhibit(shown[-1])
            tell("")
    tell(f"picture: {show.draw(shown[0], output)}")
    if not all(each.certificate.holds for each in shown):
        raise typer.Exit(ExitCode.FAILS)


def playground_command(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Serve a page to play with: the construction, step by step, in the browser; Ctrl-C ends it."""
    from ..playground import serve

    serve(port, browser=browser, tell=tell)


def warm_up_command() -> None:
    """Compile what fitting, certifying and explaining need, so that the first run of all need not wait for it."""
    import numpy as np

    from ..certificate import certify
    from ..estimators import InterpolatingClassifier

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 3)), np.arange(24) % 3
    steps = [{"detectors": "weighted"}, {"detectors": "mask"}, {"activation": "relu"}, {"selection": "greedy"}]
    for step, options in enumerate(steps, 1):
        began = time.perf_counter()
        model = InterpolatingClassifier(random_state=0, **options).fit(X, y)  # type: ignore[arg-type]
        certify(model, X, y)
        model.explain(X)
        words = ", ".join(f"{name} {value}" for name, value in options.items())
        notify(f"{step} of {len(steps)} ({words}): {time.perf_counter() - began:.1f} s")
    tell("ready")


# Each with an example, which ends its help.
COMMANDS: dict[Callable[..., None], str] = {
    reproduce_command: "exactfit reproduce two-moons",
    sweep_command: "exactfit sweep my.toml",
    demo_command: "exactfit demo -o pictures --seed 3",
    playground_command: "exactfit playground --port 8000 --no-browser",
    warm_up_command: "exactfit warm-up",
}
TRIALS: dict[Callable[..., None], str] = {
    merge_command: "exactfit trials merge all.csv.gz 1.jsonl 2.jsonl",
    summary_command: "exactfit trials summary results/mnist.trials.csv.gz",
    cost_command: "exactfit trials cost results/*.trials.csv.gz",
    published_command: "exactfit trials published results/*.trials.csv.gz",
}
