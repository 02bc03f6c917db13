"""The effect of the NACK of a trimmed packet on a window, and of how ports serve trimmed headers. An incast of 62 senders, 5 MB each, to another
site, over controls x rules x services, direct and through the streamlined proxy. Writes the table of docs/src/schemes/nacks.md.

usage: nacks.py FARSPAN [--jobs N] [--limit S]      runs all, keeps the numbers in bench/nacks.json and writes the page
       nacks.py [--check]                           writes the page from the kept numbers (or compares it)

272 runs, ten minutes on two busy cores. A run that takes longer than the limit is stopped, and its row says so.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import made_part

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "nacks.json"
PAGE = HERE.parent / "docs/src/schemes/nacks.md"

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


def run(binary, scheme, way, rule, service, limit):
    """Delivery in ms and bytes sent over bytes of payload; or why there are none."""
    senders = ",".join(str(host) for host in range(SENDERS))
    settings = [f"workload.senders=[{senders}]", f"workload.flow_size={SIZE}B", f"scheme.proxy.kind={way}", "scheme.ports.overflow=trim",
                f"scheme.ports.trim_service={service}", f"scheme.intra.congestion.on_nack={rule}", f"scheme.inter.congestion.on_nack={rule}"]
    command = [binary, "run", "proxy/degree", "--scheme", scheme, "--json", "--quiet"]
    command += [word for setting in settings for word in ("--set", setting)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"note": f"over {limit:.0f} s"}
    if done.returncode == 2 and "on_nack" in done.stderr:
        return {"note": "refused"}
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    document = json.loads(done.stdout)
    sent, payload = document["bytes"]["retransmitted"], document["bytes"]["payload"]
    if document["flows"]["finished"] < document["flows"]["started"]:
        return {"note": "unfinished"}
    return {"delivery_ms": round(document["delivery"]["all"]["max_us"] / 1000, 1), "times": round(1 + sent / payload, 2)}


def run_all(binary, jobs, limit):
    cases = list(itertools.product(CONTROLS, WAYS, SERVICES, RULES))
    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda case: run(binary, case[0], case[1], case[3], case[2], limit), cases))
    print(f"{len(cases)} runs in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return {"/".join(case): result for case, result in zip(cases, results, strict=True)}


def cell(result):
    return "" if result.get("note") == "refused" else result.get("note") or f"{result['delivery_ms']:.1f}, {result['times']:.1f}"


def table(kept):
    columns = list(itertools.product(WAYS, SERVICES))
    head = ["control", "rule", *(f"{WAYS[way]}, {service}" for way, service in columns)]
    rows = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for scheme, rule in itertools.product(CONTROLS, RULES):
        results = [kept["/".join((scheme, way, service, rule))] for way, service in columns]
        if all(result.get("note") == "refused" for result in results):
            continue
        rows.append("| " + " | ".join([CONTROLS[scheme], f"`{rule}`", *map(cell, results)]) + " |")
    return "\n".join(rows) + "\n"


def over(kept):
    """The runs through the proxy under the recommended rule that send too much."""
    through = ((name, result) for name, result in kept.items() if "/streamlined/" in name and name.endswith(f"/{RECOMMENDED}"))
    return [name for name, result in through if result.get("times", 0) > MOST]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    arguments = parser.parse_args()
    if arguments.binary:
        KEPT.write_text(json.dumps(run_all(arguments.binary, arguments.jobs, arguments.limit), indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    made_part.write(PAGE, "nacks", table(kept), arguments.check)
    if wrong := over(kept):
        sys.exit(f"under {RECOMMENDED} these send more than {MOST:g} times their bytes: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
