"""
Millions of points in bounded memory
====================================

Limits lowered over millions of points, in bounded memory: the numbers of docs/geometry.md.

``python examples/stream_moons.py [points]`` builds a network on 3,000 points of Two Moons with
noise that is uniform in a disc, streams further points through it, and prints what came out,
for some widths, with the most memory that arrays and objects took meanwhile.
"""

# sphinx_gallery_thumbnail_path = "images/extend-moons.png"

import sys
import time
import tracemalloc

from exactfit import Options, extend, fixed_width
from exactfit.geometry.theorem import make_disc_moons

NOISE = 0.15
BATCH = 100_000
n_points = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000


def stream():
    """The same points every time: each batch has its own seed."""
    for index in range(n_points // BATCH):
        yield make_disc_moons(BATCH, noise=NOISE, random_state=1000 + index)


X, y = make_disc_moons(3000, noise=NOISE, random_state=0)
for width in (300, 1000, 3000):
    made = fixed_width(X, y, width, Options(target=1), 0)
    tracemalloc.start()
    started = time.perf_counter()
    extended = extend(made, stream, training=(X, y), n_jobs=2)
    seconds, memory = time.perf_counter() - started, tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(f"width {width}: {extended}")
    print(f"  {seconds:.0f} s, {memory:.0f} MB at most, certificate holds: {extended.certificate.holds}")
