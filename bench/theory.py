"""The two theorems of Gemini's paper (appendices A and B), as printed, solved without the paper's approximations, and simulated. Writes
the tables and plots of docs/src/theory.md.

usage: theory.py FARSPAN [--jobs N]    runs all, keeps the numbers in bench/theory.json and writes the page; needs pyarrow, which
                                       `make python` installs: out/venv/bin/python bench/theory.py target/release/farspan
       theory.py [--check]             writes the page from the kept numbers (or compares it); farspan-lab draws the plots, beside FARSPAN
                                       or in target/release

200 runs, ten minutes on two cores. Queues and thresholds are in packets of 1,500 B, as in the paper.
"""
import math
import statistics
import sys

import study

sys.path.append(str(study.HERE.parent / "docs"))
import chart

PLOT = study.BOOK / "images/theorem-1.svg"

PACKET, PAYLOAD = 1500, 1460
# C, in packets per second, and H of Table IV, in packets per bit.
C, H = 1e9 / 8 / PACKET, 1.2e-7
# Theorem 1: the round trip, thresholds, numbers of flows, and the window in packets below which there is no sawtooth to speak of.
RTT, THRESHOLDS, FLOWS, SMALLEST = 10e-3, [20, 40, 80, 100, 118, 160, 240, 320], [2, 4, 8, 16, 32, 64, 128], 2
# Theorem 2: flows of each kind, their shorter round trip, ratios of the longer to it.
EACH, SHORT, RATIOS, CUT_RATIOS = 4, 200e-6, [4, 8, 16, 32, 64], [4, 16, 64]

COMMON = """
[transport]
payload = "1460B"
header = "40B"
start = "{start}"
[scheme]
name = "gemini+ecmp"
{congestion}
[scheme.ports]
marking = "step"
step = "{step}B"
[probes]
{probes}
[stop]
time = "{stop}s"
"""
STAR = """
[topology]
kind = "star"
hosts = {hosts}
link_rate = "1Gbps"
link_delay = "2.5ms"
buffer = "30MB"
[[workload]]
kind = "incast"
receiver = {flows}
senders = {senders}
flow_size = "10GB"
"""
TWO_SITES = """
[topology]
kind = "dumbbell"
hosts = {hosts}
two_sites = true
link_rate = "1Gbps"
link_delay = "{delay}ns"
bottleneck_rate = "10Gbps"
buffer = "30MB"
wan = {{ rtt = "{rtt}us", buffer = "100MB" }}
[[workload]]
kind = "pairs"
pairs = {pairs}
flow_size = "10GB"
"""


def factor(k, rtt):
    """F of (10)."""
    return 4 * k / (C * rtt + k)


def step(rtt):
    """h, in packets for each round trip, without its bounds."""
    return H * C * PACKET * 8 * rtt


def threshold(f, rtt):
    """The K that gives F, for a control whose ports mark at another."""
    return f * C * rtt / (4 - f)


def printed(flows, k, f):
    """The least queue by (9)."""
    h = step(RTT)
    return k + flows * h - math.sqrt(flows * h * f * (C * RTT + k))


def exact(flows, k, f):
    """The least queue by (1) to (6), with alpha from (3) and none of the approximations."""
    h, critical = step(RTT), (C * RTT + k) / flows
    marked = (2 * critical + h) * h / (critical + h) ** 2
    low, high = 0.0, 4 / 3
    # The cut x = alpha F from x^2 (2 - x) = F marked, whose left side grows up to 4/3.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 * (2 - middle) < f * marked else (low, middle)
    return flows * (critical + h) * (1 - low) - C * RTT


def least(rule, k, f):
    """The smallest of a rule over numbers of flows, and the number."""
    most = int((C * RTT + k) / SMALLEST)
    return min((rule(flows, k, f), flows) for flows in range(1, most + 1))


def late(series, probe, after):
    """Values of a probe by id, from so many seconds on."""
    found = {}
    columns = [series[name].to_pylist() for name in ("t_ns", "probe", "id", "value")]
    for at, kind, who, value in zip(*columns, strict=True):
        if kind == probe and at > after * 1e9:
            found.setdefault(who, []).append(value)
    return found


def gemini(k, h):
    """A control without the delay signal; `h`: of its own, a step in packets, or its bounds."""
    h = f'"{max(1, round(h * PAYLOAD))}B"' if isinstance(h, float) else "{{ min = {}, max = {} }}".format(*h)
    return f'{{ name = "gemini", k = "{round(k * PACKET)}B", delay_threshold = "10s", h = {h} }}'


