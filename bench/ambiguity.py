"""Measures the effect of each choice that the papers leave open on the claims about Uno. Flips one after the other, alone, in three
scenarios, runs what the flip can reach under paired seeds, and writes the page docs/src/deviations/ambiguity.md. Four more tables: the first
window (one BDP, the fair share) in every scenario that loses packets, what decides the burst of the sizes that the text names, what
sets the profiles apart in the mixed incast, and the paths that UnoLB's flows use over time.

usage: ambiguity.py BINARY [--seeds N] [--jobs N] [--only PATTERN]     --only prints the flips whose name matches, and writes
                                                                       nothing; all of it takes about an hour of CPU time

A cell is the median over seeds of rival / Uno (above 1: Uno is ahead), in brackets the range of six seeds: a 96.9% interval of the
median by its order (from nine seeds on the smallest and largest but one). Bold: on another side of 1 than without the flip, or on none where it was on one.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import study

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = study.BOOK / "deviations/ambiguity.md"

Scenario = collections.namedtuple("Scenario", "name set arms claims")
Claim = collections.namedtuple("Claim", "title rival path")

SCENARIOS = {
    "incast": Scenario(
        "uno/incast-mixed", ["workload.flow_size=256MiB"],
        {"uno": "unocc+rps", "gemini": "gemini+rps", "rival": "mprdma+rps/bbr+rps"},
        [Claim("mean FCT, Gemini", "gemini", "fct.all.mean_us"), Claim("mean FCT, MPRDMA+BBR", "rival", "fct.all.mean_us"),
         Claim("Jain, Gemini", "gemini", "fairness.jain_mean")]),
    "steady": Scenario(
        "uno/steady", ["topology.k=4", "topology.wan.links=1", "workload[0].flows=2000", "workload[1].flows=200"],
        {"uno": "uno", "gemini": "gemini", "rival": "mprdma-bbr"},
        [Claim("intra p99, Gemini", "gemini", "fct.intra.p99_us"), Claim("intra p99, MPRDMA+BBR", "rival", "fct.intra.p99_us"),
         Claim("inter mean, Gemini", "gemini", "fct.inter.mean_us"), Claim("inter mean, MPRDMA+BBR", "rival", "fct.inter.mean_us")]),
    "failure": Scenario(
        "uno/border-failure", [],
        {"uno": "uno", "noec": "uno-noec", "rps": "uno-rps-ec", "plb": "uno-plb-ec"},
        [Claim("mean FCT, uncoded", "noec", "fct.all.mean_us"), Claim("mean FCT, spraying", "rps", "fct.all.mean_us"),
         Claim("mean FCT, PLB", "plb", "fct.all.mean_us")]),
}

# Schemes whose inside is UnoCC, Gemini and so on: which arms a flip reaches.
UNO, GEMINI, RIVAL, ALL = ("uno", "noec", "rps", "plb"), ("gemini",), ("rival",), ("uno", "gemini", "rival", "noec", "rps", "plb")


def both(*settings):
    """Settings of the scheme's two classes."""
    return [f"scheme.{side}.{setting}" for setting in settings for side in ("intra", "inter")]


def unocc(*settings):
    return both(*(f"congestion.{setting}" for setting in settings))


