//! Patterns without arrivals: incast, permutation.

use crate::{Flow, Sites};
use farspan_units::{Bytes, Duration, HostId, Purpose, Random, Time};
use std::ops::Range;

/// Why a pattern cannot be laid over the hosts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A flow of no bytes.
    #[error("flow_size is 0 B; give at least 1 B")]
    ZeroSize,
    /// A host that does not exist.
    #[error("host {host} does not exist; hosts are numbered 0 to {last}: give one of them")]
    NoSuchHost {
        /// The host asked for.
        host: HostId,
        /// The last host.
        last: u32,
    },
    /// A host would send to itself.
    #[error("host {host} would send to itself; list another host")]
    ToItself {
        /// The host.
        host: HostId,
    },
    /// Too few hosts.
    #[error("{pattern} has {hosts} hosts; give at least {needed}")]
    TooFewHosts {
        /// Name of the pattern.
        pattern: &'static str,
        /// Hosts given.
        hosts: usize,
        /// Hosts needed.
        needed: usize,
    },
}

fn check(hosts: &[HostId], sites: &Sites, size: Bytes) -> Result<(), PatternError> {
    if size.is_zero() {
        return Err(PatternError::ZeroSize);
    }
    match hosts.iter().find(|h| h.0 >= sites.hosts()) {
        Some(host) => Err(PatternError::NoSuchHost { host: *host, last: sites.hosts() - 1 }),
        None => Ok(()),
    }
}

fn flow(src: HostId, dst: HostId, size: Bytes, start: Time) -> Flow {
    Flow { src, dst, size, start, part: 0, tag: 0, measured: true }
}

/// Every sender sends one flow to the receiver at `start`. A sender listed twice sends twice.
///
/// # Errors
/// If a host does not exist, the receiver is among the senders, there is no sender or the size is zero.
pub fn incast(
    sites: &Sites,
    receiver: HostId,
    senders: &[HostId],
    flow_size: Bytes,
    start: Time,
) -> Result<Vec<Flow>, PatternError> {
    check(&[receiver], sites, flow_size)?;
    check(senders, sites, flow_size)?;
    if senders.is_empty() {
        return Err(PatternError::TooFewHosts { pattern: "incast", hosts: 0, needed: 1 });
    }
    if senders.contains(&receiver) {
        return Err(PatternError::ToItself { host: receiver });
    }
    Ok(senders.iter().map(|src| flow(*src, receiver, flow_size, start)).collect())
}

/// The first host of every pair sends one flow to the second: the first pair at `start`, each other `gap` after the one before.
///
/// # Errors
/// If a host does not exist, a pair has only one host, there is no pair or the size is zero.
pub fn pairs(
    sites: &Sites,
    pairs: &[[HostId; 2]],
    flow_size: Bytes,
    start: Time,
    gap: Duration,
) -> Result<Vec<Flow>, PatternError> {
    check(pairs.as_flattened(), sites, flow_size)?;
    if pairs.is_empty() {
        return Err(PatternError::TooFewHosts { pattern: "pairs", hosts: 0, needed: 2 });
    }
    if let Some([host, _]) = pairs.iter().find(|[src, dst]| src == dst) {
        return Err(PatternError::ToItself { host: *host });
    }
    let starts = (0..).map(|before| start + gap * before);
    Ok(pairs.iter().zip(starts).map(|([src, dst], start)| flow(*src, *dst, flow_size, start)).collect())
}

/// Every host sends one flow and receives one, never to itself: a permutation without fixed points, uniform over all
/// of them by rejection (a shuffle is one with probability 1/e). `part` keeps several permutations of one seed apart.
///
/// # Errors
/// If there are fewer than two hosts or the size is zero.
pub fn permutation(
    sites: &Sites,
    flow_size: Bytes,
    start: Time,
    part: u32,
    seed: u64,
) -> Result<Vec<Flow>, PatternError> {
    check(&[], sites, flow_size)?;
    let mut random = Random::new(seed, Purpose::Pattern, u64::from(part));
    permuted(0..sites.hosts(), flow_size, start, &mut random)
}

/// As [`permutation`], but one inside each site.
///
/// # Errors
/// If a site has fewer than two hosts or the size is zero.
pub fn site_permutations(
    sites: &Sites,
    flow_size: Bytes,
    start: Time,
    part: u32,
    seed: u64,
) -> Result<Vec<Flow>, PatternError> {
    check(&[], sites, flow_size)?;
    let mut random = Random::new(seed, Purpose::Pattern, u64::from(part));
    let flows = (0..sites.count()).map(|site| permuted(sites.range(site), flow_size, start, &mut random));
    Ok(flows.collect::<Result<Vec<_>, _>>()?.concat())
}

