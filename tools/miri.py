"""Runs the tests of every module with `unsafe` code, and small whole runs of the simulator, under Miri, which finds undefined
behaviour that a run does not show.
It is skipped where no toolchain has Miri and none can be installed.

usage: miri.py
"""
import collections
import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

from skipped import skipped

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Few random inputs; tests may read files and clocks; vector instructions that Miri knows.
SETTINGS = {
    "PROPTEST_CASES": "1",
    "MIRIFLAGS": "-Zmiri-disable-isolation",
    "RUSTFLAGS": "-Ctarget-feature=+ssse3,+avx2,+gfni" if platform.machine() == "x86_64" else "",
}

# Unsafe code that is system calls alone, which Miri does not know.
SYSTEM_CALLS = {"crates/emu/src/linux/sys.rs", "crates/kernel/src/load/sys.rs"}

WHOLE_RUNS = ["-p", "farspan-sim", "--test", "all", "small::"]


def modules():
    """By package: the modules whose tests reach `unsafe` code. A file without tests of its own is left to its parent's, and
    where that has none to the whole runs."""
    found = collections.defaultdict(set)
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        if path.relative_to(ROOT).as_posix() in SYSTEM_CALLS:
            continue
        source = path.read_text()
        if re.search(r"\bunsafe (\{|fn|impl)", source):
            crate, parts = path.relative_to(ROOT).parts[1], list(path.relative_to(ROOT).with_suffix("").parts[3:])
            module = parts[:-1] if parts[-1] == "mod" else parts
            while module and not has_tests(path.parents[len(path.parts) - 1 - path.parts.index("src")] / "src", module):
                module = module[:-1]
            if module:
                found[f"farspan-{crate}"].add("::".join([*module, "tests::"]))
    return found


def has_tests(folder, module):
    files = [folder.joinpath(*module, "mod.rs"), folder.joinpath(*module).with_suffix(".rs")]
    return any(re.search(r"\bmod tests\b", file.read_text()) for file in files if file.exists())


def has_miri():
    return subprocess.run(["cargo", "+nightly", "miri", "--version"], capture_output=True).returncode == 0


def run(words):
    """Prints how it went; gives the message of a failure."""
    begun = time.monotonic()
    command = ["cargo", "+nightly", "miri", "test", "--locked", "--quiet", *words]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | SETTINGS, capture_output=True, text=True)
    passed = sum(int(count) for count in re.findall(r"(\d+) passed", done.stdout))
    print(f"{' '.join(words)}: {passed} tests passed in {time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode == 0 and passed > 0:
        return None
    return f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n{' '.join(command)}: exit {done.returncode}, {passed} passed"


def main():
    if not has_miri():
        components = ["toolchain", "install", "nightly", "--profile", "minimal", "--component", "miri", "--component", "rust-src"]
        subprocess.run(["rustup", *components], capture_output=True)
    if not has_miri():
        return skipped("miri", "no nightly toolchain has Miri: rustup toolchain install nightly --component miri --component rust-src")
    # Two at a time: building is one after the other, running is not.
    runs = [["-p", package, "--lib", "--", *sorted(filters)] for package, filters in modules().items()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [failure for failure in pool.map(run, [*runs, WHOLE_RUNS]) if failure]
    if failures:
        sys.exit("\n".join(failures))


main()
