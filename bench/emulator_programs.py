"""Runs programs that know nothing of the emulator through it, and holds them to the model. They are round trips of ping, a million counted
datagrams, iperf3, a GiB by curl over IPv4 and IPv6, fragments. Prints a row for each, and ends with 1 where one breaks its bound. Needs
ping, iperf3 and curl.

usage: emulator_programs.py FARSPAN [--quick | --keep]     runs them (root, Linux; 4 minutes); --keep: keeps what they found in
                                                           bench/emulator_programs.json, and writes the table of docs/src/emulator.md
       emulator_programs.py [--check]                      writes the table from what is kept (or compares it)
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import study

# The least of a link's rate that a transfer gets, with its headers and slow start.
LEAST_SHARE = 0.9
# A program whose times miss their bound runs again, so often at most: the machine may have been late where the emulation did not
# see it. A defect misses each time; and counts are never tried twice.
ATTEMPTS = 3

SCENARIO = """
name = "programs"
host.jitter = "0ns"
transport = {{ payload = "1436B", header = "64B" }}
scheme = {{ name = "dctcp", ports = {{ marking = "none" }} }}
topology = {{ kind = "star", hosts = {hosts}, link_rate = "{rate}Mbps", link_delay = "{delay}ms", buffer = "{buffer}" }}
"""

# Numbers of datagrams, each in its own; the count is even, so that both senders send as many.
COUNTED_SENDER = """
import socket, sys, time
first, count, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.0.0.3", 7000))
began, sent, filler = time.monotonic(), 0, b"x" * 468
while sent < count:
    due = min(count, int((time.monotonic() - began) * rate))
    for n in range(sent, due):
        s.send((first + n).to_bytes(4, "big") + filler)
    sent = max(sent, due)
    time.sleep(0.001)
