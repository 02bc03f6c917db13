"""What runs leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from farspan._farspan import Table

PROBES = ("rate", "cwnd", "rtt", "queue", "phantom_queue", "utilization", "proxy_queue", "signal")


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What one run left.

    Tables are Arrow tables: pandas, polars, pyarrow and DuckDB take them without copying (see :class:`Table`).

    Attributes
    ----------
    summary : dict
        The document that ``farspan run --json`` prints.
    scenario : str
        The resolved scenario as TOML, every default spelled out; ``farspan.run`` takes a file of it.
    flows : Table
        A row for each flow.
    ports : Table
        A row for each port.
    collectives : Table
        A row for each iteration of each group of a collective.

    Examples
    --------
    >>> import farspan as fs
    >>> result = fs.run("uno/incast-mixed", seed=1, set={"workload.flow_size": "64KiB"})
    >>> result.scheme, result.seed, len(result.flows)
    ('uno', 1, 8)
    >>> result.flows.units["fct_ns"]
    'ns'
    """

    summary: dict[str, Any]
    scenario: str
    flows: Table
    ports: Table
    collectives: Table
    _series: Table
    _by_probe: dict[str, Table] = field(default_factory=dict, init=False)

    @property
    def scheme(self) -> str:
        """The scheme's name."""
        return str(self.summary["scheme"])

    @property
    def seed(self) -> int:
        """The seed of all random draws."""
        return int(self.summary["seed"])

    @property
    def digest(self) -> str:
        """Equal for equal scenario, scheme, profile and seed, on any machine, engine and number of threads."""
        return str(self.summary["digest"])

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted."""
        return bool(self.summary["partial"])

    def series(self, probe: str | None = None) -> Table:
        """Samples in order of time: ``t_ns``, ``probe``, ``id``, ``value``.

        Parameters
        ----------
        probe : str, optional
            ``"rate"`` (bit/s), ``"cwnd"`` (bytes), ``"rtt"`` (ns) or ``"signal"`` (of some controls, without a
            unit) of flows; ``"queue"`` (bytes), ``"phantom_queue"`` (bytes) or ``"utilization"`` (fraction) of
            ports; ``"proxy_queue"`` (bytes) of proxies; by default all of them.

        Returns
        -------
        Table
            Empty if the probe was off: see ``probes.rate_interval`` and ``probes.queue_interval``.

        Raises
        ------
        ValueError
            If there is no such probe.
        """
        if probe is None:
            return self._series
        if probe not in PROBES:
            raise ValueError(f"{probe!r} is not a probe; there are: {', '.join(PROBES)}")
        if probe not in self._by_probe:
            self._by_probe[probe] = self._series.filter("probe", probe)
        return self._by_probe[probe]

    def __repr__(self) -> str:
        flows, partial = self.summary["flows"], ", partial" if self.partial else ""
        what = f"{self.summary['scenario']} scheme {self.scheme} seed {self.seed}"
        return f"<farspan.Result {what}: {flows['finished']} of {flows['started']} flows{partial}>"


class Runs(Sequence[Result]):
    """Runs that differ in their seeds alone, in the order in which the seeds were given.

    Attributes
    ----------
    summary : dict
        The document that ``farspan run --seeds A..B --json`` prints: ``runs``, and in ``summary`` the median,
        range and 95% interval of every number.
    """

    def __init__(self, results: Sequence[Result], summary: dict[str, Any]) -> None:
        self._results = tuple(results)
        self.summary = summary

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, index: int | slice) -> Result | tuple[Result, ...]:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def __repr__(self) -> str:
        seeds = ", ".join(str(result.seed) for result in self)
        what = f"{self[0].summary['scenario']} scheme {self[0].scheme}" if self._results else "nothing"
        return f"<farspan.Runs of {what}: seeds {seeds}>"
