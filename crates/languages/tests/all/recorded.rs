//! The events of flows that the simulator ran: two senders of unequal round trips share a port that marks, and drops.

use crate::{compiled, distance};
use farspan_fabric::topology::Star;
use farspan_fabric::{Marker, PortConfig, Tier};
use farspan_languages::{Ack, Event, MSS, Name, Setting, Simulated};
use farspan_sim::{ByTier, EngineKind, Flow, InitialWindow, Probes, Spec, Stop, Trace};
use farspan_transport::ack::{AckConfig, coalesced::CoalescedConfig};
use farspan_transport::congestion::{
    self, Congestion, CongestionConfig, Control, Custom, Decision, Factory, Loss, Needs, Start, Timeout,
};
use farspan_transport::{FlowProfile, Scheme};
use farspan_units::{Bytes, Duration, HostId, Rate, Time};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const RATE: Rate = Rate::from_gbps(1);
/// One way, of each host's link.
const DELAYS_US: [u64; 3] = [3_000, 90, 10];
/// Of each flow.
const PACKETS: u64 = 600_000;

/// The events of each flow.
type Records = Arc<Mutex<BTreeMap<u32, Vec<Event>>>>;

/// Makes controls that record their events.
struct Recorder(CongestionConfig, Records);

struct Recording {
    control: Control,
    flow: u32,
    records: Records,
    /// When the last loss was found; those of packets sent before are of its episode.
    lost_at: Time,
    timed_out_at: Time,
}

impl Factory for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        Box::new(Recording {
            control: self.0.build(start),
            flow: start.flow.0,
            records: Arc::clone(&self.1),
            lost_at: Time::ZERO,
            timed_out_at: Time::ZERO,
        })
    }
}

fn us(time: Time) -> u64 {
    time.as_ps() / 1_000_000
}

fn packets(bytes: Bytes) -> u64 {
    bytes.get().div_ceil(MSS)
}

impl Recording {
    fn record(&self, event: Event) {
        self.records.lock().unwrap().entry(self.flow).or_default().push(event);
    }
}

impl Congestion for Recording {
    fn decision(&self) -> Decision {
        self.control.decision()
    }

    fn on_ack(&mut self, ack: &congestion::Ack) -> Decision {
        let event = Ack {
            now_us: us(ack.now),
            rtt_us: ack.rtt.as_ps().div_ceil(1_000_000),
            acked_pkts: packets(ack.bytes_acked),
            marked: ack.ecn_ce,
            in_flight_pkts: packets(ack.in_flight),
            limited: true,
        };
        // An ACK that acknowledges nothing new is none to the kernel's control.
        if event.acked_pkts > 0 {
            self.record(Event::Ack(event));
        }
        self.control.on_ack(ack)
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        if loss.sent_at >= self.lost_at {
            self.lost_at = loss.now;
            self.record(Event::Loss { now_us: us(loss.now) });
        }
        self.control.on_loss(loss)
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        if timeout.sent_at >= self.timed_out_at {
            (self.timed_out_at, self.lost_at) = (timeout.now, timeout.now);
            let in_flight_pkts = packets(timeout.in_flight + timeout.bytes);
            self.record(Event::Timeout { now_us: us(timeout.now), in_flight_pkts });
        }
        self.control.on_timeout(timeout)
    }
}

