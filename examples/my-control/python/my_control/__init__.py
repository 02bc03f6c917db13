"""farspan, with the congestion control my-control: `import my_control as fs` in the place of `import farspan as fs`."""

import sys

if "farspan" in sys.modules:
    raise ImportError("farspan is here already, without my-control; import my_control before it")

from my_control import _native

# In the place of farspan's own native part, which does not know the control.
sys.modules["farspan._farspan"] = _native

from farspan import *  # noqa: E402, F403
