"""Labelled points of every kind that a construction may meet, for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from exactfit.construct import Options

ONE_UP = float(np.nextafter(1.0, 2.0))

# Grids make ties, neighbours need rescue, and far from the origin everything is a close call.
COORDINATES = {
    "grid": st.integers(-2, 2).map(float),
    "halves": st.integers(-3, 3).map(lambda k: k / 2),
    "interval": st.floats(-1, 1, allow_subnormal=False).map(lambda v: round(v, 6)),
    "any": st.floats(-1e3, 1e3, allow_subnormal=False),
    "offset": st.integers(-3, 3).map(lambda k: 1e8 + k),
    "neighbours": st.sampled_from([0.0, 0.5, 1.0, ONE_UP]),
    "denormal": st.sampled_from([0.0, 5e-324, 1e-323, 1.0]),
}
# Real-valued activations cannot tell points apart that differ by a denormal number.
FOR_VALUES = tuple(kind for kind in COORDINATES if kind != "denormal")


@st.composite
def problems(draw, *, kinds=tuple(COORDINATES), max_points=10, max_features=3, max_classes=4):
    """(X, y): any number of points and features, equal points allowed where their labels agree."""
    d = draw(st.integers(1, max_features))
    coordinate = COORDINATES[draw(st.sampled_from(kinds))].map(lambda v: v + 0.0)  # -0.0 equals 0.0
    points = draw(st.lists(st.tuples(*[coordinate] * d), min_size=2, max_size=max_points, unique=True))
    n_classes = draw(st.integers(2, min(max_classes, len(points))))
    labels = [*range(n_classes), *(draw(st.integers(0, n_classes - 1)) for _ in points[n_classes:])]
    repeated = draw(st.lists(st.integers(0, len(points) - 1), max_size=3))
    rows = draw(st.permutations([*range(len(points)), *repeated]))
    return np.array([points[r] for r in rows]), np.array([labels[r] for r in rows])


seeds = st.integers(0, 2**32)


def some_options(**options):
    """Recipes of every kind, but for the options that are given."""
    choices = {
        "max_bias": st.sampled_from(["radius", 0.0, 0.5, 3.0]),
        "center": st.booleans(),
        "hyperplanes": st.sampled_from(["gaussian", "bisector"]),
        "target": st.sampled_from([None, "all"]),
        "n_jobs": st.sampled_from([1, 2]),
    }
    return st.builds(Options, **choices | {name: st.just(value) for name, value in options.items()})
