//! Topology: which keys apply to which kind, and their defaults. Ranges are the generators' business.

use super::{Context, need};
use crate::catalog::builtin::BuiltInTopology;
use crate::error::{Problem, ValueError};
use crate::limits::{FASTEST, LARGEST_BUFFER, MOST_SWITCHES, SLOWEST, each_within, within};
use crate::model::{
    Backbone, BackboneText, Between, Borders, FatTree, LeafSpine, LinkChange, LinkChanges, Shape, Sides,
    Topology, TopologyText, Wan,
};
use crate::topology::{Base, Defaults, TopologyDocument};
use crate::value::{Jitter, Oversubscription, TopologyKind};
use farspan_units::{Bytes, Duration, Rate};

/// The keys that apply to every kind of topology.
const COMMON: &[&str] = &["link_rate", "link_delay", "switch_delay", "jitter", "buffer", "link"];

/// Whether a key applies to a kind of topology.
pub(crate) fn applies(kind: TopologyKind, key: &str) -> bool {
    key == "kind" || COMMON.contains(&key) || own_keys(kind).contains(&key)
}

/// The keys that apply to a kind beside.
const fn own_keys(kind: TopologyKind) -> &'static [&'static str] {
    match kind {
        TopologyKind::FatTree => &["k", "pods", "hosts_per_tor", "fabric_rate", "oversubscription"],
        TopologyKind::DualFatTree => &[
            "k",
            "pods",
            "hosts_per_tor",
            "fabric_rate",
            "oversubscription",
            "core_border_links",
            "core_border_buffer",
            "wan",
        ],
        TopologyKind::LeafSpine => &["leaves", "spines", "hosts", "uplink_rate", "oversubscription"],
        TopologyKind::DualLeafSpine => &[
            "leaves",
            "spines",
            "hosts",
            "uplink_rate",
            "oversubscription",
            "backbone",
            "core_border_links",
            "core_border_buffer",
            "wan",
        ],
        TopologyKind::Dumbbell => &["hosts", "bottleneck_rate", "bottleneck_delay", "two_sites", "wan"],
        TopologyKind::ParkingLot => &["bottlenecks", "hosts", "bottleneck_rate", "bottleneck_delay"],
        TopologyKind::Star => &["hosts", "host_delays"],
        TopologyKind::FromFile => &["file", "parameters"],
    }
}

/// Defaults of links that do not say otherwise.
struct All {
    link_rate: Rate,
    link_delay: Duration,
    buffer: Bytes,
}

const FILE: &str = "a topology file; `farspan new --topology` writes one";

