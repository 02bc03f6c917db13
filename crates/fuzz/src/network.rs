//! A driver of the endpoint on a wire that brings anything, under tight limits.

use crate::input::Input;
use crate::protocol::{MSS, route};
use farspan_transport::wire::MAX_HEADER;
use farspan_udp::wire::{Datagram, EcnCodepoint, OnDatagram, Sending, Wire};
use farspan_udp::{Config, Driver, Limits, MessageOutcome};
use farspan_units::{Bytes, Duration, FlowId};
use std::io;
use std::net::SocketAddr;

/// Datagrams to be taken; what is sent has a fate by its number.
#[derive(Debug, Default)]
struct Hostile {
    given: Vec<(SocketAddr, Vec<u8>)>,
    sent: usize,
}

impl Wire for Hostile {
    fn send(&mut self, _: &Datagram) -> io::Result<Sending> {
        self.sent += 1;
        Ok(match self.sent % 16 {
            0 => Sending::NoRoom,
            8 => Sending::Refused(io::ErrorKind::HostUnreachable),
            _ => Sending::Sent,
        })
    }

    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize> {
        self.given.iter().for_each(|(from, bytes)| take(*from, Some(EcnCodepoint::Ect0), bytes));
        Ok(std::mem::take(&mut self.given).len())
    }

    fn address(&self) -> io::Result<SocketAddr> {
        Ok(peer(0))
    }
}

fn peer(port: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], u16::from(port)))
}

/// A datagram of a header that peers could send, with the payload that it announces.
fn datagram(input: &mut Input<'_>) -> Vec<u8> {
    let header = input.header(MSS.get() as u16);
    let mut bytes = vec![0; MAX_HEADER];
    let len = header.encode(&mut bytes).expect("a header fits the longest");
    bytes.truncate(len);
    if let Some(data) = header.data() {
        bytes.resize(len + usize::from(data.len), data.seq as u8);
    }
    bytes
}

/// A driver, an application that sends now and then, and peers that say anything.
pub fn driver(data: &[u8]) {
    let limits = Limits {
        half_messages: 4,
        held: Bytes::new(20_000),
        reach: 64,
        delivered: 8,
        idle: Duration::from_us(50),
    };
    let longest_message = Bytes::new(10_000);
    let config = Config { seed: 1, mss: MSS, header: Bytes::new(64), longest_message, limits };
    let mut driver = Driver::new(Hostile::default(), config).expect("the wire has an address");
    let (mut input, mut flows) = (Input(data), 0);
    for _ in 0..2000 {
        if input.is_empty() {
            break;
        }
        let from = peer(input.byte() % 4 + 1);
        match input.byte() % 8 {
            0 if flows < 8 => {
                let (len, (route, _)) = (usize::from(input.short() % 5000) + 1, route(&mut input));
                driver.submit(FlowId(flows), from, vec![1; len], route);
                flows += 1;
            }
            1 => {
                let len = usize::from(input.byte());
                let bytes = input.take(len).to_vec();
                driver.wire_mut().given.push((from, bytes));
            }
            _ => {
                let bytes = datagram(&mut input);
                driver.wire_mut().given.push((from, bytes));
            }
        }
        driver.poll().expect("no peer ends a driver");
        while let Some(outcome) = driver.poll_outcome() {
            if let MessageOutcome::Received { bytes, report, .. } = outcome {
                assert_eq!(bytes.len() as u64, report.bytes.get());
            }
        }
    }
}
