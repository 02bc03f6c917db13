"""How long OSCAR's long flow needs to take its link back, by where in one of its batches a burst of short flows ends. In the simulator, and in
the model of bench/oscar_model.py, which shares no code with it. Writes the tables of docs/src/schemes/oscar.md.

usage: oscar_phase.py FARSPAN [--jobs N]     runs all, keeps the numbers in bench/oscar_phase.json and writes the page
       oscar_phase.py --model                the same with the model alone
       oscar_phase.py [--check]              writes the page from the kept numbers (or compares it)

336 runs of the simulator and 672 of the model, ten minutes on two cores. Hosts and ports have no jitter here, so that runs differ by
nothing but the end.
"""
import json
import math
import pathlib
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor

import oscar_model
import study

PROFILES = ["paper", "artifact"]
SHORTS = [1, 9, 31]
LINE_RATE = 100e9
# A slope that stands for no bound: 1 / (1 + slope) is finite still.
UNBOUNDED = -0.99
# The fast ends, us.
SOON = 45


def key(profile, shorts, since):
    return f"{profile} {shorts} {since:.0f}"


def simulate(farspan, profile, shorts, end, until):
    """When packets of the long flow came to the receiver, in us, and what its sender logged. The short flows' links go down at the end,
    as in figure 7."""
    senders = list(range(1, shorts + 1))
    faults = "[" + ", ".join(f'{{kind="link_down", link="host{host}->tor0#0", at="{end * 1000:.0f}ns"}}' for host in senders) + "]"
    settings = [
        "workload[0].flow_size=1GB", "workload[1].flow_size=1GB", f"workload[1].senders={senders}", "host.jitter=0ns",
        "topology.jitter=0ns", "probes.rate_interval=off", "probes.queue_interval=off", f"stop.time={until * 1000:.0f}ns",
        *([f"fault={faults}"] if end < until else []),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        words = ["--profile", profile, "--out", folder, "--force", "--trace", "flow=0"]
        study.checked(study.run(farspan, "oscar/convergence", *words, settings=settings))
        logs = pathlib.Path(folder) / "trace"
        received = list(events(logs / "flow-0-receiver.sqlog", ["packet_received"]))
        sender = list(events(logs / "flow-0.sqlog", ["packet_sent", "packets_acked", "recovery_metrics_updated"]))
    return [event["time"] * 1e3 for event in received], sender


def events(path, names):
    """The events of these names in a log, whose records begin with a record separator."""
    marks = [f'"name":"quic:{name}"' for name in names]
    with path.open() as lines:
        yield from (json.loads(line.lstrip("\x1e")) for line in lines if any(mark in line for mark in marks))


def batch(farspan, profile, shorts, since):
    """When the packets of the first batch of the long flow after a time began to leave, and the batch's length."""
    constants = oscar_model.PROFILES[profile]
    _, sender = simulate(farspan, profile, shorts, 1e9, since + 200)
    sent, begin, at, count, begins = {}, 0.0, 0.0, 0, []
    for event in sender:
        data = event["data"]
        if "header" in data:
            sent[data["header"]["packet_number"]] = event["time"] * 1e3
            continue
        if "packet_numbers" in data:
            at, count = sent[data["packet_numbers"][0]], count + 1
            if count == 1 and constants["own_start"]:
                begin = at
        # A new rate says that a batch has ended; where the rate stays as it is, algorithm 1 says it.
        if "pacing_rate" in data or (count >= 3 and at - begin >= constants["tau"]):
            begin, count = at, 0
            begins.append(begin)
    begins = sorted({begin for begin in begins if begin >= since})
    return begins[0], begins[1] - begins[0]


def simulated(farspan, profile, shorts, since):
    """As the model's sweep."""
    begin, length = batch(farspan, profile, shorts, since)
    found = []
    for step in range(oscar_model.STEPS):
        end = round(begin + length * step / oscar_model.STEPS, 3)
        arrivals, sender = simulate(farspan, profile, shorts, end, end + oscar_model.AFTER)
        early = [event for event in sender if event["time"] * 1e3 <= end + oscar_model.EARLY]
        rates = [event["data"]["pacing_rate"] for event in early if "pacing_rate" in event["data"]]
        found.append((oscar_model.back(arrivals, end), rates[-1] / LINE_RATE))
    return found, length


def kept_form(found, length):
    return {
        "us": [None if us is None else round(us, 1) for us, *_ in found],
        "share": [round(share, 3) for _, share, *_ in found],
        "inside": [round(inside[0], 3) for _, _, *inside in found if inside],
        "batch_us": round(length, 2),
    }


def modelled(profile, shorts, since):
    """The model's sweep, and where it matters the one in which slopes have no bound."""
    constants = oscar_model.PROFILES[profile]
    return {
        "model": kept_form(*oscar_model.sweep(constants, shorts, since)),
        "unbounded": kept_form(*oscar_model.sweep(constants | {"steepest": UNBOUNDED}, shorts, since)),
    }


def in_simulator(farspan, *cell):
    return {"simulator": kept_form(*simulated(farspan, *cell))}


def phases(kept, profile):
    """A row a phase of the first sweep: the times, and in brackets the share of the line rate early on."""
    rows = []
    for step in range(oscar_model.STEPS):
        row = [f"{step / oscar_model.STEPS:.2f}"]
        for shorts in SHORTS:
            cell = kept[key(profile, shorts, oscar_model.SWEEPS[0])]
            row.append(f"{cell['model']['inside'][step]:.2f}")
            row += [f"{shown(cell[who]['us'][step])} ({cell[who]['share'][step]:.2f})" for who in ("model", "simulator")]
        rows.append(row)
    head = [f"{shorts}: {what}" for shorts in SHORTS for what in ("in the drain", "model", "simulator")]
    return study.table(["phase", *head], rows)


def shown(us):
    return "never" if us is None else f"{us:.0f}"


def spread(kept):
    """A row a profile and number of flows: over all ends of all sweeps."""
    rows = []
    for profile, shorts in ((profile, shorts) for profile in PROFILES for shorts in SHORTS):
        row = [f"`{profile}`", str(shorts)]
        for who in ("model", "simulator", "unbounded"):
            cells = [kept[key(profile, shorts, since)][who] for since in oscar_model.SWEEPS]
            times = sorted(math.inf if us is None else us for cell in cells for us in cell["us"])
            soon = sum(us <= SOON for us in times) / len(times)
            row += [f"{times[len(times) // 10]:.0f}, {statistics.median(times):.0f}, {times[-1 - len(times) // 10]:.0f}", f"{soon:.0%}"]
        rows.append(row)
    head = [what for who in ("model", "simulator", "model, no bound") for what in (who, f"within {SOON} us")]
    return study.table(["", "short flows", *head], rows)


def parts(kept):
    return {**{profile: phases(kept, profile) for profile in PROFILES}, "spread": spread(kept)}


def main():
    phase = study.Study(__file__, "schemes/oscar.md", sort=True)
    options = study.arguments(optional=True, jobs=2, model=False, check=False)
    if options.farspan or options.model:
        kept = phase.kept(is_first=True)
        cells = [(profile, shorts, since) for profile in PROFILES for shorts in SHORTS for since in oscar_model.SWEEPS]
        with ProcessPoolExecutor(options.jobs) as pool:
            jobs = [(cell, pool.submit(modelled, *cell)) for cell in cells]
            if options.farspan:
                jobs += [(cell, pool.submit(in_simulator, options.farspan, *cell)) for cell in cells]
            for cell, job in jobs:
                kept.setdefault(key(*cell), {}).update(job.result())
        phase.keep(kept)
    phase.write(parts(phase.kept()), options.check)


if __name__ == "__main__":
    main()
