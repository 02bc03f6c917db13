"""Result directories side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from farspan import _farspan


def compare(folders: Iterable[str | os.PathLike[str]], *, baseline: str | None = None) -> list[dict[str, Any]]:
    """Set the runs of some result directories side by side, seed by seed.

    Parameters
    ----------
    folders : iterable of path
        Folders that ``run(..., out=...)`` or ``farspan run --out`` wrote, or folders of such folders.
    baseline : str, optional
        The scheme that ratios are over; by default that of the first folder.

    Returns
    -------
    list of dict
        The ``comparisons`` of ``farspan compare --json``, one for each scenario: ``runs`` with the spread of every
        number, and ``ratios`` over the baseline by seed, their median and its 95% interval.

    Raises
    ------
    FileNotFoundError
        If a folder is not there or holds no runs.
    ValueError
        If there is nothing to compare, or the runs do not pair.
    OSError
        If a table cannot be read.
    """
    if isinstance(folders, str | os.PathLike):
        raise TypeError(f"{folders!r} is one folder; give a list of folders")
    document = json.loads(_farspan.compare([os.fspath(folder) for folder in folders], baseline))
    comparisons: list[dict[str, Any]] = document["comparisons"]
    return comparisons


def report(folder: str | os.PathLike[str], *, output: str | os.PathLike[str] | None = None) -> Path:
    """Make one self-contained HTML page of the runs in a folder or below.

    Parameters
    ----------
    folder : path
        What ``run(..., out=folder)`` wrote, or a folder of such folders.
    output : path, optional
        Where the page goes; by default ``report.html`` in the folder.

    Returns
    -------
    pathlib.Path
        Where the page is.

    Raises
    ------
    FileNotFoundError, ValueError, OSError
        As :func:`compare`.
    RunError
        If the page cannot be written.
    """
    return Path(_farspan.report(folder, output))