# (name as on the page, arms, settings, or settings by arm, scenarios in which it means something; None: all)
FLIPS = [
    ("`epoch.start = \"full_window\"`", UNO, unocc("epoch.start=full_window"), None),
    ("`epoch.period = \"proportional\"`", UNO, unocc("epoch.period=proportional"), None),
    ("`epoch.debt = \"previous\"`", UNO, unocc("epoch.debt=previous"), None),
    ("`ewma.gain = 0.0625`", UNO, unocc("ewma.gain=0.0625"), None),
    ("`ewma.gain = 0.65`", UNO, unocc("ewma.gain=0.65"), None),
    ("`ewma.falling = \"increase\"`", UNO, unocc("ewma.falling=increase"), None),
    ("UnoCC's `k = \"ports\"`", UNO, unocc("k=ports"), None),
    ("`md_scale.cumulative = true`", UNO, unocc("md_scale.cumulative=true"), None),
    ("`delay.tolerance = 0.055`, the last sample", UNO, unocc("delay.tolerance=0.055", "delay.sample=last"), None),
    ("`qa.period = 1.05`", UNO, unocc("qa.period=1.05"), None),
    ("`qa.reference = \"cwnd\"`", UNO, unocc("qa.reference=cwnd"), None),
    ("`qa.factor = 0.96`", UNO, unocc("qa.factor=0.96"), None),
    ("`qa.on_timeout = false`", UNO, unocc("qa.on_timeout=false"), None),
    ("`qa.pause = \"full_window\"`", UNO, unocc("qa.pause=full_window"), None),
    ("`md_scale.factor = 0.35`", UNO, unocc("md_scale.factor=0.35"), None),
    ("UnoCC's `k = \"24576B\"`", UNO, unocc("k=24576B"), None),
    ("`alpha = 0.004`", UNO, unocc("alpha=0.004"), None),
    ("`window_check = \"fits\"`", ALL, both("window_check=fits"), None),
    ("no jitter", ALL, ["host.jitter=0ns", "topology.jitter=0ns"], None),
    ("`start = \"bdp/8\"`", ALL, ["transport.start=bdp/8"], None),
    ("`start = \"iw10\"`", ALL, ["transport.start=iw10"], None),
    ("time-outs of a packet double", UNO + RIVAL,
     {"rival": ["scheme.intra.recovery.backoff=true"]} | dict.fromkeys(UNO, both("recovery.backoff=true")), None),
    ("`rto = \"3rtt\"`", ALL, ["transport.rto=3rtt"], None),
    ("`rto = \"rfc6298\"`", ALL, ["transport.rto=rfc6298"], None),
    ("`rto_nic = false`", ALL, ["transport.rto_nic=false"], None),
    ("RACK-TLP for all", ALL, both("recovery.name=rack", "recovery.backoff=true"), None),
    ("`phantom.size = \"intra_bdp\"`", UNO, ["scheme.ports.phantom.size=intra_bdp"], None),
    ("`phantom.size = \"5MB\"`", UNO, ["scheme.ports.phantom.size=5MB"], None),
    ("phantom thresholds 2% and 60%", UNO, ["scheme.ports.phantom.min=0.02", "scheme.ports.phantom.max=0.6"], None),
    ("`phantom.drain = 0.952`", UNO, ["scheme.ports.phantom.drain=0.952"], None),
    ("phantom queues alone mark", UNO, ["scheme.ports.marking=phantom"], None),
    ("no phantom queues", UNO, ["scheme.ports.marking=red"], None),
    ("`phantom.count_dropped = true`", UNO, ["scheme.ports.phantom.count_dropped=true"], None),
    ("marks at enqueue", ALL, ["scheme.ports.at=enqueue"], None),
    ("ACKs in the data's queue", ALL, ["transport.ack_priority=false"], None),
    ("buffers of 1,000,000 B", ALL, ["topology.buffer=1000000B"], None),
    ("the WAN's RTT 2 ms", ALL, ["topology.wan.rtt=2ms"], ("incast",)),
    ("the WAN's RTT 1.792 ms", ALL, ["topology.wan.rtt=1.792ms"], ("steady", "failure")),
    ("UnoLB's `reroute = \"fresh\"`", ("uno", "noec"), both("balance.reroute=fresh"), ("steady", "failure")),
    ("UnoLB's `subflows = 8`", ("uno", "noec"), both("balance.subflows=8"), ("steady", "failure")),
    ("ECMP inside a site", ("uno", "noec", "rps", "plb"), ["scheme.intra.balance=ecmp"], ("steady",)),
    ("block timer 640 us", ("uno", "rps", "plb"), ["scheme.inter.coding.timer=640us"], ("steady", "failure")),
    ("`resend = \"all\"`", ("uno", "rps", "plb"), ["scheme.inter.coding.resend=all"], ("steady", "failure")),
    ("PLB's constants of the published code", ("plb",), both("balance.congested=0.25", "balance.busy_rounds=2",
     "balance.idle_rounds=2", "balance.pause=0s", "balance.round=base_rtt"), ("failure",)),
    ("rivals on UnoLB", GEMINI + RIVAL, both("balance=unolb"), ("steady",)),
    ("Uno with coding", ("uno",), ["scheme.inter.coding=mds"], ("incast",)),
    ("Uno without coding", ("uno",), ["scheme.inter.coding=none"], ("steady",)),
    ("Gemini's `k = \"bdp_over_7\"`", GEMINI, both("congestion.k=bdp_over_7"), ("incast", "steady")),
    ("Gemini's WAN ports mark", GEMINI, ['scheme.ports.tiers=["host_down","fabric","border","wan"]'], ("incast", "steady")),
    ("Gemini's h without bounds", GEMINI, both("congestion.h.min=0.001", "congestion.h.max=1000"), ("incast", "steady")),
    ("Gemini's `h = \"5376B\"`", GEMINI, both("congestion.h=5376B"), ("incast", "steady")),
    ("Gemini's `gain = 0.5`, start 0", GEMINI, both("congestion.gain=0.5", "congestion.alpha_start=0"), ("incast", "steady")),
    ("Gemini's `growth = \"always\"`", GEMINI, both("congestion.growth=always"), ("incast", "steady")),
    ("Gemini's `slow_start = \"threshold\"`", GEMINI, both("congestion.slow_start=threshold"), ("incast", "steady")),
    ("Gemini's `cap = \"bdp\"`", GEMINI, both("congestion.cap=bdp"), ("incast", "steady")),
    ("Gemini's `rtt_base = \"given\"`", GEMINI, both("congestion.rtt_base=given"), ("incast", "steady")),
    ("Gemini's `beta = 0.1`", GEMINI, both("congestion.beta=0.1"), ("incast", "steady")),
    ("Gemini by time-outs alone", GEMINI, both("recovery.name=per_packet_rto"), ("incast", "steady")),
    ("MPRDMA's `cut = 0.15`", RIVAL, ["scheme.intra.congestion.cut=0.15"], ("incast", "steady")),
    ("MPRDMA's `cap = \"bdp\"`", RIVAL, ["scheme.intra.congestion.cap=bdp"], ("incast", "steady")),
    ("BBR's `rtprop = \"given\"`", RIVAL, ["scheme.inter.congestion.rtprop=given"], ("incast", "steady")),
    ("BBR's `cap = \"bdp\"`", RIVAL, ["scheme.inter.congestion.cap=bdp"], ("incast", "steady")),
    ("BBR's `on_timeout = \"collapse\"`", RIVAL, ["scheme.inter.congestion.on_timeout=collapse"], ("incast", "steady")),
    ("BBR's `first_phase = \"first\"`", RIVAL, ["scheme.inter.congestion.first_phase=first"], ("incast", "steady")),
    ("BBR's `min_bandwidth = \"3Gbps\"`", RIVAL, ["scheme.inter.congestion.min_bandwidth=3Gbps"], ("incast", "steady")),
    ("BBR's `pacing_margin = 0`", RIVAL, ["scheme.inter.congestion.pacing_margin=0.0"], ("incast", "steady")),
    ("BBR's `phase_end = \"time\"`", RIVAL, ["scheme.inter.congestion.phase_end=time"], ("incast", "steady")),
    ("BBR by time-outs alone", RIVAL, ["scheme.inter.recovery.name=per_packet_rto"], ("incast", "steady")),
]

