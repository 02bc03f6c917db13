"""The runs of a sweep as tasks of Ray."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

# As the store names the folder of runs under way: it is cleared away at the next start.
UNDER_WAY = ".under-way"
# As the store says it.
CHANGED = (
    "its scenario has changed since the sweep began; do not edit the files of a sweep while it runs, and start it again"
)
# The last lines of a failed run's standard error that its message shows.
LINES = 5


def run_on(
    ray: Any,
    pending: list[tuple[int, str, list[str], str]],
    out: Path,
    jobs: int | None,
    progress: Callable[[float, int], object] | None,
    errors: dict[int, str],
) -> None:
    """Run these points, `jobs` at a time or as many as the cluster can; `errors` takes those of points that failed."""
    own = not ray.is_initialized()
    if own:
        ray.init(log_to_driver=False, include_dashboard=False, ignore_reinit_error=True)
    try:
        _gather(ray, pending, out.resolve(), jobs, progress, errors)
    finally:
        if own:
            ray.shutdown()


def _gather(
    ray: Any,
    pending: list[tuple[int, str, list[str], str]],
    out: Path,
    jobs: int | None,
    progress: Callable[[float, int], object] | None,
    errors: dict[int, str],
) -> None:
    task = ray.remote(num_cpus=1)(run_one)
    waiting = list(pending)
    under_way: dict[Any, int] = {}
    try:
        while waiting or under_way:
            while waiting and (jobs is None or len(under_way) < jobs):
                index, name, arguments, scenario = waiting.pop(0)
                under_way[task.remote(str(out), name, arguments, scenario, str(Path.cwd()))] = index
            ready, _ = ray.wait(list(under_way), timeout=0.1)
            for reference in ready:
                index = under_way.pop(reference)
                try:
                    error = ray.get(reference)
                except ray.exceptions.RayError as failure:
                    error = str(failure)
                if error is not None:
                    errors[index] = error
            if progress:
                progress(1 - (len(waiting) + len(under_way)) / max(1, len(pending)), 0)
    finally:
        for reference in under_way:
            ray.cancel(reference, force=True)


def run_one(out: str, name: str, arguments: list[str], scenario: str, cwd: str) -> str | None:
    """Run a point on the worker, and give its folder the name once it is whole; give the error, if it failed.

    A task whose worker was killed is tried again by Ray: each has a folder of its own until then.
    """
    folder = Path(out, UNDER_WAY, f"{name}-{uuid.uuid4().hex}")
    folder.mkdir(parents=True)
    command = [
        sys.executable,
        "-m",
        "farspan",
        *arguments,
        "--out",
        str(folder),
        "--quiet",
        "--json",
        "--end-with-stdin",
    ]
    # The run ends with the worker: it holds the other end of this pipe.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=cwd
    ) as child:
        said = child.stderr.read() if child.stderr else ""
        code = child.wait()
    try:
        if code != 0:
            # Warnings and notes on the scenario are not what it failed of.
            aside = ("farspan: warning: ", "farspan: note: ")
            lines = [line.removeprefix("farspan: ") for line in said.splitlines() if not line.startswith(aside)]
            return "\n".join(lines[-LINES:]) or f"exit status {code}"
        if not _is_whole(folder):
            return "it exited without an error, but left no complete result"
        if (folder / "scenario.toml").read_text(encoding="utf-8") != scenario:
            return CHANGED
        _keep(folder, Path(out, name))
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_whole(folder: Path) -> bool:
    try:
        document = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("partial") is False


def _keep(folder: Path, whole: Path) -> None:
    """Give a whole run its name; what has it goes, unless it is whole: another task was faster."""
    if _is_whole(whole):
        return
    old = folder.with_name(f"{folder.name}.old")
    if whole.exists():
        whole.replace(old)
    folder.replace(whole)
    shutil.rmtree(old, ignore_errors=True)
