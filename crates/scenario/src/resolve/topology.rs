//! Topology: which keys apply to which kind, and their defaults. Ranges are the generators' business.

use super::{Context, need};
use crate::catalog::builtin::BuiltInTopology;
use crate::error::{Problem, ValueError};
use crate::limits::{FASTEST, LARGEST_BUFFER, MOST_SWITCHES, SLOWEST, each_within, within};
use crate::model::{
    Backbone, BackboneText, Between, Borders, DualFatTreeKeys, DualLeafSpineKeys, DumbbellKeys, FatTree,
    FatTreeKeys, FromFileKeys, LeafSpine, LeafSpineKeys, LinkChange, LinkChanges, Shape, Sides, StarKeys,
    Topology, TopologyCommon, TopologyKind, TopologyText, Wan, WanText,
};
use crate::topology::{Base, Defaults, TopologyDocument};
use crate::value::{Jitter, Oversubscription};
use farspan_units::{Bytes, Duration, Rate};

/// Defaults of links that do not say otherwise.
struct All {
    link_rate: Rate,
    link_delay: Duration,
    buffer: Bytes,
}

/// Hosts of a star, of each side of a dumbbell, of each leaf.
const HOSTS: u32 = 8;

const FILE: &str = "a topology file; `farspan new --topology` writes one";

