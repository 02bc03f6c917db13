//! The news of controls under every ACK policy, and flows whose packets overtake each other.

use super::*;
use farspan_transport::congestion::{
    Ack, Congestion, Custom, Decision, Ecn, Factory, NackRule, Needs, SignalBytes, Start,
};
use farspan_units::TelemetryKind;
use std::sync::Mutex;

/// The sums of the news of ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct AckSums {
    bytes: u64,
    packets: u64,
    /// Payload whose mark an ACK has echoed.
    marked: u64,
}

/// A window of eight packets that sums up what it hears.
#[derive(Clone, Default)]
struct Listening(Arc<Mutex<AckSums>>);

impl Factory for Listening {
    fn name(&self) -> &'static str {
        "listening"
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Required,
            sent: false,
            send_record: false,
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Only,
            signal_bytes: SignalBytes::NONE,
        }
    }

    fn control(&self, _start: &Start<'_>) -> Box<dyn Congestion + Send> {
        Box::new(self.clone())
    }
}

impl Congestion for Listening {
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(8 * MSS))
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let mut sums = self.0.lock().unwrap();
        sums.bytes += ack.bytes_acked.get();
        sums.packets += u64::from(ack.acked_packets);
        sums.marked += if ack.ecn_ce { ack.echoed_bytes().get() } else { 0 };
        self.decision()
    }
}

#[test]
fn where_nothing_is_lost_or_overtaken_acks_say_each_byte_each_packet_and_each_mark_once() {
    for profile in all_profiles().filter(|profile| profile.pulls.is_none()) {
        for marking in [0.0, 0.3, 1.0] {
            let mut pair = Pair::new(Channel { marking, ..Channel::default() }, 1);
            let control = Listening::default();
            let congestion = CongestionConfig::Custom(Custom::new(control.clone()));
            let rto = Rto::Fixed(Duration::from_ms(100));
            let recovery = RecoveryConfig { rto, backoff: false, policy: RecoveryPolicy::PerPacketRto };
            let scheme = Scheme { recovery, profile: profile.clone(), ..scheme(congestion) };
            pair.submit(0, 0, 100 * MSS, &Arc::new(scheme));
            pair.run();
            pair.assert_all_delivered();
            let sums = *control.0.lock().unwrap();
            assert_eq!((sums.bytes, sums.packets), (100 * MSS, 100), "{profile:?}");
            let marked = pair.hosts[1].delivered[0].marked_packets * MSS;
            assert!(profile.repeats_marks || sums.marked == marked, "{sums:?} of {marked}: {profile:?}");
        }
    }
}

#[test]
fn a_window_that_is_reordered_is_there_within_a_round_trip_of_one_that_is_not() {
    // As late as the reordering window waits, a quarter of a round trip. Beyond it RACK resends what is on its way, which takes its time.
    let delivered = |jitter| {
        let mut pair = Pair::new(Channel { jitter, ..Channel::default() }, 1);
        let rto = Rto::Fixed(Duration::from_ms(100));
        let recovery = RecoveryConfig { rto, backoff: false, policy: RecoveryPolicy::Rack };
        pair.submit(0, 0, 200 * MSS, &Arc::new(Scheme { recovery, ..scheme(fixed_window(1 << 20, None)) }));
        pair.run();
        pair.assert_all_delivered();
        assert_eq!(pair.hosts[0].finished[0].counters.timeouts, 0);
        pair.hosts[1].delivered[0].delivered_at.since(Time::ZERO)
    };
    let jitter = path().base_rtt / 4;
    let in_order = delivered(Duration::ZERO);
    assert_eq!(in_order, LINE.transmission(Bytes::new(MSS) + HEADER) * 200 + DELAY);
    let late = delivered(jitter).saturating_sub(in_order);
    assert!(late <= jitter + path().base_rtt, "{late} later");
}
