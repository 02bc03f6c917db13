"""Sweeps: many runs, and one table over them."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farspan import _farspan
from farspan._errors import ScenarioError
from farspan._main import itself
from farspan._place import IMPORTED, command
from farspan._progress import Listener, listening
from farspan._request import folder as results_folder
from farspan._request import toml, whole
from farspan._result import Result
from farspan.control import Controls, classes

MOST_JOBS = 4096


@dataclass(frozen=True)
class _Plan:
    """A sweep, as the native part takes it."""

    name: str
    text: str
    folder: Path | None
    out: Path
    jobs: int
    itself: list[str]
    code: list[str]
    control: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """What a sweep left.

    Attributes
    ----------
    folder : pathlib.Path
        A folder for each run, ``runs.parquet`` and ``views.sql``.
    rows : list of dict
        A row for each run: its parameters, the numbers of its summary, ``status`` and ``error``.
    reused : int
        Number of rows whose runs were already complete.
    notes : list of str
        What runs warn of, each text once, and a note where faults lost nothing: what ``farspan sweep`` says.
    """

    folder: Path
    rows: list[dict[str, Any]]
    reused: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def runs(self) -> _farspan.Table:
        """The rows as an Arrow table (see :class:`Table`): ``runs.parquet``."""
        return _farspan.read_table(self.folder / "runs.parquet")

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows of runs that failed."""
        return [row for row in self.rows if row["status"] == "failed"]

    def load(self, run: str) -> Result:
        """Read a run by its name, the column ``run``."""
        from farspan._load import load

        return load(self.folder / run)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<farspan.Sweep of {len(self.rows)} runs{failed} in {self.folder}>"


def sweep(
    sweep: str | os.PathLike[str] | Mapping[str, object],
    *,
    out: str | os.PathLike[str] | None = None,
    control: Controls | None = None,
    backend: str = "local",
    jobs: int | None = None,
    progress: bool | Listener | None = None,
) -> Sweep:
    """Run the points of a sweep. Points that are already complete in its folder are skipped.

    Each run has its own process. An interrupted sweep continues where it stopped.

    Parameters
    ----------
    sweep : path or mapping
        A sweep file, or what would stand in one, such as ``{"scenario": "uno/incast-mixed", "scheme": ["uno", "oscar"],
        "same": ["recovery"], "seeds": "1..6", "grid": {"topology.k": [4, 8]}}``.
    out : path, optional
        The folder; by default the file's name without its ending, or the folder whose ``sweep.toml`` the file is. A
        mapping needs one.
    control : class or mapping, optional
        As for :func:`run`, in every run of the sweep, on the local backend. Each process imports the class anew, so it
        must stand in a file, alone or of a package, and a script that calls this function needs
        ``if __name__ == "__main__":``. Another text of that file is another control; what the file imports is not
        looked at. Attributes that were set since the import are refused: a subclass in a file has its own.
    backend : str
        ``"local"``: processes of this machine; ``"ray"``: tasks of a Ray cluster, the one that this process or
        ``RAY_ADDRESS`` is connected to, else one on this machine. All its nodes must see `out` and the scenario files
        under one path, and have this version of farspan.
    jobs : int, optional
        Number of runs at a time; by default the number of cores.
    progress : bool or callable, optional
        As for :func:`run`.

    Returns
    -------
    Sweep

    Raises
    ------
    ScenarioError
        If the sweep is wrong, or `out` holds something else.
    RunError
        If another sweep writes to `out`, or it cannot be written.
    ModuleNotFoundError
        With ``backend="ray"``, if there is no Ray.

    Warns
    -----
    UserWarning
        If runs failed: their rows say why; and what the runs warn of, each text once.

    Examples
    --------
    >>> import tempfile
    >>> import farspan as fs
    >>> grid = {"workload.flow_size": ["64KiB", "128KiB"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = fs.sweep({"scenario": "uno/incast-intra", "seeds": "1,2", "grid": grid}, out=f"{folder}/sizes")
    ...     print(len(done.rows), done.runs.column("workload.flow_size"), done.runs.column("seed"))
    4 ['64KiB', '64KiB', '128KiB', '128KiB'] [1, 2, 1, 2]
    """
    if backend not in ("local", "ray"):
        raise ScenarioError(f"{backend!r} is not a backend", argument="backend", cure='give "local" or "ray"')
    if control is not None and backend == "ray":
        raise ScenarioError("a control in Python runs on this machine", argument="control", cure='give backend="local"')
    if IMPORTED in sys.modules:
        raise RuntimeError('a run of a sweep started the sweep again; call it below if __name__ == "__main__":')
    ray = import_ray() if backend == "ray" else None
    done = execute(_plan(sweep, out, jobs, control), ray, None if jobs is None else int(jobs), progress)
    if done.failed:
        first = done.failed[0]["error"]
        warnings.warn(f"{len(done.failed)} of {len(done.rows)} runs failed; the first error: {first}", stacklevel=2)
    for note in done.notes:
        warnings.warn(note.removeprefix("warning: ").removeprefix("note: "), stacklevel=2)
    return done


