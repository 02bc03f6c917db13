"""The ``farspan`` command, as the wheel brings it."""

from __future__ import annotations

import itertools
import signal
import sys
from typing import NoReturn

from farspan import _farspan


def main() -> NoReturn:
    """Run the command with the arguments of this process, and exit with its code."""
    words = sys.argv[1:]
    if words[:1] == ["sweep"] and _names_ray(words):
        from farspan._sweep_command import sweep_on_ray

        sys.exit(sweep_on_ray(words[1:]))
    # Python would note a Ctrl-C and never look: the command has its own ways with signals.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _farspan.main(["farspan", *words], itself(), str(_farspan.__file__))
    sys.exit(code)


def itself() -> list[str]:
    """Give the words that start this command anew: the package's, in which farspan's native part stands."""
    return [sys.executable, "-m", _farspan.__name__.partition(".")[0]]


def _names_ray(words: list[str]) -> bool:
    """Whether the backend is Ray, which is reached from Python alone. Help is the command's own."""
    named = "--backend=ray" in words or ("--backend", "ray") in itertools.pairwise(words)
    return named and not {"-h", "--help"}.intersection(words)
