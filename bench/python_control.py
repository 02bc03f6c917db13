"""How many times slower a run is with a control in Python than with its twin in Rust, by CPU time.

The twins stand in python/tests; their runs have equal digests. Rounds take turns, and of each the median counts.

usage: python_control.py [ROUNDS]      with the farspan package installed
"""
import pathlib
import statistics
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/tests"))

import farspan as fs
from dcqcn import Dcqcn
from dctcp import Dctcp
from hpcc import Hpcc
from swift import Swift

TWINS = {"dctcp": Dctcp, "swift": Swift, "hpcc": Hpcc, "dcqcn": Dcqcn}
SCENARIOS = {
    "uno/incast-mixed": {"workload.flow_size": "128MiB"},
    "uno/permutation": {"workload.flow_size": "2MiB"},
}


def run(scenario, scheme, changes, **control):
    began = time.process_time()
    result = fs.run(scenario, scheme=scheme, seed=1, set=changes, progress=False, **control)
    return time.process_time() - began, result


def main(rounds):
    # HPCC and DCQCN were made for fabrics that lose nothing, which is no question here.
    warnings.simplefilter("ignore")
    print("control scenario            packets    Rust, CPU s  Python, CPU s  times  us more a packet")
    for scheme, twin in TWINS.items():
        for scenario, changes in SCENARIOS.items():
            rust, python, digests = [], [], set()
            for _ in range(rounds):
                for times, control in ((rust, {}), (python, {"control": twin})):
                    seconds, result = run(scenario, scheme, changes, **control)
                    times.append(seconds)
                    digests.add(result.digest)
            if len(digests) != 1:
                sys.exit(f"{scheme}, {scenario}: the twins differ")
            slow, fast = statistics.median(python), statistics.median(rust)
            packets = result.summary["packets"]["sent"]
            more = 1e6 * (slow - fast) / packets
            print(f"{scheme:7} {scenario:18} {packets:8,} {fast:14.2f} {slow:14.2f} {slow / fast:6.1f} {more:17.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
