"""Writes the parts of the book that come from the program and from files. These are the scenario reference, the window curves, bars of a few small
runs, what follows from docs/ledger.json (which `farspan reproduce --accept` writes), CITATION.cff from Cargo.toml, and the parts of pages between `<!-- made: ... -->` and `<!-- end -->`. Such a part is `constants NAME` (of a control, path
selector or coding), `file PATH [ANCHOR]` (PATH from the page; ANCHOR between `ANCHOR:` and `ANCHOR_END:` in comments of it) or
`detectors TABLE` (of frontier.py) or `kernel sums` and `kernel CONTROL` (of the runs in bench/kernel.json), or `deviations NAME...`:
the constants of these controls, path selectors and codings in which the profiles differ, with the effects in bench/deviations.json,
or `scenarios`, those that are built in, `tree` (see tree.py), `peers` (of bench/peers.json), or `run COMMAND` and `lines 1-3,7 COMMAND`: a command of farspan in an empty folder and its output, all or some lines, and `run-2 COMMAND`: one that ends with 2. Seconds and
memory in it are left out. The text itself stands in the page, so that a forge shows it too.

usage: generate.py BINARY [--quick | --check]     farspan-lab must be beside BINARY; --quick leaves the bars of small runs as they are; --check does so and writes
                                                  nothing, and fails where a file is not what it would write, a link of the book
                                                  leads nowhere, or a page has what only mdBook shows
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import frontier
import pictures
import tree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOOK = ROOT / "docs/src"
CURVES = ROOT / "crates/transport/src/congestion/testing/snapshots"
DETECTORS = BOOK / "schemes/curves/detector-frontier.csv"
LANGUAGES = {".csv": "csv", ".py": "python", ".rs": "rust", ".toml": "toml"}
# Directives of mdBook, attributes of its code blocks, lines that it hides: a forge shows them as they stand, or not at all.
# A part that `farspan reproduce` writes.
LEDGER = "<!-- made: ledger -->"
LOST = r"\{\{#|ADMONISH|^```\w+,|^# (use |fn |let |\})"
COLOURS = {"window": "#1f6feb", "goodput": "#2da44e", "queue": "#cf222e"}
EVENTS = "a: other traffic takes half of the link; b: it is free again; c: one packet is lost; d: all are, until time-outs"
PANELS = ["inside a datacenter, from one BDP", "inside a datacenter, from ten packets", "between datacenters, from one BDP"]


def farspan(binary, *words):
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout


def lab(*words):
    """What farspan-lab prints, the program beside the one that the arguments name."""
    return farspan(pathlib.Path(sys.argv[1]).with_name("farspan-lab"), *words)


def tables(snapshot):
    """Of each of the control's three tables: rows of (rtt, cwnd, goodput %, queue, event)."""
    found = []
    for line in snapshot.split("---", 2)[2].splitlines():
        if " path, first window " in line:
            found.append([])
        row = re.match(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s*(.*)", line)
        if row:
            rtt, cwnd, rate, _, queue = (int(row[i]) for i in range(1, 6))
            found[-1].append((rtt, cwnd, rate, queue, row[6].strip()))
    return found


def panel(rows, title, left, width, height):
    """One plot: window and queue in packets (left axis), goodput in % of the link (right axis), over round trips."""
    top, bottom = 34, height - 40
    span = rows[-1][0] or 1
    most = max(max(row[1] for row in rows), max(row[3] for row in rows), 1)
    x = lambda rtt: left + rtt * width / span
    y = lambda value, of: bottom - value * (bottom - top) / of
    line = lambda column, of: " ".join(f"{x(row[0]):.1f},{y(min(row[column], of), of):.1f}" for row in rows)
    parts = [f'<text x="{left}" y="{top - 16}" font-weight="bold">{title}</text>']
    parts.append(f'<path d="M{left} {top}V{bottom}H{left + width}V{top}" fill="none" stroke="#888"/>')
    for value, of, side, anchor in ((0, most, -5, "end"), (most, most, -5, "end"), (0, 100, width + 5, "start"), (100, 100, width + 5, "start")):
        unit = "%" if side > 0 else ""
        parts.append(f'<text x="{left + side}" y="{y(value, of) + 4:.1f}" text-anchor="{anchor}">{value}{unit}</text>')
    parts.append(f'<text x="{left}" y="{bottom + 14}" text-anchor="middle">0</text><text x="{left + width}" y="{bottom + 14}" text-anchor="middle">{span} RTTs</text>')
    for letter, rtt in zip("abcd", (row[0] for row in rows if row[4])):
        parts.append(f'<path d="M{x(rtt):.1f} {top}V{bottom}" stroke="#bbb" stroke-dasharray="3 3"/><text x="{x(rtt):.1f}" y="{top - 3}" text-anchor="middle" fill="#666">{letter}</text>')
    for name, column, of in (("goodput", 2, 100), ("queue", 3, most), ("window", 1, most)):
        parts.append(f'<polyline points="{line(column, of)}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>')
    return parts


def curves(snapshot):
    height, width = 250, 235
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="960" height="{height}" fill="white"/>']
    for i, (rows, title) in enumerate(zip(tables(snapshot), PANELS)):
        parts += panel(rows, title, 45 + i * 320, width, height - 20)
    for i, (name, what) in enumerate((("window", "window, packets"), ("queue", "queue, packets"), ("goodput", "goodput, % of the link"))):
        parts.append(f'<path d="M{300 + i * 150} {height - 8}h18" stroke="{COLOURS[name]}" stroke-width="2"/><text x="{322 + i * 150}" y="{height - 4}">{what}</text>')
    parts.append(f'<text x="480" y="{height - 24}" text-anchor="middle" fill="#666">{EVENTS}</text>')
    return "\n".join([*parts, "</svg>", ""])


def bars(title, rows):
    """One plot of (label, value, text): `None` stands for what never ends."""
    height = 44 + 26 * len(rows)
    most = max(value for _, value, _ in rows if value is not None)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="760" height="{height}" fill="white"/>', f'<text x="10" y="20" font-weight="bold">{title}</text>']
    for i, (label, value, text) in enumerate(rows):
        y = 36 + 26 * i
        width = 380 * (value if value is not None else most) / most
        colour = COLOURS["window"] if value is not None else "#ddd"
        parts.append(f'<text x="200" y="{y + 13}" text-anchor="end">{label}</text><rect x="208" y="{y}" width="{width:.1f}" height="18" fill="{colour}"/>')
        parts.append(f'<text x="{214 + width:.1f}" y="{y + 13}">{text}</text>')
    return "\n".join([*parts, "</svg>", ""])


def summary(binary, scenario, scheme, *changes):
    """Medians over five seeds."""
    words = [word for change in changes for word in ("--set", change)]
    document = farspan(binary, "run", scenario, "--scheme", scheme, "--seeds", "1..5", "--json", "--quiet", *words)
    return json.loads(document)["summary"]


def slowdown(run, quantile):
    found = run["fct"]["all"][f"slowdown_{quantile}"]
    return found and found["median"]


def runs(binary):
    """Bars of small runs: what path selectors and coding are for."""
    selectors = ("ecmp", "rps", "spray", "plb", "unolb", "reps-early", "reps")
    rows = []
    for name in selectors:
        value = slowdown(summary(binary, "uno/permutation", f"unocc+{name}", "workload.flow_size=1MiB"), "p99")
        rows.append((name, value, f"{value:.2f}"))
    yield "schemes/curves/balance-permutation.svg", bars("Permutation of 256 hosts, 1 MiB each, UnoCC: 99th percentile of the slowdown", rows)
    rows = []
    for name in selectors:
        value = slowdown(summary(binary, "uno/border-failure", f"unocc+{name}", "workload.flow_size=5MiB"), "mean")
        rows.append((name, value, f"{value:.2f}" if value else "some flows never end"))
    yield "schemes/curves/balance-failure.svg", bars("One of eight border links swallows everything, UnoCC: mean slowdown", rows)
    rows = []
    for name in ("uno-noec", "uno"):
        for factor, losses in (("as measured", "[3.0e-4, 7.5e-5, 1.6e-5]"), ("a hundredfold", "[0.03, 0.0075, 0.0016]")):
            run = summary(binary, "uno/random-loss", name, f"fault[0].probabilities={losses}")
            value, timeouts = slowdown(run, "mean"), run["recovery"]["timeouts"]["median"]
            rows.append((f"{name}, losses {factor}", value, f"{value:.3f}; {timeouts:.0f} time-outs"))
    yield "schemes/curves/mds.svg", bars("5 MiB between datacenters, blocks of ten lose packets: mean slowdown", rows)
    yield from pictures.pictures(lambda *words: farspan(binary, *words))


def markdown(head, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def kernel(name):
    """What the runs of `farspan-lab bench kernel` that are kept say: sums, or the cells of a control."""
    document = json.loads(lab("bench", "kernel", "--minutes", "0", "--keep", ROOT / "bench/kernel.json", "--json"))
    if name == "sums":
        share = lambda one: f"{one['agree']} of {one['cells']} ({one['agree'] / one['cells']:.0%})"
        return markdown(["measure", "cells that agree"], [[one["measure"], share(one)] for one in document["measures"]])
    rows = []
    for cell in (cell for cell in document["cells"] if cell["control"] == name):
        low, median, high, ours = (f"{cell[key]:.{cell['digits']}f}" for key in ("kernel_low", "kernel_median", "kernel_high", "simulated_median"))
        what = re.sub(r"^steady (\S+) (\S+)", r"one flow, buffer \1 BDP, loss \2", cell["cell"])
        ratio = f"{cell['simulated_median'] / cell['kernel_median']:.2f}" if cell["kernel_median"] else ""
        verdict = "agrees" if cell["agrees"] else "**differs**"
        rows.append([what, cell["unit"], f"{median} ({low} to {high})", ours, ratio, verdict, f"{cell['runs']} / {cell['void']}"])
    return markdown(["cell", "", "kernel: median (range)", "simulated", "ratio", "", "runs / void"], rows)


def differing(constants):
    """Of the tables of a component's constants, those in which the profiles differ: rows of (scenarios, key, paper, its source, code, its
    source)."""
    paper = {}
    for line in constants.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 5 or cells[0] in ("key", "profile", "---"):
            continue
        if cells[0] in ("`paper`", "`artifact`"):
            profile, scenarios, key, value, source = cells
            if profile == "`artifact`":
                yield (scenarios, key, *paper.get(key, ("", "")), value, source)
            continue
        key, ours, source, theirs, why = cells
        paper[key] = (ours, source)
        if theirs:
            yield ("", key, ours, source, theirs, why)


def deviations(names):
    """A row a constant in which the profiles differ. `paper` and `artifact` run their own column."""
    effects, rows = json.loads((ROOT / "bench/deviations.json").read_text()), []
    for name in names:
        for scenarios, key, ours, source, theirs, why in differing(lab("reference", name)):
            # Effects were measured for the code's present value only.
            measured = f"{name} {key.strip('`')} {theirs.strip('`')}" if not scenarios else ""
            effect = effects.get(measured, "*not measured*")
            where = f", in {scenarios}" if scenarios else ""
            rows.append([f"`{name}` {key}{where}", f"{ours}: {source}" if source else ours, f"{theirs}: {why}" if why else theirs, effect])
    return markdown(["constant", "paper: `paper` runs it", "code: `artifact` runs it", "effect of the code's alone, in `paper`"], rows)


def run(command, lines=None, code=0):
    """The command, which ends with `code`, and its output, or of that the lines in `lines` (`1-3,7`). Seconds and memory are left out: they differ from run to
    run."""
    path = f"{pathlib.Path(sys.argv[1]).resolve().parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    if done.returncode != code:
        sys.exit(f"exit code {done.returncode}, and the page says {code}: {command}\n{done.stdout}")
    output = re.sub(r"(simulated in |peak memory )[\d.]+", r"\1…", done.stdout).rstrip("\n").split("\n")
    shown, last = [], 0
    for span in (lines or f"1-{len(output)}").split(","):
        first, _, end = span.partition("-")
        shown += ["…"] * (int(first) > last + 1) + output[int(first) - 1:int(end or first)]
        last = int(end or first)
    shown += ["…"] * (last < len(output))
    return "\n".join(["```text", f"$ {command}", *(line.rstrip() for line in shown), "```", ""])


def peers():
    """Of each simulator on `permutation-128`: name, and the instructions that it takes for each byte that arrives (bench/peers.json)."""
    tools = json.loads((ROOT / "bench/peers.json").read_text())["permutation-128"]["tools"]
    return [(name, tool["instructions_per_byte"]) for name, tool in tools.items()]


def scenarios():
    listed = json.loads(farspan(sys.argv[1], "list", "scenarios", "--json"))
    return markdown(["scenario", "what it is"], [[f"`{one['name']}`", one["summary"]] for one in listed])


def part(page, kind, name=None, *more):
    """A part of a page, in Markdown."""
    if kind == "scenarios":
        return scenarios()
    if kind == "tree":
        return tree.tree()
    if kind == "peers":
        ours = dict(peers())["farspan"]
        return markdown(["simulator", "instructions a payload byte", "to farspan's"], [[of, f"{n:.2f}", f"{n / ours:.1f}"] for of, n in peers()])
    if kind.startswith("run"):
        return run(" ".join([name, *more]), code=int(kind.removeprefix("run").removeprefix("-") or 0))
    if kind == "lines":
        return run(" ".join(more), name)
    anchor = more[0] if more else None
    if kind == "deviations":
        return deviations([name, *more])
    if kind == "constants":
        return lab("reference", name)
    if kind == "detectors":
        return getattr(frontier, name)(frontier.read(DETECTORS))
    if kind == "kernel":
        return kernel(name)
    text = (page.parent / name).read_text()
    if anchor:
        text = re.search(rf"ANCHOR: {anchor}\n(.*?)[^\n]*ANCHOR_END: {anchor}\n", text, re.S)[1]
    return f"```{LANGUAGES[pathlib.Path(name).suffix]}\n{text}```\n"


def filled(page):
    """The text of a page with its made parts as they must be."""
    write = lambda mark: f"<!-- made: {mark[1]} -->\n\n{part(page, *mark[1].split())}\n<!-- end -->\n"
    return re.sub(r"<!-- made: (?!ledger )(.+?) -->\n.*?<!-- end -->\n", write, page.read_text(), flags=re.S)


def citation():
    """CITATION.cff, from Cargo.toml."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    package, doi = workspace["package"], workspace["metadata"]["doi"]
    known = {"version": package["version"], "doi": doi, "repository-code": package["repository"]}
    return "".join([
        "cff-version: 1.2.0\ntype: software\ntitle: farspan\n",
        "message: If you use farspan, please cite it, and the papers of the schemes that you run.\n",
        f"abstract: {package['description']}.\nauthors:\n  - name: The farspan authors\n",
        f"license: [{package['license'].replace(' OR ', ', ')}]\n",
        *(f"{key}: {json.dumps(value)}\n" for key, value in known.items() if value),
    ])


def pages(binary):
    yield "../../CITATION.cff", citation()
    yield "scenario-reference.md", lab("reference")
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(BOOK.rglob("*.md"))]:
        if "<!-- made: " in page.read_text().replace(LEDGER, ""):
            yield os.path.relpath(page, BOOK), filled(page)
    for path in sorted(CURVES.glob("*curves__tests__*.snap")):
        yield f"schemes/curves/{path.stem.split('__')[-1]}.svg", curves(path.read_text())
    title = "128 hosts send 4 MiB each across a fat tree: instructions per byte that arrives (fewer is better)"
    yield "images/peers.svg", bars(title, [(name, value, f"{value:.2f}") for name, value in peers()])
    yield "schemes/curves/detector-frontier.svg", frontier.plot(frontier.read(DETECTORS))


def ledger(binary):
    """What follows from docs/ledger.json: its page, pages and plots of figures, and parts of the contents and the README."""
    for name, text in json.loads(farspan(binary, "reproduce", f"--pages={ROOT / 'docs'}")).items():
        yield f"../../{name}", text


def anchors(path):
    """What links into a page can name: its headings, and anchors written out."""
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    slug = lambda heading: re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
    return {slug(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")} | set(re.findall(r'<a id="([^"]+)"', text))


def dead_links():
    for page in [*sorted(ROOT.glob("*.md")), *sorted(BOOK.rglob("*.md"))]:
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, anchor = link.partition("#")
            if "://" in link or link.startswith("mailto:"):
                continue
            target = (page.parent / name).resolve() if name else page
            if not target.is_file() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                yield f"{os.path.relpath(page, BOOK)} -> {link}"


def lost():
    """What a forge would show as something else."""
    for page in sorted(BOOK.rglob("*.md")):
        for n, line in enumerate(page.read_text().splitlines(), 1):
            if re.search(LOST, line):
                yield f"{page.relative_to(BOOK)}:{n}"


def main(binary, *options):
    stale = []
    made = itertools.chain(pages(binary), ledger(binary), runs(binary) if not options else [])
    for name, text in made:
        path = BOOK / name
        if "--check" in options:
            stale += [] if path.is_file() and path.read_text() == text else [name]
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    dead = list(dead_links())
    if dead:
        sys.exit("links that lead nowhere: " + ", ".join(dead))
    only_mdbook = list(lost())
    if only_mdbook:
        sys.exit("what only mdBook shows: write it between `<!-- made: file PATH -->` and `<!-- end -->`: " + ", ".join(only_mdbook))
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}: run `make docs`")


if __name__ == "__main__":
    main(*sys.argv[1:])
