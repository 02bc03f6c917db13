"""How many times slower a run is with a control in Python than with its twin in Rust, by CPU time: a table of
docs/src/python-control.md.

The twins stand in python/tests; their runs have equal digests. Rounds take turns, and of each the median counts.

usage: python_control.py --run [ROUNDS]      with the farspan package installed: keeps the numbers in bench/python_control.json, and
                                             writes the table
       python_control.py [--check]           writes the table from the kept numbers (or compares it)
"""
import json
import pathlib
import statistics
import sys
import time
import warnings

import made_part

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "python_control.json"
PAGE = HERE.parent / "docs/src/python-control.md"

NAMES = {"dctcp": "DCTCP", "swift": "Swift", "hpcc": "HPCC", "dcqcn": "DCQCN"}
SCENARIOS = {
    "uno/incast-mixed": {"workload.flow_size": "128MiB"},
    "uno/permutation": {"workload.flow_size": "2MiB"},
}


def measured(rounds):
    """A row a control and scenario: CPU seconds of each round with the twin in Rust and with the one in Python."""
    sys.path.insert(0, str(HERE.parent / "python/tests"))
    import farspan as fs
    from dcqcn import Dcqcn
    from dctcp import Dctcp
    from hpcc import Hpcc
    from swift import Swift

    # HPCC and DCQCN were made for fabrics that lose nothing, which is no question here.
    warnings.simplefilter("ignore")
    for scheme, twin in {"dctcp": Dctcp, "swift": Swift, "hpcc": Hpcc, "dcqcn": Dcqcn}.items():
        for scenario, changes in SCENARIOS.items():
            rust, python, digests = [], [], set()
            for _ in range(rounds):
                for times, control in ((rust, {}), (python, {"control": twin})):
                    began = time.process_time()
                    result = fs.run(scenario, scheme=scheme, seed=1, set=changes, progress=False, **control)
                    times.append(round(time.process_time() - began, 3))
                    digests.add(result.digest)
            if len(digests) != 1:
                sys.exit(f"{scheme}, {scenario}: the twins differ")
            yield {"scheme": scheme, "scenario": scenario, "packets": result.summary["packets"]["sent"], "rust_s": rust, "python_s": python}


def parts(kept):
    """Part of the page -> text."""
    rows, times, more = [], [], []
    for row in kept:
        fast, slow = statistics.median(row["rust_s"]), statistics.median(row["python_s"])
        times.append(slow / fast)
        more.append(1e6 * (slow - fast) / row["packets"])
        what = f"`{row['scenario']}`, {SCENARIOS[row['scenario']]['workload.flow_size'].replace('MiB', ' MiB')} a flow"
        rows.append([NAMES[row["scheme"]], what, f"{row['packets']:,}", f"{fast:.2f}", f"{slow:.2f}", f"{times[-1]:.1f}", f"{more[-1]:.2f}"])
    yield "in-short", (f"A run with a control in Python takes {min(times):.1f} to {max(times):.1f} times the CPU time of one with its twin in Rust: "
                       f"{min(more):.1f} to {max(more):.1f} us more for each packet.\n")
    yield "table", made_part.table(["control", "scenario", "packets", "Rust, CPU s", "Python, CPU s", "times", "us more a packet"], rows)


def main(*words):
    if words[:1] == ("--run",):
        rows = list(measured(int(words[1]) if len(words) > 1 else 3))
        KEPT.write_text(json.dumps(rows, indent=1) + "\n")
    elif words not in ((), ("--check",)):
        sys.exit(__doc__)
    for part, text in parts(json.loads(KEPT.read_text())):
        made_part.write(PAGE, "python_control", text, words == ("--check",), part)


if __name__ == "__main__":
    main(*sys.argv[1:])
