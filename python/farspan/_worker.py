"""The runs of a sweep whose control is a class of Python: a process each."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from types import ModuleType

from farspan import _farspan
from farspan._errors import RunError, ScenarioError
from farspan._place import attributes, load
from farspan._request import Request
from farspan._run import How


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
    parser.add_argument("what", choices=["run", "attributes"])
    parser.add_argument("scenario", nargs="?")
    for option in ("scheme", "profile", "out"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--set", action="append", default=[])
    for flag in ("quiet", "json", "end-with-stdin"):
        parser.add_argument(f"--{flag}", action="store_true")
    told = parser.parse_args()
    modules: dict[str, ModuleType] = {}
    if told.what == "attributes":
        with contextlib.redirect_stdout(sys.stderr):
            controls = [load(told.intra, modules), load(told.inter, modules)]
        print(json.dumps([control and attributes(control) for control in controls]))
        return 0
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    ask = Request(told.scenario, None, told.scheme, told.profile, told.seed, told.set)
    try:
        how = How(out=Path(told.out), controls=(load(told.intra, modules), load(told.inter, modules)), force=True)
        _farspan.run(ask, how, None)
    except (RunError, ScenarioError) as error:
        print(f"farspan: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
