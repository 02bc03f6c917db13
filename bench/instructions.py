"""Instructions per packet-hop, endpoints included: the difference of two run lengths under callgrind, so that start-up
does not count. Independent of the machine's load.

usage: instructions.py BINARY [--scheme NAME] [--engine oracle|windowed] [--limit N]
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile


def measure(binary, scheme, engine, size):
    """(instructions, packet-hops) of one permutation."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", binary, "run", "uno/permutation"]
        command += ["--scheme", scheme, "--engine", engine, "--json", "--quiet", "--set", f"workload.flow_size={size}"]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
    instructions = int(re.search(r"Collected : (\d+)", run.stderr)[1])
    return instructions, json.loads(run.stdout)["packet_hops"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--scheme", default="uno-noec")
    p.add_argument("--engine", default="oracle", choices=["oracle", "windowed"])
    p.add_argument("--limit", type=float, default=1400)
    a = p.parse_args()
    short, long = (measure(a.binary, a.scheme, a.engine, size) for size in ("256KiB", "1MiB"))
    per_hop = (long[0] - short[0]) / (long[1] - short[1])
    print(json.dumps({"scheme": a.scheme, "engine": a.engine, "packet_hops": long[1] - short[1], "instructions_per_hop": round(per_hop, 1)}))
    if per_hop > a.limit:
        sys.exit(f"{per_hop:.0f} instructions a packet-hop, more than {a.limit:.0f}")


main()
