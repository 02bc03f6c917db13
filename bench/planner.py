"""Sets of incasts between sites that start together: the planner of proxies beside none, random ones and an oracle.

usage: planner.py BINARY [--sets N] [--draws N] [--kind naive|streamlined] [--overflow drop|trim] [--scheme NAME] [--fail TIME] [--jobs N]
                  [--json FILE]

Each set has 1 to 16 incasts of 20 to 150 MB from 2 to 32 hosts of one site of the incast proxy's network (HotNets 2025), to hosts of the
other. A completion is when an incast's last byte is delivered. The oracle knows the outcome: of up to three incasts it has tried
each straight, through a host of its own, or through another's; of more the best of so many draws, in which each incast goes straight or
through a random host. Its choice is the one with the least mean completion, the planner's own among them. No choice is faster than the bound: an
incast's bytes at line rate, and one way. `--fail`: all proxies of the planner fail
at this time, as a further column.
"""
import itertools
import json
import os
import random
import statistics

import study

SITE = 64
# Payload of a packet, its size on the wire, the line rate in bytes/ms and one way in ms: those of proxy/degree.
PAYLOAD, WIRE, RATE, ONE_WAY = 4096, 4160, 12.5e6, 2.0056
DEGREES = (2, 4, 8, 16, 32)
MEGABYTES = (20, 40, 60, 80, 100, 150)
SPRAY = '{ name = "rps", entropies = 65536 }'
HEAD = """base = "proxy/degree"
name = "planner"
[scheme.intra]
balance = {spray}
[scheme.inter]
balance = {spray}
"""


def incasts(seed):
    """The incasts of a set."""
    draw = random.Random(seed)
    count = draw.randint(1, 16)
    receivers = draw.sample(range(SITE, 2 * SITE), count)
    return [{"senders": sorted(draw.sample(range(SITE), draw.choice(DEGREES))), "receiver": receiver,
             "bytes": draw.choice(MEGABYTES) * 10**6} for receiver in receivers]


def scenario(declared):
    parts = "\n".join(f'[[workload]]\nkind = "incast"\ntag = "i{n:02}"\nsenders = {one["senders"]}\nreceiver = {one["receiver"]}\n'
                      f'flow_size = "{-(-one["bytes"] // len(one["senders"]))}B"' for n, one in enumerate(declared))
    return HEAD.format(spray=SPRAY) + parts + "\n"


def completions(options, declared, seed, host, fail=None):
    """Milliseconds until each incast is delivered; `host`: as scheme.proxy.host has it, None for no proxy; `fail`: when all proxies do."""
    sets = [f"scheme.ports.overflow={options.overflow}"]
    sets += ["scheme.proxy.kind=none"] if host is None else [f"scheme.proxy.kind={options.kind}", f"scheme.proxy.host={host}"]
    if fail:
        sets.append(f'fault=[{{kind="proxy_down", at="{fail}"}}]')
    done = study.run(options.farspan, scenario(declared), "--scheme", options.scheme, "--seed", seed, "--json", settings=sets)
    if fail and "there is no proxy" in done.stderr:
        return completions(options, declared, seed, None)
    tags = json.loads(study.checked(done).stdout)["delivery"]["tags"]
    return [tags[tag]["max_us"] / 1e3 for tag in sorted(tags)]


def idle(one):
    return [host for host in range(SITE) if host not in one["senders"]]


def tried(declared, draws, seed):
    """Choices of the oracle, as lists of a host or none for each incast."""
    draw = random.Random(f"oracle {seed}")
    busy = {host for one in declared for host in one["senders"]}
    if len(declared) <= 3:
        # Hosts differ by what they send: an idle one stands for all of its kind, and one for each incast is enough.
        order = sorted(range(SITE), key=lambda host: (host in busy, host))
        for labels in itertools.product(range(-1, len(declared)), repeat=len(declared)):
            hosts = ["none" if label < 0 else order[label] for label in labels]
            if all(host == "none" or host in idle(one) for host, one in zip(hosts, declared)):
                yield hosts
        return
    for _ in range(draws):
        share = draw.random()
        yield ["none" if draw.random() > share else draw.choice(idle(one)) for one in declared]


def one_set(options, seed):
    declared = incasts(seed)
    measure = lambda host, fail=None: completions(options, declared, seed, host, fail)
    result = {"none": measure(None)} | {name: measure(name) for name in ("random", "planned", "probed")}
    if options.fail:
        result["planned, failing"] = measure("planned", options.fail)
    best = result["planned"]
    for hosts in tried(declared, options.draws, seed):
        there = json.dumps(hosts)
        found = measure(there if any(host != "none" for host in hosts) else None)
        best = min(best, found, key=statistics.mean)
    result["oracle"] = best
    return {"seed": seed, "incasts": [{**one, "degree": len(one["senders"])} for one in declared], "ms": result}


def bound(one):
    return one["bytes"] * WIRE / PAYLOAD / RATE + ONE_WAY


def table(sets):
    rows = [(one, {name: times[n] for name, times in group["ms"].items()} | {"bound": bound(one)})
            for group in sets for n, one in enumerate(group["incasts"])]
    names = list(rows[0][1])
    lines = []
    classes = [(f"{size} MB", lambda one, size=size: one["bytes"] == size * 10**6) for size in MEGABYTES]
    classes += [("degree >= 16, >= 40 MB", lambda one: one["degree"] >= 16 and one["bytes"] >= 4 * 10**7), ("all", lambda one: True)]
    for label, keep in classes:
        kept = [times for one, times in rows if keep(one)]
        if not kept:
            continue
        medians = {name: statistics.median(times[name] for times in kept) for name in names}
        ratio = statistics.median(times["planned"] / times["oracle"] for times in kept)
        lines.append([label, len(kept), *(f"{medians[name]:.2f}" for name in names), f"{ratio:.3f}"])
    print(study.table(["incasts", "how many", *names, "planned / oracle"], lines, rule="---"), end="")


def shares(sets):
    """What the planner loses to the best choice, by set, and to no proxy at all, by size."""
    behind = [statistics.mean(group["ms"]["planned"]) / statistics.mean(group["ms"]["oracle"]) - 1 for group in sets]
    print(f"\nplanned behind oracle, means of sets: in {sum(one > 5e-4 for one in behind)} of {len(sets)} sets, {100 * max(behind):.1f}% at most")
    every = [group["ms"]["planned"][n] / group["ms"]["none"][n] for group in sets for n in range(len(group["incasts"]))]
    print(f"planned / none, median: {statistics.median(every):.2f}")
    for size in MEGABYTES:
        ratios = [group["ms"]["planned"][n] / group["ms"]["none"][n]
                  for group in sets for n, one in enumerate(group["incasts"]) if one["bytes"] == size * 10**6]
        if ratios:
            slower = 100 * sum(ratio > 1.05 for ratio in ratios) / len(ratios)
            print(f"{size} MB: {slower:.0f}% more than 5% slower than none, {max(ratios):.2f} times at most")


def main():
    options = study.arguments(sets=100, draws=12, kind=("naive", "streamlined"), overflow=("drop", "trim"), scheme="dctcp-per-ack+rps", fail="", jobs=os.cpu_count(), json="")
    sets = [one for _, one in study.each(options, lambda _, seed: one_set(options, seed), {seed: (seed,) for seed in range(1, options.sets + 1)})]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(sets, file)
    table(sets)
    shares(sets)


main()
