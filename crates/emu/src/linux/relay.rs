//! One UDP flow through the network of a scenario, without namespaces and without root: what comes to a socket crosses the network
//! from one host to another, and goes on to an address; answers come back the same way.
#![expect(clippy::disallowed_types, reason = "a relay stands between real sockets")]

use super::clock::{Clock, timespec};
use super::pump::PRIORITY;
use super::sys::run_in_real_time;
use crate::address::v4;
use crate::bytes::UDP;
use crate::engine::{Engine, LARGEST_PACKET};
use crate::judge::Late;
use farspan_metrics::{EmulatedPackets, Lateness};
use farspan_sim::Spec;
use farspan_units::{Duration, HostId, Time};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

/// IPv4 and UDP, which a datagram has in the modelled network.
const HEADERS: usize = 28;
const LONGEST_SLEEP: Duration = Duration::from_ms(50);
/// Datagrams that are read from one socket before the other is looked at.
const BATCH: usize = 32;

/// Why a relay cannot begin, or not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// An address cannot be had.
    #[error("{address}: {task} ({source})")]
    Address {
        /// The address, as it was asked for.
        address: String,
        /// The step that failed.
        task: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The network has no such host, or both ends are the same.
    #[error("from host {from} to host {to}: the scenario has hosts 0 to {}, and the two must differ", hosts.saturating_sub(1))]
    Hosts {
        /// The one end.
        from: u32,
        /// The other.
        to: u32,
        /// How many there are.
        hosts: u32,
    },
    /// The sockets cannot be waited for.
    #[error("the sockets cannot be read ({0})")]
    Poll(#[source] io::Error),
}

/// A relay of one UDP flow.
#[derive(Debug)]
pub struct Relay {
    engine: Engine,
    /// Where the client sends to.
    near: UdpSocket,
    /// The socket that the server answers to.
    far: UdpSocket,
    /// Who sent last to the near socket.
    client: Option<SocketAddr>,
    /// The hosts at whose places client and server are.
    ends: [HostId; 2],
    clock: Clock,
    release: Late,
}

impl Relay {
    /// Listens at an address, for datagrams that cross the network of a spec from host `from` to host `to`, and go on to another
    /// address.
    ///
    /// # Errors
    /// If an address cannot be had, or the network has no such hosts.
    pub fn bind(spec: &Spec, listen: &str, onward: &str, from: u32, to: u32) -> Result<Self, RelayError> {
        let hosts = spec.network.hosts;
        if from == to || from.max(to) >= hosts {
            return Err(RelayError::Hosts { from, to, hosts });
        }
        let failed = |address: &str, task| {
            let address = address.to_owned();
            move |source| RelayError::Address { address, task, source }
        };
        let near = UdpSocket::bind(listen).map_err(failed(listen, "cannot be listened at"))?;
        let to_server = onward.to_socket_addrs().and_then(|mut all| all.next().ok_or_else(no_address));
        let to_server = to_server.map_err(failed(onward, "is no HOST:PORT"))?;
        let any = if to_server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let far = UdpSocket::bind(any).and_then(|far| far.connect(to_server).map(|()| far));
        let far = far.map_err(failed(onward, "cannot be reached"))?;
        let quick = near.set_nonblocking(true).and_then(|()| far.set_nonblocking(true));
        quick.map_err(failed(listen, "cannot be listened at"))?;
        let (engine, ends) = (Engine::new(spec), [HostId(from), HostId(to)]);
        Ok(Self { engine, near, far, client: None, ends, clock: Clock::start(), release: Late::default() })
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.near.local_addr()
    }

    /// Relays until `is_over` says so, which is asked twenty times a second at least.
    ///
    /// # Errors
    /// If the sockets cannot be waited for.
    pub fn run(&mut self, is_over: impl Fn() -> bool) -> Result<(), RelayError> {
        // Who may not is later, and hears how much at the end.
        let _ = run_in_real_time(PRIORITY);
        self.clock = Clock::start();
        let mut buffer = vec![0; LARGEST_PACKET.get() as usize];
        while !is_over() {
            self.wait().map_err(RelayError::Poll)?;
            self.deliver();
            for end in [0, 1] {
                for _ in 0..BATCH {
                    let Some(length) = self.read(end, &mut buffer[HEADERS..]) else { break };
                    self.take(end, &mut buffer[..HEADERS + length]);
                    self.deliver();
                }
            }
        }
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        let sleep = self.engine.next_at().since(self.clock.now()).min(LONGEST_SLEEP);
        let mut fds = [&self.near, &self.far].map(|socket| PollFd::new(socket, PollFlags::IN));
        match poll(&mut fds, Some(&timespec(sleep.as_ns()))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next datagram at an end. What the other side refused before is no error of this one.
    fn read(&mut self, end: usize, buffer: &mut [u8]) -> Option<usize> {
        if end == 0 {
            let (length, client) = self.near.recv_from(buffer).ok()?;
            self.client = Some(client);
            return Some(length);
        }
        self.far.recv(buffer).ok()
    }

    /// A datagram enters the network; there is room for its headers before it.
    fn take(&mut self, end: usize, packet: &mut [u8]) {
        let Ok(length) = u16::try_from(packet.len()) else { return };
        let [from, to] = [self.ends[end], self.ends[1 - end]].map(|host| v4(host).octets());
        packet[..HEADERS].fill(0);
        (packet[0], packet[8], packet[9]) = (0x45, u8::MAX, UDP);
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[12..16].copy_from_slice(&from);
        packet[16..20].copy_from_slice(&to);
        packet[24..26].copy_from_slice(&(length - 20).to_be_bytes());
        self.engine.take(self.clock.now(), self.ends[end], packet);
    }

    /// Hands on what is due.
    fn deliver(&mut self) {
        let now = self.clock.now();
        if self.engine.next_at() > now {
            return;
        }
        let Self { engine, near, far, client, ends, clock, release } = self;
        engine.advance(now);
        engine.release(|host, at, bytes| {
            let payload = &bytes[HEADERS..];
            let sent = match client {
                _ if host == ends[1] => far.send(payload),
                Some(client) => near.send_to(payload, *client),
                None => return false,
            };
            release.add(clock.now().since(at));
            sent.is_ok()
        });
    }

    /// The fates of the datagrams so far, and how late they were handed on.
    #[must_use]
    pub fn summary(&mut self) -> (EmulatedPackets, Lateness) {
        (self.engine.fates(), self.release.summary())
    }

    /// Time since it began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.now().since(Time::ZERO)
    }
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "no address")
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_scenario::Request;
    use farspan_world::World;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn spec(extra: &str) -> Spec {
        let text = format!(
            "host.jitter = \"0ns\"\ntopology = {{ kind = \"star\", hosts = 2, link_rate = \"100Mbps\", link_delay = \"5ms\" }}\n{extra}"
        );
        let request = Request { text: Some(text), is_idle: true, ..Request::new("relay") };
        World::idle(&request.resolve().unwrap()).unwrap().spec
    }

    /// Sends numbers through a relay to a server that echoes them; gives those that came back, and the shortest round trip.
    fn echoes(spec: &Spec, count: u8) -> (Vec<u8>, std::time::Duration) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut relay =
            Relay::bind(spec, "127.0.0.1:0", &server.local_addr().unwrap().to_string(), 0, 1).unwrap();
        let (address, is_over) = (relay.address().unwrap(), AtomicBool::new(false));
        let wait = Some(std::time::Duration::from_millis(700));
        server.set_read_timeout(wait).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = [0; 64];
                while let Ok((length, from)) = server.recv_from(&mut buffer) {
                    server.send_to(&buffer[..length], from).unwrap();
                }
            });
            scope.spawn(|| relay.run(|| is_over.load(Ordering::Relaxed)));
            let client = UdpSocket::bind("127.0.0.1:0").unwrap();
            client.set_read_timeout(wait).unwrap();
            let began = farspan_world::clock::now();
            (0..count).for_each(|n| drop(client.send_to(&[n, 7], address)));
            let (mut back, mut buffer, mut first) = (Vec::new(), [0; 64], None);
            while let Ok(length) = client.recv(&mut buffer) {
                assert_eq!((length, buffer[1]), (2, 7));
                first.get_or_insert_with(|| began.elapsed());
                back.push(buffer[0]);
            }
            is_over.store(true, Ordering::Relaxed);
            (back, first.unwrap_or_default())
        })
    }

    #[test]
    fn datagrams_come_back_after_the_delay_of_the_network_and_in_order() {
        let (back, first) = echoes(&spec(""), 50);
        assert_eq!(back, (0..50).collect::<Vec<_>>());
        assert!(first >= std::time::Duration::from_millis(20), "{first:?}");
    }

    #[test]
    fn a_seed_loses_the_same_datagrams_again() {
        let lossy = spec("[[fault]]\nkind = \"loss\"\nlink = \"tor0->host1#0\"\nprobability = 0.3\n");
        let (first, second) = (echoes(&lossy, 60).0, echoes(&lossy, 60).0);
        assert_eq!(first, second);
        assert!((20..60).contains(&first.len()), "{}", first.len());
    }

    #[test]
    fn what_cannot_be_relayed_is_said() {
        let error = |listen, onward, from, to| {
            Relay::bind(&spec(""), listen, onward, from, to).unwrap_err().to_string()
        };
        assert!(error("127.0.0.1:0", "127.0.0.1:9", 0, 2).contains("hosts 0 to 1"));
        assert!(error("127.0.0.1:0", "127.0.0.1:9", 1, 1).contains("differ"));
        assert!(error("nowhere", "127.0.0.1:9", 0, 1).contains("listened"));
        assert!(error("127.0.0.1:0", "nowhere", 0, 1).contains("HOST:PORT"));
    }
}
