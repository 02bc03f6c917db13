"""Records what comes to a port of the emulator from a flow of the kernel's UnoCC, as its phantom queue marks it. Writes when
each packet came, how long it was, and whether it was marked, to crates/kernel/tests/all/arrivals.csv, to which a test holds the program of
`farspan kernel mark`.

usage: kernel_arrivals.py FARSPAN     root, on Linux; ten seconds
"""
import pathlib
import struct
import sys
import tempfile
import tomllib

import study
from kernel_lab import Lab
from kernel_paths import PHANTOM_PORT, SCENARIO

FILE = study.HERE.parent / "crates/kernel/tests/all/arrivals.csv"
SEED = 1
# It begins with nearly a BDP, so that the port marks from the start.
PARAMETERS = ["line_rate=200Mbps", "intra_rtt=20ms", "start_cwnd=300"]
SECONDS = 3
PACKETS = 2_000
# The link of the only sender, and the port to which all its packets come next.
LINK, PORT = "host0->tor0#0", "tor0->tor1#0"
LINK_DELAY_NS = int(tomllib.loads(SCENARIO.read_text())["topology"]["link_delay"].removesuffix("ms")) * 1_000_000

INTERFACE, PACKET = 1, 6
IF_NAME = 2


def options(block):
    """The options of a block of pcapng, by code."""
    found, at = {}, 0
    while at + 4 <= len(block):
        code, length = struct.unpack_from("<HH", block, at)
        if code == 0:
            break
        found.setdefault(code, block[at + 4 : at + 4 + length])
        at += 4 + (length + 3) // 4 * 4
    return found


def packets(file):
    """Of each port by name: when its packets left, in ns, and their bytes from the IP header on, with their whole length."""
    data, at, names, found = file.read_bytes(), 0, [], {}
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        if kind == INTERFACE:
            names.append(options(body[8:])[IF_NAME].decode())
        elif kind == PACKET:
            interface, high, low, kept, whole = struct.unpack_from("<IIIII", body)
            found.setdefault(names[interface], []).append(((high << 32) + low, body[20 : 20 + kept], whole))
        at += length
    return found


def main():
    farspan = study.arguments().farspan
    # Packets reach the port when they have crossed the link, and no later.
    settings = ["host.jitter=0ns", "topology.buffer=500KB", *PHANTOM_PORT]
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(farspan, pathlib.Path(folder), SCENARIO, "unocc", SEED, settings, PARAMETERS)
        lab.up += ["--pcap", LINK, "--pcap", PORT]
        with lab:
            lab.sink(2)
            lab.said(lab.send(0, "10.0.0.3", SECONDS))
        found = packets(lab.out / "trace/ports.pcapng")
        warnings = [warning for warning in lab.document["warnings"] if "pcap" in warning]
    came, left = found[LINK][:PACKETS], found[PORT][:PACKETS]
    # A port is first in, first out, and has room for all: number and sequence number of the n-th packet are the same behind it.
    same = [(one[1][4:6], one[1][24:28]) for one in came] == [(one[1][4:6], one[1][24:28]) for one in left]
    if warnings or len(came) < PACKETS or not same:
        order = "all left in order" if same else "not all left in order"
        sys.exit(f"{len(came):,} packets came, of {PACKETS:,}; {order}; {warnings}: run it on a quiet machine")
    lines, before = [], 0
    for (at, _, length), (_, head, _) in zip(came, left, strict=True):
        lines.append((at + LINK_DELAY_NS - before, length, int(head[1] & 3 == 3)))
        before = at + LINK_DELAY_NS
    text = "".join(f"{gap},{length},{marked}\n" for gap, length, marked in lines)
    FILE.write_text(f"# {PORT}, seed {SEED}\ngap_ns,bytes,marked\n{text}")
    print(f"{len(lines):,} packets, {sum(marked for _, _, marked in lines):,} marked")


main()
