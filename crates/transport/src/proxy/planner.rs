//! When and where to proxy (future work 3 and section 6): which declared incasts go through a proxy, and through which host.
//!
//! An incast loses packets in its first round trip where its senders' first windows, which arrive together, come to more than
//! the receiver's port drains meanwhile and holds. Such an incast waits for a time-out, or with trimming for a round trip; a
//! proxy saves that, and costs what its NIC has to carry beside. The planner compares the two, largest incasts first, and
//! takes the host that is done soonest. It knows what was declared and nothing of the network's state.
//!
//! The decentralised variant has no list of hosts: each incast probes two candidates, and takes the better one (power of two
//! choices; Mitzenmacher, IEEE TPDS 2001).
//!
//! Its page: `docs/src/schemes/proxy-planner.md`.

use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, HostId, Purpose, Random, Rate};

/// Less than this part of the time is no gain: the model is no better.
const LEAST_GAIN: f64 = 0.05;

/// An incast, as its program declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared {
    /// The sending hosts, of one site.
    pub senders: Vec<HostId>,
    /// The receiver, of another.
    pub receiver: HostId,
    /// Payload of all senders together.
    pub bytes: Bytes,
}

/// The path from the senders' site to the receiver's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathFacts {
    /// Rate of every NIC.
    pub line_rate: Rate,
    /// Base round trip from a sender to the receiver.
    pub base_rtt: Duration,
    /// Base round trip from a sender to a proxy.
    pub near_rtt: Duration,
    /// First window of a flow.
    pub first_window: Bytes,
    /// Bytes that the port to the receiver holds.
    pub buffer: Bytes,
    /// Time-out of a lost packet.
    pub rto: Duration,
    /// Whether ports trim, so that a loss costs a round trip and no time-out.
    pub trims: bool,
}

/// Which hosts a planner may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Any of the candidates.
    All,
    /// Two of them, drawn for each incast.
    Two {
        /// Seed of the draws.
        seed: u64,
    },
}

/// The load of hosts that was planned before.
struct Load {
    /// Bytes to send, and to receive, by host.
    bytes: Vec<[Bytes; 2]>,
}

impl Load {
    fn of(&self, host: HostId) -> [Bytes; 2] {
        self.bytes.get(host.index()).copied().unwrap_or_default()
    }

    fn add(&mut self, host: HostId, direction: usize, bytes: Bytes) {
        if let Some(load) = self.bytes.get_mut(host.index()) {
            load[direction] += bytes;
        }
    }
}

/// Chooses a proxy for each incast, or none; `candidates`: hosts of the senders' site that may be one, `hosts`: how many
/// hosts there are.
#[must_use]
pub fn plan(
    incasts: &[Declared],
    path: &PathFacts,
    candidates: &[HostId],
    hosts: u32,
    choice: Choice,
) -> Vec<Option<HostId>> {
    let mut load = Load { bytes: alloc::vec![[Bytes::ZERO; 2]; hosts as usize] };
    for incast in incasts {
        for sender in &incast.senders {
            load.add(*sender, 0, incast.bytes / incast.senders.len().max(1) as u64);
        }
        load.add(incast.receiver, 1, incast.bytes);
    }
    let mut order: Vec<usize> = (0..incasts.len()).collect();
    order.sort_by_key(|&i| (core::cmp::Reverse(incasts[i].bytes), i));
    let mut plan = alloc::vec![None; incasts.len()];
    for i in order {
        let incast = &incasts[i];
        let allowed = |host: &HostId| !incast.senders.contains(host) && *host != incast.receiver;
        let mut drawn: Vec<HostId> = candidates.iter().copied().filter(allowed).collect();
        if let Choice::Two { seed } = choice {
            Random::new(seed, Purpose::Proxy, 1 << 32 | i as u64).shuffle(&mut drawn);
            drawn.truncate(2);
        }
        let time = |host: HostId| through(incast, path, load.of(host), load.of(incast.receiver)[1]);
        let best = drawn.into_iter().map(|host| (time(host), host)).min();
        let without = direct(incast, path, load.of(incast.receiver)[1]);
        if let Some((with, host)) = best
            && with < without.mul_f64(1.0 - LEAST_GAIN)
        {
            plan[i] = Some(host);
            load.add(host, 0, incast.bytes);
            load.add(host, 1, incast.bytes);
        }
    }
    plan
}

