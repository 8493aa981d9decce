"""The paper's algorithms, as functions of data and a seed.

``fixed`` is Algorithm 2, ``adaptive`` Algorithm 1; both draw ``hyperplanes``, pack
every point's sides into patterns, gather ``evidence`` (or ``values``), ``cover`` each
target class and put the network together in ``one_vs_rest``.
"""

from .adaptive import adaptive_width
from .construction import Construction, Trace
from .fixed import fixed_width
from .recipe import Recipe

__all__ = ["Construction", "Recipe", "Trace", "adaptive_width", "fixed_width"]
