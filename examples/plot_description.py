"""
Why is this network as large as it is?
======================================

Everything the size depends on, for scikit-learn's digits: a mutual covering, the distances
between classes, and the number of detectors, predicted and found.

``python examples/plot_description.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from exactfit import describe
from exactfit.plots import plot_description

X, y = load_digits(return_X_y=True)
description = describe(X, y, n_jobs=2)
print(description)

axes = plot_description(description, X, y)
if len(sys.argv) > 1:
    axes[0].figure.savefig(sys.argv[1])
else:
    plt.show()
