"""The plot and the tables of what loss detectors miss and make up, from what bench/detector.py printed."""
import csv
import math
import statistics

import chart

NAMES = {"per_path": "numbers per path", "per_flow": "numbers per flow, adaptive", "threshold_3": "numbers per flow, threshold of three"}
# Student's t of a two-sided 95% interval, by the number of seeds.
T_95 = {5: 2.776, 10: 2.262, 20: 2.093}
# What a plot shows as nothing, in errors per 10,000 packets.
LEAST = 0.01


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def errors(row):
    """Missed and false losses in 10,000 packets."""
    return 1e4 * (int(row["missed"]) + int(row["false"])) / int(row["packets"])


def chosen(rows, **wanted):
    """The rows with these values; a window is asked of numbers per flow alone."""
    fits = lambda row, key: float(row[key]) == wanted[key] or (key == "window" and row["kind"] == "per_path")
    return [row for row in rows if all(fits(row, key) for key in wanted)]


def plot(rows, lab):
    """The errors over reordering, losses and bytes of state."""
    def panel(title, x_label, column, **wanted):
        of = lambda kind: [(float(row[column]), max(errors(row), LEAST)) for row in chosen(rows, **wanted) if row["kind"] == kind]
        lines = {name: of(kind) for kind, name in reversed(NAMES.items())}
        return chart.panel(title, x_label, "errors in 10,000 packets", lines, x_log=True, y_log=True)
    return chart.svg(lab, "Errors of loss detectors", [
        panel("1% of packets lost", "rate of slow uplinks (Gb/s)", "rate_gbps", loss_rate=0.01, window=1024),
        panel("slow uplinks at 15 Gb/s", "loss rate", "loss_rate", rate_gbps=15, window=1024),
        panel("15 Gb/s, 1% of packets lost", "state (bytes)", "bytes", rate_gbps=15, loss_rate=0.01),
    ], [f"Errors: missed and false losses. {LEAST} stands for none; 10,000 is all."])


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])


def cells(row):
    return [f"{int(row['missed']):,} + {int(row['false']):,}", row["delivery_ms"]]


def by_reordering(rows):
    """Each rate of the slow uplinks and loss rate."""
    heads = ["slow uplinks, Gb/s", "lost", "losses",
             *(f"{name}: {what}" for name in ("per path", "adaptive", "threshold") for what in ("missed + false", "delivery, ms"))]
    lines = {}
    for row in chosen(rows, window=1024):
        lost = f"{100 * float(row['loss_rate']):g}%"
        lines.setdefault((row["rate_gbps"], lost), [row["rate_gbps"], lost, f"{int(row['losses']):,}"]).extend(cells(row))
    return table(heads, lines.values())


def paired(of, over):
    """The ratio of the errors of two rows, seed by seed, with its 95% interval (Student's, of logarithms; none counts as a half)."""
    pairs = zip(*([int(one) + 0.5 for one in row["errors"].split()] for row in (of, over)))
    logs = [math.log(a / b) for a, b in pairs]
    half = T_95[len(logs)] * statistics.stdev(logs) / math.sqrt(len(logs))
    low, middle, high = (math.exp(statistics.mean(logs) + shift) for shift in (-half, 0, half))
    return f"{middle:.2g} [{low:.2g}, {high:.2g}]"


def by_window(rows):
    """Each window, with slow uplinks at 15 Gb/s; its errors over those of the smallest threshold with at least as many bytes."""
    heads = ["window", *(f"{name}: {what}" for name in ("adaptive", "threshold") for what in ("bytes", "missed + false", "delivery, ms")),
             "adaptive / threshold with as many bytes or more"]
    of = lambda kind: [row for row in chosen(rows, rate_gbps=15, loss_rate=0.01) if row["kind"] == kind]
    lines = []
    for adaptive, threshold in zip(of("per_flow"), of("threshold_3")):
        larger = [row for row in of("threshold_3") if int(row["bytes"]) >= int(adaptive["bytes"])]
        ratio = paired(adaptive, larger[0]) if larger else "-"
        lines.append([adaptive["window"], *(cell for row in (adaptive, threshold) for cell in (row["bytes"], *cells(row))), ratio])
    return table(heads, lines)
