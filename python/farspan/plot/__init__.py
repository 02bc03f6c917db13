"""Figures from results, with matplotlib (``pip install 'farspan[plot]'``).

Every function takes one :class:`farspan.Result` or several, draws into a figure of its own or into the given axes,
and gives the figure: ``figure.savefig("fct.pdf")``. Results of one scheme under several seeds are drawn as one line.
Colours can be told apart by colour-blind readers, and lines by their dashes in print.
"""

from farspan.plot._distribution import fct_cdf, slowdown_by_size
from farspan.plot._over import over
from farspan.plot._summary import comparison
from farspan.plot._time import convergence, queues, rates

__all__ = ["comparison", "convergence", "fct_cdf", "over", "queues", "rates", "slowdown_by_size"]
