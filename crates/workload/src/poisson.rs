//! Poisson arrivals: every host is a source of its own.
//!
//! A source's arrival times, sizes and destinations are three counter-based streams of (seed, part, host), so that
//! they do not depend on other sources, on the number of flows asked for, or on the order of generation.

use crate::{Capacity, Flow, Sites, SizeDistribution};
use farspan_units::{Bytes, Duration, HostId, Purpose, Random, Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// What a load is a share of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadReference {
    /// All host NICs together, one direction.
    Host,
    /// The busiest direction between two sites.
    Wan,
    /// The narrowest tier between racks, one direction.
    Bisection,
    /// The NICs of all receivers together.
    Receivers,
}

/// Which bytes a load counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadUnit {
    /// Payload.
    Payload,
    /// Payload and the headers of its packets; the last packet of a flow is not padded.
    Wire,
}

/// Of what the mix of intra and inter is a ratio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MixUnit {
    /// Numbers of flows.
    Flows,
    /// Payload bytes.
    Bytes,
}

/// Traffic inside sites against traffic between them, such as 4 : 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    /// The intra side of the ratio.
    pub intra: f64,
    /// The inter side of the ratio.
    pub inter: f64,
    /// What is counted.
    pub unit: MixUnit,
}

/// How much traffic is offered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// One load for both classes, divided by a mix. With a single site everything is intra.
    Mixed {
        /// Offered over capacity.
        load: f64,
        /// Whose capacity.
        reference: LoadReference,
        /// Intra against inter.
        mix: Mix,
    },
    /// A load for each class: steady scenarios, in which neither the hosts nor the WAN are overloaded.
    Separate {
        /// Intra traffic over the host NICs; 0: none.
        intra: f64,
        /// Inter traffic over the WAN, in each direction; 0: none.
        inter: f64,
    },
}

