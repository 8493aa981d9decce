"""
Which features matter
=====================

How much each measurement of a tumour matters to a network that fits 568 of them; and, as text, what holds at the one
that it has not seen and speaks for its answer.

``python examples/plot_importances.py [picture.png]`` shows the picture, or writes it.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from exactfit import InterpolatingClassifier
from exactfit.plots import plot_importances, style

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = InterpolatingClassifier(random_state=0).fit(X.iloc[1:], y.iloc[1:])
print(model.explain(X.iloc[:1])[0])

with style():
    plot_importances(model, most=12)
    if len(sys.argv) > 1:
        plt.savefig(sys.argv[1], dpi=100)
    else:
        plt.show()