# Scenarios whose figures count losses, and how many flows share the narrowest port from the start.
STARTS = [
    ("uno/incast-mixed", ["workload.flow_size=64MiB"], 8, "eight flows into one host", "fct.all.mean_us"),
    ("uno/incast-inter", ["workload.flow_size=64MiB"], 8, "eight flows into one host", "fct.all.mean_us"),
    ("uno/incast-intra", ["workload.flow_size=64MiB"], 8, "eight flows into one host", "fct.all.mean_us"),
    ("uno/permutation", [], 16, "about 128 of 256 flows over eight links between the sites", "fct.inter.mean_us"),
    ("uno/websearch", ["workload.flows=500"], 12, "about 100 of 500 flows over eight links between the sites", "fct.inter.mean_us"),
    ("uno/websearch", ["workload.flows=500", "workload.mix=paper"], 12, "as above, the sizes that the text names", "fct.inter.mean_us"),
    ("uno/border-failure", [], 2, "eight flows over eight links, by chance two on one", "fct.all.mean_us"),
    ("uno/allreduce", ["workload.flow_size=4MiB"], 2, "eight pairs over eight links, by chance two on one", "fct.all.mean_us"),
]
START_ARMS = {"Gemini": "gemini", "MPRDMA+BBR": "mprdma-bbr", "spraying, coded": "uno-rps-ec"}


