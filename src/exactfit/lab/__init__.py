"""The laboratory: the paper's experiments, sweeps of one's own, comparisons, their statistics and pictures.

An experiment is one TOML file: data, a grid of widths, biases and sample sizes, how many
runs. Trials go into an append-only store, from which summaries and figures are derived.
Public names are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._support import lazy_names

if TYPE_CHECKING:
    from .comparison import Comparison as Comparison
    from .comparison import Row as Row
    from .comparison import compare as compare
    from .comparison import plot_comparison as plot_comparison
    from .datasets import Dataset as Dataset
    from .datasets import load_dataset as load_dataset
    from .datasets import load_images as load_images
    from .evaluation import Evaluation as Evaluation
    from .evaluation import Standing as Standing
    from .evaluation import evaluate as evaluate
    from .experiment import Experiment as Experiment
    from .experiment import load_experiment as load_experiment
    from .experiment import paper_experiment as paper_experiment
    from .option_sweep import OptionSweep as OptionSweep
    from .option_sweep import load_sweep as load_sweep
    from .option_sweep import sweep_options as sweep_options
    from .reproducing import SweepOptions as SweepOptions
    from .reproducing import reproduce as reproduce
    from .store import read_trials as read_trials
    from .store import write_trials as write_trials
    from .trial_plots import plot_growth as plot_growth
    from .trial_plots import plot_heatmap as plot_heatmap
    from .trial_plots import plot_slices as plot_slices
    from .trials import Trials as Trials
    from .trials import merge_trials as merge_trials
    from .trials import per_cell as per_cell

_HOMES = {
    "comparison": ["Comparison", "Row", "compare", "plot_comparison"],
    "datasets": ["Dataset", "load_dataset", "load_images"],
    "evaluation": ["Evaluation", "Standing", "evaluate"],
    "experiment": ["Experiment", "load_experiment", "paper_experiment"],
    "option_sweep": ["OptionSweep", "load_sweep", "sweep_options"],
    "reproducing": ["SweepOptions", "reproduce"],
    "store": ["read_trials", "write_trials"],
    "trial_plots": ["plot_growth", "plot_heatmap", "plot_slices"],
    "trials": ["Trials", "merge_trials", "per_cell"],
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
