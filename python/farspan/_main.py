"""The ``farspan`` command, as the wheel brings it."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from farspan import _farspan


def main() -> NoReturn:
    """Run the command with the arguments of this process, and exit with its code."""
    # Python would note a Ctrl-C and never look: the command has its own ways with signals.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _farspan.main(["farspan", *sys.argv[1:]], [sys.executable, "-m", "farspan"], str(_farspan.__file__))
    sys.exit(code)