/// How long the line takes for so many bytes.
fn line(path: &PathFacts, bytes: Bytes) -> Duration {
    path.line_rate.transmission(bytes)
}

/// The time of an incast without a proxy, whose receiver gets `into` in all.
fn direct(incast: &Declared, path: &PathFacts, into: Bytes) -> Duration {
    let senders = incast.senders.len().max(1) as u64;
    let first = (incast.bytes / senders).min(path.first_window) * senders;
    // All arrive in the time in which one of them sends its part.
    let drained = first / senders;
    let lost = first.saturating_sub(drained).saturating_sub(path.buffer);
    let time = line(path, into) + path.base_rtt.mul_f64(0.5);
    if lost.is_zero() {
        return time;
    }
    // What is lost comes again a round trip, or a time-out, after it left; until then the port drains what it holds.
    let idle = if path.trims { path.base_rtt } else { path.rto };
    time + idle.saturating_sub(line(path, path.buffer))
}

/// The time of an incast through a host that sends and receives so much beside, and whose receiver gets `into` in all.
fn through(incast: &Declared, path: &PathFacts, [sends, receives]: [Bytes; 2], into: Bytes) -> Duration {
    let busiest = (incast.bytes + sends).max(incast.bytes + receives).max(into);
    line(path, busiest) + path.near_rtt + path.base_rtt.mul_f64(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// The paper's network (section 4.1): 100 Gb/s, 4 ms, 17 MB.
    fn path(trims: bool) -> PathFacts {
        PathFacts {
            line_rate: Rate::from_gbps(100),
            base_rtt: Duration::from_us(4_010),
            near_rtt: Duration::from_us(9),
            first_window: Bytes::new(50_100_000),
            buffer: Bytes::new(17_015_000),
            rto: Duration::from_us(12_030),
            trims,
        }
    }

    fn incast(senders: std::ops::Range<u32>, receiver: u32, megabytes: u64) -> Declared {
        let senders = senders.map(HostId).collect();
        Declared { senders, receiver: HostId(receiver), bytes: Bytes::new(megabytes * 1_000_000) }
    }

    fn site() -> Vec<HostId> {
        (0..64).map(HostId).collect()
    }

    fn plan_one(declared: Declared, trims: bool) -> Option<HostId> {
        plan(&[declared], &path(trims), &site(), 128, Choice::All)[0]
    }

    #[test]
    fn an_incast_that_the_buffer_holds_goes_straight() {
        assert_eq!(plan_one(incast(0..4, 64, 20), false), None);
        assert_eq!(plan_one(incast(0..1, 64, 100), false), None, "one sender is no incast");
    }

    #[test]
    fn an_incast_that_would_lose_its_first_round_trip_goes_through_an_idle_host() {
        for trims in [false, true] {
            assert_eq!(plan_one(incast(0..4, 64, 100), trims), Some(HostId(4)));
        }
        assert_eq!(plan_one(incast(0..64, 64, 100), false), None, "every host sends");
    }

    #[test]
    fn incasts_take_different_hosts_and_none_where_the_line_is_the_limit() {
        let two = [incast(0..16, 64, 100), incast(16..32, 65, 60)];
        let plan_all = |incasts: &[Declared]| plan(incasts, &path(false), &site(), 128, Choice::All);
        assert_eq!(plan_all(&two), [Some(HostId(32)), Some(HostId(33))]);
        // Each of 30 incasts to one receiver waits for all of them, whatever way it takes.
        let many = vec![incast(0..4, 64, 100); 30];
        assert!(plan_all(&many).iter().all(Option::is_none));
    }

    #[test]
    fn two_candidates_are_drawn_for_each_incast_and_the_better_one_taken() {
        let incasts = vec![incast(0..16, 64, 100), incast(0..16, 65, 100), incast(0..16, 66, 100)];
        let probed = |seed| plan(&incasts, &path(false), &site(), 128, Choice::Two { seed });
        assert_eq!(probed(1), probed(1));
        let hosts: Vec<_> = (0..20).filter_map(|seed| probed(seed)[0]).collect();
        assert!(hosts.iter().any(|host| *host != hosts[0]), "{hosts:?}");
        assert!(hosts.iter().all(|host| host.0 >= 16 && host.0 < 64));
    }
}
