"""A number over an axis."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farspan import _farspan
from farspan._result import Result, Runs
from farspan._sweep import Sweep
from farspan.plot._style import axes, figure, finish, floats, line, listed, marker, plain_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches from which on text is that of a page, and its sizes in points.
PAGE = 5
COLUMN_TEXT, PAGE_TEXT = 7, 9


def over(
    runs: Sweep | str | os.PathLike[str] | Result | Runs | Iterable[Result | Runs],
    *,
    x: str,
    y: str,
    by: str = "scheme",
    where: Mapping[str, object] | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    title: str | None = None,
    width: float = 3.33,
    ax: Axes | None = None,
) -> Figure:
    """Draw a number of the summary over what varies among runs, a line for each scheme.

    A point is the median over the seeds. The band is its 95% bootstrap interval; with fewer than six seeds it reaches
    from the smallest to the largest number. Infinite numbers, of flows that did not end or rates that never converged,
    stand at ∞ above the axis, and the line breaks there. An axis is logarithmic where its values span more than a
    decade, that of the key only if they do so in growing steps. ``farspan plot`` draws the same.

    Parameters
    ----------
    runs : Sweep, path, Result, Runs, or an iterable of results
        A sweep, a folder of one or of runs, or results.
    x : str
        The key on the axis, such as ``"topology.wan.rtt"``; of keys that vary, the last names do (``"rtt"``).
    y : str
        The number: its place in :attr:`farspan.Result.summary`, joined by dots, such as ``"fct.inter.p99_us"``.
    by : str
        The key that has one line per value.
    where : mapping, optional
        Only the runs with these values of these keys, such as ``{"topology.buffer": "1MiB"}``, also by the last names.
        Quantities are compared, not spellings.
    x_label, y_label : str, optional
        What the axes are called; by default the key and the number, with their units.
    title : str, optional
        What stands above the axes; by default nothing.
    width : float
        Width of the figure in inches: 3.33 fits a paper's column, 7 its page.
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
        If there are no results, a name is not known, or something varies that is neither on the axis nor has its line:
        the error names it.
    """
    whole = figure(width, min(0.62 * width + 0.4, 3.9)) if ax is None else axes(ax)[0]
    if isinstance(runs, Sweep):
        found: Any = runs.folder
    elif isinstance(runs, str | os.PathLike):
        found = Path(runs)
    else:
        found = [(json.dumps(result.summary), result.scenario) for result in listed(runs)]
    only = [(key, str(value)) for key, value in (where or {}).items()]
    chart = json.loads(_farspan.over(found, (x, y, by), only))
    chart["x_label"] = chart["x_label"] if x_label is None else x_label
    chart["y_label"] = chart["y_label"] if y_label is None else y_label
    if ax is not None:
        _draw(ax, chart, title)
        return whole
    from matplotlib import rc_context

    size = COLUMN_TEXT if width < PAGE else PAGE_TEXT
    with rc_context({"font.size": size}):
        # A sign is about half as wide as high.
        wide, high = (int(144 / size * inches * 0.8) for inches in whole.get_size_inches())
        chart["x_label"], chart["y_label"] = (
            textwrap.fill(chart[key], room) for key, room in (("x_label", wide), ("y_label", high))
        )
        _draw(whole.add_subplot(), chart, textwrap.fill(title or "", wide))
        notes = "; ".join([chart["heading"], *chart["notes"]])
        whole.supxlabel(textwrap.fill(notes, int(24 * width)), fontsize="small", x=0.01, ha="left")
    return whole


def _draw(ax: Axes, chart: dict[str, Any], title: str | None) -> None:
    import numpy as np

    places = chart["places"]
    numbers = [place["number"] for place in places]
    words = any(number is None for number in numbers)
    at = floats(range(len(places)) if words else numbers)
    infinite = False
    for index, drawn in enumerate(chart["lines"]):
        points = [(where, point) for where, point in zip(at, drawn["points"], strict=True) if point is not None]
        where = floats([place for place, _ in points])
        median, low, high = (floats([point[key] for _, point in points]) for key in ("median", "low", "high"))
        ended = np.isfinite(median)
        look = line(index)
        sign: dict[str, Any] = {
            "marker": marker(index),
            "markersize": 4,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
        }
        ax.plot(where, median, linewidth=1.2, label=drawn["name"], **look, **sign)
        # What is infinite is above everything drawn.
        top = np.where(np.isfinite(high), high, np.nanmax(median, initial=0.0))
        ax.fill_between(where, low, top, where=ended.tolist(), color=look["color"], alpha=0.15, linewidth=0)
        above = where[~ended]
        if above.size:
            infinite = True
            over_axis: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "linestyle": "none"}
            ax.plot(above, np.full(above.size, 1.04), color=look["color"], **sign, **over_axis)
    if words:
        ax.set_xticks(at, [place["name"] for place in places])
    elif chart["x_log"]:
        plain_log(ax, "x")
        ax.set_xticks(at, [f"{number:g}" for number in numbers])
        ax.minorticks_off()
    if chart["y_log"]:
        plain_log(ax, "y")
    else:
        ax.set_ylim(bottom=0)
    if infinite:
        ax.text(-0.01, 1.04, "∞", transform=ax.transAxes, ha="right", va="center")
    finish(ax, chart["x_label"], chart["y_label"], title)
