"""How many times slower a run is with a control in Python than with its twin in Rust, by CPU time: a table of
docs/src/python-control.md.

The twins stand in python/tests; their runs have equal digests. Rounds take turns, and of each the median counts.

usage: python_control.py --run [ROUNDS]      with the farspan package installed: keeps the numbers in bench/python_control.json, and
                                             writes the table
       python_control.py [--check]           writes the table from the kept numbers (or compares it)
"""
import statistics
import sys
import time
import warnings

import study

NAMES = {"dctcp": "DCTCP", "swift": "Swift", "hpcc": "HPCC", "dcqcn": "DCQCN"}
SCENARIOS = {
    "uno/incast-mixed": {"workload.flow_size": "128MiB"},
    "uno/permutation": {"workload.flow_size": "2MiB"},
}


def measured(rounds):
    """A row a control and scenario: CPU seconds of each round with the twin in Rust and with the one in Python."""
    sys.path.insert(0, str(study.HERE.parent / "python/tests"))
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
    yield "table", study.table(["control", "scenario", "packets", "Rust, CPU s", "Python, CPU s", "times", "us more a packet"], rows)


def main(*words):
    control = study.Study(__file__, "python-control.md")
    if words[:1] == ("--run",):
        control.keep(list(measured(int(words[1]) if len(words) > 1 else 3)))
    elif words not in ((), ("--check",)):
        sys.exit(__doc__)
    control.write(parts(control.kept()), words == ("--check",))


if __name__ == "__main__":
    main(*sys.argv[1:])
