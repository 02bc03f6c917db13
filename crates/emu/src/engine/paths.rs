//! Paths by a table: flows that a file names cross the links that it names, and all others follow the hash.

use crate::bytes::{Datagram, TCP, UDP};
use farspan_fabric::{Network, Routes};
use farspan_units::{FlowId, HostId, NodeId, PortId};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Entropies that are tried before a link counts as unreachable: of 256 parallel links, one is missed once in ten million times.
const TRIES: u16 = 4096;

/// Flows whose entropy is kept.
const MOST_KEPT: usize = 1 << 16;

/// Why a table of paths cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathsError {
    /// It is no TOML, or has other keys.
    #[error("{0}")]
    Text(String),
    /// There is no such host.
    #[error("path {row}: there is no host {host:?}: write host0 to host{}, or a name of the topology", hosts - 1)]
    Host {
        /// Which of the table, from 1.
        row: usize,
        /// As written.
        host: String,
        /// How many there are.
        hosts: u32,
    },
    /// There is no such link.
    #[error(
        "path {row}: there is no link {link:?}: names are FROM->TO#0, FROM->TO#1, ..., as the results of a run list them"
    )]
    Link {
        /// Which of the table, from 1.
        row: usize,
        /// As written.
        link: String,
    },
    /// The link is on no way between the hosts.
    #[error("path {row}: {link} is not on a shortest path between its hosts")]
    OffPath {
        /// Which of the table, from 1.
        row: usize,
        /// The link.
        link: String,
    },
}

