//! `fct.txt`: a line a finished flow, in the order of their ends: `sip dip sport dport bytes start fct standalone`.

use super::flows::{DPORT, tag};
use super::topology::HpccNode;
use super::{HpccError, TRAFFIC_START, text, topology};
use farspan_metrics::FlowRow;
use farspan_units::Duration;
use farspan_workload::input::LONGEST_TOPOLOGY;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Source ports of two hosts count from here.
const FIRST_SPORT: u64 = 10_000;

/// Names of hosts there, and the time there that is zero here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FctNames {
    /// The id of each host; none: its number.
    ids: Option<Vec<u32>>,
    /// The time there that is zero here.
    zero: Duration,
}

impl Default for FctNames {
    fn default() -> Self {
        Self { ids: None, zero: TRAFFIC_START }
    }
}

/// Why flows cannot be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FctError {
    /// A host without an id.
    #[error(
        "host {host} has no id there: the topology has {hosts} hosts; give the topology that was imported"
    )]
    NoId {
        /// The host.
        host: u32,
        /// How many hosts the topology has.
        hosts: usize,
    },
    /// Addresses hold 16 bits of an id.
    #[error("host {host} has an id of {id}, where addresses hold 16 bits; give a topology of fewer nodes")]
    Id {
        /// The host.
        host: u32,
        /// Its id.
        id: u32,
    },
}

impl FctNames {
    /// Takes the ids of hosts from a topology of HPCC's simulator.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn with_topology(self, path: &Path) -> Result<Self, HpccError> {
        let text = text(path, LONGEST_TOPOLOGY, "give a topology of HPCC's simulator, which is plain text")?;
        let place =
            |(line, problem, cure)| HpccError { file: path.display().to_string(), line, problem, cure };
        let (network, _) = topology::parse(&text).map_err(place)?;
        let hosts = (0..).zip(&network.nodes).filter(|(_, kind)| **kind == HpccNode::Host).map(|(id, _)| id);
        Ok(Self { ids: Some(hosts.collect()), ..self })
    }

    /// Sets the time there that is zero here.
    #[must_use]
    pub fn with_zero(self, zero: Duration) -> Self {
        Self { zero, ..self }
    }

    /// The address of a host.
    fn address(&self, host: u32) -> Result<u32, FctError> {
        let id = match &self.ids {
            None => host,
            Some(ids) => *ids.get(host as usize).ok_or(FctError::NoId { host, hosts: ids.len() })?,
        };
        if id > 0xffff { Err(FctError::Id { host, id }) } else { Ok(0x0b00_0001 + (id << 8)) }
    }

    /// The lines of the flows that have ended.
    ///
    /// # Errors
    /// If a host has no id.
    pub fn write(&self, flows: &[FlowRow]) -> Result<String, FctError> {
        let mut order: Vec<_> = flows.iter().filter_map(|flow| Some((flow, flow.start_ns?))).collect();
        order.sort_by_key(|(flow, start)| (*start, flow.flow_id));
        let mut ports: BTreeMap<[u32; 2], u64> = BTreeMap::new();
        let mut ended = Vec::new();
        for (flow, start) in order {
            let port = ports.entry([flow.src, flow.dst]).or_insert(FIRST_SPORT);
            ended.extend(flow.fct_ns.map(|fct| (start + fct, flow, start, fct, *port & 0xffff)));
            *port += 1;
        }
        ended.sort_by_key(|(end, flow, ..)| (*end, flow.flow_id));
        let zero = (self.zero.as_ps() / 1000) as i64;
        let mut text = String::new();
        for (_, flow, start, fct, sport) in ended {
            let [from, to] = [self.address(flow.src)?, self.address(flow.dst)?];
            let FlowRow { size_bytes, ideal_fct_ns, .. } = flow;
            let (dport, start) = (dport(&flow.tag), start + zero);
            writeln!(text, "{from:08x} {to:08x} {sport} {dport} {size_bytes} {start} {fct} {ideal_fct_ns}")
                .expect("text grows");
        }
        Ok(text)
    }
}

/// The port that a tag stands for.
fn dport(text: &str) -> u16 {
    let port = text.strip_prefix("dport").and_then(|port| port.parse().ok());
    port.filter(|port| tag(*port).as_deref() == Some(text)).unwrap_or(DPORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn flow(flow_id: u64, ends: [u32; 2], start: Option<i64>, fct: Option<i64>, tag: &str) -> FlowRow {
        FlowRow {
            flow_id,
            src: ends[0],
            dst: ends[1],
            class: Arc::from("intra"),
            tag: Arc::from(tag),
            measured: true,
            size_bytes: 5000,
            start_ns: start,
            fct_ns: fct,
            delivered_ns: None,
            ideal_fct_ns: 1700,
            slowdown: None,
            sent_bytes: 0,
            parity_bytes: 0,
            retransmitted_bytes: 0,
            marked_packets: 0,
            trimmed_packets: 0,
            dropped_packets: 0,
            timeouts: 0,
            nacks: 0,
            blocks_undecodable: 0,
        }
    }

    #[test]
    fn flows_are_written_as_they_end_with_ports_in_the_order_of_their_starts() {
        let flows = [
            flow(0, [0, 300], Some(0), Some(9000), "flows"),
            flow(1, [0, 300], Some(10), Some(2000), "dport200"),
            flow(2, [0, 300], Some(20), None, "flows"),
            flow(3, [0, 300], Some(30), Some(2000), "dport0200"),
            flow(4, [300, 0], None, None, "flows"),
        ];
        let text = FctNames::default().write(&flows).unwrap();
        assert_eq!(
            text,
            "0b000001 0b012c01 10001 200 5000 2000000010 2000 1700\n\
             0b000001 0b012c01 10003 100 5000 2000000030 2000 1700\n\
             0b000001 0b012c01 10000 100 5000 2000000000 9000 1700\n"
        );
    }

    #[test]
    fn hosts_have_the_ids_of_the_topology_and_no_others() {
        let names = FctNames { ids: Some(vec![1, 70_000]), zero: Duration::ZERO };
        let one = |ends| names.write(&[flow(0, ends, Some(5), Some(1), "")]);
        assert_eq!(one([0, 0]).unwrap(), "0b000101 0b000101 10000 100 5000 5 1 1700\n");
        assert_eq!(one([0, 2]), Err(FctError::NoId { host: 2, hosts: 2 }));
        assert_eq!(one([0, 1]), Err(FctError::Id { host: 1, id: 70_000 }));
    }
}
