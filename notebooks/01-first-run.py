# %% [markdown]
# # A first run
#
# Eight senders, four in the receiver's datacenter and four in the other one, send to one host at the same time.

# %%
import farspan as fs
import polars as pl

fs.scenarios()

# %% [markdown]
# What the scenario means and costs, before it runs: flows, round trips, work.

# %%
small = {"workload.flow_size": "32MiB", "probes.rate_interval": "2ms", "probes.queue_interval": "100us"}
checked = fs.check("uno/incast-mixed", set=small)
print(f"{checked.flows} flows, {checked.packet_hops:,} packet-hops")
print(f"base RTT {checked.intra.base_rtt_us:.1f} us inside, {checked.inter.base_rtt_us:.1f} us between the datacenters")

# %%
result = fs.run("uno/incast-mixed", scheme="uno-noec", seed=1, set=small)
result

# %% [markdown]
# The summary is the document of `farspan run --json`; tables go to any library that takes Arrow, without copies.

# %%
fct = result.summary["fct"]
for name in ["intra", "inter"]:
    print(f"{name}: mean FCT {fct[name]['mean_us'] / 1e3:.1f} ms, slowdown {fct[name]['slowdown_mean']:.1f}")

# %%
flows = pl.DataFrame(result.flows)
print(flows.select("flow_id", "src", "dst", "class", "fct_ns", "slowdown", "retransmitted_bytes"))

# %%
ports = pl.DataFrame(result.ports).sort("utilization", descending=True)
print(ports.select("port", "utilization", "max_queue_bytes", "drops").head(3))

# %% [markdown]
# The same run again is equal to the last bit: the digest says so.

# %%
again = fs.run("uno/incast-mixed", scheme="uno-noec", seed=1, set=small)
assert again.digest == result.digest
print(result.digest)

# %%
fs.plot.rates(result)

# %%
fs.plot.queues(result)
