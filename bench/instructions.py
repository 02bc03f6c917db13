"""Instructions per packet-hop, endpoints included: the difference of two run lengths under callgrind, so that start-up
does not count. Independent of the machine's load. Full ports (priorities, RED, phantom queues) and plain ones (one queue)
on the permutation of a fat tree of radix 8; what probes every 10 us add; and full ports of a lossless network with telemetry
(shared buffers, PFC, INT). The engine `ordered` is the windowed one with every switch in ordered mode.

usage: instructions.py BINARY [--engine NAME]... [--ports full|fifo]... [--probes] [--lossless] [--limit WHAT=N]...
                       [--set PATH=VALUE]...

WHAT is full, fifo, lossless (of the windowed engine), ENGINE:full, ENGINE:fifo, or probes: the most instructions a packet-hop,
or for probes the largest ratio of full ports with them to those without. Or tiny: the most millions of instructions of a whole
run of 3,000 packet-hops, start-up and results included, under either profile. With nothing but limits, only what has one is
measured; with nothing at all, both ports under every engine.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import study

SCENARIOS = {"full": "bench/fat-tree", "fifo": "bench/fat-tree-fifo"}
ENGINES = ("windowed", "ordered", "oracle")
SIZES = ("256KiB", "1MiB")
# Full ports of the windowed engine with something more.
MORE = {
    "probes": ["probes.rate_interval=10us", "probes.queue_interval=10us"],
    "lossless": ["scheme.ports.pool.size=16MiB", "scheme.ports.pfc.links=all", "scheme.ports.telemetry=int"],
}


# A scenario of a user's own, which under `artifact` is compared with the published ones.
TINY = """
name = "tiny"
[topology]
kind = "fat_tree"
k = 4
[[workload]]
kind = "permutation"
flow_size = "64KiB"
"""


def measure(binary, ports, engine, changes):
    """(instructions, packet-hops) of one run."""
    arguments = ["--engine", engine, *study.words(changes)]
    return count(binary, [SCENARIOS[ports], *arguments])


def tiny(binary):
    """Millions of instructions of a tiny run, under the profile that takes more."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder) / "tiny.toml"
        scenario.write_text(TINY)
        return max(count(binary, [str(scenario), "--profile", profile])[0] / 1e6 for profile in ("paper", "artifact"))


def count(binary, arguments):
    """(instructions, packet-hops) of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", binary, "run", *arguments]
        command += ["--json", "--quiet"]
        run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr[-1000:]}")
    return int(re.search(r"Collected : (\d+)", run.stderr)[1]), json.loads(run.stdout)["packet_hops"]


def per_hop(binary, ports, engine, changes):
    """Instructions of a longer run beyond those of a shorter one, by their packet-hops; and those packet-hops."""
    short, long = (measure(binary, ports, engine, [*changes, f"workload.flow_size={size}"]) for size in SIZES)
    hops = long[1] - short[1]
    return (long[0] - short[0]) / hops, hops


def limits(words):
    found = {}
    for word in words:
        what, _, number = word.partition("=")
        engine, _, ports = what.rpartition(":")
        if ports not in (SCENARIOS if engine else [*SCENARIOS, *MORE, "tiny"]):
            sys.exit(f"--limit {word}: write full=N, fifo=N, lossless=N, ENGINE:full=N, ENGINE:fifo=N, probes=RATIO or tiny=MILLIONS")
        try:
            found[f"windowed:{ports}" if not engine and ports in SCENARIOS else what] = float(number)
        except ValueError:
            sys.exit(f"--limit {word}: {number!r} is not a number")
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--engine", action="append", default=[], choices=ENGINES)
    p.add_argument("--ports", action="append", default=[], choices=[*SCENARIOS])
    for more in MORE:
        p.add_argument(f"--{more}", action="append_const", dest="more", const=more, default=[], help=f"also {more}, windowed")
    p.add_argument("--limit", action="append", default=[], metavar="WHAT=N")
    p.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="changes")
    a = p.parse_args()
    limit = limits(a.limit)
    engines, ports = a.engine or ENGINES, a.ports or [*SCENARIOS]
    everything = a.engine or a.ports or not limit
    asked = [f"{engine}:{port}" for engine in engines for port in ports] if everything else []
    asked += [*a.more, *limit]
    asked = sorted({*asked, *(["windowed:full"] if "probes" in asked else [])}, key=lambda what: (what in MORE, what))
    results = {}
    for what in asked:
        if what == "tiny":
            results[what] = tiny(a.binary)
            print(json.dumps({"tiny": round(results[what], 1)}), flush=True)
            continue
        engine, port = ("windowed", "full") if what in MORE else what.split(":")
        count, hops = per_hop(a.binary, port, engine, a.changes + MORE.get(what, []))
        line = {"engine": engine, "ports": port, "packet_hops": hops, "instructions_per_hop": round(count, 1)}
        results[what] = count
        if what in MORE:
            line |= {"with": what}
        if what == "probes":
            results[what] = count / results["windowed:full"]
            line |= {"ratio_to_off": round(results[what], 4)}
        print(json.dumps(line), flush=True)
    broken = [f"{what}: {results[what]:.4g}, more than {most:g}" for what, most in limit.items() if results[what] > most]
    if broken:
        sys.exit("\n".join(broken))


main()
