"""
Labels known to be noisy
========================

Test accuracy against the share of training labels that were changed at random: networks that fit all
of them, networks that may give up as many (``noise``), and nearest neighbours.

``python examples/plot_noise.py [picture.png] [--seeds 5]`` draws scikit-learn's digits; with
``--data FOLDER`` MNIST (10,000 training images, all test images), as in docs/noise.md.
"""

import argparse
from collections import defaultdict

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from exactfit import InterpolatingClassifier
from exactfit.lab import load_dataset
from exactfit.plots import style

parser = argparse.ArgumentParser()
parser.add_argument("picture", nargs="?")
parser.add_argument("--data", help="folder with MNIST's files")
parser.add_argument("--seeds", type=int, default=1)
options = parser.parse_args()

NOISE = (0.0, 0.05, 0.1, 0.2, 0.3)
COLORS = ("C0", "C0", "C1", "C1", "C4", "C2")
if options.data:
    mnist, n_train, width = load_dataset("mnist", options.data), 10_000, 4000
    X, y, held_out = mnist.X, mnist.y, np.arange(60_000, 70_000)
else:
    (X, y), n_train, width, held_out = load_digits(return_X_y=True), 1200, 2000, None


def split(seed):
    """Training rows with some labels changed, and test rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(60_000 if options.data else len(y))
    return order[:n_train], order[n_train:] if held_out is None else held_out, rng


def changed(labels, share, rng):
    """Labels of which a share is another one, chosen uniformly."""
    out = labels.copy()
    rows = rng.choice(len(out), round(share * len(out)), replace=False)
    out[rows] = (out[rows] + rng.integers(1, 10, len(rows))) % 10
    return out


def models(share, seed):
    """What is compared."""
    ours = {"center": True, "target": "all", "n_jobs": 2, "random_state": seed}
    return {
        "fits all": InterpolatingClassifier.paper(min_width=0, **ours),
        "noise given": InterpolatingClassifier.paper(min_width=0, noise=share, **ours),
        f"fits all, min_width={width}": InterpolatingClassifier.paper(min_width=width, **ours),
        f"noise given, min_width={width}": InterpolatingClassifier.paper(min_width=width, noise=share, **ours),
        "1-NN": KNeighborsClassifier(1),
        "10-NN": KNeighborsClassifier(10),
    }


scores = defaultdict(list)
for seed in range(options.seeds):
    for share in NOISE:
        train, test, rng = split(seed)
        labels = changed(y[train], share, rng)
        for name, model in models(share, seed).items():
            scores[name, share].append(model.fit(X[train], labels).score(X[test], y[test]))

names = list(models(0.0, 0))
print(f"| labels changed | {' | '.join(names)} |")
print(f"| ---: |{' ---: |' * len(names)}")
for share in NOISE:
    spread = [f" ± {np.std(scores[name, share]):.2%}" if options.seeds > 1 else "" for name in names]
    cells = [f"{np.mean(scores[name, share]):.2%}{more}" for name, more in zip(names, spread, strict=True)]
    print(f"| {share:.0%} | {' | '.join(cells)} |")

with style():
    figure, ax = plt.subplots(figsize=(6.4, 4.4))
    for k, name in enumerate(names):
        means = [np.mean(scores[name, share]) for share in NOISE]
        line, faint = "s--" if "NN" in name else "o-", "fits all" in name
        ax.plot(NOISE, means, line, color=COLORS[k], ms=4, alpha=0.5 if faint else 1.0, label=name)
    ax.set(xlabel="share of training labels changed", ylabel="test accuracy",
           title=f"{'MNIST' if options.data else 'digits'}, {n_train:,} training points")  # fmt: skip
    ax.legend(fontsize=8)
    if options.picture:
        figure.savefig(options.picture, dpi=110)
    else:
        plt.show()
