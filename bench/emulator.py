"""Measures at which rates the emulator keeps up on this machine. A generator sends UDP packets of 1,428 bytes, in bursts of two
milliseconds, across stars whose shortest RTTs are 20 and 100 ms. Prints a row for each, and the load of the machine beside it.

usage: emulator.py FARSPAN [--keep]     measures (root, Linux; 8 minutes); --keep: keeps the numbers in bench/emulator.json, and writes the
                                        table of docs/src/emulator.md
       emulator.py [--check]            writes the table from the kept numbers (or compares it)
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import study

RUNS, SECONDS = 10, 5
MBPS = [25, 100, 200, 400]
DELAYS_MS = [5, 25]
SCENARIO = """
name = "rates"
host.jitter = "0ns"
transport = {{ payload = "1436B", header = "64B" }}
scheme = {{ name = "dctcp", ports = {{ marking = "none" }} }}
topology = {{ kind = "star", hosts = 2, link_rate = "{rate}Mbps", link_delay = "{delay}ms", buffer = "1MB" }}
"""
PAYLOAD = 1400
WIRE = PAYLOAD + 28

SENDER = """
import socket, sys, time
rate, seconds = float(sys.argv[1]), float(sys.argv[2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.0.0.2", 7000))
began = time.monotonic()
sent = 0
while (now := time.monotonic()) < began + seconds:
    due = int((now - began) * rate)
    for _ in range(due - sent):
        s.send(b"x" * {payload})
    sent = max(sent, due)
    time.sleep(0.002)
"""
RECEIVER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
s.bind(("", 7000))
print("ready", flush=True)
while True:
    s.recv(2048)
"""


def run(farspan, folder, mbps, delay, seconds, number):
    """One emulation at 90% of a link's rate; gives the document's `emulation`."""
    scenario = folder / "rates.toml"
    scenario.write_text(SCENARIO.format(rate=mbps, delay=delay))
    name, out = f"rates{os.getpid()}", folder / f"{delay}-{mbps}-{number}"
    command = [farspan, "emu", "up", scenario, "--name", name, "--out", out]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    at = [farspan, "emu", "exec", "--name", name]
    try:
        receiver = subprocess.Popen([*at, "1", "--", sys.executable, "-c", RECEIVER], stdout=subprocess.PIPE, text=True)
        receiver.stdout.readline()
        rate = 0.9 * mbps * 1e6 / 8 / WIRE
        sender = SENDER.format(payload=PAYLOAD)
        subprocess.run([*at, "0", "--", sys.executable, "-c", sender, str(rate), str(seconds)], check=True)
    finally:
        # It ends with 6 where the emulation was void, and ends the receiver.
        subprocess.run([farspan, "emu", "down", "--name", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    receiver.wait()
    return json.loads((out / "summary.json").read_text())["emulation"]


def measure(farspan, folder, delay, mbps):
    """The row of a link: medians of its runs. A run without probes has no number for them, and is void."""
    found = [run(farspan, folder, mbps, delay, SECONDS, number) for number in range(RUNS)]

    def median(of):
        values = [value for one in found if (value := of(one)) is not None]
        return statistics.median_high(values) if values else None

    def whole(value, times=1):
        return value if value is None else round(times * value)

    return {
        "rtt_ms": 4 * delay,
        "mbps": mbps,
        "packets_per_s": whole(median(lambda one: one["packets"]["read"]), 1 / SECONDS),
        "void": sum(one["void"] for one in found),
        "runs": RUNS,
        "release_us": [whole(median(lambda one, key=key: one["release"][key])) for key in ("p50_us", "p99_us")],
        "excess_p99_us": whole(median(lambda one: one["excess"]["p99_us"])),
        "core_percent": whole(median(lambda one: one["core_share"]), 100),
    }


def parts(kept):
    head = ["RTT", "link", "packets a second", "void runs", "release, p50 / p99, us", "excess, p99, us", "of a core", "on this machine"]
    rows = [[
        f"{row['rtt_ms']} ms", f"{row['mbps']} Mbit/s", f"{row['packets_per_s']:,}", f"{row['void']} of {row['runs']}",
        f"{row['release_us'][0]} / {row['release_us'][1]}", row["excess_p99_us"], f"{row['core_percent']}%",
        # More void runs than not: it does not hold here.
        "yes" if 2 * row["void"] <= row["runs"] else "not on this machine",
    ] for row in kept["rows"]]  # fmt: skip
    rare = [f"{row['packets_per_s']:,} at {row['rtt_ms']} ms" for row in kept["rows"] if 10 * row["void"] < row["runs"]]
    return {"": study.table(head, rows, rule="---") + f"""
- Packets a second at which fewer than one run in ten was void: {'; '.join(rare) or 'none'}.
- The machine: {kept['cores']} processors, a load of {kept['load']:.1f} when the runs began.
"""}


def measured(options):
    kept = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        for delay, mbps in ((delay, mbps) for delay in DELAYS_MS for mbps in MBPS):
            kept["rows"].append(measure(options.farspan, pathlib.Path(folder), delay, mbps))
            print(kept["rows"][-1], flush=True)
    print(f"\n{parts(kept)['']}")
    return kept


study.Study(__file__, "emulator.md", levels=2).measure_first(measured, parts, "FARSPAN [--keep] measures, --check compares the page", "keep")