fn permuted(
    hosts: Range<u32>,
    flow_size: Bytes,
    start: Time,
    random: &mut Random,
) -> Result<Vec<Flow>, PatternError> {
    if hosts.len() < 2 {
        return Err(PatternError::TooFewHosts { pattern: "permutation", hosts: hosts.len(), needed: 2 });
    }
    let hosts: Vec<HostId> = hosts.map(HostId).collect();
    let mut to = hosts.clone();
    while hosts.iter().zip(&to).any(|(src, dst)| src == dst) {
        random.shuffle(&mut to);
    }
    Ok(hosts.into_iter().zip(to).map(|(src, dst)| flow(src, dst, flow_size, start)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Bytes = Bytes::new(1000);

    fn sites(hosts: u32) -> Sites {
        Sites::new(std::iter::once(0..hosts).collect()).unwrap()
    }

    #[test]
    fn an_incast_has_one_flow_per_sender_to_the_receiver() {
        let start = Time::from_ps(7);
        let flows = incast(&sites(16), HostId(9), &[HostId(1), HostId(2)], SIZE, start).unwrap();
        assert_eq!(flows.iter().map(|f| (f.src.0, f.dst.0)).collect::<Vec<_>>(), [(1, 9), (2, 9)]);
        assert!(flows.iter().all(|f| f.size == SIZE && f.start == start && f.measured));
    }

    #[test]
    fn pairs_have_one_flow_each_in_their_order() {
        let (start, gap) = (Time::from_ps(7), Duration::from_ps(3));
        let hosts = [[5, 1], [0, 9], [5, 2]].map(|pair| pair.map(HostId));
        let flows = pairs(&sites(16), &hosts, SIZE, start, gap).unwrap();
        assert_eq!(flows.iter().map(|f| (f.src.0, f.dst.0)).collect::<Vec<_>>(), [(5, 1), (0, 9), (5, 2)]);
        assert_eq!(flows.iter().map(|f| f.start.as_ps()).collect::<Vec<_>>(), [7, 10, 13]);
        assert!(flows.iter().all(|f| f.size == SIZE && f.measured));
        let message = |hosts: &[[u32; 2]]| {
            let hosts: Vec<_> = hosts.iter().map(|pair| pair.map(HostId)).collect();
            pairs(&sites(16), &hosts, SIZE, start, gap).unwrap_err().to_string()
        };
        assert!(message(&[]).contains("pairs has 0 hosts"));
        assert!(message(&[[0, 1], [2, 16]]).contains("host 16 does not exist"));
        assert!(message(&[[0, 1], [2, 2]]).contains("host 2 would send to itself"));
    }

    #[test]
    fn bad_patterns_say_what_is_wrong() {
        let (s, t) = (sites(16), Time::ZERO);
        let message = |r: Result<Vec<Flow>, PatternError>| r.unwrap_err().to_string();
        assert!(
            message(incast(&s, HostId(1), &[HostId(0), HostId(1)], SIZE, t))
                .contains("host 1 would send to itself")
        );
        assert!(message(incast(&s, HostId(16), &[HostId(0)], SIZE, t)).contains("numbered 0 to 15"));
        assert!(message(incast(&s, HostId(1), &[HostId(99)], SIZE, t)).contains("host 99 does not exist"));
        assert!(message(incast(&s, HostId(1), &[], SIZE, t)).contains("incast has 0 hosts"));
        assert!(message(incast(&s, HostId(1), &[HostId(0)], Bytes::ZERO, t)).contains("flow_size is 0 B"));
        assert!(message(permutation(&sites(1), SIZE, t, 0, 1)).contains("permutation has 1 hosts"));
    }

    #[test]
    fn permutations_differ_by_seed_and_by_part() {
        let to = |part, seed| permutation(&sites(64), SIZE, Time::ZERO, part, seed).unwrap();
        assert_eq!(to(0, 1), to(0, 1));
        assert_ne!(to(0, 1), to(0, 2));
        assert_ne!(to(0, 1), to(1, 1));
    }

    #[test]
    fn permutations_of_sites_stay_inside_them() {
        let sites = Sites::new(vec![0..5, 5..20]).unwrap();
        let flows = site_permutations(&sites, SIZE, Time::ZERO, 0, 1).unwrap();
        assert!(flows.iter().all(|f| f.src != f.dst && sites.site_of(f.src) == sites.site_of(f.dst)));
        let mut received: Vec<u32> = flows.iter().map(|f| f.dst.0).collect();
        received.sort_unstable();
        assert_eq!(received, (0..20).collect::<Vec<_>>());
        let lone = Sites::new(vec![0..5, 5..6]).unwrap();
        assert!(site_permutations(&lone, SIZE, Time::ZERO, 0, 1).is_err());
    }

    proptest! {
        #[test]
        fn in_a_permutation_everyone_receives_once_and_never_from_itself(n in 2_u32..80, seed in any::<u64>()) {
            let flows = permutation(&sites(n), SIZE, Time::ZERO, 0, seed).unwrap();
            prop_assert!(flows.iter().all(|f| f.src != f.dst));
            let mut received: Vec<u32> = flows.iter().map(|f| f.dst.0).collect();
            received.sort_unstable();
            prop_assert_eq!(received, (0..n).collect::<Vec<_>>());
        }
    }
}
