"""Where the CPU seconds of a cold build go: compiling, doctests, running tests, and the rest (build scripts, cargo itself).

usage: build.py [--checkout DIR] [--save FILE.json] [--tests] [COMMAND ...]       COMMAND is `make test` where none is given
       build.py --compare OLD.json NEW.json

Runs COMMAND in the checkout with an empty target folder, and logs what each process of the compiler, of rustdoc and of the
tests took. Prints the sum of each part, how often the code and the metadata of the workspace's crates were made, and the
dearest calls. `--tests` runs each test binary once more, one test at a time, and names the dearest tests. Linux only.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOG, WHAT = "FARSPAN_BUILD_LOG", "FARSPAN_BUILD_WHAT"
PARTS = ("compiling", "doctests", "running", "rest")
# What cargo calls in place of the real program: what that takes is what the children of this script take. It is no shell
# script, since some shells drop variables such as CARGO_BIN_EXE_my-control.
WRAPPER = """#!{python} -SE
import runpy
import sys

sys.argv[1:1] = ["--wrap", "{kind}"]
runpy.run_path("{script}", run_name="__main__")
"""
MOST_LISTED = 15


def argument(words, name):
    """The value of `--name VALUE` or `--name=VALUE`."""
    for n, word in enumerate(words):
        if word == name and n + 1 < len(words):
            return words[n + 1]
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None


def codegen(words, name):
    values = [word.removeprefix(f"{name}=") for word in words if word.startswith(f"{name}=")]
    return values[-1] if values else None


def wrap(kind, words):
    """Runs a process for cargo and logs what it took."""
    if kind == "doctests":
        # Under a tool, rustdoc would run all of a crate's examples in one process.
        tools = [n for n, word in enumerate(words) if word.startswith("--test-runtool")]
        words = [os.environ[WHAT], *(word for n, word in enumerate(words) if n not in tools and n - 1 not in tools)]
    if kind == "running":
        # A test that calls cargo is counted as running alone.
        os.environ.pop("RUSTC_WRAPPER", None)
    # The job server of cargo is a pair of open files.
    ended = subprocess.run(words, close_fds=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    entry = {"kind": kind, "cpu_s": used.ru_utime + used.ru_stime}
    if kind == "running":
        # Cargo runs tests in the folder of their package.
        name = f"{pathlib.Path.cwd().name}/{pathlib.Path(words[0]).name}"
        entry |= {"name": name, "binary": words[0], "cwd": os.getcwd()}
    else:
        emitted = argument(words, "--emit") or ""
        entry |= {
            "name": argument(words, "--crate-name") or pathlib.Path(words[0]).name,
            "package": os.environ.get("CARGO_PKG_NAME"),
            "is_member": "CARGO_PRIMARY_PACKAGE" in os.environ or os.environ.get("CARGO_PKG_NAME", "").startswith("farspan"),
            "is_code": "link" in emitted,
            "is_test": "--test" in words,
            "opt_level": codegen(words, "opt-level") or "0",
            # rustc's default follows the opt-level, and cargo names what differs from it alone.
            "has_checks": (codegen(words, "debug-assertions") or ("on" if (codegen(words, "opt-level") or "0") == "0" else "off")) == "on",
            "unit": codegen(words, "metadata"),
        }
    with open(os.environ[LOG], "a") as log:
        log.write(json.dumps(entry) + "\n")
    return ended.returncode if ended.returncode >= 0 else 128 - ended.returncode


def environment(folder):
    """What makes cargo call the wrappers."""
    scripts = {}
    for kind in ("compiling", "doctests", "running"):
        path = folder / kind
        path.write_text(WRAPPER.format(python=sys.executable, script=pathlib.Path(__file__).resolve(), kind=kind))
        path.chmod(0o755)
        scripts[kind] = str(path)
    host = re.search(r"host: (\S+)", subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout)[1]
    rustdoc = subprocess.run(["rustup", "which", "rustdoc"], capture_output=True, text=True).stdout.strip()
    return {
        LOG: str(folder / "log.jsonl"),
        WHAT: rustdoc or shutil.which("rustdoc"),
        "CARGO_TARGET_DIR": str(folder / "target"),
        "RUSTC_WRAPPER": scripts["compiling"],
        "RUSTDOC": scripts["doctests"],
        f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER": scripts["running"],
    }


def kind_of(entry):
    """How a unit was made: which of the compilations of a crate it belongs to."""
    if not entry["is_code"]:
        return "metadata"
    return "test" if entry["has_checks"] else "release"


def dearest_tests(runs):
    """Seconds by test, each alone on one thread."""
    times = []
    for run in runs:
        words = [run["binary"], "-Zunstable-options", "--report-time", "--test-threads=1"]
        done = subprocess.run(words, cwd=run["cwd"], capture_output=True, text=True, env=os.environ | {"RUSTC_BOOTSTRAP": "1"})
        for name, seconds in re.findall(r"^test (\S+)(?: - should panic)? \.\.\. ok <([\d.]+)s>", done.stdout, re.M):
            times.append((float(seconds), f"{re.sub(r'-[0-9a-f]+$', '', run['name'])}: {name}"))
    return sorted(times, reverse=True)


def measure(checkout, command, with_tests):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="farspan-build-"))
    try:
        extra = environment(folder)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, cwd=checkout, env=os.environ | extra, stdout=sys.stderr)
        used, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
        whole = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        entries = [json.loads(line) for line in pathlib.Path(extra[LOG]).read_text().splitlines()]
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}")
        runs = {entry["binary"]: entry for entry in entries if entry["kind"] == "running" and "/deps/" in entry["binary"]}
        tests = dearest_tests(runs.values()) if with_tests else []
        return summary(command, whole, wall, entries, tests)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def summary(command, whole, wall, entries, tests):
    compiled = [entry for entry in entries if entry["kind"] != "running" and entry["unit"]]
    parts = collections.Counter()
    for entry in entries:
        # rustdoc makes pages, too; what it compiles and runs as tests comes by `--test`.
        parts["compiling" if entry["kind"] == "doctests" and not entry["is_test"] else entry["kind"]] += entry["cpu_s"]
    parts["rest"] = whole - sum(parts.values())
    made = collections.Counter(kind_of(entry) for entry in compiled if entry["is_member"] and entry["kind"] == "compiling")
    calls = sorted(entries, key=lambda entry: -entry["cpu_s"])
    return {
        "command": " ".join(command),
        "cpu_s": round(whole, 1),
        "wall_s": round(wall, 1),
        "parts": {part: round(parts[part], 1) for part in PARTS},
        "units": {"all": len(compiled), **{f"workspace, {kind}": count for kind, count in sorted(made.items())}},
        "calls": [[round(entry["cpu_s"], 1), label(entry)] for entry in calls[:4 * MOST_LISTED]],
        "tests": [[seconds, name] for seconds, name in tests[:4 * MOST_LISTED]],
    }


def label(entry):
    name = re.sub(r"-[0-9a-f]{16}$", "", entry["name"])
    if entry["kind"] == "running":
        return f"run {name}"
    if entry["kind"] == "doctests":
        return f"doctests of {name}" if entry["is_test"] else f"pages of {name}"
    tests = ", its tests" if entry["is_test"] else ""
    return f"compile {name}{tests} ({kind_of(entry)}, opt-level {entry['opt_level']})"


def show(report):
    print(f"`{report['command']}`, cold: {report['cpu_s']:.0f} CPU s, {report['wall_s']:.0f} s\n")
    print("| part | CPU s |\n|---|---|")
    for part in PARTS:
        print(f"| {part} | {report['parts'][part]:.0f} |")
    print("\n| compiler calls | |\n|---|---|")
    for name, count in report["units"].items():
        print(f"| {name} | {count} |")
    for title, rows in (("dearest calls", report["calls"][:MOST_LISTED]), ("dearest tests, alone", report["tests"][:10])):
        if rows:
            print(f"\n| {title} | s |\n|---|---|")
        for seconds, name in rows:
            print(f"| {name} | {seconds:.1f} |")


def compare(old, new):
    print(f"`{new['command']}`, cold\n\n| part | old, CPU s | new, CPU s | new / old |\n|---|---|---|---|")
    rows = [(part, old["parts"][part], new["parts"][part]) for part in PARTS] + [("whole", old["cpu_s"], new["cpu_s"])]
    for part, before, after in rows:
        print(f"| {part} | {before:.0f} | {after:.0f} | {after / before if before else float('nan'):.2f} |")
    for name in dict.fromkeys([*old["units"], *new["units"]]):
        print(f"| calls: {name} | {old['units'].get(name, 0)} | {new['units'].get(name, 0)} | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage="build.py ...")
    parser.add_argument("--checkout", type=pathlib.Path, default=ROOT)
    parser.add_argument("--save", type=pathlib.Path)
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--compare", nargs=2, type=pathlib.Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.compare:
        return compare(*(json.loads(path.read_text()) for path in options.compare))
    report = measure(options.checkout, options.command or ["make", "test"], options.tests)
    if options.save:
        options.save.write_text(json.dumps(report, indent=1) + "\n")
    show(report)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--wrap"]:
        sys.exit(wrap(sys.argv[2], sys.argv[3:]))
    main()
