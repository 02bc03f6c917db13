"""``farspan sweep --backend ray``: arguments, document and exit codes of the command."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter

from farspan import _farspan
from farspan._errors import RunError, ScenarioError
from farspan._sweep import Sweep, execute, import_ray, plan_of


def sweep_on_ray(words: list[str]) -> int:
    """Run the command with these arguments; give the exit code."""
    text, out, jobs, as_json, quiet, seeds = _farspan.sweep_plan(["farspan", "sweep", *words])
    began = time.perf_counter()
    if seeds:
        _say(seeds)
    try:
        done = execute(plan_of("sweep", text, None, out, jobs), import_ray(), jobs, False if quiet else None)
        counts = Counter(row["status"] for row in done.rows)
        tables, ending, comparisons = _farspan.sweep_told(out) if counts["done"] else ("", "", "[]")
    except (ScenarioError, ModuleNotFoundError) as error:
        return _end(str(error), 2)
    except RunError as error:
        return _end(str(error), 1)
    except KeyboardInterrupt:
        return _end("interrupted; run the same command again to continue", 130)
    # Tables say what their runs warn of.
    if as_json or not tables:
        for note in done.notes:
            _say(note)
    if as_json:
        print(_document(done, counts, time.perf_counter() - began, json.loads(comparisons)))
    else:
        print(f"{tables}{_text(done, counts)}\n{ending}", end="")
    if not done.failed:
        return 0
    first = f"{len(done.failed)} of {len(done.rows)} runs failed; the first error: {done.failed[0]['error']}"
    return _end(f"{first}. {done.folder}/runs.parquet has every error. Run the sweep again to retry them", 1)


def _document(done: Sweep, counts: Counter[str], wall_time_s: float, comparisons: list[object]) -> str:
    states = {name: counts[name] for name in ("done", "failed", "not_run")}
    document = {"folder": str(done.folder), "runs": len(done.rows), **states, "reused": done.reused}
    document |= {"partial": counts["not_run"] > 0, "wall_time_s": wall_time_s, "rows": done.rows}
    document["comparisons"] = comparisons
    return json.dumps(document, indent=2)


def _text(done: Sweep, counts: Counter[str]) -> str:
    parts = [(done.reused, "already complete"), (counts["failed"], "failed"), (counts["not_run"], "not run")]
    told = "".join(f", {count} {what}" for count, what in parts if count)
    files = f"data set: {done.folder}/runs.parquet, views for DuckDB: {done.folder}/views.sql"
    runs = "run" if counts["done"] == 1 else "runs"
    return f"{counts['done']} {runs} done{told}\n{files}"


def _say(message: str) -> None:
    print(f"farspan: {message}", file=sys.stderr)


def _end(message: str, code: int) -> int:
    _say(message)
    return code
