"""
How large the networks are
==========================

The table of docs/sizes.md.

``python examples/sizes.py [runs]`` fits Two Moons and the digits with some options, once for every
seed 0, 1, ..., and prints the median over the runs of the number of hyperplanes, detectors and parameters.
"""

# sphinx_gallery_thumbnail_path = "images/two-moons.png"

import sys
from statistics import median

from exactfit import InterpolatingClassifier
from exactfit.demo import DATA

MODELS = {
    "the defaults": InterpolatingClassifier(),
    '`detectors="mask"`': InterpolatingClassifier(detectors="mask"),
    "`min_width=0`": InterpolatingClassifier(min_width=0),
    "`InterpolatingClassifier.paper()`": InterpolatingClassifier.paper(),
}


def sizes(X, y, seed, model):
    """Hyperplanes, detectors and parameters of a model that fits every point."""
    model.set_params(random_state=seed).fit(X, y)
    assert model.interpolates_
    return model.width_, model.n_detectors_, model.network_.n_parameters


runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
print("| data | options | hyperplanes | detectors | parameters |")
print("| --- | --- | ---: | ---: | ---: |")
for name, load in DATA.items():
    X, y = load()
    for label, model in MODELS.items():
        table = zip(*(sizes(X, y, seed, model) for seed in range(runs)), strict=True)
        hyperplanes, detectors, parameters = (f"{median(column):,.0f}" for column in table)
        print(f"| {name} | {label} | {hyperplanes} | {detectors} | {parameters} |")
