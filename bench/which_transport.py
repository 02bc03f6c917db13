"""Transports over a WAN by round trip, loss and buffer, and inside a site by buffer: the tables of docs/src/which-transport.md.

usage: which_transport.py FARSPAN [--jobs N] [--out DIR]     runs four sweeps into DIR, where what is complete is not run again,
                                                             keeps the numbers in bench/which_transport.json, and writes the page
       which_transport.py [--check]                          writes the page from the kept numbers (or compares it)

795 runs, half an hour of CPU time.
"""
import json
import math
import pathlib
import statistics
import subprocess

import study

WAN = "uno,uno-noec,gemini,bbr,cubic,vegas,dctcp,swift,oscar,hpcc,nscc+reps"
SITE = "uno-noec,gemini,dctcp,swift,timely,hpcc,powertcp,oscar,poseidon,dcqcn,nscc+reps,ndp,cubic"
RTTS, LOSSES, BUFFERS = ["1ms", "10ms", "40ms", "100ms"], [0, 0.0001, 0.001, 0.01], ["1MB", "10MB", "100MB"]
SITE_BUFFERS = ["256KiB", "1MiB"]
LOSS = "fault[0].probability"
SWEEPS = {
    "wan": ["wan.toml", "--scheme", WAN, "--grid", f"topology.wan.rtt={','.join(RTTS)}",
            "--grid", f"{LOSS}={','.join(map(str, LOSSES))}", "--seeds", "1..3"],
    "startup": ["wan.toml", "--scheme", "bbr", "--set", "fault[0].at=1s", "--grid", f"{LOSS}={','.join(map(str, LOSSES))}",
                "--seeds", "1..3"],
    "buffer": ["wan.toml", "--scheme", WAN, "--set", f"{LOSS}=0", "--grid", f"topology.wan.buffer={','.join(BUFFERS)}",
               "--seeds", "1..3"],
    "site": ["topology/leaf-spine", "--scheme", SITE, "--set", "workload.load=0.6", "--set", "workload.flows=3000",
             "--set", "measure.warmup=5ms", "--grid", f"topology.buffer={','.join(SITE_BUFFERS)}", "--seeds", "1..6"],
}
# A share below this is next to nothing.
DONE = 0.01
# Both links of the WAN in wan.toml.
CAPACITY = 20e9


def capacity_share(row):
    """Payload of all transfers until the last one ended, as a part of what the WAN carries in that time; 0 if one did not end."""
    end = row["fct_all_max_us"]
    return row["bytes_payload"] * 8 / (end * 1e-6) / CAPACITY if end and not row["fct_all_unfinished"] else 0.0


# Each sweep's columns that name a point, and what is kept of a run.
KEEP = {
    "wan": (["topology.wan.rtt", LOSS], {"share": capacity_share, "efficiency": lambda row: row["bytes_efficiency"]}),
    "startup": ([LOSS], {"share": capacity_share}),
    "buffer": (["topology.wan.buffer"], {"share": capacity_share, "delay_us": lambda row: row["queues_packet_delay_p99_us"]}),
    "site": (["topology.buffer"], {"p99": lambda row: row["fct_all_slowdown_p99"], "delay_us": lambda row: row["queues_packet_delay_p99_us"]}),
}


def run(farspan, name, out, jobs):
    """The rows of a sweep: one a point, with the median over the seeds of what is kept. A null counts as infinite."""
    words = [farspan, "sweep", *SWEEPS[name], "--jobs", str(jobs), "--quiet", "--json", "-o", (out / name).resolve()]
    done = subprocess.run(words, cwd=study.BOOK / "which-transport", check=True, capture_output=True, text=True)
    axes, kept = KEEP[name]
    points = {}
    for row in json.loads(done.stdout)["rows"]:
        if row["status"] != "done":
            raise SystemExit(f"which_transport.py: a run of {name} is {row['status']}: {row['error']}")
        points.setdefault((row["scheme"], *(row[axis] for axis in axes)), []).append(row)
    for key, rows in points.items():
        values = {}
        for column, of in kept.items():
            middle = statistics.median(math.inf if of(row) is None else of(row) for row in rows)
            values[column] = None if math.isinf(middle) else round(middle, 4)
        yield {"at": list(key), "seeds": len(rows), **values}