def execute(plan: _Plan, ray: Any | None, most: int | None, progress: bool | Listener | None) -> Sweep:
    """Run a plan here, or with `ray` as its tasks, at most `most` at a time."""
    native = _farspan.Sweep(plan)
    try:
        with listening(progress, plan.name) as listener:
            if ray is None:
                text, reused, notes = native.run(listener)
            else:
                from farspan._ray import run_on

                pending = native.pending()
                errors: dict[int, str] = {}
                try:
                    run_on(ray, pending, plan.out, most, listener, errors)
                finally:
                    # Also after Ctrl-C: what is whole has its row.
                    text, reused, notes = native.finish(errors, [index for index, *_ in pending])
    finally:
        native.close()
    return Sweep(plan.out, json.loads(text), reused, notes)


def plan_of(name: str, text: str, folder: Path | None, out: Path, jobs: int | None) -> _Plan:
    """Take a sweep without a control of Python's."""
    return _Plan(name, text, folder, out, jobs or os.cpu_count() or 1, itself(), [str(_farspan.__file__)])


def _plan(
    sweep: str | os.PathLike[str] | Mapping[str, object],
    out: str | os.PathLike[str] | None,
    jobs: int | None,
    control: Controls | None,
) -> _Plan:
    words, files = (itself(), []) if control is None else command(control)
    if isinstance(sweep, Mapping):
        if out is None:
            raise ScenarioError("a mapping has no name", argument="out", cure="give out, the folder for the runs")
        name, folder = "sweep", None
        text = "".join(f"{key} = {toml(value, str(key))}\n" for key, value in sweep.items())
    else:
        path, cure = Path(sweep), 'give a sweep file, or a mapping such as {"scenario": "uno/steady", "seeds": "1..6"}'
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"cannot be read ({error})", file=str(path), cure=cure) from None
        name, folder = str(path), path.parent
    return _Plan(
        name=name,
        text=text,
        folder=folder,
        out=results_folder(out) or Path(_farspan.default_folder(name)),
        jobs=(os.cpu_count() or 1) if jobs is None else whole(jobs, 1, MOST_JOBS, "jobs"),
        itself=words,
        code=[str(_farspan.__file__), *files],
        control=None if control is None else _name(control),
    )


def _name(control: Controls) -> str:
    """Name the classes as the head of ``sweep.toml`` does."""
    intra, inter = ("scheme" if one is None else one.__name__ for one in classes(control))
    return intra if intra == inter else f"{intra}/{inter}"


def import_ray() -> Any:
    """Ray, if it is installed."""
    try:
        import ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError('backend="ray" needs Ray: pip install "farspan[ray]"', name="ray") from None
    return ray
