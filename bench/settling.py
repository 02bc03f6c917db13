"""Where OSCAR and its rivals settle, beside closed forms. 25, 100 and 400 Gb/s, 2, 16 and 64 flows into one host, and how much of the first
round trip a lone flow uses; and the effect of one change on cells that differ. Writes the tables of docs/src/schemes/settling.md.

usage: settling.py FARSPAN [--jobs N]     runs all, keeps the numbers in bench/settling.json and writes the page; needs pyarrow, which
                                          `pip install pyarrow` brings
       settling.py [--check]              writes the page from the kept numbers (or compares it)

122 runs, a minute on two cores.
"""
import itertools
import math
import statistics

import study

CONTROLS = ["oscar", "hpcc", "hpcc-star", "powertcp", "theta-powertcp", "poseidon", "swift", "dcqcn", "timely"]
GBPS = [25, 100, 400]
FLOWS = [2, 16, 64]
# Data and ACK of OSCAR's world, and what a control's headers add to data.
PACKET, ACK, US = 1054, 54, 1e-6
HEADERS = {"oscar": 6, "hpcc": 42, "hpcc-star": 42, "powertcp": 42, "poseidon": 12}
# A run takes 20 ms, and its second half counts.
SECONDS, FROM = 0.02, 0.01
# How far from a closed form is still as it.
BAND = 0.1
# One change each, to cells that differ and to OSCAR at the shortest round trip.
FITS, FLOOR = "scheme.intra.window_check=fits", "scheme.intra.congestion.arrival_floor=0.5"
NEAR, STEADY = "topology.link_delay=1us", "host.jitter=0ns"
CHANGES = [
    ("oscar", 100, 64, [NEAR]), ("oscar", 100, 64, [NEAR, FITS]), ("oscar", 25, 16, [FITS]), ("oscar", 100, 64, [FITS]),
    ("oscar", 400, 64, [FITS]), ("swift", 25, 64, [FITS]), ("poseidon", 25, 64, [FITS]), ("powertcp", 100, 64, [FITS]),
    ("powertcp", 100, 64, [STEADY]), ("theta-powertcp", 25, 2, [STEADY]), ("theta-powertcp", 25, 64, [FLOOR]),
    ("theta-powertcp", 100, 64, [FLOOR]), ("theta-powertcp", 400, 64, [FLOOR]), ("theta-powertcp", 100, 64, ["transport.start=144000B"]),
]  # fmt: skip


def bytes_a_us(gbps):
    return gbps * 1e3 / 8


def base_rtt_us(gbps):
    """Twice 6 us, and a data packet and an ACK over two links each."""
    return 12 + 2 * (PACKET + ACK) / bytes_a_us(gbps)


def swift(gbps, flows):
    """The queue at which the round trip is the target (Swift, section 3.2), in us: base target 12.5 us, range 50 us, 0.1 to 100 packets."""
    root = lambda packets: 1 / math.sqrt(packets)
    queue = 0.0
    for _ in range(1000):
        packets = bytes_a_us(gbps) * (base_rtt_us(gbps) + queue) / flows / PACKET
        scaled = (root(packets) - root(100)) / (root(0.1) - root(100))
        queue += 0.1 * (12.5 + 50 * min(max(scaled, 0), 1) - queue)
    return queue


def form(control, gbps, flows):
    """Utilisation, and the queue in BDPs, where a control rests; None: it has no rest, or none that depends on so little."""
    rtt = base_rtt_us(gbps)
    # Additive steps of HPCC: U (1 - eta / U) = n x additive.
    hpcc = {"hpcc": 0.95, "hpcc-star": 1.5}.get(control, 0) + 0.0005 * flows
    used, queue = {
        "oscar": (1, 0.5),
        "hpcc": (min(hpcc, 1), None if hpcc < 1 else hpcc - 1),
        "hpcc-star": (1, hpcc - 1),
        "powertcp": (1, 0.006 * flows),
        "theta-powertcp": (1, 0.006 * flows),
        "poseidon": (1, (40 * math.log(flows) / math.log(1000) + 2) / rtt),
        "swift": (1, swift(gbps, flows) / rtt),
    }.get(control, (None, None))
    return used, queue


def least(control, gbps, flows):
    """The queue in BDPs that windows of one packet each make, which no control goes below that rounds windows up."""
    return flows * (PACKET + HEADERS.get(control, 0)) / (bytes_a_us(gbps) * base_rtt_us(gbps)) - 1


def key(control, gbps, flows, changes=()):
    return " ".join([control, str(gbps), str(flows), *changes])


def cells():
    yield from ((*cell, []) for cell in itertools.product(CONTROLS, GBPS, [1, *FLOWS]))
    yield from CHANGES


