"""Pictures of the book that come from small runs: what a paired ratio is, and the figure of a sweep. Their pages have the commands."""
import json
import math
import pathlib
import shlex
import tempfile

SELECTORS = "uno/permutation --set topology.k=4 --quiet"
PAIRED = f"run {SELECTORS} --scheme unocc+ecmp,unocc+rps,unocc+plb --set workload.flow_size=1MiB --seeds 1..10 --json"
SWEPT = f"run {SELECTORS} --scheme unocc+ecmp,unocc+rps,unocc+unolb --grid workload.flow_size=64KiB,128KiB,256KiB,512KiB,1MiB --seeds 1..6"
FIGURE = "--x workload.flow_size --y fct.intra.slowdown_mean --x-label 'flow size (KiB)' --y-label 'mean slowdown of intra flows'"
LEFT, WIDTH, BETWEEN, TOP = 70, 330, 9, 62
DOT, MEDIAN, INTERVAL = "#0072b2", "#d55e00", "#fbe3d3"


def excludes_one(spread):
    return spread["ci_low"] > 1 or spread["ci_high"] < 1


def row(name, spread, top, x):
    """One scheme over the baseline: a dot a seed, from the first seed down, over its median and interval."""
    seeds = [one for one in spread["ratios"] if one["ratio"]]
    height = BETWEEN * (len(seeds) + 1)
    low, high, median = x(spread["ci_low"]), x(spread["ci_high"]), x(spread["median"])
    verdict = "the interval excludes 1" if excludes_one(spread) else "the interval contains 1: no difference"
    text = f'{name}: {spread["median"]:.2f} [{spread["ci_low"]:.2f}, {spread["ci_high"]:.2f}], {verdict}'
    parts = [f'<text x="{LEFT}" y="{top - 6}" stroke="white" stroke-width="4" paint-order="stroke">{text}</text>',
             f'<rect x="{low:.1f}" y="{top}" width="{high - low:.1f}" height="{height}" fill="{INTERVAL}"/>',
             f'<path d="M{median:.1f} {top}v{height}" stroke="{MEDIAN}" stroke-width="2"/>']
    for i, one in enumerate(seeds, 1):
        parts.append(f'<circle cx="{x(one["ratio"]):.1f}" cy="{top + BETWEEN * i}" r="3.2" fill="{DOT}"/>')
    parts += [f'<text x="{LEFT - 8}" y="{top + BETWEEN * i + 4}" text-anchor="end" fill="#555" font-size="10">seed {seeds[i - 1]["seed"]}</text>' for i in (1, len(seeds))]
    return parts, top + height


def paired(comparison, path, title):
    """The ratios of a number over the baseline, seed by seed."""
    rows = []
    for one in comparison["ratios"]:
        spread = one["fields"]
        for key in path.split("."):
            spread = spread[key]
        rows.append((one["name"], spread))
    ratios = [one["ratio"] for _, spread in rows for one in spread["ratios"] if one["ratio"]]
    low, high = (round_to(math.log2(end)) for round_to, end in ((math.floor, min(1, *ratios)), (math.ceil, max(1, *ratios))))
    x = lambda ratio: LEFT + WIDTH * (math.log2(ratio) - low) / (high - low)
    drawn, bottom = [], TOP
    for name, spread in rows:
        parts, end = row(name, spread, bottom, x)
        drawn, bottom = [*drawn, *parts], end + 30
    bottom -= 22
    ticks = [f'<path d="M{x(2.0**n):.1f} {TOP - 20}V{bottom}" stroke="{"#333" if n == 0 else "#ddd"}"/><text x="{x(2.0**n):.1f}" y="{bottom + 15}" text-anchor="middle">{2.0**n:g}</text>'
             for n in range(low, high + 1)]
    size = f'{LEFT + WIDTH + 40} {bottom + 42}'
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="12">',
            f'<rect width="{size.split()[0]}" height="{size.split()[1]}" fill="white"/>', f'<text x="10" y="20" font-weight="bold">{title}</text>']
    foot = [f'<text x="{LEFT}" y="{bottom + 33}" fill="#555">dot: one seed; line: median; band: 95% interval</text>']
    return "\n".join([*head, *ticks, *drawn, *foot, "</svg>", ""])


def pictures(farspan):
    """Each file of the book with its text, by the command `farspan`, which takes words and gives its output."""
    with tempfile.TemporaryDirectory() as folder:
        found = json.loads(farspan(*PAIRED.split(), "--out", f"{folder}/paired"))["comparisons"][0]
        yield "images/paired-ratio.svg", paired(found, "fct.intra.slowdown_mean", f'Mean slowdown of intra flows, ratio to {found["baseline"]}')
        farspan(*SWEPT.split(), "--out", f"{folder}/sizes")
        drawn = pathlib.Path(folder, "sizes.svg")
        farspan("plot", f"{folder}/sizes", *shlex.split(FIGURE), "-o", str(drawn))
        yield "images/sweep-figure.svg", drawn.read_text()
