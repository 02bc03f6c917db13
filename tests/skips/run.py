#!/usr/bin/env python3
"""Takes away what a test or a step needs, once for each place that skips something. The place must say so; with FARSPAN_TESTS=must it must
fail, unless FARSPAN_MAY_SKIP lists what is missing. Fails where a place is in no line of the table, and where a test skips in another way.
Builds nothing that `make test` has built.

usage: run.py [WORD ...]     the cases that hold a word, such as `emu` or `.ci`. Without one: all but those of `python/tests`, which take
                             the environment of `make python`. Linux, as root
"""

import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from skipped import skipped

LIMIT_S = 120
# The name of what is missing, after the call that says so, by the kind of file.
CALLS = {
    "rs": r'farspan_skip::skip\(\s*"([\w-]+)"',
    "py": r'\b(?:skipped|need_module)\(\s*"([\w-]+)"',
    "sh": r"^ *(?:.* \|\| *)?skipped ([\w-]+)",
}
# Other ways to skip, each with one example. Those of Rust are looked for in tests.
OTHER_WAYS = {
    "rs": [
        (r'"SKIPPED', 'println!("SKIPPED: no tool");'),
        # A call without a name is one place for several needs.
        (r'\bfarspan_skip\b(?!::skip\(\s*"[\w-]+")', "farspan_skip::skip(name, why);"),
        (r"#\[ignore(?!.*\.ci/run asks for it)", '#[ignore = "slow"]'),
        (r"\bif [^{};]*\b(?:is_root|geteuid|getuid|requirements::root)\(\)[^{};]*\{(?!\s*farspan_skip::skip)", "if !geteuid().is_root() { return; }"),
    ],
    "py": [
        (r"\bpytest\.skip\b", 'pytest.skip("no tool")'),
        (r"\bimportorskip\b", 'pytest.importorskip("ray")'),
        (r"\b(?:skipTest|SkipTest|unittest\.skip\w*)\b", "raise unittest.SkipTest"),
        (r"\bskipif\((?!sys\.platform)", "@pytest.mark.skipif(not ray)"),
        (r'\bprint\(f?"SKIPPED', 'print("SKIPPED: no tool")'),
        (r"\bif [^:\n]*uid\(\)[^:\n]*:\s*return( None)?$", "if os.geteuid() != 0:\n    return"),
    ],
    "sh": [(r"SKIPPED:", 'echo "SKIPPED: no tool"')],
}
# These files hold the calls that count, and name the other ways.
WAYS = ("crates/skip/src/lib.rs", "python/tests/common.py", "tests/skips/run.py", "tools/skipped.py")
# A user who is not root, and yet may read the files of this checkout.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--"]
NO_TUN = [shutil.which("unshare") or "unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /dev/net && exec "$0" "$@"']
HTB = 'words=$(cat); case $words in *htb*) echo "Error: Specified qdisc kind is unknown." >&2; exit 2 ;; esac; printf "%s\\n" "$words" | exec {real} "$@"'
# A program in the namespaces of a test (`nsenter --mount --net --target PID -- ...`) that is not root's.
NSENTER = f'namespaces="$1 $2 $3 $4"; shift 5; exec {{real}} $namespaces -- {" ".join(NOBODY)} "$@"'
NO_HEADER = "echo \"fatal error: 'bpf/bpf_helpers.h' file not found\" >&2; exit 1"

# Place, name of what is missing, what shows it: a package, its target and a test, or the words of a script; and how it is taken away: by a
# prefix of the command, by programs that are not on the PATH, by programs of the same name with another text, or by variables.
RUST = [
    ("crates/kernel/src/load/object.rs", "kernel", "kernel lib load::object::tests::the_verifiers_words_are_shown_where_the_kernel_refuses", {"prefix": NOBODY}),
    ("crates/kernel/src/load/netns.rs", "kernel", "kernel lib load::netns::tests::a_namespace_has_one_cookie", {"prefix": NOBODY}),
    ("crates/kernel/tests/all/phantom.rs", "cc", "kernel test phantom::program_and_simulator_have_one_counter_and_marks_within_two_percent", {"without": ["cc"]}),
    ("crates/emu/src/linux/namespace.rs", "iproute2", "emu lib linux::namespace::tests::what_a_program_says_reaches_the_user", {"without": ["ip"]}),
    ("crates/emu/src/bytes/tests.rs", "tshark", "emu lib bytes::tests::wireshark_agrees", {"without": ["tshark"]}),
    ("crates/emu/tests/all/lab.rs", "emulation", "emu test packets::a_host_is_prepared_for_measurements_of_tcp", {"prefix": NOBODY}),
    ("crates/emu/tests/all/lab.rs", "emulation", "emu test packets::a_host_is_prepared_for_measurements_of_tcp", {"prefix": NO_TUN}),
    ("crates/emu/tests/all/lab.rs", "htb", "emu test packets::what_a_program_sends_too_fast_waits_at_its_host", {"fakes": {"tc": HTB}}),
    ("crates/lab/tests/all/kernel.rs", "emulation", "lab test kernel::a_run_is_made_on_both_clocks_and_kept", {"prefix": NO_TUN}),
    ("crates/lab/tests/all/proxy.rs", "valgrind", "lab test proxy::instructions_are_counted_where_valgrind_is", {"without": ["valgrind"]}),
    ("crates/cli/tests/all/new_control.rs", "cargo", "cli test new_control::a_crate_outside_the_checkout_builds", {"without": ["cargo"]}),
    ("crates/cli/tests/all/kernel.rs", "util-linux", "cli test kernel::life::bad_parameters_load_nothing", {"without": ["unshare"]}),
    ("crates/cli/tests/all/kernel.rs", "namespaces", "cli test kernel::life::bad_parameters_load_nothing", {"prefix": NOBODY}),
    ("crates/cli/tests/all/kernel.rs", "kernel", "cli test kernel::life::bad_parameters_load_nothing", {"fakes": {"nsenter": NSENTER}}),
    ("crates/cli/tests/all/kernel/robust.rs", "clang", "cli test kernel::robust::a_tenth_of_the_packets_lost_stops_no_flow", {"without": ["clang"]}),
    ("crates/cli/tests/all/kernel/robust.rs", "linux-libc-dev", "cli test kernel::robust::a_tenth_of_the_packets_lost_stops_no_flow", {"fakes": {"clang": NO_HEADER}}),
    ("crates/cli/tests/all/emu.rs", "emulation", "cli test emu::a_scenario_that_cannot_be_read_twice_is_refused", {"prefix": NO_TUN}),
    ("crates/cli/tests/all/emu.rs", "emulation", "cli test emu::a_scenario_that_cannot_be_read_twice_is_refused", {"without": ["ip"]}),
    ("crates/languages/tests/all/bpf.rs", "clang", "languages test bpf::the_controls_compile_for_the_kernel_without_a_warning", {"without": ["clang"]}),
    ("crates/languages/tests/all/bpf.rs", "libbpf-dev", "languages test bpf::the_controls_compile_for_the_kernel_without_a_warning", {"fakes": {"clang": NO_HEADER}}),
    ("crates/languages/tests/all/main.rs", "cc", "languages test kernel::a_smaller_path_mtu_is_no_time_out", {"without": ["cc"]}),
]
PYTHON = [
    ("tests/browser/report.py", "browser", "/bin/true", {"without": ["chromium", "chromium-browser", "google-chrome"]}),
    ("tests/browser/report.py", "playwright", "/bin/true", {"modules": {"playwright": "raise ImportError"}}),
    ("tests/sweep/full_disk.py", "full-disk", "/bin/true", {"prefix": NOBODY}),
    ("tests/sweep/full_disk.py", "full-disk", "/bin/true", {"fakes": {"unshare": "exit 1"}}),
    ("tests/sweep/full_disk.py", "full-disk", "/bin/true", {"fakes": {"mount": "exit 1"}}),
    ("tests/roots/run.py", "roots", "program", {"prefix": NOBODY}),
    # Their program does nothing: they fail later, at what it should have written.
    ("tools/check_traces.py", "jsonschema", "/bin/true", {"modules": {"jsonschema": "raise ImportError"}, "fails": True}),
    ("tools/check_traces.py", "tshark", "/bin/true", {"without": ["tshark"], "fails": True}),
    ("tools/miri.py", "miri", "", {"fakes": {"cargo": "exit 1", "rustup": "exit 1"}}),
    ("tools/check_statements.py", "papers", "--papers /nowhere", {}),
    ("tests/skips/run.py", "root", "", {"prefix": NOBODY}),
]
PYTEST = [
    ("python/tests/test_sweep.py", "ray", "test_ray_does_the_same_though_a_worker_is_killed", {"modules": {"ray": "raise ImportError"}}),
]
# Where FAILS is in the command line of a program, the program fails; without that, each does nothing.
CI = [
    ("emulation", {"prefix": NO_TUN}),
    ("emulation", {"variables": {"USER_ID": "1000"}}),
    ("emulation", {"without": ["iperf3"]}),
    ("advisories", {"variables": {"FAILS": "deny fetch db"}}),
    ("cargo-deny", {"without": ["cargo-deny"]}),
    ("valgrind", {"without": ["valgrind"]}),
    ("overlap", {"files": ["shared/overlap.py"]}),
    ("contract", {"files": ["shared/contract.py"]}),
    ("ray", {"variables": {"FAILS": "ray>="}}),
    ("maturin", {"variables": {"FAILS": "maturin>="}}),
    ("ray", {"script": ".ci/nightly", "variables": {"FAILS": "ray>="}}),
]
# What .ci/run calls and a dry run does not.
IDLE = "apt-get cargo cargo-deny curl id iperf3 make ping python3 unshare valgrind"
IDLE_PROGRAM = f"""#!/bin/sh
case "$0 $*" in *"${{FAILS:-no such words}}"*) exit 1 ;; esac
case "${{0##*/}} $1 $2" in
"id -u ") echo "${{USER_ID:-0}}" ;;
"python3 tools/skipped.py "*) exec {sys.executable} "$@" ;;
"python3 -m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/pip" ;;
esac
"""
# Programs that some case takes away.
TAKEN = {name for *_, away in [*RUST, *PYTHON, *CI] for name in away.get("without", ())}


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


@functools.cache
def others():
    """A folder with all programs of the PATH that no case takes away."""
    folder = tempfile.TemporaryDirectory(prefix="farspan-skips-")
    pathlib.Path(folder.name).chmod(0o755)
    for place in os.environ["PATH"].split(os.pathsep):
        for program in os.scandir(place) if os.path.isdir(place) else ():
            if program.name not in TAKEN and not os.path.lexists(link := os.path.join(folder.name, program.name)):
                os.symlink(program.path, link)
    return folder


def path(folder, away):
    """A PATH without the programs that are taken away, and with others in the place of some; the folder is made for it."""
    for name in TAKEN - set(away.get("without", ())):
        if real := shutil.which(name):
            folder.mkdir(exist_ok=True)
            (folder / name).symlink_to(real)
    for name, text in away.get("fakes", {}).items():
        (folder / name).unlink(missing_ok=True)
        write(folder / name, f"#!/bin/sh\n{text.replace('{real}', str(shutil.which(name)))}\n")
    return f"{folder}{os.pathsep}{others().name}"


def said(command, folder, variables):
    """The exit code of a command, and everything that it says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FARSPAN_")}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": LIMIT_S, "check": False}
    done = subprocess.run(command, cwd=folder, env=kept | variables, **options)
    return done.returncode, done.stdout


def case(command, cwd, name, away):
    """What does not hold of a place whose need is taken away, by lines."""
    with tempfile.TemporaryDirectory(prefix="farspan-skips-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        for module, text in away.get("modules", {}).items():
            write(folder / f"{module}.py", text)
        listed = folder / "skipped.txt"
        listed.touch()
        listed.chmod(0o666)
        plain = {"PATH": path(folder / "bin", away), "PYTHONPATH": str(folder)}
        must = plain | {"FARSPAN_TESTS": "must", "FARSPAN_MAY_SKIP": "another"}
        may = must | {"FARSPAN_MAY_SKIP": f"another {name}", "FARSPAN_SKIPPED": str(listed)}
        command = [*away.get("prefix", []), *command]
        for what, variables in (("skipped", plain), ("listed", may)):
            code, text = said(command, cwd, variables)
            if f"SKIPPED: {name}: " not in text or (code and not away.get("fails")):
                yield f"is not {what} (exit {code}): {text[-2000:]}"
        if not listed.read_text().startswith(f"{name}: "):
            yield f"FARSPAN_SKIPPED has {listed.read_text()!r}"
        code, text = said(command, cwd, must)
        if f"not tested: {name}: " not in text or not code:
            yield f"does not fail where it must (exit {code}): {text[-2000:]}"


@functools.cache
def tests():
    """The binaries of `make test` by package and kind of target."""
    lines = subprocess.run(["make", "--dry-run", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    words = next(line for line in lines if line.startswith("cargo test "))
    built = subprocess.run([*shlex.split(words), "--no-run", "--message-format=json"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {}
    for message in map(json.loads, built.splitlines()):
        if message.get("executable") and message["profile"]["test"]:
            package = pathlib.Path(message["manifest_path"]).parent.name
            found[package, message["target"]["kind"][0]] = message["executable"]
    return found


def rust(_, name, words, away):
    package, kind, test = words.split()
    return case([tests()[package, kind], "--exact", test], ROOT / "crates" / package, name, away)


def python(script, name, words, away):
    return case([sys.executable, str(ROOT / script), *words.split()], ROOT, name, away)


def pytest(file, name, test, away):
    words = ["-m", "pytest", "--quiet", "--capture=no", "--override-ini=addopts=--import-mode=importlib", f"{file}::{test}"]
    return case([str(ROOT / "out/venv/bin/python"), *words], ROOT, name, away)


def dry_run(tree, away, has_list, variables):
    """A run of .ci/run, or of another script there, in which nothing happens; with or without the list of what may be skipped."""
    script = away.get("script", ".ci/run")
    for file in (script, ".ci/steps"):
        text = (ROOT / file).read_text()
        if not has_list:
            text = re.sub(r"^may_skip=\(\n.*?^\)", "may_skip=()", text, flags=re.DOTALL | re.MULTILINE)
        write(tree / "checkout" / file, text)
    command = [*away.get("prefix", []), str(tree / "checkout" / script)]
    return said(command, tree, {"PATH": f"{tree / 'bin'}{os.pathsep}{others().name}", **away.get("variables", {}), **variables})


def ci(name, away):
    """What does not hold of a script in .ci where something is missing; `None` and nothing: where it is all there."""
    with tempfile.TemporaryDirectory(prefix="farspan-skips-") as folder:
        tree = pathlib.Path(folder)
        idle = [f"bin/{name}" for name in IDLE.split() if name not in away.get("without", ())]
        for file in [*idle, "checkout/target/debug/examples/runs", "checkout/target/debug/farspan", "checkout/target/release/farspan"]:
            write(tree / file, IDLE_PROGRAM)
        for file in {"shared/overlap.py", "shared/contract.py"} - set(away.get("files", [])):
            write(tree / file, "")
        write(tree / "checkout/tools/skipped.py", (ROOT / "tools/skipped.py").read_text())
        if name is None:
            code, text = dry_run(tree, away, True, {})
            if code or "\nSkipped:" in text:
                yield f"with everything there it ends with {code}: {text[-2000:]}"
            return
        code, text = dry_run(tree, away, False, {})
        before, told, _ = text.partition(f"not tested: {name}: ")
        steps = re.findall(r"^== (.*) \(\d+s\)$", before, re.MULTILINE)
        if not code or not told or not steps or not text.rpartition(f"\nFAILED (exit {code}): ")[2].startswith(steps[-1]):
            yield f"does not fail, or names no step (exit {code}): {text[-2000:]}"
        code, text = dry_run(tree, away, False, {"FARSPAN_MAY_SKIP": name})
        if code or f"{name}: " not in text.partition("\nSkipped:\n")[2]:
            yield f"its end does not say what was skipped (exit {code}): {text[-2000:]}"


def kind(file):
    """The kind of a file by its path; `None`: nothing in it can skip."""
    if file.startswith((".ci/", ".github/")) or file.endswith((".sh", "Makefile")):
        return "sh"
    return next((suffix for suffix in ("rs", "py") if file.endswith(f".{suffix}")), None)


def other_ways(file, text):
    """The lines by which a file skips in another way than by the call."""
    if kind(file) == "rs" and "/src/" in file and not {"tests", "tests.rs"} & set(file.split("/")):
        text = text.partition("#[cfg(test)]")[2]
    for way, _ in OTHER_WAYS[kind(file)] if file not in WAYS else ():
        yield from (found[0] for found in re.finditer(way, text, re.MULTILINE))


def unknown():
    """Places that no case shows, cases that show no place, and other ways to skip."""
    cases = collections.Counter([*((file, name) for file, name, *_ in [*RUST, *PYTHON, *PYTEST]), *((".ci", name) for name, _ in CI)])
    places = collections.Counter()
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for file in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if kind(file) and (ROOT / file).is_file():
            text = (ROOT / file).read_text()
            place = ".ci" if file.startswith(".ci/") else file
            places.update((place, name) for name in re.findall(CALLS[kind(file)], text, re.MULTILINE))
            yield from (f"{file}: skips without `skip` or `skipped`: {way}" for way in other_ways(file, text))
    yield from (f"is not refused: {example}" for ways in OTHER_WAYS.values() for way, example in ways if not re.search(way, example, re.MULTILINE))
    print(f"{places.total()} places")
    yield from (f"{' '.join(place)}: fewer cases than places" for place, count in places.items() if count > cases[place])
    yield from (f"{' '.join(place)}: no such place" for place in cases.keys() - places.keys())


def main(*words):
    if sys.platform != "linux" or os.geteuid() != 0:
        return skipped("root", "only root on Linux can take things away: run it by sudo")
    tables = [(rust, RUST), (python, PYTHON), *([(pytest, PYTEST)] if words else [])]
    cases = [(f"{one[0]}: {one[1]} {list(one[3])}", run, one) for run, table in tables for one in table]
    cases += [(f"{away.get('script', '.ci/run')}: {name} {away}", ci, (name, away)) for name, away in [(None, {}), *CI]]
    cases = [one for one in cases if not words or any(word in one[0] for word in words)]
    if not cases:
        sys.exit(f"no case has any of these words in its name: {' '.join(words)}")
    wrong = list(unknown())
    # Once each: threads that make them side by side would each make their own.
    others()
    if any(run is rust for _, run, _ in cases):
        tests()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (what, *_), found in zip(cases, pool.map(lambda one: list(one[1](*one[2])), cases)):
            wrong += [f"{what}: {line}" for line in found]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(cases)} cases: each is skipped where it may be, and fails where it must not be")


if __name__ == "__main__":
    main(*sys.argv[1:])
