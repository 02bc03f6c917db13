//! The contract between an endpoint and its driver: one that drains gets everything, and nothing comes after that.

use farspan_transport::balance::{self, BalanceConfig};
use farspan_transport::coding::CodingConfig;
use farspan_transport::congestion::{self, CongestionConfig};
use farspan_transport::recovery::{self, RecoveryConfig, RecoveryPolicy};
use farspan_transport::{
    Endpoint, EndpointConfig, Event, Incoming, Message, Path, Poll, Profiles, Route, Scheme, Transmit,
};
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

const DELAY: Duration = Duration::from_us(20);
const LINE: Rate = Rate::from_gbps(10);
const MESSAGES: u32 = 3;
const SIZE: Bytes = Bytes::new(123_456);

/// All that comes out of an endpoint.
#[derive(Clone, PartialEq, Debug)]
enum Out {
    Packet(Transmit),
    Event(Event),
}

/// Two hosts that send each other messages over a channel that loses one packet in seven.
struct Drained {
    hosts: [Endpoint; 2],
    random: Random,
    now: Time,
    /// Packets under way, by arrival and number.
    channel: BTreeMap<(Time, usize), (usize, Incoming)>,
    seen: Vec<(Time, usize, Out)>,
    /// Bytes that arrived for the first time.
    delivered: Bytes,
    /// How often a host that is drained is asked once more.
    more: usize,
}

impl Drained {
    fn new(scheme: &Scheme, more: usize) -> Self {
        let path = Path { max_queueing: Duration::from_us(50), ..Path::new(LINE, DELAY * 2) };
        let route = Arc::new(Route::new(path, scheme));
        let profiles = Profiles::new([scheme.profile.clone()]);
        let mut hosts = [0, 1]
            .map(|host| Endpoint::new(EndpointConfig::new(HostId(host))).with_profiles(&profiles, LINE));
        for (host, to) in hosts.iter_mut().zip([1, 0]) {
            for flow in 0..MESSAGES {
                host.submit(Time::ZERO, Message::new(FlowId(flow), HostId(to), SIZE, Arc::clone(&route)));
            }
        }
        let random = Random::new(1, Purpose::Test, 0);
        let (channel, seen) = (BTreeMap::new(), Vec::new());
        Self { hosts, random, now: Time::ZERO, channel, seen, delivered: Bytes::ZERO, more }
    }

    /// Drains a host; gives when it has something to do next.
    fn drain(&mut self, at: usize) -> Time {
        let (host, now) = (&mut self.hosts[at], self.now);
        let mut poll = host.poll_transmit(now);
        while let Poll::Packet(packet) = poll {
            if self.random.below(7) > 0 {
                let to = (packet.to.index(), Incoming::new(HostId(at as u32), packet.header));
                self.channel.insert((now + DELAY, self.seen.len()), to);
            }
            self.seen.push((now, at, Out::Packet(packet)));
            poll = host.poll_transmit(now);
        }
        while let Some(event) = host.poll_event() {
            self.seen.push((now, at, Out::Event(event)));
        }
        let timeout = host.poll_timeout();
        for _ in 0..self.more {
            assert_eq!(
                (host.poll_transmit(now), host.poll_event(), host.poll_timeout()),
                (poll.clone(), None, timeout)
            );
        }
        let release = if let Poll::At(release) = poll { release } else { Time::MAX };
        assert!(release > now, "a packet that may leave is one");
        release.min(timeout.unwrap_or(Time::MAX))
    }

    /// Drives both hosts until nothing is to come.
    fn run(mut self) -> Self {
        loop {
            let next = [0, 1].map(|host| self.drain(host)).into_iter().min().unwrap();
            let arrival = self.channel.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
            self.now = next.min(arrival);
            if self.now == Time::MAX {
                return self;
            }
            if arrival == self.now {
                let (_, (to, packet)) = self.channel.pop_first().unwrap();
                let new = self.hosts[to].handle_packet(self.now, packet);
                self.delivered += new.map_or(Bytes::ZERO, |new| new.delivered);
            } else {
                self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
            }
        }
    }
}

/// Each control, path selector and recovery policy, with a code and without.
fn schemes() -> Vec<Scheme> {
    let policies = recovery::NAMES.iter().map(|name| RecoveryPolicy::by_name(name).unwrap());
    let policies: Vec<_> = policies.collect();
    let scheme = |(n, name): (usize, &&str)| Scheme {
        balance: BalanceConfig::by_name(balance::NAMES[n % balance::NAMES.len()]).unwrap(),
        coding: CodingConfig::by_name(["none", "mds"][n % 2]).unwrap(),
        recovery: RecoveryConfig { policy: policies[n % policies.len()], ..RecoveryConfig::default() },
        ..Scheme::new(CongestionConfig::by_name(name).unwrap())
    };
    congestion::NAMES.iter().enumerate().map(scheme).collect()
}

#[test]
fn who_drains_gets_everything() {
    for scheme in schemes() {
        let run = Drained::new(&scheme, 0).run();
        assert_eq!(run.delivered, SIZE * u64::from(2 * MESSAGES), "{scheme:?}");
        for host in 0..2 {
            let events =
                || run.seen.iter().filter(|(_, at, out)| (*at, matches!(out, Out::Event(_))) == (host, true));
            let finished = events().filter(|(.., out)| matches!(out, Out::Event(Event::Finished(_)))).count();
            assert_eq!(
                (events().count(), finished),
                (2 * MESSAGES as usize, MESSAGES as usize),
                "{scheme:?}"
            );
        }
    }
}

#[test]
fn nothing_comes_after_none_and_asking_changes_nothing() {
    for scheme in schemes() {
        let [once, often] = [0, 3].map(|more| Drained::new(&scheme, more).run());
        assert_eq!(once.now, often.now);
        assert_eq!(once.seen, often.seen, "{scheme:?}");
    }
}
