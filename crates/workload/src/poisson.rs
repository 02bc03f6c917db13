//! Poisson arrivals: every host is a source of its own.
//!
//! A source's arrival times, sizes and destinations are three counter-based streams of (seed, part, host), so that
//! they do not depend on other sources, on the number of flows asked for, or on the order of generation.

mod offer;

use crate::{Capacity, Flow, Sites, SizeDistribution};
use farspan_units::{Bytes, Duration, HostId, Purpose, Random, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

pub use offer::{Arrivals, Load, LoadReference, LoadUnit, Mix, MixUnit};

/// A part of a workload with Poisson arrivals.
#[derive(Clone, PartialEq, Debug)]
pub struct Poisson {
    /// Position of the part in the workload: keeps the draws of several parts apart.
    pub part: u32,
    /// The hosts that receive; empty: all.
    pub receivers: Vec<HostId>,
    /// Sizes of flows inside a site.
    pub intra: SizeDistribution,
    /// Sizes of flows between sites.
    pub inter: SizeDistribution,
    /// How much is offered.
    pub load: Load,
    /// Which bytes the load counts.
    pub load_unit: LoadUnit,
    /// How many flows are measured.
    pub arrivals: Arrivals,
    /// When the sources begin.
    pub start: Time,
    /// Flows that start before are not measured.
    pub warmup: Time,
    /// How long arrivals go on, unmeasured, after the last measured one.
    pub tail: Duration,
    /// Starts are cut to a multiple of this (the published Uno runs: 1 us); zero: picoseconds.
    pub start_granularity: Duration,
}

/// Why there are no such arrivals.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PoissonError {
    /// Not a load.
    #[error(
        "{name} is {value}; a load is a share of capacity above 0, such as 0.4 for 40% (at most {MAX_LOAD})"
    )]
    Load {
        /// Which load.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// Not a mix.
    #[error("mix is {intra} : {inter}; give two numbers that are not negative and not both 0, such as 4 : 1")]
    Mix {
        /// The intra part.
        intra: f64,
        /// The inter part.
        inter: f64,
    },
    /// The reference of a load is not there.
    #[error("{name} refers to the {reference}, which this topology does not have; take a load on the hosts")]
    NoReference {
        /// Which load.
        name: &'static str,
        /// The capacity that it refers to.
        reference: &'static str,
    },
    /// Nothing to measure.
    #[error("{what} is 0; ask for at least one flow")]
    Nothing {
        /// The quantity that is zero.
        what: &'static str,
    },
    /// A host has no partner in its own site.
    #[error(
        "site {site} has a single host, which cannot send inside its site; take a mix without intra flows"
    )]
    Alone {
        /// The site, from 0.
        site: usize,
    },
    /// A receiver that does not exist.
    #[error("host {host} does not exist; hosts are numbered 0 to {last}: give one of them")]
    NoSuchHost {
        /// The host asked for.
        host: HostId,
        /// The last host.
        last: u32,
    },
    /// Nobody has a receiver of the classes asked for.
    #[error("no host has a receiver for its flows; list receivers that others can reach")]
    NoReceiver,
    /// No traffic of the kind that the load counts.
    #[error("the mix has no {class} flows, but load_reference counts only these; take a load on the hosts")]
    NoneCounted {
        /// The missing class.
        class: &'static str,
    },
    /// More flows than flow ids.
    #[error("about {expected:.0} flows, but flow ids end at {limit}: shorten the duration or lower the load",
        limit = u32::MAX)]
    TooMany {
        /// The expected number.
        expected: f64,
    },
    /// Arrivals later than time can count.
    #[error("arrivals would last longer than 213 days; raise the load")]
    TooLate,
}

/// Above this a load is surely a percentage.
const MAX_LOAD: f64 = 10.0;

