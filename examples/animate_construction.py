"""
How a network comes about, as a film
====================================

Hyperplanes, more and more, until no cell mixes labels; then the detectors, one by one; at last the regions.

.. image:: ../images/construction.gif
   :alt: An animation of the construction on two moons.

``python examples/animate_construction.py [film.gif]`` writes the film, which is kept as docs/images/construction.gif.
"""

# sphinx_gallery_thumbnail_path = "images/tessellation.png"

import sys

from sklearn.datasets import make_moons

from exactfit import InterpolatingClassifier
from exactfit.plots import animate_construction

X, y = make_moons(150, noise=0.1, random_state=0)
model = InterpolatingClassifier.paper(random_state=1).fit(X, y)
print(animate_construction(model, X, y, sys.argv[1] if len(sys.argv) > 1 else "construction.gif", resolution=250))