impl Context<'_> {
    /// Every key that applies, and how many sites there are.
    pub(super) fn topology(
        &self,
        mut written: TopologyText,
        jitter: Jitter,
    ) -> Result<(Topology, usize), ValueError> {
        let kind = written.kind.unwrap_or(TopologyKind::DualFatTree);
        if kind == TopologyKind::FromFile && self.source.has("topology.wan") {
            return Err(no_wan());
        }
        let elsewhere = match kind {
            TopologyKind::FromFile => "sites, nodes and links stand in its file",
            _ => "",
        };
        self.only("topology", kind.name(), &[own_keys(kind), COMMON].concat(), elsewhere)?;
        let of_file = match kind {
            TopologyKind::FromFile => Some(self.fill_from_file(&mut written)?),
            _ => None,
        };
        check_links(&written.link)?;
        let link = std::mem::take(&mut written.link);
        let all = All {
            link_rate: written.link_rate.unwrap_or(Rate::from_gbps(100)),
            link_delay: written.link_delay.unwrap_or(Duration::from_us(1)),
            buffer: written.buffer.unwrap_or(Bytes::new(1 << 20)),
        };
        let topology = Topology {
            switch_delay: written.switch_delay.unwrap_or(Duration::ZERO),
            jitter: written.jitter.unwrap_or(jitter),
            link_rate: all.link_rate,
            link_delay: all.link_delay,
            buffer: all.buffer,
            link,
            shape: self.shape(kind, written, &all)?,
        };
        if let Some(file) = of_file.as_ref().filter(|_| !topology.link.is_empty()) {
            file.changed_network(&Base::of(&topology), &topology.link)?;
        }
        let of_file = of_file.map_or(1, |file| file.sites());
        let sites = if topology.wan().is_some() { 2 } else { of_file };
        Ok((topology, sites))
    }

    fn shape(&self, kind: TopologyKind, written: TopologyText, all: &All) -> Result<Shape, ValueError> {
        let hosts = written.hosts.unwrap_or(8);
        let bottleneck_rate = written.bottleneck_rate.unwrap_or(all.link_rate);
        let bottleneck_delay = written.bottleneck_delay.unwrap_or(all.link_delay);
        Ok(match kind {
            TopologyKind::FatTree => Shape::FatTree(fat_tree(&written, all)),
            TopologyKind::DualFatTree => Shape::DualFatTree {
                site: fat_tree(&written, all),
                borders: borders(&written, all),
                wan: wan(&written, all),
            },
            TopologyKind::LeafSpine => Shape::LeafSpine(leaf_spine(&written, hosts, all)?),
            TopologyKind::DualLeafSpine => {
                self.check_backbone(&written)?;
                let site = leaf_spine(&written, hosts, all)?;
                let between = match &written.backbone {
                    Some(backbone) => Between::Backbone(fill_backbone(backbone, site.spines)),
                    None => Between::Borders(borders(&written, all)),
                };
                Shape::DualLeafSpine { site, between, wan: wan(&written, all) }
            }
            TopologyKind::Dumbbell => {
                let wan = wan(&written, all);
                let sides = if written.two_sites.unwrap_or(false) {
                    Sides::TwoSites { rtt: wan.rtt, buffer: wan.buffer }
                } else if self.source.has("topology.wan") {
                    let cure = "set topology.two_sites = true, or give topology.bottleneck_delay instead";
                    let problem = "the two sides of this dumbbell are one site";
                    return Err(ValueError::rule("topology.wan", problem, cure));
                } else {
                    Sides::OneSite { bottleneck_delay }
                };
                Shape::Dumbbell { hosts, bottleneck_rate, sides }
            }
            TopologyKind::ParkingLot => Shape::ParkingLot {
                bottlenecks: written.bottlenecks.unwrap_or(3),
                hosts: written.hosts.unwrap_or(2),
                bottleneck_rate,
                bottleneck_delay,
            },
            TopologyKind::Star => {
                let delays = written.host_delays.as_ref().map(|delays| delays.len() as u32);
                let hosts = written.hosts.or(delays).unwrap_or(hosts);
                let host_delays = written.host_delays.map(|delays| star_delays(delays, hosts)).transpose()?;
                Shape::Star { hosts, host_delays }
            }
            TopologyKind::FromFile => {
                let file = need(|| "topology.file".to_owned(), FILE, written.file)?;
                Shape::FromFile { file, parameters: written.parameters }
            }
        })
    }

    /// Beside a backbone there are no border switches: what says something of these is refused.
    fn check_backbone(&self, written: &TopologyText) -> Result<(), ValueError> {
        if written.backbone.is_none() {
            return Ok(());
        }
        for path in ["topology.core_border_links", "topology.core_border_buffer", "topology.wan.links"] {
            if self.source.has(path) {
                let cure = "leave it out and give topology.backbone.links_per_spine and topology.wan.buffer, or leave out topology.backbone";
                return Err(ValueError::rule(
                    path,
                    "a topology with a backbone has no border switches",
                    cure,
                ));
            }
        }
        Ok(())
    }

    /// Puts what a topology file says of all links, and its parameters, where the scenario says nothing.
    fn fill_from_file(&self, written: &mut TopologyText) -> Result<TopologyDocument, ValueError> {
        let key = "topology.file";
        let file = need(|| key.to_owned(), FILE, written.file.take())?;
        let file = if BuiltInTopology::named(&file).is_some() { file } else { self.absolute(key, &file) };
        let topology = TopologyDocument::of_scenario(&file, &written.parameters)?;
        written.parameters = topology.parameters().clone();
        let Defaults { rate, delay, buffer, switch_delay } = topology.file().defaults;
        written.file = Some(file);
        written.link_rate = written.link_rate.or(rate);
        written.link_delay = written.link_delay.or(delay);
        written.switch_delay = written.switch_delay.or(switch_delay);
        if !self.source.has("topology.buffer") {
            written.buffer = buffer.or(written.buffer);
        }
        Ok(topology)
    }

    /// Refuses keys of a table that do not apply to its kind; `elsewhere`: where others stand, if anywhere.
    pub(super) fn only(
        &self,
        path: &str,
        kind: &str,
        keys: &[&str],
        elsewhere: &'static str,
    ) -> Result<(), ValueError> {
        let stray =
            self.source.keys(path).into_iter().find(|key| key != "kind" && !keys.contains(&key.as_str()));
        stray.map_or(Ok(()), |key| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            let path = format!("{path}.{key}");
            Err(ValueError::new(path, Problem::NotApplicable { kind: kind.to_owned(), key, keys, elsewhere }))
        })
    }
}

