"""Measures how fast the simulator is and writes the tables of docs/src/speed-measured.md. These are `farspan bench sim`, longer runs
on one and two threads, the cost as networks grow, bursts over two sites, and instructions a packet-hop.

usage: speed.py BINARY [--repeat N] [-o FILE]
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import study

GROWTH = [
    ("128 hosts (k=8)", "bench/fat-tree", 8, "32MiB"),
    ("1,024 hosts (k=16)", "bench/fat-tree", 16, "4MiB"),
    ("8,192 hosts (k=32)", "bench/fat-tree", 32, "512KiB"),
    ("two sites of 1,024 hosts (k=16)", "bench/two-sites", 16, "1MiB"),
]
LONGER = [("128 hosts (k=8)", "bench/fat-tree", 8, "128MiB"), ("1,024 hosts (k=16)", "bench/fat-tree", 16, "16MiB"),
          ("two sites of 128 hosts", "bench/two-sites", 8, "64MiB")]
BURSTS = [("artifact mix and profile", ["--profile", "artifact", "--set", "workload.mix=artifact"]), ("paper mix and profile", ["--set", "workload.mix=paper"])]


def output(*command):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{command}: exit {run.returncode}\n{run.stderr[-1000:]}")
    return run.stdout


def bench_sim(binary, repeat):
    found = {}
    for b in json.loads(output(binary, "bench", "sim", "--repeat", repeat, "--json"))["benchmarks"]:
        name = b["name"].removesuffix("_probes")
        found.setdefault(name, {})["probes" if b["name"].endswith("_probes") else "", b["threads"]] = b
    rows = []
    for name, by in found.items():
        rate = lambda *key: f"{by[key]['packet_hops_per_s'] / 1e6:.1f}" if key in by else "-"  # noqa: B023, E731
        rows.append([f"`{name}`", rate("", 1), rate("", 2), rate("probes", 1), f"{by['', 1]['peak_rss_bytes'] / 1e6:.0f}"])
    return ["`farspan bench sim`, millions of packet-hops a second:", "", study.table(["benchmark", "one thread", "two threads", "one thread, probes at 10 us", "MB"], rows)]


def run(binary, *arguments):
    return json.loads(output(binary, "run", *arguments, "--json", "--quiet"))


def spread(values, digits=1):
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def rate(r):
    return r["packet_hops"] / (r["wall_time_s"] - r["setup_time_s"])


def longer(binary, rounds):
    rows = []
    for name, scenario, k, size in LONGER:
        rates = {1: [], 2: []}
        for _ in range(rounds):
            for threads in rates:
                r = run(binary, scenario, "--threads", threads, "--set", f"topology.k={k}", "--set", f"workload.flow_size={size}")
                rates[threads].append(rate(r))
        ratios = [two / one for one, two in zip(rates[1], rates[2])]
        rows.append([name, size, *(spread([r / 1e6 for r in rates[t]]) for t in rates), spread(ratios, 2)])
    return ["Longer runs, alternately on one thread and on two:", "", study.table(["network", "flows", "one thread, M hops/s", "two threads", "ratio"], rows)]


def growth(binary, rounds):
    rows = []
    for name, scenario, k, size in GROWTH:
        runs = [run(binary, scenario, "--set", f"topology.k={k}", "--set", f"workload.flow_size={size}") for _ in range(rounds)]
        rows.append([name, size, spread([1e9 / rate(r) for r in runs]), f"{runs[0]['setup_time_s']:.2f}", f"{runs[0]['peak_rss_bytes'] / 1e6:.0f}"])
    return ["As the network grows (full ports, one thread):", "", study.table(["network", "flows", "ns a hop", "set-up, s", "MB"], rows)]


def bursts(binary, rounds):
    rows = []
    for name, more in BURSTS:
        runs = [run(binary, "uno/websearch", "--scheme", "uno-noec", "--threads", 1, *more) for _ in range(rounds)]
        rows.append([name, f"{runs[0]['packet_hops'] / 1e6:.1f}", spread([r["wall_time_s"] for r in runs], 2), f"{runs[0]['peak_rss_bytes'] / 1e6:.0f}"])
    return ["`uno/websearch`, 5,000 flows under `uno-noec`, one thread:", "", study.table(["", "M hops", "wall time, s", "MB"], rows)]


def instructions(binary):
    script = pathlib.Path(__file__).with_name("instructions.py")
    lines = [json.loads(line) for line in output(sys.executable, script, binary, "--probes").splitlines()]
    rows = [[m["engine"], m["ports"] + (", with " + m["with"] if "with" in m else ""), f"{m['instructions_per_hop']:.0f}",
             f"{m['ratio_to_off']:.3f}" if "ratio_to_off" in m else ""] for m in lines]
    return ["Instructions a packet-hop, endpoints included (`bench/instructions.py`):", "", study.table(["engine", "ports", "instructions", "to probes off"], rows)]


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} cores of {model[1].strip() if model else 'an unknown processor'}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("-o", type=pathlib.Path)
    a = p.parse_args()
    before = os.getloadavg()[0]
    parts = [bench_sim(a.binary, a.repeat), longer(a.binary, a.repeat), growth(a.binary, min(3, a.repeat)), bursts(a.binary, min(3, a.repeat)), instructions(a.binary)]
    head = ["# Speed, measured", "", f"Written by `python3 bench/speed.py BINARY`: medians and, in brackets, range of {a.repeat} rounds (at most 3 for the growing networks and the bursts)",
            f"on {machine()}; load average {before:.1f} before, {os.getloadavg()[0]:.1f} after.", ""]
    text = "\n".join(head + [line for part in parts for line in part])
    if a.o:
        a.o.write_text(text)
    else:
        print(text)


main()
