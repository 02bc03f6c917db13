"""Sets the profile `artifact` beside Uno's published code. Both run that code's own flow lists, with the arguments of its own
scripts for figures 8, 9, 10 and 13; docs/src/published-code.md says how to build it, and is what this writes.

usage: published.py FARSPAN CODE [--full] [--only CASE]... [--work DIR]     runs both, keeps the numbers in bench/published.json
       published.py [--check]                                      writes the page from the kept numbers (or compares it)

CODE is a checkout of spcl/Uno_SC25, built. What has run is kept in --work and is not run again there with the same binary, arguments
and contents of files.
"""
import argparse
import functools
import hashlib
import json
import pathlib
import re
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass, field, replace

import published_page
import study

SITE = 128
SIMULATOR = "sim/datacenter/htsim_lcp_entry_modern"
FABRIC = "lcp/configs/topos/fat_tree_100Gbps.topo"
COMMON = f"""-queue_type composite -hop_latency 1000 -switch_latency 0 -nodes 128 -collect_data 0 -topology interdc
    -linkspeed 100000 -topo {FABRIC} -usePacing 1 -lcpK 6 -noFi -forceQueueSize 1000000"""
PHANTOM = "-lcpAlgo aimd_phantom -use_phantom 1 -phantom_kmin 2 -phantom_kmax 60 -noRto -interEcn"
STEADY = """-phantom_slowdown 5 -ecnAlpha 0.65 -queueSizeRatio 1 -IntraFiT 100 -InterFiT 2500 -mdRTT 0.0003515625 -kmin 10 -kmax 80
    -interKmin 20 -interKmax 60"""
UNO = f"{PHANTOM} {STEADY} -phantom_size 22400515"
UNO_FAR = f"{PHANTOM} {STEADY} -phantom_size 89602060"
RED = "-kmin 25 -kmax 75 -interKmin 25 -interKmax 75 -ecnAlpha 0.5"
UNO_BURST = f"{PHANTOM} {RED} -phantom_slowdown 10 -phantom_size 22400515"
GEMINI = f"{RED} -noQaInter -noQaIntra -interAlgo gemini -intraAlgo gemini -geminiH 0.00024 -geminiBeta 0.1"
MPRDMA_BBR = f"{RED} -noQaInter -noQaIntra -interAlgo bbr"
CODED = "-erasureDst -parityGroup 10 -parityCorrect 2"


@dataclass(frozen=True)
class Case:
    """One flow list of a figure: what the published scripts pass to their simulator, and the same scenario of ours."""
    name: str
    figure: str
    title: str
    flows: str
    base: str
    end_ms: int
    schemes: dict
    seeds: int
    delay_ns: int = 886500
    ports: str = "-os_border 16"
    ours: str = ""
    cut: int = 0    # the first flows of the list alone
    size: int = 0   # bytes of every flow, in place of the list's

    def arguments(self, scheme, seed):
        words = [COMMON, self.ports, self.schemes[scheme], f"-interdcDelay {self.delay_ns} -end_time {self.end_ms} -seed {seed}"]
        return " ".join(words).split()

    def seed_of_theirs(self, scheme, number):
        """The published scripts' seed, and those after it."""
        first = 111 if self.figure == "13" else 215 if self.figure in "89" and scheme.startswith("u") else 15
        return first + number


def sprayed(scheme):
    return f"-strat rand {scheme}"


def hashed(scheme):
    return f"-strat ecmp_classic {scheme}"


INCAST = {
    "unocc+rps": sprayed(UNO),
    "gemini+rps": sprayed(f"{GEMINI} -geminiT 0.1"),
    "mprdma+rps/bbr+rps": sprayed(f"{MPRDMA_BBR} -intraAlgo mprdma -interEcn"),
}
PERMUTATION = {
    "uno-ecmp": hashed(UNO),
    "uno": f"-strat simple_subflow {UNO}",
    "gemini": hashed(f"{GEMINI} -geminiT 0.1"),
    "mprdma-bbr": hashed(f"{MPRDMA_BBR} -intraAlgo mprdma -interEcn"),
}
BURST = {
    "uno-ecmp": hashed(UNO_BURST),
    "uno": f"-strat simple_subflow {UNO_BURST}",
    "gemini": hashed(f"{GEMINI} -geminiT 5"),
    "mprdma-bbr": hashed(f"{MPRDMA_BBR} -noRto -ccAlgoIntra mprdma"),
}


