"""What an ACK costs the controls that read delay or telemetry, in instructions (`farspan-lab bench congestion`, which needs
valgrind). Fails unless OSCAR between batches takes fewer than HPCC and PowerTCP with the telemetry of five ports.

usage: acks.py FARSPAN-LAB
"""
import json
import subprocess
import sys

PORTS = 5
KEYS = ("instructions_per_ack", "instructions_between")


def main(binary):
    only = [word for name in ("oscar", "hpcc", "powertcp", "swift") for word in ("--only", name)]
    document = json.loads(subprocess.check_output([binary, "bench", "congestion", "--json", "--quiet", *only]))
    found = {b["name"]: b for b in document["benchmarks"] if b["hops"] in (None, PORTS)}
    if found["oscar"]["instructions_per_ack"] is None:
        sys.exit("valgrind is not here: apt-get install valgrind")
    for name, b in found.items():
        counts = {key: round(b[key], 1) for key in KEYS}
        print(json.dumps({"control": name, "ports": b["hops"], **counts, "state_bytes": b["state_bytes"]}))
    batches = found["oscar"]["instructions_between"]
    broken = [f"{name}: {key} {found[name][key]:.1f}" for name in ("hpcc", "powertcp") for key in KEYS if found[name][key] <= batches]
    if broken:
        sys.exit(f"not above OSCAR's {batches:.1f} between batches\n" + "\n".join(broken))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
