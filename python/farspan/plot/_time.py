"""What happened over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from farspan._result import Result
from farspan.plot._style import COLOURS, Results, axes, by_label, finish, floats, heading, line, single

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farspan.plot._style import Floats

DASHES = {"intra": "-", "inter": (0, (4, 1))}
FAIR = 0.95

# More flows than this have no line of their own in the legend.
NAMED = 16


def _lines(result: Result, probe: str, knob: str) -> dict[str, tuple[Floats, Floats]]:
    """Times (ms) and values of each flow or port that a probe looked at."""
    import numpy as np

    series = result.series(probe)
    if not len(series):
        raise ValueError(f'no samples of {probe!r}; run with set={{{knob!r}: "100us"}}')
    times, values = floats(series.column("t_ns")) / 1e6, floats(series.column("value"))
    names, which = np.unique(np.asarray(series.column("id"), dtype=str), return_inverse=True)
    return {str(name): (times[which == i], values[which == i]) for i, name in enumerate(names)}


def _colours(count: int) -> list[Any]:
    """Give so many colours, each once."""
    import matplotlib as mpl
    import numpy as np

    if count <= len(COLOURS):
        return list(COLOURS[:count])
    return list(mpl.colormaps["turbo"](np.linspace(0.03, 0.97, count)))


def rates(result: Result, *, ax: Axes | None = None) -> Figure:
    """Draw the goodput of each flow over time, each in a colour of its own, dashed between sites.

    Parameters
    ----------
    result : Result
        Of a run with ``probes.rate_interval``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If there are several results.
    ValueError
        If there are no samples of rates.
    """
    result = single(result, "rates")
    whole, ax = axes(ax)
    lines = _lines(result, "rate", "probes.rate_interval")
    ends = [[str(value) for value in result.flows.column(name)] for name in ("class", "src", "dst")]
    flows = sorted(lines, key=int)
    for flow, colour in zip(flows, _colours(len(flows)), strict=True):
        times, values = lines[flow]
        name, src, dst = (column[int(flow)] for column in ends)
        label = f"{flow}: {src}→{dst}" if len(flows) <= NAMED else None
        ax.plot(times, values / 1e9, color=colour, linestyle=DASHES[name], linewidth=1, alpha=0.8, label=label)
    shown = [ends[0][int(flow)] for flow in flows]
    for name in sorted(set(shown), reverse=True):
        ax.plot([], [], color="#666666", linestyle=DASHES[name], label=f"{name}, {shown.count(name)} flows")
    ax.set_ylim(bottom=0)
    finish(ax, "time (ms)", "goodput of a flow (Gbit/s)", f"{heading([result])}, {result.scheme}")
    return whole


def queues(result: Result, *, ports: Sequence[str] | None = None, most: int = 4, ax: Axes | None = None) -> Figure:
    """Draw the queues of ports over time.

    Parameters
    ----------
    result : Result
        Of a run with ``probes.queue_interval``.
    ports : sequence of str, optional
        Which ports; by default the ones with the largest mean queue.
    most : int
        How many, by default.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If there are several results.
    ValueError
        If there are no samples of queues, or none of a port.
    """
    result = single(result, "queues")
    whole, ax = axes(ax)
    lines = _lines(result, "queue", "probes.queue_interval")
    if ports is None:
        ports = sorted(lines, key=lambda name: -lines[name][1].mean())[:most]
    for index, port in enumerate(ports):
        if port not in lines:
            raise ValueError(f"no samples of port {port!r}; there are: {', '.join(lines)}")
        times, values = lines[port]
        ax.plot(times, values / 1e3, linewidth=1, label=port, **line(index))
    ax.set_ylim(bottom=0)
    finish(ax, "time (ms)", "queue (KB)", f"{heading([result])}, {result.scheme}")
    return whole


def convergence(results: Results, *, ax: Axes | None = None) -> Figure:
    """Draw Jain's index of the fairness group over time, one line for each scheme.

    Of each sample, the flows count that were active throughout its interval. A dot marks where a run converged: from
    there on at least 95% of the samples are at 0.95 or above. Of several seeds the first is drawn.

    Parameters
    ----------
    results : Result, Runs, or an iterable of them
        Of runs with ``probes.rate_interval`` and ``measure.fairness_group``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there are no results, no fairness group, or no samples of rates.
    """
    whole, ax = axes(ax)
    curves = {label: (runs[0], *jain_over_time(runs[0])) for label, runs in by_label(results).items()}
    ax.axhline(FAIR, color="#999999", linewidth=0.8)
    for index, (label, (result, times, indices)) in enumerate(curves.items()):
        ax.plot(times, indices, linewidth=1.2, label=label, **line(index))
        converged = result.summary["fairness"]["converged_at_us"]
        if converged is not None:
            ax.plot(converged / 1e3, FAIR, "o", color=line(index)["color"], clip_on=False)
    ax.set_ylim(0, 1.02)
    finish(ax, "time (ms)", "Jain's index", heading([result for result, _, _ in curves.values()]))
    return whole


def jain_over_time(result: Result) -> tuple[Floats, Floats]:
    """Ends of the intervals (ms), and Jain's index over the group's flows that were active throughout each.

    Jain's index of rates x is (sum x)^2 / (n sum x^2).
    """
    import numpy as np

    fairness = result.summary["fairness"]
    if fairness["group"] is None:
        raise ValueError('no fairness group; run with set={"measure.fairness_group": TAG}')
    rates = _lines(result, "rate", "probes.rate_interval")
    flows = result.flows
    members = [i for i, tag in enumerate(flows.column("tag")) if tag == fairness["group"]]
    starts, ends = (floats(flows.column(name))[members] / 1e6 for name in ("start_ns", "delivered_ns"))
    times = np.unique(np.concatenate([times for times, _ in rates.values()]))
    table = np.zeros((times.size, len(members)))
    for column, flow in enumerate(members):
        if str(flow) in rates:
            at, values = rates[str(flow)]
            table[np.searchsorted(times, at), column] = values
    began = times[:, None] - fairness["interval_us"] / 1e3
    active = (starts <= began + 1e-9) & ~(ends < times[:, None] - 1e-9)
    table *= active
    squares = active.sum(axis=1) * (table**2).sum(axis=1)
    known = squares > 0
    return times[known], table[known].sum(axis=1) ** 2 / squares[known]
