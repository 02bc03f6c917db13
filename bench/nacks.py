"""The effect of the NACK of a trimmed packet on a window, and of how ports serve trimmed headers. An incast of 62 senders, 5 MB each, to another
site, over controls x rules x services, direct and through the streamlined proxy. Writes the table of docs/src/schemes/nacks.md.

usage: nacks.py FARSPAN [--jobs N] [--limit S]      runs all, keeps the numbers in bench/nacks.json and writes the page
       nacks.py [--check]                           writes the page from the kept numbers (or compares it)

272 runs, ten minutes on two busy cores. A run that takes longer than the limit is stopped, and its row says so.
"""
import itertools
import json
import subprocess
import sys
import time

import study

SENDERS, SIZE = 62, 5_000_000
CONTROLS = {
    "dctcp-per-ack+rps": "the paper's", "unocc+rps": "UnoCC", "dctcp+rps": "DCTCP", "gemini+rps": "Gemini", "mprdma+rps": "MPRDMA",
    "bbr+rps": "BBR", "smartt+rps": "SMaRTT", "nscc+rps": "NSCC", "swift+rps": "Swift", "oscar+rps": "OSCAR", "hpcc+rps": "HPCC",
    "powertcp+rps": "PowerTCP", "theta-powertcp+rps": "theta-PowerTCP", "poseidon+rps": "Poseidon", "timely+rps": "TIMELY",
    "dcqcn+rps": "DCQCN", "ndp": "NDP",
}
WAYS = {"none": "direct", "streamlined": "streamlined"}
RULES = ["published", "before", "in_flight", "none"]
SERVICES = ["strict", "10:1"]
# The rule that the page of the proxy recommends, and how many times its bytes no control may send through the proxy under it.
RECOMMENDED, MOST = "in_flight", 3.0


def run(farspan, limit, scheme, way, service, rule):
    """Delivery in ms and bytes sent over bytes of payload; or why there are none."""
    settings = [f"workload.senders={list(range(SENDERS))}", f"workload.flow_size={SIZE}B", f"scheme.proxy.kind={way}",
                "scheme.ports.overflow=trim", f"scheme.ports.trim_service={service}",
                *(f"scheme.{site}.congestion.on_nack={rule}" for site in ("intra", "inter"))]
    try:
        done = study.run(farspan, "proxy/degree", "--scheme", scheme, "--json", settings=settings, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"note": f"over {limit:.0f} s"}
    if done.returncode == 2 and "on_nack" in done.stderr:
        return {"note": "refused"}
    document = json.loads(study.checked(done).stdout)
    sent, payload = document["bytes"]["retransmitted"], document["bytes"]["payload"]
    if document["flows"]["finished"] < document["flows"]["started"]:
        return {"note": "unfinished"}
    return {"delivery_ms": round(document["delivery"]["all"]["max_us"] / 1000, 1), "times": round(1 + sent / payload, 2)}


def measured(options):
    cases = {"/".join(case): (options.limit, *case) for case in itertools.product(CONTROLS, WAYS, SERVICES, RULES)}
    began = time.monotonic()
    results = dict(study.each(options, run, cases))
    print(f"{len(cases)} runs in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return results


def cell(result):
    return "" if result.get("note") == "refused" else result.get("note") or f"{result['delivery_ms']:.1f}, {result['times']:.1f}"


def parts(kept):
    columns = list(itertools.product(WAYS, SERVICES))
    rows = []
    for scheme, rule in itertools.product(CONTROLS, RULES):
        results = [kept["/".join((scheme, way, service, rule))] for way, service in columns]
        if not all(result.get("note") == "refused" for result in results):
            rows.append([CONTROLS[scheme], f"`{rule}`", *map(cell, results)])
    return {"": study.table(["control", "rule", *(f"{WAYS[way]}, {service}" for way, service in columns)], rows, rule="---")}


def over(kept):
    """The runs through the proxy under the recommended rule that send too much."""
    through = ((name, result) for name, result in kept.items() if "/streamlined/" in name and name.endswith(f"/{RECOMMENDED}"))
    return [name for name, result in through if result.get("times", 0) > MOST]


def main():
    nacks = study.Study(__file__, "schemes/nacks.md")
    # A limit in seconds.
    nacks.main(measured, parts, limit=60.0)
    if wrong := over(nacks.kept()):
        sys.exit(f"under {RECOMMENDED} these send more than {MOST:g} times their bytes: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
