"""What traces cost: wall time (median of several runs, writing included), memory and files, as a table in Markdown.

usage: traces.py BINARY [--repeat N]
"""
import pathlib
import statistics
import tempfile

import study

SCENARIO = ["bench/fat-tree", "--set", "workload.flow_size=4MiB"]
TRACES = [[], ["--trace", "flow=17"], ["--trace", "flow=0..9"], ["--trace", "class=intra"], ["--pcap", "tor0->host0#0"],
          ["--pcap", "tor0->*"], ["--pcap", "*"]]


def run(farspan, trace):
    """(wall time in s, memory in bytes, size of the files in bytes)"""
    with tempfile.TemporaryDirectory() as folder:
        document = study.document(farspan, *SCENARIO, "--out", folder, *trace)
        size = sum(file.stat().st_size for file in pathlib.Path(folder, "trace").glob("*"))
    return document["wall_time_s"], document["peak_rss_bytes"], size


def main():
    options = study.arguments(repeat=5)
    print("| traced | wall time | memory | files |\n|---|---|---|---|")
    for trace in TRACES:
        runs = [run(options.farspan, trace) for _ in range(options.repeat)]
        time, memory, size = (statistics.median(values) for values in zip(*runs))
        name = f"`{trace[0]} {trace[1]}`" if trace else "nothing"
        print(f"| {name} | {time:.2f} s | {memory / 1e6:.0f} MB | {size / 1e6:.1f} MB |", flush=True)


main()
