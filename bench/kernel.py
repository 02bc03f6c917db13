"""Linux's TCP beside the simulator's: the same bottleneck of 200 Mbit/s and 20 ms, once in the emulator with the kernel's TCP, once simulated.
Throughput and wait over buffer and loss, the shares of two flows, and completion times. Writes the tables of
docs/src/kernel-beside-simulator.md.

usage: kernel.py FARSPAN [--only PREFIX] [--minutes M]  runs what is missing (root, Linux), keeps the numbers in bench/kernel.json
                                                        after each run, and writes the page; ends after M minutes, and goes on next time
       kernel.py [--check]                              writes the page from the kept numbers (or compares it)

Cells, bands and the number of runs were fixed before the first run. A run is void where the emulation is, or where the receiver's
window or the sender's buffer held it back for more than 1% of its time; it is counted, and made again. Whole: about an hour and a half.
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import made_part
from kernel_lab import FLOWS, MESSAGES, Lab, rows, words
from kernel_runs import Series, arguments

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs/src/kernel-beside-simulator.md"
SCENARIO = HERE / "kernel/bottleneck.toml"

CONTROLS = ["cubic", "bbr", "gemini", "unocc"]
RUNS = 5
SECONDS = {"cubic": 60, "bbr": 30, "gemini": 30, "unocc": 30}
BDP = 500_000
BUFFERS = {"0.1": 50_000, "1": BDP, "4": 4 * BDP}
LOSSES = {"0": None, "0.1%": 0.001, "1%": 0.01}
SIZES = {"10 KB": 10_000, "100 KB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
# Completions of a run, whose median counts.
COMPLETIONS = 10
SHARE_FROM = 10
# A cell agrees within these of the kernel's median, or within the kernel's own range.
BANDS = {"throughput": 0.05, "share": 0.05, "completion": 0.10, "wait": 0.15}
LEAST_WAIT_MS = 1.0

LINUX = ["scheme.intra.congestion.min_cwnd=2"]
# The settings of a control, and of the ports that it is made for; the same on both clocks. Ports of a wide-area router do not mark.
# Linux counts windows in whole packets, and its BBR has room for bursts and for lumps of ACKs.
SETTINGS = {
    "cubic": ["scheme.ports.marking=none", "scheme.intra.congestion.hystart=linux", "scheme.intra.window_check=fits", *LINUX],
    "bbr": ["scheme.ports.marking=none", "scheme.intra.congestion.quantum=linux", "scheme.intra.congestion.extra_acked=true"],
    "gemini": ["scheme.ports.marking=none", "scheme.intra.congestion.cut_interval=rtt_min", *LINUX],
    "unocc": ["scheme.intra.recovery=rack"],
}
# Those of the simulator alone: the kernel sends bursts of up to 64 KB (TSO), which the host's own kernel cuts up here.
SIMULATED = ["transport.burst=64KiB"]

# Of the programs in the kernel, so that they are what the simulator runs: see docs/src/kernel-tcp.md.
PARAMETERS = {"gemini": ["line_rate=1Gbps"], "unocc": ["line_rate=1Gbps", "intra_rtt=20ms", "start_cwnd=10"]}


def cells():
    """What is compared: key -> (control, kind, settings of the network)."""
    found = {}
    for control in CONTROLS:
        steady = [(buffer, "0") for buffer in BUFFERS] + [("1", loss) for loss in LOSSES if loss != "0"]
        for buffer, loss in steady:
            settings = [f"topology.buffer={BUFFERS[buffer]}B"]
            found[f"{control} steady {buffer} {loss}"] = (control, "steady", settings, LOSSES[loss])
        found[f"{control} share"] = (control, "share", [f"topology.buffer={BDP}B"], None)
        for size in SIZES:
            found[f"{control} completion {size}"] = (control, "completion", [f"topology.buffer={BDP}B"], None)
    return found


def scenario(folder, probability, workload=None):
    """The scenario's file: with losses, if there are any, and another workload."""
    text = SCENARIO.read_text()
    if probability:
        text += f'\n[[fault]]\nkind = "loss"\nlink = "tor0->tor1#0"\nprobability = {probability}\npackets = "all"\n'
    if workload:
        text = text.replace("pairs = [[0, 2]]", f"pairs = {workload}")
    file = folder / "scenario.toml"
    file.write_text(text)
    return file


def wait_ms(document, seconds):
    """The mean queue over so many seconds, as the time that it takes to leave."""
    queues = document["queues"]
    assert queues["bottleneck"] == "tor0->tor1#0", queues
    span = document["sim_time_s"]
    return queues["bottleneck_mean_bytes"] * span / seconds * 8 / 200e6 * 1e3


