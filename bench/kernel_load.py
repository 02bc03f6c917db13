"""Web search traffic on Gemini's testbed, over real connections of Linux's TCP in the emulator, beside the simulator. It measures
completion times of small and of large flows, as in section IV-D, figures 12 and 14. Writes the tables of docs/src/kernel-testbed.md.

usage: kernel_load.py FARSPAN [--only PREFIX] [--minutes M]  runs what is missing (root, Linux), keeps the numbers in bench/kernel_load.json
                                                             after each run, and writes the page; ends after M minutes, and goes on next time
       kernel_load.py [--check]                              writes the page from the kept numbers (or compares it)

The arrivals of a run are those that the simulator draws for its seed: the same flows, sizes and times on both clocks. A flow lasts from
its arrival, before it connects, until its receiver has seen its end. Void runs are counted, and made again. Whole: about an hour and a half.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import study
from kernel_lab import Lab, as_linux
from kernel_runs import Series

SCENARIO = study.HERE / "kernel/load.toml"

RUNS = 5
CONTROLS = ["gemini", "cubic", "bbr"]
PATTERNS = {"1": 'class = "inter"', "2": 'mix = "4:5"'}
HOSTS = 10
SMALL, LARGE = 100_000, 10_000_000
# After the last arrival; flows that have not ended by then make the run void.
DRAIN_S = 60
# A flow may begin this late: small ones take a tenth of a second.
LATEST_S = 0.005
# K = 50 packets for each Gb/s, and Gemini's T, five times as long; the least K that holds whole bursts here.
GEMINI = (
    [f"scheme.{site}.congestion.delay_threshold=25ms" for site in ("intra", "inter")] + ["scheme.ports.step=75KB"],
    ["delay_threshold=25ms", "k=75KB", "line_rate=50Mbps"],
)

# Sends flows at their times, each on a connection of its own: its number first, then the rest of its bytes. `began` is a time of
# CLOCK_MONOTONIC, which all hosts of the machine share.
SENDER = """
import json, socket, sys, threading, time
control, began, flows = sys.argv[1], float(sys.argv[2]), json.loads(open(sys.argv[3]).read())
payload, controls = bytes(1 << 16), set()
def send(number, to, size):
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        s.connect((to, 7000))
        s.sendall(number.to_bytes(8, "big"))
        left = size - 8
        while left > 0:
            left -= s.send(payload[:min(left, len(payload))])
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
        controls.add(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode())
threads, late = [], 0
for number, start, to, size in flows:
    time.sleep(max(began + start - time.monotonic(), 0))
    late = max(late, time.monotonic() - began - start)
    threads.append(threading.Thread(target=send, args=(number, to, size), daemon=True))
    threads[-1].start()
until = time.monotonic() + float(sys.argv[4])
for thread in threads:
    thread.join(max(until - time.monotonic(), 0))
print(json.dumps({"controls": sorted(controls), "late": late}))
"""
# Says when each flow has arrived whole.
RECEIVER = """
import contextlib, socket, threading, time
said = threading.Lock()
def take(connection):
    with connection, contextlib.suppress(ConnectionResetError):
        head, buffer = b"", bytearray(1 << 16)
        while count := connection.recv_into(buffer):
            head += bytes(buffer[:min(count, 8 - len(head))])
        with said:
            print(int.from_bytes(head, "big"), time.monotonic(), flush=True)
server = socket.create_server(("", 7000), backlog=128)
print("ready", flush=True)
while True:
    threading.Thread(target=take, args=(server.accept()[0],), daemon=True).start()
