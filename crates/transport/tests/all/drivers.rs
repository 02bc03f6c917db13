//! The contract between an endpoint and its driver: one that drains after the calls of an instant, be it one or many, gets
//! everything, and nothing comes after that.

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
    course: Course,
}

/// How the hosts are driven.
#[derive(Clone, Copy)]
enum Course {
    /// A call, then all is drained.
    Plain,
    /// They are asked once more: in each order, and at the end of the time in which nothing comes.
    Often,
    /// All calls of an instant, then all is drained.
    ByInstants,
}

/// The answers of a host that is drained.
#[derive(Clone, PartialEq, Debug)]
struct Rest {
    poll: Poll,
    timeout: Option<Time>,
}

impl Rest {
    /// When the host has something to do next.
    fn until(&self) -> Time {
        let release = if let Poll::At(release) = self.poll { release } else { Time::MAX };
        release.min(self.timeout.unwrap_or(Time::MAX))
    }

    /// Asking again gives the same.
    fn check(&self, host: &mut Endpoint, now: Time) {
        for polls_last in [true, false] {
            if polls_last {
                assert_eq!((host.poll_timeout(), host.poll_event()), (self.timeout, None));
            }
            assert_eq!(host.poll_transmit(now), self.poll);
            assert_eq!((host.poll_event(), host.poll_timeout()), (None, self.timeout));
        }
    }
}

impl Drained {
    fn new(scheme: &Scheme, course: Course) -> Self {
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
        Self { hosts, random, now: Time::ZERO, channel, seen, delivered: Bytes::ZERO, course }
    }

    /// Drains a host.
    fn drain(&mut self, at: usize) -> Rest {
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
        assert!(!matches!(poll, Poll::At(release) if release <= now), "a packet that may leave is one");
        Rest { poll, timeout: host.poll_timeout() }
    }

    /// The first packet arrives.
    fn arrive(&mut self) {
        let (_, (to, packet)) = self.channel.pop_first().unwrap();
        let new = self.hosts[to].handle_packet(self.now, packet);
        self.delivered += new.map_or(Bytes::ZERO, |new| new.delivered);
    }

    /// Drives both hosts until nothing is to come.
    fn run(mut self) -> Self {
        loop {
            let rests = [0, 1].map(|host| self.drain(host));
            let arrival = |run: &Self| run.channel.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
            let next = rests.iter().map(Rest::until).fold(arrival(&self), Time::min).max(self.now);
            if let Course::Often = self.course {
                let end = if next == Time::MAX { self.now + DELAY } else { next };
                let last = Time::from_ps(end.as_ps().saturating_sub(1)).max(self.now);
                for (host, rest) in self.hosts.iter_mut().zip(&rests) {
                    rest.check(host, self.now);
                    rest.check(host, last);
                }
            }
            if next == Time::MAX {
                return self;
            }
            self.now = next;
            let is_arrival = arrival(&self) == next;
            if is_arrival {
                self.arrive();
            }
            if let Course::ByInstants = self.course {
                while arrival(&self) == next {
                    self.arrive();
                }
            }
            if !is_arrival || matches!(self.course, Course::ByInstants) {
                self.hosts.iter_mut().for_each(|host| host.handle_timeout(next));
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
        for course in [Course::Plain, Course::ByInstants] {
            let run = Drained::new(&scheme, course).run();
            assert_eq!(run.delivered, SIZE * u64::from(2 * MESSAGES), "{scheme:?}");
            let is_finished = |out: &Out| matches!(out, Out::Event(Event::Finished(_)));
            for host in 0..2 {
                let events: Vec<_> = run.seen.iter().filter(|(_, at, _)| *at == host).collect();
                let events = events.iter().filter(|(.., out)| matches!(out, Out::Event(_)));
                let finished = events.clone().filter(|(.., out)| is_finished(out)).count();
                let all = (events.count(), finished);
                assert_eq!(all, (2 * MESSAGES as usize, MESSAGES as usize), "{scheme:?}");
            }
        }
    }
}

#[test]
fn nothing_comes_after_none_and_asking_changes_nothing() {
    for scheme in schemes() {
        let [once, often] = [Course::Plain, Course::Often].map(|course| Drained::new(&scheme, course).run());
        assert_eq!(once.now, often.now);
        assert_eq!(once.seen, often.seen, "{scheme:?}");
    }
}