/// The cure for who looks for the RTT between the sites of a topology file.
fn no_wan() -> ValueError {
    let cure = "sites, nodes and links stand in its file: change links by a pattern, such as topology.link[\"west-*->east-*\"].rtt \
                (.delay, .rate, .buffer), or write rtt = \"$wan_rtt\" at them, wan_rtt = \"20ms\" below [parameters], and set \
                topology.parameters.wan_rtt";
    ValueError::rule("topology.wan", "from_file has no \"wan\"", cure)
}

/// Checks what patterns change; whether they fit links, shows the network.
fn check_links(links: &LinkChanges) -> Result<(), ValueError> {
    for (pattern, change) in &links.0 {
        let path = LinkChanges::path(pattern);
        let of = |key: &str| format!("{path}.{key}");
        if *change == LinkChange::default() {
            return Err(ValueError::missing(path, "delay, rtt, rate or buffer, such as delay = \"2ms\""));
        }
        change.propagation().check(of)?;
        each_within(&of("rate"), change.rate, SLOWEST, FASTEST)?;
        each_within(&of("buffer"), change.buffer, Bytes::new(1), LARGEST_BUFFER)?;
    }
    Ok(())
}

/// The spines of a leaf-spine and its oversubscription: one follows from the other, and both must fit if both are given.
/// Without a whole ratio there is none.
fn uplinks(
    written: &TopologyText,
    hosts: u32,
    link_rate: Rate,
    uplink_rate: Rate,
) -> Result<(u32, Option<Oversubscription>), ValueError> {
    within("topology.link_rate", link_rate, SLOWEST, FASTEST)?;
    within("topology.uplink_rate", uplink_rate, SLOWEST, FASTEST)?;
    let down = u128::from(hosts) * u128::from(link_rate.as_bps());
    let up = |spines: u32| u128::from(spines) * u128::from(uplink_rate.as_bps());
    let key = "topology.oversubscription";
    let asked = written.oversubscription;
    if let Some(Oversubscription { tor, agg }) = asked.filter(|ratio| ratio.agg != 1) {
        let problem = format!("[{tor}, {agg}], but a leaf-spine is oversubscribed at its leaves only");
        return Err(ValueError::rule(key, problem, "give one number, such as 2"));
    }
    // Leaves that are linked to the border switch alone.
    if written.spines == Some(0) && written.kind == Some(TopologyKind::DualLeafSpine) {
        return match asked {
            None => Ok((0, None)),
            Some(_) => {
                let cure = "leave it out, and give topology.core_border_links and topology.uplink_rate";
                Err(ValueError::rule(
                    key,
                    "without spines, leaves have links only to the border switch",
                    cure,
                ))
            }
        };
    }
    let Some(spines) = written.spines else {
        let tor = asked.map_or(1, |ratio| ratio.tor);
        let all = up(1) * u128::from(tor);
        let fits = down.is_multiple_of(all) && (1..=u128::from(MOST_SWITCHES)).contains(&(down / all));
        if !fits {
            let problem = format!(
                "at {tor}:1, {hosts} hosts of {link_rate} per leaf do not need a whole number of uplinks of {uplink_rate}"
            );
            let cure = "give another oversubscription, hosts or uplink_rate, or give topology.spines";
            return Err(ValueError::rule(key, problem, cure));
        }
        return Ok(((down / all) as u32, Some(Oversubscription { tor, agg: 1 })));
    };
    let all = up(spines);
    let ratio = (all > 0 && down.is_multiple_of(all)).then(|| u32::try_from(down / all).ok()).flatten();
    let ratio = ratio.map(|tor| Oversubscription { tor, agg: 1 });
    if let Some(asked) = asked.filter(|asked| Some(*asked) != ratio) {
        let problem = format!(
            "{}, but {hosts} hosts of {link_rate} per leaf over {spines} spines of {uplink_rate} are {:.3}:1",
            asked.tor,
            down as f64 / all as f64
        );
        return Err(ValueError::rule(key, problem, "leave out topology.spines, or the oversubscription"));
    }
    Ok((spines, ratio))
}

