"""Commands: ``reproduce``, ``sweep`` and ``trials``; the command line takes them in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._console import say, tell
from ..exceptions import ParameterError
from .sweeps import Plan, Reproduced, reproduce

if TYPE_CHECKING:
    from ..experiments.grid import Experiment

FAILED = 1

trials = typer.Typer(help="Merge, pack and summarise the trials of sweeps.", no_args_is_help=True)


def _remember_debug(context: typer.Context, value: bool) -> bool:
    context.obj.debug |= value
    return value


Debug = Annotated[
    bool, typer.Option("--debug", callback=_remember_debug, is_eager=True, help="Show where an error arose.")
]
Runs = Annotated[int | None, typer.Option(min=1, help="Runs of every cell, in place of the experiment's own.")]
StoreFile = Annotated[
    Path | None, typer.Option("--store", dir_okay=False, help="Trials; exactfit-results/NAME.jsonl by default.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", file_okay=False, help="Summary and figures; exactfit-results/NAME by default."),
]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with the files of MNIST or CIFAR-10; that of EXACTFIT_DATA by default."),
]
StartFrom = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="Trials (.csv.gz, .jsonl) to start a new store from.")
]
Independent = Annotated[bool, typer.Option("--independent", help="Draw anew for every cell: slow, nothing is shared.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes (or threads) at a time; -1 for all cores.")]
BackendName = Annotated[str, typer.Option("--backend", help="processes, threads or dask.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, with --backend dask.")]
ShardText = Annotated[
    str | None, typer.Option("--shard", metavar="I/K", help="Run the I-th of K parts only, for array jobs.")
]
Scale = Annotated[str, typer.Option(help="quick, paper, or committed (the part whose results are kept in results/).")]


def register(app: typer.Typer) -> None:
    """Add the commands to a program."""
    app.command("reproduce")(reproduce_command)
    app.command("sweep")(sweep_command)
    app.add_typer(trials, name="trials")


def reproduce_command(
    experiment: Annotated[str, typer.Argument(help="An experiment of the paper, or all.")],
    scale: Scale = "quick",
    runs: Runs = None,
    store: StoreFile = None,
    output: Output = None,
    data: DataFolder = None,
    start_from: StartFrom = None,
    independent: Independent = False,
    jobs: Jobs = -1,
    backend: BackendName = "processes",
    scheduler: Scheduler = None,
    shard: ShardText = None,
    debug: Debug = False,
) -> None:
    """Run an experiment of the paper, and draw its figures; run again to continue.

    Experiments: two-moons, sample-size, mnist-pairs, mnist, mnist-wide, cifar10, cifar10-wide,
    parallel-lines, and all.
    """
    from ..experiments.grid import PAPER, paper_experiment

    names = PAPER if experiment == "all" else (experiment,)
    if len(names) > 1 and (store is not None or start_from is not None):
        raise ParameterError("--store and --start-from go with one experiment: leave them out, or name one")
    plan = _plan(store, output, data, start_from, runs, independent, jobs, backend, scheduler, shard)
    failed = 0
    for name in names:
        own = replace(plan, output=output / name) if output is not None and len(names) > 1 else plan
        failed += _carry_out(paper_experiment(name, scale), own)
    if failed:
        raise typer.Exit(FAILED)


def sweep_command(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="An experiment as TOML.")],
    scale: Annotated[str, typer.Option(help="A scale that the file has; paper stands for all of it.")] = "paper",
    runs: Runs = None,
    store: StoreFile = None,
    output: Output = None,
    data: DataFolder = None,
    start_from: StartFrom = None,
    independent: Independent = False,
    jobs: Jobs = -1,
    backend: BackendName = "processes",
    scheduler: Scheduler = None,
    shard: ShardText = None,
    debug: Debug = False,
) -> None:
    """Run an experiment of your own, on your own data, and draw its figures; run again to continue."""
    from ..experiments.grid import load_experiment

    plan = _plan(store, output, data, start_from, runs, independent, jobs, backend, scheduler, shard)
    if _carry_out(load_experiment(file, scale), plan):
        raise typer.Exit(FAILED)


def _plan(
    store: Path | None, output: Path | None, data: Path | None, start_from: Path | None, runs: int | None,
    independent: bool, jobs: int, backend: str, scheduler: str | None, shard: str | None,
) -> Plan:  # fmt: skip
    from .._parallel import n_threads
    from ..experiments.backends import Backend
    from ..experiments.run import Shard

    if jobs == 0:
        raise ParameterError("--jobs must not be 0: give how many, or -1 for all cores")
    return Plan(
        store=store,
        output=output,
        data=data,
        start_from=start_from,
        runs=runs,
        independent=independent,
        backend=Backend(backend, n_threads(jobs), scheduler),
        shard=None if shard is None else Shard.parse(shard),
    )


def _carry_out(experiment: Experiment, plan: Plan) -> int:
    """Run, tell what was written; how many trials failed."""
    done = reproduce(experiment, plan, say)
    _print_files(done)
    if done.report.failed:
        say(f"{experiment.name}: {done.report.failed} trials failed, their rows say where; run again to retry", "red")
    return done.report.failed


def _print_files(done: Reproduced) -> None:
    for path in [*([done.summary] if done.summary else []), *done.figures]:
        tell(str(path))


@trials.command()
def merge(
    output: Annotated[Path, typer.Argument(dir_okay=False, help="A store (.jsonl), or packed (.csv.gz); replaced.")],
    inputs: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Stores and packed files.")],
    debug: Debug = False,
) -> None:
    """Put the trials of several files into one, each once; or pack and unpack one."""
    from ..experiments.records import merge_trials, read_trials, write_trials

    merged = merge_trials([read_trials(path) for path in inputs])
    write_trials(output, merged)
    tell(f"{output}: {len(merged.rows)} trials")


@trials.command()
def summary(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A store or packed trials.")],
    output: Annotated[Path | None, typer.Argument(dir_okay=False, help="CSV; standard output by default.")] = None,
    debug: Debug = False,
) -> None:
    """Write one line for every cell: runs, interpolation probability, mean width, 95 % intervals."""
    from ..experiments.records import read_trials
    from ..experiments.summary import summary_text, write_summary

    if output is None:
        typer.echo(summary_text(read_trials(file)), nl=False)
    else:
        write_summary(output, read_trials(file))


@trials.command()
def cost(
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Stores and packed files.")],
    debug: Debug = False,
) -> None:
    """Print how many trials each file holds, and the core-hours that they took."""
    from ..experiments.records import read_trials

    for path in files:
        rows = read_trials(path).rows
        tell(f"{path.name}: {len(rows)} trials, {rows['seconds'].sum() / 3600:.4g} core-hours")