# The burst of the sizes that the text names: what each arm has beside `paper`.
MIX = ["workload.mix=paper", "workload.load=0.4", "workload.flows=1000"]
FAIR = ["transport.start=0.4MB"]
BBR_OF_THE_CODE = ["scheme.inter.window_check=fits", "scheme.inter.recovery.name=per_packet_rto",
                   *(f"scheme.inter.congestion.{setting}" for setting in (
                       "startup_gain=2.89", "drain_gain=0.35", "pacing_margin=0.0", "rtprop=given", "first_phase=first",
                       "phase_end=time", "on_timeout=collapse", "cap=bdp", "min_bandwidth=3Gbps"))]
MIX_ARMS = [
    ("Uno", "uno-noec", []),
    ("Uno, no Quick Adapt", "uno-noec", unocc("beta=0.000001")),
    ("Uno, `alpha = 0.004`", "uno-noec", unocc("alpha=0.004")),
    ("Uno, from 0.4 MB", "uno-noec", FAIR),
    ("Uno, from 0.4 MB, no Quick Adapt", "uno-noec", FAIR + unocc("beta=0.000001")),
    ("Uno, from 0.4 MB, `alpha = 0.004`", "uno-noec", FAIR + unocc("alpha=0.004")),
    ("Uno, from 0.4 MB, `alpha = 0.02`", "uno-noec", FAIR + unocc("alpha=0.02")),
    ("Uno, from 0.4 MB, no phantom queues", "uno-noec", [*FAIR, "scheme.ports.marking=red"]),
    ("Uno, losses found by RACK-TLP", "uno-noec", both("recovery.name=rack", "recovery.backoff=true")),
    ("MPRDMA+BBR", "mprdma-bbr", []),
    ("MPRDMA+BBR, from 0.4 MB", "mprdma-bbr", FAIR),
    ("MPRDMA+BBR, BBR of the published code", "mprdma-bbr", BBR_OF_THE_CODE),
    ("Uno, `artifact`", "uno-noec", ["scheme.profile=artifact"]),
    ("MPRDMA+BBR, `artifact`", "mprdma-bbr", ["scheme.profile=artifact"]),
]

# The mixed incast of the published figure, and one setting of it after the other as the other profile has it.
HOPS = both("congestion.delay.tolerance=hops")
INCAST_ROWS = [
    ("`artifact`", "artifact", []),
    ("`artifact`, `delay.tolerance = \"hops\"`", "artifact", HOPS),
    ("`artifact`, `phantom.drain = 0.9`", "artifact", ["scheme.ports.phantom.drain=0.9"]),
    ("`paper`", "paper", []),
    ("`paper`, `phantom.drain = 0.952`", "paper", ["scheme.ports.phantom.drain=0.952"]),
]
INCAST_ARMS = {"uno": "unocc+rps", "gemini": "gemini+rps", "rival": "mprdma+rps/bbr+rps"}


class Runs:
    """Results of runs, each made once by a build: they are kept below `out/ambiguity`."""

    def __init__(self, binary, jobs):
        self.binary, self.pool, self.made = binary, concurrent.futures.ThreadPoolExecutor(jobs), {}
        build = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()[:16]
        self.kept = ROOT / "out/ambiguity" / build
        self.kept.mkdir(parents=True, exist_ok=True)

    def run(self, scenario, scheme, settings, seed):
        words = ["run", scenario, "--scheme", scheme, "--seed", str(seed), "--json", "--quiet"]
        words += study.words(settings)
        kept = self.kept / hashlib.sha256("\0".join(words).encode()).hexdigest()
        if not kept.exists():
            done = subprocess.run([self.binary, *words], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"farspan {' '.join(words)}:\n{done.stderr}")
            part = kept.with_suffix(".part")
            part.write_text(done.stdout)
            part.rename(kept)
        return json.loads(kept.read_text())

    def ask(self, scenario, scheme, settings, seed):
        key = (scenario, scheme, tuple(settings), seed)
        if key not in self.made:
            self.made[key] = self.pool.submit(self.run, *key)
        return self.made[key]


