//! An endpoint that relays flows and sends through a proxy itself, with hostile peers.

use crate::input::Input;
use crate::protocol::{MSS, route_of};
use farspan_transport::Route;
use farspan_transport::proxy::detector::PerFlowConfig;
use farspan_transport::proxy::{
    Delay, LossDetection, NaiveRelay, Numbering, Relay, RelayKind, StreamlinedRelay, Via,
};
use farspan_transport::{Endpoint, EndpointConfig, Event, Incoming, Message, Poll, Trimmed};
use farspan_units::{Bytes, Duration, FlowId, HostId, Time};
use std::sync::Arc;

const HEADER: Bytes = Bytes::new(64);
/// Two hosts that give their flows the same numbers.
const SENDERS: [HostId; 2] = [HostId(1), HostId(5)];
const RECEIVER: HostId = HostId(2);
/// The host that its own messages go through.
const PROXY: HostId = HostId(3);
/// Numbers below are those of flows that it relays, on their way to the receiver; those from here on are of its own.
const OWN: u32 = 4;

fn uncoded(input: &mut Input<'_>) -> Arc<Route> {
    route_of(input, &["none"]).0
}

fn loss(byte: u8) -> Option<LossDetection> {
    match byte % 3 {
        0 => None,
        1 => Some(LossDetection::PerPath { paths: byte % 5 }),
        _ => Some(LossDetection::PerFlow(PerFlowConfig::default())),
    }
}

/// A flow that the endpoint relays, by its number there.
fn relay(onward: u32, input: &mut Input<'_>) -> Relay {
    let (size, signals) = (Bytes::new(u64::from(input.short())), Default::default());
    let kind = match input.byte() {
        byte @ 0..128 => {
            RelayKind::Streamlined(StreamlinedRelay { header: HEADER, signals, loss: loss(byte) })
        }
        byte => {
            let (onward, room) = (uncoded(input), (byte & 1 == 1).then(|| u32::from(byte % 16) + 1));
            RelayKind::Naive(NaiveRelay { onward, initial_cwnd: MSS * 20, room, signals })
        }
    };
    let (from, flow) = (SENDERS[onward as usize / 2], FlowId(onward % 2));
    Relay { from, flow, to: RECEIVER, onward_flow: FlowId(onward), size, kind }
}

/// A message of its own through a proxy.
fn message(flow: u32, size: Bytes, input: &mut Input<'_>) -> Message {
    let byte = input.byte();
    let numbers = match byte % 3 {
        0 => None,
        1 => Some(Numbering::PerFlow),
        _ => Some(Numbering::PerPath),
    };
    let (direct, longest_silence) = (uncoded(input), Duration::from_us(u64::from(input.byte()) * 8 + 1));
    let limit = if byte & 64 == 0 { u32::MAX } else { input.number() + 1 };
    let (direct_cwnd, acknowledges) = (MSS * 20, byte & 128 != 0);
    let via = Via { proxy: PROXY, acknowledges, limit, numbers, direct, direct_cwnd, longest_silence };
    let (initial_cwnd, route) = (MSS * 20, uncoded(input));
    Message { flow: FlowId(flow), to: RECEIVER, size, initial_cwnd, route, via: Some(Arc::new(via)) }
}

/// An endpoint that relays four flows and sends four of its own through a proxy, its clock, and peers that say anything.
pub fn proxy(data: &[u8]) {
    let mut input = Input(data);
    let config = EndpointConfig { host: HostId(0), seed: 1, mss: MSS, header: HEADER };
    let delay = Delay::Constant(Duration::from_us(u64::from(input.byte() % 4)));
    let mut endpoint = Endpoint::new(config).with_proxy(delay);
    let relays: Vec<_> = (0..OWN).map(|flow| relay(flow, &mut input)).collect();
    relays.iter().for_each(|relay| endpoint.relay(relay.clone()));
    let (mut now, mut sizes) = (Time::ZERO, Vec::new());
    for _ in 0..2000 {
        if input.is_empty() {
            break;
        }
        match input.byte() % 16 {
            0 | 1 if sizes.len() < 4 => {
                let size = Bytes::new(u64::from(input.short()) + 1);
                let flow = OWN + sizes.len() as u32;
                endpoint.submit(now, message(flow, size, &mut input));
                sizes.push(size);
            }
            2..=4 => now += Duration::from_us(u64::from(input.byte())),
            5 => match input.byte() {
                0..8 => endpoint.fail_proxy(now),
                8..16 => drop(endpoint.forget_peer(now, RECEIVER)),
                // It begins anew: its flows are registered again.
                byte @ 16..32 => {
                    let from = SENDERS[usize::from(byte % 2)];
                    assert!(endpoint.forget_peer(now, from).is_empty());
                    let of_it = relays.iter().filter(|relay| relay.from == from);
                    of_it.for_each(|relay| endpoint.relay(relay.clone()));
                }
                _ => {}
            },
            6..=8 => {
                for _ in 0..input.byte() % 40 {
                    if !matches!(endpoint.poll_transmit(now), Poll::Packet(_)) {
                        break;
                    }
                }
            }
            byte => {
                let header = input.header(MSS.get() as u16);
                let trimmed = match byte {
                    13 => Trimmed::Returned,
                    14 => Trimmed::OnItsWay,
                    15 => Trimmed::AtLastHop,
                    _ => Trimmed::No,
                };
                let who = input.byte();
                let from = [SENDERS[0], RECEIVER, PROXY, SENDERS[1]][usize::from(who % 4)];
                let telemetry = if who < 160 { None } else { input.telemetry() };
                let ecn_ce = byte & 1 == 1;
                endpoint.handle_packet(now, Incoming { from, header, ecn_ce, trimmed, telemetry });
            }
        }
        if endpoint.poll_timeout().is_some_and(|at| at <= now) {
            endpoint.handle_timeout(now);
        }
        while let Some(event) = endpoint.poll_event() {
            if let Event::Finished(report) = event {
                assert_eq!(
                    report.size,
                    sizes[(report.flow.0 - OWN) as usize],
                    "no event tells of a relayed flow"
                );
            }
        }
        check(&endpoint, now, &sizes, &relays);
    }
}

fn check(endpoint: &Endpoint, now: Time, sizes: &[Bytes], relays: &[Relay]) {
    for view in (OWN..OWN + sizes.len() as u32).filter_map(|flow| endpoint.sender(FlowId(flow))) {
        let most = sizes[(view.flow.0 - OWN) as usize] * 2 + MSS * 4;
        assert!(view.in_flight <= most && view.delivered <= most, "{view:?}");
    }
    let queue = endpoint.proxy_queue(now).expect("it is a proxy");
    let naive = |relay: &&Relay| matches!(relay.kind, RelayKind::Naive(_));
    let most: Bytes = relays.iter().filter(naive).map(|relay| relay.size).sum();
    assert!(queue.unacked_max <= most, "no more is kept than the messages have: {queue:?}");
}
