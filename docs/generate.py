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

import chart
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
EVENTS = "Dashed lines, from the left: other traffic takes half of the link; it is free again; one packet is lost; all are lost, until time-outs."
PANELS = ["inside a datacenter, from one BDP", "inside a datacenter, from ten packets", "between datacenters, from one BDP"]


def farspan(binary, *words):
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout


def program():
    return chart.program(sys.argv[1])


def lab(*words):
    return farspan(program(), *words)


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


def curves(name, snapshot):
    """Window and queue, and below them goodput, over round trips."""
    found = list(zip(tables(snapshot), PANELS))
    def panel(rows, title, y_label, columns, x_label=""):
        lines = {name: [(row[0], row[column]) for row in rows] for name, column in columns.items()}
        return chart.panel(title, x_label, y_label, lines, x_log=False, y_log=False, bare=True, events=[i for i, row in enumerate(rows) if row[4]])
    above = [panel(rows, title, "packets", {"window": 1, "queue": 3}) for rows, title in found]
    below = [panel(rows, "", "goodput (% of the link)", {"goodput": 2}, "round trips") for rows, _ in found]
    return chart.svg(program(), f"{name} through a script", above + below, [EVENTS])


def bars(title, y_label, rows):
    """A chart of (label, value, text): `None` stands for what never ends."""
    values = [(f"{label}: {text}", chart.NEVER if value is None else value) for label, value, text in rows]
    return chart.svg(program(), title, [chart.panel(title, "", y_label, {"": values}, bare=True, y_log=False)])


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
    for file, title, y_label, scenario, size, quantile in (
        ("permutation", "Permutation of 256 hosts, 1 MiB each, UnoCC", "99th percentile of the slowdown", "uno/permutation", "1MiB", "p99"),
        ("failure", "One of eight border links swallows everything, UnoCC", "mean slowdown", "uno/border-failure", "5MiB", "mean"),
    ):
        values = [(name, slowdown(summary(binary, scenario, f"unocc+{name}", f"workload.flow_size={size}"), quantile)) for name in selectors]
        rows = [(name, value, f"{value:.2f}" if value else "some flows never end") for name, value in values]
        yield f"schemes/curves/balance-{file}.svg", bars(title, y_label, rows)
    rows = []
    for name in ("uno-noec", "uno"):
        for factor, losses in (("as measured", "[3.0e-4, 7.5e-5, 1.6e-5]"), ("a hundredfold", "[0.03, 0.0075, 0.0016]")):
            run = summary(binary, "uno/random-loss", name, f"fault[0].probabilities={losses}")
            value, timeouts = slowdown(run, "mean"), run["recovery"]["timeouts"]["median"]
            rows.append((f"{name}, losses {factor}", value, f"{value:.3f}; {timeouts:.0f} time-outs"))
    yield "schemes/curves/mds.svg", bars("5 MiB between datacenters, blocks of ten lose packets", "mean slowdown", rows)
    yield from pictures.pictures(lambda *words: farspan(binary, *words), program())


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
        name = path.stem.split("__")[-1]
        yield f"schemes/curves/{name}.svg", curves(name, path.read_text())
    rows = [(name, value, f"{value:.2f}") for name, value in peers()]
    yield "images/peers.svg", bars("128 hosts send 4 MiB each across a fat tree (fewer is better)", "instructions per byte that arrives", rows)
    yield "schemes/curves/detector-frontier.svg", frontier.plot(frontier.read(DETECTORS), program())


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
