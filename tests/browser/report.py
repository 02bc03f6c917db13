#!/usr/bin/env python3
"""Opens a report in headless Chromium and uses it.

   python3 tests/browser/report.py target/release/farspan [--shots DIR]
   or with --book DIR instead: takes the book's pictures, of the demo's report

Drives chromedriver over loopback by the WebDriver protocol, with Python's own library alone. Without Chromium it says
that it was skipped. `--shots` keeps a picture of each section at each width and theme.
"""

import base64
import itertools
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from skipped import skipped

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
KEYS = {"down": "\ue015", "right": "\ue014", "enter": "\ue007"}
HOSTILE = "</script><img src=x onerror=alert(1)>"
SCHEMES = ["uno", "gemini", "mprdma-bbr", "dctcp"]
FLOWS = 5000
LARGEST_BYTES = 5_000_000
LONGEST_S = 2.0
MOST_ELEMENTS = 12_000
SECTIONS = ["Overview", "Completion times", "Side by side", "Over time", "Ports", "Network", "Flows"]
SEEDS = 4
WIDTHS = [1400, 400]
# Pictures of the book: name, theme, scenario of the demo, first and last element.
BOOK = [
    ("side-by-side", "light", 0, "header", "#compare"),
    ("over-time", "light", 1, "#time", "#time"),
    ("network-and-flow", "dark", 0, "#network", "#flows"),
]
BOOK_WIDTH = 1000
THEMES = ["light", "dark"]

# Tables and pictures that are wider than the page, and stand in nothing that scrolls.
CUT = """return [...document.querySelectorAll('table, svg, h1, h2, select, input, .caption, figcaption')]
  .filter((element) => element.getClientRects().length && !element.closest('.scroll, nav, .vega-actions-wrapper, details'))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 || (element.tagName === 'H1' && element.scrollWidth > element.clientWidth + 1))
  .map((element) => element.tagName + ' ' + (element.closest('[id]') || element).id)"""

# Labels of one axis that are less than two pixels apart.
TOUCHING = """return [...document.querySelectorAll('.chart .role-axis-label')].flatMap((labels) => {
  const boxes = [...labels.querySelectorAll('text')].filter((text) => text.getAttribute('opacity') !== '0' && text.textContent).map((text) => text.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom && b.top < a.bottom).map(() => labels.closest('.chart').id));
})"""

# Losses that some seeds have and others not, and a flow that the end of the run comes too early for.
LOSSY = """
name = "lossy"
description = "Three senders, and one that is late"
topology = { kind = "dumbbell", hosts = 3 }
[[workload]]
kind = "incast"
receiver = 3
senders = [0, 1, 2]
flow_size = "256KiB"
[[workload]]
kind = "pairs"
tag = "late"
pairs = [[0, 4]]
flow_size = "4KiB"
start = "9.999ms"
[[fault]]
kind = "loss"
link = "*->host3#0"
probability = 0.005
[stop]
time = "10ms"
"""

# A site with two levels of switches beside one with one, linked between different levels; names of their own.
UNEVEN = """
[[site]]
name = "west"
[[site]]
name = "east"
[[site]]
name = "south"
[[node]]
name = "gpu[0..7]"
kind = "host"
site = "west"
[[node]]
name = "rack[0..3]"
kind = "switch"
site = "west"
[[node]]
name = "exit"
kind = "switch"
site = "west"
[[node]]
name = "store[0..2]"
kind = "host"
site = "east"
[[node]]
name = ["east-a", "east-b", "east-c"]
kind = "switch"
site = "east"
[[node]]
name = "edge"
kind = "host"
site = "south"
[[node]]
name = "pop"
kind = "switch"
site = "south"
"""
WIRES = [
    *[(f"gpu{n}", f"rack{n % 4}") for n in range(8)],
    *[(f"rack{n}", "exit") for n in range(4)],
    *[("store0", "east-a"), ("store1", "east-b"), ("store2", "east-c")],
    *[("east-a", "east-b"), ("east-b", "east-c"), ("east-a", "east-c"), ("edge", "pop")],
    *[("exit", "east-b"), ("exit", "pop"), ("pop", "east-c")],
]


