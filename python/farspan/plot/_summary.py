"""Schemes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from farspan._result import Result
from farspan.plot._style import Results, by_label, figure, heading, line, listed, marker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("fct.intra.mean_us", "fct.intra.p99_us", "fct.inter.mean_us", "fct.inter.p99_us")

# Endings of names, and the units that they say.
UNITS = ("_us", "_bytes", "_s")
FRACTIONS = ("utilization", "efficiency", "jain_mean", "jain_p5_late", "min_over_max_rate")

MOST_COLUMNS = 4


def comparison(results: Results, *, measures: Sequence[str] = MEASURES) -> Figure:
    """Draw numbers of the summary side by side, a panel for each number and a row for each scheme.

    A marker is the median over the seeds, and a bar reaches from the smallest to the largest. A number that is null in
    a run counts as infinite there; where the median is, nothing is drawn. Measures that are null in every run are left
    out.

    Parameters
    ----------
    results : Result, Runs, or an iterable of them
    measures : sequence of str
        Places in :attr:`farspan.Result.summary`, joined by dots.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    KeyError
        If the summary has no such place.
    ValueError
        If there are no results, or every measure is null.
    """
    groups = by_label(results)
    values = {measure: [[_at(run, measure) for run in runs] for runs in groups.values()] for measure in measures}
    shown = {m: rows for m, rows in values.items() if any(v is not None for row in rows for v in row)}
    if not shown:
        raise ValueError(f"every measure is null: {', '.join(measures)}; choose others of the summary")
    rows = -(-len(shown) // MOST_COLUMNS)
    columns = -(-len(shown) // rows)
    whole = figure(1.6 + 2.2 * columns, rows * (1.2 + 0.32 * len(groups)))
    panels = whole.subplots(rows, columns, sharey=True, squeeze=False)
    for ax in panels.flat[len(shown) :]:
        ax.set_visible(False)
    for ax, (measure, rows_of) in zip(panels.flat, shown.items(), strict=False):
        _panel(ax, measure, rows_of, list(groups))
    whole.suptitle(heading(listed(results)), fontsize="medium", x=0.01, ha="left")
    return whole


def _panel(ax: Any, measure: str, rows: list[list[float | None]], labels: list[str]) -> None:
    import numpy as np

    for index, row in enumerate(rows):
        values = np.sort([np.inf if value is None else value for value in row])
        median = float(np.median(values))
        colour = line(index)["color"]
        finite = values[np.isfinite(values)]
        if finite.size > 1:
            ax.plot([finite[0], finite[-1]], [index, index], color=colour, linewidth=2, alpha=0.5)
        if np.isfinite(median):
            ax.plot(median, index, marker(index), color=colour, markersize=6)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.locator_params(axis="x", nbins=4)
    ax.set_xlabel(_axis(measure), fontsize="small")
    ax.tick_params(axis="x", labelsize="small")
    ax.grid(True, axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _axis(measure: str) -> str:
    fct = measure.startswith("fct.") and measure.endswith("_us")
    ending = next((ending for ending in UNITS if measure.endswith(ending)), "")
    name = measure.removesuffix(ending).removeprefix("fct.").replace(".", " ").replace("_", " ")
    unit = f" ({ending[1:]})" if ending else " (fraction)" if measure.endswith(FRACTIONS) else ""
    return name + (" FCT" if fct else "") + unit


def _at(result: Result, measure: str) -> float | None:
    value: Any = result.summary
    for key in measure.split("."):
        if value is None:
            return None
        if key not in value:
            there = ", ".join(value)
            raise KeyError(f"{measure}: the summary has no {key!r} there; it has: {there}")
        value = value[key]
    return None if value is None else float(value)