/// Draws the flows of a part, in order of start.
///
/// # Errors
/// If load, mix or count make no sense on these sites.
pub fn poisson(
    config: &Poisson,
    sites: &Sites,
    capacity: &Capacity,
    seed: u64,
) -> Result<Vec<Flow>, PoissonError> {
    check_load(&config.load)?;
    match config.arrivals {
        Arrivals::Flows(0) => return Err(PoissonError::Nothing { what: "flows" }),
        Arrivals::For(d) if d.is_zero() => return Err(PoissonError::Nothing { what: "duration" }),
        _ => {}
    }
    let receivers = Receivers::of(&config.receivers, sites)?;
    let streams = site_streams(config, &receivers, sites, capacity)?;
    check_count(config, sites, &streams)?;
    generate(config, &receivers, sites, &streams, seed)
}

/// Expected traffic of a part, without drawing it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Expected {
    /// Flows.
    pub flows: f64,
    /// Their payload, in bytes.
    pub bytes: f64,
}

impl Expected {
    /// The flows expected of a part, its unmeasured ones included.
    ///
    /// # Errors
    /// If load or mix make no sense on these sites.
    pub fn of(config: &Poisson, sites: &Sites, capacity: &Capacity) -> Result<Self, PoissonError> {
        check_load(&config.load)?;
        let streams = site_streams(config, &Receivers::of(&config.receivers, sites)?, sites, capacity)?;
        let flows = expected_flows(config, sites, &streams);
        let rates =
            (0..).zip(&streams).map(|(site, stream)| (f64::from(sites.size(site)) * stream.rate, stream));
        let (mut rate, mut bytes) = (0.0, 0.0);
        for (of_site, Stream { intra, .. }) in rates {
            rate += of_site;
            bytes += of_site * (intra * config.intra.mean() + (1.0 - intra) * config.inter.mean());
        }
        Ok(Self { flows, bytes: flows * bytes / rate })
    }
}

/// The hosts that receive, in order.
struct Receivers(Vec<u32>);

impl Receivers {
    fn of(wanted: &[HostId], sites: &Sites) -> Result<Self, PoissonError> {
        if let Some(&host) = wanted.iter().find(|host| host.0 >= sites.hosts()) {
            return Err(PoissonError::NoSuchHost { host, last: sites.hosts() - 1 });
        }
        let mut hosts: Vec<u32> = wanted.iter().map(|host| host.0).collect();
        if hosts.is_empty() {
            hosts = (0..sites.hosts()).collect();
        }
        hosts.sort_unstable();
        hosts.dedup();
        Ok(Self(hosts))
    }

    /// The positions of receivers among `hosts`.
    fn among(&self, hosts: Range<u32>) -> Range<usize> {
        let before = |end: u32| self.0.partition_point(|host| *host < end);
        before(hosts.start)..before(hosts.end)
    }

    /// Where a host's flows may go: a range of positions, and in it one that is left out.
    fn choices(&self, host: u32, intra: bool, sites: &Sites) -> (Range<usize>, Range<usize>) {
        let home = self.among(sites.range(sites.site_of(HostId(host))));
        if intra { (home, self.among(host..host + 1)) } else { (0..self.0.len(), home) }
    }

    /// Whether a host has a receiver for each class of flows that it sends.
    fn serve(&self, host: u32, stream: Stream, sites: &Sites) -> bool {
        let any = |intra| {
            let (choices, left_out) = self.choices(host, intra, sites);
            choices.len() > left_out.len()
        };
        (stream.intra == 0.0 || any(true)) && (stream.intra == 1.0 || any(false))
    }
}

fn check_load(load: &Load) -> Result<(), PoissonError> {
    let positive = |x: f64| x > 0.0 && x <= MAX_LOAD;
    let check = |name, value, ok| if ok { Ok(()) } else { Err(PoissonError::Load { name, value }) };
    match *load {
        Load::Mixed { load, mix, .. } => {
            check("load", load, positive(load))?;
            let side = |x: f64| x >= 0.0 && x.is_finite();
            if side(mix.intra) && side(mix.inter) && mix.intra + mix.inter > 0.0 {
                Ok(())
            } else {
                Err(PoissonError::Mix { intra: mix.intra, inter: mix.inter })
            }
        }
        Load::Separate { intra, inter } => {
            check("intra_load", intra, positive(intra) || (intra == 0.0 && inter != 0.0))?;
            check("inter_load", inter, positive(inter) || inter == 0.0)
        }
    }
}

