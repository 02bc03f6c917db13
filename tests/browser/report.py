#!/usr/bin/env python3
"""Opens a report in headless Chromium and uses it.

Playwright drives the Chromium of the machine: `pip install playwright` is enough. Where one of the two is missing, the script says that
it was skipped.
"""

import argparse
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from playwright.sync_api import TimeoutError, sync_playwright
except ImportError:
    sync_playwright = None
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from skipped import skipped

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("farspan", type=Path, help="the program")
PARSER.add_argument("--shots", type=Path, help="a folder for a picture of each page at each width and theme")
PARSER.add_argument("--book", type=Path, help="takes the book's pictures instead, of the demo's report: their folder")
ARGUMENTS = PARSER.parse_args()
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
HOSTILE = "</script><img src=x onerror=alert(1)>"
SCHEMES = ["uno", "gemini", "mprdma-bbr", "dctcp"]
FLOWS, SEEDS = 5000, 4
LARGEST_BYTES, LONGEST_S, MOST_ELEMENTS = 5_000_000, 2.0, 12_000
SECTIONS = ["Overview", "Completion times", "Side by side", "Over time", "Ports", "Network", "Flows"]
WIDTHS, THEMES = [1400, 400], ["light", "dark"]
# Pictures of the book: name, theme, scenario of the demo, first and last element.
BOOK = [("side-by-side", "light", 0, "header", "#compare"), ("over-time", "light", 1, "#time", "#time"), ("network-and-flow", "dark", 0, "#network", "#flows")]
BOOK_WIDTH = 1000

# Tables and pictures that are wider than the page, and stand in nothing that scrolls.
CUT = """[...document.querySelectorAll('table, svg, h1, h2, select, input, .caption, figcaption')]
  .filter((element) => element.getClientRects().length && !element.closest('.scroll, nav, .vega-actions-wrapper, details'))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 || (element.tagName === 'H1' && element.scrollWidth > element.clientWidth + 1))
  .map((element) => element.tagName + ' ' + (element.closest('[id]') || element).id)"""

# Labels of one axis that are less than two pixels apart.
TOUCHING = """[...document.querySelectorAll('.chart .role-axis-label')].flatMap((labels) => {
  const boxes = [...labels.querySelectorAll('text')].filter((text) => text.getAttribute('opacity') !== '0' && text.textContent).map((text) => text.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom && b.top < a.bottom).map(() => labels.closest('.chart').id));
})"""

# How far a table has scrolled, its top and that of its head.
SCROLLED = """(box) => {
  box.scrollTop = 90;
  return [box.scrollTop, box.getBoundingClientRect().top, box.querySelector('thead th').getBoundingClientRect().top];
}"""
# The top of a chart's menu, and whether the page's head covers it.
COVERED = """(menu) => {
  scrollBy(0, menu.getBoundingClientRect().top - 12);
  const { left, top } = menu.getBoundingClientRect();
  return [top, Boolean(document.elementFromPoint(left + 4, top + 4)?.closest('header'))];
}"""

# Losses that some seeds have and others not, and a flow that the end of the run comes too early for.
LOSSY = """
name = "lossy"
description = "Three senders, and one that is late"
topology = { kind = "dumbbell", hosts = 3 }
workload = [
  { kind = "incast", receiver = 3, senders = [0, 1, 2], flow_size = "256KiB" },
  { kind = "pairs", tag = "late", pairs = [[0, 4]], flow_size = "4KiB", start = "9.999ms" },
]
fault = [{ kind = "loss", link = "*->host3#0", probability = 0.005 }]
stop = { time = "10ms" }
"""

# A site with two levels of switches beside one with one, linked between different levels; names of their own.
UNEVEN = """
site = [{ name = "west" }, { name = "east" }, { name = "south" }]
node = [
  { name = "gpu[0..7]", kind = "host", site = "west" },
  { name = ["rack[0..3]", "exit"], kind = "switch", site = "west" },
  { name = "store[0..2]", kind = "host", site = "east" },
  { name = ["east-a", "east-b", "east-c"], kind = "switch", site = "east" },
  { name = "edge", kind = "host", site = "south" },
  { name = "pop", kind = "switch", site = "south" },
]
link = [
  { a = "gpu[0..7 step 4]", b = "rack0" }, { a = "gpu[1..7 step 4]", b = "rack1" },
  { a = "gpu[2..7 step 4]", b = "rack2" }, { a = "gpu[3..7 step 4]", b = "rack3" },
  { a = "rack[0..3]", b = "exit" }, { a = "store[0..2]", b = ["east-a", "east-b", "east-c"], wiring = "blocks" },
  { a = "east-a", b = ["east-b", "east-c"] }, { a = "east-b", b = "east-c" }, { a = "edge", b = "pop" },
  { a = "exit", b = ["east-b", "pop"] }, { a = "pop", b = "east-c" },
]
"""


