"""Figures 8 to 11 of Gemini (Zeng et al.) with Linux's TCP in the emulator, beside the paper and the simulator: Gemini against CUBIC and
BBR. Writes the tables of docs/src/kernel-testbed.md.

usage: kernel_testbed.py FARSPAN [--only PREFIX] [--minutes M]  runs what is missing (root, Linux), keeps the numbers in
                                                                bench/kernel_testbed.json after each run, and writes the page; ends
                                                                after M minutes, and goes on next time
       kernel_testbed.py [--check]                              writes the page from the kept numbers (or compares it)

Cells and the number of runs were fixed before the first run. Void runs are counted, and made again.
"""
import pathlib
import statistics
import tempfile

import study
from kernel_lab import Lab, as_linux
from kernel_runs import Series

SCENARIO = study.HERE / "kernel/testbed.toml"

RUNS = 3
CONTROLS = ["gemini", "cubic", "bbr"]
PACKET = 1500
THRESHOLDS = [20, 40, 80, 160, 320]
RATIOS = [4, 8, 16]
RECEIVER = 5


def cell(control, flows, seconds, since, settings=(), parameters=()):
    """Flows: (host, how many, from when). Parameters: those of Gemini in the kernel, which are settings of the simulator's."""
    return {
        "control": control, "flows": flows, "seconds": seconds, "since": since, "settings": list(settings), "parameters": list(parameters)
    }  # fmt: skip


def gemini(threshold, k):
    """T and K, for the simulator and for the kernel."""
    sites = ("intra", "inter")
    return (
        [f"scheme.{site}.congestion.delay_threshold={threshold}" for site in sites] + [f"scheme.ports.step={k * PACKET}B"],
        [f"delay_threshold={threshold}", f"k={k * PACKET}B", "line_rate=100Mbps"],
    )


def cells():
    found = {}
    # Figure 8: two flows from each of four hosts wait at their switch, which marks at K; without the delay loop.
    inside = [(host, 2, 0) for host in range(4)]
    for k in THRESHOLDS:
        found[f"fig8 {k} gemini"] = cell("gemini", inside, 30, 10, *gemini("10s", k))
    for control in ("cubic", "bbr"):
        found[f"fig8 - {control}"] = cell(control, inside, 30, 10)
    # Figure 9: the bottleneck lies between the datacenters: the links inside are faster.
    wide = ["topology.wan.rate=50Mbps"]
    for beta in (0.1, 0.2, 0.4):
        for threshold in ("15ms", "25ms", "40ms"):
            settings, parameters = gemini(threshold, 50)
            settings += [f"scheme.{site}.congestion.beta={beta}" for site in ("intra", "inter")]
            found[f"fig9 {threshold} {beta} gemini"] = cell("gemini", inside, 40, 15, wide + settings, [*parameters, f"beta={beta}"])
    for control in ("cubic", "bbr"):
        found[f"fig9 - - {control}"] = cell(control, inside, 60, 15, wide)
    # Figure 10: three groups of ten flows join 50 s after one another.
    groups = [(0, 10, 0), (1, 10, 50), (2, 10, 100)]
    for control in CONTROLS:
        ours = gemini("25ms", 50) if control == "gemini" else ([], [])
        found[f"fig10 {control}"] = cell(control, groups, 150, 105, *ours)
    # Figure 11: four flows from the other datacenter and four from the same switch share the port to the receiver; the ratio of their
    # round trips is that of the figure, the shorter one 10 ms.
    mixed = [(host, 1, 0) for host in (0, 1, 2, 3, 6, 7, 8, 9)]
    for ratio in RATIOS:
        near = ["topology.link_delay=2.4ms", f"topology.wan.rtt={ratio * 10}ms"]
        for control in CONTROLS:
            ours = gemini("250ms", 300) if control == "gemini" else ([], [])
            found[f"fig11 {ratio} {control}"] = cell(control, mixed, 60, 20, near + ours[0], ours[1])
    return found


def scenario(folder, flows):
    """The scenario's file with these flows."""
    text = SCENARIO.read_text()
    before, after = text.split("[[workload]]", 1)
    after = after[after.index("[stop]") :]
    parts = "".join(
        f'[[workload]]\nkind = "pairs"\ntag = "flows"\npairs = [[{host}, {RECEIVER}]]\nflows = {count}\nflow_size = "100GB"\n'
        f'start = "{start}s"\n\n'
        for host, count, start in flows
    )
    file = folder / "scenario.toml"
    file.write_text(before + parts + after)
    return file


