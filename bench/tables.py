"""Runs the built-in scenarios under several schemes and writes the tables of docs/src/measured.md.

usage: tables.py BINARY [--seeds A..B] [-o FILE]
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess

UNO = ["uno-noec", "unocc+rps", "gemini"]
BURST = ["uno-noec", "uno-ecmp", "unocc+rps", "gemini"]
HEADERS = 1 + 64 / 4096
BASE_RTT = {"uno/incast-intra": 14.02752e-6, "uno/incast-inter": 1.792e-3, "uno/incast-mixed": 1.792e-3}
# Uno, figure 10 at 40% load, as its published plot scripts have it: mean and p99 in ms.
FIGURE = {
    "uno-ecmp": {"intra": (0.040, 0.640), "inter": (8.6, 30.0)},
    "uno-noec": {"intra": (0.019, 0.154), "inter": (9.6, 17.5)},
    "gemini": {"intra": (0.035, 0.527), "inter": (13.7, 36.9)},
}


def runs(binary, scenario, scheme, seeds, *more):
    command = [binary, "run", scenario, "--scheme", scheme, "--seeds", seeds, "--json", "--quiet", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["runs"]


def median(values, scale=1.0, digits=3):
    """Median and range; a run without a value counts as never."""
    known = sorted(math.inf if v is None else v * scale for v in values)
    text = [f"{v:.{digits}f}" if v < math.inf else "never" for v in (statistics.median_low(known), known[0], known[-1])]
    return text[0] if text[1] == text[2] else f"{text[0]} ({text[1]} to {text[2]})"


def quantile(classes, name, least, scale):
    """Median and range over the seeds whose class has the flows that the quantile needs."""
    enough = [c[name] for c in classes if c["count"] >= least]
    note = "" if len(enough) == len(classes) else f" [{len(enough)} of {len(classes)} seeds]"
    return median(enough, scale) + note if enough else f"fewer than {least:,} flows"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def incasts(binary, seeds):
    out = []
    for profile in ("paper", "artifact"):
        head = ["scenario", "scheme", "max FCT, s", "/ ideal", "mean FCT, s", "Jain mean", "Jain late 5%", "converged, ms"]
        head += ["queue mean, KB", "utilisation"]
        out += [f"### Profile `{profile}`", "", row(head), row(["---"] * len(head))]
        for scenario in ("uno/incast-intra", "uno/incast-inter", "uno/incast-mixed"):
            ideal = 8 * (1 << 30) * HEADERS * 8 / 100e9 + BASE_RTT[scenario]
            for scheme in UNO:
                r = runs(binary, scenario, scheme, seeds, "--profile", profile)
                fct = [x["fct"]["all"] for x in r]
                fair, queue = [x["fairness"] for x in r], [x["queues"] for x in r]
                out.append(row([
                    f"`{scenario}`", f"`{scheme}`",
                    median([f["max_us"] for f in fct], 1e-6), median([f["max_us"] for f in fct], 1e-6 / ideal),
                    median([f["mean_us"] for f in fct], 1e-6), median([f["jain_mean"] for f in fair]),
                    median([f["jain_p5_late"] for f in fair]), median([f["converged_at_us"] for f in fair], 1e-3, 0),
                    median([q["bottleneck_mean_bytes"] for q in queue], 1e-3, 0),
                    median([q["bottleneck_utilization"] for q in queue]),
                ]))
        out.append("")
    return out


def burst(binary, seeds, title, *more, figure=False):
    head = ["scheme", "class", "flows", "mean, ms", "p90, ms", "p99, ms", "max, ms"] + (["figure 10: mean, p99"] if figure else [])
    out = [f"### {title}", "", row(head), row(["---"] * len(head))]
    for scheme in BURST:
        r = runs(binary, "uno/websearch", scheme, seeds, *more)
        for name in ("intra", "inter"):
            fct = [x["fct"][name] for x in r]
            cells = [f"`{scheme}`", name, median([f["count"] for f in fct], 1, 0)]
            cells += [median([f["mean_us"] for f in fct], 1e-3), median([f["p90_us"] for f in fct], 1e-3)]
            cells += [quantile(fct, "p99_us", 1000, 1e-3), median([f["max_us"] for f in fct], 1e-3)]
            if figure:
                known = FIGURE.get(scheme)
                cells.append("{}, {}".format(*known[name]) if known else "not in the figure")
            out.append(row(cells))
    return [*out, ""]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--seeds", default="1..5")
    p.add_argument("-o", type=pathlib.Path)
    a = p.parse_args()
    lines = ["# Measured", "", f"Written by `python3 bench/tables.py`; seeds {a.seeds}: median and, in brackets, range.", ""]
    lines += ["## Incasts: eight flows of 1 GiB to one host", ""]
    lines += ["Ideal: payload and first-transmission headers at 100 Gb/s, plus the base RTT. A scheme that is unfair but keeps the",
              "link busy wins mean and max FCT here by construction; judge by Jain's index and the queue.", ""]
    lines += incasts(a.binary, a.seeds)
    lines += ["## `uno/websearch`: 5,000 flows at 40% of the host NICs, a burst that drains", ""]
    lines += burst(a.binary, a.seeds, "Artifact mix and profile", "--profile", "artifact", "--set", "workload.mix=artifact", figure=True)
    lines += burst(a.binary, a.seeds, "Paper mix and profile, 1,300 flows", "--set", "workload.mix=paper", "--set", "workload.flows=1300")
    text = "\n".join(lines)
    if a.o:
        a.o.write_text(text + "\n")
    else:
        print(text)


main()
