"""Controls on a link that loses data packets at random. A lone flow delivers a share of what the loss leaves of the link, over loss rates and round trips, beside closed forms. Writes the table of docs/src/schemes/loss.md.

usage: loss.py FARSPAN [--jobs N]      runs all, keeps the numbers in bench/loss.json and writes the page
       loss.py [--check]               writes the page from the kept numbers (or compares it)

378 runs, a minute on two cores.
"""
import argparse
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import made_part

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "loss.json"
PAGE = HERE.parent / "docs/src/schemes/loss.md"

RATE, PAYLOAD, HEADER = 100e6, 1400, 60
LOSSES, RTTS_MS = [0.001, 0.01, 0.05], [1, 20, 100]
CONTROLS = ["fixed_window", "newreno", "cubic", "vegas", "bbr", "dctcp", "dctcp-per-ack", "mprdma", "gemini", "unocc", "smartt",
            "nscc", "swift", "timely", "oscar", "hpcc", "powertcp", "theta-powertcp", "poseidon", "poseidon, p = 20ms", "dcqcn"]
# Seconds between which a flow's payload is counted.
FROM, TO = 10, 30
SCENARIO = """
[topology]
kind = "dumbbell"
hosts = 1
two_sites = true
link_rate = "1Gbps"
link_delay = "1us"
bottleneck_rate = "100Mbps"
buffer = "2MB"
wan = {{ rtt = "{rtt}ms", buffer = "2MB" }}
[host]
jitter = "0ns"
[scheme]
name = "{control}+ecmp"
[scheme.inter]
recovery = "rack"
{constant}
[scheme.ports]
pool = {{ size = "off" }}
pfc = {{ links = "none" }}
[transport]
payload = "1400B"
header = "60B"
[stop]
time = "{stop}s"
[[workload]]
kind = "pairs"
pairs = [[0, 1]]
flow_size = "1GB"
[[fault]]
kind = "loss"
links = "wan"
packets = "data"
probability = {loss}
"""


def payload(binary, control, loss, rtt, stop, folder):
    """Payload that arrives in a run of so many seconds."""
    control, _, constant = control.partition(", ")
    key, _, value = constant.partition(" = ")
    constant = f'congestion = {{ name = "{control}", {key} = "{value}" }}' if constant else ""
    file = pathlib.Path(folder) / f"{control}-{value}-{loss}-{rtt}-{stop}.toml"
    file.write_text(SCENARIO.format(control=control, constant=constant, loss=loss, rtt=rtt, stop=stop))
    done = subprocess.run([binary, "run", file, "--json", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{file.name}: {done.stderr}")
    document = json.loads(done.stdout)
    # Arrivals. What was sent for the first time would miss the repair of the start's losses, which takes some controls
    # longer than FROM.
    return document["packets"]["delivered"] * PAYLOAD


def share(binary, control, loss, rtt, folder):
    """Goodput over what the loss leaves of the payload's share of the link."""
    first, last = (payload(binary, control, loss, rtt, stop, folder) for stop in (FROM, TO))
    return round((last - first) * 8 / (TO - FROM) / left(loss), 3)


def left(loss):
    return RATE * (1 - loss) * PAYLOAD / (PAYLOAD + HEADER)


def reno(loss, rtt):
    """Mathis et al. 1997: MSS / RTT x sqrt(3 / 2p), over what the loss leaves."""
    return min(1, PAYLOAD * 8 / (rtt / 1000) * math.sqrt(1.5 / loss) / left(loss))


def cubic(loss, rtt):
    """RFC 9438 section 5.1: MSS / RTT x (C (3 + beta) / (4 (1 - beta)))^1/4 x (RTT / p)^3/4, and Reno's where that is more."""
    rtt /= 1000
    packets = (0.4 * 3.7 / 1.2) ** 0.25 * (rtt / loss) ** 0.75
    return max(reno(loss, rtt * 1000), min(1, PAYLOAD * 8 / rtt * packets / left(loss)))


def run_all(binary, jobs):
    cases = list(itertools.product(CONTROLS, LOSSES, RTTS_MS))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        shares = pool.map(lambda case: share(binary, *case, folder), cases)
        return {"/".join(map(str, case)): value for case, value in zip(cases, shares, strict=True)}


def table(kept):
    columns = list(itertools.product(LOSSES, RTTS_MS))
    head = ["", *(f"{loss * 100:g}%, {rtt} ms" for loss, rtt in columns)]
    rows = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]

    def row(name, values):
        cells = [f"{value:.2f}" if value >= 0.1 else f"{value:.3f}" for value in values]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")

    row("closed form, BBR below 15% loss", [1.0] * len(columns))
    row("closed form, Reno: sqrt(1.5 / p)", [reno(*column) for column in columns])
    row("closed form, CUBIC: RFC 9438, 5.1", [cubic(*column) for column in columns])
    for control in CONTROLS:
        row(f"`{control}`", [kept[f"{control}/{loss}/{rtt}"] for loss, rtt in columns])
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.binary:
        KEPT.write_text(json.dumps(run_all(arguments.binary, arguments.jobs), indent=1) + "\n")
    made_part.write(PAGE, "loss", table(json.loads(KEPT.read_text())), arguments.check)


if __name__ == "__main__":
    main()
