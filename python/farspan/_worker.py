"""The runs of a sweep whose control is a class of Python: a process each."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import Any

from farspan import _farspan
from farspan._errors import RunError, ScenarioError
from farspan._request import Request
from farspan._run import How
from farspan._sweep import IMPORTED
from farspan.control import Control, classes


def _load(place: str, modules: dict[str, Any]) -> type[Control] | None:
    if place == "-":
        return None
    file, name = place.rsplit(":", 1)
    if file not in modules:
        sys.path.insert(0, str(Path(file).parent))
        spec = importlib.util.spec_from_file_location(IMPORTED, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no module of Python")
        modules[file] = sys.modules[IMPORTED] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[file])
    found: Any = modules[file]
    for part in name.split("."):
        found = getattr(found, part)
    return classes({"intra": found})[0]


def _end_with_stdin() -> None:
    # No file object: the interpreter could not close what a thread still reads.
    while os.read(0, 4096):
        pass
    os._exit(1)


def main() -> int:
    """Run what the arguments say; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m farspan._worker")
    parser.add_argument("intra")
    parser.add_argument("inter")
    parser.add_argument("run", choices=["run"])
    parser.add_argument("scenario")
    for option in ("scheme", "profile", "out"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--set", action="append", default=[])
    for flag in ("quiet", "json", "end-with-stdin"):
        parser.add_argument(f"--{flag}", action="store_true")
    told = parser.parse_args()
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    modules: dict[str, Any] = {}
    ask = Request(told.scenario, None, told.scheme, told.profile, told.seed, told.set)
    try:
        how = How(out=Path(told.out), controls=(_load(told.intra, modules), _load(told.inter, modules)), force=True)
        _farspan.run(ask, how, None)
    except (RunError, ScenarioError) as error:
        print(f"farspan: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