def emulated(farspan, key, number):
    """One run with the kernel's TCP, and why it is void, if it is."""
    control, kind, settings, probability = cells()[key]
    seconds, held = SECONDS[control], 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file, settings = scenario(folder, probability), settings + SETTINGS[control]
        with Lab(farspan, folder, file, control, number, settings, PARAMETERS.get(control, [])) as lab:
            lab.sink(2)
            lab.sink(3)
            if kind == "completion":
                size = SIZES[key.split(" completion ")[1]]
                found = lab.said(lab.send(0, MESSAGES, "10.0.0.3", size, COMPLETIONS))
                result = {"ms": statistics.median(found["ms"])}
            else:
                since = SHARE_FROM if kind == "share" else 0
                hosts = (0, 1) if kind == "share" else (0,)
                flows = [lab.send(n, FLOWS, f"10.0.0.{n + 3}", 1, 0, since, seconds) for n in hosts]
                flows = [lab.said(flow) for flow in flows]
                rates, held = [flow["bps"][0] for flow in flows], max(flow["held"] for flow in flows)
                result = {"mbps": rates[0] / 1e6} if kind == "steady" else {"jain": jain(rates)}
    if kind == "steady":
        result["wait_ms"] = wait_ms(lab.document, seconds)
    reasons = lab.void(held)
    return {"kernel": {name: round(value, 4) for name, value in result.items()}}, reasons


def jain(rates):
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


def simulated(farspan, key, number):
    """One run of the simulator."""
    control, kind, settings, probability = cells()[key]
    seconds = SECONDS[control]
    settings = settings + SETTINGS[control] + SIMULATED + [f"stop.time={seconds}s"]
    workload = None
    if kind == "completion":
        settings += [f"workload.flow_size={SIZES[key.split(' completion ')[1]]}B"]
    else:
        settings += [f"measure.goodput_from={SHARE_FROM if kind == 'share' else 0}s", f"measure.goodput_until={seconds}s"]
    if kind == "share":
        workload = "[[0, 2], [1, 3]]"
        settings += ["measure.fairness_group=flows"]
    with tempfile.TemporaryDirectory() as folder:
        file = scenario(pathlib.Path(folder), probability, workload)
        command = [farspan, "run", file, "--scheme", control, "--seed", str(number), "--json", "--quiet", *words(settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{key}: {done.stderr}")
    document = json.loads(done.stdout)
    if kind == "completion":
        result = {"ms": document["fct"]["all"]["mean_us"] / 1e3}
    elif kind == "share":
        result = {"jain": document["goodput"]["jain"]}
    else:
        result = {"mbps": document["goodput"]["all"]["bps"] / 1e6, "wait_ms": wait_ms(document, seconds)}
    return {name: round(value, 4) for name, value in result.items()}


def run_all(farspan, series, prefix):
    for key in cells():
        if key.startswith(prefix):
            series.simulate(key, RUNS, lambda number, key=key: simulated(farspan, key, number))
            series.fill(key, RUNS, lambda number, key=key: emulated(farspan, key, number))


MEASURES = {"steady": [("mbps", "throughput"), ("wait_ms", "wait")], "share": [("jain", "share")], "completion": [("ms", "completion")]}


def verdict(name, band, key, series):
    """Median and range of the kernel, median of the simulator, and whether they agree."""
    ours, theirs = ([run[name] for run in series.of(key, clock)] for clock in ("simulated", "kernel"))
    if len(theirs) < RUNS:
        return None
    low, median, high, mine = min(theirs), statistics.median(theirs), max(theirs), statistics.median(ours)
    most = BANDS[band] * median
    if band == "wait":
        most = max(most, LEAST_WAIT_MS)
    return low, median, high, mine, abs(mine - median) <= most or low <= mine <= high


def tables(series):
    sums = {}
    text = ""
    for control in CONTROLS:
        lines = []
        for key, (of, kind, _, _) in cells().items():
            if of != control:
                continue
            for name, band in MEASURES[kind]:
                found = verdict(name, band, key, series)
                if found is None:
                    continue
                low, median, high, mine, agrees = found
                agree, count = sums.get(band, (0, 0))
                sums[band] = (agree + agrees, count + 1)
                digits = {"jain": 3, "wait_ms": 2}.get(name, 1)
                what = re.sub(r"steady (\S+) (\S+)", r"\1 BDP, loss \2", key.removeprefix(f"{control} "))
                unit = {"mbps": "Mbit/s", "wait_ms": "wait, ms", "jain": "Jain", "ms": "ms"}[name]
                cells_of = [what, unit, f"{median:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})", f"{mine:.{digits}f}"]
                lines.append([*cells_of, f"{mine / median:.2f}" if median else "", "agrees" if agrees else "**differs**", str(len(series.of(key, "void")))])
        if lines:
            head = ["cell", "measure", "kernel: median (range)", "simulated", "ratio", "", "void"]
            text += f"### {control}\n\n" + rows(head, lines) + "\n"
    total = rows(["measure", "cells", "agree"], [[band, count, f"{agree} ({agree / count:.0%})"] for band, (agree, count) in sums.items()])
    return total + "\n" + text


def main():
    options = arguments()
    series = Series(__file__, options.minutes)
    if options.farspan:
        run_all(options.farspan, series, options.only)
    made_part.write(PAGE, "kernel", tables(series), options.check)


if __name__ == "__main__":
    main()
