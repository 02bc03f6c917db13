"""The plot and the tables of what loss detectors miss and make up, from what bench/detector.py printed."""
import csv
import math
import statistics

NAMES = {"per_path": "numbers per path", "per_flow": "numbers per flow, adaptive", "threshold_3": "numbers per flow, threshold of three"}
COLOURS = {"per_path": "#2da44e", "per_flow": "#1f6feb", "threshold_3": "#cf222e"}
# Student's t of a two-sided 95% interval, by the number of seeds.
T_95 = {5: 2.776, 10: 2.262, 20: 2.093}
# What a plot shows as nothing, and its largest value, in errors per 10,000 packets.
LEAST, MOST = 1e-2, 1e4
TOP, BOTTOM, WIDTH = 40, 210, 225


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


def height(value):
    share = math.log(max(value, LEAST) / LEAST) / math.log(MOST / LEAST)
    return BOTTOM - share * (BOTTOM - TOP)


def panel(rows, column, title, left):
    """Errors over one column, whose values stand at equal distances."""
    values = sorted({float(row[column]) for row in rows})
    x = lambda value: left + 12 + values.index(value) * (WIDTH - 24) / (len(values) - 1)
    parts = [f'<text x="{left}" y="{TOP - 20}" font-weight="bold">{title}</text>',
             f'<path d="M{left} {TOP - 6}V{BOTTOM}H{left + WIDTH}" fill="none" stroke="#888"/>']
    for value, text in ((LEAST, "0"), (1, "1"), (100, "100"), (MOST, "all")):
        parts.append(f'<text x="{left - 5}" y="{height(value) + 4:.1f}" text-anchor="end">{text}</text>')
    for value in values:
        parts.append(f'<text x="{x(value):.1f}" y="{BOTTOM + 15}" text-anchor="middle">{value:g}</text>')
    for kind in reversed(NAMES):
        points = [(x(float(row[column])), height(errors(row))) for row in rows if row["kind"] == kind]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[kind]}" stroke-width="1.5"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{COLOURS[kind]}"/>' for a, b in points]
    return parts


def plot(rows):
    panels = (
        (chosen(rows, loss_rate=0.01, window=1024), "rate_gbps", "over the rate of slow uplinks, Gb/s (1% lost)"),
        (chosen(rows, rate_gbps=15, window=1024), "loss_rate", "over the loss rate (slow uplinks at 15 Gb/s)"),
        (chosen(rows, rate_gbps=15, loss_rate=0.01), "bytes", "over bytes of state (15 Gb/s, 1% lost)"),
    )
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 262" font-family="sans-serif" font-size="11">',
             '<rect width="960" height="262" fill="white"/>',
             f'<text x="45" y="{TOP - 28}" fill="#666" font-size="10">missed and false losses in 10,000 packets</text>']
    for i, (points, column, title) in enumerate(panels):
        parts += panel(points, column, title, 45 + i * 310)
    for i, (kind, name) in enumerate(NAMES.items()):
        parts.append(f'<path d="M{150 + i * 230} 248h18" stroke="{COLOURS[kind]}" stroke-width="2"/><text x="{174 + i * 230}" y="252">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


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
