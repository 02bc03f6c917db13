#!/usr/bin/env python3
"""Opens a report in headless Chromium and uses it: python3 tests/browser/report.py target/release/farspan

Drives chromedriver over loopback by the WebDriver protocol, with Python's own library alone. Without Chromium it says
that it was skipped, and ends with 0.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
KEYS = {"down": "\ue015", "right": "\ue014", "enter": "\ue007"}
HOSTILE = "</script><img src=x onerror=alert(1)>"
SCHEMES = ["uno", "gemini", "mprdma-bbr", "dctcp"]
FLOWS = 5000
LARGEST_BYTES = 5_000_000
LONGEST_S = 2.0


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

    def devtools(self, command: str, **parameters) -> None:
        self.ask("/goog/cdp/execute", cmd=command, params=parameters)

    def show(self, page: Path, width: int, theme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=5000, deviceScaleFactor=1, mobile=False)
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
    for chart in ["cdf", "slowdown", "goodput", "rate", "cwnd", "queue"]:
        browser.until(f"chart {chart}", f"document.querySelector('#{chart} .marks')")
    browser.until("the theme", f"document.documentElement.dataset.theme === '{theme}'")
    browser.until("the picture", "document.querySelectorAll('#picture .unit').length > 10")
    browser.until("no overflow", "document.documentElement.scrollWidth <= innerWidth")

    browser.run("document.querySelector('.flow').focus()")
    browser.press("down", "enter")
    browser.until("a flow by keyboard", "document.querySelector('#flow h3') && document.querySelector('#flow-rate .marks')")
    browser.until("the focus stays", "document.activeElement.classList.contains('flow')")
    browser.run("document.querySelector('#picture svg').focus()")
    browser.press("right", "right")
    browser.until("a unit by keyboard", "document.querySelector('.unit.chosen') && unit.textContent.includes('to ')")
    browser.run("document.getElementById('search').focus()")
    browser.press(*"inter")
    browser.until("the search", "document.querySelectorAll('#flows-table tbody tr').length === 4")
    browser.run("document.querySelector('[data-sort=size]').click()")
    browser.until("the order", "document.querySelector('[aria-sort]').textContent.startsWith('size')")
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


def hostile(browser: Browser, page: Path) -> None:
    """A name that looks like markup is text."""
    browser.show(page, 1200, "light")
    browser.until("the tag as text", f"document.querySelector('#flows-table td:nth-child(5)').textContent === {json.dumps(HOSTILE)}")
    browser.until("no markup", "!document.querySelector('img')")


def large(browser: Browser, page: Path) -> None:
    """A page of many flows is small, and drawn at once."""
    size = page.stat().st_size
    browser.show(page, 1300, "light")
    for chart in ["cdf", "slowdown", "goodput", "rate", "queue"]:
        browser.until(f"chart {chart}", f"document.querySelector('#{chart} .marks')")
    browser.until("the picture", "document.querySelectorAll('#picture .unit').length > 10")
    browser.until("the flows", "document.querySelectorAll('#flows-table tbody tr').length === 25")
    drawn = browser.run("return performance.now()") / 1000
    print(f"a report of {len(SCHEMES)} schemes x {FLOWS} flows: {size / 1e6:.2f} MB, drawn in {drawn:.2f} s")
    if size >= LARGEST_BYTES:
        raise SystemExit(f"the page has {size} bytes, {LARGEST_BYTES} or more")
    load, cores = os.getloadavg()[0], os.cpu_count()
    if load > cores:
        print(f"SKIPPED: whether it is drawn within {LONGEST_S} s (load {load:.1f} on {cores} cores)")
    elif drawn >= LONGEST_S:
        raise SystemExit(f"the page was drawn in {drawn:.2f} s, {LONGEST_S} or more")


def main() -> None:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    driver = shutil.which("chromedriver")
    if not (found and driver):
        print("SKIPPED: reports in a browser (no Chromium or no chromedriver: apt install chromium chromium-driver)")
        return
    farspan = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="farspan-browser-") as folder:
        incast = ["run", "uno/incast-mixed", "--quiet", "--set", "workload.flow_size=8MiB", "--set", "probes.rate_interval=2ms"]
        for scheme in ["uno", "gemini"]:
            out = ["--scheme", scheme, "--seeds", "1..2", "--out", f"{folder}/runs/{scheme}"]
            subprocess.run([farspan, *incast, *out], check=True, stdout=subprocess.DEVNULL, timeout=300)
        subprocess.run([farspan, "report", f"{folder}/runs"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        named = ["--set", f"workload.tag={HOSTILE}", "--set", f"measure.fairness_group={HOSTILE}", "--out", f"{folder}/hostile"]
        subprocess.run([farspan, *incast, *named], check=True, stdout=subprocess.DEVNULL, timeout=300)
        drain = ["run", "uno/websearch", "--quiet", "--set", f"workload.flows={FLOWS}", "--set", "topology.k=4"]
        probes = ["--set", "probes.rate_interval=2ms", "--set", "probes.queue_interval=100us"]
        for scheme in SCHEMES:
            out = ["--scheme", scheme, "--out", f"{folder}/large/{scheme}"]
            subprocess.run([farspan, *drain, *probes, *out], check=True, stdout=subprocess.DEVNULL, timeout=300)
        subprocess.run([farspan, "report", f"{folder}/large"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        browser = Browser(driver, found)
        try:
            for width, theme in [(1300, "light"), (400, "dark")]:
                check(browser, Path(folder, "runs/report.html"), width, theme)
            hostile(browser, Path(folder, "hostile/report.html"))
            large(browser, Path(folder, "large/report.html"))
        finally:
            browser.end()
    print("reports in a browser: charts, keyboard, search, themes, narrow and wide: ok")


if __name__ == "__main__":
    main()
