//! Persistent flows: messages one after another, some while the flow is idle.

use super::*;
use farspan_transport::AppendError;

/// Pads a message to full packets, so that the next one begins with a packet of its own.
fn in_slots(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(MSS as usize), 0);
}

/// The scheme with persistent flows, which are not coded.
fn persistent(scheme: &Scheme) -> Arc<Scheme> {
    let profile = FlowProfile { persistent: true, ..scheme.profile.clone() };
    Arc::new(Scheme { profile, coding: CodingConfig::by_name("none").unwrap(), ..scheme.clone() })
}

/// The sum of a field over reports.
fn sum(reports: &[SenderReport], field: fn(&SenderReport) -> u64) -> u64 {
    reports.iter().map(field).sum()
}

impl Pair {
    fn of_persistent(channel: Channel, seed: u64) -> Self {
        let profiles = all_profiles().map(|profile| FlowProfile { persistent: true, ..profile });
        Self::with_profiles(channel, seed, &Profiles::new(profiles))
    }

    /// Lets a further message of random bytes follow on a flow; gives its index.
    fn append(&mut self, from: usize, flow: u32, size: u64) -> u32 {
        let name = FlowId(flow);
        let index = self.hosts[from].endpoint.append(self.now, name, Bytes::new(size)).unwrap();
        let bytes = self.hosts[from].outgoing.get_mut(&name).unwrap();
        in_slots(bytes);
        let mut random = Random::new(u64::from(flow) << 32 | u64::from(index), Purpose::Test, 2);
        bytes.extend((0..size).map(|_| random.bits() as u8));
        let len = bytes.len();
        self.hosts[1 - from].incoming.get_mut(&name).unwrap().resize(len, 0);
        self.drive_nic(from);
        index
    }

    /// Runs until then.
    fn run_to(&mut self, at: Time) {
        while self.next_at().is_some_and(|next| next <= at) {
            self.step();
        }
        self.now = self.now.max(at);
    }

    /// Runs until so many messages have ended.
    fn run_until_ended(&mut self, messages: usize) {
        for _ in 0..3_000_000 {
            if self.hosts.iter().map(|host| host.finished.len()).sum::<usize>() == messages {
                return;
            }
            assert!(self.step(), "nothing happens any more");
        }
        panic!("still running at {}", self.now);
    }

    /// The messages of a flow have arrived, each once, in order and byte for byte, both ends know it, and their counters are the flow's.
    fn assert_in_order(&self, from: usize, flow: u32, sizes: &[u64]) {
        let (sender, receiver, flow) = (&self.hosts[from], &self.hosts[1 - from], FlowId(flow));
        assert!(receiver.incoming[&flow] == sender.outgoing[&flow], "flow {flow} arrived with other bytes");
        let of_flow: Vec<_> = sender.finished.iter().filter(|r| r.flow == flow).copied().collect();
        let delivered: Vec<_> = receiver.delivered.iter().filter(|r| r.flow == flow).collect();
        assert!(of_flow.iter().map(|r| r.size.get()).eq(sizes.iter().copied()));
        assert!(delivered.iter().map(|r| r.bytes.get()).eq(sizes.iter().copied()));
        for (index, (sent, came)) in (0..).zip(of_flow.iter().zip(&delivered)) {
            assert_eq!((sent.message, came.message, came.from), (index, index, HostId(from as u32)));
            assert!(came.delivered_at + DELAY <= sent.finished_at);
            let counters = sent.counters;
            assert_eq!(counters.sent_bytes - counters.retransmitted_bytes, sent.size);
            let first = counters.sent_packets - counters.retransmitted_packets;
            assert_eq!(first, sent.size.get().div_ceil(MSS));
        }
        assert!(
            of_flow.is_sorted_by_key(|r| r.finished_at) && delivered.is_sorted_by_key(|r| r.delivered_at)
        );
        let view = sender.endpoint.sender(flow).expect("it stays");
        let all = view.counters;
        assert_eq!((view.in_flight, view.delivered.get()), (Bytes::ZERO, sizes.iter().sum::<u64>()));
        assert_eq!(sum(&of_flow, |r| r.counters.sent_packets), all.sent_packets);
        assert_eq!(sum(&of_flow, |r| r.counters.sent_bytes.get()), all.sent_bytes.get());
        assert_eq!(sum(&of_flow, |r| r.counters.retransmitted_packets), all.retransmitted_packets);
        assert_eq!(sum(&of_flow, |r| r.counters.retransmitted_bytes.get()), all.retransmitted_bytes.get());
        assert_eq!(sum(&of_flow, |r| r.counters.timeouts), all.timeouts);
        assert_eq!(sum(&of_flow, |r| r.counters.probes), all.probes);
        assert_eq!(sum(&of_flow, |r| r.counters.spurious), all.spurious);
        // These may be found after the end: a NACK that comes late, and a loss that a probe has repaired.
        assert!(sum(&of_flow, |r| r.counters.nacks) <= all.nacks);
        assert!(sum(&of_flow, |r| r.counters.losses) <= all.losses);
        assert_eq!(sender.endpoint.open_messages(self.now, flow).count(), 0);
        let view = receiver.endpoint.receiver(HostId(from as u32), flow).unwrap();
        assert_eq!(view.goodput.get(), sizes.iter().sum::<u64>());
        let arrived = delivered.iter().map(|r| r.arrived_packets).sum::<u64>();
        assert!(arrived <= view.counters.arrived_packets && !view.is_complete);
    }

