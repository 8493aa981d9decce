"""
The limit of many hyperplanes
=============================

As the width n and then lambda grow, a detector fires on an open ball around its anchor that
ends at the nearest point of another class. Covering each class by such balls costs no
hyperplane and forecasts the number of detectors. Left: networks of growing n and lambda on
the digits, scaled to largest norm 1, against that forecast; widths at which some network
misses points are left out. Right: the balls of one order for Two Moons.

``python examples/plot_limit_shape.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_digits, make_moons

from exactfit import Options, fixed_width
from exactfit.geometry import limit_cover, radius
from exactfit.plots import plot_points, style
from exactfit.plots.style import GREY, INK, LINES, color, marker

WIDTHS = (100, 200, 500, 1000, 2000, 5000, 10000)
LAMBDAS = (0.25, 0.5, 1.0, 3.0)
SEEDS = range(3)

digits, labels = load_digits(return_X_y=True)
digits /= radius(digits, center=False)


def detectors(width, max_bias):
    options = Options(max_bias=max_bias, center=False)
    made = [fixed_width(digits, labels, width, options, seed) for seed in SEEDS]
    return [len(one.trace.anchors) for one in made] if all(one.outcome.interpolates for one in made) else None


fits = {lam: {n: numbers for n in WIDTHS if (numbers := detectors(n, lam))} for lam in LAMBDAS}
forecast = [limit_cover(digits, labels, random_state=seed).n_detectors for seed in SEEDS]

X, y = make_moons(1000, noise=0.05, random_state=0)
X /= radius(X, center=False)
limit = limit_cover(X, y, target=1, random_state=0)

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9))
    for k, (lam, numbers) in enumerate(fits.items()):
        widths, found = list(numbers), list(numbers.values())
        left.vlines(widths, [min(one) for one in found], [max(one) for one in found], color=color(k), linewidth=1.0)
        line = {"color": color(k), "marker": marker(k), "markersize": 4.5, "linestyle": LINES[k]}
        left.plot(widths, [np.mean(one) for one in found], **line, label=rf"$\lambda$ = {lam:g}")
    left.axhspan(min(forecast), max(forecast), color=GREY, alpha=0.2, linewidth=0)
    left.axhline(np.mean(forecast), color=INK, linewidth=1.4, label="limit forecast")
    left.set(xlabel="width $n$", ylabel="detectors", xscale="log")
    left.set_title("digits: detectors of networks, and the limit's")
    left.set_ylim(bottom=0)
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    left.legend()
    plot_points(X, y, right)
    for anchor, reach in zip(limit.anchors, limit.radii, strict=True):
        right.add_patch(Circle(X[anchor], reach, facecolor=color(1), alpha=0.15, linewidth=0, zorder=0))
        right.add_patch(Circle(X[anchor], reach, fill=False, edgecolor=INK, linewidth=0.9, zorder=3))
    right.scatter(*X[limit.anchors].T, marker="*", s=60, color=INK, zorder=4)
    right.set_title(f"Two Moons: the limit's {limit.n_detectors} balls for one order")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1])
    else:
        plt.show()

print(f"digits, limit forecast: {np.mean(forecast):.0f}")
for lam, numbers in fits.items():
    print(f"  lambda {lam}:", ", ".join(f"{np.mean(found):.0f} at n = {n}" for n, found in numbers.items()))
made = fixed_width(X, y, 100_000, Options(max_bias=10.0, center=False, target=1), 0)
same = np.array_equal(made.trace.anchors, limit.anchors)
print("Two Moons, n = 100000, lambda = 10: the same anchors as the limit's:", same)
