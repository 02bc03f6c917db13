#!/usr/bin/env python3
"""Counts how many files it takes to add something. Puts a toy of each kind (TOY.toml beside this file) into a copy of the checkout,
counts the files of source that it touches, and prints `git diff --stat`; then builds them all together, runs what holds every
control, path selector, policy and kind of telemetry to its contract, and runs the program with each of them.

usage: run.py [TOY ...] [--count]    all where none is named; --count: builds nothing
exit 1: a toy no longer applies, builds or conforms, or it takes more files than its `most`
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The same place each time: builds know crates by their paths.
TREE = ROOT / "out/toys"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
# No optimisation: it takes longer than what is run.
BUILD = ["--profile=dev", "--no-default-features"]
PACKAGES = ["-p", "farspan-transport", "-p", "farspan-fabric", "-p", "farspan-metrics"]
TESTS = ["cargo", "test", "--quiet", *BUILD, "--features=farspan-transport/std", *PACKAGES, "--lib", "--"]
# What holds a member of each registry to its contract, by the names of tests.
CONTRACTS = ["congestion::testing::conformance", "balance::testing", "ack::testing", "recovery::testing", "telemetry", "counters", "table::"]
SCENARIO = """name = "toys"
[topology]
kind = "dumbbell"
[[workload]]
kind = "permutation"
flow_size = "64KiB"
"""
# What a run with a toy is told beside its scenario.
TOLD = {
    "control": ["--scheme", "toy"],
    "balancer": ["--scheme", "dctcp+toy"],
    "ack": ["--set", "transport.ack=toy"],
    "recovery": ["--set", "scheme.intra.recovery=toy"],
    "telemetry": ["--set", "scheme.ports.telemetry=toy"],
    "key": ["--set", "host.toy=5us"],
    "column": [],
    "workload": ["--set", "workload=[{ kind = 'toy', flow_size = '64KiB' }]"],
}


class Failed(Exception):
    """A toy did not hold."""


def run(*words, cwd, **options):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, **options)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, words))}: exit {done.returncode}\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout


def copy(tree):
    """The files of the checkout as they are now, committed or not, with their times, so that nothing is built twice."""
    shutil.rmtree(tree, ignore_errors=True)
    for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0"):
        if name and os.path.lexists(ROOT / name):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    run("git", "init", "--quiet", cwd=tree)
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=Before")


def git(tree, *words):
    return run("git", "-c", "user.name=toys", "-c", "user.email=toys@localhost", *words, cwd=tree)


def apply(tree, toy):
    for new in toy.get("file", []):
        if (tree / new["path"]).exists():
            raise Failed(f"{new['path']} is there already")
        (tree / new["path"]).write_text(new["text"].lstrip("\n"))
    for edit in toy["edit"]:
        path = tree / edit["path"]
        text = path.read_text() if path.is_file() else ""
        if text.count(edit["old"]) != 1:
            raise Failed(f"{edit['path']} has not one place with\n{edit['old']}")
        path.write_text(text.replace(edit["old"], edit["new"]))


def count(tree, toy):
    """Applies a toy, prints what it takes, and takes it back; says whether it is few enough."""
    apply(tree, toy)
    git(tree, "add", "--all")
    touched = git(tree, "diff", "--cached", "--name-only").split()
    stat = git(tree, "diff", "--cached", "--stat")
    git(tree, "reset", "--quiet", "--hard")
    source = [name for name in touched if name not in toy.get("beside", [])]
    holds = len(source) <= toy["most"]
    beside = f", and {', '.join(toy['beside'])}" if "beside" in toy else ""
    print(f"{toy['what']}: {len(source)} files of source{beside}; at most {toy['most']}: {'holds' if holds else 'TOO MANY'}\n{stat}", flush=True)
    return holds


def build(tree, toys):
    """Builds all toys together, holds them to their contracts, and runs the program with each."""
    for toy in toys.values():
        apply(tree, toy)
    env = os.environ | {"CARGO_TARGET_DIR": str(TARGET), "INSTA_UPDATE": "no"}
    for contract in CONTRACTS:
        passed = sum(map(int, re.findall(r"(\d+) passed", run(*TESTS, contract, cwd=tree, env=env))))
        if not passed:
            raise Failed(f"no test is called {contract}")
        print(f"{contract}: {passed} tests pass", flush=True)
    run("cargo", "build", "--quiet", *BUILD, "-p", "farspan-cli", "--bin", "farspan", cwd=tree, env=env)
    # The program with toys is not to be taken for the checkout's.
    program = shutil.move(TARGET / "debug/farspan", tree / "toys")
    (tree / "toys.toml").write_text(SCENARIO)
    for name in toys:
        out = tree / "out" / name
        run(program, "run", "toys.toml", *TOLD[name], "--out", out, cwd=tree)
        if name == "column" and b"toy_packets" not in (out / "flows.parquet").read_bytes():
            raise Failed("flows.parquet has no column toy_packets")
        print(f"{name}: runs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toys", nargs="*", metavar="TOY", choices=[[], *TOLD])
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    toys = {name: tomllib.loads((HERE / f"{name}.toml").read_text()) for name in options.toys or TOLD}
    try:
        copy(TREE)
        hold = [count(TREE, toy) for toy in toys.values()]
        if not options.count:
            build(TREE, toys)
    except Failed as failure:
        sys.exit(f"{failure}")
    finally:
        shutil.rmtree(TREE, ignore_errors=True)
    sys.exit(0 if all(hold) else 1)


main()