class Browser:
    """A page of Chromium."""

    def __init__(self, chromium) -> None:
        self.page, self.said = chromium.new_page(), []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.run = self.page.evaluate

    def all(self, selector: str, field: str) -> list:
        """A field, named by `one`, of each element."""
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => {field})")

    def texts(self, selector: str) -> list[str]:
        """What the elements say that are shown."""
        return [text for text, is_shown in self.all(selector, "[one.textContent, one.getClientRects().length > 0]") if is_shown]

    def show(self, page: Path, width: int, theme: str, height: int = 8000) -> None:
        """Opens a page, after one that had nothing to say in the console."""
        same("the console says", self.said, [])
        self.page.emulate_media(color_scheme=theme)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(page.as_uri())

    def each(self, page: Path):
        """Opens a page at each width and theme."""
        for width, theme in itertools.product(WIDTHS, THEMES):
            self.show(page, width, theme)
            if ARGUMENTS.shots:
                # Charts are drawn a moment after the page has come.
                self.page.wait_for_timeout(500)
                self.page.locator("body").screenshot(path=ARGUMENTS.shots / f"{page.parent.name}-{width}-{theme}.png")
            yield theme

    def until(self, what: str, script: str) -> None:
        try:
            self.page.wait_for_function(script, timeout=10_000)
        except TimeoutError:
            raise SystemExit(f"never came true: {what}; the console says: {self.said}") from None

    def drawn(self, *charts: str) -> None:
        for chart in charts:
            self.until(f"chart {chart}", f"document.querySelector('#{chart} .marks')")

    def fits(self) -> None:
        self.until("no overflow", "document.documentElement.scrollWidth <= innerWidth")
        same("what the page cuts off", self.run(CUT), [])
        same("labels that touch", self.run(TOUCHING), [])


def holds(found: bool, otherwise: str) -> None:
    if not found:
        raise SystemExit(otherwise)


def same(what: str, found: object, expected: object) -> None:
    holds(found == expected, f"{what}:\n  says     {found!r}\n  expected {expected!r}")


