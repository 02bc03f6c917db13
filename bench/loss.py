"""Controls on a link that loses data packets at random. A lone flow delivers a share of what the loss leaves of the link, over loss rates and round trips, beside closed forms. Writes the table of docs/src/schemes/loss.md.

usage: loss.py FARSPAN [--jobs N]      runs all, keeps the numbers in bench/loss.json and writes the page
       loss.py [--check]               writes the page from the kept numbers (or compares it)

378 runs, a minute on two cores.
"""
import itertools
import math

import study

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


def payload(farspan, control, loss, rtt, stop):
    """Payload that arrives in a run of so many seconds."""
    control, _, constant = control.partition(", ")
    key, _, value = constant.partition(" = ")
    constant = f'congestion = {{ name = "{control}", {key} = "{value}" }}' if constant else ""
    document = study.document(farspan, SCENARIO.format(control=control, constant=constant, loss=loss, rtt=rtt, stop=stop))
    # Arrivals. What was sent for the first time would miss the repair of the start's losses, which takes some controls
    # longer than FROM.
    return document["packets"]["delivered"] * PAYLOAD


def share(farspan, control, loss, rtt):
    """Goodput over what the loss leaves of the payload's share of the link."""
    first, last = (payload(farspan, control, loss, rtt, stop) for stop in (FROM, TO))
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


def measured(options):
    cases = itertools.product(CONTROLS, LOSSES, RTTS_MS)
    return dict(study.each(options, share, {"/".join(map(str, case)): case for case in cases}))


def parts(kept):
    columns = list(itertools.product(LOSSES, RTTS_MS))
    rows = {
        "closed form, BBR below 15% loss": [1.0] * len(columns),
        "closed form, Reno: sqrt(1.5 / p)": [reno(*column) for column in columns],
        "closed form, CUBIC: RFC 9438, 5.1": [cubic(*column) for column in columns],
        **{f"`{control}`": [kept[f"{control}/{loss}/{rtt}"] for loss, rtt in columns] for control in CONTROLS},
    }
    cell = lambda value: f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    head = ["", *(f"{loss * 100:g}%, {rtt} ms" for loss, rtt in columns)]
    return {"": study.table(head, [[name, *map(cell, values)] for name, values in rows.items()], rule="---")}


if __name__ == "__main__":
    study.Study(__file__, "schemes/loss.md").main(measured, parts)
