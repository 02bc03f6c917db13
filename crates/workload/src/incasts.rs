//! Incasts whose hosts are drawn: one, or many that come as a Poisson process.
//!
//! Arrival times are one counter-based stream of (seed, part), the hosts of each incast another of (seed, part, incast), so
//! that neither depends on how many incasts there are, nor on other parts.

use crate::{Capacity, Flow, Sites};
use farspan_units::{Bytes, Duration, HostId, Purpose, Random, Time};

/// Incasts whose hosts are drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct DrawnIncasts {
    /// Position of the part in the workload: keeps the draws of several parts apart.
    pub part: u32,
    /// Senders of each incast: distinct hosts other than the receiver, each with one flow.
    pub degree: u32,
    /// Who receives; none: drawn for each incast from all hosts.
    pub receiver: Option<HostId>,
    /// Payload of each flow.
    pub flow_size: Bytes,
    /// When the first incast starts, or the process begins.
    pub start: Time,
    /// How they come.
    pub arrivals: IncastArrivals,
}

/// How incasts come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum IncastArrivals {
    /// One, at the start.
    Once,
    /// With exponential gaps.
    Poisson {
        /// Payload offered over the capacity of all host NICs.
        load: f64,
        /// How long they come.
        duration: Duration,
    },
}

/// Why there are no such incasts.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IncastsError {
    /// A flow of no bytes.
    #[error("flow_size is 0 B; give at least 1 B")]
    ZeroSize,
    /// Not so many senders.
    #[error("{degree} senders, but there are {others} other hosts; give 1 to {others}")]
    Degree {
        /// The senders asked for.
        degree: u32,
        /// The hosts beside the receiver.
        others: u32,
    },
    /// A receiver that does not exist.
    #[error("host {host} does not exist; hosts are numbered 0 to {last}: give one of them")]
    NoSuchHost {
        /// The host asked for.
        host: HostId,
        /// The last host.
        last: u32,
    },
    /// Not a load.
    #[error(
        "load is {load}; a load is a share of capacity above 0, such as 0.2 for 20% (at most {MAX_LOAD})"
    )]
    Load {
        /// The load.
        load: f64,
    },
    /// No time to come.
    #[error("duration is 0; give a time, such as \"2ms\"")]
    NoTime,
    /// More flows than flow ids.
    #[error("about {expected:.0} flows, but flow ids end at {limit}: shorten the duration or lower the load", limit = u32::MAX)]
    TooMany {
        /// The expected number.
        expected: f64,
    },
}

/// Above this a load is surely a percentage.
const MAX_LOAD: f64 = 10.0;

impl DrawnIncasts {
    /// Expected flows.
    ///
    /// # Errors
    /// If degree, size, load or duration make no sense on these hosts.
    pub fn expected_flows(&self, sites: &Sites, capacity: &Capacity) -> Result<f64, IncastsError> {
        self.check(sites)?;
        let expected = match self.arrivals {
            IncastArrivals::Once => f64::from(self.degree),
            IncastArrivals::Poisson { load, duration } => {
                let full = capacity.host.bytes_per_sec_f64() * f64::from(sites.hosts());
                load * full * duration.as_secs_f64() / self.flow_size.as_f64()
            }
        };
        if expected > f64::from(u32::MAX) { Err(IncastsError::TooMany { expected }) } else { Ok(expected) }
    }

    fn check(&self, sites: &Sites) -> Result<(), IncastsError> {
        let others = sites.hosts().saturating_sub(1);
        if self.flow_size.is_zero() {
            return Err(IncastsError::ZeroSize);
        }
        if self.degree == 0 || self.degree > others {
            return Err(IncastsError::Degree { degree: self.degree, others });
        }
        match (self.receiver, self.arrivals) {
            (Some(host), _) if host.0 >= sites.hosts() => {
                Err(IncastsError::NoSuchHost { host, last: others })
            }
            (_, IncastArrivals::Poisson { load, .. }) if !(load > 0.0 && load <= MAX_LOAD) => {
                Err(IncastsError::Load { load })
            }
            (_, IncastArrivals::Poisson { duration, .. }) if duration.is_zero() => Err(IncastsError::NoTime),
            _ => Ok(()),
        }
    }

