"""
How the transition moves with lambda
====================================

The theorem asks for n >~ lambda once lambda is at least the radius. For every lambda from 1 on (the radius of the
scaled data), a logistic curve in log n is fitted to how many runs interpolate; its 50 % and 99 % widths are then fitted
as powers of lambda. Intervals: 95 %, from runs drawn again with replacement, all cells of a run together. Lambdas at
which fewer than half of the runs interpolate at the largest n are left out, as their transition is not on the grid.

``python examples/transition_width.py results/two-moons.trials.csv.gz ...`` prints a line for each file.
"""

# sphinx_gallery_thumbnail_path = "images/two-moons-heatmap.png"

import sys

import numpy as np
import pandas as pd
from scipy.optimize import minimize

RADIUS = 1.0  # of the scaled data
REPEATS = 100  # of the bootstrap
ODDS = np.log(99)  # of 99 %


def transition(widths, shares):
    """The widths at which a logistic curve in log n reaches 50 % and 99 %."""
    x = np.log(widths)

    def loss(parameters):
        z = np.clip(np.exp(parameters[1]) * (x - parameters[0]), -40, 40)
        return (np.logaddexp(0, z) - shares * z).sum()

    start = [x[np.argmax(shares >= 0.5)], np.log(5)]
    middle, steepness = minimize(loss, start, method="Nelder-Mead").x
    return np.exp(middle), np.exp(middle + ODDS / np.exp(steepness))


def table(rows, lam):
    """Whether each run (row) interpolates at each width (column)."""
    own = rows[rows["lambda"] == lam]
    widths, runs = np.unique(own["n"]), np.unique(rows["run"])
    out = np.zeros((len(runs), len(widths)))
    out[np.searchsorted(runs, own["run"]), np.searchsorted(widths, own["n"])] = own["missed"] == 0
    return widths, out


def powers(tables, runs):
    """Of lambda, in the 50 % and the 99 % width."""
    found = np.array([transition(widths, cells[runs].mean(axis=0)) for widths, cells in tables.values()])
    return np.polyfit(np.log(list(tables)), np.log(found), 1)[0]


for path in sys.argv[1:]:
    rows, rng = pd.read_csv(path, comment="#"), np.random.default_rng(0)
    tables = {lam: table(rows, lam) for lam in np.unique(rows["lambda"]) if lam >= RADIUS}
    tables = {lam: each for lam, each in tables.items() if each[1][:, -1].mean() >= 0.5 and len(each[0]) > 2}
    n_runs = len(np.unique(rows["run"]))
    ours = powers(tables, np.arange(n_runs))
    again = [powers(tables, rng.integers(n_runs, size=n_runs)) for _ in range(REPEATS)]
    low, high = np.percentile(again, [2.5, 97.5], axis=0)
    told = ", ".join(
        f"{what} width ~ lambda^{power:.2f} [{one:.2f}, {other:.2f}]"
        for what, power, one, other in zip(("50 %", "99 %"), ours, low, high, strict=True)
    )
    print(f"{path}: lambda = {min(tables):g} to {max(tables):g}, {n_runs} runs: {told}")
