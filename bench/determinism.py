"""Runs one scenario with every binary given, twice each and with both engines, and asks for one digest; another seed must
differ.

usage: determinism.py BINARY...
"""
import sys

import study

SCENARIO = ["uno/websearch", "--scheme", "uno-noec", "--set", "workload.flows=400"]


def digests(binary, seed, engine="windowed"):
    document = study.document(binary, *SCENARIO, "--seed", seed, "--engine", engine)
    return document["digest"], document["packet_digest"], document["packet_hops"]


def main(binaries):
    same = {digests(binary, 1) for binary in binaries for _ in range(2)} | {digests(binaries[-1], 1, "oracle")}
    other = digests(binaries[0], 2)
    print(f"seed 1: {sorted(same)}; seed 2: {other}")
    if len(same) != 1:
        sys.exit("one scenario and seed gave different results")
    if other in same:
        sys.exit("two seeds gave the same result")


main(sys.argv[1:])
