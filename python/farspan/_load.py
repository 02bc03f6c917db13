"""Reading result directories."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from farspan import _farspan
from farspan._result import Result, Runs


def load(folder: str | os.PathLike[str]) -> Result:
    """Read what ``run(..., out=folder)`` or ``farspan run --out folder`` wrote for one seed.

    Parameters
    ----------
    folder : path
        The result directory.

    Returns
    -------
    Result

    Raises
    ------
    FileNotFoundError
        If there are no results: they may have never been finished, as ``summary.json`` is written last.
    ValueError
        If the folder holds several seeds, or something else.
    OSError
        If a table cannot be read.
    """
    folder = Path(folder)
    summary = _summary(folder)
    if "runs" in summary:
        raise ValueError(f"{folder}: holds several seeds; use farspan.load_runs, or load one of its folders")
    return _result(folder, summary)


def load_runs(folder: str | os.PathLike[str]) -> Runs:
    """Read what ``run(..., seeds=..., out=folder)`` or ``farspan run --seeds A..B --out folder`` wrote.

    Parameters
    ----------
    folder : path
        The result directory, with a folder ``seed-N`` for each seed.

    Returns
    -------
    Runs

    Raises
    ------
    FileNotFoundError, ValueError, OSError
        As :func:`load`.
    """
    folder = Path(folder)
    summary = _summary(folder)
    if "runs" not in summary:
        raise ValueError(f"{folder}: holds one seed; use farspan.load")
    folders = [folder / f"seed-{run['seed']}" for run in summary["runs"]]
    return Runs([load(one) for one in folders], summary)


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "summary.json"
    try:
        text = path.read_text(encoding="utf-8")
    except NotADirectoryError:
        raise NotADirectoryError(f"{folder}: not a folder; give the folder that a run wrote") from None
    except FileNotFoundError:
        cure = "run a scenario with out=" + repr(str(folder))
        if any(folder.glob("*.parquet*")):
            cure += "; the run there was killed before it finished"
        raise FileNotFoundError(f"{path}: no results here; {cure}") from None
    try:
        summary = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON ({error}); run the scenario again") from None
    if not isinstance(summary, dict) or ("farspan_version" not in summary and "runs" not in summary):
        raise ValueError(f"{path}: not a summary of farspan; give a folder that farspan wrote")
    return summary


def _result(folder: Path, summary: dict[str, Any]) -> Result:
    def table(name: str) -> _farspan.Table:
        return _farspan.read_table(folder / f"{name}.parquet")

    scenario = (folder / "scenario.toml").read_text(encoding="utf-8")
    return Result(summary, scenario, table("flows"), table("ports"), table("collectives"), table("series"))