    /// The incast that starts at `start`, of so many before it.
    fn draw(&self, hosts: u32, start: Time, number: u32, seed: u64) -> impl Iterator<Item = Flow> {
        let entity = u64::from(self.part) << 32 | u64::from(number);
        let mut random = Random::new(seed, Purpose::Destination, entity);
        let drawn = random.below(u64::from(hosts)) as u32;
        let dst = self.receiver.unwrap_or(HostId(drawn));
        let mut others: Vec<u32> = (0..hosts).filter(|host| *host != dst.0).collect();
        for i in 0..self.degree as usize {
            let left = (others.len() - i) as u64;
            others.swap(i, i + random.below(left) as usize);
        }
        others.truncate(self.degree as usize);
        let (size, part) = (self.flow_size, self.part);
        let flow = move |src| Flow { src: HostId(src), dst, size, start, part, tag: 0, measured: true };
        others.into_iter().map(flow)
    }
}

/// Draws the flows of incasts, one after the other.
///
/// # Errors
/// If degree, size, load or duration make no sense on these hosts.
pub fn drawn_incasts(
    config: &DrawnIncasts,
    sites: &Sites,
    capacity: &Capacity,
    seed: u64,
) -> Result<Vec<Flow>, IncastsError> {
    let expected = config.expected_flows(sites, capacity)?;
    let hosts = sites.hosts();
    let IncastArrivals::Poisson { duration, .. } = config.arrivals else {
        return Ok(config.draw(hosts, config.start, 0, seed).collect());
    };
    let gap = duration.as_secs_f64() * f64::from(config.degree) / expected;
    let mut arrivals = Random::new(seed, Purpose::Arrival, u64::from(config.part) << 32);
    let end = config.start.saturating_add(duration);
    let (mut flows, mut now) = (Vec::new(), config.start);
    for number in 0..u32::MAX {
        now = now.saturating_add(Duration::from_secs_f64(arrivals.exponential() * gap));
        if now >= end {
            break;
        }
        flows.extend(config.draw(hosts, now, number, seed));
    }
    Ok(flows)
}