impl Context<'_> {
    /// Every key that applies, and how many sites there are.
    pub(super) fn topology(
        &self,
        mut written: TopologyText,
        jitter: Jitter,
    ) -> Result<(Topology, usize), ValueError> {
        let kind = written.kind();
        if kind == TopologyKind::FromFile && self.source.has("topology.wan") {
            return Err(no_wan());
        }
        let elsewhere = match kind {
            TopologyKind::FromFile => "sites, nodes and links stand in its file",
            _ => "",
        };
        self.only("topology", kind.name(), kind.keys(), elsewhere)?;
        let mut common = written.common();
        let of_file = match &mut written {
            TopologyText::FromFile(keys) => Some(self.fill_from_file(keys, &mut common)?),
            _ => None,
        };
        let link = common.link.unwrap_or_default();
        check_links(&link)?;
        let all = All {
            link_rate: common.link_rate.unwrap_or(Rate::from_gbps(100)),
            link_delay: common.link_delay.unwrap_or(Duration::from_us(1)),
            buffer: common.buffer.unwrap_or(Bytes::new(1 << 20)),
        };
        let topology = Topology {
            switch_delay: common.switch_delay.unwrap_or(Duration::ZERO),
            jitter: common.jitter.unwrap_or(jitter),
            link_rate: all.link_rate,
            link_delay: all.link_delay,
            buffer: all.buffer,
            link,
            shape: self.shape(written, &all)?,
        };
        if let Some(file) = of_file.as_ref().filter(|_| !topology.link.is_empty()) {
            file.changed_network(&Base::of(&topology), &topology.link)?;
        }
        let of_file = of_file.map_or(1, |file| file.sites());
        let sites = if topology.wan().is_some() { 2 } else { of_file };
        Ok((topology, sites))
    }

    fn shape(&self, written: TopologyText, all: &All) -> Result<Shape, ValueError> {
        Ok(match written {
            TopologyText::FatTree(keys) => Shape::FatTree(fat_tree(&keys, all)),
            TopologyText::DualFatTree(keys) => {
                let DualFatTreeKeys { k, pods, hosts_per_tor, fabric_rate, oversubscription, .. } = keys;
                let of_site = FatTreeKeys {
                    k,
                    pods,
                    hosts_per_tor,
                    fabric_rate,
                    oversubscription,
                    ..FatTreeKeys::default()
                };
                let of_wan = keys.wan.unwrap_or_default();
                Shape::DualFatTree {
                    site: fat_tree(&of_site, all),
                    borders: borders(keys.core_border_links, keys.core_border_buffer, &of_wan, all),
                    wan: wan(&of_wan, all),
                }
            }
            TopologyText::LeafSpine(keys) => Shape::LeafSpine(leaf_spine(&keys, all, false)?),
            TopologyText::DualLeafSpine(keys) => self.dual_leaf_spine(keys, all)?,
            TopologyText::Dumbbell(keys) => self.dumbbell(keys, all)?,
            TopologyText::ParkingLot(keys) => Shape::ParkingLot {
                bottlenecks: keys.bottlenecks.unwrap_or(3),
                hosts: keys.hosts.unwrap_or(2),
                bottleneck_rate: keys.bottleneck_rate.unwrap_or(all.link_rate),
                bottleneck_delay: keys.bottleneck_delay.unwrap_or(all.link_delay),
            },
            TopologyText::Star(StarKeys { hosts, host_delays, .. }) => {
                let delays = host_delays.as_ref().map(|delays| delays.len() as u32);
                let hosts = hosts.or(delays).unwrap_or(HOSTS);
                let host_delays = host_delays.map(|delays| star_delays(delays, hosts)).transpose()?;
                Shape::Star { hosts, host_delays }
            }
            TopologyText::FromFile(FromFileKeys { file, parameters, .. }) => {
                let file = need(|| "topology.file".to_owned(), FILE, file)?;
                Shape::FromFile { file, parameters: parameters.unwrap_or_default() }
            }
        })
    }

    fn dual_leaf_spine(&self, keys: DualLeafSpineKeys, all: &All) -> Result<Shape, ValueError> {
        if keys.backbone.is_some() {
            self.check_backbone()?;
        }
        let DualLeafSpineKeys { hosts, leaves, spines, uplink_rate, oversubscription, .. } = keys;
        let of_site = LeafSpineKeys {
            hosts,
            leaves,
            spines,
            uplink_rate,
            oversubscription,
            ..LeafSpineKeys::default()
        };
        let site = leaf_spine(&of_site, all, true)?;
        let of_wan = keys.wan.unwrap_or_default();
        let between = match &keys.backbone {
            Some(backbone) => Between::Backbone(fill_backbone(backbone, site.spines)),
            None => Between::Borders(borders(keys.core_border_links, keys.core_border_buffer, &of_wan, all)),
        };
        Ok(Shape::DualLeafSpine { site, between, wan: wan(&of_wan, all) })
    }

    fn dumbbell(&self, keys: DumbbellKeys, all: &All) -> Result<Shape, ValueError> {
        let Wan { rtt, buffer, .. } = wan(&keys.wan.unwrap_or_default(), all);
        let sides = if keys.two_sites.unwrap_or(false) {
            Sides::TwoSites { rtt, buffer }
        } else if self.source.has("topology.wan") {
            let cure = "set topology.two_sites = true, or give topology.bottleneck_delay instead";
            let problem = "the two sides of this dumbbell are one site";
            return Err(ValueError::rule("topology.wan", problem, cure));
        } else {
            Sides::OneSite { bottleneck_delay: keys.bottleneck_delay.unwrap_or(all.link_delay) }
        };
        Ok(Shape::Dumbbell {
            hosts: keys.hosts.unwrap_or(HOSTS),
            bottleneck_rate: keys.bottleneck_rate.unwrap_or(all.link_rate),
            sides,
        })
    }

    /// Beside a backbone there are no border switches: what says something of these is refused.
    fn check_backbone(&self) -> Result<(), ValueError> {
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
    fn fill_from_file(
        &self,
        keys: &mut FromFileKeys,
        common: &mut TopologyCommon,
    ) -> Result<TopologyDocument, ValueError> {
        let key = "topology.file";
        let file = need(|| key.to_owned(), FILE, keys.file.take())?;
        let file = if BuiltInTopology::named(&file).is_some() { file } else { self.absolute(key, &file) };
        let topology = TopologyDocument::of_scenario(&file, &keys.parameters.take().unwrap_or_default())?;
        keys.parameters = Some(topology.parameters().clone());
        let Defaults { rate, delay, buffer, switch_delay } = topology.file().defaults;
        keys.file = Some(file);
        common.link_rate = common.link_rate.or(rate);
        common.link_delay = common.link_delay.or(delay);
        common.switch_delay = common.switch_delay.or(switch_delay);
        if !self.source.has("topology.buffer") {
            common.buffer = buffer.or(common.buffer);
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
    written: &LeafSpineKeys,
    hosts: u32,
    link_rate: Rate,
    uplink_rate: Rate,
    may_lack_spines: bool,
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
    if written.spines == Some(0) && may_lack_spines {
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
fn fat_tree(written: &FatTreeKeys, all: &All) -> FatTree {
    let k = written.k.unwrap_or(8);
    FatTree {
        k,
        pods: written.pods.filter(|pods| *pods != k),
        hosts_per_tor: written.hosts_per_tor.filter(|hosts| *hosts != k / 2),
        fabric_rate: written.fabric_rate.filter(|rate| *rate != all.link_rate),
        oversubscription: written.oversubscription.unwrap_or(Oversubscription { tor: 1, agg: 1 }),
    }
}

/// `may_lack_spines`: leaves can be linked to a border switch alone.
fn leaf_spine(written: &LeafSpineKeys, all: &All, may_lack_spines: bool) -> Result<LeafSpine, ValueError> {
    let hosts = written.hosts.unwrap_or(HOSTS);
    let uplink_rate = written.uplink_rate.unwrap_or(all.link_rate);
    let (spines, oversubscription) = uplinks(written, hosts, all.link_rate, uplink_rate, may_lack_spines)?;
    Ok(LeafSpine { leaves: written.leaves.unwrap_or(4), spines, hosts, uplink_rate, oversubscription })
}

fn borders(links: Option<u32>, buffer: Option<Bytes>, wan: &WanText, all: &All) -> Borders {
    Borders {
        core_border_links: links.unwrap_or(8),
        core_border_buffer: buffer.unwrap_or(all.buffer),
        wan_links: wan.links.unwrap_or(8),
    }
}

fn wan(written: &WanText, all: &All) -> Wan {
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
