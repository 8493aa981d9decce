"""
Predicted sizes against networks that were not seen
===================================================

Predictions of ``calibrate`` against networks of widths it has not seen: the table of docs/geometry.md.

``python examples/held_out_widths.py [networks]`` calibrates on Two Moons and the digits with the
defaults, then builds so many networks at each of five other widths.
"""

# sphinx_gallery_thumbnail_path = "images/description.png"

import sys

from sklearn.datasets import load_digits, make_moons

from exactfit import Options, fixed_width
from exactfit.geometry import calibrate

DATA = {
    "Two Moons": make_moons(1000, noise=0.05, random_state=0),
    "noisy Two Moons": make_moons(1000, noise=0.2, random_state=0),
    "digits": load_digits(return_X_y=True),
}
SHARES = (1.5, 3, 6, 12, 20)
runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10

print("| data | width | predicted detectors | found | inside |")
print("| --- | ---: | ---: | ---: | ---: |")
inside = total = 0
for name, (X, y) in DATA.items():
    calibration = calibrate(X, y, random_state=0)
    least = min(fit.width for fit in calibration.fits)
    for share in SHARES:
        width = int(share * least)
        predicted = calibration.detectors(width)
        found = [len(fixed_width(X, y, width, Options(), 1000 + seed).trace.anchors) for seed in range(runs)]
        held = sum(number in predicted for number in found)
        inside, total = inside + held, total + runs
        print(f"| {name} | {width:,} | {predicted} | {min(found):,} to {max(found):,} | {held} of {runs} |", flush=True)
print(f"\n{inside} of {total} networks are inside their intervals of 90 %.")
