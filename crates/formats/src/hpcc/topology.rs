//! `topology.txt`: a head that counts, the ids of the switches, then a line a link: `src dst rate delay error_rate`. The head is
//! `nodes switches links`; in forks `nodes gpus_per_server nvswitches switches links gpu_type` (SimAI), `nodes switches tors links`
//! (PowerTCP), or the same with the rates of hosts and of uplinks behind it (Reverie).

use super::quantity::{link_delay, link_rate, share};
use super::{HpccFlaw, Odd, flaw, left_out, lines, shown, whole};
use farspan_units::{Duration, Rate};
use std::collections::BTreeMap;

/// Addresses there hold 16 bits of an id.
const MOST_NODES: u64 = 1 << 16;
/// The most links of a topology here.
const MOST_LINKS: u64 = 1 << 22;
const HEADER: &str = "write \"nodes switches links\", as in \"376 56 480\", PowerTCP's \"nodes switches tors links\", or SimAI's \
                      \"nodes gpus_per_server nvswitches switches links gpu_type\"";

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HpccNode {
    Host,
    Switch,
    /// Joins the GPUs of a server.
    NvSwitch,
}

/// A link, full duplex.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct HpccLink {
    pub line: usize,
    pub ends: [u32; 2],
    pub rate: Rate,
    pub delay: Duration,
    /// The probability with which it loses a packet.
    pub error_rate: f64,
}

/// Nodes by id, and links without those of NVSwitches.
pub(super) struct HpccNetwork {
    pub is_simai: bool,
    pub nodes: Vec<HpccNode>,
    pub links: Vec<HpccLink>,
    /// The line of a link by its ends, the lower id first.
    pub pairs: BTreeMap<[u32; 2], usize>,
    /// The NVSwitches of each host that has any.
    servers: BTreeMap<u32, Vec<u32>>,
    /// A host's number here: hosts in the order of their ids.
    numbers: Vec<Option<u32>>,
}

impl HpccNetwork {
    pub fn hosts(&self) -> usize {
        self.numbers.iter().flatten().count()
    }

    pub fn switches(&self) -> usize {
        self.nodes.iter().filter(|kind| **kind == HpccNode::Switch).count()
    }

    /// The number here of the host with an id there.
    pub fn host(&self, id: u32) -> Option<u32> {
        *self.numbers.get(id as usize)?
    }

    /// Whether an NVSwitch joins two hosts.
    pub fn is_one_server(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|id| self.servers.get(&id));
        a.zip(b).is_some_and(|(a, b)| a.iter().any(|switch| b.contains(switch)))
    }

    fn kind(&self, id: u32) -> HpccNode {
        self.nodes[id as usize]
    }
}

struct Header {
    line: usize,
    is_simai: bool,
    nodes: u64,
    nvswitches: u64,
    switches: u64,
    links: u64,
}