/// Delays the start of each flow by a time of its own, uniform from nothing up to `spread`.
pub fn spread(flows: &mut [Flow], spread: Duration, part: u32, seed: u64) {
    let mut random = Random::new(seed, Purpose::Pattern, u64::from(part));
    for flow in flows.iter_mut().filter(|_| !spread.is_zero()) {
        flow.start = flow.start.saturating_add(spread.mul_f64(random.uniform()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::Rate;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sites(hosts: u32) -> Sites {
        Sites::new(std::iter::once(0..hosts).collect()).unwrap()
    }

    fn capacity(hosts: u32) -> Capacity {
        Capacity {
            host: Rate::from_gbps(8),
            fabric: None,
            wan: Vec::new(),
            racks: vec![0; hosts as usize],
            payload: Bytes::new(1000),
            header: Bytes::new(54),
        }
    }

    fn config(degree: u32, load: f64) -> DrawnIncasts {
        DrawnIncasts {
            part: 1,
            degree,
            receiver: None,
            flow_size: Bytes::new(100_000),
            start: Time::from_ps(7),
            arrivals: IncastArrivals::Poisson { load, duration: Duration::from_ms(100) },
        }
    }

    fn draw(config: &DrawnIncasts, hosts: u32, seed: u64) -> Vec<Flow> {
        drawn_incasts(config, &sites(hosts), &capacity(hosts), seed).unwrap()
    }

    #[test]
    fn so_many_come_as_the_load_says() {
        // 64 hosts of 1 GB/s: in 100 ms a fifth of that is 1.28 GB, 12,800 flows.
        let flows = draw(&config(32, 0.2), 64, 1);
        let ratio = flows.len() as f64 / 12_800.0;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
        assert_eq!(config(32, 0.2).expected_flows(&sites(64), &capacity(64)).unwrap().round(), 12_800.0);
        let last = flows.last().unwrap().start;
        assert!(last < Time::from_ps(7) + Duration::from_ms(100));
    }

    #[test]
    fn gaps_are_as_scattered_as_they_are_long() {
        let flows = draw(&config(4, 1.0), 64, 3);
        let starts: Vec<f64> = flows.chunks(4).map(|incast| incast[0].start.as_ps() as f64).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let ratio = variance.sqrt() / mean;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_first_incasts_do_not_depend_on_how_long_they_come() {
        let short = DrawnIncasts {
            arrivals: IncastArrivals::Poisson { load: 0.2, duration: Duration::from_ms(10) },
            ..config(8, 0.2)
        };
        let (short, long) = (draw(&short, 32, 5), draw(&config(8, 0.2), 32, 5));
        assert!(!short.is_empty() && short.len() < long.len());
        assert_eq!(short, long[..short.len()]);
    }

    #[test]
    fn one_incast_goes_to_the_receiver_that_is_given() {
        let once =
            DrawnIncasts { receiver: Some(HostId(3)), arrivals: IncastArrivals::Once, ..config(15, 0.0) };
        let flows = draw(&once, 16, 1);
        assert!(flows.iter().all(|flow| flow.dst == HostId(3) && flow.start == Time::from_ps(7)));
        let senders: BTreeSet<u32> = flows.iter().map(|flow| flow.src.0).collect();
        assert_eq!(senders, (0..16).filter(|host| *host != 3).collect());
    }

    #[test]
    fn a_spread_delays_each_start_and_keeps_the_rest() {
        let before = draw(&config(8, 0.2), 32, 5);
        let mut after = before.clone();
        spread(&mut after, Duration::from_us(12), 1, 5);
        let delays: Vec<f64> =
            before.iter().zip(&after).map(|(a, b)| b.start.since(a.start).as_us_f64()).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!(delays.iter().all(|delay| *delay < 12.0) && (5.0..7.0).contains(&mean), "{mean}");
        let mut same = before.clone();
        spread(&mut same, Duration::ZERO, 1, 5);
        assert_eq!(same, before);
    }

    #[test]
    fn bad_incasts_say_what_is_wrong() {
        let message = |config: &DrawnIncasts| {
            drawn_incasts(config, &sites(16), &capacity(16), 1).unwrap_err().to_string()
        };
        assert!(message(&config(16, 0.2)).contains("16 senders, but there are 15 other hosts"));
        assert!(message(&config(0, 0.2)).contains("give 1 to 15"));
        assert!(message(&config(8, 0.0)).contains("load is 0"));
        assert!(message(&config(8, 20.0)).contains("0.2 for 20%"));
        assert!(message(&config(8, f64::NAN)).contains("load is NaN"));
        let size = DrawnIncasts { flow_size: Bytes::ZERO, ..config(8, 0.2) };
        assert!(message(&size).contains("flow_size is 0 B"));
        let nobody = DrawnIncasts { receiver: Some(HostId(16)), ..config(8, 0.2) };
        assert!(message(&nobody).contains("host 16 does not exist"));
        let arrivals = IncastArrivals::Poisson { load: 0.2, duration: Duration::ZERO };
        assert!(message(&DrawnIncasts { arrivals, ..config(8, 0.2) }).contains("duration is 0"));
        let arrivals = IncastArrivals::Poisson { load: 1.0, duration: Duration::from_ms(100_000_000) };
        assert!(message(&DrawnIncasts { arrivals, ..config(8, 0.2) }).contains("flow ids end"));
    }

    proptest! {
        #[test]
        fn an_incast_has_so_many_distinct_senders_and_one_receiver(
            hosts in 2_u32..80, share in 0.0..1.0_f64, seed in any::<u64>(),
        ) {
            let degree = 1 + (share * f64::from(hosts - 1)) as u32;
            let config = DrawnIncasts {
                arrivals: IncastArrivals::Poisson { load: 1.0, duration: Duration::from_ms(1) },
                ..config(degree, 0.0)
            };
            for incast in draw(&config, hosts, seed).chunks(degree as usize) {
                let senders: BTreeSet<u32> = incast.iter().map(|flow| flow.src.0).collect();
                prop_assert_eq!((senders.len(), incast.len()), (degree as usize, degree as usize));
                let dst = incast[0].dst;
                prop_assert!(!senders.contains(&dst.0) && dst.0 < hosts);
                prop_assert!(senders.iter().all(|src| *src < hosts));
                prop_assert!(incast.iter().all(|flow| flow.dst == dst && flow.start == incast[0].start));
            }
        }
    }
}