"""
COUNTED_RECEIVER = """
import socket, sys
count = int(sys.argv[1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
s.bind(("", 7000))
s.settimeout(3)
print("ready", flush=True)
seen, received, twice = bytearray(count), 0, 0
s.settimeout(20)
try:
    while True:
        number = int.from_bytes(s.recv(2048)[:4], "big")
        twice += seen[number]
        seen[number] = 1
        received += 1
        s.settimeout(3)
except TimeoutError:
    print(received, twice, flush=True)
"""
FRAGMENTS = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "take":
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
    s.bind(("", 7001))
    s.settimeout(20)
    print("ready", flush=True)
    got = set()
    try:
        while True:
            data = s.recv(65536)
            assert data[4:] == bytes([data[3]]) * 7996
            got.add(data[:4])
            s.settimeout(2)
    except TimeoutError:
        print(len(got), flush=True)
else:
    import time
    for n in range(200):
        s.sendto(n.to_bytes(4, "big") + bytes([n % 256]) * 7996, ("10.0.0.2", 7001))
        time.sleep(0.002)
"""


class Late(Exception):
    """Times, or rates, outside their bound."""


class Lab:
    """An emulation; `judged` is the document's `emulation` once it is down."""

    def __init__(self, farspan, folder, **keys):
        self.farspan, self.name, self.out = farspan, f"programs{os.getpid()}", folder / "out"
        keys = {"hosts": 3, "buffer": "1MB"} | keys
        (folder / "lab.toml").write_text(SCENARIO.format(**keys))
        self.command = [farspan, "emu", "up", folder / "lab.toml", "--name", self.name, "--out", self.out, "--force"]

    def __enter__(self):
        subprocess.run(self.command, check=True, stdout=subprocess.DEVNULL)
        return self

    def at(self, host, *words, **options):
        """Starts a program at a host."""
        command = [self.farspan, "emu", "exec", "--name", self.name, str(host), "--", *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)

    def said(self, host, *words):
        """Runs a program at a host; gives what it printed."""
        process = self.at(host, *words)
        text = process.communicate()[0]
        assert process.returncode == 0, (words, process.returncode, text)
        return text

    def __exit__(self, *_):
        self.code = subprocess.run(
            [self.farspan, "emu", "down", "--name", self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ).returncode
        self.judged = json.loads((self.out / "summary.json").read_text())["emulation"]

    def verdict(self):
        """Whether it held, for the row of a table."""
        return "void" if self.judged["void"] else "holds"


def row(what, found, lab):
    return [what, found, lab.verdict()]


def ping(farspan, folder, quick):
    count = 500 if quick else 3000
    with Lab(farspan, folder, rate=200, delay=5) as lab:
        text = lab.said(0, "ping", "-c", count, "-i", "0.01", "10.0.0.2")
    times = sorted(float(ms) for ms in re.findall(r"time=([\d.]+)", text))
    assert len(times) == count
    # Two links each way, and 84 bytes at 200 Mbit/s on each.
    model = 4 * (5 + 84 * 8 / 200e3)
    median, p99 = ((times[int((len(times) - 1) * q)] - model) * 1e3 for q in (0.5, 0.99))
    bound = 2 * lab.judged["excess"]["p99_us"] + 150
    # In a void run the machine was late, and nothing follows.
    if not (lab.judged["void"] or (median <= 500 and p99 <= bound)):
        raise Late(f"median {median:.0f} us of 500, p99 {p99:.0f} us of {bound:.0f}")
    yield row(
        f"ping, {count:,} over a path of {model:.3f} ms: excess",
        f"median {median:.0f} us (at most 500), p99 {p99:.0f} us (at most its own both ways + 150 us: {bound:.0f})",
        lab,
    )


def counter(farspan, folder, quick):
    count = 100_000 if quick else 1_000_000
    with Lab(farspan, folder, rate=100, delay=5, buffer="100KB") as lab:
        receiver = lab.at(2, sys.executable, "-c", COUNTED_RECEIVER, count)
        receiver.stdout.readline()
        # Together 1.2 times what the link to the receiver takes: 25,000 packets of 500 bytes a second.
        halves = [
            lab.at(n, sys.executable, "-c", COUNTED_SENDER, n * count // 2, count // 2, 15_000) for n in (0, 1)
        ]
        assert [half.wait() for half in halves] == [0, 0]
        received, twice = map(int, receiver.communicate()[0].split())
    packets, unread = lab.judged["packets"], lab.judged["unread_drops"]
    total = packets["delivered"] + packets["dropped"] + packets["lost"] + unread
    assert (received, twice, total) == (packets["delivered"], 0, count), (received, twice, packets, unread)
    yield row(
        f"{count:,} counted datagrams at 120% of a link",
        f"{received:,} received once, {packets['dropped']:,} dropped by a port, {unread} unread: the sums are equal",
        lab,
    )


def iperf(farspan, folder, quick):
    seconds = 3 if quick else 15
    for name, address, more in (
        ("IPv4", "10.0.0.2", []),
        ("IPv6", "fd66:6172:7370::2", []),
        ("10 flows", "10.0.0.2", ["-P", "10"]),
    ):
        with Lab(farspan, folder, rate=100, delay=5) as lab:
            server = lab.at(1, "iperf3", "-s", "-1", "--forceflush")
            server.stdout.readline()
            found = json.loads(lab.said(0, "iperf3", "-c", address, "-t", seconds, "-J", *more))
            server.wait()
        rate = found["end"]["sum_received"]["bits_per_second"] / 1e6
        if not (lab.judged["void"] or quick or rate >= LEAST_SHARE * 100):
            raise Late(f"{rate:.1f} Mbit/s of 100")
        yield row(f"iperf3, {name}, {seconds} s over 100 Mbit/s and 20 ms", f"{rate:.1f} Mbit/s", lab)


def curl(farspan, folder, quick):
    size = (32 if quick else 1024) << 20
    chunk = hashlib.sha256(b"farspan").digest() * 32768
    (folder / "file").write_bytes(chunk * (size // len(chunk)))
    served = hashlib.sha256((folder / "file").read_bytes()).hexdigest()
    for name, host in (("IPv4", "10.0.0.2"), ("IPv6", "[fd66:6172:7370::2]")):
        with Lab(farspan, folder, rate=200, delay=5) as lab:
            server = lab.at(
                1, sys.executable, "-m", "http.server", "8000", "--bind", "::", "--directory", folder,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            said = lab.said(
                0, "curl", "-sS", "--retry", "20", "--retry-connrefused", "--retry-delay", "1",
                "-o", folder / "got", "-w", "%{speed_download}", f"http://{host}:8000/file",
            )  # fmt: skip
            server.terminate()
        got = hashlib.sha256((folder / "got").read_bytes()).hexdigest()
        assert got == served
        if not (lab.judged["void"] or quick or 8 * float(said) >= LEAST_SHARE * 200e6):
            raise Late(f"{8 * float(said) / 1e6:.1f} Mbit/s of 200")
        yield row(
            f"curl, {name}, {size >> 20} MiB over 200 Mbit/s and 20 ms",
            f"{float(said) / 1e6:.1f} MB/s, byte by byte the same",
            lab,
        )


def fragments(farspan, folder, _):
    with Lab(farspan, folder, rate=100, delay=5) as lab:
        taker = lab.at(1, sys.executable, "-c", FRAGMENTS, "take")
        taker.stdout.readline()
        lab.said(0, sys.executable, "-c", FRAGMENTS, "send")
        got = int(taker.communicate()[0])
        # The least that does not fit: the host's own kernel says so.
        refused = lab.at(0, "ping", "-M", "do", "-s", "1473", "-c", "1", "-W", "1", "10.0.0.2", stderr=subprocess.STDOUT)
        text = refused.communicate()[0]
        fits = lab.at(0, "ping", "-M", "do", "-s", "1472", "-c", "1", "-W", "1", "10.0.0.2").wait()
    assert (got == 200 or lab.judged["void"]) and fits == 0 and "mtu=1500" in text.replace(" = ", "="), (got, fits, text)
    yield row("200 datagrams of 8,000 bytes, in fragments", f"{got} received whole", lab)
    yield row("ping -M do of 1,501 bytes over an MTU of 1,500", "refused, with the MTU; 1,500 bytes pass", lab)


def held(program, farspan, folder, quick):
    """The rows of a program, which it also prints."""
    for left in reversed(range(ATTEMPTS)):
        try:
            rows = list(program(farspan, folder, quick))
            break
        except Late as late:
            print(f"{program.__name__}: {late}; attempts left: {left}", flush=True)
            if not left:
                raise
    for found in rows:
        print(f"| {' | '.join(found)} |", flush=True)
    return rows


def measured(options):
    print(f"load average before: {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        programs = (ping, counter, iperf, curl, fragments)
        return [row for program in programs for row in held(program, options.farspan, pathlib.Path(folder), options.quick)]


def parts(rows):
    return {"": study.table(["program", "found", "emulation"], rows)}


usage = "FARSPAN [--quick | --keep] runs programs, --check compares the page"
study.Study(__file__, "emulator.md").measure_first(measured, parts, usage, "quick", "keep")