impl Header {
    fn parse(line: usize, words: &[&str], odd: &mut Odd) -> Result<Self, HpccFlaw> {
        let is_rate = |word: &str| word.parse::<u64>().is_ok();
        let (is_simai, [nodes, nvswitches, switches, links]) = match *words {
            [nodes, switches, links] => (false, [nodes, "0", switches, links]),
            [nodes, switches, tors, links] => {
                whole(line, "tors", tors, 0..=MOST_NODES)?;
                (false, [nodes, "0", switches, links])
            }
            [nodes, switches, tors, links, hosts, uplinks] if is_rate(uplinks) => {
                whole(line, "tors", tors, 0..=MOST_NODES)?;
                [hosts, uplinks].into_iter().try_for_each(|rate| link_rate(line, rate).map(drop))?;
                odd.push((line, "a head as of Reverie: links have the rates of their own lines".to_owned()));
                (false, [nodes, "0", switches, links])
            }
            [nodes, gpus, nvswitches, switches, links, _] => {
                whole(line, "gpus_per_server", gpus, 0..=MOST_NODES)?;
                (true, [nodes, nvswitches, switches, links])
            }
            _ => {
                return flaw(
                    line,
                    format!("{} words, where 3, 4 or 6 count nodes and links", words.len()),
                    HEADER,
                );
            }
        };
        if switches == "0" {
            let problem =
                "no switches, so that hosts would pass on what is not for them, as in a ring of ASTRA-sim";
            return flaw(line, problem, "give the hosts a switch: here each has one link, to a switch");
        }
        let header = Self {
            line,
            is_simai,
            nodes: whole(line, "nodes", nodes, 2..=MOST_NODES)?,
            nvswitches: whole(line, "nvswitches", nvswitches, 0..=MOST_NODES)?,
            switches: whole(line, "switches", switches, 1..=MOST_NODES)?,
            links: whole(line, "links", links, 1..=MOST_LINKS)?,
        };
        if header.nvswitches + header.switches >= header.nodes {
            let Self { nodes, nvswitches, switches, .. } = header;
            let problem =
                format!("{nodes} nodes, of which {} are switches: there is no host", nvswitches + switches);
            return flaw(line, problem, HEADER);
        }
        Ok(header)
    }
}

/// Reads a topology.
pub(super) fn parse(text: &str) -> Result<(HpccNetwork, Odd), HpccFlaw> {
    let mut rows = lines(text);
    let Some((line, words)) = rows.next() else {
        return Err((None, "has no lines".to_owned(), HEADER.to_owned()));
    };
    let mut odd = Vec::new();
    let header = Header::parse(line, &words, &mut odd)?;
    let nodes = nodes(&header, &mut rows)?;
    let mut network = HpccNetwork {
        is_simai: header.is_simai,
        numbers: numbers(&nodes),
        nodes,
        links: Vec::new(),
        pairs: BTreeMap::new(),
        servers: BTreeMap::new(),
    };
    for n in 0..header.links {
        let Some((line, words)) = rows.next() else {
            let problem = format!("{} links are counted, and {n} lines follow", header.links);
            return flaw(header.line, problem, "correct the count, or add the links");
        };
        add(&mut network, link(line, &words, header.nodes)?, &mut odd)?;
    }
    odd.extend(left_out(rows, header.links, "links"));
    check(&network)?;
    Ok((network, odd))
}

/// The kinds of all nodes: the ids of the switches may stand on several lines.
fn nodes<'a>(
    header: &Header,
    rows: &mut impl Iterator<Item = (usize, Vec<&'a str>)>,
) -> Result<Vec<HpccNode>, HpccFlaw> {
    let mut nodes = vec![HpccNode::Host; header.nodes as usize];
    let all = header.nvswitches + header.switches;
    let mut read = 0;
    while read < all {
        let Some((line, words)) = rows.next() else {
            let problem = format!("{all} switches are counted, and {read} ids follow");
            return flaw(header.line, problem, "add the ids of the switches on the second line");
        };
        for word in words {
            if read == all {
                let problem = format!("{} comes after the ids of all {all} switches", shown(word));
                return flaw(line, problem, "correct the count of switches, or remove the id");
            }
            let id = whole(line, "the id of a switch", word, 0..=header.nodes - 1)? as usize;
            if nodes[id] != HpccNode::Host {
                return flaw(line, format!("switch {id} is listed twice"), "write each id once");
            }
            nodes[id] = if read < header.nvswitches { HpccNode::NvSwitch } else { HpccNode::Switch };
            read += 1;
        }
    }
    Ok(nodes)
}

/// Hosts in the order of their ids.
fn numbers(nodes: &[HpccNode]) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |kind: &HpccNode| {
        (*kind == HpccNode::Host).then(|| {
            next += 1;
            next - 1
        })
    };
    nodes.iter().map(number).collect()
}