def failing(uno, faults):
    balancers = {"uno-rps": "rand", "uno-noec": "simple_subflow", "uno-plb": "plb"}
    plain = {name: f"-strat {strategy} {uno} {faults}" for name, strategy in balancers.items()}
    return plain | {name.removesuffix("-noec") + ("" if "noec" in name else "-ec"): f"{words} {CODED}" for name, words in plain.items()}


SPRAY = '[transport]\nbalance = "rps"\n'
LOSSES = "".join(f'[[fault]]\nkind = "block_loss"\nlink = "{link}"\n' for link in (
    "border0->border1#*", "border1->border0#*", "core*->border*", "border*->core*"))
CASES = [
    *(Case(f"fig8-{name}", "8", title, f"simple/{flows}_1000MB", f"uno/incast-{name}", 200, INCAST, 5, size=40_000_000) for name, title, flows in (
        ("inter", "inter", "0_8"), ("intra", "intra", "8_0"), ("mixed", "mixed", "4_4"))),
    Case("fig9-8", "9", "8 border links", "simple/custom_256_5mb", "uno/permutation", 200, PERMUTATION, 5),
    Case("fig9-128", "9", "128 border links", "simple/custom_256_5mb", "uno/permutation", 30, PERMUTATION, 5,
         ports="-os_border 1", ours="[topology]\nwan = { links = 128 }\n"),
    *(Case(f"fig10-{load}", "10", f"{load}% load", f"workloads/websearchIntra_AlibabaInter_5000f_{load}l", "uno/websearch",
           200, BURST, 10, cut=500) for load in (40, 60, 80)),
    Case("fig13a", "13", "A: a dead link", "simple/fail_more", "uno/border-failure", 400, failing(UNO, "-fail_one"), 30),
    Case("fig13b", "13", "B as shipped: a dead link", "simple/fail_one", "uno/border-failure", 400,
         failing(UNO, "-fail_one"), 30),
    Case("fig13c", "13", "C: a dead link and losses", "simple/ai", "uno/border-failure", 800,
         failing(UNO_FAR, "-fail_one -multiple_failures"), 5, delay_ns=3546000,
         ours='[topology]\nwan = { rtt = "7.11104128ms" }\n[[fault]]\nkind = "black_hole"\nlink = "border0->border1#0"\n' + LOSSES),
]


@dataclass(frozen=True)
class Change:
    """Further arguments for one of the two, or another build of the published code, to find the cause of a difference."""
    case: str
    scheme: str
    text: str
    theirs: str = ""
    ours: str = ""
    build: str = ""  # CODE-build beside CODE; the page says what is changed in it


EARLY = ("farspan: time-out of MP-RDMA 35 us, not three base RTTs of 14 us; after a flow's first retransmission the published code takes "
         "a packet as lost half a base RTT before its time-out")
RATE = "published code: the pacing rate follows each ACK, as in farspan, and not at most every base RTT / 20"
CHANGES = [
    *(Change(f"fig8-{name}", "mprdma+rps/bbr+rps", EARLY, ours="--set scheme.intra.recovery.rto=35us") for name in ("intra", "mixed")),
    *(Change(name, "gemini", RATE, build="rate") for name in ("fig9-128", "fig10-80")),
]


def full(case):
    """The case with the flow list of the published script."""
    return replace(case, cut=0, size=0, end_ms=2860) if case.cut or case.size else case


def nearest_rank(values, share):
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def summarise(fcts):
    """Of (class, completion time) pairs."""
    found = {}
    for name in ("intra", "inter"):
        values = [value for of, value in fcts if of == name]
        if values:
            found[name] = {"flows": len(values), "mean_us": statistics.fmean(values), "p99_us": nearest_rank(values, 99)}
    return found


