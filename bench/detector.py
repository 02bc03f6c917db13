"""What detectors of losses miss and make up at a proxy, against what the simulator knows to be lost; as CSV.

usage: detector.py BINARY [--seeds N] [--jobs N] > docs/src/schemes/curves/detector-frontier.csv

One host sends 82 MB to another site, through a streamlined proxy, at line rate (100 Gb/s), sprayed over the eight spines of its site. The uplinks
of its leaf lose packets at random; half of them are slow, so that packets overtake each other. Counts are sums over the seeds; `delivery_ms`
is a mean, `errors` are the missed and false losses of each seed.
"""
import os

import study

SCENARIO = """base = "proxy/degree"
name = "detector"
[scheme.intra]
balance = { name = "spray", entropy_bits = 6 }
[scheme.inter]
balance = { name = "spray", entropy_bits = 6 }
[scheme.ports]
overflow = "drop"
[scheme.proxy]
kind = "streamlined"
[[workload]]
kind = "incast"
tag = "burst"
senders = [0]
receiver = 64
flow_size = "82MB"
[[fault]]
kind = "loss"
link = "leaf0->spine*"
probability = 0.01
[[fault]]
kind = "rate"
link = "leaf0->spine*"
share = 0.5
rate = "100Gbps"
"""
RATES = (100, 50, 25, 15, 10)
LOSSES = (0.0001, 0.001, 0.01, 0.1)
WINDOWS = (64, 256, 1024, 4096, 8192)
# Bytes of state of a flow: what each takes beside the window or the paths. Tests of the detectors hold them.
STATE = {"per_path": 24, "per_flow": 288, "threshold_3": 56}
PATHS = 64


def kinds():
    yield "per_path", 0, '"gap-path"', STATE["per_path"] + 2 * PATHS
    for window in WINDOWS:
        yield "per_flow", window, f'{{ name = "gap-flow", window = {window} }}', STATE["per_flow"] + window // 8
        yield "threshold_3", window, f'{{ name = "gap-flow", window = {window}, fixed = 3 }}', STATE["threshold_3"] + window // 8


def row(farspan, seeds, kind, rate, loss):
    name, window, detection, state = kind
    settings = [f"scheme.proxy.loss={detection}", f"fault[0].probability={loss}", f"fault[1].rate={rate}Gbps"]
    runs = [study.document(farspan, SCENARIO, "--seed", seed, settings=settings) for seed in range(1, seeds + 1)]
    total = lambda key: sum(one["proxy"][key] for one in runs)
    missed = [one["proxy"]["lost_packets"] - one["proxy"]["gap_packets"] + one["proxy"]["false_packets"] for one in runs]
    errors = " ".join(str(without + one["proxy"]["false_packets"]) for without, one in zip(missed, runs))
    delivery = sum(one["delivery"]["tags"]["burst"]["max_us"] for one in runs) / len(runs) / 1e3
    sent = total("packets") + total("lost_packets")
    return (name, rate, loss, window, state, sent, total("lost_packets"), total("tail_packets"), sum(missed),
            total("false_packets"), f"{delivery:.2f}", errors)


def main():
    options = study.arguments(seeds=10, jobs=os.cpu_count())
    print("kind,rate_gbps,loss_rate,window,bytes,packets,losses,tail,missed,false,delivery_ms,errors")
    cells = {(kind, rate, loss): (options.seeds, kind, rate, loss) for rate in RATES for loss in LOSSES for kind in kinds()}
    for _, one in study.each(options, row, cells):
        print(*one, sep=",", flush=True)


main()