"""


def cells():
    return {f"{pattern} {control}": (pattern, control) for pattern in PATTERNS for control in CONTROLS}


def settings_of(pattern, control):
    text = SCENARIO.read_text().replace(PATTERNS["1"], PATTERNS[pattern])
    return text, GEMINI if control == "gemini" else ([], [])


def simulated_flows(farspan, folder, key, number):
    """The flows of a run of the simulator: (number, start in s, from, to, size, completion in ms)."""
    pattern, control = cells()[key]
    text, (settings, _) = settings_of(pattern, control)
    file, out = folder / "load.toml", folder / "simulated"
    file.write_text(text)
    words = ["--scheme", control, "--seed", number, "--out", out, "--force"]
    study.checked(study.run(farspan, file, *words, settings=settings + as_linux(control)))
    listed = folder / "fct.txt"
    subprocess.run([farspan, "export", "hpcc", out, "--zero", "0s", "-o", listed], check=True, capture_output=True)
    flows = []
    for line in listed.read_text().splitlines():
        source, to, _, _, size, start, fct, _ = line.split()
        host = lambda address: (int(address, 16) >> 8) & 0xFFFF
        flows.append((int(start) / 1e9, host(source), host(to), int(size), int(fct) / 1e6))
    return [(n, *flow) for n, flow in enumerate(sorted(flows))]


def summary(flows):
    """Of (size, completion in ms)."""
    small = sorted(ms for size, ms in flows if size <= SMALL)
    large = [ms for size, ms in flows if size > LARGE]
    found = {"small_ms": statistics.mean(small), "small_p99_ms": small[int(0.99 * (len(small) - 1))], "large_ms": statistics.mean(large)}
    return {name: round(value, 2) for name, value in found.items()} | {"flows": len(flows)}


def emulated(farspan, folder, key, number, flows):
    """One run with the kernel's TCP, and why it is void, if it is."""
    pattern, control = cells()[key]
    text, (settings, parameters) = settings_of(pattern, control)
    file = folder / "load.toml"
    file.write_text(text)
    lasts = max(start for _, start, *_ in flows)
    with Lab(farspan, folder, file, control, number, settings, parameters) as lab:
        receivers = [lab.start(host, sys.executable, "-c", RECEIVER) for host in range(HOSTS)]
        for receiver in receivers:
            receiver.stdout.readline()
        # Programs take a moment to start.
        began, senders = time.monotonic() + 5, []
        for host in range(HOSTS):
            own = [(n, start, f"10.0.0.{to + 1}", size) for n, start, source, to, size, _ in flows if source == host]
            listed = folder / f"flows{host}.json"
            listed.write_text(json.dumps(own))
            if own:
                senders.append(lab.start(host, sys.executable, "-c", SENDER, control, began, listed, DRAIN_S))
        said = [json.loads(sender.communicate()[0]) for sender in senders]
        lab.sinks += receivers
    ended = {}
    for receiver in receivers:
        ended |= {int(n): float(at) for n, at in (line.split() for line in receiver.stdout.read().splitlines())}
    assert {name for one in said for name in one["controls"]} <= {control}, said
    reasons = list(lab.document["emulation"]["reasons"])
    if (late := max(one["late"] for one in said)) > LATEST_S:
        reasons.append(f"a flow began {late:.2f} s late")
    if missing := [n for n, *_ in flows if n not in ended]:
        reasons.append(f"{len(missing)} of {len(flows)} flows had not ended {DRAIN_S} s after the last arrival, at {lasts:.0f} s")
    if reasons:
        return None, reasons
    return summary([(size, (ended[n] - began - start) * 1e3) for n, start, _, _, size, _ in flows]), []


def run_all(farspan, series, prefix):
    def once(key, number):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            flows = simulated_flows(farspan, folder, key, number)
            found, reasons = emulated(farspan, folder, key, number, flows)
        return {"kernel": found, "simulated": summary([(size, ms) for *_, size, ms in flows])}, reasons

    # Every cell once, then every cell twice: a series that is stopped has something of each.
    for runs in range(1, RUNS + 1):
        for key in filter(lambda key: key.startswith(prefix), cells()):
            series.fill(key, runs, lambda number, key=key: once(key, number))


TITLES = {"small_ms": "small, mean", "small_p99_ms": "small, p99", "large_ms": "large, mean"}


def table(series, pattern):
    """A row a control: medians of the runs, in ms, and each beside Gemini's."""
    key = lambda control: f"{pattern} {control}"
    measured = [control for control in CONTROLS if series.of(key(control))]
    median = lambda control, clock, name: statistics.median(run[name] for run in series.of(key(control), clock))
    lines = []
    for control in measured:
        line = [control]
        for name in TITLES:
            for clock in ("kernel", "simulated"):
                value = median(control, clock, name)
                beside = control != "gemini" and "gemini" in measured
                line.append(f"{value:.0f}" + (f" ({median('gemini', clock, name) / value - 1:+.0%})" if beside else ""))
        lines.append([*line, series.counts(key(control))])
    head = ["", *(f"{title}, ms: {clock}" for title in TITLES.values() for clock in ("kernel", "simulated")), "runs / void"]
    return study.table(head, lines)


def parts(series):
    return {f"pattern{pattern}": table(series, pattern) for pattern in PATTERNS}


if __name__ == "__main__":
    Series(__file__, "kernel-testbed.md").main(run_all, parts)