@functools.cache
def sha256(path):
    """Of a file's contents, which no run of this script changes once they are read."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lines_of_flows(path):
    return [line for line in path.read_text().splitlines() if "->" in line]


def list_of(path):
    """What a flow list holds: how many flows, and the least and the greatest size in bytes."""
    sizes = [int(re.search(r"size (\d+)", line).group(1)) for line in lines_of_flows(path)]
    return {"flows": len(sizes), "bytes": [min(sizes), max(sizes)]}


@dataclass
class Bench:
    """Both simulators, and what they have said already."""
    farspan: pathlib.Path
    code: pathlib.Path
    work: pathlib.Path
    cpu_s: dict = field(default_factory=lambda: {"theirs": 0.0, "ours": 0.0})

    def keep(self, side, words, files, read):
        """The result of a command: as kept for its words and the contents of its files, or run now. Paths among the words do not count."""
        named = [str(word) for word in words if not isinstance(word, pathlib.Path)]
        digest = hashlib.sha256(json.dumps([named, [sha256(path) for path in files]]).encode()).hexdigest()[:20]
        kept = self.work / f"{side}-{digest}.json"
        if not kept.is_file():
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            done = subprocess.run(words, capture_output=True, text=True, cwd=self.code if side == "theirs" else self.work)
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
            spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            kept.write_text(json.dumps({"cpu_s": spent, "result": read(done.stdout)}))
        found = json.loads(kept.read_text())
        self.cpu_s[side] += found["cpu_s"]
        return found["result"]

    def theirs(self, case, scheme, seed, extra=()):
        words = [self.code / SIMULATOR, "-o", self.work / "log", "-logging-folder", self.work / "logs"]
        flows = self.flow_list(case)
        words += [*case.arguments(scheme, seed), "-tm", flows, *extra]
        many = len(lines_of_flows(flows))

        def read(text):
            ended = re.findall(r"^Flow id=\d+ Completion time is ([\d.e+]+)us .* From (\d+) - To (\d+)", text, re.MULTILINE)
            if len(ended) != many:
                sys.exit(f"{case.name}, {scheme}: {len(ended)} of {many} flows ended by {case.end_ms} ms; set end_ms higher")
            of = lambda src, dst: "intra" if int(src) // SITE == int(dst) // SITE else "inter"
            return summarise([(of(src, dst), float(time)) for time, src, dst in ended])

        return self.keep("theirs", words, [self.code / SIMULATOR, self.code / FABRIC, flows], read)

    def published_list(self, case):
        return self.code / f"lcp/configs/tms/{case.flows}.cm"

    def flow_list(self, case):
        """The published flow list of a case; where it is too long for a small run, its beginning or smaller flows."""
        source = self.published_list(case)
        if not case.cut and not case.size:
            return source
        flows = lines_of_flows(source)[:case.cut or None]
        if case.size:
            flows = [re.sub(r"size \d+", f"size {case.size}", line) for line in flows]
        path = self.work / f"{source.stem}-{case.cut or case.size}.cm"
        path.write_text("\n".join([f"Nodes {2 * SITE}", f"Connections {len(flows)}", *flows]) + "\n")
        return path

    def scenario(self, case):
        """Our scenario for a case, the published flow list on the built-in scenario of the figure, and its flows."""
        source = self.flow_list(case)
        rows = self.work / f"{source.stem}.csv"
        words = [self.farspan, "import", "cm", source, "--time-unit", "us", "--nodes", str(2 * SITE), "-o", rows]
        subprocess.run(words, check=True, capture_output=True)
        extra = case.ours + (SPRAY if case.figure == "8" else "")
        text = f'base = "{case.base}"\n{extra}[[workload]]\nkind = "flows"\nfile = "{rows.name}"\ntag = "incast"\n'
        path = self.work / f"{case.name}.toml"
        path.write_text(text)
        return path, rows

    def ours(self, case, scenario, scheme, seed, extra=()):
        path, rows = scenario
        words = [self.farspan, "run", path, "--scheme", scheme, "--profile", "artifact", "--seed", str(seed), "--json", "--quiet", *extra]

        def read(text):
            run = json.loads(text)
            if run["flows"]["finished"] != run["flows"]["started"]:
                sys.exit(f"{case.name}, {scheme}: flows are left over: {run['flows']}")
            of = {name: run["fct"][name] for name in ("intra", "inter") if run["fct"][name]}
            return {name: {"flows": fct["count"], "mean_us": fct["mean_us"], "p99_us": fct["p99_us"]} for name, fct in of.items()}

        return self.keep("ours", words, [self.farspan, path, rows], read)


def beside(code, change):
    """The published code as a change has it."""
    return code.with_name(f"{code.name}-{change.build}") if change.build else code


def compare(bench, case, scheme, change=None):
    """A row for each class: mean and p99 of each seed, theirs and ours."""
    theirs, ours = (change.theirs.split(), change.ours.split()) if change else ((), ())
    other = replace(bench, code=beside(bench.code, change)) if change else bench
    scenario = bench.scenario(case)
    seeds = {"theirs": [case.seed_of_theirs(scheme, number) for number in range(case.seeds)], "ours": list(range(1, case.seeds + 1))}
    runs = {"theirs": [other.theirs(case, scheme, seed, theirs) for seed in seeds["theirs"]],
            "ours": [bench.ours(case, scenario, scheme, seed, ours) for seed in seeds["ours"]]}
    lists = {"file": case.flows, "published": list_of(bench.published_list(case)), "run": list_of(bench.flow_list(case))}
    rows = []
    for name in runs["ours"][0]:
        row = {"name": case.name, "figure": case.figure, "case": case.title, "scheme": scheme, "class": name,
               "flows": runs["ours"][0][name]["flows"], "list": lists, "seeds": seeds}
        for side, found in runs.items():
            row[side] = {key: [round(run[name][key], 2) for run in found] for key in ("mean_us", "p99_us")}
        rows.append(row)
    said = (f"{row['class']} {statistics.fmean(row['ours']['mean_us']) / statistics.fmean(row['theirs']['mean_us']):.2f}" for row in rows)
    print(f"{case.name} {scheme}: mean, ours / theirs: {', '.join(said)}", file=sys.stderr, flush=True)
    return rows


def measure(bench, case, scheme):
    """The rows of a scheme in a case, those of its changes, and the CPU seconds of the former."""
    bench.cpu_s = {"theirs": 0.0, "ours": 0.0}
    rows = compare(bench, case, scheme)
    spent = dict(bench.cpu_s)
    changed = []
    for change in CHANGES:
        if (change.case, change.scheme) == (case.name, scheme):
            changed += [row | {"change": change.text} for row in compare(bench, case, scheme, change)]
    return rows, changed, spent


def version(farspan):
    return study.document(farspan, "uno/border-failure")["commit"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("farspan", type=pathlib.Path, nargs="?")
    p.add_argument("code", type=pathlib.Path, nargs="?")
    p.add_argument("--only", action="append", default=[], choices=[case.name for case in CASES])
    p.add_argument("--full", action="store_true", help="figures 8 and 10 with the flow lists of the published scripts")
    p.add_argument("--work", type=pathlib.Path, default=pathlib.Path("out/published"))
    p.add_argument("--check", action="store_true", help="write nothing, fail where the page is not what would be written")
    a = p.parse_args()
    if a.farspan and not a.code:
        sys.exit("a checkout of the published code is missing; docs/src/published-code.md says how to get and build it")
    if not a.farspan:
        return published_page.write(CASES, check=a.check)
    a.code = a.code.resolve()
    for code in [a.code, *(beside(a.code, change) for change in CHANGES if not a.only or change.case in a.only)]:
        if not (code / SIMULATOR).is_file():
            sys.exit(f"there is no {code / SIMULATOR}; docs/src/published-code.md says how to build it")
    a.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(a.farspan.resolve(), a.code, a.work.resolve())
    commit = version(bench.farspan)
    for case in CASES:
        if not a.only or case.name in a.only:
            for scheme in case.schemes:
                found = measure(bench, full(case) if a.full else case, scheme)
                published_page.keep(case.name, scheme, *found, commit)
    published_page.write(CASES)


main()
