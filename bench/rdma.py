"""ns-3's RDMA fork and farspan on the same files of HPCC's format: topology, flows and configuration, which `farspan import
hpcc` turns into a scenario. Used by peers.py --ns3.

Each round draws its flows anew, for the two hash flows onto paths in their own way.
"""
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass

import study
from process import measure

MIB = 1 << 20
K = 8
HOSTS = K**3 // 4
SENDERS = 16
# As the simulator's published configuration has it, with RED of its one rate and DCQCN's own rule for the target rate.
CONFIG = """ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE mix.tr
FCT_OUTPUT_FILE fct.txt
PFC_OUTPUT_FILE pfc.txt
SIMULATOR_STOP_TIME 2.2
CC_MODE {mode}
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 1
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 5
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
ACK_HIGH_PRIO 1
LINK_DOWN 0 0 0
ENABLE_TRACE 0
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 32
"""


@dataclass(frozen=True)
class RdmaScenario:
    """Traffic on a fat tree of 128 hosts under a control of `CC_MODE`."""
    name: str
    mode: int
    pattern: str
    size: int

    def flows(self, seed):
        """(source, destination): a permutation without fixed points, or senders drawn for each eighth host."""
        draw = random.Random(seed)
        if self.pattern == "incast":
            sinks = range(0, HOSTS, HOSTS // 8)
            return [(src, to) for to in sinks for src in draw.sample([h for h in range(HOSTS) if h != to], SENDERS)]
        to = list(range(HOSTS))
        while any(src == dst for src, dst in enumerate(to)):
            draw.shuffle(to)
        return list(enumerate(to))


SCENARIOS = [
    RdmaScenario("rdma-permutation-hpcc", 3, "permutation", MIB),
    RdmaScenario("rdma-incast-hpcc", 3, "incast", MIB),
    RdmaScenario("rdma-permutation-dcqcn", 1, "permutation", MIB),
    RdmaScenario("rdma-incast-dcqcn", 1, "incast", MIB),
]


def links():
    """Pairs of ids: hosts, then ToRs, aggregation switches and cores."""
    half = K // 2
    tor, agg = HOSTS, HOSTS + K * half
    core = agg + K * half
    for host in range(HOSTS):
        yield host, tor + host // half
    for pod in range(K):
        for a in range(half):
            for b in range(half):
                yield tor + pod * half + a, agg + pod * half + b
                yield agg + pod * half + a, core + a * half + b


def write_inputs(s, seed, folder):
    folder.mkdir(parents=True, exist_ok=True)
    switches = range(HOSTS, HOSTS + K * K + (K // 2) ** 2)
    pairs = list(links())
    # One GPU a server: no NVSwitch.
    lines = [f"{HOSTS + len(switches)} 1 0 {len(switches)} {len(pairs)} H100", " ".join(map(str, switches))]
    lines += [f"{a} {b} 100Gbps 0.001ms 0" for a, b in pairs]
    (folder / "topology.txt").write_text("\n".join(lines) + "\n")
    flows = [f"{src} {dst} 3 100 {s.size} 2.0" for src, dst in s.flows(seed)]
    (folder / "flow.txt").write_text("\n".join([str(len(flows)), *flows]) + "\n")
    (folder / "trace.txt").write_text("0\n")
    (folder / "config.txt").write_text(CONFIG.format(mode=s.mode))


def quantile(times, q):
    """By nearest rank, as farspan has it."""
    return sorted(times)[math.ceil(q * len(times)) - 1]


def run_ns3(program, folder, timeout):
    text, used, failed = measure([program.resolve(), "config.txt"], folder, timeout)
    if failed:
        return {"failed": failed}
    times = [int(line.split()[6]) / 1000 for line in (folder / "fct.txt").read_text().splitlines()]
    hops = re.search(r"hops (\d+)", text.splitlines()[-1])
    dropped = text.count("Drop:")
    fct = {"mean_us": statistics.fmean(times), "p99_us": quantile(times, 0.99), "max_us": max(times)}
    # The last word of a line says whether it is a pause (1) or its end.
    pauses = sum(line.endswith(" 1") for line in (folder / "pfc.txt").read_text().splitlines())
    return {"failed": None, **used, "finished": len(times), "hops": int(hops[1]), "dropped": dropped, "pauses": pauses, **fct}


def run_farspan(program, folder, timeout, seed):
    words = ["import", "hpcc", "topology.txt", "flow.txt", "--config", "config.txt", "-o", "scenario.toml"]
    subprocess.run([program.resolve(), *words], cwd=folder, check=True, capture_output=True)
    words = ["run", "scenario.toml", "--seed", str(seed), "--json", "--quiet"]
    text, used, failed = measure([program.resolve(), *words], folder, timeout)
    if failed:
        return {"failed": failed}
    document = json.loads(text[text.index("{"):])
    fct = {key: document["fct"]["all"][key] for key in ("mean_us", "p99_us", "max_us")}
    packets, pauses = document["packets"], document.get("pfc", {}).get("pauses")
    hops = {"hops": document["packet_hops"], "dropped": packets["dropped"], "pauses": pauses}
    return {"failed": None, **used, "finished": document["flows"]["finished"], **hops, **fct}


def instructions(command, folder):
    """Of a whole run, by callgrind."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    said = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Collected : (\d+)", said)[1])


def compare(a):
    results = {}
    for s in (s for s in SCENARIOS if not a.only or s.name in a.only):
        runs, before = {"ns-3": [], "farspan": []}, os.getloadavg()[0]
        for seed in range(1, a.rounds + 1):
            folder = a.work / s.name / str(seed)
            write_inputs(s, seed, folder)
            for tool, result in (("farspan", run_farspan(a.farspan, folder, a.timeout, seed)), ("ns-3", run_ns3(a.ns3, folder, a.timeout))):
                runs[tool].append(result)
                print(f"{s.name} round {seed}: {tool} {result}", file=sys.stderr)
        counted = {}
        if a.count:
            folder = a.work / s.name / "1"
            counted["ns-3"] = instructions([a.ns3.resolve(), "config.txt"], folder)
            words = ["run", "scenario.toml", "--seed", "1", "--json", "--quiet"]
            counted["farspan"] = instructions([a.farspan.resolve(), *words], folder)
        results[s.name] = {"load_average": [before, os.getloadavg()[0]], "runs": runs, "instructions": counted}
    return results


def table(results):
    """Means over rounds of what flows took, medians of what machines did."""
    head = ["scenario", "simulator", "mean FCT", "p99 FCT", "packet-hops", "dropped", "pauses", "user CPU s (range)"]
    head, rows = [*head, "instructions / hop", "peak memory"], []
    for name, result in results.items():
        for tool, runs in result["runs"].items():
            good = [r for r in runs if not r["failed"]]
            if not good:
                rows.append([name, tool, runs[0]["failed"], *["-"] * 7])
                continue
            mean = lambda key: statistics.fmean(r[key] for r in good)
            seconds = [r["user_s"] for r in good]
            cpu = f"{statistics.median(seconds):.3g} ({min(seconds):.3g} to {max(seconds):.3g})"
            count = result["instructions"].get(tool)
            each = "-" if count is None else f"{count / good[0]['hops']:.0f}"
            pauses = "-" if good[0]["pauses"] is None else f"{mean('pauses'):.0f}"
            cells = [f"{mean('mean_us'):.1f} us", f"{mean('p99_us'):.1f} us", f"{mean('hops'):,.0f}", f"{mean('dropped'):.0f}"]
            memory = statistics.median(r["rss_bytes"] for r in good)
            rows.append([name, tool, *cells, pauses, cpu, each, f"{memory / 1e6:.1f} MB"])
    loads = ", ".join(f"{name} {r['load_average'][0]:.1f} to {r['load_average'][1]:.1f}" for name, r in results.items())
    return f"{study.table(head, rows)}\nLoad average of the last minute, before and after: {loads}."
