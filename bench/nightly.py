"""CPU seconds beside an older commit, which is built once: what is too slow, or too unsteady, for every change.

usage: nightly.py BINARY [--base COMMIT] [--rounds N] [--only NAME]... [-o FILE.json]

Runs both builds at the same time on one core (side_by_side.py), and prints the median ratio new / old of each workload beside
the most that it may be. Fails if one is above, or if digests differ. The base is built in out/nightly/COMMIT, from a worktree
of its own. Wants a quiet machine: it prints the load.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from side_by_side import ratios

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A workload must have the digest that it has there: a commit that changes one takes its place.
BASE = "98f1decb"
# Name: arguments of `farspan run`, and the largest ratio.
WORKLOADS = {
    "128 hosts": (["bench/fat-tree", "--set", "topology.k=8", "--set", "workload.flow_size=16MiB"], 1.02),
    "8,192 hosts": (["bench/fat-tree", "--set", "topology.k=32", "--set", "workload.flow_size=512KiB"], 1.02),
    "start-up of 65,536 hosts": (["bench/fat-tree", "--set", "topology.k=64", "--set", "workload.flow_size=1KiB"], 1.02),
}


def built(commit):
    """The program of a commit of this repository."""
    folder = ROOT / "out" / "nightly" / commit
    binary = folder / "target" / "release" / "farspan"
    if not binary.exists():
        if not folder.exists():
            subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
            subprocess.run(["git", "worktree", "add", "--detach", folder, commit], cwd=ROOT, check=True)
        environment = os.environ | {"CARGO_TARGET_DIR": str(folder / "target"), "CARGO_INCREMENTAL": "0"}
        subprocess.run(["make", "release"], cwd=folder, env=environment, check=True)
    return str(binary)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the new build: target/release/farspan")
    parser.add_argument("--base", default=BASE, help=f"the older commit ({BASE})")
    parser.add_argument("--rounds", type=int, default=9, help="how often each workload runs (9)")
    parser.add_argument("--only", action="append", choices=list(WORKLOADS), help="a workload; may be repeated (all)")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="also writes the ratios as JSON")
    args = parser.parse_args()
    binaries = [built(args.base), args.binary]
    found, too_slow = {}, []
    print("| workload | new / old, median | lowest | highest | at most | load |\n|---|---|---|---|---|---|")
    for name in args.only or WORKLOADS:
        arguments, most = WORKLOADS[name]
        load = os.getloadavg()[0]
        each = sorted(ratio for _, _, ratio in ratios(binaries, arguments, args.rounds))
        middle = statistics.median(each)
        found[name] = {"median_ratio": middle, "ratios": each, "at_most": most, "load": load}
        print(f"| {name} | {middle:.3f} | {each[0]:.3f} | {each[-1]:.3f} | {most:.2f} | {load:.1f} |", flush=True)
        if middle > most:
            too_slow.append(name)
    if args.output:
        args.output.write_text(json.dumps({"base": args.base, "rounds": args.rounds, "workloads": found}, indent=1) + "\n")
    if too_slow:
        sys.exit(f"slower beside {args.base} than allowed: {', '.join(too_slow)}")


if __name__ == "__main__":
    main()
