"""The cost of a control in the kernel without a bottleneck, one host with two peers at once, and UnoCC over a phantom queue of Linux beside
one of the emulator. Writes the tables of docs/src/kernel-paths.md.

usage: kernel_paths.py FARSPAN [--only PART] [--minutes M]
                                              runs what is missing (root, Linux), keeps the numbers in bench/kernel_paths.json, and writes
                                              the page. Parts: clean, peers, phantom, acks. Half an hour
       kernel_paths.py [--check]              writes the page from the kept numbers (or compares it)
"""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import study
from kernel_lab import EBPF, SINK, Lab, flows
from kernel_runs import Series

SCENARIO = study.HERE.parent / "crates/lab/src/bench/kernel/bottleneck.toml"

# Rounds of the clean paths, in which the controls take turns of so many seconds; runs of the others. The machine changes its own speed by a
# third from minute to minute: turns are short, so that those of a round meet the same.
ROUNDS, TURN, RUNS = 40, 2, 5
SECONDS = 30
# A window of UnoCC is one BDP at most: the rate is above what the paths carry.
CLEAN = {"gemini": ["line_rate=100Gbps", "k=7500KB"], "unocc": ["line_rate=400Gbps"]}


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def at(namespace, *command):
    return ["ip", "netns", "exec", namespace, *map(str, command)]


def set_all(namespace, settings):
    for key, value in settings.items():
        run(*at(namespace, "sh", "-c", f"echo '{value}' > /proc/sys/net/ipv4/{key}"))


@contextlib.contextmanager
def installed(farspan, controls):
    """The controls with these parameters, in the kernel."""
    if not os.path.ismount("/sys/fs/bpf"):
        run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
    try:
        for control, parameters in controls.items():
            run(farspan, "kernel", "install", control, *study.words(parameters))
        yield
    finally:
        for control in controls:
            subprocess.run([farspan, "kernel", "remove", control], check=False, capture_output=True)


