//! Scenarios that come with the program.

/// A scenario that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name, as `farspan run` takes it.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// Every scenario that comes with the program.
        pub const BUILT_IN: &[BuiltIn] =
            &[$(BuiltIn { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),*];
    };
}

built_in!(
    // First in every list: what most people look for.
    "steady/websearch",
    "bench/fat-tree",
    "bench/fat-tree-fifo",
    "bench/two-sites",
    "bench/two-sites-fifo",
    "gemini/dcn-bottleneck",
    "gemini/inter-dc",
    "gemini/inter-dc-10g",
    "gemini/long-wan",
    "gemini/mixed",
    "gemini/mixed-10g",
    "gemini/rtt-fairness",
    "gemini/three-groups",
    "gemini/vegas-thresholds",
    "gemini/wan-bottleneck",
    "ndp/incast",
    "ndp/oversubscribed",
    "ndp/permutation",
    "oscar/convergence",
    "oscar/equilibrium",
    "oscar/hadoop-incast",
    "oscar/incast",
    "oscar/link-degradation",
    "oscar/longtail",
    "oscar/microburst",
    "oscar/oversubscribed",
    "oscar/parking-lot",
    "oscar/queue-nonempty",
    "oscar/reference-state",
    "oscar/rtt-ratio",
    "oscar/testbed",
    "oscar/testbed-all-to-all",
    "oscar/training",
    "oscar/two-short-flows",
    "proxy/degree",
    "proxy/latency",
    "proxy/size",
    "reps/degraded",
    "reps/failures",
    "reps/mixed",
    "reps/oversubscribed",
    "reps/permutation",
    "reps/wait-to-decrease",
    "tcp/shares",
    "topology/leaf-spine",
    "topology/parking-lot",
    "topology/three-sites",
    "uno/allreduce",
    "uno/border-failure",
    "uno/buffers",
    "uno/incast-inter",
    "uno/incast-intra",
    "uno/incast-mixed",
    "uno/permutation",
    "uno/phantom",
    "uno/random-loss",
    "uno/rtt-ratio",
    "uno/steady",
    "uno/websearch",
);

/// The starter that `farspan new --topology` writes: three sites, with a comment on every key it uses.
pub const TOPOLOGY_STARTER: &str = BUILT_IN_TOPOLOGIES[0].text;

/// The starter that `farspan new` writes: a small scenario with a comment on every key it uses.
pub const STARTER: &str = include_str!("../../data/starter.toml");

/// A topology file that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInTopology {
    /// Its name, as `topology.file` takes it.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Every topology file that comes with the program.
pub const BUILT_IN_TOPOLOGIES: &[BuiltInTopology] =
    &[BuiltInTopology { name: "three-sites", text: include_str!("../../data/three-sites.toml") }];

impl BuiltInTopology {
    /// The built-in topology file of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        BUILT_IN_TOPOLOGIES.iter().find(|topology| topology.name == name)
    }
}

impl BuiltIn {
    /// The built-in scenario of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|scenario| scenario.name == name)
    }

    /// The scenario's description, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let table = self.text.parse::<toml::Table>().ok();
        let text = table.as_ref().and_then(|table| table.get("description")).and_then(toml::Value::as_str);
        text.unwrap_or_default().to_owned()
    }
}