/// Arrivals at each host of a site.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stream {
    /// Flows per second and host.
    rate: f64,
    /// The probability that a flow stays inside the site.
    intra: f64,
}

/// The stream of each site's hosts.
fn site_streams(
    config: &Poisson,
    receivers: &Receivers,
    sites: &Sites,
    capacity: &Capacity,
) -> Result<Vec<Stream>, PoissonError> {
    let bytes = |sizes: &SizeDistribution| match config.load_unit {
        LoadUnit::Payload => sizes.mean(),
        LoadUnit::Wire => sizes.mean() + sizes.mean_packets(capacity.payload) * capacity.header.as_f64(),
    };
    let streams: Vec<Stream> = match config.load {
        Load::Mixed { load, reference, mix } => {
            let intra =
                if sites.count() == 1 { 1.0 } else { intra_share(&mix, &config.intra, &config.inter) };
            let flow =
                MeanFlow { intra, intra_bytes: bytes(&config.intra), inter_bytes: bytes(&config.inter) };
            let rate = load * flow.rate_of_full_load(reference, receivers, sites, capacity)?;
            vec![Stream { rate, intra }; sites.count()]
        }
        Load::Separate { intra, inter } => {
            if inter > 0.0 && !(capacity.has_wan() && sites.count() > 1) {
                return Err(PoissonError::NoReference { name: "inter_load", reference: "WAN" });
            }
            let intra_rate = intra * capacity.host.bytes_per_sec_f64() / bytes(&config.intra);
            let of_site = |site| {
                let (rate, sources) = busiest(sites, capacity, site..site + 1).unwrap_or_default();
                let wan = rate.bytes_per_sec_f64();
                let inter_rate =
                    if inter > 0.0 { inter * wan / (sources * bytes(&config.inter)) } else { 0.0 };
                Stream { rate: intra_rate + inter_rate, intra: intra_rate / (intra_rate + inter_rate) }
            };
            (0..sites.count()).map(of_site).collect()
        }
    };
    match (0..sites.count()).find(|s| sites.size(*s) == 1 && streams[*s].intra > 0.0) {
        Some(site) => Err(PoissonError::Alone { site }),
        None => Ok(streams),
    }
}

/// The share of flows that stay inside a site. A ratio a : b of bytes is a ratio a / mean : b / mean of flows.
fn intra_share(mix: &Mix, intra: &SizeDistribution, inter: &SizeDistribution) -> f64 {
    let (a, b) = match mix.unit {
        MixUnit::Flows => (mix.intra, mix.inter),
        MixUnit::Bytes => (mix.intra / intra.mean(), mix.inter / inter.mean()),
    };
    a / (a + b)
}

fn reference(
    capacity: Option<Rate>,
    name: &'static str,
    reference: &'static str,
) -> Result<Rate, PoissonError> {
    capacity.filter(|c| !c.is_zero()).ok_or(PoissonError::NoReference { name, reference })
}

/// The mean traffic of an arrival, in the unit of the load.
struct MeanFlow {
    /// The probability that it stays inside its site.
    intra: f64,
    /// Bytes of an intra flow.
    intra_bytes: f64,
    /// Bytes of an inter flow.
    inter_bytes: f64,
}