def farspan(*words: object, folder: Path | None = None) -> None:
    done = subprocess.run([ARGUMENTS.farspan.resolve(), *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    holds(done.returncode == 0, f"{words} ends with {done.returncode}: {done.stderr}")


def check(browser: Browser, page: Path) -> None:
    """Every control, once."""
    for theme in browser.each(page):
        browser.drawn("numbers", "fairness", "cdf", "ccdf", "slowdown", "goodput", "rate", "cwnd", "queue")
        browser.until("the theme", f"document.documentElement.dataset.theme === '{theme}'")
        browser.until("the picture", "document.querySelectorAll('#picture .unit').length > 10")
        browser.fits()
        same("columns without a fault", "faults" in browser.texts("#ports-table th[scope=col]"), False)

        browser.page.focus(".flow")
        browser.page.keyboard.press("ArrowDown")
        browser.page.keyboard.press("Enter")
        browser.until("a flow by keyboard", "document.querySelector('#flow h3') && document.querySelector('#flow-rate .marks')")
        browser.until("the focus stays", "document.activeElement.classList.contains('flow')")
        browser.page.focus("#picture svg")
        browser.page.keyboard.press("ArrowRight")
        browser.page.keyboard.press("ArrowRight")
        browser.until("a unit by keyboard", "document.querySelector('.unit.chosen') && unit.textContent.includes('to ')")
        browser.page.focus("#flows-search")
        browser.page.keyboard.type("inter")
        browser.until("the search", "document.querySelectorAll('#flows-table tbody tr').length === 4")
        browser.page.click("[data-sort=size]")
        browser.until("the order", "document.querySelector('#flows-table [aria-sort]').textContent.startsWith('size')")
        browser.page.click("#class button:last-child")
        browser.page.select_option("#arm", "1")
        ink = "document.querySelector('#cdf .marks text').getAttribute('fill')"
        before = browser.run(ink)
        browser.page.click("#theme")
        other = "light" if theme == "dark" else "dark"
        browser.until("the other theme", f"document.documentElement.dataset.theme === '{other}'")
        browser.until("charts in other colours", f"document.querySelector('#cdf .marks text') && {ink} !== '{before}'")
        same("what the page asks for", browser.run("performance.getEntriesByType('resource').map((entry) => entry.name)"), [])


def answers(browser: Browser, folder: Path) -> None:
    """The kind of the workload decides which chart comes first."""
    small = 'flow_size = "64KiB"\n'
    kinds = {
        "incast": (f'kind = "incast"\nreceiver = 0\nsenders = [1, 2, 3]\n{small}', "numbers"),
        "poisson": ('kind = "poisson"\nsizes = "fb-hadoop"\nload = 0.3\nflows = 400\n', "slowdown"),
        "collective": (f'kind = "allreduce"\nalgorithm = "ring"\ngroups = [[0, 1, 2, 3]]\n{small}', "numbers"),
        "permutation": (f'kind = "permutation"\n{small}', "cdf"),
    }
    for name, (workload, chart) in kinds.items():
        (folder / f"{name}.toml").write_text(f'topology = {{ kind = "star", hosts = 16 }}\n[[workload]]\n{workload}')
        farspan("run", folder / f"{name}.toml", "--quiet", "--out", folder / name)
        browser.show(folder / name / "report.html", 1400, "light")
        browser.drawn(chart)
        shown = "[...document.querySelectorAll('main .chart')].find((chart) => chart.getClientRects().length).id"
        same(f"first chart of {name}", browser.run(shown), chart)
    same("numbers of one run", browser.texts("#numbers-caption"), ["Completion times"])
    browser.show(folder / "collective/report.html", 1400, "light")
    same("an iteration over the ideal one", browser.texts("#numbers-caption"), ["allreduce, over ideal"])
    browser.show(folder / "poisson/report.html", 1400, "light")
    browser.until("the slowdown and the distributions", "document.querySelector('#slowdown .marks path') && document.querySelector('#ccdf .marks')")
    for chart in ["cdf", "ccdf"]:
        # Labels of a logarithmic axis are 1, 2 or 5 times a power of ten, as short as they can be.
        labels = browser.all(f"#{chart} .role-axis-label", "[...one.querySelectorAll('text')].map((text) => text.textContent)")[0]
        holds(len(labels) > 1 and all(re.fullmatch(r"[125]0* (ns|µs|ms|s)", label) for label in labels), f"ticks of {chart}: {labels}")
    same("pieces of the slowdown's lines", set(browser.all("#slowdown .mark-line path", "one.getAttribute('d').split('M').length - 1")), {1})


def sweep(folder: Path, **grid: object) -> Path:
    """The report of a sweep; values of the keys of its grid."""
    lines = ['scenario = "uno/incast-mixed"', 'scheme = ["uno", "gemini"]', 'seeds = "1..2"', "[grid]", *(f'"{key}" = {json.dumps(values)}' for key, values in grid.items())]
    (folder / "s.toml").write_text("\n".join(lines))
    farspan("sweep", "s.toml", "--quiet", folder=folder)
    farspan("report", "s", folder=folder)
    return folder / "s/report.html"


def many(browser: Browser, folder: Path) -> None:
    """A sweep of many combinations has a title of a line, and a choice that stays on the page."""
    grid = {"topology.wan.rtt": ["1ms", "2ms", "4ms"], "topology.buffer": ["512KiB", "1MiB", "2MiB", "4MiB"], "workload.flow_size": ["64KiB"]}
    page = sweep(folder, **grid)
    for width in WIDTHS:
        browser.show(page, width, "light")
        browser.drawn("numbers")
        same("title", browser.texts("#title"), ["uno/incast-mixed: 12 combinations"])
        browser.fits()
        high = browser.run("document.querySelector('h1').getBoundingClientRect().height")
        holds(high <= 60, f"the title is {high} pixels high at {width}")


def heads(browser: Browser, page: Path) -> None:
    """Heads of tables stay above their rows, and the page's own head above everything."""
    browser.show(page, 1400, "light", height=700)
    for table in ["measures", "ports-table", "flows-table"]:
        browser.run(f"document.getElementById('{table}').scrollIntoView()")
        scrolled, box, head = browser.page.locator(f"#{table}").evaluate(SCROLLED)
        holds(scrolled == 0 or abs(head - box) <= 2, f"the head of {table} scrolls away: {head} at {box}")
    browser.run("document.getElementById('cdf').scrollIntoView()")
    top, covered = browser.page.locator("#cdf details summary").evaluate(COVERED)
    holds(0 < top < 40 and covered, f"the menu of a chart stands over the page's head (at {top})")


def failed(browser: Browser, folder: Path) -> None:
    """A dead link is drawn apart from those beside it, dashed, with its time; all ports are in the table."""
    farspan("run", "uno/border-failure", "--quiet", "--set", "workload.flow_size=256KiB", "--out", folder / "out")
    browser.show(folder / "out/report.html", 1400, "light")
    browser.until("the picture", "document.querySelector('#picture .dead')")
    between = [line for line, text in browser.all("#picture path:not(.dead)", "[one.getAttribute('d'), one.textContent]") if text.startswith("border0 – border1")]
    same("links between the borders, both ways", len(set(between)), 16)
    same("dead links", browser.texts("#picture .dead"), ["border0->border1#0: black_hole from 0ns"])
    same("its line", browser.run("getComputedStyle(document.querySelector('#picture .dead')).strokeDasharray"), "6px, 4px")
    same("faults", browser.texts("#faults"), ["Faults: border0->border1#0 black_hole from 0ns"])
    same("sites", browser.texts("#picture text.name"), ["site 0", "site 1"])
    same("its time, at the link", browser.texts("#picture text.fault"), ["black_hole from 0ns"])
    same("scale", browser.texts("#picture > svg > g:last-of-type text"), ["0%", "50%", "100%"])
    browser.page.fill("#ports-search", "border0->border1")
    same("ports found", len(browser.texts("#ports-table tbody tr")), 8)
    browser.page.click("#ports-table [data-sort=faults]")
    same("the faulty port first", browser.texts("#ports-table tbody tr:first-child th, #ports-table tbody tr:first-child .fault"), ["border0->border1#0", "black_hole from 0ns"])


def proxied(browser: Browser, folder: Path) -> None:
    """A proxy has its row, its chart and its mark in the network; a run without one shows nothing of it."""
    for kind in ["naive", "none"]:
        incast = ["run", "proxy/degree", "--quiet", "--set", "workload.flow_size=1MB", "--set", "probes.queue_interval=5us"]
        farspan(*incast, "--set", f"scheme.proxy.kind={kind}", "--out", folder / kind)
    farspan("report", folder)
    proxy = json.loads((folder / "naive/summary.json").read_text())["proxy"]["hosts"][0]
    rings = set()
    for _ in browser.each(folder / "report.html"):
        browser.drawn("proxy_queue")
        browser.fits()
        rings.add(browser.run("getComputedStyle(document.querySelector('#picture rect.proxy')).stroke"))
    same("colours of the ring", len(rings), len(THEMES))
    same("headings", browser.texts("h2"), [*SECTIONS[:5], "Proxies", *SECTIONS[5:]])
    same("proxies", browser.texts("#proxies-caption"), ["1 proxy"])
    same("columns", browser.texts("#proxies-table th[scope=col]"), ["host", "kind", "flows", "packets sent on", "bytes sent on ↓", "NACKs", "largest queue", "mean wait", "flows that went direct"])
    cells = browser.texts("#proxies-table tbody th, #proxies-table tbody td")
    same("the proxy", [*cells[:4], *cells[5:6], *cells[8:]], ["host63", "naive", "4", f"{proxy['packets']:,}", "0", "0"])
    same("its bytes, queue and wait", [cells[4], *(cells[i].split()[1] for i in (6, 7))], ["4.00 MB", "KB", "µs"])
    same("its mark", browser.texts("#picture text.proxy"), ["proxy"])
    marked = [text for text in browser.all(".unit", "one.textContent") if "proxy" in text]
    same("its unit", [text.split(":")[0] + text[text.rindex(";"):] for text in marked], ["host60 … host63 (4); proxy: host63"])
    browser.page.select_option("#arm", "1")
    browser.until("a run without a proxy", "!document.querySelector('#picture .proxy')")
    same("headings without a proxy", browser.texts("h2"), SECTIONS)
    same("links without a proxy", [text for text in browser.texts("nav a, figcaption") if "rox" in text], [])


def swept(browser: Browser, folder: Path) -> None:
    """A sweep's first chart is a number over its first axis; the others are chosen. Other pages have none."""
    grid = {"workload.flow_size": "64KiB", "topology.wan.rtt": ["1ms", "2ms", "20ms"], "topology.buffer": ["512KiB", "1MiB"]}
    lines = "document.querySelectorAll('#over-chart .mark-line path').length"
    for _ in browser.each(sweep(folder, **grid)):
        browser.until("the chart over an axis", f"{lines} === 2")
        browser.fits()
    same("the first chart", browser.run("document.querySelector('.chart').id"), "over-chart")
    same("the way to it", browser.texts("nav a")[:2], ["Over an axis", "Overview"])
    dashes = browser.all("#over-chart .role-legend-symbol path", "one.getAttribute('stroke-dasharray')")
    same("a legend with dashes", len(set(dashes)), 2)
    chosen = "[...document.querySelectorAll('#over-choice select')].map((select) => select.selectedOptions[0].textContent)"
    number, key, rest = browser.run(chosen)
    same("what is chosen first", [number, key, rest], ["inter p99 FCT", "topology.wan.rtt", "512KiB"])
    caption = browser.texts("#over-caption")[0]
    command = "farspan plot DIR --x topology.wan.rtt --y fct.inter.p99_us --where topology.buffer=512KiB"
    same("the caption", ["∞" in caption, caption.endswith(f"The same as a figure: {command}")], [False, True])
    farspan(*command.replace("DIR", "s").split()[1:], "-o", "same.svg", folder=folder)
    choices = browser.page.locator("#over-choice select")
    choices.nth(1).select_option("1")
    browser.until("another axis", f"{lines} === 2 && {chosen}[1] !== '{key}'")
    labels = "[...document.querySelectorAll('#over-chart .role-axis-label text')].map((text) => text.textContent)"
    browser.until("sizes as they were written", f"{labels}.includes('512 KiB') && {labels}.includes('1 MiB')")
    choices.nth(0).select_option("1")
    browser.until("another number", f"{chosen}[0] !== '{number}' && {lines} === 2")


def book(browser: Browser, folder: Path) -> None:
    """The pictures of docs/src/report.md."""
    farspan("demo", "--quiet", "--out", folder / "demo")
    for name, theme, group, first, last in BOOK:
        browser.show(folder / "demo/report.html", BOOK_WIDTH, theme)
        browser.page.select_option("#group", str(group))
        browser.page.click(".flow")
        browser.page.wait_for_timeout(3000)
        top, bottom = (browser.all(element, f"one.getBoundingClientRect().{edge}")[0] for element, edge in ((first, "top"), (last, "bottom")))
        clip = {"x": 0, "y": max(top - 10, 0), "width": BOOK_WIDTH, "height": bottom + 10 - max(top - 10, 0)}
        browser.page.screenshot(path=ARGUMENTS.book / f"{name}.png", clip=clip, full_page=True)


def words(browser: Browser, folder: Path) -> None:
    """What the page says of numbers, and of what has none, where some seeds of two schemes lose packets."""
    (folder / "lossy.toml").write_text(LOSSY)
    for scheme in ["dctcp", "gemini"]:
        farspan("run", folder / "lossy.toml", "--quiet", "--scheme", scheme, "--seeds", f"1..{SEEDS}", "--out", folder / scheme)
    farspan("report", folder)
    documents = {scheme: json.loads((folder / scheme / "summary.json").read_text())["runs"] for scheme in ["dctcp", "gemini"]}
    paired = sum(run["packets"]["dropped"] > 0 for run in documents["dctcp"])
    holds(0 < paired < SEEDS, f"LOSSY loses packets in {paired} of {SEEDS} seeds; the test needs some, and not all")
    browser.show(folder / "report.html", 1300, "light")
    browser.drawn("cdf")
    same("title", browser.page.title(), "lossy · farspan")
    same("first heading", browser.texts("h1"), ["farspan lossy"])
    same("headings", browser.texts("h2"), SECTIONS)
    same("description", browser.texts("#description"), ["Three senders, and one that is late"])
    same("runs", browser.texts("#runs > table th[scope=col]"), ["scheme", "profile", "seeds", "flows finished", "packet-hops"])
    same("finished", browser.texts("#runs > table tbody td:nth-of-type(3)"), [f"{3 * SEEDS} of {4 * SEEDS}"] * 2)
    same("all runs", browser.texts("#runs summary"), [f"All {2 * SEEDS} runs, with their digests"])
    same("schemes", browser.texts("#measures th[scope=col]"), ["", *(f"{name}{SEEDS} unfinished" for name in ["dctcp", "gemini"])])
    said = {name: values for name, *values in browser.all("#measures tbody tr", "[...one.children].map((cell) => cell.textContent)")}
    holds(said["packets dropped"][1].endswith(f" ({paired} of {SEEDS})"), f"packets dropped: {said['packets dropped']}, of which {paired} of {SEEDS} seeds have a ratio")
    same("unfinished", said["unfinished flows"], ["1", "1×1.00 [1.00, 1.00]"])
    same("rows without a ratio", [name for name, values in said.items() if "×" not in values[1]], ["time-outs"])
    same("completion times that are finite", [name for name in said if "FCT" in name], ["all p50 FCT"])
    caption = browser.texts("#measures-caption")[0]
    for part in [f"Median over {SEEDS} seeds. ", "over dctcp, the median of the ratios paired by seed", "∞: some flows did not finish", "–: no such number", "(1 of 4): 1 of 4 seeds"]:
        holds(part in caption, f"the caption lacks {part!r}: {caption}")
    same("completion", browser.texts("#cdf-caption")[0].split(".")[0], f"Flows of all seeds together: dctcp {4 * SEEDS} ({SEEDS} unfinished), gemini {4 * SEEDS} ({SEEDS} unfinished)")
    same("ports", browser.texts("#ports-table th[scope=col]"), ["port", "utilisation ↓", "sent", "mean queue", "largest queue", "drops", "marks", "trims", "pauses", "paused", "faults"])
    same("network", browser.texts("#picture > svg > text"), ["6 hosts", "2 ToR switches", "loss 0.005 from 0ns"])
    browser.page.fill("#flows-search", "unfinished")
    same("unfinished flows", browser.texts("#flows-caption"), ["1 flow"])
    cells = browser.texts("#flows-table tbody td")
    same("an unfinished flow", [*cells[:5], *cells[6:8]], ["0", "4", "intra", "late", "4.10 KB", "unfinished", "–"])
    browser.page.click(".flow")
    same("its numbers", browser.texts("#flow dt")[:6], ["from, to", "tag", "size", "start", "completion", "slowdown"])
    values = dict(zip(browser.texts("#flow dt"), browser.texts("#flow dd"), strict=True))
    same("its size", values["size"], "4.10 KB (4,096 B)")
    same("what it lacks", [values[name] for name in ["completion", "slowdown", "delivered after", "mean rate"]], ["unfinished", "–", "–", "–"])
    browser.page.fill("#flows-search", "nothing")
    same("no flow", browser.texts("#flows-page"), ["No flow fits."])
    holds(browser.texts("#footer")[0].startswith(f"farspan {documents['dctcp'][0]['farspan_version']}, commit "), f"the footer says {browser.texts('#footer')}")


def uneven(browser: Browser, folder: Path) -> None:
    """Sites stand side by side, hosts below, each at its switch."""
    (folder / "net.toml").write_text(UNEVEN)
    (folder / "run.toml").write_text('topology = { kind = "from_file", file = "net.toml" }\nworkload = [{ kind = "permutation", flow_size = "64KiB" }]\n')
    farspan("run", folder / "run.toml", "--quiet", "--out", folder / "out")
    browser.show(folder / "out/report.html", 1300, "light")
    browser.until("the picture", "document.querySelector('#picture .unit')")
    same("rows", browser.texts("#picture > svg > text"), ["8 gpu", "4 rack", "exit", "3 store", "3 switches", "edge", "pop", "west", "east", "south"])
    units = browser.all(".unit", "[one.textContent.split(':')[0], Number(one.getAttribute('x')), Number(one.getAttribute('y'))]")
    spots = {name: (x, y) for name, x, y in units}
    hosts = sorted((name for name in spots if name.startswith("gpu")), key=lambda name: spots[name])
    same("hosts at their racks", hosts, ["gpu0", "gpu4", "gpu1", "gpu5", "gpu2", "gpu6", "gpu3", "gpu7"])
    levels = [{spots[name][1] for name in names} for names in [("gpu0", "store0", "edge"), ("rack0", "east-a", "pop"), ("exit",)]]
    holds([len(level) for level in levels] == [1, 1, 1] and min(levels[0]) > min(levels[1]) > min(levels[2]), f"levels are not above each other: {spots}")
    ends = [max(spots[name][0] for name in ("gpu7", "exit")), max(spots[name][0] for name in ("store2", "east-c"))]
    holds(ends[0] < min(spots["store0"][0], spots["east-a"][0]) and ends[1] < min(spots["edge"][0], spots["pop"][0]), f"sites are not side by side: {spots}")
    same("bows", sum("Q" in line for line in browser.all("#picture path", "one.getAttribute('d')")), 2)


def large(browser: Browser, folder: Path) -> None:
    """A page of many flows is small, and takes little CPU time: seconds would depend on what else the machine does."""
    drain = ["run", "uno/websearch", "--quiet", "--set", f"workload.flows={FLOWS}", "--set", "topology.k=4"]
    probes = ["--set", "probes.rate_interval=2ms", "--set", "probes.queue_interval=100us"]
    for scheme in SCHEMES:
        farspan(*drain, *probes, "--scheme", scheme, "--out", folder / scheme)
    farspan("report", folder)
    page = folder / "report.html"
    size = page.stat().st_size
    devtools = browser.page.context.new_cdp_session(browser.page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    # CPU seconds of the page's main thread so far.
    cpu_s = lambda: next(metric["value"] for metric in devtools.send("Performance.getMetrics")["metrics"] if metric["name"] == "TaskDuration")
    before = cpu_s()
    browser.show(page, 1300, "light")
    browser.drawn("cdf", "slowdown", "goodput", "rate", "queue")
    browser.until("the picture", "document.querySelectorAll('#picture .unit').length > 10")
    browser.until("the flows", "document.querySelectorAll('#flows-table tbody tr').length === 25")
    drawn = browser.run("performance.now()") / 1000
    cpu, elements = cpu_s() - before, browser.run("document.querySelectorAll('*').length")
    print(f"a report of {len(SCHEMES)} schemes x {FLOWS} flows: {size / 1e6:.2f} MB, {elements} elements, drawn in {drawn:.2f} s ({cpu:.2f} s of CPU)")
    holds(elements < MOST_ELEMENTS, f"the page has {elements} elements, {MOST_ELEMENTS} or more")
    holds(0 < cpu < LONGEST_S, f"the page took {cpu:.2f} s of CPU; the bound is {LONGEST_S}")
    holds(size < LARGEST_BYTES, f"the page has {size} bytes, {LARGEST_BYTES} or more")


def incast(browser: Browser, folder: Path) -> None:
    """Two schemes with two seeds, and a name that looks like markup: it is text."""
    command = ["run", "uno/incast-mixed", "--quiet", "--set", "workload.flow_size=8MiB", "--set", "probes.rate_interval=2ms"]
    for scheme in ["uno", "gemini"]:
        farspan(*command, "--scheme", scheme, "--seeds", "1..2", "--out", folder / "runs" / scheme)
    farspan("report", folder / "runs")
    check(browser, folder / "runs/report.html")
    heads(browser, folder / "runs/report.html")
    farspan(*command, "--set", f"workload.tag={HOSTILE}", "--set", f"measure.fairness_group={HOSTILE}", "--out", folder / "hostile")
    browser.show(folder / "hostile/report.html", 1200, "light")
    browser.until("the tag as text", f"document.querySelector('#flows-table td:nth-child(5)').textContent === {json.dumps(HOSTILE)}")
    browser.until("no markup", "!document.querySelector('img')")


def main() -> None:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if not found:
        return skipped("browser", "no Chromium: apt install chromium")
    if not sync_playwright:
        return skipped("playwright", "Python has no such module: pip install playwright")
    with tempfile.TemporaryDirectory(prefix="farspan-browser-") as folder, sync_playwright() as playwright:
        browser = Browser(playwright.chromium.launch(executable_path=found))
        parts = [book] if ARGUMENTS.book else [incast, failed, proxied, words, uneven, answers, many, swept, large]
        for part in parts:
            Path(folder, part.__name__).mkdir()
            part(browser, Path(folder, part.__name__))
        same("the console says", browser.said, [])
    print(f"reports in a browser: {', '.join(part.__name__ for part in parts)}: ok")


if __name__ == "__main__":
    main()
