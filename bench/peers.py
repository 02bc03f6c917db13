"""Runs the public htsim simulators and farspan in turn on one machine and on the same traffic. docs/src/peers.md says how
to build them and how to read the numbers.

usage: peers.py FARSPAN [--uet DIR] [--csg DIR] [--rounds N] [--only NAME]... [--count] [--keep] [--work DIR] [-o FILE.json]
       peers.py FARSPAN --ns3 PROGRAM [--rounds N] [--only NAME]... [--count] [--work DIR] [-o FILE.json]

DIR is a checkout of ultraethernet/uet-htsim or Broadcom/csg-htsim, built. PROGRAM runs ns-3's RDMA fork on the config.txt
that it is given, and says its packet-hops in the last line. Needs GNU time, and valgrind for --count.
"""
import argparse
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass

import rdma
import study
from process import measure

MTU, HEADER = 4096, 64
LINK_BPS = 100e9
SENDERS = 32
# What uet-htsim makes of these links: the longest round trip without queues, and from it window, ports and time-out.
RTT = 6 * 2e-6 + 6 * (MTU + HEADER) * 8 / LINK_BPS
BDP = round(RTT * LINK_BPS / 8)
START = BDP * 3 // 2
BUFFER, MARK_MIN, MARK_MAX = (MTU * math.ceil(math.ceil(BDP / MTU) * part) for part in (1, 0.2, 0.8))
RTO = 15e-6 + 6 * BUFFER * 8 / LINK_BPS
PATHS = 64


@dataclass(frozen=True)
class Scenario:
    """Traffic on a fat tree of radix `k`, thinned by `over` at the ToR and at the aggregation switch."""
    name: str
    k: int
    pattern: str
    size: int
    over: tuple = (1, 1)

    @property
    def hosts(self):
        return self.k**3 // 4

    def flows(self):
        """(source, destination): a permutation without fixed points, or senders drawn for host 0."""
        draw = random.Random(7)
        if self.pattern == "incast":
            return [(src, 0) for src in draw.sample(range(1, self.hosts), SENDERS)]
        to = list(range(self.hosts))
        while any(src == dst for src, dst in enumerate(to)):
            draw.shuffle(to)
        return list(enumerate(to))

    def links(self, src, dst):
        rack = self.k // 2
        return 2 if src // rack == dst // rack else 4 if src // rack**2 == dst // rack**2 else 6

    def mean_links(self):
        return statistics.fmean(self.links(*flow) for flow in self.flows())

    def ideal_us(self):
        """What the narrowest link needs, about."""
        share = SENDERS if self.pattern == "incast" else self.over[0] * self.over[1]
        return self.size * 8 * share / LINK_BPS * 1e6


MIB = 1 << 20
# What of a simulator is kept: the same on every machine.
KEPT = ["instructions_per_byte", "mean_fct_us", "max_fct_us", "hops"]
SCENARIOS = [
    Scenario("permutation-128", 8, "permutation", 4 * MIB),
    Scenario("permutation-128-8to1", 8, "permutation", 4 * MIB, (4, 2)),
    Scenario("incast-128", 8, "incast", 2 * MIB),
    Scenario("permutation-1024", 16, "permutation", 2 * MIB),
    Scenario("permutation-1024-8to1", 16, "permutation", 2 * MIB, (4, 2)),
]


