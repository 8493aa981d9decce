"""The paper's algorithms, as functions of data and a seed.

``build`` holds the two entrances; ``algorithms`` is Algorithms 1 and 2, which draw ``hyperplanes``, pack
every point's sides into ``patterns``, gather ``evidence`` (or ``values``), ``cover`` each target class and put
the network together in ``construction``.
"""

from ..options import Options
from .build import adaptive_width, fixed_width
from .construction import Construction, Trace

__all__ = ["Construction", "Options", "Trace", "adaptive_width", "fixed_width"]
