"""Runs whose numbers are kept, so that a series goes on where it stopped. Part of kernel_testbed.py, kernel_load.py and
kernel_paths.py."""
import time

import study

# Most attempts at one run of a cell.
ATTEMPTS = 6


class Series(study.Study):
    """The cells of a script with the numbers of their runs, which it keeps: {cell: {clock: [numbers of a run], "void": [why]}}."""

    def __init__(self, script, page):
        super().__init__(script, page, sort=True)
        self.cells, self.until = self.kept(is_first=True), 0

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
            self.keep(self.cells)
        self.keep(self.cells)

    def main(self, measure, parts):
        """Like `Study.main`, but `measure` keeps each cell itself. It takes the program, the series, and how the names of its cells begin."""
        options = study.arguments(optional=True, only="", minutes=1e9, check=False)
        self.until = time.monotonic() + 60 * options.minutes
        if options.farspan:
            measure(options.farspan, self, options.only)
        self.write(parts(self), options.check)
