"""
Two Moons
=========

Left: as many hyperplanes as it takes, and the regions that come out. Each edge of a region
lies on a hyperplane. Right: with many more hyperplanes than needed, fewer detectors do, and
each fires close to a disc around its anchor that ends at the nearest point of the other class.

``python examples/plot_two_moons.py [picture.png]`` shows the picture, or writes it.
"""

import sys
from io import BytesIO

import matplotlib.pyplot as plt
from PIL import Image

from exactfit import InterpolatingClassifier
from exactfit.demo import two_moons
from exactfit.plots import plot_regions, style

X, y = two_moons()
narrow = InterpolatingClassifier.paper(center=True, random_state=0).fit(X, y)
wide = InterpolatingClassifier.paper(center=True, min_width=2000, random_state=0).fit(X, y)

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9))
    plot_regions(narrow, X, y, ax=left, resolution=500, hyperplanes=narrow.width_)
    left.set_title(f"{narrow.width_} hyperplanes, {narrow.n_detectors_} detectors")
    plot_regions(wide, X, y, ax=right, resolution=500, detectors=True)
    right.set_title(f"{wide.width_} hyperplanes, {wide.n_detectors_} detectors, each in its own colour")
    if len(sys.argv) > 1:
        # A palette of 128 colours keeps the file small.
        figure.savefig(whole := BytesIO(), format="png")
        Image.open(whole).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(sys.argv[1], optimize=True)
    else:
        plt.show()

for model in (narrow, wide):
    print(model.width_, "hyperplanes,", model.n_detectors_, "detectors,", model.network_.n_parameters, "parameters")
