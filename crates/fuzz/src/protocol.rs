//! The protocol: headers, an endpoint with a hostile peer, the erasure code.

use crate::input::Input;
use farspan_transport::balance::{self, BalanceConfig};
use farspan_transport::coding::{Code, CodingConfig, Layout, Payload, Shape};
use farspan_transport::congestion::{self, Congestion, CongestionConfig, Floor, Start};
use farspan_transport::recovery::{self, RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::wire::{MAX_HEADER, View, telemetry};
use farspan_transport::{
    Connection, Endpoint, EndpointConfig, Event, FlowProfile, Incoming, Message, Path, Poll, Route, Scheme,
    Trimmed, WindowCheck,
};
use farspan_units::{Bytes, Duration, FlowId, HostId, Rate, Time};
use std::sync::Arc;

/// Payload of a full packet.
pub(crate) const MSS: Bytes = Bytes::new(100);

/// Any bytes as a packet and as telemetry: what parses is written as it was read.
pub fn wire(data: &[u8]) {
    if let Ok((read, rest)) = telemetry::decode(data) {
        let mut bytes = Vec::new();
        telemetry::encode(&read, &mut bytes);
        bytes.extend(rest);
        assert_eq!(bytes, data, "read and written");
    }
    let Ok(view) = View::new(data) else { return };
    let header = view.header();
    let payload = view.payload().map_or(0, <[u8]>::len);
    let mut bytes = [0; MAX_HEADER];
    let len = header.encode(&mut bytes).expect("a header fits the longest");
    assert_eq!(
        View::new(&bytes[..len]).map(|view| view.header()),
        Ok(header),
        "read, written and read again"
    );
    assert!(len + payload <= data.len(), "no byte from nowhere");
}

/// A path and a scheme of parts that the input chooses, and whether its window can be zero, as that of a control that runs on
/// credit.
pub(crate) fn route(input: &mut Input<'_>) -> (Arc<Route>, bool) {
    route_of(input, &["none", "mds"])
}

/// A [`route`] whose coding is one of these.
pub(crate) fn route_of(input: &mut Input<'_>, codings: &[&'static str]) -> (Arc<Route>, bool) {
    let (base_rtt, line_rate) = (Duration::from_us(10), Rate::from_gbps(10));
    let path =
        Path { hops: 2, max_queueing: Duration::from_us(100), mss: MSS, ..Path::new(line_rate, base_rtt) };
    let pick = |names: &[&'static str], byte: u8| names[usize::from(byte) % names.len()];
    let scheme = Scheme {
        congestion: CongestionConfig::by_name(pick(congestion::NAMES, input.byte())).expect("its name"),
        balance: BalanceConfig::by_name(pick(balance::NAMES, input.byte())).expect("a built-in name"),
        coding: CodingConfig::by_name(pick(codings, input.byte())).expect("a built-in name"),
        recovery: RecoveryConfig {
            rto: Rto::Rfc6298 {
                initial: Duration::from_us(150),
                variance_floor: Duration::from_us(50),
                min: Duration::ZERO,
            },
            backoff: input.byte().is_multiple_of(2),
            policy: RecoveryPolicy::by_name(pick(recovery::NAMES, input.byte())).expect("its name"),
        },
        on_nack: None,
        window_check: WindowCheck::Below,
        connection: Connection::default(),
        profile: FlowProfile::default(),
    };
    let start =
        Start { path: &path, size: MSS, initial_cwnd: MSS * 20, active_flows: 0, seed: 1, flow: FlowId(0) };
    let control = scheme.congestion.build(&start);
    let may_be_zero = control.floor() == Floor::Zero;
    (Arc::new(Route::new(path, &scheme)), may_be_zero)
}

/// An endpoint that sends and receives, its clock, and a peer that says anything.
pub fn endpoint(data: &[u8]) {
    const PEER: HostId = HostId(1);
    let mut input = Input(data);
    let config = EndpointConfig { host: HostId(0), seed: 1, mss: MSS, header: Bytes::new(64) };
    let (mut endpoint, mut now, mut flows) = (Endpoint::new(config), Time::ZERO, 0_u32);
    let (mut sizes, mut may_be_zero) = (Vec::new(), Vec::new());
    for _ in 0..2000 {
        if input.is_empty() {
            break;
        }
        match input.byte() % 16 {
            0 | 1 if flows < 8 => {
                let size = Bytes::new(u64::from(input.short()) + 1);
                let (route, zero) = route(&mut input);
                let message =
                    Message { flow: FlowId(flows), to: PEER, size, initial_cwnd: MSS * 20, route, via: None };
                endpoint.submit(now, message);
                sizes.push(size);
                may_be_zero.push(zero);
                flows += 1;
            }
            2..=4 => now += Duration::from_us(u64::from(input.byte())),
            5 => drop(endpoint.cancel(now, FlowId(u32::from(input.byte() % 8)))),
            6 => match input.byte() {
                byte @ 0..224 => drop(endpoint.forget(PEER, FlowId(u32::from(byte % 8)))),
                224..240 => drop(endpoint.forget_peer(now, HostId(2))),
                _ => endpoint.forget_peer(now, PEER).into_iter().for_each(|report| {
                    assert!(report.to == PEER && endpoint.sender(report.flow).is_none());
                }),
            },
            7..=9 => {
                for _ in 0..input.byte() % 40 {
                    if !matches!(endpoint.poll_transmit(now), Poll::Packet(_)) {
                        break;
                    }
                }
            }
            byte => {
                let header = input.header(MSS.get() as u16);
                let ecn_ce = byte & 1 == 1;
                let trimmed = match byte {
                    13 => Trimmed::Returned,
                    14 => Trimmed::OnItsWay,
                    15 => Trimmed::AtLastHop,
                    _ => Trimmed::No,
                };
                let (from, telemetry) = match input.byte() {
                    0..160 => (PEER, None),
                    160..240 => (PEER, input.telemetry()),
                    _ => (HostId(2), None),
                };
                endpoint.handle_packet(now, Incoming { from, header, ecn_ce, trimmed, telemetry });
            }
        }
        if endpoint.poll_timeout().is_some_and(|at| at <= now) {
            endpoint.handle_timeout(now);
        }
        while let Some(event) = endpoint.poll_event() {
            if let Event::Finished(report) = event {
                assert_eq!(report.size, sizes[report.flow.index()]);
            }
        }
        for view in (0..flows).filter_map(|flow| endpoint.sender(FlowId(flow))) {
            // Where a rate alone decides, from the start or from the first ACK on, the window is what is in flight.
            let is_paced = view.pacing_rate.is_some() && view.cwnd == view.in_flight;
            let is_open = may_be_zero[view.flow.index()] || !view.cwnd.is_zero() || is_paced;
            assert!(is_open, "a window of zero would never open");
            let most = sizes[view.flow.index()] * 2 + MSS * 4;
            assert!(view.in_flight <= most && view.delivered <= most, "{view:?}");
        }
    }
}

/// A layout, and a block that loses what it can bear.
pub fn coding(data: &[u8]) {
    let mut input = Input(data);
    let (x, y) = (input.byte(), input.byte());
    let Some(shape) = Shape::new(x, y) else {
        assert!(Code::new(usize::from(x), usize::from(y)).is_err());
        return;
    };
    layouts(&mut input, shape);
    let code = Code::new(usize::from(x), usize::from(y)).expect("every shape has a code");
    let len = usize::from(input.byte()) + 1;
    let mut segment = || {
        let bytes = input.take(len);
        if bytes.is_empty() { vec![7; len] } else { bytes.to_vec() }
    };
    let source: Vec<Vec<u8>> = (0..x).map(|_| segment()).collect();
    let mut parity = vec![vec![0; len]; usize::from(y)];
    let slices: Vec<&[u8]> = source.iter().map(Vec::as_slice).collect();
    let mut made: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
    code.encode(&slices, &mut made).expect("parity is as long as the longest data");
    let all: Vec<&[u8]> = source.iter().chain(&parity).map(Vec::as_slice).collect();
    let lost: Vec<usize> = (0..y).map(|_| usize::from(input.byte()) % all.len()).collect();
    let there: Vec<Option<&[u8]>> =
        all.iter().enumerate().map(|(n, bytes)| (!lost.contains(&n)).then_some(*bytes)).collect();
    let missing: Vec<usize> = (0..source.len()).filter(|n| lost.contains(n)).collect();
    let mut repaired: Vec<Vec<u8>> = missing.iter().map(|n| vec![0; source[*n].len()]).collect();
    let mut slices: Vec<&mut [u8]> = repaired.iter_mut().map(Vec::as_mut_slice).collect();
    code.reconstruct(&there, &mut slices).expect("no more is lost than the code bears");
    assert!(missing.iter().zip(&repaired).all(|(n, bytes)| source[*n] == *bytes));
}

/// Layouts of messages and of headers agree, and their packets carry the message.
fn layouts(input: &mut Input<'_>, shape: Shape) {
    let size = (0..8).fold(0, |size, _| size << 8 | u64::from(input.byte()));
    let mss = Bytes::new(u64::from(input.short()).max(1));
    // Any size, and a small one.
    for size in [size, size % 100_000] {
        let Some(layout) = Layout::of_message(Bytes::new(size), mss, shape) else { continue };
        assert_eq!(layout.size(), Bytes::new(size));
        let again = Layout::of_header(shape, layout.packets(), layout.last_len(), mss);
        assert_eq!(again, Some(layout), "a header says all of it");
        if layout.packets() < 2000 {
            let source = |seq| match layout.payload(seq) {
                Payload::Source(range) => range.end - range.start,
                Payload::Parity { .. } => 0,
            };
            assert_eq!((0..layout.packets()).map(source).sum::<u64>(), size);
        }
    }
}
