"""``farspan sweep --backend ray``: arguments, document and exit codes of the command, around :func:`sweep`."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

from farspan._errors import RunError, ScenarioError
from farspan._sweep import Sweep, sweep


def sweep_on_ray(words: list[str]) -> int:
    """Run the command with these arguments; give the exit code."""
    told = _arguments(words)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # Failed runs are told below.
            warnings.simplefilter("ignore", UserWarning)
            progress = False if told.quiet else None
            done = sweep(told.file, out=told.out, backend="ray", jobs=told.jobs, progress=progress)
    except (ScenarioError, ModuleNotFoundError) as error:
        return _end(str(error), 2)
    except RunError as error:
        return _end(str(error), 1)
    except KeyboardInterrupt:
        return _end("interrupted; what was written is marked partial", 130)
    counts = Counter(row["status"] for row in done.rows)
    print(_document(done, counts, time.perf_counter() - began) if told.json else _text(done, counts))
    if not done.failed:
        return 0
    first = f"{len(done.failed)} of {len(done.rows)} runs failed, the first one with: {done.failed[0]['error']}"
    return _end(f"{first}; {done.folder}/runs.parquet has every error, and the next sweep tries them again", 1)


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="farspan sweep", allow_abbrev=False, add_help=False)
    parser.add_argument("file", metavar="SWEEP.toml", type=Path)
    parser.add_argument("--backend", choices=["ray"])
    parser.add_argument("--jobs", metavar="N", type=int)
    parser.add_argument("-o", "--out", "--output", metavar="DIR", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(words)


def _document(done: Sweep, counts: Counter[str], wall_time_s: float) -> str:
    states = {name: counts[name] for name in ("done", "failed", "not_run")}
    document = {"folder": str(done.folder), "runs": len(done.rows), **states, "reused": done.reused}
    document |= {"partial": counts["not_run"] > 0, "wall_time_s": wall_time_s, "rows": done.rows}
    return json.dumps(document, indent=2)


def _text(done: Sweep, counts: Counter[str]) -> str:
    parts = [(done.reused, "of them were there"), (counts["failed"], "failed"), (counts["not_run"], "not run")]
    told = "".join(f", {count} {what}" for count, what in parts if count)
    files = f"data set: {done.folder}/runs.parquet, views for DuckDB: {done.folder}/views.sql"
    return f"{counts['done']} runs done{told}\n{files}; next: farspan compare {done.folder}"


def _end(message: str, code: int) -> int:
    print(f"farspan: {message}", file=sys.stderr)
    return code
