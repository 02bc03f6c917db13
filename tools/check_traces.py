"""Runs small scenarios with traces and checks the files. Each record of a log against crates/trace/schema/qlog.json (and the
order of time), and the packet capture with tshark: no warning, no expert finding, fields as they were sent.

usage: check_traces.py BINARY
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from skipped import skipped

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMALL = "workload.flow_size=512KiB"
TRIM = ["scheme.ports.overflow=trim", "topology.buffer=64KiB"]
# Scenario, scheme, what is changed, flows, ports, and events and comments that must be seen.
RUNS = [
    ("uno/incast-mixed", "uno", [SMALL], "flow=0..7", ["border0->border1#*", "tor*->host240#0", "host0->*"],
     {"quic:packet_lost", "quic:recovery_metrics_updated", "quic:congestion_state_updated"}, {"marked", "dropped"}),
    ("uno/incast-mixed", "gemini", [SMALL, *TRIM], "class=intra", ["*->host240#0"], {"quic:packet_lost"}, {"trimmed"}),
    ("uno/random-loss", "uno", [SMALL, "fault[0].probabilities=[0.05, 0.02, 0.01]"], "flow=0..3", ["border*->*"],
     {"farspan:path_used", "farspan:block_completed"}, {"lost"}),
    ("proxy/degree", "dctcp-per-ack+rps", ["workload.flow_size=10MB", 'scheme.proxy={kind="streamlined", loss="gap-flow"}'], "flow=0",
     ["host0->*", "leaf7->host63#0"], {"quic:packet_lost"}, {"dropped"}),
]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done


def records(path):
    parts = path.read_bytes().split(b"\x1e")
    if parts[0] or not all(part.endswith(b"\n") for part in parts[1:]):
        sys.exit(f"{path}: not a JSON text sequence")
    return [json.loads(part) for part in parts[1:]]


def check_log(path, validator):
    """The names of a log's events."""
    head, *events = records(path)
    if "trace" not in head:
        sys.exit(f"{path}: no head")
    for number, record in enumerate([head, *events]):
        if validator is not None and (errors := list(validator.iter_errors(record))):
            sys.exit(f"{path}: record {number}: {json.dumps(record)}: {errors[0].message[:500]}")
    times = [event["time"] for event in events]
    if times != sorted(times):
        sys.exit(f"{path}: events are not in order of time")
    return {event["name"] for event in events}


def tshark(path, *arguments):
    done = run(["tshark", "-X", f"lua_script:{ROOT}/tools/wireshark/farspan.lua", "-r", str(path), *arguments])
    noise = [line for line in done.stderr.splitlines() if line and "as user \"root\"" not in line]
    if noise:
        sys.exit(f"tshark on {path}: {noise}")
    return done.stdout


def check_capture(path, logs):
    """The first words of the capture's comments. Of a flow that is captured at its sender's uplink, the log and the capture
    say the same of each packet; marks at the end of bursts are none."""
    findings = [line for line in tshark(path, "-q", "-z", "expert,note").splitlines() if line.strip()]
    if findings:
        sys.exit(f"tshark on {path}: {findings[:5]}")
    fields = ["frame.interface_name", "farspan.kind", "farspan.flow", "farspan.seq", "farspan.len", "farspan.entropy",
              "ip.dsfield.ecn", "udp.length", "farspan.trimmed"]
    lines = tshark(path, "-T", "fields", *(word for field in fields for word in ("-e", field))).splitlines()
    rows = [dict(zip(fields, line.split("\t"))) for line in lines]
    if not rows or not all(row["farspan.kind"] for row in rows):
        sys.exit(f"{path}: packets that the dissector does not know")
    for row in rows:
        data = row["farspan.kind"] in ("0", "3", "8")
        if data and row["farspan.trimmed"] in ("0", "False") and int(row["udp.length"]) < 8 + int(row["farspan.len"]):
            sys.exit(f"{path}: {row}: shorter than its payload")
        if data == (row["ip.dsfield.ecn"] == "0"):
            sys.exit(f"{path}: {row}: data packets are ECN-capable, others are not")
    for flow, events in logs.items():
        sent = [(str(event["data"]["header"]["packet_number"]), event["tuple"]) for event in events
                if event["name"] == "quic:packet_sent" and "packet_number" in event["data"]["header"]]
        uplink = [(row["farspan.seq"], row["farspan.entropy"]) for row in rows
                  if row["frame.interface_name"].startswith("host0->") and row["farspan.flow"] == flow and row["farspan.len"] != "0"]
        if uplink and uplink != sent:
            sys.exit(f"{path}: flow {flow}: {len(uplink)} packets at its uplink, {len(sent)} in its log, or others")
    return {word.removesuffix(":") for word in tshark(path, "-T", "fields", "-e", "frame.comment").split()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        import jsonschema
        schema = json.loads((ROOT / "crates/trace/schema/qlog.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
    except ImportError:
        skipped("jsonschema", "logs are not held to their JSON Schema: pip install jsonschema")
        validator = None
    has_tshark = shutil.which("tshark") is not None
    if not has_tshark:
        skipped("tshark", "no other program has read the packet captures: apt install tshark")
    for scenario, scheme, changes, flows, ports, wanted, remarks in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.argv[1], "run", scenario, "--scheme", scheme, "--out", folder, "--quiet", "--trace", flows]
            command += [word for port in ports for word in ("--pcap", port)]
            command += [word for change in changes for word in ("--set", change)]
            run(command)
            traces = pathlib.Path(folder) / "trace"
            names, logs = set(), {}
            for log in sorted(traces.glob("*.sqlog")):
                names |= check_log(log, validator)
                if "receiver" not in log.name:
                    logs[log.stem.removeprefix("flow-")] = records(log)[1:]
            if wanted - names:
                sys.exit(f"{scenario}: no event {', '.join(sorted(wanted - names))}")
            comments = check_capture(traces / "ports.pcapng", logs) if has_tshark else remarks
            if remarks - comments:
                sys.exit(f"{scenario}: no comment {', '.join(sorted(remarks - comments))}")
            print(f"{scenario}, {scheme}: {len(names)} kinds of events, {len(logs)} flows", flush=True)


main()
