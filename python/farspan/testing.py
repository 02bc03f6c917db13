"""Tests of congestion controls, in a small model of one bottleneck."""

from __future__ import annotations

from typing import Literal

from farspan import _farspan
from farspan.control import Control, classes


def window_curve(
    control: type[Control] | str, path: Literal["intra", "inter"] = "intra"
) -> list[tuple[int, int, int | None]]:
    """Lead one flow through a script: half of the link is taken and given back; one packet is lost, then all are.

    Parameters
    ----------
    control : class or str
        A subclass of :class:`farspan.Control`, or the name of a built-in control.
    path : str
        ``"intra"``: 100 Gb/s, 14 us; ``"inter"``: 100 Gb/s, 1.792 ms.

    Returns
    -------
    list of tuple
        Each new decision: when (ps), the window (bytes), the rate (bit/s) or ``None``.

    Raises
    ------
    ScenarioError
        If the class lacks a method, or ``needs``, or contradicts itself.

    Examples
    --------
    >>> import farspan as fs
    >>> curve = fs.testing.window_curve("dctcp")
    >>> curve[0]
    (0, 175344, None)
    """
    return _farspan.window_curve(_whole(control), path == "inter")


def check(control: type[Control] | str) -> None:
    """Check a control against the contract, under random events.

    Its windows and rates are sound, a NACK never widens the window, the first window is the scenario's, the same events
    give the same decisions, and it looks at nothing that its `needs` do not name.

    Parameters
    ----------
    control : class or str
        A subclass of :class:`farspan.Control`, or the name of a built-in control.

    Raises
    ------
    ScenarioError
        If the class lacks a method, or ``needs``, or contradicts itself.
    AssertionError
        With the fewest events that lead to the first breach found. What the control itself raises goes on.
    """
    _farspan.conforms(_whole(control))


def _whole(control: type[Control] | str) -> type[Control] | str:
    """Refuse a class that lacks a part of the contract."""
    return control if isinstance(control, str) else classes(control)[0] or control
