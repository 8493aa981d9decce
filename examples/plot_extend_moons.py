"""
From a sample to the whole support
==================================

Two Moons with noise that is uniform in a disc, so that the classes are provably apart. A
network is built on a sample; then its limits are lowered over a stream of further points, in
bounded memory. What share of the stream it then classifies correctly is measured, not
promised. Points of the rest are always right.

``python examples/plot_extend_moons.py [picture.png [points]]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from exactfit import Options, extend, fixed_width
from exactfit.geometry.theorem import make_disc_moons
from exactfit.plots import style
from exactfit.plots.style import color, marker

NOISE = 0.15
BATCH = 10_000
WIDTHS = (100, 300, 1000, 3000)
SAMPLES = (300, 1000, 3000)
SEEDS = range(5)
n_points = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000


def stream():
    """The same points every time: each batch has its own seed."""
    for index in range(n_points // BATCH):
        yield make_disc_moons(BATCH, noise=NOISE, random_state=1000 + index)


def missed(n_samples, width, seed):
    """Share of the target points without a detector after the stream."""
    X, y = make_disc_moons(n_samples, noise=NOISE, random_state=seed)
    made = fixed_width(X, y, width, Options(target=1), seed)
    extended = extend(made, stream, training=(X, y), n_jobs=2)
    return 1 - extended.claimed_share


shares = {n: [[missed(n, width, seed) for seed in SEEDS] for width in WIDTHS] for n in SAMPLES}
for n_samples, of_widths in shares.items():
    for width, runs in zip(WIDTHS, of_widths, strict=True):
        print(
            f"built on {n_samples} points, width {width}: {np.mean(runs):.2%} missed on average, "
            f"none in {sum(share == 0 for share in runs)} of {len(runs)} runs"
        )

with style():
    figure, ax = plt.subplots()
    for index, (n_samples, of_widths) in enumerate(shares.items()):
        means = [100 * np.mean(runs) for runs in of_widths]
        ax.plot(WIDTHS, means, color=color(index), marker=marker(index), label=f"built on {n_samples:,} points")
    ax.set(xlabel="width", ylabel="target points without a detector, %", xscale="log")
    ax.set_ylim(bottom=0)
    ax.set_title(f"{n_points:,} further points, mean of {len(SEEDS)} networks")
    ax.legend()
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