/// How many flows are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// The earliest over all sources from `warmup` on.
    Flows(u32),
    /// All that start within this time from `warmup` on.
    For(Duration),
}

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
        /// The intra side.
        intra: f64,
        /// The inter side.
        inter: f64,
    },
    /// The reference of a load is not there.
    #[error("{name} refers to the {reference}, which this topology does not have; take a load on the hosts")]
    NoReference {
        /// Which load.
        name: &'static str,
        /// What it refers to.
        reference: &'static str,
    },
    /// Nothing to measure.
    #[error("{what} is 0; ask for at least one flow")]
    Nothing {
        /// What is zero.
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
    #[error("host {host} does not exist; hosts are numbered 0 to {last}")]
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
    #[error("about {expected:.0} flows; flow ids end at {limit}: shorten the duration or lower the load",
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
            let wan =
                reference(capacity.wan.filter(|_| inter > 0.0 && sites.count() > 1), "inter_load", "WAN");
            let wan = if inter > 0.0 { wan?.bytes_per_sec_f64() } else { 0.0 };
            let intra_rate = intra * capacity.host.bytes_per_sec_f64() / bytes(&config.intra);
            let of_site = |site| {
                let sources = f64::from(sites.size(site)) * sites.largest_share(site);
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

/// What an arrival brings on average, in the unit of the load.
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
                let available = capacity.wan.filter(|_| sites.count() > 1);
                let busiest = (0..sites.count()).map(|s| f64::from(sites.size(s)) * sites.largest_share(s));
                (reference(available, "load", "WAN")?, inter * busiest.fold(0.0, f64::max))
            }
            LoadReference::Bisection => {
                let per_site = (0..sites.count()).map(|s| {
                    let leaves_rack = leaves_rack(sites.size(s), capacity.hosts_per_rack);
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
        };
        let class = if kind == LoadReference::Wan { "inter" } else { "rack-leaving" };
        let full = rate.bytes_per_sec_f64() / bytes;
        if bytes > 0.0 { Ok(full) } else { Err(PoissonError::NoneCounted { class }) }
    }
}

/// The probability that a uniform partner inside a site stands in another rack.
fn leaves_rack(hosts: u32, hosts_per_rack: u32) -> f64 {
    let beside = hosts_per_rack.clamp(1, hosts) - 1;
    if hosts < 2 { 0.0 } else { 1.0 - f64::from(beside) / f64::from(hosts - 1) }
}

/// Refuses more flows than there are ids, before drawing them.
fn check_count(config: &Poisson, sites: &Sites, streams: &[Stream]) -> Result<(), PoissonError> {
    let rate: f64 = (0..sites.count()).map(|s| f64::from(sites.size(s)) * streams[s].rate).sum();
    let (measured, period) = match config.arrivals {
        Arrivals::Flows(n) => (f64::from(n), Duration::ZERO),
        Arrivals::For(d) => (0.0, d),
    };
    let period =
        config.warmup.since(config.start).as_secs_f64() + period.as_secs_f64() + config.tail.as_secs_f64();
    let expected = measured + rate * period;
    if expected < f64::from(u32::MAX) * 0.99 { Ok(()) } else { Err(PoissonError::TooMany { expected }) }
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
mod tests {
    use super::*;
    use crate::offered_load;
    use proptest::prelude::*;

    const CAPACITY: Capacity = Capacity {
        host: Rate::from_gbps(100),
        fabric: Some(Rate::from_gbps(1600)),
        wan: Some(Rate::from_gbps(800)),
        hosts_per_rack: 4,
        payload: Bytes::new(4096),
        header: Bytes::new(64),
    };

    fn sites() -> Sites {
        Sites::new(vec![0..16, 16..32]).unwrap()
    }

    fn mixed(load: f64, reference: LoadReference, intra: f64, inter: f64, unit: MixUnit) -> Load {
        Load::Mixed { load, reference, mix: Mix { intra, inter, unit } }
    }

    fn config(load: Load, flows: u32) -> Poisson {
        Poisson {
            part: 0,
            receivers: Vec::new(),
            intra: SizeDistribution::built_in("alistorage").unwrap(),
            inter: SizeDistribution::built_in("websearch").unwrap(),
            load,
            load_unit: LoadUnit::Payload,
            arrivals: Arrivals::Flows(flows),
            start: Time::ZERO,
            warmup: Time::ZERO,
            tail: Duration::ZERO,
            start_granularity: Duration::ZERO,
        }
    }

    fn paper(flows: u32) -> Poisson {
        config(mixed(0.4, LoadReference::Host, 4.0, 1.0, MixUnit::Flows), flows)
    }

    fn draw(config: &Poisson, seed: u64) -> Vec<Flow> {
        poisson(config, &sites(), &CAPACITY, seed).unwrap()
    }

    #[test]
    fn listed_receivers_share_the_load_and_no_one_else_gets_any() {
        let mut config = config(mixed(0.5, LoadReference::Receivers, 1.0, 0.0, MixUnit::Flows), 40_000);
        config.receivers = [19, 16, 17, 16].map(HostId).to_vec();
        config.intra = SizeDistribution::built_in("google-rpc").unwrap();
        let flows = draw(&config, 1);
        assert!(flows.iter().all(|f| is_intra(f) && f.src != f.dst));
        let senders: std::collections::BTreeSet<u32> = flows.iter().map(|f| f.src.0).collect();
        assert_eq!((senders.len(), senders.first(), senders.last()), (16, Some(&16), Some(&31)));
        let share = |to: u32| flows.iter().filter(|f| f.dst.0 == to).count() as f64 / flows.len() as f64;
        for to in [16, 17, 19] {
            assert!((share(to) - 1.0 / 3.0).abs() < 0.01, "{to} gets {}", share(to));
        }
        let span = flows.last().unwrap().start.since(flows[0].start).as_secs_f64();
        let offered = flows.iter().map(|f| f.size.as_f64()).sum::<f64>() / span;
        let load = offered / (3.0 * CAPACITY.host.bytes_per_sec_f64());
        assert!((load / 0.5 - 1.0).abs() < three_sigma(&config.intra, 40_000.0), "{load}");
    }

    #[test]
    fn receivers_that_nobody_reaches_are_refused() {
        let mut config = config(mixed(0.5, LoadReference::Receivers, 0.0, 1.0, MixUnit::Flows), 10);
        config.receivers = vec![HostId(32)];
        let error = |config: &Poisson| poisson(config, &sites(), &CAPACITY, 1).unwrap_err().to_string();
        assert!(error(&config).contains("numbered 0 to 31"));
        config.receivers = vec![HostId(20)];
        assert!(draw(&config, 1).iter().all(|f| f.src.0 < 16 && f.dst.0 == 20));
        let one = Sites::new(vec![0..2, 2..3]).unwrap();
        config.load = mixed(0.5, LoadReference::Receivers, 1.0, 0.0, MixUnit::Flows);
        config.receivers = vec![HostId(2)];
        assert!(poisson(&config, &one, &CAPACITY, 1).is_err());
    }

    fn is_intra(flow: &Flow) -> bool {
        let sites = sites();
        sites.site_of(flow.src) == sites.site_of(flow.dst)
    }

    /// Three standard deviations of the offered load of n flows, relative to it: sizes and arrival times both vary.
    fn three_sigma(sizes: &SizeDistribution, n: f64) -> f64 {
        let relative = sizes.standard_deviation() / sizes.mean();
        3.0 * ((1.0 + relative * relative) / n).sqrt()
    }

    #[test]
    fn flows_are_the_earliest_over_all_sources_in_order() {
        let (few, many) = (draw(&paper(500), 3), draw(&paper(2000), 3));
        assert_eq!((few.len(), many.len()), (500, 2000));
        assert!(many.is_sorted_by_key(|f| f.start));
        assert_eq!(few[..], many[..500]);
    }

    #[test]
    fn a_source_s_flows_do_not_depend_on_other_sources() {
        let small = Sites::new(vec![0..16, 16..24]).unwrap();
        let mut config = paper(4000);
        // With equal mean sizes and a load on host NICs, a host's rate is the same beside any number of others.
        config.load = mixed(0.4, LoadReference::Host, 1.0, 0.0, MixUnit::Flows);
        let of_host_5 =
            |flows: Vec<Flow>| flows.into_iter().filter(|f| f.src.0 == 5).take(50).collect::<Vec<_>>();
        let (a, b) = (draw(&config, 3), poisson(&config, &small, &CAPACITY, 3).unwrap());
        assert_eq!(of_host_5(a.clone()).len(), 50);
        assert_eq!(of_host_5(a), of_host_5(b));
    }

    #[test]
    fn seeds_and_parts_differ() {
        let mut other = paper(100);
        other.part = 1;
        let starts = |flows: Vec<Flow>| flows.into_iter().map(|f| f.start).collect::<Vec<_>>();
        assert_eq!(starts(draw(&paper(100), 1)), starts(draw(&paper(100), 1)));
        assert_ne!(starts(draw(&paper(100), 1)), starts(draw(&paper(100), 2)));
        assert_ne!(starts(draw(&paper(100), 1)), starts(draw(&other, 1)));
    }

    #[test]
    fn gaps_are_exponential_with_the_rate_of_the_load() {
        let n = 100_000;
        let flows = draw(&paper(n), 8);
        let p = 0.8;
        let mean = p * SizeDistribution::built_in("alistorage").unwrap().mean()
            + (1.0 - p) * SizeDistribution::built_in("websearch").unwrap().mean();
        let rate = 32.0 * 0.4 * 100e9 / 8.0 / mean;
        let span = flows.last().unwrap().start.as_secs_f64();
        let n = f64::from(n);
        assert!((n / span / rate - 1.0).abs() < 3.0 / n.sqrt(), "{} for {rate}", n / span);
        // The merged stream is Poisson too: a share exp(-1) of its gaps is longer than the mean gap.
        let longer =
            flows.windows(2).filter(|w| w[1].start.since(w[0].start).as_secs_f64() > 1.0 / rate).count();
        let expected = (-1.0_f64).exp();
        let sigma = (expected * (1.0 - expected) / n).sqrt();
        assert!((longer as f64 / n - expected).abs() < 3.0 * sigma + 1e-3, "{longer}");
    }

    #[test]
    fn a_mix_of_flows_is_a_ratio_of_numbers() {
        let n = 50_000;
        let intra = draw(&paper(n), 2).iter().filter(|f| is_intra(f)).count() as f64;
        let sigma = (f64::from(n) * 0.8 * 0.2).sqrt();
        assert!((intra - 0.8 * f64::from(n)).abs() < 3.0 * sigma, "{intra}");
    }

    #[test]
    fn a_mix_of_bytes_is_a_ratio_of_payload() {
        let config = config(mixed(0.4, LoadReference::Host, 4.0, 1.0, MixUnit::Bytes), 400_000);
        let flows = draw(&config, 4);
        let bytes =
            |keep: bool| flows.iter().filter(|f| is_intra(f) == keep).map(|f| f.size.as_f64()).sum::<f64>();
        let (inter_flows, ratio) =
            (flows.iter().filter(|f| !is_intra(f)).count(), bytes(true) / bytes(false));
        let tolerance = three_sigma(&config.inter, inter_flows as f64)
            + three_sigma(&config.intra, (flows.len() - inter_flows) as f64);
        assert!((ratio / 4.0 - 1.0).abs() < tolerance, "{ratio} +- {tolerance}");
    }

    #[test]
    fn the_load_on_each_reference_is_achieved_within_3_sigma() {
        for reference in [LoadReference::Host, LoadReference::Wan, LoadReference::Bisection] {
            let config = config(mixed(0.5, reference, 4.0, 1.0, MixUnit::Flows), 200_000);
            let flows = draw(&config, 6);
            let offered = offered_load(&flows, &sites(), &CAPACITY, |flow| flow.size);
            let inter = flows.iter().filter(|f| !is_intra(f)).count() as f64;
            let (loads, n) = match reference {
                LoadReference::Host => (vec![offered.host], inter),
                LoadReference::Bisection => (vec![offered.fabric], inter),
                LoadReference::Wan => (offered.wan.iter().map(|d| d.load).collect(), inter / 2.0),
                LoadReference::Receivers => unreachable!("receivers have a test of their own"),
            };
            let tolerance = three_sigma(&config.inter, n);
            for load in loads {
                let load = load.unwrap();
                assert!((load / 0.5 - 1.0).abs() < tolerance, "{reference:?}: {load} +- {tolerance}");
            }
        }
    }

    #[test]
    fn traffic_within_a_rack_does_not_count_to_the_load_on_the_bisection() {
        let config = config(mixed(0.5, LoadReference::Bisection, 1.0, 0.0, MixUnit::Flows), 200_000);
        let flows = draw(&config, 6);
        let fabric = offered_load(&flows, &sites(), &CAPACITY, |flow| flow.size).fabric.unwrap();
        // A partner is one of 15 hosts, 12 of them in other racks: counting all would give 0.4.
        assert!((fabric / 0.5 - 1.0).abs() < three_sigma(&config.intra, 0.8 * 200_000.0), "{fabric}");
    }

    #[test]
    fn separate_loads_are_achieved_on_hosts_and_on_each_wan_direction() {
        let sites = Sites::new(vec![0..8, 8..32]).unwrap();
        let config = config(Load::Separate { intra: 0.3, inter: 0.6 }, 400_000);
        let flows = poisson(&config, &sites, &CAPACITY, 7).unwrap();
        let home = |f: &Flow| sites.site_of(f.src) == sites.site_of(f.dst);
        let (intra, inter): (Vec<Flow>, Vec<Flow>) = flows.iter().partition(|f| home(f));
        let host = offered_load(&intra, &sites, &CAPACITY, |flow| flow.size).host.unwrap();
        assert!((host / 0.3 - 1.0).abs() < three_sigma(&config.intra, intra.len() as f64), "{host}");
        for direction in offered_load(&inter, &sites, &CAPACITY, |flow| flow.size).wan {
            let load = direction.load.unwrap();
            assert!(
                (load / 0.6 - 1.0).abs() < three_sigma(&config.inter, inter.len() as f64 / 2.0),
                "{load}"
            );
        }
    }

    #[test]
    fn among_three_sites_the_busiest_direction_out_of_each_carries_the_load() {
        let sites = Sites::new(vec![0..4, 4..8, 8..20]).unwrap();
        let config = config(Load::Separate { intra: 0.0, inter: 0.6 }, 400_000);
        let offered =
            offered_load(&poisson(&config, &sites, &CAPACITY, 7).unwrap(), &sites, &CAPACITY, |flow| {
                flow.size
            });
        let load = |from, to| {
            offered.wan.iter().find(|d| (d.from, d.to) == (from, to)).and_then(|d| d.load).unwrap()
        };
        for (from, to, expected) in [(0, 2, 0.6), (1, 2, 0.6), (0, 1, 0.2), (2, 0, 0.6), (2, 1, 0.6)] {
            let tolerance = three_sigma(&config.inter, 40_000.0);
            assert!(
                (load(from, to) / expected - 1.0).abs() < tolerance,
                "{from} to {to}: {}",
                load(from, to)
            );
        }
    }

    #[test]
    fn the_published_burst_lasts_less_than_one_round_trip_and_offers_the_wan_six_times_its_capacity() {
        // Uno, figure 10 at 40%: 5,000 flows start within 1.46 ms; the WAN is offered about 5.8 times its capacity.
        let sites = Sites::new(vec![0..128, 128..256]).unwrap();
        let flows = poisson(&paper(5000), &sites, &CAPACITY, 1).unwrap();
        let span = flows.last().unwrap().start.as_secs_f64();
        assert!((span / 1.46e-3 - 1.0).abs() < 3.0 / 5000.0_f64.sqrt(), "{span}");
        let offered = offered_load(&flows, &sites, &CAPACITY, |flow| flow.size);
        assert!(offered.transient());
        assert!(offered.wan.iter().all(|d| (4.5..7.2).contains(&d.load.unwrap())), "{:?}", offered.wan);
    }

    #[test]
    fn a_load_on_the_wire_counts_headers() {
        let mut config = paper(1000);
        config.load = mixed(0.4, LoadReference::Host, 1.0, 0.0, MixUnit::Flows);
        config.intra = SizeDistribution::constant(Bytes::new(8192));
        let span = |config: &Poisson| draw(config, 1).last().unwrap().start.as_secs_f64();
        let payload = span(&config);
        config.load_unit = LoadUnit::Wire;
        assert!((span(&config) / payload - 8320.0 / 8192.0).abs() < 1e-6);
    }

    #[test]
    fn destinations_are_uniform_over_the_chosen_site_and_never_the_source() {
        let mut config = paper(60_000);
        config.load = mixed(0.4, LoadReference::Host, 1.0, 1.0, MixUnit::Flows);
        let flows = draw(&config, 9);
        assert!(flows.iter().all(|f| f.src != f.dst));
        for intra in [true, false] {
            let from_3: Vec<u32> =
                flows.iter().filter(|f| f.src.0 == 3 && is_intra(f) == intra).map(|f| f.dst.0).collect();
            let choices: Vec<u32> =
                if intra { (0..16).filter(|h| *h != 3).collect() } else { (16..32).collect() };
            let expected = from_3.len() as f64 / choices.len() as f64;
            let chi2: f64 = choices
                .iter()
                .map(|h| from_3.iter().filter(|d| *d == h).count() as f64)
                .map(|count| (count - expected).powi(2) / expected)
                .sum();
            assert!(
                expected > 30.0 && chi2 < 37.7,
                "chi-squared {chi2} with 14 or 15 degrees of freedom: p < 0.1%"
            );
        }
    }

    #[test]
    fn with_a_single_site_everything_is_intra() {
        let one = Sites::new(std::iter::once(0..16).collect()).unwrap();
        let flows = poisson(&paper(1000), &one, &CAPACITY, 1).unwrap();
        assert!(
            flows.iter().all(
                |f| f.dst.0 < 16 && f.size <= SizeDistribution::built_in("alistorage").unwrap().largest()
            )
        );
    }

    #[test]
    fn warm_up_and_tail_surround_the_measured_flows() {
        let mut config = paper(1000);
        config.warmup = Time::ZERO + Duration::from_us(300);
        config.tail = Duration::from_us(200);
        let flows = draw(&config, 5);
        let measured: Vec<&Flow> = flows.iter().filter(|f| f.measured).collect();
        assert_eq!(measured.len(), 1000);
        let (first, last) = (measured[0].start, measured[999].start);
        assert!(first >= config.warmup && flows.iter().any(|f| f.start < config.warmup));
        assert!(flows.iter().filter(|f| (first..=last).contains(&f.start)).all(|f| f.measured));
        let end = flows.last().unwrap().start;
        assert!(end > last && end.since(last) < config.tail);
        config.warmup = Time::ZERO;
        config.tail = Duration::ZERO;
        assert_eq!(
            flows[..200].iter().map(|f| f.start).collect::<Vec<_>>(),
            draw(&config, 5)[..200].iter().map(|f| f.start).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_duration_measures_all_that_starts_within_it() {
        let mut config = paper(1);
        config.arrivals = Arrivals::For(Duration::from_us(500));
        config.warmup = Time::ZERO + Duration::from_us(100);
        config.tail = Duration::from_us(50);
        let flows = draw(&config, 5);
        let window = config.warmup..config.warmup + Duration::from_us(500);
        assert!(flows.iter().all(|f| f.measured == window.contains(&f.start)));
        assert!(flows.iter().any(|f| f.start >= window.end) && flows.iter().any(|f| f.start < window.start));
        assert!(flows.iter().all(|f| f.start < window.end + Duration::from_us(50)));
    }

    #[test]
    fn starts_are_cut_to_their_granularity_without_changing_order_or_count() {
        let mut config = paper(1000);
        let exact = draw(&config, 5);
        config.start_granularity = Duration::from_us(1);
        let coarse = draw(&config, 5);
        for (a, b) in exact.iter().zip(&coarse) {
            assert_eq!((a.src, a.dst, a.size), (b.src, b.dst, b.size));
            assert_eq!(b.start.as_ps(), a.start.as_ps() / 1_000_000 * 1_000_000);
        }
    }

    #[test]
    fn bad_settings_say_what_is_wrong() {
        let host = |load| mixed(load, LoadReference::Host, 4.0, 1.0, MixUnit::Flows);
        let mix = |a, b| mixed(0.4, LoadReference::Host, a, b, MixUnit::Flows);
        let one = Sites::new(std::iter::once(0..16).collect()).unwrap();
        let lone = Sites::new(vec![0..16, 16..17]).unwrap();
        let wan = mixed(0.4, LoadReference::Wan, 4.0, 1.0, MixUnit::Flows);
        let cases = [
            (sites(), host(0.0), "load is 0; a load is a share of capacity above 0, such as 0.4"),
            (sites(), host(-1.0), "load is -1; a load"),
            (sites(), host(40.0), "load is 40; a load"),
            (sites(), host(f64::NAN), "load is NaN"),
            (sites(), mix(0.0, 0.0), "mix is 0 : 0; give two numbers"),
            (sites(), mix(-4.0, 1.0), "mix is -4 : 1"),
            (sites(), Load::Separate { intra: 0.0, inter: 0.0 }, "intra_load is 0"),
            (sites(), Load::Separate { intra: 0.4, inter: -0.1 }, "inter_load is -0.1"),
            (
                one.clone(),
                Load::Separate { intra: 0.4, inter: 0.1 },
                "inter_load refers to the WAN, which this topology",
            ),
            (one, wan, "load refers to the WAN"),
            (lone, host(0.4), "site 1 has a single host"),
            (sites(), mixed(0.4, LoadReference::Wan, 1.0, 0.0, MixUnit::Flows), "the mix has no inter flows"),
        ];
        for (sites, load, message) in cases {
            let error = poisson(&config(load, 10), &sites, &CAPACITY, 1).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn no_flows_too_many_flows_and_too_late_flows_are_refused() {
        let with = |change: fn(&mut Poisson)| {
            let mut config = paper(10);
            change(&mut config);
            poisson(&config, &sites(), &CAPACITY, 1).unwrap_err().to_string()
        };
        assert!(with(|c| c.arrivals = Arrivals::Flows(0)).starts_with("flows is 0"));
        assert!(with(|c| c.arrivals = Arrivals::For(Duration::ZERO)).starts_with("duration is 0"));
        assert!(
            with(|c| c.arrivals = Arrivals::For(Duration::from_ms(10_000_000)))
                .contains("flow ids end at 4294967295")
        );
        let rare = mixed(1e-15, LoadReference::Host, 4.0, 1.0, MixUnit::Flows);
        let error = poisson(&config(rare, 10), &sites(), &CAPACITY, 1).unwrap_err();
        assert_eq!(error, PoissonError::TooLate);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn every_flow_is_possible_whatever_the_sites(
            a in 2_u32..10, b in 2_u32..10, load in 0.05..2.0_f64, seed in any::<u64>(), bytes in any::<bool>(),
        ) {
            let sites = Sites::new(vec![0..a, a..a + b]).unwrap();
            let unit = if bytes { MixUnit::Bytes } else { MixUnit::Flows };
            let config = config(mixed(load, LoadReference::Wan, 1.0, 2.0, unit), 200);
            let flows = poisson(&config, &sites, &CAPACITY, seed).unwrap();
            prop_assert_eq!(flows.len(), 200);
            prop_assert!(flows.iter().all(|f| f.src != f.dst && f.src.0 < a + b && f.dst.0 < a + b && f.size.get() > 0));
        }
    }
}
