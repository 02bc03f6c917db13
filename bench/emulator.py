"""Measures at which rates the emulator keeps up on this machine: a generator of UDP packets of 1,428 bytes, in bursts of two
milliseconds, across stars whose shortest RTTs are 20 and 100 ms. Prints a row for each, and the load of the machine beside it.

usage: emulator.py FARSPAN [RUNS [SECONDS]]     root, on Linux
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

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


def main():
    farspan, runs, seconds = sys.argv[1], int((sys.argv[2:] or [10])[0]), float((sys.argv[3:] or [5])[0])
    print(f"{runs} runs of {seconds:g} s each; load average before: {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores\n")
    print("| RTT | link | packets a second | void runs | release p50 / p99 (us, median of the runs) | excess p99 | core |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for delay, mbps in ((delay, mbps) for delay in DELAYS_MS for mbps in MBPS):
            found = [run(farspan, pathlib.Path(folder), mbps, delay, seconds, number) for number in range(runs)]

            def median(of):
                values = sorted(of(one) for one in found)
                return values[len(values) // 2]

            read = median(lambda one: one["packets"]["read"]) / seconds
            void = sum(one["void"] for one in found)
            release = [median(lambda one, key=key: one["release"][key]) for key in ("p50_us", "p99_us")]
            excess, core = median(lambda one: one["excess"]["p99_us"]), median(lambda one: one["core_share"])
            row = f"| {4 * delay} ms | {mbps} Mbit/s | {read:,.0f} | {void} of {runs} | {release[0]:.0f} / {release[1]:.0f} "
            print(row + f"| {excess:.0f} | {core:.0%} |", flush=True)


main()
