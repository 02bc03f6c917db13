"""Incasts that a program declares."""

from __future__ import annotations

from collections.abc import Iterable

from farspan._errors import ScenarioError


def incast(
    senders: Iterable[int], receiver: int, bytes: int | str, tag: str | None = None, start: str | None = None
) -> dict[str, list[dict[str, object]]]:
    """Declare an incast: several hosts send to one.

    Where the scheme has a proxy, flows between sites go through it.

    Parameters
    ----------
    senders
        The sending hosts.
    receiver
        The receiving host.
    bytes
        Payload of all of them together, in bytes or as text such as ``"100MB"``. Each sends an equal part, rounded up.
    tag
        The name of its flows in results; left out: ``"incast"``.
    start
        When it starts, such as ``"2ms"``; left out: at once.

    Returns
    -------
    dict
        The part of a scenario that declares it: ``scenario | incast(...)``, or the lists of several joined.

    Examples
    --------
    >>> import farspan as fs
    >>> fs.incast([0, 8, 16, 24], 64, "100MB")
    {'incast': [{'senders': [0, 8, 16, 24], 'receiver': 64, 'bytes': '100MB'}]}
    >>> network = {"base": "proxy/degree", "name": "mine", "workload": []}
    >>> fs.check(network | fs.incast([0, 8, 16, 24], 64, "20MB")).flows
    4

    """
    hosts = [int(host) for host in senders]
    if not hosts:
        raise ScenarioError("an incast has no sender", argument="senders", cure="give hosts, such as [0, 1, 2]")
    declared: dict[str, object] = {
        "senders": hosts,
        "receiver": int(receiver),
        "bytes": f"{bytes}B" if isinstance(bytes, int) else bytes,
    }
    if tag is not None:
        declared["tag"] = tag
    if start is not None:
        declared["start"] = start
    return {"incast": [declared]}
