"""Published constructions of memorizing networks behind one protocol, those of one idea in one file.

``base`` states the protocol, and holds the paper's two algorithms. All code is a reconstruction, not the authors'; each
file says what is faithful to its sources and what is ours, how large the network is, and what float64 can hold. A
construction's ``citation`` is where it was published. Sizes are widths of layers, hidden ones first, for N points with
d features in K classes and with o outputs, 1 for two classes and else K, unless said otherwise. A layer of w units over
v inputs has w (v + 1) parameters. Here y always holds class indices 0..K-1; a recipe for two classes is used once for
each class against the rest.

``CONSTRUCTORS`` holds those that fit all points, by name, with their default options and some variants.
"""

from .base import AdaptiveWidth, Constructor, FixedWidth
from .deep_narrow import Park, Vardi
from .line import Huang, Yun, Zhang
from .polytopes import PolytopeCover
from .prototypes import BallCover, CondensedNeighbour
from .random_codes import LiftedBaum, Rajput, Vershynin
from .relu_features import Caps, RandomFeatures
from .slabs import Baum, Bubeck

CONSTRUCTORS: dict[str, Constructor] = {
    "adaptive-width": AdaptiveWidth(),
    "adaptive-width-relu": AdaptiveWidth(activation="relu"),
    "adaptive-width-weighted": AdaptiveWidth(detectors="weighted"),
    "ball-cover": BallCover(),
    "ball-cover-greedy": BallCover("greedy"),
    "baum": Baum(),
    "baum-sum": Baum("sum"),
    "bubeck": Bubeck(),
    "caps": Caps(),
    "condensed-neighbour": CondensedNeighbour(),
    "huang": Huang(),
    "lifted-baum": LiftedBaum(),
    "park": Park(),
    "polytope-cover": PolytopeCover(),
    "polytope-cover-threshold": PolytopeCover(activation="threshold"),
    "rajput": Rajput(),
    "random-features": RandomFeatures(),
    "random-features-one-layer": RandomFeatures(layers=1),
    "vardi": Vardi(),
    "vershynin": Vershynin(),
    "yun": Yun(),
    "zhang": Zhang(),
    "zhang-slopes": Zhang(ramps=False),
}

__all__ = [
    "CONSTRUCTORS",
    "AdaptiveWidth",
    "BallCover",
    "Baum",
    "Bubeck",
    "Caps",
    "CondensedNeighbour",
    "Constructor",
    "FixedWidth",
    "Huang",
    "LiftedBaum",
    "Park",
    "PolytopeCover",
    "Rajput",
    "RandomFeatures",
    "Vardi",
    "Vershynin",
    "Yun",
    "Zhang",
]
