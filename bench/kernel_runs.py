"""Runs whose numbers are kept, so that a series goes on where it stopped. Part of kernel_testbed.py, kernel_load.py and
kernel_paths.py."""
import argparse
import json
import pathlib
import time

# Most attempts at one run of a cell.
ATTEMPTS = 6


class Series:
    """The cells of a script with the numbers of their runs, in a file beside it: {cell: {clock: [numbers of a run], "void": [why]}}."""

    def __init__(self, script, minutes=1e9):
        self.file = pathlib.Path(script).with_suffix(".json")
        self.cells = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.until = time.monotonic() + 60 * minutes

    def keep(self):
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(self.cells, indent=1, sort_keys=True) + "\n")
        partial.rename(self.file)

    def of(self, key, clock="kernel"):
        """The runs of a cell that count."""
        return self.cells.get(key, {}).get(clock, [])

    def counts(self, key):
        """How many runs count, and how many were void."""
        return f"{len(self.of(key))} / {len(self.of(key, 'void'))}"

    def simulate(self, key, runs, once):
        """Fills in what is missing of the simulator's runs: `once` gives the numbers of one."""
        cell = self.cells.setdefault(key, {}).setdefault("simulated", [])
        cell += [once(number) for number in range(len(cell) + 1, runs + 1)]

    def fill(self, key, runs, once):
        """Makes the runs of a cell that are missing. `once` gives the numbers of one, by clock, and why it is void, if it is: it is counted
        then, and made again."""
        cell, attempts = self.cells.setdefault(key, {}), 0
        while len(self.of(key)) < runs and attempts < ATTEMPTS * runs and time.monotonic() < self.until:
            attempts += 1
            found, reasons = once(len(self.of(key)) + 1)
            if reasons:
                cell.setdefault("void", []).append("; ".join(reasons))
            else:
                for clock, numbers in found.items():
                    cell.setdefault(clock, []).append(numbers)
            print(key, f"void: {reasons}" if reasons else found, flush=True)
            self.keep()
        self.keep()


def arguments():
    """The command line of these scripts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("farspan", nargs="?", type=lambda path: str(pathlib.Path(path).absolute()))
    parser.add_argument("--only", default="", help="the cells that begin so")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()