    /// Begins a flow at each host, or lets messages follow on them: each at a host, so long after the one before, or after all before
    /// it have ended. All of them arrive, and nothing comes after that.
    fn converse(&mut self, scheme: &Arc<Scheme>, messages: &[(usize, bool, u64, u64)]) {
        let mut sizes = [Vec::new(), Vec::new()];
        for (before, &(from, idle, wait, size)) in messages.iter().enumerate() {
            if idle {
                self.run_until_ended(before);
            }
            self.run_to(self.now + Duration::from_us(wait));
            let flow = from as u32;
            if sizes[from].is_empty() {
                self.submit(from, flow, size, scheme);
            } else {
                assert_eq!(self.append(from, flow, size), sizes[from].len() as u32);
            }
            sizes[from].push(size);
        }
        self.run_until_ended(messages.len());
        self.run_to(self.now + Duration::from_ms(1));
        for (from, sizes) in sizes.iter().enumerate().filter(|(_, sizes)| !sizes.is_empty()) {
            self.assert_in_order(from, from as u32, sizes);
        }
    }
}

/// Messages of up to 20 packets: at which host, whether after all before, and how long.
fn any_messages() -> impl Strategy<Value = Vec<(usize, bool, u64, u64)>> {
    let size = prop_oneof![1..=MSS, (1_u64..=20).prop_map(|n| n * MSS), 1..=20 * MSS];
    let wait = prop_oneof![Just(0), 0_u64..20, 0_u64..2000];
    prop::collection::vec((0_usize..2, prop::bool::weighted(0.3), wait, size), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn messages_that_follow_arrive_each_once_in_order(
        channel in any_channel(), seed in any::<u64>(), scheme in any_scheme(), messages in any_messages(),
    ) {
        Pair::of_persistent(channel, seed).converse(&persistent(&scheme), &messages);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_message_waits_for_a_time_out_while_nothing_is_lost(
        marking in 0.0..0.5, duplication in 0.0..0.2, jitter_us in 0_u64..30, seed in any::<u64>(),
        scheme in any_scheme(), messages in any_messages(),
    ) {
        let rto = Rto::Fixed(Duration::from_ms(100));
        let recovery = RecoveryConfig { rto, backoff: false, policy: RecoveryPolicy::PerPacketRto };
        let scheme = persistent(&Scheme { recovery, ..Scheme::clone(&scheme) });
        let jitter = Duration::from_us(jitter_us);
        let mut pair = Pair::of_persistent(Channel { marking, duplication, jitter, ..Channel::default() }, seed);
        pair.converse(&scheme, &messages);
        for host in &pair.hosts {
            prop_assert_eq!(sum(&host.finished, |report| report.counters.timeouts), 0);
        }
    }
}

#[test]
fn a_message_follows_on_a_flow_that_lives_alone() {
    let mut pair = Pair::of_persistent(Channel::default(), 1);
    let scheme = persistent(&scheme(fixed_window(5 * MSS, None)));
    let (flow, size) = (FlowId(0), Bytes::new(1));
    let unknown = Err(AppendError::Unknown { flow });
    assert_eq!(pair.hosts[0].endpoint.append(pair.now, flow, size), unknown);
    pair.submit(0, 0, 1, &scheme);
    assert_eq!(pair.append(0, 0, 1), 1);
    assert_eq!(pair.hosts[1].endpoint.append(pair.now, flow, size), unknown, "it only receives");
    pair.run_until_ended(2);
    assert!(pair.hosts[0].endpoint.cancel(pair.now, flow).is_some());
    assert_eq!(pair.hosts[0].endpoint.append(pair.now, flow, size), unknown);
}

#[test]
fn a_window_that_has_grown_is_the_first_again_after_an_idle_time_if_the_connection_says_so() {
    for idle_restart in [true, false] {
        let mut pair = Pair::of_persistent(Channel::default(), 1);
        let newreno = scheme(CongestionConfig::by_name("newreno").unwrap());
        let connection = Connection { idle_restart, ..Connection::default() };
        pair.submit(0, 0, 500 * MSS, &persistent(&Scheme { connection, ..newreno }));
        pair.run_until_ended(1);
        let cwnd = |pair: &Pair| pair.hosts[0].endpoint.sender(FlowId(0)).unwrap().cwnd;
        let (first, grown) = (path().bdp, cwnd(&pair));
        assert!(grown > first, "{grown}");
        pair.run_to(pair.now + Duration::from_us(1));
        pair.append(0, 0, 1);
        assert_eq!(cwnd(&pair), grown, "it was not idle for long");
        pair.run_until_ended(2);
        pair.run_to(pair.now + Duration::from_ms(10));
        pair.append(0, 0, 1);
        assert_eq!(cwnd(&pair), if idle_restart { first } else { grown });
    }
}