def at(document, path):
    """A number of a result; what never ends, or has no value, is infinite."""
    for name in path.split("."):
        document = (document or {}).get(name)
    return math.inf if document is None else document


def ratios(runs, path):
    """Rival / Uno by seed; 1 where neither ends."""
    pairs = [(at(rival.result(), path), at(uno.result(), path)) for rival, uno in runs]
    found = [1.0 if rival == uno == math.inf else 0.0 if uno == math.inf else rival / uno for rival, uno in pairs]
    return sorted(found)


def interval(values):
    """Median, and an interval of it by order: the range, from nine values on without the smallest and the largest."""
    inside = 1 if len(values) >= 9 else 0
    return statistics.median(values), values[inside], values[-1 - inside]


def side(values):
    _, low, high = interval(values)
    return 1 if low > 1 else -1 if high < 1 else 0


def number(value):
    return "never ends" if value == math.inf else "Uno never ends" if value == 0 else f"{value:.3g}"


def cell(values, base):
    middle, low, high = (number(value) for value in interval(values))
    text = middle if low == high == middle else f"{middle} [{low}, {high}]"
    return f"**{text}**" if base is not None and side(values) != side(base) else text


def arm_settings(arm, flip):
    """The settings that the flip brings to this arm."""
    if not flip or arm not in flip[1]:
        return []
    return flip[2][arm] if isinstance(flip[2], dict) else flip[2]


def asked(runs, key, flip, claim, seeds):
    scenario = SCENARIOS[key]
    ask = lambda arm, seed: runs.ask(
        scenario.name, scenario.arms[arm], scenario.set + arm_settings(arm, flip), seed)
    return [(ask(claim.rival, seed), ask("uno", seed)) for seed in seeds]


def sweep(runs, seeds, flips):
    """Of each scenario its claims, and rows of (name, ratios by claim)."""
    tables = {}
    for key, scenario in SCENARIOS.items():
        chosen = [flip for flip in flips if (flip[3] is None or key in flip[3]) and set(flip[1]) & set(scenario.arms)]
        tables[key] = [("as `paper` has it", None, [asked(runs, key, None, claim, seeds) for claim in scenario.claims])]
        tables[key] += [(flip[0], flip, [asked(runs, key, flip, claim, seeds) for claim in scenario.claims]) for flip in chosen]
    return {key: [(name, [ratios(pairs, claim.path) for pairs, claim in zip(columns, SCENARIOS[key].claims)])
                  for name, _, columns in rows] for key, rows in tables.items()}


def starts(runs, seeds):
    asks = []
    for scenario, settings, flows, why, path in STARTS:
        for start in ("bdp", f"bdp/{flows}"):
            pairs = {name: [(runs.ask(scenario, scheme, [*settings, f"transport.start={start}"], seed),
                             runs.ask(scenario, "uno", [*settings, f"transport.start={start}"], seed)) for seed in seeds]
                     for name, scheme in START_ARMS.items()}
            asks.append((scenario, settings, why, start, path, pairs))
    return asks


def start_rows(asks):
    rows, base = [], {}
    for scenario, settings, why, start, path, pairs in asks:
        found = {name: ratios(of, path) for name, of in pairs.items()}
        drops = statistics.median(uno.result()["packets"]["dropped"] for _, uno in next(iter(pairs.values())))
        if start == "bdp":
            base = found
        cells = [cell(values, None if start == "bdp" else base[name]) for name, values in found.items()]
        what = f"`{scenario}`" + ("" if not settings else ", " + ", ".join(f"`{text.removeprefix('workload.')}`" for text in settings))
        rows.append(f"| {what}: {why} | `{start}` | {drops:,.0f} | " + " | ".join(cells) + " |")
    return rows


def mix(runs, seeds):
    """Of each arm of the burst: runs as they are, and stopped at 65 ms."""
    ask = lambda scheme, settings, seed: runs.ask("uno/websearch", scheme, [*MIX, *settings], seed)
    return [(name, [(ask(scheme, settings, seed), ask(scheme, [*settings, "stop.time=65ms"], seed)) for seed in seeds])
            for name, scheme, settings in MIX_ARMS]


