"""Pictures of the book that come from small runs: what a paired ratio is, and the figure of a sweep. Their pages have the commands."""
import json
import pathlib
import shlex
import tempfile

import chart

SELECTORS = "uno/permutation --set topology.k=4 --quiet"
PAIRED = f"run {SELECTORS} --scheme unocc+ecmp,unocc+rps,unocc+plb --set workload.flow_size=1MiB --seeds 1..10 --json"
SWEPT = f"run {SELECTORS} --scheme unocc+ecmp,unocc+rps,unocc+unolb --grid workload.flow_size=64KiB,128KiB,256KiB,512KiB,1MiB --seeds 1..6"
FIGURE = "--x workload.flow_size --y fct.intra.slowdown_mean --x-label 'flow size (KiB)' --y-label 'mean slowdown of intra flows'"


def paired(comparison, path, y_label):
    """A chart for each scheme: its ratio over the baseline at each seed, the median with its interval, and what the interval says."""
    for one in comparison["ratios"]:
        spread = one["fields"]
        for key in path.split("."):
            spread = spread[key]
        seeds = [(seed["seed"], seed["ratio"]) for seed in spread["ratios"] if seed["ratio"]]
        across = lambda value: [(seeds[0][0], value), (seeds[-1][0], value)]
        middle, low, high = (spread[key] for key in ("median", "ci_low", "ci_high"))
        verdict = "excludes 1" if low > 1 or high < 1 else "contains 1: no difference"
        lines = {"one seed": seeds, "median and its 95% interval": across((middle, low, high)), "equal to the baseline": across(1)}
        yield chart.panel(f'{one["name"]}: {middle:.2f} [{low:.2f}, {high:.2f}], the interval {verdict}', "seed", y_label, lines, y_log=False)


def pictures(farspan, lab):
    """Each file of the book with its text, by the command `farspan`, which takes words and gives its output, and the program `lab`."""
    with tempfile.TemporaryDirectory() as folder:
        found = json.loads(farspan(*PAIRED.split(), "--out", f"{folder}/paired"))["comparisons"][0]
        ratios = paired(found, "fct.intra.slowdown_mean", f'mean slowdown of intra flows, over {found["baseline"]}')
        yield "images/paired-ratio.svg", chart.svg(lab, "Mean slowdown of intra flows, ratio to the baseline", list(ratios))
        farspan(*SWEPT.split(), "--out", f"{folder}/sizes")
        drawn = pathlib.Path(folder, "sizes.svg")
        farspan("plot", f"{folder}/sizes", *shlex.split(FIGURE), "-o", str(drawn))
        yield "images/sweep-figure.svg", drawn.read_text()
