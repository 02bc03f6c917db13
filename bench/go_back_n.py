"""What go-back-N costs hosts with RDMA, beside selective repeat: random losses under a lone flow, and incasts into switches that pause or
drop. Writes the tables of docs/src/schemes/go-back-n.md.

usage: go_back_n.py FARSPAN [--jobs N]      runs all, keeps the numbers in bench/go_back_n.json and writes the page
       go_back_n.py [--check]               writes the page from the kept numbers (or compares it)

210 runs, 15 seconds on two cores.
"""
import itertools
import statistics

import study

CONTROLS = ["dcqcn", "hpcc"]
RECOVERIES = {"go_back_n": "go-back-N", "rack": "selective repeat"}
SEEDS = 5
LOSSES = [0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
# Between any two hosts; a BDP is 150 KB, or 143 packets.
RTT_US = 12
MESSAGE = 100_000_000
SENDERS = [8, 32, 128]
SHARE = 1_000_000
# Payload of a packet, and its headers: HPCC's, which carry its telemetry.
PACKET, WIRE = 1000, {"dcqcn": 1048, "hpcc": 1090}

HEAD = """
[topology]
kind = "star"
hosts = {hosts}
link_rate = "100Gbps"
link_delay = "3us"
[host]
jitter = "0ns"
[transport]
payload = "1000B"
header = "48B"
rto = "path"
[scheme]
name = "{control}+ecmp"
[scheme.intra]
recovery = "{recovery}"
[scheme.ports]
pool = {{ size = "16MiB", alpha = 0.125, reserve = "4KiB" }}
pfc = {{ links = "{pauses}" }}
[stop]
time = "4s"
"""
LONE = HEAD + """
[[workload]]
kind = "pairs"
pairs = [[0, 1]]
flow_size = "{size}B"
[[fault]]
kind = "loss"
link = "host0->tor0#0"
probability = {loss}
packets = "data"
"""
INCAST = HEAD + """
[[workload]]
kind = "incast"
receiver = {senders}
degree = {senders}
flow_size = "{size}B"
spread = "12us"
"""


def cells():
    for control, loss, recovery in itertools.product(CONTROLS, LOSSES, RECOVERIES):
        text = LONE.format(hosts=2, control=control, recovery=recovery, pauses="none", size=MESSAGE, loss=loss)
        yield f"lone {control} {loss:g} {recovery}", text if loss else text[: text.index("[[fault]]")]
    for control, senders in itertools.product(CONTROLS, SENDERS):
        for pauses, recovery in (("all", "go_back_n"), ("none", "go_back_n"), ("none", "rack")):
            ports = "pauses" if pauses == "all" else "drops"
            yield (
                f"incast {control} {senders} {ports} {recovery}",
                INCAST.format(hosts=senders + 1, control=control, recovery=recovery, pauses=pauses, senders=senders, size=SHARE),
            )


def run(farspan, text, seed):
    found = study.document(farspan, text, "--seed", seed)
    fct = found["fct"]["all"]
    return {
        "mean_us": fct["mean_us"], "max_us": fct["max_us"], "unfinished": fct["unfinished"],
        "resent": found["bytes"]["retransmitted"] / found["bytes"]["payload"],
        "timeouts": found["recovery"]["timeouts"], "nacks": found["recovery"]["nacks"], "pauses": found.get("pfc", {}).get("pauses", 0),
    }  # fmt: skip


def median(runs, name):
    values = [value for one in runs if (value := one[name]) is not None]
    return statistics.median(values) if len(values) == len(runs) else None


def shown(value, form):
    return "never" if value is None else format(value, form)


def lone(kept):
    """A row a control and loss: how much of the line's payload arrives, by recovery, and what go-back-N sends again."""
    lines = []
    for control, loss in itertools.product(CONTROLS, LOSSES):
        runs = {recovery: kept[f"lone {control} {loss:g} {recovery}"] for recovery in RECOVERIES}
        line = 100e9 / 8 * PACKET / WIRE[control]
        # A flow ends a round trip after its last byte has left.
        part = lambda recovery: MESSAGE / ((median(runs[recovery], "mean_us") - RTT_US) * 1e-6) / line
        resent = [f"{median(runs[recovery], 'resent'):.2%}" for recovery in RECOVERIES]
        lines.append([control, f"{loss:g}", *(f"{part(recovery):.1%}" for recovery in RECOVERIES), *resent])
    names = list(RECOVERIES.values())
    return study.table(["", "loss", *names, *(f"sent again: {name}" for name in names)], lines)


def incast(kept):
    """A row a control and degree: mean and slowest completion of pausing ports, and of dropping ones by recovery."""
    lines = []
    for control, senders in itertools.product(CONTROLS, SENDERS):
        arms = [kept[f"incast {control} {senders} {arm}"] for arm in ("pauses go_back_n", "drops go_back_n", "drops rack")]
        times = [shown(median(arm, name), ".0f") for arm in arms for name in ("mean_us", "max_us")]
        lines.append([control, str(senders), *(f"{mean} / {slowest}" for mean, slowest in zip(times[::2], times[1::2]))])
        lines[-1] += [f"{median(arms[0], 'pauses'):.0f}", *(f"{median(arm, 'resent'):.1%}, {median(arm, 'timeouts'):.0f}" for arm in arms[1:])]
    head = ["", "senders", "pauses", "drops, go-back-N", "drops, selective repeat", "pauses sent"]
    return study.table([*head, "go-back-N: sent again, time-outs", "selective repeat"], lines)


def measured(options):
    kept, cases = {}, {(name, seed): (text, seed) for name, text in cells() for seed in range(1, SEEDS + 1)}
    for (name, _), one in study.each(options, run, cases):
        kept.setdefault(name, []).append(one)
    return kept


def parts(kept):
    return {"lone": lone(kept), "incast": incast(kept)}


if __name__ == "__main__":
    study.Study(__file__, "schemes/go-back-n.md", sort=True).main(measured, parts)
