"""Runs every built-in scenario under every scheme of its world and both profiles, seed 1, and compares each result with a committed list.
The list, bench/baseline/runs.tsv, has digests and other single values in the clear, and a hash of each object of the document that
`farspan run --json` prints. Ends with 3 at a difference, and names its run and section.

usage: baseline.py BINARY [--only PATTERN]... [--most-hops N] [--engine NAME] [--threads N] [--jobs N] [--write]

PATTERN is matched against "SCENARIO SCHEME PROFILE": 'uno/incast-* uno paper', or any part of it; --most-hops leaves out rows
with more packet-hops. The list holds runs of the windowed engine on one thread; any other engine or number of threads must give
the same, and so must `verbs`: hosts that call the verbs of their endpoints, and get headers as bytes. `--write` renews the list (with
`--only` or `--most-hops`, those rows) where a change of results is meant, and prints which sections changed in how many runs.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import study

LIST = pathlib.Path(__file__).resolve().parent / "baseline/runs.tsv"
RUN = ("scenario", "scheme", "profile", "set")
PROFILES = ("paper", "artifact")
# Sizes at which all runs together take minutes.
SMALL_TREE = "topology.pods=2 topology.hosts_per_tor=4 workload.duration=200us"
SETS = {"steady/websearch": "workload.flows=100 stop.time=25ms", "uno/steady": "stop.time=12ms", "uno/incast-*": "workload.flow_size=64MiB", "uno/phantom": "workload.flow_size=64MiB",
        "reps/*": "topology.k=8", "ndp/*": "topology.k=8", "oscar/queue-nonempty": "workload.duration=20ms stop.time=20ms",
        "proxy/size": "scheme.proxy.kind=streamlined scheme.ports.overflow=trim workload.flow_size=15MB",
        "proxy/latency": "scheme.proxy.kind=naive", "oscar/testbed-all-to-all": "workload.flow_size=200KB",
        "gemini/*-10g": "workload.duration=200ms", "gemini/inter-dc": "workload.duration=2s", "gemini/mixed": "workload.duration=2s",
        "gemini/vegas-thresholds": "workload.duration=2s", "gemini/long-wan": "stop.time=3s",
        "gemini/three-groups": "workload[1].start=1s workload[2].start=2s stop.time=3s", "gemini/*": "stop.time=2s",
        "tcp/shares": "stop.time=20s", "oscar/hadoop-incast": SMALL_TREE + " workload.degree=8", "oscar/longtail": SMALL_TREE, "oscar/oversubscribed": SMALL_TREE}
# Schemes of OSCAR's world, of the incast proxy's and of TCP's, and the scenarios elsewhere that they run: all by all would take an hour.
OSCAR_WORLD = ("hpcc*", "oscar*", "scripted", "*powertcp", "poseidon", "dcqcn", "swift", "timely")
PROXY_WORLD = ("dctcp-per-ack",)
TCP_WORLD = ("newreno", "cubic", "vegas*")
TCP_GUESTS = ("gemini", "dctcp", "bbr")
PROXY_GUESTS = ("uno-rps", "dctcp", "bbr", "smartt", "ndp")
AWAY = ("bench/fat-tree", "topology/leaf-spine", "uno/incast-mixed", "reps/degraded")
OSCAR_GUESTS = ("dctcp", "uno", "ndp")
# They describe the build, the machine, the command or the network, not the result.
APART = {"farspan_version", "sites", "commit", "wall_time_s", "setup_time_s", "peak_rss_bytes"}
COMMAND = ("scenario", "scheme", "profile", "engine", "seed", "threads")
MOST_SHOWN = 40


def cell(value):
    """A single value in the clear, anything else by its hash."""
    if not isinstance(value, (dict, list)):
        return json.dumps(value).strip('"')
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def result(binary, run, engine, threads):
    """The sections of one run; of one that fails its exit code and a hash of its message."""
    scenario, scheme, profile, changes = run
    command = [binary, "run", scenario, "--scheme", scheme, "--profile", profile, "--seed", "1", "--engine", engine]
    command += ["--threads", str(threads)] if threads > 1 else []
    command += study.words(changes.split())
    done = subprocess.run([*command, "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return {"exit": str(done.returncode), "message": cell([done.stderr])}
    document = json.loads(done.stdout)
    asked = dict(zip(COMMAND, (scenario, scheme, profile, engine, 1, threads)))
    answered = {key: document.get(key) for key in COMMAND}
    wrong = {key: f"{answered[key]} for {asked[key]}" for key in COMMAND if answered[key] != asked[key]}
    return {"exit": "0"} | {key: cell(document[key]) for key in document if key not in {*APART, *COMMAND}} | wrong


def read():
    """The list: sections by run."""
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")] if LIST.exists() else []
    rows = [line.split("\t") for line in lines]
    cells = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    return {tuple(row.pop(key) for key in RUN): {k: v for k, v in row.items() if v != "-"} for row in cells}


def write(runs, commit):
    sections = list(dict.fromkeys(key for row in runs.values() for key in row))
    lines = ["\t".join([*run, *(row.get(key, "-") for key in sections)]) for run, row in sorted(runs.items())]
    head = f"# Made by bench/baseline.py --write with a binary of commit {commit}."
    LIST.write_text("\n".join([head, "\t".join([*RUN, *sections]), *lines, ""]))


def is_of_its_world(scenario, scheme):
    """Whether a scheme runs in a scenario here."""
    if any(fnmatch.fnmatch(scheme, pattern) for pattern in OSCAR_WORLD):
        return scenario.startswith("oscar/") or scenario in AWAY
    if any(fnmatch.fnmatch(scheme, pattern) for pattern in PROXY_WORLD):
        return scenario.startswith("proxy/") or scenario in AWAY
    is_of_tcp = any(fnmatch.fnmatch(scheme, pattern) for pattern in TCP_WORLD)
    if scenario.startswith(("gemini/", "tcp/")):
        return is_of_tcp or scheme in TCP_GUESTS
    if is_of_tcp:
        return scenario in AWAY
    if scenario.startswith("proxy/"):
        return scheme in PROXY_GUESTS
    return not scenario.startswith("oscar/") or scheme in OSCAR_GUESTS


def offered(binary):
    """Every run that the binary offers, of schemes in their worlds."""
    def available(kind):
        listed = subprocess.run([binary, "list", kind, "--json"], check=True, capture_output=True, text=True).stdout
        return [item["name"] for item in json.loads(listed) if item["available"]]

    def changes(scenario):
        return next((change for pattern, change in SETS.items() if fnmatch.fnmatch(scenario, pattern)), "")

    schemes = available("schemes")
    return [(scenario, scheme, profile, changes(scenario)) for scenario in available("scenarios") for scheme in schemes
            if is_of_its_world(scenario, scheme) for profile in PROFILES]


def commit(binary):
    return study.document(binary, "topology/parking-lot")["commit"]


def differences(listed, found):
    """(section, value of the list, value found)"""
    keys = dict.fromkeys([*listed, *found])
    return [(key, listed.get(key, "nothing"), found.get(key, "nothing")) for key in keys if listed.get(key) != found.get(key)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--only", action="append", default=[], metavar="PATTERN")
    p.add_argument("--most-hops", type=float, metavar="N")
    p.add_argument("--engine", default="windowed")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--write", action="store_true")
    a = p.parse_args()
    listed, all_runs = read(), offered(a.binary)
    wanted = lambda run: not a.only or any(fnmatch.fnmatch(" ".join(run[:3]), f"*{pattern}*") for pattern in a.only)
    is_short = lambda run: a.most_hops is None or int(listed.get(run, {}).get("packet_hops", 0)) <= a.most_hops
    is_narrowed = a.only or a.most_hops is not None
    runs = [run for run in (all_runs if a.write else listed) if wanted(run) and is_short(run)]
    if not runs:
        p.error(f"no run matches --only {a.only} --most-hops {a.most_hops}")
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        found = dict(zip(runs, pool.map(lambda run: result(a.binary, run, a.engine, a.threads), runs)))
    changed = {run: differences(listed.get(run, {}), row) for run, row in found.items()}
    changed = {run: what for run, what in changed.items() if what}
    for run, what in [*changed.items()][:MOST_SHOWN]:
        print(f"{' '.join(run).strip()}: " + "; ".join(f"{key}: {now}, listed {before}" for key, before, now in what))
    if len(changed) > MOST_SHOWN:
        print(f"and {len(changed) - MOST_SHOWN} runs more")
    sections = collections.Counter(key for what in changed.values() for key, _, _ in what)
    counts = ", ".join(f"{key} in {count}" for key, count in sections.most_common())
    failed = sum(row["exit"] != "0" for row in found.values())
    print(f"{len(runs)} runs, {failed} of them failing: {len(runs) - len(changed)} as listed, {len(changed)} not{': ' * bool(counts)}{counts}")
    unlisted = [run for run in all_runs if run not in listed and wanted(run)]
    if a.write:
        kept = {run: row for run, row in listed.items() if is_narrowed and run not in found}
        write(kept | found, commit(a.binary))
    elif unlisted:
        print(f"{len(unlisted)} runs are not in the list, {' '.join(unlisted[0]).strip()} the first of them; --write adds them")
    sys.exit(3 if (changed or unlisted) and not a.write else 0)


if __name__ == "__main__":
    main()
