#!/usr/bin/env python3
"""Fills the disk under a sweep: a clear error, nothing lost, and with more room it goes on. Linux, as root (a tmpfs in a mount
namespace of its own); elsewhere it says that it was skipped. Standard library only.

usage: full_disk.py BINARY    exit 0: it held, or was skipped; 1: what did not
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from skipped import skipped

SWEEP = """scenario = "bench/fat-tree"
seeds = "1..12"
[grid]
"""
# What a run is, and a disk that it fills: nothing is left in the end, or as much as many a file takes, but not a run.
CASES = {
    "runs of 40 KB": ('"topology.k" = 4\n"workload.flow_size" = "4KiB"\n', "300k"),
    "runs of 370 KB": (
        '"topology.k" = 8\n"workload.flow_size" = "128KiB"\n"probes.queue_interval" = "200ns"\n"probes.ports" = "all"\n',
        "1000k",
    ),
}
LARGE = "200m"


def outside(binary):
    """Starts this program anew where it may mount."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return skipped("full-disk", "only root on Linux can fill a disk of its own")
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    if probe.returncode:
        return skipped("full-disk", f"no mount namespace, allow it to this machine: {probe.stderr}")
    with tempfile.TemporaryDirectory(prefix="farspan-full-") as folder:
        return subprocess.run(["unshare", "--mount", sys.executable, __file__, binary, folder]).returncode


def inside(binary, folder):
    wrong = []
    for name, (grid, size) in CASES.items():
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]).returncode:
            return skipped("full-disk", "no tmpfs: take a kernel with CONFIG_TMPFS")
        wrong += [f"{name}: {what}" for what in fill(binary, folder, name, grid)]
        subprocess.run(["umount", folder], check=True)
    print("\n".join(wrong) if wrong else "held: a clear error, nothing lost")
    return 1 if wrong else 0


def fill(binary, folder, name, grid):
    """Gives what does not hold on the disk that is mounted there."""
    file, out = pathlib.Path(folder, "s.toml"), pathlib.Path(folder, "s")
    file.write_text(SWEEP + grid)
    command = [binary, "sweep", str(file), "--quiet", "--json", "--jobs", "2"]
    full, wrong = subprocess.run(command, capture_output=True, text=True), []
    print(f"{name}, full disk: exit {full.returncode}: {full.stderr.strip()}")
    if full.returncode != 1 or "No space left" not in full.stderr or "free disk space" not in full.stderr:
        wrong.append("expected exit 1, with what the system says and a cure")
    if full.stdout:
        wrong.append("expected an end at the first run without room, and no document")
    kept = {path.parent.name: path.read_bytes() for path in out.glob("[!.]*/summary.json")}
    if not kept:
        wrong.append("no run was kept")
    subprocess.run(["mount", "-o", f"remount,size={LARGE}", folder], check=True)
    more = subprocess.run(command, capture_output=True, text=True)
    document = json.loads(more.stdout) if more.returncode == 0 else {}
    print(f"{name}, with more room: {document.get('done')} done, {document.get('reused')} already complete")
    if (document.get("done"), document.get("reused")) != (12, len(kept)):
        wrong.append(f"expected 12 runs done, {len(kept)} of them there: {more.stderr.strip()[-500:]}")
    if any((out / name / "summary.json").read_bytes() != text for name, text in kept.items()):
        wrong.append("a run that was there has changed")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(outside(os.path.abspath(sys.argv[1])) if len(sys.argv) == 2 else inside(*sys.argv[1:]))
