"""Distributions over flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from farspan._farspan import slowdown_bins
from farspan._result import Result
from farspan.plot._style import Results, axes, by_label, finish, floats, heading, line, listed, marker, plain_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farspan.plot._style import Floats


def _chosen(results: list[Result], group: str | None) -> tuple[Floats, Floats, Floats]:
    """Sizes (bytes), completion times (ns) and slowdowns of started flows of a class or tag; NaN while unfinished."""
    import numpy as np

    parts = []
    for result in results:
        flows = result.flows
        keep = np.asarray(flows.column("measured"), dtype=bool) & ~np.isnan(floats(flows.column("start_ns")))
        if group is not None:
            names = [flows.column(name) for name in ("class", "tag")]
            keep &= np.asarray([group in pair for pair in zip(*names, strict=True)], dtype=bool)
        parts.append([floats(flows.column(name))[keep] for name in ("size_bytes", "fct_ns", "slowdown")])
    sizes, fcts, slowdowns = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not sizes.size:
        known = sorted({str(name) for result in results for name in result.flows.column("tag")})
        raise ValueError(f"no measured flow that started is of {group!r}; there are: intra, inter, {', '.join(known)}")
    return sizes, fcts, slowdowns


def fct_cdf(
    results: Results,
    *,
    group: str | None = None,
    slowdown: bool = False,
    complementary: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draw the distribution of flow completion times (CDF), one line for each scheme.

    Flows of several seeds are pooled. Flows that had not ended count as infinite: their line ends below 1. Flows that
    never started do not count.

    Parameters
    ----------
    results : Result, Runs, or an iterable of them
    group : str, optional
        ``"intra"``, ``"inter"`` or a tag; by default all measured flows.
    slowdown : bool
        Draw FCT / ideal FCT instead.
    complementary : bool
        Draw the CCDF instead: the fraction of flows that took longer, on a logarithmic axis.
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
        If there are no results, or no flows of the group.
    """
    whole, ax = axes(ax)
    import numpy as np

    for index, (label, runs) in enumerate(by_label(results).items()):
        _, fcts, slowdowns = _chosen(runs, group)
        values = np.sort(slowdowns if slowdown else fcts / 1e6)
        shares = np.arange(1, values.size + 1) / values.size
        ended = np.isfinite(values)
        values, shares = values[ended], shares[ended]
        if values.size:
            steps = np.r_[0.0, shares]
            # No flow took longer than the slowest: a logarithmic axis ends there at the fraction before.
            below = np.where(steps < 1, steps, steps[steps < 1].max())
            heights = 1 - below if complementary else steps
            ax.step(np.r_[values[0], values], heights, where="post", label=label, **line(index))
    plain_log(ax, "x")
    if complementary:
        plain_log(ax, "y")
    else:
        ax.set_ylim(0, 1.02)
    what = "slowdown (FCT / ideal FCT)" if slowdown else "flow completion time (ms)"
    fraction = "CCDF: fraction of flows that took longer" if complementary else "CDF: fraction of flows"
    finish(ax, what, fraction, _title(listed(results), group))
    return whole


def slowdown_by_size(
    results: Results,
    *,
    quantiles: tuple[float, ...] = (0.5, 0.99),
    group: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw quantiles of the slowdown over flow size, one colour for each scheme and dashes for each quantile.

    Bins are those of reports: one for each size if there are at most 12 of them, else up to powers of two, so wide that
    ten flows fall into each, and above the median as many as the quantile takes: the 99% one takes 100. A point stands
    at the largest size of its bin. Quantiles are by nearest rank; unfinished flows count as infinite, and those that
    never started do not count. Where a bin is infinite, the line breaks.

    Parameters
    ----------
    results : Result, Runs, or an iterable of them
    quantiles : tuple of float
        Which quantiles, to a ten-thousandth.
    group : str, optional
        ``"intra"``, ``"inter"`` or a tag; by default all measured flows.
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
        If there are no results, or no flows of the group.
    """
    whole, ax = axes(ax)
    chosen = {label: _chosen(runs, group) for label, runs in by_label(results).items()}
    for index, (label, (sizes, _, slowdowns)) in enumerate(chosen.items()):
        look = {"color": line(index)["color"], "marker": marker(index), "markersize": 4}
        ax.plot([], [], linestyle="none", label=label, **look)
        for dash, quantile in enumerate(quantiles):
            bins = slowdown_bins(sizes.astype(int).tolist(), slowdowns.tolist(), quantile)
            heights = floats([value for _, _, value in bins])
            ax.plot([size for size, _, _ in bins], heights, linestyle=line(dash)["linestyle"], **look)
    for dash, quantile in enumerate(quantiles):
        ax.plot([], [], color="#666666", linestyle=line(dash)["linestyle"], label=f"p{100 * quantile:g}")
    ax.set_xscale("log")
    plain_log(ax, "y")
    finish(ax, "flow size, up to (bytes)", "slowdown (FCT / ideal FCT)", _title(listed(results), group))
    return whole


def _title(results: list[Result], group: str | None) -> str:
    return heading(results) + (f", {group} flows" if group else "")
