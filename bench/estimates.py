"""Runs rows of bench/baseline/runs.tsv, asks `farspan check` what each costs, and compares the two: packet-hops, memory, CPU time.
Prints quantiles of estimate over measured, and every row outside the bounds.

usage: estimates.py BINARY [--only PATTERN]... [--most-hops N] [--every N] [--jobs N] [--check]

Bounds: packet-hops within 1.5 times those of the run, memory within twice its peak, and user and system time within the range that `check`
says, on nine rows of ten. `check` tries the scenario out on the same machine, so a slow machine has other ranges. What else runs there
costs a run caches, and a trial, too. `--check` ends with 3 where a bound is broken. PATTERN is that of baseline.py; `--every` takes every
N-th row.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import baseline
import study

PREFIX = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SECONDS = {"s": 1, "min": 60, "h": 3600}
HOPS, MEMORY, CPU = 1.5, 2.0, 0.9


def words(run):
    scenario, scheme, profile, changes = run
    return [scenario, "--scheme", scheme, "--profile", profile, "--seed", "1", *study.words(changes.split())]


def estimated(binary, run):
    """Packet-hops, memory, and the range of the CPU time, as `check` prints them."""
    text = subprocess.run([binary, "check", *words(run)], check=True, capture_output=True, text=True).stdout
    size = r"([\d.]+) ([KMGT]?)"
    (hops, m), = re.findall(rf"^# work: about {size}", text, re.M)
    (memory, n), = re.findall(rf"^# memory: about {size}", text, re.M)
    (low, of, high, unit), = re.findall(r"^# time: ([\d.]+) ?(s|min|h|) to ([\d.]+) (s|min|h)", text, re.M)
    return float(hops) * PREFIX[m], float(memory) * PREFIX[n], float(low) * SECONDS[of or unit], float(high) * SECONDS[unit]


def measured(binary, run):
    """The same of the run: packet-hops, memory, CPU time."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([binary, "run", *words(run), "--json", "--quiet"], stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{' '.join(run)}: exit {child.returncode}")
        out.seek(0)
        document = json.load(out)
    return document["packet_hops"], document["peak_rss_bytes"], used.ru_utime + used.ru_stime


def compared(binary, run):
    """Of one row: estimate over measured of packet-hops and of memory, whether the CPU time lies in its range, and all of it in words."""
    (hops, memory, low, high), (true_hops, true_memory, cpu) = estimated(binary, run), measured(binary, run)
    told = f"packet-hops {hops:.3g} for {true_hops:.3g}; memory {memory / 1e6:.0f} MB for {true_memory / 1e6:.0f}; CPU {low:.2f} to {high:.2f} s for {cpu:.2f}"
    return hops / true_hops, memory / true_memory, low <= cpu <= high, told


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--only", action="append", default=[], metavar="PATTERN")
    p.add_argument("--most-hops", type=float, default=50e6, metavar="N")
    p.add_argument("--every", type=int, default=1, metavar="N")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    wanted = lambda run: not a.only or any(fnmatch.fnmatch(" ".join(run[:3]), f"*{pattern}*") for pattern in a.only)
    runs = [run for run, row in baseline.read().items() if row["exit"] == "0" and int(row["packet_hops"]) <= a.most_hops and wanted(run)][:: a.every]
    if not runs:
        p.error(f"no run matches --only {a.only} --most-hops {a.most_hops}")
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        found = dict(zip(runs, pool.map(lambda run: compared(a.binary, run), runs)))
    broken = False
    for name, place, bound in (("packet-hops", 0, HOPS), ("memory", 1, MEMORY)):
        ratios = sorted(row[place] for row in found.values())
        outside = [run for run, row in found.items() if not 1 / bound <= row[place] <= bound]
        cuts = [ratios[min(len(ratios) - 1, int(q * len(ratios)))] for q in (0, 0.01, 0.1, 0.5, 0.9, 0.99, 1)]
        print(f"{name}, estimate over measured: " + ", ".join(f"{cut:.2f}" for cut in cuts) + " (least, 1%, 10%, median, 90%, 99%, largest)")
        print(f"  {len(outside)} of {len(found)} outside {1 / bound:.2f} to {bound:.2f}")
        for run in outside:
            print(f"  {' '.join(run).strip()}: {found[run][3]}")
        broken |= bool(outside)
    late = [run for run, row in found.items() if not row[2]]
    share = statistics.mean(row[2] for row in found.values())
    print(f"CPU time: {share:.1%} of {len(found)} within the range of their estimate; at least {CPU:.0%} have to be")
    for run in late:
        print(f"  {' '.join(run).strip()}: {found[run][3]}")
    broken |= share < CPU
    sys.exit(3 if a.check and broken else 0)


main()