def cells(kept, name, column, write):
    """A row a scheme, a column a point; the best of a column, and what is within 5% of it, in bold. A run that is not done, or carries
    next to nothing, has no other number than its share."""
    rows = kept[name]
    schemes = list(dict.fromkeys(row["at"][0] for row in rows))
    points = list(dict.fromkeys(tuple(row["at"][1:]) for row in rows))
    value = {tuple(row["at"]): row[column] for row in rows if column == "share" or row.get("share", 1) >= DONE}
    more = column in ("share", "efficiency")
    for scheme in schemes:
        line = []
        for point in points:
            mine, known = value.get((scheme, *point)), [value[(other, *point)] for other in schemes if value.get((other, *point))]
            best = bool(known) and bool(mine) and (mine >= 0.95 * max(known) if more else mine <= 1.05 * min(known))
            text = write(mine)
            line.append((point, f"**{text}**" if best else text))
        yield scheme, line


def share(value):
    return "not done" if not value else "<1%" if value < DONE else f"{value:.0%}"


def delay(value):
    return "-" if value is None else f"{value / 1000:.2g} ms" if value >= 1000 else f"{value:.3g} us"


def tables(kept):
    """Part of the page -> table."""
    by_scheme = list(cells(kept, "wan", "share", share))
    for rtt in RTTS:
        rows = [[f"`{scheme}`", *(text for point, text in line if point[0] == rtt)] for scheme, line in by_scheme]
        yield f"wan {rtt}", study.table(["scheme", *(f"loss {loss:.2%}" if loss else "no loss" for loss in LOSSES)], rows)
    sent = list(cells(kept, "wan", "efficiency", lambda value: "-" if value is None else f"{value:.0%}"))
    rows = [[f"`{scheme}`", *(text for (_, loss), text in line if loss == LOSSES[0])] for scheme, line in sent]
    yield "efficiency", study.table(["scheme", *RTTS], rows)
    always = {point: text for scheme, line in by_scheme if scheme == "bbr" for point, text in line}
    late = [text for _, line in cells(kept, "startup", "share", share) for _, text in line]
    plain = [["from the start", *(always[("40ms", loss)].strip("*") for loss in LOSSES)], ["after 1 s", *(text.strip("*") for text in late)]]
    yield "startup", study.table(["random loss", *(f"loss {loss:.2%}" if loss else "no loss" for loss in LOSSES)], plain)
    shares, delays = (list(cells(kept, "buffer", column, write)) for column, write in (("share", share), ("delay_us", delay)))
    rows = [[f"`{scheme}`", *(text for _, text in line), *(text for _, text in more)] for (scheme, line), (_, more) in zip(shares, delays)]
    head = ["scheme", *BUFFERS, *(f"{buffer}: delay, p99" for buffer in BUFFERS)]
    yield "buffer", study.table(head, rows)
    slow, waits = (list(cells(kept, "site", column, write)) for column, write in
                   (("p99", lambda value: "-" if value is None else f"{value:.3g}"), ("delay_us", delay)))
    rows = [[f"`{scheme}`", *(text for _, text in line), *(text for _, text in more)] for (scheme, line), (_, more) in zip(slow, waits)]
    yield "site", study.table(["scheme", *SITE_BUFFERS, *(f"{buffer}: delay, p99" for buffer in SITE_BUFFERS)], rows)


def measured(options):
    return {name: list(run(options.farspan, name, options.out, options.jobs)) for name in SWEEPS}


if __name__ == "__main__":
    study.Study(__file__, "which-transport.md", levels=2).main(measured, tables, out=pathlib.Path("out/which-transport"))
