"""Gemini's testbeds: shares of a bottleneck inside a datacenter and between two, groups that join, unequal round trips, and pairs of
controls at one buffer. Writes the tables of docs/src/testbeds.md.

usage: testbeds.py FARSPAN [--jobs N] [--only PREFIX]      runs all, or those whose names begin so, keeps the numbers in
                                                            bench/testbeds.json and writes the page
       testbeds.py [--check]                               writes the page from the kept numbers (or compares it)

192 runs, about twelve minutes on two cores.
"""
import study

BURSTS = {"off": [], "on": ["transport.burst=64KiB"]}
NAMES = {
    "gemini": "Gemini", "dctcp": "DCTCP", "cubic": "CUBIC", "bbr": "BBR", "vegas": "Vegas", "vegas-10": "Vegas-10", "newreno": "NewReno",
}
THRESHOLDS = [20, 40, 80, 160, 320]
RATIOS = [4, 8, 16, 32, 64]


def window(since, until):
    return [f"measure.goodput_from={since}s", f"measure.goodput_until={until}s"]


def jobs():
    """What is run: name -> (scenario, scheme, settings)."""
    all_runs = {}
    for bursts, more in BURSTS.items():
        for flows in (2, 8):
            for k in THRESHOLDS:
                for scheme in ("gemini", "dctcp"):
                    settings = [f"workload.flows={flows}", f"scheme.ports.step={k * 1500}B", *window(0, 20), *more]
                    all_runs[f"dcn {flows} {k} {bursts} {scheme}"] = ("gemini/dcn-bottleneck", scheme, settings)
        delays = [f"scheme.{site}.congestion.delay_threshold=8ms" for site in ("intra", "inter")]
        for scheme, own in (("gemini", []), ("gemini 8 ms", delays), ("cubic", []), ("newreno", []), ("dctcp", []), ("bbr", []), ("vegas", [])):
            settings = [*own, *window(10, 30), *more]
            all_runs[f"wan {bursts} {scheme}"] = ("gemini/wan-bottleneck", scheme.split()[0], settings)
        for scheme in ("gemini", "cubic", "dctcp", "bbr"):
            all_runs[f"long {bursts} {scheme}"] = ("gemini/long-wan", scheme, [*window(10, 60), *more])
        for scheme in ("gemini", "vegas", "cubic", "newreno", "dctcp", "bbr"):
            all_runs[f"groups {bursts} {scheme}"] = ("gemini/three-groups", scheme, [*window(100, 150), *more])
        for ratio in RATIOS:
            for k, schemes in ((300, ("gemini", "dctcp", "cubic", "bbr")), (50, ("gemini", "dctcp"))):
                for scheme in schemes:
                    settings = [f"topology.wan.rtt={ratio * 200}us", f"scheme.ports.step={k * 1500}B", *window(10, 30), *more]
                    all_runs[f"fair {ratio} {k} {bursts} {scheme}"] = ("gemini/rtt-fairness", scheme, settings)
    for ratio in RATIOS:
        for k in (300, 50):
            base = [f"scheme.{site}.congestion.cut_interval=base_rtt" for site in ("intra", "inter")]
            settings = [f"topology.wan.rtt={ratio * 200}us", f"scheme.ports.step={k * 1500}B", *window(10, 30), *base]
            all_runs[f"fair {ratio} {k} base gemini"] = ("gemini/rtt-fairness", "gemini", settings)
    for scheme in ("cubic/vegas", "bbr/cubic"):
        for buffer in (25, 50, 250, 500, 1000, 5000):
            all_runs[f"shares {buffer} {scheme}"] = ("tcp/shares", scheme, [f"topology.buffer={buffer}KB", *window(20, 120)])
    for scheme in ("cubic", "newreno"):
        for buffer in (50, 500):
            rtts = ["topology.link_delay=2.43ms", "topology.wan.rtt=160ms"]
            all_runs[f"1:16 {buffer} {scheme}"] = ("tcp/shares", scheme, [*rtts, f"topology.buffer={buffer}KB", *window(20, 120)])
    for delay, wan in (("10 ms", []), ("none", ["topology.wan.rtt=413us"])):
        for scheme, own in (("cubic", []), ("cubic with HyStart++", PLUS_PLUS), ("cubic with ECN", ECN), ("cubic paced", PACED), ("dctcp", []), ("gemini", []),
                            ("cubic connected", CONNECTED), ("dctcp connected", CONNECTED)):
            for bursts, more in BURSTS.items():
                settings = [*own, *wan, "stop.time=10s", *more]
                all_runs[f"tiers {delay} {bursts} {scheme}"] = ("gemini/inter-dc", scheme.split()[0], settings)
    return all_runs


ECN = [f"scheme.{site}.congestion.ecn=true" for site in ("intra", "inter")] + ["scheme.ports.marking=step"]
PLUS_PLUS = [f"scheme.{site}.congestion.hystart=plus_plus" for site in ("intra", "inter")]
CONNECTED = ["transport.connections=per_pair"]
PACED = [f"scheme.{site}.congestion.pacing=srtt" for site in ("intra", "inter")]