def sawtooth(farspan, k, flows, doubled):
    """Least queue and utilisation of the last 10 s of 20, of flows that start together at their shares."""
    control = gemini(threshold(factor(k, RTT) * (1 + doubled), RTT) if doubled else k, (0.1, 5.0))
    start = f"{int(C * RTT / flows * PAYLOAD)}B"
    probes = 'queue_interval = "500us"\nseries = ["queue", "utilization"]'
    shared = COMMON.format(start=start, congestion=f"intra.congestion = {control}", step=k * PACKET, probes=probes, stop=20)
    scenario = STAR.format(hosts=flows + 1, flows=flows, senders=list(range(flows))) + shared
    (series,) = study.result_tables(farspan, scenario, names=["series"])
    (queue,), (busy,) = (late(series, probe, 10).values() for probe in ("queue", "utilization"))
    return {"least": min(queue) / PACKET, "busy": round(statistics.mean(busy), 4)}


def numbers(k, f):
    """The numbers of flows that are simulated: some, and the worst by the exact rule if it is no more than twice the largest."""
    worst = least(exact, k, f)[1]
    return sorted({*FLOWS, *([worst] if worst <= 2 * FLOWS[-1] else [])})


def shares(farspan, k, ratio, short=SHORT, h=None, part=1, seconds=100):
    """Flows of two round trips through one port, in the last half of a run. `h`: packets for a base round trip, or bounds; `part`: of F."""
    h = h or (lambda rtt: step(rtt))
    control = lambda rtt: gemini(threshold(factor(k, rtt) * part, rtt) if part != 1 else k, h(rtt) if callable(h) else h)
    hosts, receiver = 2 * EACH + 1, 4 * EACH + 1
    long = short * ratio
    pairs = [[i, receiver] for i in range(EACH)] + [[hosts + i, receiver] for i in range(EACH)]
    network = TWO_SITES.format(hosts=hosts, delay=round(short / 4 * 1e9), rtt=round(long * 1e6), pairs=pairs)
    congestion = f"intra.congestion = {control(short)}\ninter.congestion = {control(long)}"
    shared = lambda probes: COMMON.format(start="iw10", congestion=congestion, step=k * PACKET, probes=probes, stop=seconds)
    series, flows = study.result_tables(farspan, network + shared('rate_interval = "500ms"'), names=["series", "flows"])
    mean = lambda probe: [statistics.mean(late(series, probe, seconds / 2)[str(flow)]) for flow in range(2 * EACH)]
    rates, rtts = mean("rate"), mean("rtt")
    # Cuts: falls of the window between samples less than a base round trip apart.
    probes = f'rate_interval = "{round(short / 2 * 1e6)}us"\nseries = ["cwnd"]\nflows = "flow=0,{EACH}"'
    (sampled,) = study.result_tables(farspan, network + shared(probes), names=["series"])
    windows = late(sampled, "cwnd", seconds / 2)
    cuts = {flow: [b / a for a, b in zip(window, window[1:], strict=False) if b < a] for flow, window in windows.items()}
    side = lambda values: (statistics.mean(values[EACH:]), statistics.mean(values[:EACH]))
    marked = [flow["marked_packets"] / (flow["sent_bytes"] / PAYLOAD) for flow in flows.to_pylist()]
    sizes = [1 - statistics.mean(cuts[flow]) for flow in (str(EACH), "0")]
    return {
        "jain": sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates), "rates": side(rates)[0] / side(rates)[1],
        "rtts": [rtt / 1e6 for rtt in side(rtts)], "marked": side(marked), "cuts": [len(cuts[flow]) / (seconds / 2) for flow in (str(EACH), "0")],
        "cut": sizes, "largest_cut": 1 - min(min(found) for found in cuts.values()),
    }


def second(k, ratio):
    """What is changed of the second theorem's flows, by name."""
    whole = lambda rtt: step(rtt) * (1 + 0 * rtt)
    long, queueing = SHORT * ratio, k / C
    with_queueing = lambda rtt: step(long) * (rtt + queueing) / (long + queueing)
    return {
        "printed": {"h": (0.1, 5.0)},
        "free": {"h": whole},
        "half": {"h": whole, "part": 0.5},
        "quarter": {"h": lambda rtt: step(rtt) / 4},
        "queueing": {"h": with_queueing},
    }


def measured(options):
    first = {f"{k}/{flows}/{doubled}": (k, flows, doubled) for k in THRESHOLDS for flows in numbers(k, factor(k, RTT)) for doubled in (0, 1)}
    last = {f"{name}/{k}/{ratio}": (k, ratio, change) for k in (50, 300) for ratio in RATIOS for name, change in second(k, ratio).items()
            if name in ("printed", "free") or ratio in CUT_RATIOS}
    last |= {f"far/20/{ratio}": (20, ratio, {"short": 10e-3, "seconds": 200}) for ratio in (4, 16)}
    changed = lambda farspan, k, ratio, change: shares(farspan, k, ratio, **change)
    return {"theorem 1": dict(study.each(options, sawtooth, first)), "theorem 2": dict(study.each(options, changed, last))}