impl MeanFlow {
    /// Flows per second and host at a load of 1.
    fn rate_of_full_load(
        &self,
        kind: LoadReference,
        receivers: &Receivers,
        sites: &Sites,
        capacity: &Capacity,
    ) -> Result<f64, PoissonError> {
        let inter = (1.0 - self.intra) * self.inter_bytes;
        let (rate, bytes) = match kind {
            LoadReference::Host => {
                (reference(Some(capacity.host), "load", "host NICs")?, self.intra * self.intra_bytes + inter)
            }
            LoadReference::Wan => {
                let busiest = busiest(sites, capacity, 0..sites.count()).filter(|_| sites.count() > 1);
                let rate = reference(busiest.map(|(rate, _)| rate), "load", "WAN")?;
                (rate, inter * busiest.map_or(0.0, |(_, hosts)| hosts))
            }
            LoadReference::Bisection => {
                let per_site = (0..sites.count()).map(|s| {
                    let leaves_rack = leaves_rack(sites.range(s), &capacity.racks);
                    f64::from(sites.size(s)) * (self.intra * self.intra_bytes * leaves_rack + inter)
                });
                (reference(capacity.fabric, "load", "fabric")?, per_site.sum())
            }
            LoadReference::Receivers => {
                let stream = Stream { rate: 1.0, intra: self.intra };
                let senders = (0..sites.hosts()).filter(|host| receivers.serve(*host, stream, sites)).count();
                if senders == 0 {
                    return Err(PoissonError::NoReceiver);
                }
                let each = (self.intra * self.intra_bytes + inter) / receivers.0.len() as f64;
                (reference(Some(capacity.host), "load", "host NICs")?, each * senders as f64)
            }
            LoadReference::Tightest => return self.rate_of_tightest(receivers, sites, capacity),
        };
        let class = if kind == LoadReference::Wan { "inter" } else { "rack-leaving" };
        let full = rate.bytes_per_sec_f64() / bytes;
        if bytes > 0.0 { Ok(full) } else { Err(PoissonError::NoneCounted { class }) }
    }

