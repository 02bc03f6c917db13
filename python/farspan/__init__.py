"""farspan: one transport for traffic inside and across datacenters. This release simulates.

>>> import farspan as fs
>>> fs.__version__.count(".")
2
"""

from farspan._run import Result, run
from farspan._farspan import __version__

__all__ = ["Result", "__version__", "run"]
