#!/usr/bin/env python3
"""Kills a worker of a sweep, or the sweep at random moments, resumes it, and asks for the data set of an unbroken one. Standard
library only; Linux.

usage: kill.py BINARY [--runs 60] [--kills 3] [--jobs 2] [--seed 1]    exit 0: it held; 1: what did not
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

# What a computer took, not what happened in the network.
MACHINE = {"wall_time_s", "setup_time_s", "peak_rss_bytes"}
SWEEP = """scenario = "bench/fat-tree"
scheme = ["uno", "dctcp"]
seeds = "1..{seeds}"
[grid]
"topology.k" = 4
"workload.flow_size" = "4KiB"
"""
# Workers look at their standard input, and end with it.
GRACE_S = 10


def stat(pid):
    """State and session of a process; Z, the state of a process that has ended, if there is none."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "Z", 0
    return fields[0], int(fields[3])


def session(leader):
    """Processes of a session that are alive, without its leader: a command's workers."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != leader:
            state, of = stat(entry.name)
            if of == leader and state != "Z":
                found.append(int(entry.name))
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_under_way(pid):
    """Kills a process, if it has not ended before; gives whether it did."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return False
    while (state := stat(pid)[0]) not in "TZ":
        time.sleep(0.001)
    kill(pid)
    return state == "T"


def orphans(leader):
    """Workers that outlive their command."""
    end = time.monotonic() + GRACE_S
    while (left := session(leader)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def there(out):
    """Runs that are whole."""
    try:
        return sum(1 for entry in os.scandir(out) if entry.is_dir() and not entry.name.startswith("."))
    except FileNotFoundError:
        return 0


def interrupt(command, out, choose, most, pause):
    """Starts the command, and kills it, or first a worker, once some more runs are there; gives what was killed, and workers left over.

    The moment is a random one: up to `most` runs after the start, then up to `pause` seconds.
    """
    until = there(out) + choose.randint(0, most)
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while there(out) < until and started.poll() is None:
        time.sleep(0.005)
    time.sleep(choose.uniform(0, pause))
    what = "parent"
    if choose.random() < 0.5 and (workers := session(started.pid)):
        kill(choose.choice(workers))
        what = "worker, then parent"
        time.sleep(choose.uniform(0, 2 * pause))
    if started.poll() is not None:
        what = None
    started.kill()
    started.wait()
    return what, orphans(started.pid)


def lose_a_worker(command):
    """Kills one worker of a sweep, and waits for the sweep's end; gives what was wrong."""
    started = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while started.poll() is None and not any(map(kill_under_way, session(started.pid))):
        time.sleep(0.005)
    out, said = started.communicate()
    document = json.loads(out or "{}")
    failed = [row["error"] for row in document.get("rows", []) if row["status"] == "failed"]
    print(f"worker killed: exit {started.returncode}, {document.get('done')} done, failed: {failed}")
    wrong = []
    if started.returncode != 1 or len(failed) != 1 or "SIGKILL" not in failed[0] or document["not_run"]:
        wrong.append(f"a killed worker should be one failed row that names the signal, and all others done: {said.strip()[-500:]}")
    if left := orphans(started.pid):
        wrong.append(f"processes {left} outlived the sweep that lost a worker")
    return wrong


def whole(command):
    """Runs the command to its end; gives its document and how long it took."""
    began = time.monotonic()
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout), time.monotonic() - began


def told(rows):
    return [{name: value for name, value in row.items() if name not in MACHINE} for row in rows]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    for name, default in (("runs", 60), ("kills", 3), ("jobs", 2), ("seed", 1)):
        p.add_argument(f"--{name}", type=int, default=default)
    a = p.parse_args()
    choose, wrong = random.Random(a.seed), []
    with tempfile.TemporaryDirectory(prefix="farspan-kill-") as folder:
        file = pathlib.Path(folder, "sweep.toml")
        file.write_text(SWEEP.format(seeds=a.runs // 2))
        command = [a.binary, "sweep", str(file), "--quiet", "--jobs", str(a.jobs), "--out"]
        unbroken, took = whole([*command, f"{folder}/unbroken"])
        print(f"unbroken: {len(unbroken['rows'])} rows in {took:.1f} s")
        lost = f"{folder}/lost"
        wrong += lose_a_worker([*command, lost])
        again, _ = whole([*command, lost])
        if again["reused"] != len(again["rows"]) - 1 or told(again["rows"]) != told(unbroken["rows"]):
            wrong.append(f"after a killed worker {again['reused']} runs were there, or the data sets differ")
        out = pathlib.Path(folder, "broken")
        for i in range(a.kills):
            # Room is left for the kills to come, so that each of them finds work under way.
            most = (a.runs - there(out)) // (a.kills - i + 1)
            what, left = interrupt([*command, str(out)], out, choose, most, took / 20)
            print(f"kill {i + 1}: {what}; {there(out)} runs are there")
            if what is None:
                wrong.append(f"kill {i + 1} came when the sweep had ended: nothing was tested")
            if left:
                wrong.append(f"kill {i + 1}: processes {left} outlived their sweep")
                for pid in left:
                    kill(pid)
        broken, took = whole([*command, str(out)])
        print(f"resumed: {broken['reused']} of {len(broken['rows'])} rows were there; the rest took {took:.1f} s")
        if told(broken["rows"]) != told(unbroken["rows"]):
            wrong.append("the data sets differ in more than time and memory")
        names = [row["run"] for row in broken["rows"]]
        if len(names) != a.runs // 2 * 2 or len(set(names)) != len(names):
            wrong.append(f"{len(names)} rows, {len(set(names))} of them different; expected {a.runs // 2 * 2}")
        files = {path.name for path in out.iterdir()}
        if files != {*names, "runs.parquet", "views.sql", "sweep.toml", "report.html", ".farspan-store"}:
            wrong.append(f"left over in the folder: {sorted(files - set(names))}")
        again, _ = whole([*command, str(out)])
        if again["reused"] != len(names):
            wrong.append(f"only {again['reused']} of {len(names)} runs were not run again")
    print("\n".join(wrong) if wrong else "held: all rows, none twice, no orphan")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
