//! Collects nodes and links; numbers both in a fixed order.

use crate::network::{Link, Network, Node, NodeKind, Tier};
use alloc::collections::BTreeMap;
use farspan_units::{Duration, NodeId, Rate};

/// A network under construction.
#[derive(Default)]
pub(super) struct Builder {
    network: Network,
    /// First node of each (kind, site).
    first: BTreeMap<(NodeKind, u32), NodeId>,
    /// The number of nodes of each prefix so far: names are numbered through the sites.
    count: BTreeMap<&'static str, u32>,
}

impl Builder {
    /// Adds `count` nodes of a kind to a site and gives the first of them; names begin with the kind's
    /// prefix.
    pub(super) fn add(&mut self, kind: NodeKind, count: u32, site: u32) -> NodeId {
        let word = match kind {
            NodeKind::Host => "host",
            NodeKind::Tor => "tor",
            NodeKind::Agg => "agg",
            NodeKind::Core => "core",
            NodeKind::Border => "border",
        };
        self.add_named(word, kind, count, site)
    }

    /// Adds `count` nodes of a kind to a site and gives the first of them; names begin with `word`.
    pub(super) fn add_named(&mut self, word: &'static str, kind: NodeKind, count: u32, site: u32) -> NodeId {
        let first = NodeId(self.network.nodes.len() as u32);
        let number = self.count.entry(word).or_default();
        for _ in 0..count {
            self.network.nodes.push(Node { name: alloc::format!("{word}{number}"), kind, site });
            *number += 1;
        }
        if kind == NodeKind::Host {
            self.network.hosts += count;
        }
        self.first.entry((kind, site)).or_insert(first);
        first
    }

    /// The `i`-th node of a kind at a site.
    pub(super) fn node(&self, kind: NodeKind, site: u32, i: u32) -> NodeId {
        NodeId(self.first[&(kind, site)].0 + i)
    }

    /// Adds a link each way; `delay` is propagation, `processing` is added towards switches.
    pub(super) fn pair(
        &mut self,
        low: NodeId,
        high: NodeId,
        rate: Rate,
        delay: Duration,
        processing: Duration,
        tiers: [Tier; 2],
    ) {
        for (from, to, tier) in [(low, high, tiers[0]), (high, low, tiers[1])] {
            let towards_switch = self.network.nodes[to.index()].kind != NodeKind::Host;
            let delay = if towards_switch { delay + processing } else { delay };
            self.network.links.push(Link { from, to, index: 0, rate, delay, tier, buffer: None });
        }
    }

    /// The network.
    pub(super) fn finish(mut self) -> Network {
        self.network.sort_links();
        self.network
    }
}