def mix_rows(asks):
    rows, bases = [], {}
    for name, pairs in asks:
        whole, early = ([run.result() for run in runs] for runs in zip(*pairs))
        means = [at(run, "fct.inter.mean_us") / 1e3 for run in whole]
        # Each profile's rows over its own Uno, which comes first.
        base = bases.setdefault("artifact" in name, means)
        ratio = sorted(mean / uno for mean, uno in zip(means, base))
        dropped = [run["packets"]["dropped"] for run in whole]
        early = [first["packets"]["dropped"] / max(all, 1) for first, all in zip(early, dropped)]
        middle = lambda path: statistics.median(at(run, path) for run in whole)
        rows.append(f"| {name} | {statistics.median(means):.0f} | {cell(ratio, None)} | {middle('fct.inter.max_us') / 1e3:.0f} | "
                    f"{statistics.median(dropped):,.0f} | {statistics.median(early):.1%} | {middle('queues.bottleneck_utilization'):.2f} | "
                    f"{middle('queues.bottleneck_mean_bytes') / 1e3:,.0f} |")
    return rows


def incast(runs, seeds):
    """Of each row its profile's rivals, and Uno with the row's settings."""
    def ask(arm, profile, settings):
        settings = [f"scheme.profile={profile}", *(settings if arm == "uno" else [])]
        return [runs.ask("uno/incast-mixed", INCAST_ARMS[arm], settings, seed) for seed in seeds]
    return [(name, {arm: ask(arm, profile, settings) for arm in INCAST_ARMS}) for name, profile, settings in INCAST_ROWS]


def incast_rows(asks):
    rows = []
    for name, runs in asks:
        uno = [run.result() for run in runs["uno"]]
        middle = lambda path: statistics.median(at(run, path) for run in uno)
        ratio = lambda arm, path: cell(ratios(list(zip(runs[arm], runs["uno"])), path), None)
        converged = middle("fairness.converged_at_us") / 1e3
        rows.append(f"| {name} | {middle('queues.bottleneck_utilization'):.2f} | {middle('fairness.jain_mean'):.3f} | "
                    f"{'never' if converged == math.inf else f'{converged:.0f}'} | {middle('fct.intra.mean_us') / 1e3:.0f} | "
                    f"{middle('fct.inter.mean_us') / 1e3:.0f} | "
                    + " | ".join(ratio(arm, f"fct.all.{what}_us") for arm in ("gemini", "rival") for what in ("mean", "max")) + " |")
    return rows


def entropies(binary, seeds):
    """Distinct entropies of a flow's packets in bins of 0.5 ms, by bin: those of all flows of all seeds."""
    bins = collections.defaultdict(list)
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "run")
            subprocess.run([binary, "run", "uno/border-failure", "--scheme", "uno", "--seed", str(seed), "--trace", "class=inter",
                            "--out", out, "--quiet", "--json"], check=True, capture_output=True)
            for path in sorted(out.glob("trace/flow-*.sqlog")):
                if path.stem.endswith("-receiver"):
                    continue
                seen = collections.defaultdict(set)
                for record in path.read_bytes().split(b"\x1e")[2:]:
                    event = json.loads(record)
                    if event["name"] == "quic:packet_sent" and "tuple" in event:
                        seen[int(event["time"] * 2)].add(event["tuple"])
                for n, used in seen.items():
                    bins[n].append(len(used))
    return bins


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |", *rows]