#[derive(Clone, Copy, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
enum Protocol {
    Tcp,
    Udp,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct PathText {
    from: Option<String>,
    to: Option<String>,
    protocol: Option<Protocol>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    link: String,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct TableText {
    #[serde(default)]
    path: Vec<PathText>,
}

/// A row: packets that it fits cross its link.
#[derive(Clone, Copy, Debug)]
struct PathRow {
    from: Option<HostId>,
    to: Option<HostId>,
    protocol: Option<u8>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    link: PortId,
}

impl PathRow {
    fn fits(&self, from: HostId, to: HostId, datagram: &Datagram) -> bool {
        fn matches<T: PartialEq + Copy>(wanted: Option<T>, found: Option<T>) -> bool {
            wanted.is_none() || wanted == found
        }
        let (source, destination) = datagram.ports.unzip();
        matches(self.from, Some(from))
            && matches(self.to, Some(to))
            && matches(self.protocol, Some(datagram.protocol))
            && matches(self.source_port, source)
            && matches(self.destination_port, destination)
    }
}

/// The links that flows cross. The first row that fits a packet, and whose link lies on a shortest path between its hosts, chooses.
#[derive(Clone, Debug)]
pub struct PathTable {
    rows: Vec<PathRow>,
    /// The entropies found for flows, by row, hosts and flow; `None`: none leads over the link.
    found: BTreeMap<(usize, HostId, HostId, FlowId), Option<u16>>,
    /// Whether the link of a row lies on a path between two hosts, as far as that was asked.
    is_on_path: BTreeMap<(usize, HostId, HostId), bool>,
}

impl PathTable {
    /// Reads a table: `[[path]]` with `link`, and any of `from`, `to`, `protocol` ("tcp", "udp"), `source_port`, `destination_port`.
    ///
    /// # Errors
    /// If the text is no table, or names hosts or links that the network lacks, or a link that lies on no path.
    pub fn read(text: &str, network: &Network, seed: u64) -> Result<Self, PathsError> {
        let table: TableText = toml::from_str(text).map_err(|error| PathsError::Text(error.to_string()))?;
        let routes = Routes::new(network, seed);
        let rows = (1..).zip(&table.path).map(|(row, path)| path.resolve(row, network, &routes));
        Ok(Self {
            rows: rows.collect::<Result<_, _>>()?,
            found: BTreeMap::new(),
            is_on_path: BTreeMap::new(),
        })
    }

    /// Routes have changed: entropies are looked for again.
    pub(super) fn forget(&mut self) {
        self.found.clear();
        self.is_on_path.clear();
    }

    /// The entropy with which a packet crosses the link of its row; `None`: no row fits.
    pub(super) fn entropy(
        &mut self,
        (network, routes): (&Network, &Routes),
        (from, to): (HostId, HostId),
        datagram: &Datagram,
        flow: FlowId,
    ) -> Option<u16> {
        let Self { rows, found, is_on_path } = self;
        if found.len() >= MOST_KEPT {
            found.clear();
        }
        rows.iter().enumerate().filter(|(_, row)| row.fits(from, to, datagram)).find_map(|(number, row)| {
            let is_on_path = is_on_path
                .entry((number, from, to))
                .or_insert_with(|| is_on_path_of((network, routes), (from, to), row.link));
            if !*is_on_path {
                return None;
            }
            let search = || {
                (0..TRIES).find(|entropy| crosses((network, routes), (from, to), flow, *entropy, row.link))
            };
            *found.entry((number, from, to, flow)).or_insert_with(search)
        })
    }
}

impl PathText {
    fn resolve(&self, row: usize, network: &Network, routes: &Routes) -> Result<PathRow, PathsError> {
        let host =
            |name: &Option<String>| name.as_ref().map(|name| host_named(row, name, network)).transpose();
        let (from, to) = (host(&self.from)?, host(&self.to)?);
        let link = || self.link.clone();
        let port = network.port_named(&self.link).ok_or_else(|| PathsError::Link { row, link: link() })?;
        let all = || (0..network.hosts).map(HostId);
        let pairs = all().flat_map(|from| all().map(move |to| (from, to)));
        let mut pairs = pairs.filter(|pair| {
            pair.0 != pair.1 && from.is_none_or(|from| from == pair.0) && to.is_none_or(|to| to == pair.1)
        });
        if !pairs.any(|pair| is_on_path_of((network, routes), pair, port)) {
            return Err(PathsError::OffPath { row, link: link() });
        }
        let protocol = self.protocol.map(|protocol| match protocol {
            Protocol::Tcp => TCP,
            Protocol::Udp => UDP,
        });
        let Self { source_port, destination_port, .. } = *self;
        Ok(PathRow { from, to, protocol, source_port, destination_port, link: port })
    }
}

/// The host with this name in the topology, or number, as the names of an emulation are.
fn host_named(row: usize, name: &str, network: &Network) -> Result<HostId, PathsError> {
    let hosts = network.hosts;
    let by_name = || network.nodes[..hosts as usize].iter().position(|node| node.name == name);
    let by_number =
        || name.strip_prefix("host").unwrap_or(name).parse().ok().filter(|number| *number < hosts);
    let found = by_name().map(|place| place as u32).or_else(by_number);
    found.map(HostId).ok_or_else(|| PathsError::Host { row, host: name.to_owned(), hosts })
}

/// Whether a link lies on a shortest path between two hosts.
fn is_on_path_of((network, routes): (&Network, &Routes), (from, to): (HostId, HostId), link: PortId) -> bool {
    routes.shares(network, from, to).iter().any(|(on, _)| *on == link)
}

/// Whether a packet with this entropy crosses a link on its way.
fn crosses(
    (network, routes): (&Network, &Routes),
    (from, to): (HostId, HostId),
    flow: FlowId,
    entropy: u16,
    link: PortId,
) -> bool {
    let mut port = PortId(network.first_port[from.index()]);
    // A way has fewer links than there are nodes.
    for _ in 0..network.nodes.len() {
        if port == link {
            return true;
        }
        let NodeId(at) = network.links[port.index()].to;
        let Some(next) =
            (at >= network.hosts).then(|| routes.tables[at as usize].port(to, flow, entropy)).flatten()
        else {
            return false;
        };
        port = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_scenario::Request;
    use farspan_world::World;

    fn network() -> Network {
        let text = "topology = { kind = \"leaf_spine\", leaves = 2, spines = 2, hosts = 2, link_rate = \"100Mbps\" }";
        let request = Request { text: Some(text.to_owned()), is_idle: true, ..Request::new("paths") };
        World::idle(&request.resolve().unwrap()).unwrap().spec.network
    }

    #[test]
    fn a_row_whose_link_is_on_no_path_is_looked_at_once_for_each_pair_of_hosts() {
        let network = network();
        let routes = Routes::new(&network, 1);
        let mut table = PathTable::read("[[path]]\nlink = \"leaf0->spine1#0\"", &network, 1).unwrap();
        let bytes = crate::bytes::tests::packet(false, TCP, 0, b"");
        let datagram = Datagram::parse(&bytes).unwrap();
        let mut entropy = |from, to, flow| {
            table.entropy((&network, &routes), (HostId(from), HostId(to)), &datagram, FlowId(flow))
        };
        // Inside a leaf, and from the other one: no search.
        for (from, to) in [(0, 1), (2, 0)] {
            assert!((0..1000).all(|flow| entropy(from, to, flow).is_none()));
        }
        assert!((0..10).all(|flow| entropy(0, 3, flow).is_some()));
        assert_eq!((table.found.len(), table.is_on_path.len()), (10, 3));
        table.forget();
        assert_eq!((table.found.len(), table.is_on_path.len()), (0, 0));
    }

    #[test]
    fn what_a_table_gets_wrong_is_said() {
        let network = network();
        let error = |text: &str| PathTable::read(text, &network, 1).unwrap_err().to_string();
        assert!(error("[[path]]\nlnk = \"x\"").contains("lnk"));
        assert!(error("[[path]]\nlink = \"leaf0->moon#0\"").contains("moon"));
        let fabric = (0..network.links.len() as u32).map(PortId);
        let up = fabric.map(|port| network.port_name(port)).find(|name| name.contains("->spine1")).unwrap();
        assert!(error(&format!("[[path]]\nfrom = \"host9\"\nlink = \"{up}\"")).contains("host0 to host3"));
        // Both hosts hang off one leaf.
        let inside = format!("[[path]]\nfrom = \"host0\"\nto = \"host1\"\nlink = \"{up}\"");
        assert!(error(&inside).contains("not on a shortest path"), "{}", error(&inside));
        assert!(PathTable::read(&format!("[[path]]\nto = \"3\"\nlink = \"{up}\""), &network, 1).is_ok());
    }
}
