"""Runs Uno's figures and their rivals under many seeds and writes the tables of docs/src/uno/.

usage: uno.py BINARY [--only NAME]... [--seeds-scale F] [--jobs N] [--cache DIR] [-o DIR]

Experiments: border-failure random-loss phantom websearch websearch-paper steady rtt-ratio buffers allreduce. What ran is kept in the cache
by program, arguments and seed, so that what was cut off, or ran with fewer seeds, goes on. `--seeds-scale 0.1` takes a tenth of the
seeds, to try it out; `--jobs N` runs that many seeds at a time.
"""
import argparse
import concurrent.futures
import hashlib
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys

UNO_FAMILY = ["uno", "uno-noec", "uno-rps", "uno-rps-ec", "uno-plb", "uno-plb-ec"]
RIVALS = ["uno", "uno-noec", "uno-ecmp", "gemini", "mprdma-bbr"]
ON_UNOLB = ["gemini+unolb", "mprdma+unolb/bbr+unolb"]
# The bars of Uno's figure 10, as its published plot scripts have them: load -> scheme -> class -> (mean, p99), ms.
FIGURE_10 = {
    40: {"uno-ecmp": {"intra": (0.040, 0.640), "inter": (8.6, 30.0), "all": (1.746, 19.9)},
         "uno-noec": {"intra": (0.019, 0.154), "inter": (9.6, 17.5), "all": (1.918, 15.6)},
         "gemini": {"intra": (0.035, 0.527), "inter": (13.7, 36.9), "all": (2.75, 25.9)},
         "mprdma-bbr": {"intra": (0.038, 0.557), "inter": (12.3, 30.2), "all": (2.50, 25.4)}},
    60: {"uno-ecmp": {"intra": (0.049, 0.879), "inter": (9.04, 32.5), "all": (1.899, 24.4)},
         "uno-noec": {"intra": (0.020, 0.161), "inter": (9.55, 20.7), "all": (1.91, 18.4)},
         "gemini": {"intra": (0.046, 0.862), "inter": (13.7, 38.8), "all": (2.859, 26.5)},
         "mprdma-bbr": {"intra": (0.044, 0.711), "inter": (12.6, 32.9), "all": (2.591, 26.7)}},
    80: {"uno-ecmp": {"intra": (0.059, 1.019), "inter": (10.2, 33.2), "all": (2.095, 26.0)},
         "uno-noec": {"intra": (0.021, 0.184), "inter": (9.8, 21.6), "all": (1.915, 18.7)},
         "gemini": {"intra": (0.052, 0.883), "inter": (14.1, 43.6), "all": (2.899, 26.7)},
         "mprdma-bbr": {"intra": (0.056, 0.999), "inter": (13.1, 34.8), "all": (2.641, 28.3)}},
}
# Figure 11: RTT ratio -> scheme -> slowdown (mean, p99).
FIGURE_11 = {
    8: {"uno-ecmp": (3.38, 25.9), "uno-noec": (3.29, 24.3), "gemini": (4.41, 41.4), "mprdma-bbr": (3.23, 23.8)},
    32: {"uno-ecmp": (2.88, 21.0), "uno-noec": (2.54, 13.7), "gemini": (3.93, 37.3), "mprdma-bbr": (2.85, 18.9)},
    128: {"uno-ecmp": (2.35, 28.06), "uno-noec": (1.85, 8.37), "gemini": (2.89, 30.1), "mprdma-bbr": (2.86, 34.9)},
    512: {"uno-ecmp": (2.33, 28.47), "uno-noec": (1.65, 6.16), "gemini": (2.99, 29.7), "mprdma-bbr": (2.95, 29.6)},
}
# Figure 12, ms: class -> (mean, p99).
FIGURE_12 = {
    "uno-ecmp": {"intra": (0.040, 0.542), "inter": (8.690, 25.964)},
    "uno-noec": {"intra": (0.020, 0.163), "inter": (9.180, 17.360)},
    "gemini": {"intra": (0.035, 0.510), "inter": (13.232, 29.474)},
    "mprdma-bbr": {"intra": (0.037, 0.596), "inter": (12.042, 30.444)},
}


