"""The page of published.py, from the numbers that it kept: docs/src/published-code.md."""
import json
import math
import statistics
import sys

import study

NUMBERS = study.HERE / "published.json"
PAGE = study.BOOK / "published-code.md"
# Quantiles of Student's t at 97.5%, by degrees of freedom.
STUDENT = ((1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (6, 2.447), (8, 2.306), (10, 2.228), (15, 2.131), (20, 2.086),
           (30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980))
BANDS = {"mean_us": ("mean", 0.15), "p99_us": ("p99", 0.25)}
FIGURES = {
    "8": ("incasts, sprayed", "All schemes spray at random."),
    "9": ("permutation", "UnoLB under `uno`, ECMP under the others; no coding."),
    "10": ("web search and storage", "The schemes of figure 9 with the other constants of these runs; no coding."),
    "13": ("a dead border link", "UnoCC under random spraying (`uno-rps`), PLB (`uno-plb`) or UnoLB, with (8, 2) coding in `uno` and `-ec`."),
}


def keep(name, scheme, rows, changed, cpu_s, farspan):
    """Keeps the numbers of a scheme in a case in place of those that it had."""
    numbers = read()
    for key, new in (("rows", rows), ("changes", changed)):
        others = [row for row in numbers[key] if (row["name"], row["scheme"]) != (name, scheme)]
        numbers[key] = others + new
    numbers["cpu_s"][f"{name} {scheme}"] = {side: round(seconds, 1) for side, seconds in cpu_s.items()}
    numbers["farspan"][f"{name} {scheme}"] = farspan
    NUMBERS.write_text(study.as_json(numbers, levels=2))


def read():
    empty = {"published": "spcl/Uno_SC25, commit 68d164e", "rows": [], "changes": [], "cpu_s": {}, "farspan": {}}
    return json.loads(NUMBERS.read_text()) if NUMBERS.is_file() else empty


def ratio(row, key):
    """Ours over theirs, of the means over seeds."""
    return statistics.fmean(row["ours"][key]) / statistics.fmean(row["theirs"][key])


def interval(row, key):
    """Student's 95% interval of a ratio over seeds that are drawn apart, as (low, high), with Welch's degrees of freedom; None with a
    single seed."""
    values = [row[side][key] for side in ("ours", "theirs")]
    if not all(len(of) > 1 for of in values):
        return None
    variances = [statistics.variance(of) / len(of) / statistics.fmean(of) ** 2 for of in values]
    if not any(variances):
        return (ratio(row, key),) * 2
    error = math.sqrt(sum(variances))
    degrees = sum(variances) ** 2 / sum(variance**2 / (len(of) - 1) for variance, of in zip(variances, values))
    quantile = student(degrees)
    return tuple(ratio(row, key) * math.exp(sign * quantile * error) for sign in (-1, 1))


def student(degrees):
    """The quantile of the largest listed degree not above: never too narrow."""
    return [quantile for least, quantile in STUDENT if least <= degrees + 1e-9][-1]


def of_seeds(row, key):
    """Whether other seeds could well have given a ratio in its band."""
    found, band = interval(row, key), BANDS[key][1]
    return found is not None and found[0] <= 1 + band and found[1] >= 1 - band


def within(row, key):
    return abs(ratio(row, key) - 1) <= BANDS[key][1]


def time(values):
    """The mean over seeds, in ms from 1 ms on."""
    value = statistics.fmean(values)
    return f"{value / 1000:.4g} ms" if value >= 1000 else f"{value:.3g} us"


def spread(values):
    """How far the seeds lie apart: half the range over the mean."""
    return "" if len(values) < 2 else f" ± {(max(values) - min(values)) / 2 / statistics.fmean(values):.0%}"


def counts(rows):
    """Of each band, how many ratios there are and how many are inside; the p99 of a single flow is its mean, and not counted again."""
    judged = {key: [row for row in rows if key in keys(row)] for key in BANDS}
    return {key: (sum(within(row, key) for row in of), len(of)) for key, of in judged.items()}


def keys(row):
    return [key for key in BANDS if key == "mean_us" or row["flows"] > 1]


def plural(many, word):
    return f"{many} {word}{'s' * (many != 1)}"


def listed(words):
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def summary(rows):
    runs = sum(len(seeds) for seeds in {(row["name"], row["scheme"]): row["seeds"]["ours"] for row in rows}.values())
    cases = len({row["name"] for row in rows})
    got = counts(rows)
    said = [f"**{got[key][0]} of {got[key][1]} {name}s are within {band:.0%}**" for key, (name, band) in BANDS.items()]
    of = listed(sorted({row["figure"] for row in rows}, key=int))
    return f"Of {plural(cases, 'case')} of figures {of} ({runs} runs of each code), {listed(said)} of the published code's own."


def size(count):
    value, unit = next((count / scale, unit) for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")) if count >= scale)
    return f"{value:.4g} {unit}"


def sizes(of):
    return " to ".join(size(count) for count in dict.fromkeys(of["bytes"]))


def flow_list(row):
    """How many flows ran and of what size, and what the published list has where that is another."""
    run, published = row["list"]["run"], row["list"]["published"]
    many = str(run["flows"]) if run["flows"] == published["flows"] else f"the first {run['flows']} of {published['flows']}"
    kept = run["flows"] != published["flows"] or run["bytes"] == published["bytes"]
    return [many, sizes(run) if kept else f"{sizes(run)}, published {sizes(published)}"]


def seeds(of):
    """Seeds in a row, from the first to the last."""
    return str(of[0]) if len(of) == 1 else f"{of[0]} to {of[-1]}"


def compared(rows):
    """A line for each case, flow list and seeds that were run."""
    lines = ["| figure, case | flow list | flows | bytes a flow | seeds, published | seeds, farspan | schemes |", "|---|---|---|---|---|---|---|"]
    of = {}
    for row in rows:
        ran = (f"{row['figure']}, {row['case']}", f"`{row['list']['file']}`", *flow_list(row), *(seeds(row["seeds"][side]) for side in ("theirs", "ours")))
        of.setdefault(ran, {})[f"`{row['scheme']}`"] = True
    return lines + ["| " + " | ".join([*ran, ", ".join(schemes)]) + " |" for ran, schemes in of.items()]


def not_run(rows, cases):
    """The sentence of what could be run but has not been kept."""
    kept = {(row["name"], row["scheme"]) for row in rows}
    missing = []
    for case in cases:
        left = [scheme for scheme in case.schemes if (case.name, scheme) not in kept]
        under = "" if len(left) == len(case.schemes) else f" under {listed([f'`{scheme}`' for scheme in left])}" if left else ""
        missing += [f"figure {case.figure}, {case.title}{under}"] if left else []
    return ["", f"Not run: {'; '.join(missing)}."] if missing else []


def table(rows):
    lines = ["| case | scheme | class | flows | mean, published | mean, farspan | ratio | p99, published | p99, farspan | ratio |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["case"], f"`{row['scheme']}`", row["class"], str(row["flows"])]
        for key in BANDS:
            value = f"{ratio(row, key):.2f}"
            judged = [*(time(row[side][key]) + spread(row[side][key]) for side in ("theirs", "ours")),
                      value if within(row, key) else f"**{value}**"]
            cells += judged if key in keys(row) else [""] * 3
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def figures(rows):
    lines = []
    for figure, (title, note) in FIGURES.items():
        of = [row for row in rows if row["figure"] == figure]
        if of:
            said = [f"{many} of {plural(total, name)}" for (name, _), (many, total) in zip(BANDS.values(), counts(of).values())]
            lines += [f"### Figure {figure}: {title}", "", f"{note} In their bands: {listed(said)}.", "", *table(of), ""]
    return lines[:-1]


def outside(rows, changed):
    """A line for each ratio that is outside, with its cause; the section is left out where there is none."""
    lines = []
    for row in rows:
        for key in keys(row):
            if not within(row, key):
                found = interval(row, key)
                cells = [f"{row['figure']}, {row['case']}", f"`{row['scheme']}`", row["class"], BANDS[key][0], f"{ratio(row, key):.2f}"]
                cells += ["one seed" if found is None else f"{found[0]:.2f} to {found[1]:.2f}", cause(row, key, changed)]
                lines.append("| " + " | ".join(cells) + " |")
    head = ["## Outside, and why", "", "A cause is named where changing that one thing, as recorded, brings the ratio into its band.", "",
            "| figure, case | scheme | class | of | ratio | interval | cause |", "|---|---|---|---|---|---|---|"]
    return [*head, *lines] if lines else []


def same(row, other):
    return all(row[key] == other[key] for key in ("name", "scheme", "class"))


def cause(row, key, changed):
    """The recorded changes that bring a ratio into its band; without one, no cause is known."""
    found = [change["change"] for change in changed if same(row, change) and within(change, key)]
    reached = "; its 95% interval over seeds reaches the band" if of_seeds(row, key) else ""
    return "; ".join(found) or f"no cause known{reached}"


def made(numbers, cases):
    """The parts of the page that follow from the numbers, by name."""
    order = [(case.name, scheme) for case in cases for scheme in case.schemes]
    rows, changed = (sorted(numbers[key], key=lambda row: order.index((row["name"], row["scheme"]))) for key in ("rows", "changes"))
    cpu = {side: sum(of[side] for of in numbers["cpu_s"].values()) / 60 for side in ("theirs", "ours")}
    commits = ", ".join(sorted({commit[:7] for commit in numbers["farspan"].values()}))
    return {
        "summary": [summary(rows)],
        "compared": compared(rows) + not_run(rows, cases),
        "figures": figures(rows),
        "outside": outside(rows, changed),
        "changes": changes(changed, rows),
        "cost": [f"The runs of the tables took {cpu['theirs']:.1f} CPU minutes of the published code, mended as below, and {cpu['ours']:.1f} of",
                 f"farspan (commit {commits})."],
    }


def changes(changed, rows):
    """What a change of one of the two does to the ratio; the section is left out where nothing was changed."""
    lines = []
    for row in changed:
        before = next(other for other in rows if same(row, other))
        cells = [f"{row['figure']}, {row['case']}", f"`{row['scheme']}`", row["class"], row["change"]]
        cells += [f"{ratio(before, key):.2f} -> {ratio(row, key):.2f}" for key in BANDS]
        lines.append("| " + " | ".join(cells) + " |")
    head = ["### What a change does", "", "To find a cause, one thing is changed in one of the two, and the ratio is taken again.", "",
            "| case | scheme | class | changed | mean | p99 |", "|---|---|---|---|---|---|"]
    return [*head, *lines] if lines else []


def page(numbers, cases):
    """The page with its made parts anew."""
    text = PAGE.read_text()
    for name, lines in made(numbers, cases).items():
        head, tail = f"<!-- published: {name} -->\n", "<!-- end -->"
        start = text.index(head) + len(head)
        text = text[:start] + "".join(f"{line}\n" for line in lines) + text[text.index(tail, start):]
    return text


def write(cases, check=False):
    new = page(read(), cases)
    if check and new != PAGE.read_text():
        sys.exit(f"{PAGE} is not what {NUMBERS} says; run bench/published.py")
    if not check:
        PAGE.write_text(new)