fn link(line: usize, words: &[&str], nodes: u64) -> Result<HpccLink, HpccFlaw> {
    let [a, b, rate, delay, error_rate] = words else {
        let problem = format!("{} words, where a link has 5", words.len());
        return flaw(
            line,
            problem,
            "write \"src dst rate delay error_rate\", as in \"0 320 100Gbps 1000ns 0\"",
        );
    };
    let end = |text| Ok(whole(line, "node", text, 0..=nodes - 1)? as u32);
    let ends = [end(a)?, end(b)?];
    if ends[0] == ends[1] {
        return flaw(line, format!("a link from node {} to itself", ends[0]), "give two different nodes");
    }
    let Some(error_rate) = share(error_rate).filter(|rate| *rate < 1.0) else {
        return flaw(
            line,
            format!("the error rate {} is not a probability", shown(error_rate)),
            "write a number from 0 to below 1",
        );
    };
    Ok(HpccLink { line, ends, rate: link_rate(line, rate)?, delay: link_delay(line, delay)?, error_rate })
}

fn add(network: &mut HpccNetwork, link: HpccLink, odd: &mut Odd) -> Result<(), HpccFlaw> {
    let [a, b] = [link.ends[0].min(link.ends[1]), link.ends[0].max(link.ends[1])];
    if let Some(first) = network.pairs.insert([a, b], link.line) {
        let problem =
            format!("nodes {a} and {b} have a link on line {first}, and the simulator uses one of them");
        return flaw(link.line, problem, "keep one");
    }
    let is_nv = |id| network.kind(id) == HpccNode::NvSwitch;
    if !is_nv(a) && !is_nv(b) {
        network.links.push(link);
        return Ok(());
    }
    if network.servers.is_empty() {
        odd.push((link.line, "NVSwitches and their links are left out: flows take the network".to_owned()));
    }
    let [host, switch] = if is_nv(a) { [b, a] } else { [a, b] };
    network.servers.entry(host).or_default().push(switch);
    Ok(())
}

/// Hosts have one link, to a switch, and every node can be reached.
fn check(network: &HpccNetwork) -> Result<(), HpccFlaw> {
    let mut at: Vec<Vec<&HpccLink>> = vec![Vec::new(); network.nodes.len()];
    for link in &network.links {
        link.ends.iter().for_each(|end| at[*end as usize].push(link));
        if link.ends.iter().all(|end| network.kind(*end) == HpccNode::Host) {
            let [a, b] = link.ends;
            return flaw(
                link.line,
                format!("hosts {a} and {b} are joined without a switch"),
                "give them a switch",
            );
        }
    }
    for (id, links) in at.iter().enumerate() {
        match (network.nodes[id], &links[..]) {
            (HpccNode::NvSwitch, _) | (_, [_]) | (HpccNode::Switch, [_, ..]) => {}
            (_, []) => {
                return Err((
                    None,
                    format!("node {id} has no link"),
                    "add one, or remove the node".to_owned(),
                ));
            }
            (HpccNode::Host, [first, second, ..]) => {
                let problem = format!(
                    "host {id} has a second link (the first: line {}); hosts have one here",
                    first.line
                );
                return flaw(second.line, problem, "keep one");
            }
        }
    }
    let first = network.nodes.iter().position(|kind| *kind == HpccNode::Switch).unwrap_or(0);
    let (mut seen, mut open) = (vec![false; network.nodes.len()], vec![first]);
    seen[first] = true;
    while let Some(id) = open.pop() {
        for end in at[id].iter().flat_map(|link| link.ends).map(|end| end as usize) {
            if !std::mem::replace(&mut seen[end], true) {
                open.push(end);
            }
        }
    }
    let is_apart = |(id, kind): (usize, &HpccNode)| *kind != HpccNode::NvSwitch && !seen[id];
    match network.nodes.iter().enumerate().position(is_apart) {
        None => Ok(()),
        Some(id) => {
            let problem = format!("there is no path from switch {first} to node {id}");
            Err((None, problem, "add the missing links".to_owned()))
        }
    }
}