def plain(value, digits):
    """Without a sign before nothing."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def simulated(kept, k, doubled):
    """Least queue, and lowest utilisation with its number of flows."""
    runs = {int(case.split("/")[1]): found for case, found in kept.items() if case.startswith(f"{k}/") and case.endswith(f"/{doubled}")}
    return min(found["least"] for found in runs.values()), min((found["busy"], flows) for flows, found in runs.items())


def first_table(kept):
    rows = []
    for k in THRESHOLDS:
        cells = [k, f"{factor(k, RTT):.3f}"]
        for doubled in (0, 1):
            f = factor(k, RTT) * (1 + doubled)
            for rule in (printed, exact):
                value, flows = least(rule, k, f)
                cells.append(f"{plain(value, 1)} ({flows})")
            queue, (busy, flows) = simulated(kept, k, doubled)
            cells += [] if doubled else [plain(queue, 0)]
            cells.append(f"{100 * busy:.1f}% ({flows})")
        rows.append(cells)
    return study.table(["K", "F", "least by (9)", "least by (3) to (6)", "least, simulated", "link busy", "2F: by (9)", "2F: by (3) to (6)", "2F: link busy"], rows, rule="---")


def second_table(kept):
    rows = []
    for k in (50, 300):
        for ratio in RATIOS:
            found = [kept[f"{name}/{k}/{ratio}"] for name in ("printed", "free")]
            rows.append([k, f"1:{ratio}", 1, *(cell for run in found for cell in (f"{run['jain']:.3f}", f"{run['rates']:.2f}"))])
    return study.table(["K", "RTTs", "the theorem", "bounds of h: Jain", "rates", "no bounds: Jain", "rates"], rows, rule="---")


def product(run, k, ratio, short, h):
    """short / long of rates where growth balances cuts: (h / RTT') of each over cuts x their size, and again over RTT'; and its factors."""
    steps = h(short) / h(short * ratio)
    rtts, cuts, size = (run[name][1] / run[name][0] for name in ("rtts", "cuts", "cut"))
    return steps, rtts, cuts, size, steps * rtts**2 * cuts * size


def third_table(kept):
    names = {"free": "as printed, no bounds", "half": "F halved", "quarter": "h a quarter", "queueing": "h over RTT + K / C"}
    rows = []
    lines = [(text, name, k, ratio, SHORT) for name, text in names.items() for k in (50, 300) for ratio in CUT_RATIOS]
    lines += [("as printed, short RTT 10 ms", "far", 20, ratio, 10e-3) for ratio in (4, 16)]
    for text, name, k, ratio, short in lines:
        run = kept[f"{name}/{k}/{ratio}"]
        h = second(k, ratio)[name]["h"] if name != "far" else step
        *factors, whole = product(run, k, ratio, short, h)
        factors = [f"{factors[0]:.3f}", f"1:{factors[1]:.2f}", f"1:{factors[2]:.2f}", f"1:{factors[3]:.2f}"]
        marked = run["marked"][0] / run["marked"][1]
        rows.append([text, k, f"1:{ratio}", f"{run['rates']:.2f}", *factors, f"{whole:.2f}", f"{marked:.2f}", f"{run['largest_cut']:.2f}"])
    return study.table(["what", "K", "RTTs", "rates", "h", "RTT'", "cuts a second", "size of a cut", "their product", "marked share", "largest cut"], rows, rule="---")


def plot(kept, lab):
    """Least queues over K, over numbers of flows, and utilisation over K."""
    over = lambda rule, part: [(k, least(rule, k, part * factor(k, RTT))[0]) for k in THRESHOLDS]
    k, f = 118, factor(118, RTT)
    many = [2**(i / 4) for i in range(4, 33)]
    sim = sorted((int(case.split("/")[1]), found["least"]) for case, found in kept.items() if case.startswith("118/") and case.endswith("/0"))
    busy = lambda doubled: [(k, 100 * simulated(kept, k, doubled)[1][0]) for k in THRESHOLDS]
    of = lambda rule: [(n, rule(n, k, f)) for n in many]
    return chart.svg(lab, "Theorem 1", [
        chart.panel("least over all N", "K (packets)", "least queue (packets)",
                    {"by (9)": over(printed, 1), "by (3) to (6)": over(exact, 1), "by (9), 2F": over(printed, 2)}, bare=True, x_log=False),
        chart.panel("K = 118 packets", "N (flows)", "least queue (packets)", {"by (9)": of(printed), "by (3) to (6)": of(exact), "simulated": sim}, bare=True, x_log=True),
        chart.panel("at the worst N", "K (packets)", "link busy (%)", {"simulated": busy(0), "simulated, 2F": busy(1)}, bare=True, x_log=False, y_from=90),
    ])


def parts(kept):
    first, last = kept["theorem 1"], kept["theorem 2"]
    return {"theorem 1": first_table(first), "theorem 2": second_table(last), "why": third_table(last)}


def main():
    theory = study.Study(__file__, "theory.md", levels=2)
    options = theory.main(measured, parts)
    drawn = plot(theory.kept()["theorem 1"], chart.program(options.farspan))
    if options.check and PLOT.read_text() != drawn:
        sys.exit(f"{PLOT.name} is not what bench/theory.json gives: run bench/theory.py")
    PLOT.write_text(drawn)


main()
