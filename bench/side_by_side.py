"""Which of two builds is faster, where other work makes seconds come and go. Both run at the same time on one core, which
the system gives to each in turn for a few milliseconds, so that what slows one down slows down the other. The slower one
ends alone: a ratio far from 1 is rougher.

The arguments are those of `farspan run`; name no output folder, since both would write to it. Prints CPU seconds of both a
round, the ratio NEW / OLD, and the median ratio, as JSON lines. Fails if their digests differ. Linux only.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def start(binary, arguments, cpu, output):
    command = ["taskset", "--cpu-list", str(cpu), binary, "run", *arguments, "--json", "--quiet"]
    return subprocess.Popen(command, stdout=output)


def finish(process, output):
    """CPU seconds of a run, and its digest."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(process.args)} failed with exit code {process.returncode}")
    output.seek(0)
    return usage.ru_utime + usage.ru_stime, json.load(output)["digest"]


def run_both(binaries, arguments, cpu):
    outputs = [tempfile.TemporaryFile() for _ in binaries]
    processes = []
    try:
        for binary, output in zip(binaries, outputs):
            processes.append(start(binary, arguments, cpu, output))
        return [finish(process, output) for process, output in zip(processes, outputs)]
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                process.wait()


def rounds(word):
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("one round at least")
    return number


def ratios(binaries, arguments, count, cpu=None):
    """CPU seconds of the old and the new build and their ratio, a round each; `cpu` is the core, the first where none is given."""
    cpu = min(os.sched_getaffinity(0)) if cpu is None else cpu
    for number in range(count):
        # Who starts first has the core to itself for a moment: they take turns.
        if number % 2 == 0:
            old, new = run_both(binaries, arguments, cpu)
        else:
            new, old = run_both(binaries[::-1], arguments, cpu)
        (old_s, old_digest), (new_s, new_digest) = old, new
        if old_digest != new_digest:
            sys.exit(f"the outcomes differ: digest {old_digest} and {new_digest}")
        yield old_s, new_s, new_s / old_s


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="side_by_side.py OLD NEW [--rounds N] [--cpu N] -- ARGUMENT...",
    )
    parser.add_argument("old", help="a farspan binary")
    parser.add_argument("new", help="another one")
    parser.add_argument("--rounds", type=rounds, default=5, help="how often (5)")
    parser.add_argument("--cpu", type=int, help="the core (the first)")
    parser.add_argument("arguments", nargs="+", help="of farspan run, behind --")
    args = parser.parse_args()
    found = []
    for old_s, new_s, ratio in ratios([args.old, args.new], args.arguments, args.rounds, args.cpu):
        found.append(ratio)
        line = {"old_s": round(old_s, 3), "new_s": round(new_s, 3), "ratio": round(ratio, 4)}
        print(json.dumps(line), flush=True)
    print(json.dumps({"rounds": len(found), "median_ratio": round(statistics.median(found), 4)}))


if __name__ == "__main__":
    main()