def run(farspan, scenario, scheme, settings):
    """The numbers of a run."""
    document = study.document(farspan, scenario, "--scheme", scheme, settings=settings)
    kept = {"rtt_ms": round(document["rtt"]["all"]["p50_us"] / 1000, 1)}
    if goodput := document.get("goodput"):
        kept |= {"mbps": round(goodput["all"]["bps"] / 1e6), "intra": round((goodput["intra"] or {}).get("share", 0), 3)}
        kept["jain"] = goodput["jain"] and round(goodput["jain"], 3)
    kept["jain_mean"] = document["fairness"] and round(document["fairness"]["jain_mean"] or 0, 3)
    ports = document["ports"]
    kept["sites"], kept["wan"] = (round(part["loss_of_sent"] * 1e5, 1) for part in (ports["sites"], ports["tiers"]["wan"]))
    return kept


def measured(options):
    cases = {name: job for name, job in jobs().items() if name.startswith(options.only)}
    before = STUDY.kept(is_first=True) if options.only else {}
    return before | dict(study.each(options, run, cases))


def dcn(kept):
    def cell(flows, k, bursts):
        gemini, dctcp = (kept[f"dcn {flows} {k} {bursts} {scheme}"]["mbps"] for scheme in ("gemini", "dctcp"))
        return f"{gemini} / {dctcp}"
    head = ["K", "2 flows", "8 flows", "2 flows, bursts of 64 KB", "8 flows, bursts of 64 KB"]
    return study.table(head, [[k, *(cell(flows, k, bursts) for bursts in BURSTS for flows in (2, 8))] for k in THRESHOLDS])


def wan(kept):
    schemes = ["gemini", "gemini 8 ms", "vegas", "bbr", "dctcp", "newreno", "cubic"]
    def cells(name, scheme):
        return [f"{kept[f'{name} {bursts} {scheme}'][field]}" for bursts in BURSTS for field in ("mbps", "rtt_ms")]
    head = ["control", "goodput, Mb/s", "RTT, ms", "bursts: goodput", "bursts: RTT"]
    label = {"gemini": "Gemini, T = 5 ms", "gemini 8 ms": "Gemini, T = 8 ms"}
    lines = [[label.get(scheme, NAMES.get(scheme)), *cells("wan", scheme)] for scheme in schemes]
    lines += [[f"{NAMES[scheme]}, 100 ms", *cells("long", scheme)] for scheme in ("gemini", "bbr", "dctcp", "cubic")]
    return study.table(head, lines)


def groups(kept):
    schemes = ["gemini", "vegas", "cubic", "newreno", "dctcp", "bbr"]
    return study.table(["control", "Jain, 100 to 150 s", "with bursts"],
                [[NAMES[scheme], *(kept[f"groups {bursts} {scheme}"]["jain"] for bursts in BURSTS)] for scheme in schemes])


def fair(kept):
    lines = []
    for k, schemes in ((50, ("gemini", "dctcp")), (300, ("gemini", "dctcp", "cubic", "bbr"))):
        for scheme in schemes:
            for case, name in (("off", NAMES[scheme]), ("base", "Gemini, a cut per base RTT"), ("on", f"{NAMES[scheme]}, bursts")):
                if f"fair 4 {k} {case} {scheme}" in kept:
                    lines.append([k, name, *(kept[f"fair {ratio} {k} {case} {scheme}"]["jain"] for ratio in RATIOS)])
    return study.table(["K", "control", *(f"1:{ratio}" for ratio in RATIOS)], lines)


def shares(kept):
    def cell(name):
        return f"{kept[name]['intra'] * 100:.1f}%"
    buffers = (25, 50, 250, 500, 1000, 5000)
    lines = [[what, *(cell(f"shares {buffer} {scheme}") for buffer in buffers)]
             for scheme, what in (("cubic/vegas", "CUBIC beside Vegas"), ("bbr/cubic", "BBR beside CUBIC"))]
    for scheme in ("cubic", "newreno"):
        what = f"{NAMES[scheme]}, 10 ms beside 160 ms"
        lines.append([what, *(cell(f"1:16 {buffer} {scheme}") if buffer in (50, 500) else "" for buffer in buffers)])
    return study.table(["share of the first", *(f"{buffer / 500:g} BDP" for buffer in buffers)], lines)


def tiers(kept):
    schemes = {
        "cubic": "CUBIC", "cubic with HyStart++": "CUBIC with HyStart++", "cubic with ECN": "CUBIC with ECN",
        "cubic paced": "CUBIC, paced", "dctcp": "DCTCP", "gemini": "Gemini",
        "cubic connected": "CUBIC, a connection a pair", "dctcp connected": "DCTCP, a connection a pair",
    }
    def cell(delay, bursts, scheme):
        run_of = kept[f"tiers {delay} {bursts} {scheme}"]
        return f"{run_of['sites']:g} / {run_of['wan']:g}"
    head = ["control", "10 ms", "no delay", "10 ms, bursts", "no delay, bursts"]
    return study.table(head, [[name, *(cell(delay, bursts, scheme) for bursts in BURSTS for delay in ("10 ms", "none"))]
                       for scheme, name in schemes.items()])


def parts(kept):
    return {make.__name__: make(kept) for make in (dcn, wan, groups, fair, shares, tiers)}


STUDY = study.Study(__file__, "testbeds.md")
if __name__ == "__main__":
    STUDY.main(measured, parts, only="")
