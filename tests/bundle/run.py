#!/usr/bin/env python3
"""Bundles a figure of each paper, runs each bundle again in an empty folder, and asks for equal digests; then changes one number of it,
and asks for that number. Standard library only.

usage: run.py BINARY [--size smoke|small] [--figures PAPER/FIGURE,...] [--limit SECONDS]    exit 0: it held; 1: what did not
"""

import argparse
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time

# One of each paper: those whose runs are the shortest at small size.
FIGURES = "gemini/table5,oscar/fig2,proxy/room,reps/fig1,uno/fig4"
# The longest block of a zstd frame.
BLOCK = 1 << 17
NUMBER = re.compile(r'("measured": )(-?\d[^,\n]*)')


def stored(data):
    """A zstd frame (RFC 8878, section 3.1) that stores its data as it is."""
    frame = bytearray(b"\x28\xb5\x2f\xfd\x00\x58")
    blocks = [data[i : i + BLOCK] for i in range(0, len(data), BLOCK)]
    for number, block in enumerate(blocks):
        is_last = number + 1 == len(blocks)
        frame += (len(block) << 3 | is_last).to_bytes(3, "little") + block
    return bytes(frame)


def pack(folder, place):
    """An archive of a folder, as somebody with tar and zstd makes it."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(folder, "bundle")
    place.write_bytes(stored(data.getvalue()))


class Failed(Exception):
    """Something did not hold."""


def farspan(arguments, binary, limit, folder, code):
    """The document of a command, which has to end with a code."""
    words = [str(word) for word in [binary, *arguments, "--json", "--quiet"]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode != code:
        raise Failed(f"{' '.join(words)}: exit {done.returncode}, and not {code}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def changed(unpacked):
    """Changes the first number of the claims; gives what it was."""
    path = unpacked / "claims.json"
    text = path.read_text()
    found = NUMBER.search(text)
    if found is None:
        raise Failed(f"{path}: no claim has a number")
    path.write_text(text[: found.start()] + found.group(1) + "123456.5" + text[found.end() :])
    return float(found.group(2))


def try_figure(figure, binary, size, limit, folder):
    """Makes a bundle, checks it, changes it, checks it again; gives a line of what came out."""
    make, empty, third = folder / "make", folder / "empty", folder / "changed"
    for new in (make, empty, third):
        new.mkdir()
    archive = folder / "figure.tar.zst"
    made = farspan(["bundle", figure, "-o", archive, "--size", size, "--runs", "runs"], binary, limit, make, 0)
    began = time.monotonic()
    checked = farspan(["bundle", "--check", archive, "--runs", "runs"], binary, limit, empty, 0)
    seconds = time.monotonic() - began
    equal = sum(run["digest"] == run["digest_now"] and run["packet_digest"] == run["packet_digest_now"] for run in checked["runs"])
    if not checked["holds"] or not equal == len(checked["runs"]) == made["runs"]:
        raise Failed(f"{figure}: {equal} of {made['runs']} runs have equal digests")
    before = changed(empty / "runs" / "bundle")
    forged = folder / "forged.tar.zst"
    pack(empty / "runs" / "bundle", forged)
    told = farspan(["bundle", "--check", forged], binary, limit, third, 3)
    pairs = [(found["bundle"], found["now"]) for found in told["differences"] if found["place"].endswith(" measured")]
    if pairs != [(123456.5, before)]:
        raise Failed(f"{figure}: the changed number is not told: {told['differences']}")
    size_kb = archive.stat().st_size / 1000
    return f"{figure}: {equal} of {made['runs']} digests equal, {size_kb:.0f} KB, {made['run_time_s']:.1f} s of runs, checked in {seconds:.1f} s, change found"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--size", default="smoke")
    parser.add_argument("--figures", default=FIGURES)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of one command")
    arguments = parser.parse_args()
    binary = arguments.binary.resolve()
    status = 0
    for figure in arguments.figures.split(","):
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(try_figure(figure, binary, arguments.size, arguments.limit, pathlib.Path(folder)), flush=True)
            except (Failed, subprocess.TimeoutExpired) as error:
                print(error)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
