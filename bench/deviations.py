"""What each constant does in which the published code differs from the paper: one run with the paper's constants, and one with the code's
value of this one alone. Writes bench/deviations.json, from which docs/generate.py makes the tables of docs/src/deviations.

usage: deviations.py FARSPAN [--only NAME] [--jobs N]     farspan-lab must be beside it

Constants of ports and of recovery, and those that the paper has no such rule for ("left out"), are set as a scenario sets them. What
cannot be set so has no effect here, and stands as not measured.
"""
import json
import pathlib
import re
import subprocess

import study


def queue(document):
    found = document["queues"]
    return {"mean queue, KB": found["bottleneck_mean_bytes"] / 1e3, "of the link": found["bottleneck_utilization"]}


def slowest(kind):
    return lambda document: {f"mean, us ({kind})": document["fct"][kind]["mean_us"], "slowest, us": document["fct"][kind]["max_us"]}


OSCAR = ("oscar/two-short-flows", "figure 9", [], queue)
UNO = ("uno/incast-mixed", "figure 3", [], slowest("all"))
REPS = ("reps/permutation", "figure 2", ["topology.k=8"], slowest("all"))
# Each component's scenario, the figure that it belongs to, further settings, and what is measured.
RUNS = {
    **dict.fromkeys(["oscar", "hpcc", "powertcp", "theta-powertcp", "poseidon", "dcqcn", "swift", "timely"], OSCAR),
    **dict.fromkeys(["unocc", "mprdma", "bbr", "gemini"], UNO),
    **dict.fromkeys(["smartt", "nscc", "reps", "reps-early"], REPS),
    "unolb": ("uno/border-failure", "figure 13A", [], slowest("inter")),
    "plb": ("uno/border-failure", "figure 13A", [], slowest("inter")),
    "mds": ("uno/random-loss", "figure 13B", [], slowest("inter")),
}
SCHEMES = {"unolb": "unocc+unolb", "plb": "unocc+plb", "mds": "unocc+unolb+mds", "reps": "smartt+reps", "reps-early": "smartt+reps-early"}
PARTS = {"unolb": "balance", "plb": "balance", "reps": "balance", "reps-early": "balance", "mds": "coding"}


def places(name, key):
    """The paths of a scenario at which a constant stands."""
    first, _, rest = key.partition(".")
    if first == "ports":
        return [f"scheme.ports.{rest}"]
    under = first if first in ("recovery",) else None
    path = f"{under}.{rest}" if under else key if key == "window_check" else f"{PARTS.get(name, 'congestion')}.{key}"
    return [f"scheme.{site}.{path}" for site in ("intra", "inter")]


def run(farspan, name, changes):
    scenario, _, settings, measure = RUNS[name]
    done = study.run(farspan, scenario, "--scheme", SCHEMES.get(name, name), "--json", settings=[*settings, *changes])
    return measure(json.loads(done.stdout)) if done.returncode == 0 else None


def effect(name, before, after):
    if after is None or any(value is None for value in after.values()):
        return None
    figure = RUNS[name][1]
    shown = lambda value: f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    moved = [f"{what} {shown(before[what])} to {shown(after[what])}" for what in before if shown(before[what]) != shown(after[what])]
    return f"{figure}: {', '.join(moved)}" if moved else f"{figure}: none"


def constants(farspan, name):
    """(constant, the code's value) of each in which the profiles differ."""
    words = [pathlib.Path(farspan).with_name("farspan-lab"), "reference", name]
    for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 5 and re.match("`(?!paper|artifact)", cells[0]) and re.match("`", cells[3]):
            yield cells[0].strip("`"), cells[3].strip("`")


def main():
    deviations = study.Study(__file__, sort=True)
    options = study.arguments(only="", jobs=2)
    kept = deviations.kept(is_first=True) if options.only else {}
    names = [name for name in RUNS if options.only in ("", name)]
    jobs = [(name, key, value) for name in names for key, value in constants(options.farspan, name)]
    before = dict(study.each(options, run, {name: (name, []) for name, *_ in jobs}))
    cases = {(name, key, value): (name, [f"{place}={value}" for place in places(name, key)]) for name, key, value in jobs}
    for job, found in study.each(options, run, cases):
        text = effect(job[0], before[job[0]], found)
        print(*job, text, flush=True)
        kept.pop(" ".join(job), None)
        if text:
            kept[" ".join(job)] = text
    deviations.keep(kept)


if __name__ == "__main__":
    main()