def page(tables, start_lines, mix_lines, incast_lines, bins, seeds):
    flips = sum(len(rows) - 1 for rows in tables.values())
    moved = {key: [name for name, row in rows[1:] if any(side(now) != side(was) for now, was in zip(row, rows[0][1]))]
             for key, rows in tables.items()}
    lines = [
        "# What the open choices do", "",
        f"<!-- Written by `bench/ambiguity.py BINARY`. -->", "",
        "The papers leave choices open, and [Uno](uno.md) and [Gemini](gemini.md) list what `paper` takes. Here each is turned alone, "
        f"in three scenarios, under {len(seeds)} paired seeds. {sum(map(len, moved.values()))} of {flips} flips "
        "move a claim to another side of 1, or to none.", "",
        "A cell is the rival's value over Uno's, the median over seeds and an interval of it by order; above 1 Uno is ahead in a "
        "completion time, below 1 in Jain's index. **Bold**: another side of 1 than as `paper` has it, or on none. A flip of ports or of a part reaches the "
        "schemes that have it; one of the scenario reaches all.", "",
    ]
    titles = {"incast": "Mixed incast: `uno/incast-mixed`, 256 MiB, spraying for all",
              "steady": "Web search in steady state: `uno/steady`, k = 4, one link between the sites, 2,000 + 200 flows",
              "failure": "Failed border link: `uno/border-failure`"}
    for key, rows in tables.items():
        base = rows[0][1]
        lines += [f"## {titles[key]}", ""]
        head = ["flip", *(f"{claim.title} / Uno" for claim in SCENARIOS[key].claims)]
        body = [f"| {name} | " + " | ".join(cell(values, was if n else None) for values, was in zip(row, base)) + " |"
                for n, (name, row) in enumerate(rows)]
        lines += [*table(head, body), ""]
    lines += ["## The first window", "",
              "Every flow begins with one BDP of its path, or with the share of it that as many flows have as meet at the narrowest "
              "port from the start. Mean completion times of all flows of an incast, of a failure and of an allreduce, else of flows "
              "between the sites; drops are Uno's, the median over seeds.", "",
              *table(["scenario", "start", "Uno's drops", *(f"{name} / Uno" for name in START_ARMS)], start_lines), ""]
    lines += ["## The burst of the sizes that the text names", "",
              "`uno/websearch` with `" + "`, `".join(MIX) + "`, the same seeds. The ratio is the arm's mean over Uno's of its profile, paired. Utilisation and queue are those of the busiest border link, over the whole run.", "",
              *table(["arm", "inter mean, ms", "over Uno", "longest inter flow, ms", "drops", "of them by 65 ms", "utilisation",
                      "mean queue, KB"], mix_lines), ""]
    lines += ["## The mixed incast in both profiles", "",
              "`uno/incast-mixed`, spraying for all, the same seeds; the row's setting is Uno's. Ratios are the rival's over Uno's, each "
              "in the row's profile.", "",
              *table(["Uno", "utilisation", "Jain, mean", "converged, ms", "intra mean, ms", "inter mean, ms", "Gemini, mean",
                      "Gemini, longest", "MPRDMA+BBR, mean", "MPRDMA+BBR, longest"], incast_lines), ""]
    most = max(n for n, used in bins.items() if len(used) >= 8)
    body = [f"| {n / 2:g} to {(n + 1) / 2:g} ms | {len(bins[n])} | {statistics.median(bins[n]):g} | {min(bins[n])} | {max(bins[n])} |"
            for n in range(most + 1) if len(bins[n]) >= 8]
    lines += ["## UnoLB's paths over time", "",
              f"Distinct entropies among the packets that a flow sends in half a millisecond, `uno/border-failure` under `uno`, eight flows, "
              f"seeds {seeds[0]} to {seeds[-1]}. A subflow that moves takes over another's entropy, so the number can fall and never rise "
              "above ten.", "",
              *table(["time", "flows", "median", "fewest", "most"], body), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only")
    given = parser.parse_args()
    seeds, runs = range(1, given.seeds + 1), Runs(given.binary, given.jobs)
    if given.only:
        chosen = [flip for flip in FLIPS if fnmatch.fnmatch(flip[0], f"*{given.only}*")]
        for key, rows in sweep(runs, seeds, chosen).items():
            for n, (name, row) in enumerate(rows):
                print(SCENARIOS[key].name, name, *(cell(values, was if n else None) for values, was in zip(row, rows[0][1])), sep="\t")
        return
    asks = starts(runs, seeds)
    burst = mix(runs, seeds)
    mixed = incast(runs, seeds)
    tables = sweep(runs, seeds, FLIPS)
    PAGE.write_text(page(tables, start_rows(asks), mix_rows(burst), incast_rows(mixed), entropies(given.binary, seeds), seeds))


if __name__ == "__main__":
    main()
