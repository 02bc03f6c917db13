"""How many times slower a run is with a control in Python than with its twin in Rust, by CPU time.

DCTCP is both (python/tests/dctcp.py), in runs whose digests are equal. Rounds take turns, and of each the median counts.

usage: python_control.py [ROUNDS]      with the farspan package installed
"""
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/tests"))

import farspan as fs
from dctcp import Dctcp

SCENARIOS = {
    "uno/incast-mixed": {"workload.flow_size": "128MiB"},
    "uno/permutation": {"workload.flow_size": "2MiB"},
}


def run(scenario, changes, **control):
    began = time.process_time()
    result = fs.run(scenario, scheme="dctcp", seed=1, set=changes, progress=False, **control)
    return time.process_time() - began, result


def main(rounds):
    print("scenario            packets    Rust, CPU s  Python, CPU s  times  us more a packet")
    for scenario, changes in SCENARIOS.items():
        rust, python, digests = [], [], set()
        for _ in range(rounds):
            for times, control in ((rust, {}), (python, {"control": Dctcp})):
                seconds, result = run(scenario, changes, **control)
                times.append(seconds)
                digests.add(result.digest)
        if len(digests) != 1:
            sys.exit(f"{scenario}: the twins differ")
        slow, fast, packets = statistics.median(python), statistics.median(rust), result.summary["packets"]["sent"]
        print(f"{scenario:18} {packets:8,} {fast:14.2f} {slow:14.2f} {slow / fast:6.1f} {1e6 * (slow - fast) / packets:17.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
