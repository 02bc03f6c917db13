//! The driver: an endpoint, a clock, a wire, and the bytes.

use crate::host::{Config, Host};
use crate::limits::DriverCounters;
use crate::outcome::{DriverError, MessageOutcome};
use crate::wire::{Datagram, Sending, Wire};
use farspan_transport::{Endpoint, Poll, Route};
use farspan_units::{Duration, FlowId, Time};
use std::net::SocketAddr;
use std::sync::Arc;

/// Datagrams sent before it is looked whether some have arrived.
const BURST: usize = 32;

/// An endpoint on a wire.
#[derive(Debug)]
pub struct Driver<W> {
    wire: W,
    host: Host,
    /// A datagram for which there was no room.
    waiting: Option<Datagram>,
}

impl<W: Wire> Driver<W> {
    /// A driver of an endpoint without flows; its clock starts now.
    ///
    /// # Errors
    /// If the wire has no address.
    pub fn new(wire: W, config: Config) -> Result<Self, DriverError> {
        let host = Host::new(wire.address()?, config);
        Ok(Self { wire, host, waiting: None })
    }

    /// The wire.
    pub const fn wire(&self) -> &W {
        &self.wire
    }

    /// The wire, to be changed between two calls.
    pub const fn wire_mut(&mut self) -> &mut W {
        &mut self.wire
    }

    /// Where peers find it.
    ///
    /// # Errors
    /// The error of the wire.
    pub fn address(&self) -> Result<SocketAddr, DriverError> {
        Ok(self.wire.address()?)
    }

    /// The time since the driver was made; all times in outcomes are of this clock.
    pub fn now(&self) -> Time {
        self.host.clock.now()
    }

    /// The endpoint, for what it counts.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.host.endpoint
    }

    /// Counts of what it did not do, for one peer or another.
    pub const fn counters(&self) -> DriverCounters {
        self.host.counters
    }

    /// Takes a message of at least one byte. `flow` is a number that no message from here had before.
    pub fn submit(&mut self, flow: FlowId, to: SocketAddr, bytes: Vec<u8>, route: Arc<Route>) {
        self.host.submit(flow, to, bytes, route);
    }

    /// Does what can be done now: takes datagrams that have arrived, time-outs that are due, and sends what may leave.
    /// Gives how long there is nothing to do unless a datagram arrives; `None`: for ever.
    ///
    /// # Errors
    /// The error of the wire.
    pub fn poll(&mut self) -> Result<Option<Duration>, DriverError> {
        let Self { wire, host, waiting } = self;
        // While there is no room for what is to leave, nothing is taken in: replies would pile up.
        let received = match waiting {
            None => wire.receive(&mut |from, ecn, bytes| host.take(from, ecn, bytes))?,
            Some(_) => 0,
        };
        let now = host.clock.now();
        if host.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            host.endpoint.handle_timeout(now);
        }
        host.expire(now);
        let next = self.transmit(BURST + received)?;
        if received > 0 {
            return Ok(Some(Duration::ZERO));
        }
        let next = [next, self.host.endpoint.poll_timeout(), self.host.next_expiry()];
        let next = next.into_iter().flatten().min();
        Ok(next.map(|at| at.since(self.host.clock.now())))
    }

    /// Sends what may leave, up to so many datagrams. Gives when there is more to send.
    fn transmit(&mut self, most: usize) -> Result<Option<Time>, DriverError> {
        for _ in 0..most {
            let now = self.host.clock.now();
            let datagram = match self.waiting.take() {
                Some(datagram) => datagram,
                None => match self.host.endpoint.poll_transmit(now) {
                    Poll::Packet(packet) => match self.host.datagram(&packet)? {
                        Some(datagram) => datagram,
                        None => continue,
                    },
                    Poll::At(at) => return Ok(Some(at)),
                    Poll::Idle => return Ok(None),
                },
            };
            match self.wire.send(&datagram)? {
                Sending::Sent => {}
                Sending::Refused(error) => self.host.on_send_error(datagram.to, error),
                Sending::NoRoom => {
                    self.waiting = Some(datagram);
                    break;
                }
            }
        }
        Ok(Some(self.host.clock.now()))
    }

    /// The next message that has come to its end.
    pub fn poll_outcome(&mut self) -> Option<MessageOutcome> {
        self.host.poll_outcome()
    }
}

#[cfg(test)]
mod tests;
