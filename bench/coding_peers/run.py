"""Runs farspan's erasure code, ISA-L and the crate reed-solomon-erasure in turn on one core of one machine, and prints one table of
medians: GB of data a second. The peers are compiled in a temporary folder. docs/src/coding.md has what came out.

usage: run.py FARSPAN [--isa-l DIR]... [--rounds N] [--kernel NAME]... [--cpu N] [--work DIR] [-o FILE.json]

Needs gcc and cargo; the installed ISA-L (Debian: apt install libisal-dev) is measured where there is one, and with --isa-l a checkout
of intel/isa-l as well, of which `make -f Makefile.unx units=erasure_code lib` is run.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
NUMBERS = ("encode_bytes_per_s", "decode_bytes_per_s", "decode_planned_bytes_per_s")
CRATE = """[package]
name = "peer"
version = "0.0.0"
edition = "2021"
[dependencies]
reed-solomon-erasure = { version = "6.0", features = ["simd-accel"] }
[[bin]]
name = "peer"
path = "peer.rs"
[workspace]
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def installed_isa_l(work):
    program = work / "isa_l_installed"
    if subprocess.run(["gcc", "-fsyntax-only", HERE / "isa_l.c"], capture_output=True).returncode != 0:
        print("no installed ISA-L: left out", file=sys.stderr)
        return {}
    run("gcc", "-O2", HERE / "isa_l.c", "-o", program, "-lisal")
    header = pathlib.Path("/usr/include/isa-l.h").read_text()
    version = re.findall(r"#define ISAL_(?:MAJOR|MINOR)\w* +(\d+)", header)
    return {f"ISA-L {'.'.join(version)}, installed": program}


def built_isa_l(work, checkout):
    source, program = work / "isa-l", work / "isa_l_built"
    shutil.copytree(checkout, source, dirs_exist_ok=True)
    run("make", "-f", "Makefile.unx", "units=erasure_code", "lib", cwd=source)
    (work / "include").mkdir(exist_ok=True)
    shutil.copytree(source / "include", work / "include/isa-l", dirs_exist_ok=True)
    run("gcc", "-O2", "-I", work / "include", HERE / "isa_l.c", "-o", program, source / "bin/isa-l.a")
    version = re.search(r"AC_INIT\(\[?libisal\]?,\s*\[?([\d.]+)", (source / "configure.ac").read_text())
    return {f"ISA-L {version[1] if version else checkout.name}, built": program}


def crate(work):
    folder = work / "crate"
    folder.mkdir(exist_ok=True)
    (folder / "Cargo.toml").write_text(CRATE)
    shutil.copy(HERE / "reed_solomon_erasure.rs", folder / "peer.rs")
    # Whatever the target folder of the caller is: this one goes with the temporary folder.
    run("cargo", "build", "--release", "--target-dir", folder / "target", cwd=folder)
    return {"reed-solomon-erasure 6.0": folder / "target/release/peer"}


def programs(arguments, work):
    """What to run, by name."""
    bench = [arguments.lab, "bench", "coding", "--json"]
    kernels = arguments.kernel or [json.loads(run(*bench))["benchmarks"][0]["kernel"]]
    ours = {f"farspan {kernel}": [*bench, "--kernel", kernel] for kernel in kernels}
    peers = installed_isa_l(work)
    for checkout in arguments.isa_l:
        peers |= built_isa_l(work, checkout)
    peers |= crate(work)
    return ours | {name: [program] for name, program in peers.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("lab", metavar="FARSPAN-LAB", type=pathlib.Path)
    p.add_argument("--isa-l", type=pathlib.Path, action="append", default=[], metavar="DIR")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--kernel", action="append", default=[])
    p.add_argument("--cpu", type=int, default=0)
    p.add_argument("--work", type=pathlib.Path)
    p.add_argument("-o", type=pathlib.Path)
    arguments = p.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (arguments.work or pathlib.Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        chosen, loads, found = programs(arguments, work), [os.getloadavg()[0]], {}
        for _ in range(arguments.rounds):
            for name, command in chosen.items():
                for row in json.loads(run("taskset", "-c", arguments.cpu, *command))["benchmarks"]:
                    found.setdefault((row["name"], name), []).append([row[number] for number in NUMBERS])
            loads.append(os.getloadavg()[0])
    table(found, loads, arguments)


def table(found, loads, arguments):
    codes = list(dict.fromkeys(code for code, _ in found))
    print("| code | library | encode | decode | decode, plan kept |\n|---|---|---|---|---|")
    for code in codes:
        for (other, name), rounds in found.items():
            if other == code:
                cells = ["-" if None in column else f"{statistics.median_low(column) / 1e9:.1f}" for column in zip(*rounds)]
                print(f"| `{code}` | {name} | " + " | ".join(cells) + " |")
    print(f"\nmedians of {arguments.rounds} rounds, GB of data a second; load average {min(loads):.1f} to {max(loads):.1f}")
    if arguments.o:
        rows = [{"code": code, "library": name, "rounds": rounds} for (code, name), rounds in found.items()]
        arguments.o.write_text(json.dumps({"load_average": loads, "numbers": NUMBERS, "rows": rows}, indent=1))


main()
