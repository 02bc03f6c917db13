# %% [markdown]
# # An own topology and an own list of flows
#
# A scenario is a TOML file. This one takes its network from a file of its own, two sites joined by two long links, and
# its flows from a CSV file.

# %%
import tempfile
from pathlib import Path

import duckdb
import farspan as fs

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# Flows: source, destination, payload, start. A row can wait for another one (`after`): an answer for its question.

# %%
(folder / "flows.csv").write_text(
    """src,dst,size_bytes,start_ns,tag,after
0,4,33554432,0,bulk,
1,5,33554432,0,bulk,
2,6,33554432,500000,bulk,
3,7,65536,0,question,
7,3,1048576,0,answer,3
"""
)
(folder / "network.toml").write_text(
    """[defaults]
rate = "100Gbps"
delay = "1us"
buffer = "1MiB"

[[site]]
name = "west"
[[site]]
name = "east"

[[node]]
name = "host[0..3]"
kind = "host"
site = "west"
[[node]]
name = "host[4..7]"
kind = "host"
site = "east"
[[node]]
name = "west-switch"
kind = "switch"
site = "west"
[[node]]
name = "east-switch"
kind = "switch"
site = "east"

[[link]]
a = "host[0..3]"
b = "west-switch"
[[link]]
a = "host[4..7]"
b = "east-switch"
[[link]]
a = "west-switch"
b = "east-switch"
delay = "500us"
count = 2
"""
)
(folder / "scenario.toml").write_text(
    """name = "own"

[topology]
kind = "from_file"
file = "network.toml"

[scheme]
name = "uno-noec"

[[workload]]
kind = "flows"
file = "flows.csv"

[probes]
rate_interval = "2ms"
"""
)

# %%
checked = fs.check(folder / "scenario.toml")
checked.inter

# %%
result = fs.run(folder / "scenario.toml", out=folder / "result")
flows = result.flows
print(duckdb.sql("select tag, src, dst, start_ns, fct_ns, slowdown from flows order by flow_id"))

# %% [markdown]
# The folder holds the same for later, and for other programs.

# %%
assert fs.load(folder / "result").digest == result.digest
print(sorted(file.name for file in (folder / "result").iterdir()))

# %% [markdown]
# A wrong key is an error with its place and cure.

# %%
text = (folder / "scenario.toml").read_text().replace("rate_interval", "rate_intervall")
(folder / "wrong.toml").write_text(text)
try:
    fs.check(folder / "wrong.toml")
except fs.ScenarioError as error:
    print(f"line {error.line}, column {error.column}: {error.key}: {error.cure}")

# %%
fs.plot.rates(result)
