"""What an ACK costs the controls that read delay or telemetry, in instructions (`farspan bench congestion`, which needs
valgrind), and whether they stand in the order in which their papers put them: OSCAR between batches takes fewer than HPCC with
five ports, HPCC fewer than PowerTCP with as many. Swift is printed beside them.

usage: acks.py BINARY
"""
import json
import subprocess
import sys

# From the cheapest on. OSCAR is compared by ACKs that end no batch or round, the others by those of a steady flow, too.
ORDER = ("oscar", "hpcc", "powertcp")
BESIDE = ("swift",)
PORTS = 5


def main(binary):
    only = [word for name in (*ORDER, *BESIDE) for word in ("--only", name)]
    document = json.loads(subprocess.check_output([binary, "bench", "congestion", "--json", "--quiet", *only]))
    found = {b["name"]: b for b in document["benchmarks"] if b["hops"] in (None, PORTS)}
    if found[ORDER[0]]["instructions_per_ack"] is None:
        sys.exit("valgrind is not here: apt-get install valgrind")
    for name in (*ORDER, *BESIDE):
        b = found[name]
        counts = {key: round(b[key], 1) for key in ("instructions_per_ack", "instructions_between")}
        print(json.dumps({"control": name, "ports": b["hops"], **counts, "state_bytes": b["state_bytes"]}))
    broken = []
    for cheap, dear in zip(ORDER, ORDER[1:]):
        keys = ["instructions_between"] if cheap == "oscar" else ["instructions_between", "instructions_per_ack"]
        for key in keys:
            if found[cheap][key] >= found[dear][key]:
                broken.append(f"{key}: {cheap} {found[cheap][key]:.1f}, {dear} {found[dear][key]:.1f}")
    if broken:
        sys.exit("not in order\n" + "\n".join(broken))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
