"""What all figures share."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from farspan._farspan import looks
from farspan._result import Result, Runs

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

Results = Result | Runs | Iterable[Result | Runs]

# The looks of lines, as ``farspan plot`` and the ledger's plots have them: no two of them are alike.
LOOKS = looks(49)
# Seven in a row differ in their colour.
COLOURS = tuple(colour for colour, _, _ in LOOKS[:7])

SIZE = (6.4, 4.0)


def figure(width: float = SIZE[0], height: float = SIZE[1]) -> Figure:
    """Make an empty figure that is in no global list, and that notebooks show."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        message = "farspan.plot needs matplotlib: pip install 'farspan[plot]'"
        raise ImportError(message, name=error.name) from error

    class Shown(Figure):
        """A figure that notebooks show without pyplot."""

        def savefig(self, fname: Any, *, transparent: bool | None = None, **more: Any) -> None:
            """Write it. Text stays text: fonts of PDF are TrueType, which publishers take, and SVG has words."""
            with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}):
                super().savefig(fname, transparent=transparent, **more)

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    made = Shown(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(made)
    return made


def axes(ax: Axes | None) -> tuple[Figure, Axes]:
    """Give the figure to draw into, and its axes."""
    if ax is None:
        made = figure()
        return made, made.add_subplot()
    whole = ax.get_figure(root=True)
    if whole is None:
        raise ValueError("the axes belong to no figure; give axes of a figure, or none")
    return whole, ax


def listed(results: Results) -> list[Result]:
    """Every result that was given, in order."""
    if isinstance(results, Result):
        return [results]
    if isinstance(results, Runs):
        return list(results)
    every = [result for one in results for result in listed(one)]
    if not every:
        raise ValueError("no results; give at least one")
    return every


def single(result: Result, figure: str) -> Result:
    """Give the one result of a figure that draws one."""
    if isinstance(result, Result):
        return result
    cure = f"give one of them, such as plot.{figure}(runs[0])"
    if isinstance(result, Runs):
        raise TypeError(f"plot.{figure} draws one Result, and there are {len(result)} Runs; {cure}")
    raise TypeError(f"plot.{figure} draws one Result, not {type(result).__name__}; {cure}")


def by_label(results: Results) -> dict[str, list[Result]]:
    """Group results by what tells them apart: the scheme, and also scenario and profile where they differ."""
    every = listed(results)
    keys = [key for key in ("scenario", "profile") if len({result.summary[key] for result in every}) > 1]
    groups: dict[str, list[Result]] = {}
    for result in every:
        label = ", ".join(str(result.summary[key]) for key in ["scheme", *keys])
        groups.setdefault(label, []).append(result)
    return groups


def line(index: int) -> dict[str, Any]:
    """Colour and dashes of a line."""
    colour, dashes, _ = LOOKS[index % len(LOOKS)]
    return {"color": colour, "linestyle": (0, dashes) if dashes else "-"}


def marker(index: int) -> str:
    """Marker of a line's points."""
    return LOOKS[index % len(LOOKS)][2]


def finish(ax: Axes, x: str, y: str, title: str | None = None, *, legend: bool = True) -> None:
    """Name the axes; draw a quiet grid, and a legend where there are several lines."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if title:
        ax.set_title(title, fontsize="medium", loc="left")
    ax.grid(True, which="major", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, fontsize="small")


def plain_log(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers; over short ranges also at 2 and 5."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def heading(results: Sequence[Result]) -> str:
    """Say what is drawn: scenario, seeds."""
    scenarios = sorted({str(result.summary["scenario"]) for result in results})
    seeds = len({result.seed for result in results})
    return ", ".join(scenarios) + (f", {seeds} seeds" if seeds > 1 else f", seed {results[0].seed}")


def floats(values: Sequence[object]) -> Floats:
    """Give an array; ``None`` becomes NaN."""
    import numpy as np

    return np.asarray(values, dtype=np.float64)