def write_inputs(s, work):
    """The same flows and tree in each simulator's format."""
    flows, half = s.flows(), s.k // 2
    lines = [f"{src}->{dst} id {i} start 0 size {s.size}" for i, (src, dst) in enumerate(flows, 1)]
    cm = [f"Nodes {s.hosts}", f"Connections {len(flows)}", *lines]
    (work / f"{s.name}.cm").write_text("\n".join(cm) + "\n")
    csv = [f"{src},{dst},{s.size},0" for src, dst in flows]
    (work / f"{s.name}.csv").write_text("\n".join(["src,dst,size_bytes,start_ns", *csv]) + "\n")
    topo = [f"Nodes {s.hosts}", "Tiers 3", f"Podsize {half * half}"]
    for tier, (down, up) in enumerate([(half, half // s.over[0]), (half, half // s.over[1]), (s.k, None)]):
        topo += ["", f"Tier {tier}", "Downlink_speed_Gbps 100", f"Radix_Down {down}"]
        topo += [f"Radix_Up {up}", f"Oversubscribed {s.over[tier]}"] if up else []
        topo += ["Downlink_Latency_ns 1000", "Switch_Latency_ns 0"] + (["Bundle 1"] if tier else [])
    (work / f"{s.name}.topo").write_text("\n".join(topo) + "\n")
    (work / f"{s.name}.toml").write_text(f"""
[topology]
kind = "fat_tree"
k = {s.k}
link_rate = "100Gbps"
link_delay = "1us"
buffer = "{BUFFER}B"
oversubscription = [{s.over[0]}, {s.over[1]}]
[transport]
payload = "{MTU - HEADER}B"
header = "{HEADER}B"
start = "{START}B"
rto = "{RTO * 1e12:.0f}ps"
[scheme]
name = "nscc+reps"
profile = "artifact"
[scheme.intra]
window_check = "fits"
balance = {{ name = "reps", entropies = {PATHS}, freeze = "10ms", explore = 16 }}
[scheme.ports.red]
min = {MARK_MIN / BUFFER}
max = {MARK_MAX / BUFFER}
[[workload]]
kind = "flows"
file = "{s.name}.csv"
""")


@dataclass(frozen=True)
class Tool:
    """A simulator: its binary, its arguments for a scenario and a seed, and what its output says."""
    name: str
    binary: pathlib.Path
    arguments: object
    read: object


def read_farspan(text, _scenario):
    run = json.loads(text)
    fct = run["fct"]["all"]
    found = {"mean_fct_us": fct["mean_us"], "max_fct_us": fct["max_us"]}
    return {"hops": run["packet_hops"], "finished": run["flows"]["finished"], **found}


def ends(text):
    times = [float(t) for t in re.findall(r"^Flow .* finished at ([\d.e+]+)", text, re.MULTILINE)]
    mean = statistics.fmean(times) if times else None
    return {"finished": len(times), "mean_fct_us": mean, "max_fct_us": max(times, default=None)}


def read_uet(text, scenario):
    """Every packet that it counts crosses all links of its path: new and repeated data, trimmed or not, ACKs, NACKs."""
    counts = re.search(r"New: (\d+) Rtx: (\d+) RTS: (\d+) Bounced: \d+ ACKs: (\d+) NACKs: (\d+) Pulls: (\d+)", text)
    packets = sum(map(int, counts.groups())) if counts else 0
    return {"hops": round(packets * scenario.mean_links()), **ends(text)}


def read_csg(text, _scenario):
    """It does not count its pulls: packet-hops are known only by --count."""
    return {"hops": None, **ends(text)}


def ndp_arguments(s, work, _seed):
    """Of one seed: another one's last flow may end later."""
    paths = ["-strat", "perm"] if s.over == (1, 1) else ["-strat", "ecmp_host", "-paths", "64", "-oversubscribed_cc"]
    # Its timers keep it busy until the end, which therefore comes right after the last flow; see learn_end.
    known = end_file(s, work)
    end = known.read_text() if known.is_file() else str(round(5 * s.ideal_us() + 1000))
    words = ["-nodes", str(s.hosts), *paths, "-mtu", str(MTU), "-q", "8", "-cwnd", "50", "-end", end, "-o", "csg.log"]
    return [*words, "-tm", f"{s.name}.cm", "-topo", f"{s.name}.topo"]


def end_file(s, work):
    return work / f"{s.name}.end"


def learn_end(tool, s, work, timeout):
    """A run of NDP that is not counted, to learn when its last flow ends."""
    if tool.arguments is ndp_arguments and not end_file(s, work).is_file():
        first = run(tool, s, work, timeout, 1)
        if not first["failed"]:
            end_file(s, work).write_text(str(round(first["max_fct_us"]) + 10))


def uet_arguments(s, _work, seed):
    """NSCC and REPS; an ACK for each packet, as farspan sends."""
    words = ["-mtu", str(MTU), "-sender_cc_only", "-sender_cc_algo", "nscc", "-load_balancing_algo", "reps"]
    words += ["-paths", str(PATHS), "-sack_threshold", str(MTU - HEADER), "-end", "1000000", "-o", "uet.log"]
    return [*words, "-seed", str(seed), "-tm", f"{s.name}.cm", "-topo", f"{s.name}.topo"]


def farspan_arguments(s, _work, seed):
    return ["run", f"{s.name}.toml", "--seed", str(seed), "--json", "--quiet"]


def tools(a):
    found = [Tool("farspan", a.farspan, farspan_arguments, read_farspan)]
    if a.uet:
        found.append(Tool("uet-htsim", a.uet / "htsim/sim/datacenter/htsim_uec", uet_arguments, read_uet))
    if a.csg:
        found.append(Tool("csg-htsim", a.csg / "sim/datacenter/htsim_ndp", ndp_arguments, read_csg))
    for tool in found:
        if not tool.binary.is_file():
            sys.exit(f"{tool.name}: there is no {tool.binary}; docs/src/peers.md says how to build it")
    return found


def run(tool, scenario, work, timeout, seed):
    """One run: CPU seconds and memory from the system, the rest from its output."""
    command = [tool.binary.resolve(), *tool.arguments(scenario, work, seed)]
    text, used, failed = measure(command, work, timeout)
    if failed:
        return {"failed": failed}
    result = tool.read(text, scenario)
    wrong = None if result["finished"] == len(scenario.flows()) else f"{result['finished']} flows finished"
    return {"cpu_s": used["cpu_s"], "rss_bytes": used["rss_bytes"], "failed": wrong, **result}


def count(tool, scenario, work):
    """Instructions, and packets that left a queue of htsim: callgrind counts them, and the program stays as it is. Kept
    for the next time."""
    arguments = tool.arguments(scenario, work, 1)
    inputs = [(work / f"{scenario.name}.{kind}").read_bytes() for kind in ("cm", "csv", "topo", "toml")]
    digest = hashlib.sha256(b"".join([tool.binary.read_bytes(), repr(arguments).encode(), *inputs])).hexdigest()[:16]
    kept = work / f"count-{digest}.json"
    if not kept.is_file():
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={work.resolve() / 'calls'}", tool.binary.resolve()]
        subprocess.run([*command, *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        names, hops, callee, instructions = {}, 0, None, None
        for line in (work / "calls").open():
            if found := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line):
                names.setdefault(found[2], found[3])
                callee = found[2] if found[1] else callee
            elif found := re.match(r"calls=(\d+)", line):
                if re.match(r"\w*Queue::completeService\(\)", names[callee] or ""):
                    hops += int(found[1])
            elif found := re.match(r"totals: (\d+)", line):
                instructions = int(found[1])
        kept.write_text(json.dumps({"hops": hops, "instructions": instructions}))
    return json.loads(kept.read_text())


def summarize(runs, counted, scenario):
    good = [r for r in runs if not r["failed"]]
    if not good:
        return {"failed": runs[0]["failed"]}
    middle = lambda key: statistics.median(r[key] for r in good)
    cpu, payload = middle("cpu_s"), scenario.size * good[0]["finished"]
    estimate = middle("hops") if good[0]["hops"] else None
    hops = counted.get("hops") or estimate
    return {
        "runs": len(good), "cpu_s": cpu, "cpu_s_range": [min(r["cpu_s"] for r in good), max(r["cpu_s"] for r in good)],
        "hops": hops, "hops_counted": bool(counted.get("hops")), "hops_per_cpu_s": hops / cpu if hops else None,
        "bytes_per_cpu_s": payload / cpu, "rss_bytes": middle("rss_bytes"),
        "mean_fct_us": statistics.fmean(r["mean_fct_us"] for r in good),
        "max_fct_us": statistics.fmean(r["max_fct_us"] for r in good),
        "instructions_per_byte": counted["instructions"] / payload if counted else None,
        "estimate_over_count": estimate / counted["hops"] if counted.get("hops") and estimate else None,
    }


def ratio(of, by, key):
    return "-" if of[key] is None or by[key] is None else f"{of[key] / by[key]:.2f}"


def table(results):
    head = ["scenario", "simulator", "mean FCT", "max FCT", "CPU s (range)", "packet-hops", "hops / CPU s", "bytes / CPU s"]
    head += ["instructions / byte", "peak memory"]
    million = lambda x: "-" if x is None else f"{x / 1e6:.4g} M"
    rows, ratios = [], []
    for scenario, result in results.items():
        ours = result["tools"]["farspan"]
        for tool, r in result["tools"].items():
            if "failed" in r:
                rows.append([scenario, tool, r["failed"]] + ["-"] * 7)
                continue
            low, high = r["cpu_s_range"]
            cells = [f"{r['mean_fct_us']:.1f} us", f"{r['max_fct_us']:.1f} us", f"{r['cpu_s']:.2f} ({low:.2f} to {high:.2f})"]
            cells += [million(r["hops"]), million(r["hops_per_cpu_s"]), million(r["bytes_per_cpu_s"]) + "B"]
            instructions = r["instructions_per_byte"]
            cells += ["-" if instructions is None else f"{instructions:.3g}", f"{r['rss_bytes'] / 1e6:.1f} MB"]
            rows.append([scenario, tool, *cells])
            if tool != "farspan" and "failed" not in ours:
                more = [ratio(ours, r, key) for key in ("mean_fct_us", "max_fct_us", "hops_per_cpu_s", "bytes_per_cpu_s")]
                less = [ratio(r, ours, key) for key in ("instructions_per_byte", "rss_bytes")]
                ratios.append([tool, scenario, *more, *less])
    text = study.table(head, rows)
    head = ["farspan over", "scenario", "mean FCT", "max FCT", "hops / CPU s", "bytes / CPU s"]
    text += "\n" + study.table([*head, "instructions / byte of the other", "memory of the other"], ratios)
    loads = ", ".join(f"{name} {r['load_average'][0]:.1f} to {r['load_average'][1]:.1f}" for name, r in results.items())
    return f"{text}\nLoad average of the last minute, before and after: {loads}."


def keep(farspan, results):
    """What does not depend on the machine, and which farspan it is of."""
    version = subprocess.run([farspan, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    kept = {name: {"tools": {tool: {key: r[key] for key in KEPT} for tool, r in result["tools"].items()}} for name, result in results.items()}
    study.Study(__file__, levels=3).keep({"farspan": version, **kept})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("farspan", type=pathlib.Path)
    p.add_argument("--uet", type=pathlib.Path, metavar="DIR")
    p.add_argument("--csg", type=pathlib.Path, metavar="DIR")
    p.add_argument("--ns3", type=pathlib.Path, metavar="PROGRAM")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", action="append", default=[], choices=[s.name for s in [*SCENARIOS, *rdma.SCENARIOS]])
    p.add_argument("--count", action="store_true", help="instructions, and the peers' packet-hops, under callgrind; slow, kept")
    p.add_argument("--work", type=pathlib.Path, default=pathlib.Path("out/peers"))
    p.add_argument("--timeout", type=int, default=600, help="seconds for one run")
    p.add_argument("-o", type=pathlib.Path, metavar="FILE.json")
    p.add_argument("--keep", action="store_true", help="put what was counted into bench/peers.json, which the book draws; takes --count")
    a = p.parse_args()
    if a.keep and not a.count:
        p.error("--keep takes --count")
    if not shutil.which("time"):
        sys.exit("GNU time is not here: apt-get install time")
    a.work.mkdir(parents=True, exist_ok=True)
    if a.ns3:
        results = rdma.compare(a)
        print(rdma.table(results))
        if a.o:
            a.o.write_text(json.dumps(results, indent=1) + "\n")
        return
    all_tools, results = tools(a), {}
    for s in (s for s in SCENARIOS if not a.only or s.name in a.only):
        write_inputs(s, a.work)
        for tool in all_tools:
            learn_end(tool, s, a.work, a.timeout)
        runs, before = {tool.name: [] for tool in all_tools}, os.getloadavg()[0]
        for number in range(a.rounds):
            turn = number % len(all_tools)
            for tool in all_tools[turn:] + all_tools[:turn]:
                runs[tool.name].append(run(tool, s, a.work, a.timeout, number + 1))
                print(f"{s.name} round {number + 1}: {tool.name} {runs[tool.name][-1]}", file=sys.stderr)
        after = os.getloadavg()[0]
        counted = {t.name: count(t, s, a.work) for t in all_tools if a.count}
        summary = {name: summarize(r, counted.get(name, {}), s) for name, r in runs.items()}
        results[s.name] = {"load_average": [before, after], "tools": summary, "runs": runs}
    print(table(results))
    if a.o:
        a.o.write_text(json.dumps(results, indent=1) + "\n")
    if a.keep:
        keep(a.farspan, results)


main()
