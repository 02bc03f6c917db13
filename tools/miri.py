"""Runs the tests of every module with `unsafe` code under Miri, which finds undefined behaviour that a run does not show.
Says SKIPPED, and ends with 0, where no toolchain has Miri and none can be had.

usage: miri.py
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A test of random inputs does as well with few of them; those that read a file or a clock may.
SETTINGS = {"PROPTEST_CASES": "4", "MIRIFLAGS": "-Zmiri-disable-isolation"}


def modules():
    """By package: the modules whose tests reach `unsafe` code; the parent's where a file has no tests of its own."""
    found = collections.defaultdict(set)
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        source = path.read_text()
        if re.search(r"\bunsafe (\{|fn|impl)", source):
            crate, parts = path.relative_to(ROOT).parts[1], list(path.relative_to(ROOT).with_suffix("").parts[3:])
            module = parts[:-1] if parts[-1] == "mod" or "#[cfg(test)]" not in source else parts
            found[f"farspan-{crate}"] |= {"::".join(module) + "::"} if module else set()
    return found


def has_miri():
    return subprocess.run(["cargo", "+nightly", "miri", "--version"], capture_output=True).returncode == 0


def main():
    if not has_miri():
        components = ["toolchain", "install", "nightly", "--profile", "minimal", "--component", "miri", "--component", "rust-src"]
        subprocess.run(["rustup", *components], capture_output=True)
    if not has_miri():
        print("SKIPPED: Miri (no nightly toolchain with it to be had)")
        return
    for package, filters in modules().items():
        begun = time.monotonic()
        command = ["cargo", "+nightly", "miri", "test", "--locked", "--quiet", "-p", package, "--lib", "--", *sorted(filters)]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | SETTINGS, capture_output=True, text=True)
        print(f"{package}: {' '.join(sorted(filters))}: {time.monotonic() - begun:.0f} s, exit {done.returncode}", flush=True)
        passed = sum(int(count) for count in re.findall(r"(\d+) passed", done.stdout))
        if done.returncode != 0 or passed == 0:
            sys.exit(f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n{' '.join(command)}: {passed} tests passed")
        print(f"    {passed} tests passed")


main()
