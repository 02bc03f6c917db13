# %% [markdown]
# # Two schemes over several seeds
#
# Draws of the workload, the switches' hashes and losses depend on the seed and never on the scheme: runs of two schemes
# under one seed see the same flows and can be compared seed by seed.

# %%
import statistics

import farspan as fs

# %%
size = {"workload.mix": "artifact", "workload.flows": 500}
runs = {
    scheme: fs.run("uno/websearch", scheme=scheme, seeds=range(1, 5), set=size) for scheme in ["uno-noec", "gemini"]
}

# %% [markdown]
# The spread over the seeds: median, and the 95% bootstrap interval of the median.

# %%
for scheme, seeds in runs.items():
    for name in ["intra", "inter"]:
        mean = seeds.summary["summary"]["fct"][name]["mean_us"]
        interval = f"{mean['ci_low']:.0f} to {mean['ci_high']:.0f}"
        print(f"{scheme:9} {name}: mean FCT {mean['median']:6.0f} us, interval {interval}")

# %% [markdown]
# Ratios in pairs: each seed against itself.

# %%
for name in ["intra", "inter"]:
    pairs = zip(runs["uno-noec"], runs["gemini"], strict=True)
    ratios = [theirs.summary["fct"][name]["mean_us"] / ours.summary["fct"][name]["mean_us"] for ours, theirs in pairs]
    print(f"{name}: gemini / uno-noec, median of {len(ratios)} seeds: {statistics.median(ratios):.2f}")

# %%
fs.plot.comparison(runs.values(), measures=["fct.intra.mean_us", "fct.inter.mean_us", "packets.dropped"])

# %%
fs.plot.fct_cdf(runs.values(), group="inter")

# %%
fs.plot.slowdown_by_size(runs.values())