class Browser:
    """A session of chromedriver."""

    def __init__(self, driver: str, browser: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
        options = {"binary": browser, "args": arguments}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = self.begin({"capabilities": {"alwaysMatch": wanted}})

    def begin(self, wanted: dict) -> str:
        for _ in range(100):
            try:
                return self.post("/session", wanted)["sessionId"]
            except (ConnectionError, urllib.error.URLError):
                time.sleep(0.1)
        raise SystemExit("chromedriver does not answer")

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=60))["value"]

    def ask(self, path: str, **body):
        return self.post(f"/session/{self.session}{path}", body)

    def run(self, script: str):
        return self.ask("/execute/sync", script=script, args=[])

    def devtools(self, command: str, **parameters) -> dict:
        return self.ask("/goog/cdp/execute", cmd=command, params=parameters)

    def cpu_s(self) -> float:
        """CPU time of the page's main thread so far."""
        metrics = self.devtools("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def texts(self, selector: str) -> list[str]:
        """What the elements say that are shown."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].filter((element) => element.getClientRects().length)"
        return self.run(f"return {found}.map((element) => element.textContent)")

    def show(self, page: Path, width: int, theme: str, height: int = 8000) -> None:
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("/url", url=page.as_uri())

    def press(self, *keys: str) -> None:
        strokes = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("/actions", actions=[{"type": "key", "id": "keyboard", "actions": strokes}])

    def until(self, what: str, script: str) -> None:
        for _ in range(100):
            if self.run(f"return Boolean({script})"):
                return
            time.sleep(0.1)
        raise SystemExit(f"never came true: {what}; the console says: {self.said()}")

    def said(self) -> list[str]:
        return [entry["message"] for entry in self.ask("/se/log", type="browser")]

    def end(self) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.base}/session/{self.session}", method="DELETE"), timeout=60)
        self.process.terminate()
        self.process.wait(timeout=20)


def check(browser: Browser, page: Path, width: int, theme: str) -> None:
    """Every control, once."""
    browser.show(page, width, theme)
    for chart in ["numbers", "fairness", "cdf", "ccdf", "slowdown", "goodput", "rate", "cwnd", "queue"]:
        browser.until(f"chart {chart}", f"document.querySelector('#{chart} .marks')")
    browser.until("the theme", f"document.documentElement.dataset.theme === '{theme}'")
    browser.until("the picture", "document.querySelectorAll('#picture .unit').length > 10")
    browser.until("no overflow", "document.documentElement.scrollWidth <= innerWidth")
    same("what the page cuts off", browser.run(CUT), [])
    same("labels that touch", browser.run(TOUCHING), [])
    same("columns without a fault", "faults" in browser.texts("#ports-table th[scope=col]"), False)

    browser.run("document.querySelector('.flow').focus()")
    browser.press("down", "enter")
    browser.until("a flow by keyboard", "document.querySelector('#flow h3') && document.querySelector('#flow-rate .marks')")
    browser.until("the focus stays", "document.activeElement.classList.contains('flow')")
    browser.run("document.querySelector('#picture svg').focus()")
    browser.press("right", "right")
    browser.until("a unit by keyboard", "document.querySelector('.unit.chosen') && unit.textContent.includes('to ')")
    browser.run("document.getElementById('flows-search').focus()")
    browser.press(*"inter")
    browser.until("the search", "document.querySelectorAll('#flows-table tbody tr').length === 4")
    browser.run("document.querySelector('[data-sort=size]').click()")
    browser.until("the order", "document.querySelector('#flows-table [aria-sort]').textContent.startsWith('size')")
    browser.run("document.querySelector('#class button:last-child').click()")
    browser.run("arm.value = 1; arm.dispatchEvent(new Event('change'))")
    other = "light" if theme == "dark" else "dark"
    ink = "document.querySelector('#cdf .marks text').getAttribute('fill')"
    before = browser.run(f"return {ink}")
    browser.run("document.getElementById('theme').click()")
    browser.until("the other theme", f"document.documentElement.dataset.theme === '{other}'")
    browser.until("charts in other colours", f"document.querySelector('#cdf .marks text') && {ink} !== '{before}'")
    if resources := browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)"):
        raise SystemExit(f"the page asked for {resources}")
    if said := browser.said():
        raise SystemExit(f"the console says: {said}")


def ticks(browser: Browser, chart: str) -> None:
    """Labels of a logarithmic axis are 1, 2 or 5 times a power of ten, as short as they can be."""
    axis = f"document.querySelectorAll('#{chart} .role-axis-label')[0].querySelectorAll('text')"
    labels = browser.run(f"return [...{axis}].map((text) => text.textContent)")
    if len(labels) < 2 or not all(re.fullmatch(r"[125]0* (ns|µs|ms|s)", label) for label in labels):
        raise SystemExit(f"ticks of {chart}: {labels}")


def answers(browser: Browser, farspan: str, folder: Path) -> None:
    """The kind of the workload decides which chart comes first."""
    hosts = '[topology]\nkind = "star"\nhosts = 16\n[[workload]]\n'
    small = 'flow_size = "64KiB"\n'
    poisson = 'kind = "poisson"\nsizes = "fb-hadoop"\nload = 0.3\nflows = 400\n'
    collective = 'kind = "allreduce"\nalgorithm = "ring"\ngroups = [[0, 1, 2, 3]]\n'
    kinds = {
        "incast": (f'kind = "incast"\nreceiver = 0\nsenders = [1, 2, 3]\n{small}', "numbers"),
        "poisson": (poisson, "slowdown"),
        "collective": (collective + small, "numbers"),
        "permutation": (f'kind = "permutation"\n{small}', "cdf"),
    }
    folder.mkdir()
    for name, (workload, chart) in kinds.items():
        (folder / f"{name}.toml").write_text(hosts + workload)
        out = ["--quiet", "--out", str(folder / name)]
        subprocess.run([farspan, "run", str(folder / f"{name}.toml"), *out], check=True, capture_output=True, timeout=300)
        browser.show(folder / name / "report.html", 1400, "light")
        browser.until("the first chart", f"document.querySelector('main .chart .marks') && document.querySelector('#{chart} .marks')")
        shown = browser.run("return [...document.querySelectorAll('main .chart')].find((chart) => chart.getClientRects().length).id")
        same(f"first chart of {name}", shown, chart)
    same("numbers of one run", browser.texts("#numbers-caption"), ["Completion times"])
    browser.show(folder / "collective/report.html", 1400, "light")
    same("an iteration over the ideal one", browser.texts("#numbers-caption"), ["allreduce, over ideal"])
    browser.show(folder / "poisson/report.html", 1400, "light")
    browser.until("the slowdown and the distributions", "document.querySelector('#slowdown .marks path') && document.querySelector('#ccdf .marks')")
    for chart in ["cdf", "ccdf"]:
        ticks(browser, chart)
    broken = "[...document.querySelectorAll('#slowdown .mark-line path')].map((path) => path.getAttribute('d').split('M').length - 1)"
    lines = browser.run(f"return {broken}")
    if not lines or set(lines) != {1}:
        raise SystemExit(f"lines of the slowdown break into {lines} pieces")
    if said := browser.said():
        raise SystemExit(f"the console says: {said}")


def many(browser: Browser, farspan: str, folder: Path) -> None:
    """A sweep of many combinations has a title of a line, and a choice that stays on the page."""
    folder.mkdir()
    grid = '"topology.wan.rtt" = ["1ms", "2ms", "4ms"]\n"topology.buffer" = ["512KiB", "1MiB", "2MiB", "4MiB"]\n'
    (folder / "sweep.toml").write_text(f'scenario = "uno/incast-mixed"\nscheme = ["uno", "gemini"]\nseeds = "1..2"\n[grid]\n{grid}"workload.flow_size" = ["64KiB"]\n')
    subprocess.run([farspan, "sweep", str(folder / "sweep.toml"), "--quiet"], check=True, capture_output=True, timeout=300)
    subprocess.run([farspan, "report", str(folder / "sweep")], check=True, stdout=subprocess.DEVNULL, timeout=60)
    for width in WIDTHS:
        browser.show(folder / "sweep/report.html", width, "light")
        browser.until("a chart", "document.querySelector('#numbers .marks')")
        same("title", browser.texts("#title"), ["uno/incast-mixed: 12 combinations"])
        same("what the page cuts off", browser.run(CUT), [])
        browser.until("no overflow", "document.documentElement.scrollWidth <= innerWidth")
        high = browser.run("return document.querySelector('h1').getBoundingClientRect().height")
        if high > 60:
            raise SystemExit(f"the title is {high} pixels high at {width}")


def heads(browser: Browser, page: Path) -> None:
    """Heads of tables stay above their rows, and the page's own head above everything."""
    browser.show(page, 1400, "light", height=700)
    for table in ["measures", "ports-table", "flows-table"]:
        browser.run(f"document.getElementById('{table}').scrollIntoView()")
        spots = "const box = document.getElementById('%s'); box.scrollTop = 90; return [box.scrollTop, box.getBoundingClientRect().top, box.querySelector('thead th').getBoundingClientRect().top]"
        scrolled, box, head = browser.run(spots % table)
        if scrolled > 0 and abs(head - box) > 2:
            raise SystemExit(f"the head of {table} scrolls away: {head} at {box}")
    browser.run("document.getElementById('cdf').scrollIntoView()")
    browser.until("the menu of a chart", "document.querySelector('#cdf details summary')")
    browser.run("scrollBy(0, document.querySelector('#cdf details summary').getBoundingClientRect().top - 12)")
    above = "const menu = document.querySelector('#cdf details summary').getBoundingClientRect(); const top = document.elementFromPoint(menu.left + 4, menu.top + 4); return [menu.top, top && top.closest('header') != null]"
    top, covered = browser.run(above)
    if not (0 < top < 40 and covered):
        raise SystemExit(f"the menu of a chart stands over the page's head (at {top})")


def failed(browser: Browser, farspan: str, folder: Path) -> None:
    """A dead link is drawn apart from those beside it, dashed, with its time; all ports are in the table."""
    border = ["run", "uno/border-failure", "--quiet", "--set", "workload.flow_size=256KiB", "--out", str(folder)]
    subprocess.run([farspan, *border], check=True, stdout=subprocess.DEVNULL, timeout=300)
    browser.show(folder / "report.html", 1400, "light")
    browser.until("the picture", "document.querySelector('#picture .dead')")
    between = "[...document.querySelectorAll('#picture path:not(.dead)')].filter((path) => path.textContent.startsWith('border0 – border1'))"
    same("links between the borders, both ways", browser.run(f"return new Set({between}.map((path) => path.getAttribute('d'))).size"), 16)
    same("dead links", browser.texts("#picture .dead"), ["border0->border1#0: black_hole from 0ns"])
    same("its line", browser.run("return getComputedStyle(document.querySelector('#picture .dead')).strokeDasharray"), "6px, 4px")
    same("faults", browser.texts("#faults"), ["Faults: border0->border1#0 black_hole from 0ns"])
    same("sites", browser.texts("#picture text.name"), ["site 0", "site 1"])
    same("its time, at the link", browser.texts("#picture text.fault"), ["black_hole from 0ns"])
    same("scale", browser.texts("#picture > svg > g:last-of-type text"), ["0%", "50%", "100%"])
    browser.run("const search = document.getElementById('ports-search'); search.value = 'border0->border1'; search.dispatchEvent(new Event('input'))")
    same("ports found", len(browser.texts("#ports-table tbody tr")), 8)
    browser.run("document.querySelector('#ports-table [data-sort=faults]').click()")
    same("the faulty port first", browser.texts("#ports-table tbody tr:first-child th, #ports-table tbody tr:first-child .fault"), ["border0->border1#0", "black_hole from 0ns"])


def proxied(browser: Browser, farspan: str, folder: Path) -> None:
    """A proxy has its row, its chart and its mark in the network; a run without one shows nothing of it."""
    incast = ["run", "proxy/degree", "--quiet", "--set", "workload.flow_size=1MB", "--set", "probes.queue_interval=5us"]
    for kind in ["naive", "none"]:
        out = ["--set", f"scheme.proxy.kind={kind}", "--out", str(folder / kind)]
        subprocess.run([farspan, *incast, *out], check=True, stdout=subprocess.DEVNULL, timeout=300)
    subprocess.run([farspan, "report", str(folder)], check=True, stdout=subprocess.DEVNULL, timeout=60)
    proxy = json.loads((folder / "naive/summary.json").read_text())["proxy"]["hosts"][0]
    ring = "getComputedStyle(document.querySelector('#picture rect.proxy')).stroke"
    rings = set()
    for width, theme in itertools.product(WIDTHS, THEMES):
        browser.show(folder / "report.html", width, theme)
        browser.until("what waits at the proxy", "document.querySelector('#proxy_queue .marks')")
        browser.until("no overflow", "document.documentElement.scrollWidth <= innerWidth")
        same("what the page cuts off", browser.run(CUT), [])
        rings.add(browser.run(f"return {ring}"))
    same("colours of the ring", len(rings), len(THEMES))
    same("headings", browser.texts("h2"), [*SECTIONS[:5], "Proxies", *SECTIONS[5:]])
    same("proxies", browser.texts("#proxies-caption"), ["1 proxy"])
    same("columns", browser.texts("#proxies-table th[scope=col]"), ["host", "kind", "flows", "packets sent on", "bytes sent on ↓", "NACKs", "largest queue", "mean wait", "flows that went direct"])
    cells = browser.texts("#proxies-table tbody th, #proxies-table tbody td")
    same("the proxy", [*cells[:4], *cells[5:6], *cells[8:]], ["host63", "naive", "4", f"{proxy['packets']:,}", "0", "0"])
    same("its bytes, queue and wait", [cells[4], *(cells[i].split()[1] for i in (6, 7))], ["4.00 MB", "KB", "µs"])
    same("its mark", browser.texts("#picture text.proxy"), ["proxy"])
    marked = browser.run("return [...document.querySelectorAll('.unit')].map((unit) => unit.textContent).filter((text) => text.includes('proxy'))")
    same("its unit", [text.split(":")[0] + text[text.rindex(";"):] for text in marked], ["host60 … host63 (4); proxy: host63"])
    browser.run("arm.value = 1; arm.dispatchEvent(new Event('change'))")
    browser.until("a run without a proxy", "!document.querySelector('#picture .proxy')")
    same("headings without a proxy", browser.texts("h2"), SECTIONS)
    same("links without a proxy", [text for text in browser.texts("nav a, figcaption") if "rox" in text], [])
    if said := browser.said():
        raise SystemExit(f"the console says: {said}")


SWEEP = """
scenario = "uno/incast-mixed"
scheme = ["uno", "gemini"]
seeds = "1..2"
[grid]
"workload.flow_size" = "64KiB"
"topology.wan.rtt" = ["1ms", "2ms", "20ms"]
"topology.buffer" = ["512KiB", "1MiB"]
"""


def swept(browser: Browser, farspan: str, folder: Path) -> None:
    """A sweep's first chart is a number over its first axis; the others are chosen. Other pages have none."""
    folder.mkdir()
    (folder / "s.toml").write_text(SWEEP)
    subprocess.run([farspan, "sweep", "s.toml", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=300)
    subprocess.run([farspan, "report", "s"], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)
    lines = "document.querySelectorAll('#over-chart .mark-line path').length"
    for width, theme in itertools.product(WIDTHS, THEMES):
        browser.show(folder / "s/report.html", width, theme)
        browser.until("the chart over an axis", f"{lines} === 2")
        browser.until("no overflow", "document.documentElement.scrollWidth <= innerWidth")
        same("labels that touch", browser.run(TOUCHING), [])
    same("the first chart", browser.run("return document.querySelector('.chart').id"), "over-chart")
    same("the way to it", browser.texts("nav a")[:2], ["Over an axis", "Overview"])
    dashes = "[...document.querySelectorAll('#over-chart .role-legend-symbol path')].map((path) => path.getAttribute('stroke-dasharray'))"
    same("a legend with dashes", len(set(browser.run(f"return {dashes}"))), 2)
    chosen = "[...document.querySelectorAll('#over-choice select')].map((select) => select.selectedOptions[0].textContent)"
    number, key, rest = browser.run(f"return {chosen}")
    same("what is chosen first", [number, key, rest], ["inter p99 FCT", "topology.wan.rtt", "512KiB"])
    caption = browser.texts("#over-caption")[0]
    command = "farspan plot DIR --x topology.wan.rtt --y fct.inter.p99_us --where topology.buffer=512KiB"
    same("the caption", ["∞" in caption, caption.endswith(f"The same as a figure: {command}")], [False, True])
    subprocess.run([*command.replace("DIR", "s").split(), "-o", "same.svg"], executable=farspan, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)
    choose = "const select = document.querySelectorAll('#over-choice select')[%d]; select.value = %d; select.dispatchEvent(new Event('change'))"
    browser.run(choose % (1, 1))
    browser.until("another axis", f"{lines} === 2 && {chosen}[1] !== '{key}'")
    ticks = "[...document.querySelectorAll('#over-chart .role-axis-label text')].map((text) => text.textContent)"
    browser.until("sizes as they were written", f"{ticks}.includes('512 KiB') && {ticks}.includes('1 MiB')")
    browser.run(choose % (0, 1))
    browser.until("another number", f"{chosen}[0] !== '{number}' && {lines} === 2")
    if said := browser.said():
        raise SystemExit(f"the console says: {said}")


def picture(browser: Browser, file: Path, width: int, top: float, bottom: float) -> None:
    clip = {"x": 0, "y": top, "width": width, "height": bottom - top, "scale": 1}
    taken = browser.devtools("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    file.write_bytes(base64.b64decode(taken["data"]))


def choose_group(browser: Browser, group: int) -> None:
    browser.run(f"const choice = document.getElementById('group'); choice.value = {group}; choice.dispatchEvent(new Event('change'))")
    time.sleep(1)


def book(browser: Browser, farspan: str, folder: Path) -> None:
    """The pictures of docs/src/report.md."""
    with tempfile.TemporaryDirectory(prefix="farspan-book-") as demo:
        subprocess.run([farspan, "demo", "--quiet", "--out", demo], check=True, stdout=subprocess.DEVNULL, timeout=600)
        spot = "const box = document.querySelector('%s').getBoundingClientRect(); return [box.top, box.bottom]"
        for name, theme, group, first, last in BOOK:
            browser.show(Path(demo, "report.html"), BOOK_WIDTH, theme)
            choose_group(browser, group)
            browser.run("document.querySelector('.flow').click()")
            time.sleep(2)
            top, bottom = browser.run(spot % first)[0], browser.run(spot % last)[1]
            picture(browser, folder / f"{name}.png", BOOK_WIDTH, max(top - 10, 0), bottom + 10)


def shots(browser: Browser, page: Path, folder: Path) -> None:
    """Pictures of a whole page at each width and theme."""
    folder.mkdir(parents=True, exist_ok=True)
    for width, theme in itertools.product(WIDTHS, THEMES):
        browser.show(page, width, theme)
        browser.until("charts", "document.querySelector('#cdf .marks')")
        for group in range(browser.run("return document.getElementById('group').options.length")):
            choose_group(browser, group)
            height = browser.run("return document.body.offsetHeight")
            picture(browser, folder / f"{page.parent.name}-{group}-{width}-{theme}.png", width, 0, height)


def hostile(browser: Browser, page: Path) -> None:
    """A name that looks like markup is text."""
    browser.show(page, 1200, "light")
    browser.until("the tag as text", f"document.querySelector('#flows-table td:nth-child(5)').textContent === {json.dumps(HOSTILE)}")
    browser.until("no markup", "!document.querySelector('img')")


def same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise SystemExit(f"{what}:\n  says     {found!r}\n  expected {expected!r}")


def lossy(farspan: str, folder: Path) -> None:
    """Runs of two schemes, of which some seeds lose packets."""
    folder.mkdir()
    scenario = folder / "lossy.toml"
    scenario.write_text(LOSSY)
    for scheme in ["dctcp", "gemini"]:
        out = ["--scheme", scheme, "--seeds", f"1..{SEEDS}", "--out", str(folder / scheme)]
        subprocess.run([farspan, "run", str(scenario), "--quiet", *out], check=True, capture_output=True, timeout=300)
    subprocess.run([farspan, "report", str(folder)], check=True, stdout=subprocess.DEVNULL, timeout=60)


def words(browser: Browser, folder: Path) -> None:
    """What the page says of numbers, and of what has none."""
    documents = {scheme: json.loads((folder / scheme / "summary.json").read_text())["runs"] for scheme in ["dctcp", "gemini"]}
    drops = {scheme: [run["packets"]["dropped"] for run in runs] for scheme, runs in documents.items()}
    paired = sum(base > 0 for base in drops["dctcp"])
    if not 0 < paired < SEEDS:
        raise SystemExit(f"LOSSY loses packets in {paired} of {SEEDS} seeds; the test needs some, and not all")
    browser.show(folder / "report.html", 1300, "light")
    browser.until("the chart", "document.querySelector('#cdf .marks')")
    same("title", browser.run("return document.title"), "lossy · farspan")
    same("first heading", browser.texts("h1"), ["farspan lossy"])
    same("headings", browser.texts("h2"), SECTIONS)
    same("description", browser.texts("#description"), ["Three senders, and one that is late"])
    same("runs", browser.texts("#runs > table th[scope=col]"), ["scheme", "profile", "seeds", "flows finished", "packet-hops"])
    same("finished", browser.texts("#runs > table tbody td:nth-of-type(3)"), [f"{3 * SEEDS} of {4 * SEEDS}"] * 2)
    same("all runs", browser.texts("#runs summary"), [f"All {2 * SEEDS} runs, with their digests"])
    same("schemes", browser.texts("#measures th[scope=col]"), ["", *(f"{name}{SEEDS} unfinished" for name in ["dctcp", "gemini"])])
    rows = browser.run("return [...document.querySelectorAll('#measures tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))")
    said = {name: values for name, *values in rows}
    if not said["packets dropped"][1].endswith(f" ({paired} of {SEEDS})"):
        raise SystemExit(f"packets dropped: {said['packets dropped']}, of which {paired} of {SEEDS} seeds have a ratio")
    same("unfinished", said["unfinished flows"], ["1", "1×1.00 [1.00, 1.00]"])
    same("rows without a ratio", [name for name, values in said.items() if "×" not in values[1]], ["time-outs"])
    same("completion times that are finite", [name for name in said if "FCT" in name], ["all p50 FCT"])
    caption = browser.texts("#measures-caption")[0]
    for part in [f"Median over {SEEDS} seeds. ", "over dctcp, the median of the ratios paired by seed", "∞: some flows did not finish", "–: no such number", "(1 of 4): 1 of 4 seeds"]:
        if part not in caption:
            raise SystemExit(f"the caption lacks {part!r}: {caption}")
    same("completion", browser.texts("#cdf-caption")[0].split(".")[0], f"Flows of all seeds together: dctcp {4 * SEEDS} ({SEEDS} unfinished), gemini {4 * SEEDS} ({SEEDS} unfinished)")
    same("ports", browser.texts("#ports-table th[scope=col]"), ["port", "utilisation ↓", "sent", "mean queue", "largest queue", "drops", "marks", "trims", "pauses", "paused", "faults"])
    same("network", browser.texts("#picture > svg > text"), ["6 hosts", "2 ToR switches", "loss 0.005 from 0ns"])
    browser.run("document.getElementById('flows-search').value = 'unfinished'; document.getElementById('flows-search').dispatchEvent(new Event('input'))")
    same("unfinished flows", browser.texts("#flows-caption"), ["1 flow"])
    cells = browser.texts("#flows-table tbody td")
    same("an unfinished flow", [*cells[:5], *cells[6:8]], ["0", "4", "intra", "late", "4.10 KB", "unfinished", "–"])
    browser.run("document.querySelector('.flow').click()")
    same("its numbers", browser.texts("#flow dt")[:6], ["from, to", "tag", "size", "start", "completion", "slowdown"])
    values = dict(zip(browser.texts("#flow dt"), browser.texts("#flow dd"), strict=True))
    same("its size", values["size"], "4.10 KB (4,096 B)")
    same("what it lacks", [values[name] for name in ["completion", "slowdown", "delivered after", "mean rate"]], ["unfinished", "–", "–", "–"])
    browser.run("document.getElementById('flows-search').value = 'nothing'; document.getElementById('flows-search').dispatchEvent(new Event('input'))")
    same("no flow", browser.texts("#flows-page"), ["No flow fits."])
    if not browser.texts("#footer")[0].startswith(f"farspan {documents['dctcp'][0]['farspan_version']}, commit "):
        raise SystemExit(f"the footer says {browser.texts('#footer')}")


def uneven(browser: Browser, farspan: str, folder: Path) -> None:
    """Sites stand side by side, hosts below, each at its switch."""
    folder.mkdir()
    links = [f'[[link]]\na = "{a}"\nb = "{b}"\nrate = "100Gbps"\ndelay = "1us"\n' for a, b in WIRES]
    (folder / "net.toml").write_text(UNEVEN + "".join(links))
    text = '[topology]\nkind = "from_file"\nfile = "net.toml"\n[[workload]]\nkind = "permutation"\nflow_size = "64KiB"\n'
    (folder / "run.toml").write_text(text)
    subprocess.run([farspan, "run", str(folder / "run.toml"), "--quiet", "--out", str(folder / "out")], check=True, stdout=subprocess.DEVNULL, timeout=300)
    browser.show(folder / "out/report.html", 1300, "light")
    browser.until("the picture", "document.querySelector('#picture .unit')")
    same("rows", browser.texts("#picture > svg > text"), ["8 gpu", "4 rack", "exit", "3 store", "3 switches", "edge", "pop", "west", "east", "south"])
    box = "[...document.querySelectorAll('.unit')].map((unit) => [unit.textContent.split(':')[0], Number(unit.getAttribute('x')), Number(unit.getAttribute('y'))])"
    spots = {name: (x, y) for name, x, y in browser.run(f"return {box}")}
    hosts = sorted((name for name in spots if name.startswith("gpu")), key=lambda name: spots[name])
    same("hosts at their racks", hosts, ["gpu0", "gpu4", "gpu1", "gpu5", "gpu2", "gpu6", "gpu3", "gpu7"])
    levels = [{spots[name][1] for name in names} for names in [("gpu0", "store0", "edge"), ("rack0", "east-a", "pop"), ("exit",)]]
    if [len(level) for level in levels] != [1, 1, 1] or not min(levels[0]) > min(levels[1]) > min(levels[2]):
        raise SystemExit(f"levels are not above each other: {spots}")
    ends = [max(spots[name][0] for name in ("gpu7", "exit")), max(spots[name][0] for name in ("store2", "east-c"))]
    if not (ends[0] < min(spots["store0"][0], spots["east-a"][0]) and ends[1] < min(spots["edge"][0], spots["pop"][0])):
        raise SystemExit(f"sites are not side by side: {spots}")
    same("bows", browser.run("return [...document.querySelectorAll('#picture path')].filter((path) => path.getAttribute('d').includes('Q')).length"), 2)


def large(browser: Browser, page: Path) -> None:
    """A page of many flows is small, and takes little CPU time: seconds would depend on what else the machine does."""
    size = page.stat().st_size
    browser.devtools("Performance.enable", timeDomain="threadTicks")
    before = browser.cpu_s()
    browser.show(page, 1300, "light")
    for chart in ["cdf", "slowdown", "goodput", "rate", "queue"]:
        browser.until(f"chart {chart}", f"document.querySelector('#{chart} .marks')")
    browser.until("the picture", "document.querySelectorAll('#picture .unit').length > 10")
    browser.until("the flows", "document.querySelectorAll('#flows-table tbody tr').length === 25")
    drawn = browser.run("return performance.now()") / 1000
    cpu, elements = browser.cpu_s() - before, browser.run("return document.querySelectorAll('*').length")
    print(f"a report of {len(SCHEMES)} schemes x {FLOWS} flows: {size / 1e6:.2f} MB, {elements} elements, drawn in {drawn:.2f} s ({cpu:.2f} s of CPU)")
    if elements >= MOST_ELEMENTS:
        raise SystemExit(f"the page has {elements} elements, {MOST_ELEMENTS} or more")
    if not 0 < cpu < LONGEST_S:
        raise SystemExit(f"the page took {cpu:.2f} s of CPU; the bound is {LONGEST_S}")
    if size >= LARGEST_BYTES:
        raise SystemExit(f"the page has {size} bytes, {LARGEST_BYTES} or more")


def main() -> None:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    driver = shutil.which("chromedriver")
    if not (found and driver):
        return skipped("browser", "no Chromium or no chromedriver: apt install chromium chromium-driver")
    farspan = str(Path(sys.argv[1]).resolve())
    if "--book" in sys.argv:
        browser = Browser(driver, found)
        try:
            book(browser, farspan, Path(sys.argv[sys.argv.index("--book") + 1]))
        finally:
            browser.end()
        return
    with tempfile.TemporaryDirectory(prefix="farspan-browser-") as folder:
        incast = ["run", "uno/incast-mixed", "--quiet", "--set", "workload.flow_size=8MiB", "--set", "probes.rate_interval=2ms"]
        for scheme in ["uno", "gemini"]:
            out = ["--scheme", scheme, "--seeds", "1..2", "--out", f"{folder}/runs/{scheme}"]
            subprocess.run([farspan, *incast, *out], check=True, stdout=subprocess.DEVNULL, timeout=300)
        subprocess.run([farspan, "report", f"{folder}/runs"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        named = ["--set", f"workload.tag={HOSTILE}", "--set", f"measure.fairness_group={HOSTILE}", "--out", f"{folder}/hostile"]
        subprocess.run([farspan, *incast, *named], check=True, stdout=subprocess.DEVNULL, timeout=300)
        lossy(farspan, Path(folder, "lossy"))
        drain = ["run", "uno/websearch", "--quiet", "--set", f"workload.flows={FLOWS}", "--set", "topology.k=4"]
        probes = ["--set", "probes.rate_interval=2ms", "--set", "probes.queue_interval=100us"]
        for scheme in SCHEMES:
            out = ["--scheme", scheme, "--out", f"{folder}/large/{scheme}"]
            subprocess.run([farspan, *drain, *probes, *out], check=True, stdout=subprocess.DEVNULL, timeout=300)
        subprocess.run([farspan, "report", f"{folder}/large"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        browser = Browser(driver, found)
        try:
            for width, theme in itertools.product(WIDTHS, THEMES):
                check(browser, Path(folder, "runs/report.html"), width, theme)
            heads(browser, Path(folder, "runs/report.html"))
            failed(browser, farspan, Path(folder, "failed"))
            proxied(browser, farspan, Path(folder, "proxied"))
            hostile(browser, Path(folder, "hostile/report.html"))
            words(browser, Path(folder, "lossy"))
            uneven(browser, farspan, Path(folder, "uneven"))
            answers(browser, farspan, Path(folder, "answers"))
            many(browser, farspan, Path(folder, "many"))
            swept(browser, farspan, Path(folder, "swept"))
            large(browser, Path(folder, "large/report.html"))
            if "--shots" in sys.argv:
                for page in ["runs", "failed", "proxied", "uneven/out"]:
                    shots(browser, Path(folder, page, "report.html"), Path(sys.argv[sys.argv.index("--shots") + 1]))
        finally:
            browser.end()
    print("reports in a browser: charts, words, keyboard, search, themes, networks, narrow and wide: ok")


if __name__ == "__main__":
    main()
