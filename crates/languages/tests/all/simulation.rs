//! Runs flows in the simulator, and records their events.

use farspan_fabric::topology::Star;
use farspan_fabric::{Marker, PortConfig, Tier};
use farspan_languages::{Ack, Event, MSS, Name, Setting};
use farspan_sim::{ByTier, EngineKind, Flow, InitialWindow, Probes, Spec, Stop, Trace};
use farspan_transport::ack::AckConfig;
use farspan_transport::congestion::{
    self, Congestion, CongestionConfig, Control, Custom, Decision, Factory, Loss, Needs, Start, Timeout,
};
use farspan_transport::{FlowProfile, Path, Scheme};
use farspan_units::{Bytes, Duration, HostId, Rate, Time};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Two senders of unequal round trips share a port that marks, and drops.
pub struct Bottleneck {
    /// The control of both.
    pub name: Name,
    /// The rate of every link.
    pub rate: Rate,
    /// One way, of each host's link: the senders', and the receiver's.
    pub delays_us: [u64; 3],
    /// The packets of each flow.
    pub packets: u64,
    /// The port marks above this queue, and drops above twice that.
    pub mark_above: Bytes,
    /// When the receiver acknowledges packets.
    pub acks: AckConfig,
}

impl Bottleneck {
    /// The base round trip of a flow, in us: rounded up, and with a packet's transmission on two links.
    pub fn base_rtt_us(&self, flow: u32) -> u64 {
        let packet = self.rate.transmission(Bytes::new(1500)) * 2;
        2 * (self.delays_us[flow as usize] + self.delays_us[2]) + packet.as_ps().div_ceil(1_000_000)
    }

    /// The control of a flow, in both languages.
    pub fn setting(&self, flow: u32) -> Setting {
        let setting = Setting::new(self.name, self.rate.as_bps(), self.base_rtt_us(flow));
        let bdp_pkts = setting.bdp_pkts() as u64;
        match self.name {
            Name::Gemini => setting,
            Name::Unocc => Setting { start_pkts: bdp_pkts, ..setting },
        }
    }
}

/// The events of each flow.
pub type Records = Arc<Mutex<BTreeMap<u32, Vec<Event>>>>;

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
        // A star is one site; the epochs are to be those of a datacenter of 14 us.
        let path = Path { intra_base_rtt: Duration::from_us(14), ..*start.path };
        Box::new(Recording {
            control: self.0.build(&Start { path: &path, ..*start }),
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

/// Runs two flows, the second of which begins half a second later, and gives the events of both.
pub fn record(bottleneck: &Bottleneck) -> BTreeMap<u32, Vec<Event>> {
    let records = Records::default();
    let config = CongestionConfig::by_name(bottleneck.name.text()).unwrap();
    let scheme = Scheme::new(CongestionConfig::Custom(Custom::new(Recorder(config, Arc::clone(&records)))));
    let profile = FlowProfile::new(bottleneck.acks.clone(), &scheme.congestion, scheme.recovery.policy);
    let outcome =
        farspan_sim::run(&spec(bottleneck, Scheme { profile, ..scheme }), EngineKind::Windowed, &mut |_| {
            true
        });
    assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
    std::mem::take(&mut *records.lock().unwrap())
}

fn spec(bottleneck: &Bottleneck, scheme: Scheme) -> Spec {
    let scheme = Arc::new(scheme);
    let port = PortConfig {
        markers: vec![Marker::Step(bottleneck.mark_above)],
        ..PortConfig::drop_tail(bottleneck.mark_above * 2)
    };
    let flow = |src, us| Flow {
        src: HostId(src),
        dst: HostId(2),
        size: Bytes::new(bottleneck.packets * MSS),
        start: Time::ZERO + Duration::from_us(us),
        measured: true,
    };
    let hosts = bottleneck.delays_us.map(|delay_us| (bottleneck.rate, Duration::from_us(delay_us)));
    Spec {
        network: Star { switch_delay: Duration::ZERO, hosts: hosts.to_vec() }.build().unwrap(),
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
        initial_window: match bottleneck.name {
            Name::Gemini => InitialWindow::Iw10,
            Name::Unocc => InitialWindow::Bdp,
        },
        jitter: Duration::ZERO,
        port_jitter: Duration::ZERO,
        rtt_noise: Duration::ZERO,
        seed: 1,
        probes: Probes::default(),
        trace: Trace::default(),
        proxies: Vec::new(),
        proxy_failures: Vec::new(),
        stop: Stop { time: Time::MAX, when_measured_end: None },
    }
}
