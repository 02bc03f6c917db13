"""Kernel TCP in the emulator: an emulation with its namespaces set up. Part of kernel_testbed.py, kernel_load.py, kernel_paths.py and
kernel_arrivals.py."""
import json
import os
import subprocess
import time

from study import words

EBPF = ("gemini", "unocc")

# Takes connections, and reads what comes.
SINK = ["emu", "tcp", "sink"]


def as_linux(control):
    """Settings of the simulator alone, as Linux has them: bursts as of a NIC that cuts up what TCP hands over (TSO), no pacing
    before the tenth packet, CUBIC's friendly window and its windows of whole packets; and the rate of the eBPF programs."""
    own = {"cubic": ["catches_up=false", "whole_packets=true"], **dict.fromkeys(EBPF, ["pacing_gain=1.2"])}.get(control, [])
    return ["transport.burst=64KiB", "transport.unpaced=10", *(f"scheme.{site}.congestion.{key}" for site in ("intra", "inter") for key in own)]


def flows(to, until, control="", count=1, start=0, since=0):
    """So many flows to a sink that send from `start` to `until`, in seconds; says what of each was acknowledged since `since`, the median
    of their smoothed round trips then, and why they do not count, if they
    do not: a window or buffer of the hosts held one back."""
    named = ["--control", control] if control else []
    times = [word for name, at in (("start", start), ("since", since), ("until", until)) for word in (f"--{name}", f"{at}s")]
    return ["emu", "tcp", "flows", to, *named, "--count", str(count), *times]


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
        prepare = ["emu", "tcp", "prepare"]
        if self.control in EBPF:
            install = [self.farspan, "kernel", "install", self.control, *words(self.parameters)]
            subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
            # Both ends need the control and marks.
            prepare += ["--control", self.control]
        for namespace in namespaces:
            subprocess.run(["ip", "netns", "exec", namespace, self.farspan, *prepare], check=True)

    def start(self, host, *command):
        """Starts a program at a host."""
        command = [self.farspan, "emu", "exec", "--name", self.name, str(host), "--", *map(str, command)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def sink(self, host):
        self.sinks.append(self.start(host, self.farspan, *SINK))
        self.sinks[-1].stdout.readline()

    def send(self, host, to, until, **times):
        """Starts flows under the control. A namespace takes CUBIC as its default only if the machine does: sockets ask."""
        return self.start(host, self.farspan, *flows(to, until, self.control, **times))

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

    def void(self, *held_back):
        """Why the run does not count."""
        return [*self.document["emulation"]["reasons"], *filter(None, held_back)]