/// Runs two flows, one after the other began, and gives the events of both. Receivers send an ACK for every packet, or for so many
/// bytes.
fn record(name: Name, start: InitialWindow, acks: AckConfig) -> BTreeMap<u32, Vec<Event>> {
    let records = Records::default();
    let config = CongestionConfig::by_name(name.text()).unwrap();
    let scheme = Scheme::new(CongestionConfig::Custom(Custom::new(Recorder(config, Arc::clone(&records)))));
    let profile = FlowProfile::new(acks, &scheme.congestion, scheme.recovery.policy);
    let scheme = Arc::new(Scheme { profile, ..scheme });
    // Fewer packets than the windows of both want: it marks from 75 KB on, and drops above 150 KB.
    let port = PortConfig {
        markers: vec![Marker::Step(Bytes::new(75_000))],
        ..PortConfig::drop_tail(Bytes::new(150_000))
    };
    let size = Bytes::new(PACKETS * MSS);
    let flow = |src, us| Flow {
        src: HostId(src),
        dst: HostId(2),
        size,
        start: Time::ZERO + Duration::from_us(us),
        measured: true,
    };
    let spec = Spec {
        network: Star {
            switch_delay: Duration::ZERO,
            hosts: DELAYS_US.map(|delay_us| (RATE, Duration::from_us(delay_us))).to_vec(),
        }
        .build()
        .unwrap(),
        ports: ByTier(std::array::from_fn::<_, { Tier::COUNT }, _>(|_| port.clone())),
        own_ports: BTreeMap::new(),
        pool: None,
        routing: Default::default(),
        flows: vec![flow(0, 1_000), flow(1, 500_000)],
        triggers: Vec::new(),
        faults: Vec::new(),
        intra: Arc::clone(&scheme),
        inter: scheme,
        own_balance: Vec::new(),
        mss: Bytes::new(MSS),
        header: Bytes::new(1500 - MSS),
        initial_window: start,
        jitter: Duration::ZERO,
        port_jitter: Duration::ZERO,
        rtt_noise: Duration::ZERO,
        seed: 1,
        probes: Probes::default(),
        trace: Trace::default(),
        proxies: Vec::new(),
        proxy_failures: Vec::new(),
        stop: Stop { time: Time::MAX, when_measured_end: None },
    };
    let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
    assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
    std::mem::take(&mut *records.lock().unwrap())
}

/// Says of each ACK whether the window limits the flow, as the kernel would: while half of it is used. The simulator's UnoCC grows
/// whatever is used.
fn with_limits(setting: &Setting, events: &mut [Event]) {
    let mut control = Simulated::new(setting);
    for event in events {
        if let (Event::Ack(ack), Name::Gemini) = (&mut *event, setting.name) {
            ack.limited = 2 * (ack.in_flight_pkts + ack.acked_pkts) * MSS >= control.cwnd().get();
        }
        control.on(event);
    }
}

fn agree(name: Name, acks: &AckConfig) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(name, folder.path()) else { return };
    let start = match name {
        Name::Gemini => InitialWindow::Iw10,
        Name::Unocc => InitialWindow::Bdp,
    };
    let flows = record(name, start, acks.clone());
    assert_eq!(flows.len(), 2);
    for (flow, mut events) in flows {
        let base_rtt_us = 2 * (DELAYS_US[flow as usize] + DELAYS_US[2]) + 25;
        let setting = Setting::new(name, RATE.as_bps(), base_rtt_us);
        let bdp_pkts = setting.bdp_pkts() as u64;
        let setting = match name {
            Name::Gemini => setting,
            Name::Unocc => Setting { start_pkts: bdp_pkts, ..setting },
        };
        with_limits(&setting, &mut events);
        let counted = |of: fn(&Event) -> bool| events.iter().filter(|event| of(event)).count();
        let marks = counted(|event| matches!(event, Event::Ack(ack) if ack.marked));
        let losses = counted(|event| matches!(event, Event::Loss { .. } | Event::Timeout { .. }));
        let distance = distance(&program, &setting, &events);
        println!("{setting:?}: {} events, {marks} marked, {losses} losses: {distance:?}", events.len());
        assert!(marks > 100, "the port marks");
        assert!(distance.is_small(), "{distance:?}");
    }
}

#[test]
fn recorded_flows_of_gemini() {
    agree(Name::Gemini, &AckConfig::default());
}

#[test]
fn recorded_flows_of_gemini_with_held_acks() {
    agree(Name::Gemini, &AckConfig::Coalesced(CoalescedConfig::default()));
}

#[test]
fn recorded_flows_of_unocc() {
    agree(Name::Unocc, &AckConfig::default());
}

#[test]
fn recorded_flows_of_unocc_with_held_acks() {
    agree(Name::Unocc, &AckConfig::Coalesced(CoalescedConfig::default()));
}
