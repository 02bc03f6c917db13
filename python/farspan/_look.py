"""Lists what is built in, and checks a scenario without running it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from farspan import _farspan
from farspan._request import Scenario, request


def catalog(kind: str) -> list[dict[str, Any]]:
    """Everything of a kind: the document of ``farspan list KIND --json``.

    Parameters
    ----------
    kind : str
        ``"schemes"``, ``"congestion"``, ``"balance"``, ``"coding"``, ``"queues"``, ``"topologies"``,
        ``"workloads"``, ``"scenarios"`` or ``"figures"``.

    Returns
    -------
    list of dict
        ``name``, ``summary``, ``source`` and ``available`` (whether this release has it).

    Raises
    ------
    ScenarioError
        If there is no such kind.

    Examples
    --------
    >>> import farspan as fs
    >>> [entry["name"] for entry in fs.catalog("coding")]
    ['none', 'mds']
    """
    entries: list[dict[str, Any]] = json.loads(_farspan.catalog(kind))
    return entries


def _names(kind: str) -> list[str]:
    return [entry["name"] for entry in catalog(kind) if entry["available"]]


def scenarios() -> list[str]:
    """Names of the built-in scenarios.

    Examples
    --------
    >>> import farspan as fs
    >>> "uno/incast-mixed" in fs.scenarios()
    True
    """
    return _names("scenarios")


def schemes() -> list[str]:
    """Names of the built-in schemes of this release; ``"CC+LB"`` and ``"A/B"`` combine more.

    Examples
    --------
    >>> import farspan as fs
    >>> "uno-noec" in fs.schemes()
    True
    """
    return _names("schemes")


@dataclass(frozen=True)
class Path:
    """A path in an empty network.

    Attributes
    ----------
    links : int
        Links from sender to receiver.
    base_rtt_us : float
        A full packet out and its ACK back, in microseconds.
    bdp_bytes : int
        Rate of the sender's NIC times the base RTT.
    """

    links: int
    base_rtt_us: float
    bdp_bytes: int


@dataclass(frozen=True)
class Check:
    """What a scenario means and costs.

    Attributes
    ----------
    scenario : str
        The resolved scenario as TOML, every default spelled out.
    flows, payload_bytes : int
        Flows, and their payload.
    packet_hops : int
        Estimated work of a run: packets that finish transmission on a link, without retransmissions.
    memory_bytes : int
        Estimated memory of flows and samples, without the network.
    offered_load : dict
        Load by tier and direction; ``None`` where all comes at one instant.
    transient : bool
        Whether a tier is loaded by 0.95 or more: queues grow while flows arrive.
    intra, inter : Path or None
        The farthest pair inside a site, and a pair between sites.
    warnings : list of str
        Warnings: things that are odd but not errors.
    """

    scenario: str
    flows: int
    payload_bytes: int
    packet_hops: int
    memory_bytes: int
    offered_load: dict[str, float | None]
    transient: bool
    intra: Path | None
    inter: Path | None
    warnings: list[str]


def check(
    scenario: Scenario,
    *,
    scheme: str | None = None,
    profile: str | None = None,
    seed: int | None = None,
    set: Mapping[str, object] | None = None,
) -> Check:
    """Validate a scenario, fill in every default, and estimate what a run costs.

    The arguments are those of :func:`run`.

    Returns
    -------
    Check

    Raises
    ------
    ScenarioError
        If the input is wrong.

    Examples
    --------
    >>> import farspan as fs
    >>> checked = fs.check("uno/incast-mixed", set={"topology.wan.rtt": "4ms"})
    >>> checked.flows, checked.inter.links, round(checked.inter.base_rtt_us)
    (8, 9, 4000)
    """
    document = json.loads(_farspan.check(request(scenario, scheme, profile, seed, set)))
    estimate, paths = document["estimate"], document["paths"]
    return Check(
        scenario=document["scenario"],
        offered_load=document["offered_load"],
        transient=document["transient"],
        intra=paths["intra"] and Path(**paths["intra"]),
        inter=paths["inter"] and Path(**paths["inter"]),
        warnings=document["warnings"],
        **estimate,
    )
