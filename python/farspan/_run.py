"""Running a scenario from Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from farspan import _farspan


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes
    ----------
    summary : dict
        The document that ``farspan run --json`` prints.
    """

    summary: dict[str, Any]


def run(
    scenario: str,
    *,
    scheme: str | None = None,
    profile: str | None = None,
    seed: int | None = None,
    set: Mapping[str, object] | None = None,
) -> Result:
    """Run a scenario.

    Parameters
    ----------
    scenario : str
        The name of a built-in scenario, such as ``"uno/incast-mixed"``, or the path of a TOML file.
    scheme : str, optional
        The scheme, such as ``"uno-noec"``; by default the scenario's.
    profile : str, optional
        ``"paper"`` or ``"artifact"``; by default the scenario's.
    seed : int, optional
        The seed; by default the scenario's.
    set : mapping, optional
        Values by path, such as ``{"topology.wan.rtt": "4ms"}``.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        If the input is wrong; the message names the place and the cure.
    """
    sets = [f"{path}={value}" for path, value in (set or {}).items()]
    return Result(json.loads(_farspan.run(scenario, scheme, profile, seed, sets)))
