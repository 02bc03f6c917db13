//! Two endpoints, a virtual clock, and a channel that loses one datagram in seven: a message of real bytes arrives.

use farspan_transport::coding::Payload;
use farspan_transport::wire::{MAX_HEADER, View};
use farspan_transport::{Endpoint, EndpointConfig, Incoming, Message, Path, Poll, Route, Scheme};
use farspan_units::{Bytes, Duration, FlowId, HostId, Rate, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

const DELAY: Duration = Duration::from_us(50);

/// Sends the message.
pub fn main() {
    let message: Vec<u8> = (0..1_000_000).map(|n| (n % 251) as u8).collect();
    let mut received = vec![0; message.len()];
    let mut hosts = [0, 1].map(|host| Endpoint::new(EndpointConfig::new(HostId(host))));
    let route = Arc::new(Route::new(Path::new(Rate::from_gbps(10), DELAY * 2), &Scheme::default()));
    hosts[0].submit(Time::ZERO, Message::new(FlowId(0), HostId(1), Bytes::new(message.len() as u64), route));

    // Under way, by arrival: who sent it, to whom, and the bytes.
    let (mut channel, mut sent, mut now, mut events) = (BTreeMap::new(), 0, Time::ZERO, Vec::new());
    while events.len() < 2 {
        let mut next = Time::MAX;
        for host in &mut hosts {
            // Drain: packets until there are none, then events, then the timer.
            loop {
                let packet = match host.poll_transmit(now) {
                    Poll::Packet(packet) => packet,
                    Poll::At(at) => break next = next.min(at),
                    Poll::Idle => break,
                };
                let mut datagram = vec![0; MAX_HEADER];
                let len = packet.header.encode(&mut datagram).expect("every header fits");
                datagram.truncate(len);
                if let Some(Payload::Source(range)) = packet.payload {
                    datagram.extend(&message[range.start as usize..range.end as usize]);
                }
                sent += 1;
                if sent % 7 != 0 {
                    channel.insert((now + DELAY, sent), (host.host(), packet.to, datagram));
                }
            }
            events.extend(std::iter::from_fn(|| host.poll_event()));
            next = next.min(host.poll_timeout().unwrap_or(Time::MAX));
        }
        let arrival = channel.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
        now = next.min(arrival).max(now);
        hosts.iter_mut().for_each(|host| host.handle_timeout(now));
        if let Some((_, (from, to, datagram))) = (arrival == now).then(|| channel.pop_first()).flatten() {
            let view = View::new(&datagram).expect("the channel does not forge");
            let new = hosts[to.index()].handle_packet(now, Incoming::new(from, view.header()));
            if let (Some(Payload::Source(range)), Some(bytes)) = (new.map(|new| new.payload), view.payload())
            {
                received[range.start as usize..range.end as usize].copy_from_slice(bytes);
            }
        }
    }
    assert_eq!(received, message);
    println!("{sent} datagrams, {} of them lost: done at {now}", sent / 7);
}