def run(farspan, control, gbps, flows, changes):
    settings = [
        f"topology.link_rate={gbps}Gbps", f"topology.hosts={flows + 1}", f"workload.receiver={flows}",
        f"workload.senders={list(range(flows))}", "workload.flow_size=100GB", "transport.start=bdp",
        f"stop.time={SECONDS if flows > 1 else 1e-4:g}s", "probes.rate_interval=50us",
        *changes,
    ]  # fmt: skip
    (table,) = study.result_tables(farspan, "oscar/equilibrium", "--scheme", control, names=["series"], settings=settings)
    rows = list(zip(*(table[name].to_pylist() for name in ("t_ns", "probe", "id", "value")), strict=True))
    port = f"->host{flows}#0"
    of = lambda probe, since, until: [
        value for at, kind, name, value in rows if kind == probe and since < at <= until and (probe == "rate" or name.endswith(port))
    ]
    if flows == 1:
        # A round trip from when the first packet is whole at the switch; a sample is a microsecond.
        return {"used": round(statistics.mean(of("utilization", 5e3, 15e3)), 4)}
    rates = {}
    for at, kind, name, value in rows:
        if kind == "rate" and at > FROM * 1e9:
            rates.setdefault(name, []).append(value)
    means = [statistics.mean(values) for values in rates.values()]
    since, until = FROM * 1e9, SECONDS * 1e9
    bdp = bytes_a_us(gbps) * (base_rtt_us(gbps) - (8 if NEAR in changes else 0))
    return {
        "used": round(statistics.mean(of("utilization", since, until)), 4),
        "queue": round(statistics.mean(of("queue", since, until)) / bdp, 4),
        "jain": round(sum(means) ** 2 / (len(means) * sum(mean**2 for mean in means)), 4),
    }


def first(kept):
    """A row a control: how much of the link its lone flow uses in the first round trip."""
    rows = [[f"`{control}`", *(f"{kept[key(control, gbps, 1)]['used']:.3f}" for gbps in GBPS)] for control in CONTROLS]
    return study.table(["", *(f"{gbps} Gb/s" for gbps in GBPS)], rows)


def differs(found, control, gbps, flows):
    """What lies more than the band away from the closed form."""
    used, queue = form(control, gbps, flows)
    floor = least(control, gbps, flows)
    queue = queue if queue is None else max(queue, floor)
    far = lambda value, wanted: wanted is not None and abs(value / wanted - 1) > BAND
    if used is None:
        # Without a form only what no control should do is named.
        used = 1 if found["used"] < 1 - BAND else None
    what = {
        "utilisation": far(found["used"], used),
        "queue": far(found["queue"], queue),
        "Jain": found["jain"] < 1 - BAND,
    }
    return [name for name, is_far in what.items() if is_far]


def settled(kept):
    """A row a control, rate and number of flows."""
    rows = []
    for control, gbps, flows in itertools.product(CONTROLS, GBPS, FLOWS):
        found = kept[key(control, gbps, flows)]
        used, queue = form(control, gbps, flows)
        if queue is not None and least(control, gbps, flows) > queue:
            wanted = f"{least(control, gbps, flows):.2f} (one packet each)"
        else:
            wanted = "" if queue is None else f"{queue:.2f}"
        rows.append([
            f"`{control}`", str(gbps), str(flows), f"{found['used']:.3f}", "" if used is None else f"{used:.3f}",
            f"{found['queue']:.2f}", wanted, f"{found['jain']:.3f}", ", ".join(differs(found, control, gbps, flows)),
        ])  # fmt: skip
    return study.table(["", "Gb/s", "flows", "used", "form", "queue, BDP", "form", "Jain", "differs"], rows)


def changed(kept):
    """A row a change: queue, use and fairness before and after it."""
    rows = []
    for control, gbps, flows, changes in CHANGES:
        # At another round trip the cell before the change is the one at that round trip.
        before, after = (
            kept[key(control, gbps, flows, [NEAR] if changes[:-1] else [])],
            kept[key(control, gbps, flows, changes)],
        )
        pair = lambda name, form: f"{before[name]:{form}} to {after[name]:{form}}"  # noqa: B023 it is called in its own turn
        where = ", 4 us" if changes[:-1] else ""
        rows.append(
            [
                f"`{control}`, {gbps} Gb/s, {flows} flows{where}",
                f"`{changes[-1]}`",
                pair("used", ".3f"),
                pair("queue", ".2f"),
                pair("jain", ".3f"),
            ]
        )
    return study.table(["", "change", "used", "queue, BDP", "Jain"], rows)


def measured(options):
    return dict(study.each(options, run, {key(*case): case for case in cells()}))


def parts(kept):
    return {"first": first(kept), "settled": settled(kept), "changed": changed(kept)}


if __name__ == "__main__":
    study.Study(__file__, "schemes/settling.md", sort=True).main(measured, parts)