@contextlib.contextmanager
def two_hosts(farspan):
    """Two namespaces joined by a pair of devices."""
    names = [f"paths{os.getpid()}{side}" for side in "ab"]
    try:
        for name in names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
            run(*at(name, farspan, "emu", "tcp", "prepare"))
            set_all(name, {"tcp_ecn": "1"})
        run("ip", "link", "add", "p0", "netns", names[0], "type", "veth", "peer", "name", "p1", "netns", names[1])
        # One processor takes all packets of a device, as the queue of a NIC would. Otherwise packets that leave on different processors
        # overtake each other. The sender is on the first, the receiver on the second.
        for name, device, mask in ((names[0], "p0", 1), (names[1], "p1", 2), (names[0], "lo", 2)):
            run(*at(name, "sh", "-c", f"echo {mask} > /sys/class/net/{device}/queues/rx-0/rps_cpus"))
        for number, name in enumerate(names):
            run("ip", "-n", name, "addr", "add", f"10.7.0.{number + 1}/24", "dev", f"p{number}")
            run("ip", "-n", name, "link", "set", f"p{number}", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def busy_s():
    """Time that the processors of the machine have worked."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def transfer(farspan, sender, receiver, address, control, seconds=TURN):
    """Throughput in Gbit/s, and CPU time in ns for a byte; the listener has the control, too."""
    set_all(receiver, {"tcp_congestion_control": control if control in EBPF else "reno"})
    # Where they run decides more than the control does: sender and receiver stay on a processor each.
    sink = subprocess.Popen(["taskset", "-c", "1", *at(receiver, farspan, *SINK)], stdout=subprocess.PIPE, text=True)
    try:
        sink.stdout.readline()
        before = busy_s()
        said = json.loads(run("taskset", "-c", "0", *at(sender, farspan, *flows(address, seconds, control))))
        busy = busy_s() - before
    finally:
        sink.kill()
        sink.wait()
    assert said["control"] == control, said
    bps = said["bps"][0]
    return {"gbps": round(bps / 1e9, 4), "ns_per_byte": round(busy * 1e9 / (bps / 8 * seconds), 5)}


def clean(farspan, series):
    with installed(farspan, CLEAN), two_hosts(farspan) as (a, b):
        for path, (sender, receiver, address) in {"veth": (a, b, "10.7.0.2"), "loopback": (a, a, "127.0.0.1")}.items():

            def once(number, path=(sender, receiver, address)):
                # Who begins changes from round to round.
                turns = ["cubic", *CLEAN]
                turns = turns[number % len(turns) :] + turns[: number % len(turns)]
                return {"kernel": {control: transfer(farspan, *path, control) for control in turns}}, []

            series.fill(f"clean {path}", ROUNDS, once)


PEERS = {
    "unocc inside, bbr across": ("unocc", "bbr"),
    "gemini for both": ("gemini", "gemini"),
}
PEER_PARAMETERS = {"gemini": ["line_rate=100Mbps", "k=30KB"], "unocc": ["line_rate=100Mbps", "intra_rtt=200us"]}


def peers(farspan, series):
    """A peer beside the host, over a device of 100 Mbit/s that a phantom queue marks, and one 20 ms away through the emulator."""

    def once(number, inside, across):
        wanted = {control: PEER_PARAMETERS[control] for control in dict.fromkeys((inside, across)) if control in EBPF}
        with tempfile.TemporaryDirectory() as folder, installed(farspan, wanted):
            folder = pathlib.Path(folder)
            settings = ["topology.bottleneck_rate=100Mbps", "topology.buffer=250KB", "scheme.ports.marking=none"]
            with Lab(farspan, folder, SCENARIO, "cubic", number, settings, []) as lab, two_hosts(farspan) as (_, near):
                host = f"farspan-{lab.name}-0"
                run("ip", "-n", near, "link", "del", "p1")
                run("ip", "link", "add", "n0", "netns", host, "type", "veth", "peer", "name", "n1", "netns", near)
                for name, device, number in ((host, "n0", 1), (near, "n1", 2)):
                    run("ip", "-n", name, "addr", "add", f"10.7.1.{number}/24", "dev", device)
                    run("ip", "-n", name, "link", "set", device, "up")
                run("ip", "-n", host, "link", "set", "n0", "gso_max_segs", "1")
                limit = ("rate", "100mbit", "burst", "6kb", "limit", "150kb")
                run(*at(host, "tc", "qdisc", "add", "dev", "n0", "root", "tbf", *limit))
                run(farspan, "kernel", "mark", "--dev", "n0", "--netns", host, "--rate", "100Mbps", "--drain", "0.95")
                for name, control in ((near, inside), (f"farspan-{lab.name}-2", across)):
                    # One that is no eBPF program speaks ECN, too, and meets no mark.
                    own = ["--control", control] if control in EBPF else []
                    run(*at(name, farspan, "emu", "tcp", "prepare", *own))
                    set_all(name, {"tcp_ecn": "1"})
                set_all(host, {"tcp_ecn": "1"})
                run("ip", "-n", host, "route", "replace", "10.0.0.0/24", "dev", "eth0", "congctl", across)
                run("ip", "-n", host, "route", "replace", "10.7.1.0/24", "dev", "n0", "congctl", inside)
                lab.sink(2)
                sink = subprocess.Popen(at(near, farspan, *SINK), stdout=subprocess.PIPE, text=True)
                sink.stdout.readline()
                # No name: the routes say which control a connection gets.
                both = [lab.start(0, farspan, *flows(to, SECONDS, since=5)) for to in ("10.7.1.2", "10.0.0.3")]
                said = [json.loads(one.communicate()[0]) for one in both]
                sink.kill()
                sink.wait()
        assert [flow["control"] for flow in said] == [inside, across], said
        numbers = [{"mbps": round(flow["bps"][0] / 1e6, 2), "rtt_ms": round(flow["rtt_ms"], 3)} for flow in said]
        return {"kernel": numbers}, lab.void(*(flow["held_back"] for flow in said))

    for label, controls in PEERS.items():
        series.fill(f"peers {label}", RUNS, lambda number, controls=controls: once(number, *controls))


PHANTOM = {"rate": "200Mbps", "drain": 0.9, "k_min": "20KB", "k_max": "60KB"}
# It marks packets when they come, as `kernel mark` does.
PHANTOM_PORT = ["marking=phantom", "at=enqueue", "phantom.size=80KB", f"phantom.drain={PHANTOM['drain']}", "phantom.min=0.25", "phantom.max=0.75"]
PHANTOM_PORT = [f"scheme.ports.{setting}" for setting in PHANTOM_PORT]


def phantom(farspan, series):
    """UnoCC over the phantom queue of the sender's own port, by `kernel mark`, and over that of the emulator's port."""
    # It begins with one BDP: a window that still grows meets few marks.
    parameters = ["line_rate=200Mbps", "intra_rtt=20ms"]

    def once(number, where):
        settings = ["topology.buffer=500KB", *(PHANTOM_PORT if where == "emulator" else ["scheme.ports.marking=none"])]
        with tempfile.TemporaryDirectory() as folder, Lab(farspan, pathlib.Path(folder), SCENARIO, "unocc", number, settings, parameters) as lab:
            host, device = f"farspan-{lab.name}-0", "eth0"
            # Each packet comes alone to both: `kernel mark` would see those of a super-packet at once.
            run("ip", "-n", host, "link", "set", device, "gso_max_segs", "1")
            if where == "kernel":
                mark = ["--rate", PHANTOM["rate"], "--drain", PHANTOM["drain"], "--k-min", PHANTOM["k_min"], "--k-max", PHANTOM["k_max"]]
                run(farspan, "kernel", "mark", "--dev", device, "--netns", host, *mark)
            lab.sink(2)
            said = lab.said(lab.send(0, "10.0.0.3", SECONDS, since=5))
        return {"kernel": {"mbps": round(said["bps"][0] / 1e6, 2), "rtt_ms": round(said["rtt_ms"], 3)}}, lab.void(said["held_back"])

    for where in ("kernel", "emulator"):
        series.fill(f"phantom {where}", RUNS, lambda number, where=where: once(number, where))


# Seconds of a run; UnoCC's period of epochs inside a datacenter.
ACKS_SECONDS, EPOCH_US = 10, 14


def acks(farspan, series):
    """For how many packets an ACK speaks, and how far ACKs are apart: over the emulator packet by packet, and between two namespaces with
    super-packets."""

    def emulated(number):
        settings = ["topology.buffer=500KB", *PHANTOM_PORT]
        with tempfile.TemporaryDirectory() as folder, Lab(farspan, pathlib.Path(folder), SCENARIO, "unocc", number, settings, ["line_rate=200Mbps"]) as lab:
            lab.sink(2)
            said = lab.said(lab.send(0, "10.0.0.3", ACKS_SECONDS, since=2))
        return {"kernel": acks_of(said)}, lab.void(said["held_back"])

    def clean(number):
        with installed(farspan, {"unocc": CLEAN["unocc"]}), two_hosts(farspan) as (sender, receiver):
            set_all(receiver, {"tcp_congestion_control": "unocc"})
            sink = subprocess.Popen(at(receiver, farspan, *SINK), stdout=subprocess.PIPE, text=True)
            try:
                sink.stdout.readline()
                said = json.loads(run(*at(sender, farspan, *flows("10.7.0.2", ACKS_SECONDS, "unocc", since=2))))
                assert said["control"] == "unocc", said
            finally:
                sink.kill()
                sink.wait()
        # What limits it there is the machine, windows of the receiver among it: no run is void for that.
        return {"kernel": acks_of(said)}, []

    series.fill("acks emulator", RUNS, emulated)
    series.fill("acks veth", RUNS, clean)


def acks_of(said):
    numbers = {"mbps": said["bps"][0] / 1e6, "packets": said["packets_per_ack"], "gap_us": said["ack_gap_us"]}
    return {name: round(value, 3) for name, value in numbers.items()}


def acks_table(series):
    lines = []
    for where, label in (("emulator", "the emulator, 200 Mbit/s and 20 ms, packet by packet"), ("veth", "two namespaces, super-packets")):
        runs = series.of(f"acks {where}")
        values = [spread([run[name] for run in runs], digits) for name, digits in (("mbps", 1), ("packets", 1), ("gap_us", 1))]
        epoch = f"{max(EPOCH_US, statistics.median(run['gap_us'] for run in runs)):.0f}" if runs else ""
        lines.append([label, *values, epoch, series.counts(f"acks {where}")])
    return study.table(["path", "Mbit/s", "packets an ACK", "between ACKs, us", "an epoch, us, at least", "runs / void"], lines)


def spread(values, digits):
    values = sorted(values)
    return f"{statistics.median(values):.{digits}f} ({values[0]:.{digits}f} to {values[-1]:.{digits}f})" if values else ""


def clean_table(series):
    lines = []
    for path in ("veth", "loopback"):
        runs = series.of(f"clean {path}")
        for control in ("cubic", *CLEAN) if runs else ():
            # Each round's value is beside CUBIC's of the same round.
            values = [spread([one[control][name] for one in runs], 2) for name in ("gbps", "ns_per_byte")]
            ratios = [statistics.median(one[control][name] / one["cubic"][name] for one in runs) for name in ("gbps", "ns_per_byte")]
            lines.append([path, control, values[0], f"{ratios[0]:.3f}", values[1], f"{ratios[1]:.3f}", len(runs)])
    return study.table(["path", "control", "Gbit/s", "beside CUBIC", "CPU ns a byte", "beside CUBIC", "rounds"], lines)


def peers_table(series):
    lines = []
    for label in PEERS:
        key = f"peers {label}"
        for number, peer in enumerate(("beside it", "20 ms away")):
            values = [spread([run[number][name] for run in series.of(key)], digits) for name, digits in (("mbps", 1), ("rtt_ms", 2))]
            lines.append([label, peer, *values, series.counts(key)])
    return study.table(["controls", "peer", "Mbit/s", "smoothed RTT, ms", "runs / void"], lines)


def phantom_table(series):
    lines = []
    for where, label in (("kernel", "`kernel mark` at the sender's port"), ("emulator", "the emulator's port")):
        key = f"phantom {where}"
        values = [spread([run[name] for run in series.of(key)], digits) for name, digits in (("mbps", 1), ("rtt_ms", 2))]
        lines.append([label, *values, series.counts(key)])
    return study.table(["phantom queue", "Mbit/s", "smoothed RTT, ms", "runs / void"], lines)


PARTS = {"clean": (clean, clean_table), "peers": (peers, peers_table), "phantom": (phantom, phantom_table), "acks": (acks, acks_table)}


def run_all(farspan, series, prefix):
    for part, (measure, _) in PARTS.items():
        if part.startswith(prefix):
            measure(farspan, series)


def parts(series):
    return {part: table(series) for part, (_, table) in PARTS.items()}


if __name__ == "__main__":
    Series(__file__, "kernel-paths.md").main(run_all, parts)