    /// The lowest of the rates that fill a tier: at it no tier has more than it carries. A tier that is not there, or that this traffic does
    /// not cross, sets no limit.
    fn rate_of_tightest(
        &self,
        receivers: &Receivers,
        sites: &Sites,
        capacity: &Capacity,
    ) -> Result<f64, PoissonError> {
        let tiers =
            [LoadReference::Host, LoadReference::Receivers, LoadReference::Bisection, LoadReference::Wan];
        let mut lowest = f64::INFINITY;
        for tier in tiers {
            match self.rate_of_full_load(tier, receivers, sites, capacity) {
                Ok(rate) => lowest = lowest.min(rate),
                Err(PoissonError::NoReference { .. } | PoissonError::NoneCounted { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(lowest)
    }
}

/// The links between sites that traffic between sites from all hosts of some would fill first: their rate, and how many
/// hosts' traffic crosses them.
fn busiest(sites: &Sites, capacity: &Capacity, senders: Range<usize>) -> Option<(Rate, f64)> {
    let all = capacity.wan.iter().map(|links| (links.rate, links.hosts(sites, senders.clone())));
    let load = |(rate, hosts): &(Rate, f64)| hosts / rate.bytes_per_sec_f64();
    all.filter(|(rate, hosts)| !rate.is_zero() && *hosts > 0.0).max_by(|a, b| load(a).total_cmp(&load(b)))
}

/// The probability that a uniform partner inside a site stands in another rack.
fn leaves_rack(hosts: Range<u32>, racks: &[u32]) -> f64 {
    let racks = &racks[hosts.start as usize..hosts.end as usize];
    let n = racks.len() as f64;
    let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
    racks.iter().for_each(|rack| *sizes.entry(*rack).or_default() += 1);
    let beside: u64 = sizes.values().map(|size| size * (size - 1)).sum();
    if racks.len() < 2 { 0.0 } else { 1.0 - beside as f64 / (n * (n - 1.0)) }
}

/// Refuses more flows than there are ids, before drawing them.
fn check_count(config: &Poisson, sites: &Sites, streams: &[Stream]) -> Result<(), PoissonError> {
    let expected = expected_flows(config, sites, streams);
    if expected < f64::from(u32::MAX) * 0.99 { Ok(()) } else { Err(PoissonError::TooMany { expected }) }
}

fn expected_flows(config: &Poisson, sites: &Sites, streams: &[Stream]) -> f64 {
    let rate: f64 = (0..sites.count()).map(|s| f64::from(sites.size(s)) * streams[s].rate).sum();
    let (measured, period) = match config.arrivals {
        Arrivals::Flows(n) => (f64::from(n), Duration::ZERO),
        Arrivals::For(d) => (0.0, d),
    };
    let period =
        config.warmup.since(config.start).as_secs_f64() + period.as_secs_f64() + config.tail.as_secs_f64();
    measured + rate * period
}

/// One host's arrivals.
struct Source {
    host: u32,
    stream: Stream,
    arrivals: Random,
    sizes: Random,
    destinations: Random,
}

impl Source {
    fn new(config: &Poisson, sites: &Sites, streams: &[Stream], host: u32, seed: u64) -> Self {
        let entity = u64::from(config.part) << 32 | u64::from(host);
        let site = sites.site_of(HostId(host));
        let of = |purpose| Random::new(seed, purpose, entity);
        let (arrivals, sizes, destinations) =
            (of(Purpose::Arrival), of(Purpose::Size), of(Purpose::Destination));
        Self { host, stream: streams[site], arrivals, sizes, destinations }
    }

    /// The arrival after one at `now`: exponential gaps.
    fn next(&mut self, now: Time) -> Time {
        now.saturating_add(Duration::from_secs_f64(self.arrivals.exponential() / self.stream.rate))
    }

    /// Size and destination of an arrival: one size draw and two destination draws, whatever the class.
    fn draw(&mut self, config: &Poisson, receivers: &Receivers, sites: &Sites) -> (HostId, Bytes) {
        let intra = self.destinations.uniform() < self.stream.intra;
        let sizes = if intra { &config.intra } else { &config.inter };
        // Skipping the source itself, or the whole site, keeps the draw uniform over the others.
        let (choices, left_out) = receivers.choices(self.host, intra, sites);
        let count = choices.len() - left_out.len();
        let pick = choices.start + self.destinations.below(count as u64) as usize;
        let position = if pick < left_out.start { pick } else { pick + left_out.len() };
        (HostId(receivers.0[position]), sizes.sample(&mut self.sizes))
    }
}

fn generate(
    config: &Poisson,
    receivers: &Receivers,
    sites: &Sites,
    streams: &[Stream],
    seed: u64,
) -> Result<Vec<Flow>, PoissonError> {
    let mut sources: Vec<Source> =
        (0..sites.hosts()).map(|host| Source::new(config, sites, streams, host, seed)).collect();
    let can_send = |source: &&mut Source| receivers.serve(source.host, source.stream, sites);
    let mut next: BinaryHeap<Reverse<(Time, u32)>> =
        sources.iter_mut().filter(can_send).map(|s| Reverse((s.next(config.start), s.host))).collect();
    if next.is_empty() {
        return Err(PoissonError::NoReceiver);
    }
    let mut until = match config.arrivals {
        Arrivals::Flows(_) => Time::MAX,
        Arrivals::For(d) => config.start.max(config.warmup).saturating_add(d),
    };
    let mut left = match config.arrivals {
        Arrivals::Flows(n) => u64::from(n),
        Arrivals::For(_) => u64::MAX,
    };
    let end_of_tail = |last: Time| last.saturating_add(config.tail);
    let mut end = end_of_tail(until);
    let mut flows = Vec::new();
    while let Some(Reverse((start, host))) = next.pop() {
        if start >= end {
            break;
        }
        let source = &mut sources[host as usize];
        next.push(Reverse((source.next(start), host)));
        let (dst, size) = source.draw(config, receivers, sites);
        let cut_start = cut(start, config.start_granularity);
        let measured = cut_start >= config.warmup && start < until && left > 0;
        if measured {
            left -= 1;
            if left == 0 {
                until = start;
                end = end_of_tail(start);
            }
        }
        let (src, part) = (HostId(host), config.part);
        flows.push(Flow { src, dst, size, start: cut_start, part, tag: 0, measured });
    }
    if end == Time::MAX { Err(PoissonError::TooLate) } else { Ok(flows) }
}

/// `start`, cut to a multiple of `granularity`.
fn cut(start: Time, granularity: Duration) -> Time {
    match granularity.as_ps() {
        0 => start,
        g => Time::from_ps(start.as_ps() - start.as_ps() % g),
    }
}

#[cfg(test)]
mod tests;
