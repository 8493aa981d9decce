"""The paper's experiments, and sweeps over data of your own.

An experiment is one TOML file: data, a grid of widths, biases and sample sizes, how many
runs. Trials go into an append-only store, from which summaries and figures are derived.
"""

from __future__ import annotations

from .datasets import Dataset, load_dataset
from .grid import Experiment, load_experiment, paper_experiment
from .records import Trials, read_trials

__all__ = ["Dataset", "Experiment", "Trials", "load_dataset", "load_experiment", "paper_experiment", "read_trials"]