/// Leaves out numbers that follow from other keys: they follow from these still when these are changed.
fn fat_tree(written: &TopologyText, all: &All) -> FatTree {
    let k = written.k.unwrap_or(8);
    FatTree {
        k,
        pods: written.pods.filter(|pods| *pods != k),
        hosts_per_tor: written.hosts_per_tor.filter(|hosts| *hosts != k / 2),
        fabric_rate: written.fabric_rate.filter(|rate| *rate != all.link_rate),
        oversubscription: written.oversubscription.unwrap_or(Oversubscription { tor: 1, agg: 1 }),
    }
}

fn leaf_spine(written: &TopologyText, hosts: u32, all: &All) -> Result<LeafSpine, ValueError> {
    let uplink_rate = written.uplink_rate.unwrap_or(all.link_rate);
    let (spines, oversubscription) = uplinks(written, hosts, all.link_rate, uplink_rate)?;
    Ok(LeafSpine { leaves: written.leaves.unwrap_or(4), spines, hosts, uplink_rate, oversubscription })
}

fn borders(written: &TopologyText, all: &All) -> Borders {
    Borders {
        core_border_links: written.core_border_links.unwrap_or(8),
        core_border_buffer: written.core_border_buffer.unwrap_or(all.buffer),
        wan_links: written.wan.as_ref().and_then(|wan| wan.links).unwrap_or(8),
    }
}

fn wan(written: &TopologyText, all: &All) -> Wan {
    let written = written.wan.clone().unwrap_or_default();
    Wan {
        rtt: written.rtt.unwrap_or(Duration::from_ms(2)),
        rate: written.rate.unwrap_or(all.link_rate),
        buffer: written.buffer.unwrap_or(all.buffer),
    }
}

/// Without a number of routers, each has one link to each site.
fn fill_backbone(written: &BackboneText, spines: u32) -> Backbone {
    let links = written.links_per_spine.unwrap_or(8);
    let routers = written.routers.unwrap_or_else(|| spines.saturating_mul(links));
    Backbone { routers, links_per_spine: links }
}

fn star_delays(delays: Vec<Duration>, hosts: u32) -> Result<Vec<Duration>, ValueError> {
    if delays.len() == hosts as usize {
        return Ok(delays);
    }
    let problem = format!("{} delays for {hosts} hosts", delays.len());
    Err(ValueError::rule(
        "topology.host_delays",
        problem,
        "give one for each host, or leave out topology.hosts",
    ))
}
