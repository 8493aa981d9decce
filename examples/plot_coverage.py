"""
Answer only what is clear
=========================

Coverage against accuracy: how often the answers are right if only the clearest ones are given. The
markers show the rule of ``abstains``: answer where exactly one class claims the point.

``python examples/plot_coverage.py [picture.png]`` draws scikit-learn's digits; with ``--data FOLDER``
MNIST from its files (60,000 training and 10,000 test images), the picture and table of docs/explanations.md.
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactfit import InterpolatingClassifier
from exactfit.lab import load_dataset
from exactfit.plots import plot_coverage, style

parser = argparse.ArgumentParser()
parser.add_argument("picture", nargs="?")
parser.add_argument("--data", help="folder with MNIST's files")
parser.add_argument("--widths", type=int, nargs="*", default=[500, 2000], help="values of min_width")
options = parser.parse_args()

if options.data:
    mnist = load_dataset("mnist", options.data)
    parts = mnist.X[:60_000], mnist.X[60_000:], mnist.y[:60_000], mnist.y[60_000:]
else:
    parts = train_test_split(*load_digits(return_X_y=True), test_size=597, random_state=0)
X, X_test, y, y_test = parts

print("| model | width | detectors | accuracy | answered | accuracy of these | none claims | several claim |")
print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
models = {}
for least in [0, *options.widths]:
    name = f"min_width={least}"
    model = InterpolatingClassifier.paper(center=True, min_width=least, target="all", n_jobs=2, random_state=0).fit(
        X, y
    )
    models[name] = model
    clear, right = ~model.abstains(X_test), model.predict(X_test) == y_test
    claims = (model.decision_function(X_test) > 0).sum(axis=1)
    print(
        f"| {name} | {model.width_:,} | {model.n_detectors_:,} | {right.mean():.2%} | {clear.mean():.2%} "
        f"| {right[clear].mean():.2%} | {(claims == 0).mean():.2%} | {(claims > 1).mean():.2%} |",
        flush=True,
    )

with style():
    ax = plot_coverage(models, X_test, y_test)
    ax.set_title("MNIST, 10,000 test images" if options.data else f"digits, {len(y_test)} test images")
    if options.picture:
        ax.figure.savefig(options.picture, dpi=110)
    else:
        plt.show()
