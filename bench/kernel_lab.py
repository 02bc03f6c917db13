"""Kernel TCP in the emulator: the programs at its hosts, and an emulation with its namespaces set up. Part of kernel.py and
kernel_testbed.py."""
import json
import os
import subprocess
import sys
import time

EBPF = ("gemini", "unocc")

SINK = """
import contextlib, socket, threading
def take(connection):
    # A sender that is done breaks off, so that no queue is left.
    with connection, contextlib.suppress(ConnectionResetError):
        buffer = bytearray(1 << 20)
        while connection.recv_into(buffer):
            pass
server = socket.create_server(("", 7000), backlog=128)
print("ready", flush=True)
while True:
    threading.Thread(target=take, args=(server.accept()[0],), daemon=True).start()
"""
# So many flows that send from `start` to `until`, in seconds; says what of each was acknowledged since `since`, the median of their
# smoothed round trips then, and the largest share of its time that a window or buffer of the hosts held one back.
FLOWS = """
import json, selectors, socket, statistics, struct, sys, time
control, to, count, start, since, until = sys.argv[1], sys.argv[2], int(sys.argv[3]), *map(float, sys.argv[4:7])
began = time.monotonic()
now = lambda: time.monotonic() - began
time.sleep(start)
ready, flows, payload, first, rtts, next_at = selectors.DefaultSelector(), [], bytes(1 << 16), None, [], since
for _ in range(count):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if control:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    s.connect((to, 7000))
    s.setblocking(False)
    ready.register(s, selectors.EVENT_WRITE)
    flows.append(s)
def info(s):
    # struct tcp_info (linux/tcp.h): rtt, bytes_acked, then busy_time, rwnd_limited, sndbuf_limited.
    raw = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", raw, 68)[0] / 1e3, struct.unpack_from("Q", raw, 120)[0], struct.unpack_from("3Q", raw, 168)
while (at := now()) < until:
    if at >= next_at:
        found = [info(s) for s in flows]
        first = first or (at, [acked for _, acked, _ in found])
        rtts += [rtt for rtt, _, _ in found]
        next_at += 0.1
    for key, _ in ready.select(0.05):
        try:
            key.fileobj.send(payload)
        except BlockingIOError:
            pass
found, at = [info(s) for s in flows], now()
control = flows[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode()
bps = [(acked - before) * 8 / (at - first[0]) for (_, acked, _), before in zip(found, first[1])]
held = max(max(times[1:]) / max(times[0], 1) for _, _, times in found)
print(json.dumps({"bps": bps, "rtt_ms": statistics.median(rtts), "held": held, "control": control}))
"""
# Messages on new connections, one after another, from connect until the receiver has closed.
MESSAGES = """
import json, socket, sys, time
control, to, size, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
payload, times = bytes(size), []
for _ in range(count):
    time.sleep(0.2)
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        began = time.monotonic()
        s.connect((to, 7000))
        s.sendall(payload)
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
        times.append((time.monotonic() - began) * 1e3)
        control = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode()
print(json.dumps({"ms": times, "control": control}))
"""
SYSCTL = {
    "tcp_no_metrics_save": "1",
    "tcp_rmem": "4096 131072 33554432",
    "tcp_wmem": "4096 131072 33554432",
}


def words(settings):
    return [word for setting in settings for word in ("--set", setting)]


class Lab:
    """An emulation under a control; `document` is that of its results once it is down. `parameters`: those of a control by eBPF."""

    def __init__(self, farspan, folder, file, control, seed, settings, parameters):
        self.farspan, self.control, self.parameters = farspan, control, parameters
        self.name, self.out, self.sinks = f"kernel{os.getpid()}", folder / "out", []
        self.up = [farspan, "emu", "up", file, "--scheme", control, "--name", self.name, "--out", self.out, "--force"]
        self.up += ["--seed", str(seed), *words(settings)]

    def __enter__(self):
        if self.control in EBPF and not os.path.ismount("/sys/fs/bpf"):
            # Where installed programs stay. Most systems mount it when they start.
            subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
        # The kernel still takes the namespaces of the last one away, which holds processors.
        time.sleep(2)
        subprocess.run(self.up, check=True, stdout=subprocess.DEVNULL)
        try:
            self.equip()
        except BaseException:
            self.end()
            raise
        return self

    def equip(self):
        text = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
        named = (line.split()[0] for line in text.splitlines())
        namespaces = sorted(one for one in named if one.startswith(f"farspan-{self.name}-"))
        settings = dict(SYSCTL)
        if self.control in EBPF:
            install = [self.farspan, "kernel", "install", self.control, *words(self.parameters)]
            subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
            # Both ends need the control and marks.
            settings |= {"tcp_congestion_control": self.control, "tcp_ecn": "1"}
        for namespace in namespaces:
            inside = ["ip", "netns", "exec", namespace]
            for key, value in settings.items():
                subprocess.run([*inside, "sh", "-c", f"echo '{value}' > /proc/sys/net/ipv4/{key}"], check=True)

    def start(self, host, code, *arguments):
        """Starts a program at a host."""
        command = [self.farspan, "emu", "exec", "--name", self.name, str(host), "--", sys.executable, "-c", code]
        return subprocess.Popen([*command, *map(str, arguments)], stdout=subprocess.PIPE, text=True)

    def sink(self, host):
        self.sinks.append(self.start(host, SINK))
        self.sinks[-1].stdout.readline()

    def send(self, host, code, *arguments):
        """Starts a program that sends under the control. A namespace takes CUBIC as its default only if the machine does: sockets ask."""
        return self.start(host, code, self.control, *arguments)

    def said(self, process):
        """What a program said at its end."""
        found = json.loads(process.communicate()[0])
        assert found["control"] == self.control, found
        return found

    def __exit__(self, *_):
        self.end()
        self.document = json.loads((self.out / "summary.json").read_text())

    def end(self):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if self.control in EBPF:
            subprocess.run([self.farspan, "kernel", "remove", self.control], check=False, **quiet)
        subprocess.run([self.farspan, "emu", "down", "--name", self.name], check=False, **quiet)
        for sink in self.sinks:
            sink.wait()

    def void(self, held):
        """Why the run does not count."""
        reasons = list(self.document["emulation"]["reasons"])
        if held > 0.01:
            reasons.append(f"held back by windows or buffers of hosts for {held:.1%} of its time")
        return reasons


def rows(head, lines):
    lines = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)