class Runner:
    """Runs scenarios, and keeps what they printed."""

    def __init__(self, binary, cache, scale, jobs):
        self.binary, self.cache, self.scale = binary, cache, scale
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        cache.mkdir(parents=True, exist_ok=True)
        self.build = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()[:12]

    def runs(self, scenario, scheme, seeds, *more):
        """The runs under seeds 1, 2, ..., in their order."""
        arguments = ["run", scenario, "--scheme", scheme, "--json", "--quiet", "--threads", "1", *more]
        return list(self.pool.map(lambda seed: self.run([*arguments, "--seed", str(seed)]), range(1, max(1, round(seeds * self.scale)) + 1)))

    def run(self, arguments):
        place = self.cache / (hashlib.sha256(" ".join([self.build, *arguments]).encode()).hexdigest()[:24] + ".json")
        if not place.exists():
            print(" ".join(arguments), file=sys.stderr, flush=True)
            run = subprocess.run([self.binary, *arguments], capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(f"farspan {' '.join(arguments)}: exit {run.returncode}\n{run.stderr[-2000:]}")
            place.with_suffix(".part").write_text(run.stdout)
            place.with_suffix(".part").rename(place)
        return json.loads(place.read_text())


def dig(run, path):
    """A field of a run by its path; None if a part of it is missing."""
    for name in path.split("."):
        run = run.get(name) if isinstance(run, dict) else None
    return run


def known(values):
    return sorted(math.inf if value is None else value for value in values)


def rank(values, share):
    """The nearest-rank quantile."""
    return values[max(0, math.ceil(share * len(values)) - 1)]


def show(value, digits=3):
    return "never" if value == math.inf else f"{value:.{digits}f}"


def spread(values, scale=1.0, digits=3):
    """Median and range; what has no value counts as never."""
    values = known(None if value is None else value * scale for value in values)
    if not values or values[0] == math.inf:
        return "-"
    low, middle, high = (show(value, digits) for value in (values[0], statistics.median_low(values), values[-1]))
    return middle if low == high else f"{middle} ({low} to {high})"


def ratios(rivals, ours):
    """Rival over ours, by seed: who never ends is infinitely worse; seeds in which neither ends say nothing."""
    pairs = [(a, b) for a, b in zip(rivals, ours) if (a, b) != (None, None)]
    if any(b is not None and b <= 0 for _, b in pairs):
        return []
    return [math.inf if a is None else 0.0 if b is None else a / b for a, b in pairs]


def paired(found, rival, group, key):
    """Rival over `uno-noec` by seed, of the seeds whose class has the flows that the figure needs."""
    enough = 1000 if "p99" in key else 1
    seeds = [(a, b) for a, b in zip(found[rival], found["uno-noec"]) if (dig(a, f"{group}.count") or 0) >= enough]
    return ratios(*([dig(r, f"{group}.{key}") for r in side] for side in zip(*seeds))) if seeds else []


def interval(values, rounds=2000):
    """95% bootstrap interval of the median."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds) - 1]


def verdict(values, factor):
    """(median ratio, interval, word) for the claim that the rival takes `factor` times as long."""
    if len(values) < 5:
        return None
    middle, (low, high) = statistics.median(values), interval(values)
    if low <= 1 <= high:
        word = "inconclusive"
    elif (low > 1) != (factor > 1):
        word = "differs"
    elif min(factor**0.5, factor**2) <= middle <= max(factor**0.5, factor**2):
        word = "holds"
    else:
        word = "direction"
    return middle, (low, high), word


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    return [row(head), row(["---"] * len(head)), *map(row, rows), ""]


def claims(lines):
    """A table of (claim, printed factor, paired ratios)."""
    rows = []
    for text, factor, values in lines:
        found = verdict(values, factor)
        if found is None:
            rows.append([text, f"{factor:.2f}", "-", "not run"])
            continue
        middle, (low, high), word = found
        rows.append([text, f"{factor:.2f}", f"{show(middle, 2)} [{show(low, 2)}, {show(high, 2)}]", word])
    return table(["claim: rival / Uno", "printed", "measured, 95% interval", "verdict"], rows)


def border_failure(run):
    out = ["# One of eight border links fails (figure 13A)", ""]
    out += ["`uno/border-failure`, 100 seeds: eight flows of 5 MiB, one border link black-holes from the start. FCT in ms. *Mean* is the",
            "mean of a seed's eight flows, *slowest* the last of them; of each: median, 99% quantile and range over the seeds.", ""]
    for profile in ("paper", "artifact"):
        rows, means = [], {}
        for scheme in UNO_FAMILY:
            runs = run.runs("uno/border-failure", scheme, 100, "--profile", profile)
            mean, slow = ([dig(r, f"fct.all.{key}") for r in runs] for key in ("mean_us", "max_us"))
            means[scheme] = (mean, slow)
            cells = [f"`{scheme}`"]
            for values in (mean, slow):
                ordered = known(None if v is None else v / 1e3 for v in values)
                cells += [show(statistics.median_low(ordered), 2), show(rank(ordered, 0.99), 2), f"{show(ordered[0], 2)} to {show(ordered[-1], 2)}"]
            cells += [spread([dig(r, "recovery.timeouts") for r in runs], 1, 0), spread([dig(r, "recovery.nacks") for r in runs], 1, 0)]
            rows.append(cells)
        out += [f"## Profile `{profile}`", ""]
        out += table(["scheme", "mean: median", "p99", "range", "slowest: median", "p99", "range", "time-outs", "NACKs"], rows)
        pairs = [("uno", "uno-rps-ec"), ("uno", "uno-plb-ec"), ("uno-noec", "uno-rps"), ("uno-noec", "uno-plb"),
                 ("uno", "uno-noec"), ("uno-rps-ec", "uno-rps"), ("uno-plb-ec", "uno-plb")]
        lines = []
        for better, worse in pairs:
            for index, name in enumerate(("mean FCT", "slowest flow")):
                values = ratios(means[worse][index], means[better][index])
                low, high = interval(values)
                word = "inconclusive" if low <= 1 <= high else "holds" if low > 1 else "differs"
                tail = [rank(known(means[s][index]), 0.99) for s in (better, worse)]
                lines.append([f"`{better}` before `{worse}`, {name}", f"{statistics.median(values):.2f} [{low:.2f}, {high:.2f}]", word,
                              f"{tail[1] / tail[0]:.2f}"])
        out += ["The paper's orders: Uno before spraying and PLB, with and without coding; coding helps each. Worse / better, paired by seed:", ""]
        out += table(["order", "ratio of the medians, 95% interval", "verdict", "ratio of the p99s"], lines)
    return out


def random_loss(run):
    out = ["# Correlated losses (Table 1, figure 13B)", ""]
    out += ["`uno/random-loss`, 450 seeds of eight flows of 5 MiB; the process of Table 1 acts once per direction on the border links, on data",
            "only. Over all flows that lost a data packet at first transmission:", ""]
    rows = []
    for per in ("queue", "flow"):
        for scheme in UNO_FAMILY:
            runs = run.runs("uno/random-loss", scheme, 450, "--set", f"fault[0].per={per}")
            total = lambda key: sum(dig(r, f"recovery.{key}") or 0 for r in runs)  # noqa: E731
            lossy, again, lost = total("flows_with_loss"), total("flows_retransmitted"), total("flows_undecodable")
            share = lambda n: f"{n} ({n / lossy:.1%})" if lossy else f"{n}"  # noqa: E731
            rows.append([per, f"`{scheme}`", str(lossy), share(lost) if "ec" in scheme.split("-") or scheme == "uno" else "-", share(again),
                         f"{total('blocks_undecodable')}",
                         spread([dig(r, "fct.all.mean_us") for r in runs], 1e-3), spread([dig(r, "fct.all.max_us") for r in runs], 1e-3)])
    return out + table(["process per", "scheme", "flows with loss", "of them with a block not decodable", "of them retransmitted",
                        "blocks not decodable", "mean FCT, ms", "slowest flow, ms"], rows)


LONGER = ["--set", "workload[0].flow_size=256MiB", "--set", "workload[1].load=0.001"]
MARKERS = (("with", "red+phantom"), ("without", "red"))


def phantom(run):
    out = ["# Phantom queues (figure 4)", "", "`uno/phantom`, ten seeds: eight long flows from the other site and Google-RPC messages to the receiver's rack, a quarter of which (in the last",
           "table all) meet the long flows' queue. Printed: 2x in the mean, 8x at the 99% quantile, with neither the number nor the rate of the messages.", ""]
    for title, more in (("64 MiB flows, 2,000 messages at 1% of the rack's links: from 20 to 32 ms", []),
                        ("256 MiB flows, 2,000 messages at 0.1%: from 20 to 140 ms", LONGER),
                        ("The same, all messages to the receiver of the long flows", [*LONGER, "--set", "workload[1].receivers=[240]", "--set", "workload[1].load=0.004"])):
        rows, found = [], {}
        for name, marking in MARKERS:
            runs = run.runs("uno/phantom", "uno-noec", 10, "--set", f"scheme.ports.marking={marking}", *more)
            found[name] = {key: [dig(r, f"fct.tags.rpc.{key}") for r in runs] for key in ("mean_us", "p50_us", "p99_us", "max_us")}
            rows.append([name, *(spread(found[name][key], 1, 1) for key in found[name]), spread([dig(r, "fct.tags.long.mean_us") for r in runs], 1e-3, 1),
                         spread([dig(r, "queues.bottleneck_utilization") for r in runs])])
        out += [f"## {title}", "", *table(["phantom queue", "RPC mean, us", "p50", "p99", "max", "long flows' mean, ms", "utilisation"], rows)]
        out += claims([("RPC mean, without / with", 2.0, ratios(found["without"]["mean_us"], found["with"]["mean_us"])),
                       ("RPC p99, without / with", 8.0, ratios(found["without"]["p99_us"], found["with"]["p99_us"]))])
    return out + queue_over_time(run)


def queue_over_time(run, bin_ms=20):
    """The bottleneck's queue by stretches of time; needs pyarrow."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        return ["The queue over time is missing: it was written without pyarrow.", ""]
    lines = {}
    for name, marking in MARKERS:
        folder = run.cache / f"phantom-{name}-{run.build}"
        command = ["run", "uno/phantom", "--scheme", "uno-noec", "--set", f"scheme.ports.marking={marking}", *LONGER, "--out", str(folder), "--quiet"]
        if not (folder / "series.parquet").exists():
            subprocess.run([run.binary, *command], check=True, capture_output=True)
        series = parquet.read_table(folder / "series.parquet").to_pydict()
        for at, probe, port, value in zip(*(series[key] for key in ("t_ns", "probe", "id", "value"))):
            if probe in ("queue", "phantom_queue") and port == "tor60->host240#0":
                lines.setdefault((probe, name), {}).setdefault(at // (bin_ms * 1_000_000), []).append(value / 1e3)
    bins = sorted({b for line in lines.values() for b in line})
    rows = [[probe.replace("_", " "), name, *(f"{statistics.mean(line[b]):.0f}" if b in line else "-" for b in bins)] for (probe, name), line in lines.items()]
    return ["## The receiver's queue over time", "", f"256 MiB flows, seed 1: mean KB in each stretch of {bin_ms} ms.", "",
            *table(["queue", "phantom queue", *(f"{b * bin_ms} ms" for b in bins)], rows)]


def by_class(run, scenario, schemes, seeds, figure, *more):
    """Mean and p99 by class, and the runs by scheme."""
    rows, found = [], {}
    for scheme in schemes:
        runs = found[scheme] = run.runs(scenario, scheme, seeds, *more)
        for name in ("intra", "inter", "all"):
            mean, tail, top = ([dig(r, f"fct.{name}.{key}") for r in runs] for key in ("mean_us", "p99_us", "max_us"))
            have = [value for value in tail if value is not None]
            note = "" if len(have) == len(tail) else f" [{len(have)} of {len(tail)} seeds]"
            printed = figure.get(scheme, {}).get(name) if figure else None
            rows.append([f"`{scheme}`", name, spread(mean, 1e-3), spread(have, 1e-3) + note if have else "too few flows", spread(top, 1e-3),
                         "{}, {}".format(*printed) if printed else ""])
    return table(["scheme", "class", "mean, ms", "p99, ms", "max, ms", "figure: mean, p99"], rows), found


def figure_claims(found, figure, label):
    """What the bars of a figure claim: rival over Uno by class and statistic."""
    lines = []
    for rival in ("gemini", "mprdma-bbr", "uno-ecmp"):
        for name in ("intra", "inter"):
            for index, key in enumerate(("mean_us", "p99_us")):
                if rival in found and rival in figure:
                    printed = figure[rival][name][index] / figure["uno-noec"][name][index]
                    lines.append((f"{label}, {name} {key.split('_')[0]}: `{rival}` / `uno-noec`", printed, paired(found, rival, f"fct.{name}", key)))
    return lines


def one_balancer(found, label):
    """Who owns the gain: the rivals' controls on Uno's path selection."""
    rows = []
    for rival in (name for name in ON_UNOLB if name in found):
        for name in ("intra", "inter"):
            for key in ("mean_us", "p99_us"):
                values = paired(found, rival, f"fct.{name}", key)
                if len(values) >= 5:
                    low, high = interval(values)
                    rows.append([f"{label}, {name} {key.split('_')[0]}: `{rival}` / `uno-noec`", f"{statistics.median(values):.2f} [{low:.2f}, {high:.2f}]"])
    return table(["same balancer, other control", "measured, 95% interval"], rows)


def what_coding_costs(found, label):
    """Where nothing is lost but to full buffers."""
    rows = []
    for name in ("intra", "inter"):
        values = paired(found, "uno", f"fct.{name}", "mean_us")
        low, high = interval(values)
        rows.append([f"{label}, {name} mean: `uno` / `uno-noec`", f"{statistics.median(values):.2f} [{low:.2f}, {high:.2f}]"])
    return table(["coding", "measured, 95% interval"], rows)


def websearch(run, mix="artifact", loads=(40, 60, 80), seeds=10):
    out = [f"# `uno/websearch`, {mix} mix and profile (figure 10)", "", f"5,000 flows, {seeds} paired seeds. The figure's Uno is `uno-noec`: its published runs had no coding. A burst that drains, not a steady state.",
           *(["So had `uno` in this profile, which is therefore the same here."] if mix == "artifact" else []), ""]
    lines = []
    for load in loads:
        more = ["--profile", mix, "--set", f"workload.mix={mix}", "--set", f"workload.load={load / 100}"]
        rows, found = by_class(run, "uno/websearch", RIVALS + ON_UNOLB, seeds, FIGURE_10[load], *more)
        out += [f"## {load}% load", "", *rows, *one_balancer(found, f"{load}%"), *(what_coding_costs(found, f"{load}%") if mix == "paper" else [])]
        lines += figure_claims(found, FIGURE_10[load], f"{load}%")
    return out + ["## What the figure claims", "", *claims(lines)]


def websearch_paper(run):
    return websearch(run, "paper")


def steady(run):
    out = ["# `uno/steady`: what figure 10 claims to be", "", "Steady state: web-search inside the sites and between them, both loads below one. Ten paired seeds.", ""]
    rows, found = by_class(run, "uno/steady", RIVALS + ON_UNOLB, 10, None)
    lines = figure_claims(found, FIGURE_10[40], "steady")
    return out + rows + one_balancer(found, "steady") + ["Beside the factors of figure 10 at 40%, which are of the burst:", "", *claims(lines)]


def rtt_ratio(run):
    out = ["# RTT ratio (figure 11)", "", "`uno/rtt-ratio`: 5,000 flows at 40%, artifact mix and profile (no coding, so that `uno` is `uno-noec`), slowdown over all flows, ten paired seeds.", ""]
    rows, lines = [], []
    for ratio, figure in FIGURE_11.items():
        found = {}
        for scheme in RIVALS + ON_UNOLB:
            runs = run.runs("uno/rtt-ratio", scheme, 10, "--profile", "artifact", "--set", "workload.mix=artifact", "--set", f"topology.wan.rtt={ratio * 14}us")
            found[scheme] = runs
            rows.append([str(ratio), f"`{scheme}`", *(spread([dig(r, f"fct.all.slowdown_{key}") for r in runs], 1, 2) for key in ("mean", "p99")),
                         "{}, {}".format(*figure[scheme]) if scheme in figure else ""])
        for rival in ("gemini", "mprdma-bbr", "uno-ecmp"):
            for index, key in enumerate(("mean", "p99")):
                values = paired(found, rival, "fct.all", f"slowdown_{key}")
                lines.append((f"ratio {ratio}, slowdown {key}: `{rival}` / `uno-noec`", figure[rival][index] / figure["uno-noec"][index], values))
    return out + table(["ratio", "scheme", "slowdown mean", "p99", "figure: mean, p99"], rows) + claims(lines)


def buffers(run):
    out = ["# Small buffers inside, larger ones between the sites (figure 12)", "", "`uno/buffers`: 5,000 flows at 40%, artifact mix and profile (no coding, so that `uno` is `uno-noec`), ten paired seeds.", ""]
    rows, found = by_class(run, "uno/buffers", RIVALS + ON_UNOLB, 10, FIGURE_12, "--profile", "artifact", "--set", "workload.mix=artifact")
    return out + rows + one_balancer(found, "buffers") + claims(figure_claims(found, FIGURE_12, "buffers"))


def collective(run, schemes, seeds, *more):
    """Iteration times by scheme, and what the figure claims of their excess."""
    rows, excess = [], {}
    for scheme in schemes:
        first = [(dig(r, "collectives") or [{}])[0] for r in run.runs("uno/allreduce", scheme, seeds, *more)]
        excess[scheme] = [c.get("excess") for c in first]
        rows.append([f"`{scheme}`", spread([c.get("mean_us") for c in first], 1e-3, 2), spread([c.get("p99_us") for c in first], 1e-3, 2),
                     spread([c.get("ideal_us") for c in first], 1e-3, 2), spread([c.get("ratio") for c in first], 1, 3), spread(excess[scheme], 1, 3)])
    head = ["scheme", "iteration mean, ms", "p99", "ideal", "ratio", "excess"]
    return table(head, rows), [(f"excess: `{rival}` / `uno`", 2.0, ratios(excess[rival], excess["uno"])) for rival in excess if rival != "uno"]


def allreduce(run):
    out = ["# Allreduce across sites, a dead link and random losses (figure 13C)", "", "`uno/allreduce`: iteration time over the ideal one, and the excess over it. The paper's factors are of the excess:",
           "coded Uno about 0.3, the next best more than twice that.", ""]
    short, lines = collective(run, UNO_FAMILY + ["uno-ecmp", "gemini", "mprdma-bbr"], 10)
    full, _ = collective(run, UNO_FAMILY, 1, "--set", "workload.flow_size=70MiB", "--set", "workload.iterations=100", "--set", "stop.time=200s")
    return [*out, "## 16 MiB a rank, ten iterations, ten paired seeds", "", *short, *claims(lines),
            "## 70 MiB a rank, a hundred iterations (the training of the paper), one seed", "", *full]


EXPERIMENTS = {
    "border-failure": border_failure, "random-loss": random_loss, "phantom": phantom, "websearch": websearch, "websearch-paper": websearch_paper,
    "steady": steady, "rtt-ratio": rtt_ratio, "buffers": buffers, "allreduce": allreduce,
}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--only", action="append", choices=[*EXPERIMENTS], default=[])
    p.add_argument("--seeds-scale", type=float, default=1.0)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("out/uno"))
    p.add_argument("-o", type=pathlib.Path, help="folder of the pages; without it they are printed")
    a = p.parse_args()
    run = Runner(a.binary, a.cache, a.seeds_scale, a.jobs)
    for name in a.only or EXPERIMENTS:
        lines = EXPERIMENTS[name](run)
        lines[1:1] = ["", f"Written by `python3 bench/uno.py BINARY --only {name}`: median and, in brackets, range over seeds."]
        text = "\n".join(lines)
        if a.o:
            a.o.mkdir(parents=True, exist_ok=True)
            (a.o / f"{name}.md").write_text(text + "\n")
        else:
            print(text)


if __name__ == "__main__":
    main()
