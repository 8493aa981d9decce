"""Commands: ``python -m experiments reproduce two-moons``, ``... sweep my.toml``, ``... trials summary FILE``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from exactfit import DataError, ExactfitError, ParameterError

from .experiment import FULL, PAPER, Experiment, load_experiment, paper_experiment
from .published import agreements, cost_text, pair_texts
from .store import read_trials, write_trials
from .sweep import SweepOptions, run_experiment
from .trials import merge_trials, summary_text

# typer names only this one of the parser's errors; its base is what every usage error is.
UsageError: Any = typer.BadParameter.__bases__[0]
FAILS, USAGE, BAD_DATA, INTERRUPTED = 1, 2, 3, 130  # exit codes, as those of exactfit

app = typer.Typer(help="Run the paper's experiments, and sweeps of your own.", pretty_exceptions_enable=False)
trials = typer.Typer(help="Merge, pack and summarise the trials of sweeps.", no_args_is_help=True)
app.add_typer(trials, name="trials")


def _option(told: str, *flags: str, **settings: Any) -> Any:
    return typer.Option(*flags, help=told, **settings)


EXISTING: dict[str, Any] = {"exists": True, "dir_okay": False}
Runs = Annotated[int | None, _option("Runs of every cell, in place of the experiment's own.", min=1)]
StoreFile = Annotated[Path | None, _option("Trials; exactfit-results/NAME.jsonl by default.", dir_okay=False)]
Output = Annotated[
    Path | None, _option("Summary and figures; exactfit-results/NAME by default.", "--output", "-o", file_okay=False)
]
Data = Annotated[
    Path | None, _option("Folder with MNIST, Fashion-MNIST or CIFAR-10; that of EXACTFIT_DATA by default.")
]
StartFrom = Annotated[Path | None, _option("Trials (.csv.gz, .jsonl) to start a new store from.", **EXISTING)]
Jobs = Annotated[int, _option("Processes at a time; -1 for all cores.", "--jobs", "-j")]
Scheduler = Annotated[str | None, _option("Address of a Dask scheduler: run on its cluster.")]
TrialFiles = Annotated[list[Path], typer.Argument(help="Stores and packed files.", **EXISTING)]
TrialFile = Annotated[Path, typer.Argument(help="A store or packed trials.", **EXISTING)]


@app.command("reproduce")
def reproduce_command(
    experiment: Annotated[str, typer.Argument(help="An experiment of the paper, or all.")],
    extent: Annotated[
        str | None,
        _option(
            "quick (the default), paper, or committed: the part whose results are kept in results/, and the default "
            "with --start-from."
        ),
    ] = None,
    runs: Runs = None,
    store: StoreFile = None,
    output: Output = None,
    data: Data = None,
    start_from: StartFrom = None,
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
) -> None:
    """Run an experiment of the paper, and draw its figures; run again to continue.

    Experiments: two-moons, sample-size, mnist-pairs, mnist, mnist-wide, cifar10, cifar10-wide, parallel-lines, and all.
    Beyond the paper: sample-size-beyond, mnist-pairs-families, fashion-mnist.
    """
    names = PAPER if experiment == "all" else (experiment,)
    if len(names) > 1 and (store is not None or start_from is not None):
        raise ParameterError("--store and --start-from go with one experiment: leave them out, or name one")
    options = SweepOptions(store, output, data, start_from, runs, _checked(jobs), scheduler)
    chosen = extent or ("quick" if start_from is None else "committed")
    failed = 0
    for name in names:
        own = replace(options, output=output / name) if output is not None and len(names) > 1 else options
        failed += _carry_out(paper_experiment(name, chosen), own)
    if failed:
        raise typer.Exit(FAILS)


@app.command("sweep")
def sweep_command(
    file: Annotated[Path, typer.Argument(help="An experiment as TOML.", **EXISTING)],
    extent: Annotated[str, _option("An extent that the file has; paper means all of it.")] = FULL,
    runs: Runs = None,
    store: StoreFile = None,
    output: Output = None,
    data: Data = None,
    start_from: StartFrom = None,
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
) -> None:
    """Run an experiment of your own, on your own data, and draw its figures; run again to continue.

    Over widths, biases and sample sizes; or, with held_out in the file, over constructions and their options.
    """
    options = SweepOptions(store, output, data, start_from, runs, _checked(jobs), scheduler)
    if _carry_out(load_experiment(file, extent), options):
        raise typer.Exit(FAILS)


def _checked(jobs: int) -> int:
    if jobs == 0:
        raise ParameterError("--jobs must not be 0: give a number of processes, or -1 for all cores")
    return jobs


def _carry_out(experiment: Experiment, options: SweepOptions) -> int:
    """Run, print what was written, and return how many trials failed."""
    report = run_experiment(experiment, options, _say)
    for path in report.written:
        typer.echo(path)
    if report.failed:
        _say(f"{experiment.name}: {report.failed} trials failed, their rows say where; run again to retry")
    return report.failed


@trials.command("merge")
def merge_command(
    output: Annotated[Path, typer.Argument(help="A store (.jsonl), or packed (.csv.gz); replaced.", dir_okay=False)],
    inputs: TrialFiles,
) -> None:
    """Put the trials of several files into one, each once; or pack and unpack one."""
    merged = merge_trials([read_trials(path) for path in inputs])
    write_trials(output, merged)
    typer.echo(f"{output}: {len(merged.rows)} trials")


@trials.command("summary")
def summary_command(
    file: TrialFile,
    output: Annotated[Path | None, typer.Argument(help="CSV; standard output by default.", dir_okay=False)] = None,
) -> None:
    """Write one line for every cell: runs, interpolation probability, mean width, 95 % intervals."""
    text = summary_text(read_trials(file))
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


@trials.command("cost")
def cost_command(files: TrialFiles) -> None:
    """Print how many trials each file holds and the core-hours that they took, beside the published ones."""
    for path in files:
        typer.echo(f"{path.name}: {cost_text(read_trials(path))}")


@trials.command("published")
def published_command(files: TrialFiles) -> None:
    """Print the cells whose numbers the paper's authors published, beside ours, with z values."""
    for path in files:
        found = read_trials(path)
        for text in [*map(str, agreements(found)), *pair_texts(found)]:
            typer.echo(text)


def _say(text: str) -> None:
    typer.echo(text, err=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; an error is one line that says what is wrong."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    program: Any = typer.main.get_command(app)
    try:
        code = int(program.main(args=given, prog_name="experiments", standalone_mode=False) or 0)
        if code != INTERRUPTED:
            return code
        message = "interrupted; all results so far are stored: run again to continue"
    except UsageError as error:
        message, code = error.format_message(), USAGE
    except DataError as error:
        message, code = str(error), BAD_DATA
    except (ExactfitError, OSError) as error:
        message, code = str(error), USAGE
    _say(f"experiments: {' '.join(message.split())}")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