def summary(rates, near, rtt):
    """What a cell keeps: all rates in Mbit/s, the index of Jain, the ratio of far to near flows, and the round trip in ms."""
    total = sum(rates)
    kept = {"mbps": total / 1e6, "jain": total**2 / (len(rates) * sum(rate**2 for rate in rates)), "rtt_ms": rtt}
    if near:
        kept["ratio"] = sum(rates[:near]) / max(sum(rates[near:]), 1)
    return {name: round(value, 3) for name, value in kept.items()}


def near_flows(key):
    """Of figure 11: how many flows come first, from the other datacenter."""
    return 4 if key.startswith("fig11") else 0


def emulated(farspan, key, number):
    """One run with the kernel's TCP, and why it is void, if it is."""
    one = cells()[key]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file = scenario(folder, one["flows"])
        with Lab(farspan, folder, file, one["control"], number, one["settings"], one["parameters"]) as lab:
            lab.sink(RECEIVER)
            flows = [
                lab.send(host, f"10.0.0.{RECEIVER + 1}", one["seconds"], count=count, start=start, since=one["since"])
                for host, count, start in one["flows"]
            ]
            found = [lab.said(flow) for flow in flows]
    rates = [rate for flow in found for rate in flow["bps"]]
    numbers = summary(rates, near_flows(key), statistics.median(flow["rtt_ms"] for flow in found))
    return {"kernel": numbers}, lab.void(*(flow["held_back"] for flow in found))


def simulated(farspan, key, number):
    one = cells()[key]
    settings = [*one["settings"], *as_linux(one["control"]), f"stop.time={one['seconds']}s", f"measure.goodput_from={one['since']}s"]
    settings += [f"measure.goodput_until={one['seconds']}s", "measure.fairness_group=flows"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file = scenario(folder, one["flows"])
        document = study.document(farspan, file, "--scheme", one["control"], "--seed", number, settings=settings)
    goodput = document["goodput"]
    kept = {"mbps": goodput["all"]["bps"] / 1e6, "jain": goodput["jain"], "rtt_ms": document["rtt"]["all"]["p50_us"] / 1e3}
    if near_flows(key):
        kept["ratio"] = goodput["inter"]["bps"] / max(goodput["intra"]["bps"], 1)
    return {name: round(value, 3) if value is not None else None for name, value in kept.items()}


def run_all(farspan, series, prefix):
    """Every cell once, then every cell twice: a series that is stopped has something of each."""
    wanted = [key for key in cells() if key.startswith(prefix)]
    for key in wanted:
        series.simulate(key, RUNS, lambda number, key=key: simulated(farspan, key, number))
    for runs in range(1, RUNS + 1):
        for key in wanted:
            series.fill(key, runs, lambda number, key=key: emulated(farspan, key, number))


def median(runs, name):
    values = [run[name] for run in runs if run.get(name) is not None]
    return statistics.median(values) if values else None


def table(series, figure, names):
    """A row a cell of a figure, with kernel and simulator side by side."""
    lines = []
    for key in cells():
        if not key.startswith(figure + " ") or not series.of(key):
            continue
        line = [key.removeprefix(figure + " ")]
        for name, digits in names:
            for clock in ("kernel", "simulated"):
                value = median(series.of(key, clock), name)
                line.append("" if value is None else f"{value:.{digits}f}")
        lines.append([*line, series.counts(key)])
    title = {"mbps": "Mbit/s", "rtt_ms": "RTT, ms", "jain": "Jain", "ratio": "far / near"}
    head = ["cell"] + [f"{title[name]}: {clock}" for name, _ in names for clock in ("kernel", "simulated")] + ["runs / void"]
    return study.table(head, lines)


FIGURES = {
    "fig8": [("mbps", 1), ("rtt_ms", 1)],
    "fig9": [("mbps", 1), ("rtt_ms", 1), ("jain", 2)],
    "fig10": [("jain", 3), ("mbps", 1)],
    "fig11": [("ratio", 2), ("mbps", 1)],
}


def parts(series):
    return {figure: table(series, figure, names) for figure, names in FIGURES.items()}


if __name__ == "__main__":
    Series(__file__, "kernel-testbed.md").main(run_all, parts)
