"""
Points that nearly coincide
===========================

80 random points in five dimensions, each with a partner of the other label very close by:
1e-9 away, 1e-12 away, or at the next floating-point number. All points differ, so a function
that fits them exists. How many training points does each method get wrong?

The decision tree compares features in float32. The nearest neighbour search takes distances from
``|x|^2 - 2 <x, y> + |y|^2``, which loses small ones to rounding; the tree-based search of the same
class does not.

``python examples/plot_close_pairs.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import exactfit
from exactfit import InterpolatingClassifier, certify
from exactfit.plots import style
from exactfit.plots.style import shade

GAPS = {"1e-9": lambda x: x + 1e-9, "1e-12": lambda x: x + 1e-12, "one ulp": lambda x: np.nextafter(x, np.inf)}
MODELS = {
    "exactfit": lambda: InterpolatingClassifier(random_state=0),
    "decision tree": lambda: DecisionTreeClassifier(random_state=0),
    "1-NN, brute force": lambda: KNeighborsClassifier(1, algorithm="brute"),
    "1-NN, k-d tree": lambda: KNeighborsClassifier(1, algorithm="kd_tree"),
}


def close_pairs(move, n_pairs=80, n_features=5, seed=0):
    """Points and their partners, which differ in the first feature only; labels at random."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 1.0, (n_pairs, n_features))
    partners = X.copy()
    partners[:, 0] = move(X[:, 0])
    y = rng.integers(0, 2, n_pairs)
    return np.concatenate([X, partners]), np.concatenate([y, 1 - y])


errors = {name: [] for name in MODELS}
print(f"exactfit {exactfit.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}")
print(f"{'training errors of 160 points':<30}" + "".join(f"{name:>20}" for name in MODELS))
for gap, move in GAPS.items():
    X, y = close_pairs(move)
    for name, make in MODELS.items():
        model = make().fit(X, y)
        errors[name].append(int((model.predict(X) != y).sum()))
        if name == "exactfit":
            certificate = certify(model, X, y)
    print(f"{'pairs ' + gap + ' apart':<30}" + "".join(f"{counts[-1]:>20}" for counts in errors.values()))
print(certificate)

with style():
    figure, ax = plt.subplots(figsize=(7.2, 3.6))
    width = 0.8 / len(MODELS)
    for k, (name, counts) in enumerate(errors.items()):
        places = np.arange(len(GAPS)) + (k - (len(MODELS) - 1) / 2) * width
        bars = ax.bar(places, counts, 0.92 * width, label=name)
        ax.bar_label(bars, padding=2, fontsize=10, color=shade(k), fontweight="bold")
    ax.set_xticks(range(len(GAPS)), [f"{gap} apart" for gap in GAPS])
    ax.tick_params(axis="x", length=0)
    ax.set(title="Training errors on 80 pairs of opposite labels", ylabel="points of 160", ylim=(0, 96))
    ax.legend(loc="upper left", ncols=len(MODELS))
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()
