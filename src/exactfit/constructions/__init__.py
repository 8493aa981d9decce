"""Published constructions of memorizing networks, one file each, behind one protocol.

``base`` states the protocol. Each file says what is faithful to its paper and what is our own reconstruction.
``CONSTRUCTORS`` holds those that fit all points, by name, with their default options and some variants.
"""

from .ball_cover import BallCover
from .base import Constructor
from .baum import Baum
from .bubeck import Bubeck
from .caps import Caps
from .huang import Huang
from .lifted_baum import LiftedBaum
from .nearest_neighbour import CondensedNeighbour
from .own import AdaptiveWidth, FixedWidth
from .park import Park
from .polytopes import PolytopeCover
from .rajput import Rajput
from .random_features import RandomFeatures
from .vardi import Vardi
from .vershynin import Vershynin
from .yun import Yun
from .zhang import Zhang

CONSTRUCTORS: dict[str, Constructor] = {
    "adaptive-width": AdaptiveWidth(),
    "adaptive-width-greedy": AdaptiveWidth(selection="greedy"),
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
