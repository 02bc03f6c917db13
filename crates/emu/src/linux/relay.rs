//! One UDP flow through the network of a scenario, without namespaces and without root: what comes to a socket crosses the network
//! from one host to another, and goes on to an address; answers come back the same way.

use super::clock::{Clock, timespec};
use super::socket::Socket;
use super::sys::run_in_real_time;
use super::tun_loop::PRIORITY;
use crate::address::v4;
use crate::bytes::{TRIMMED_DSCP, UDP};
use crate::engine::Engine;
use crate::lateness::Late;
use farspan_metrics::{EmulatedPackets, Lateness};
use farspan_sim::Spec;
use farspan_units::{Duration, HostId, Purpose, Random, Time};
use quinn_udp::EcnCodepoint;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

/// IPv4 and UDP, which a datagram has in the modelled network.
const HEADERS: usize = 28;
/// The ECN field in the second byte of IPv4 (RFC 3168).
const ECN: u8 = 3;
const LONGEST_SLEEP: Duration = Duration::from_ms(50);

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
    /// Nothing can be sent to an address.
    #[error("{address}: port 0 is not a port to send to: give the port that the server listens on")]
    NoPort {
        /// The address, as it was asked for.
        address: String,
    },
    /// Its own packets would come back to it.
    #[error(
        "{address} is the relay's own address, so it would send every datagram back to itself: give the server's address"
    )]
    Loop {
        /// The address, as it was asked for.
        address: String,
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
    /// Where the client sends to, and where the server answers to.
    sockets: [Socket; 2],
    /// Who sent last to the first socket, and the server.
    peers: [Option<SocketAddr>; 2],
    /// The hosts at whose places client and server are.
    ends: [HostId; 2],
    /// Draws a path for each datagram, if each has its own.
    spray: Option<Random>,
    /// Packets that have been read from a socket, and that the network has not yet taken.
    read: Vec<Vec<u8>>,
    clock: Clock,
    release: Late,
    /// Datagrams that ports trimmed.
    trimmed: u64,
    is_real_time: bool,
}

/// The fates of the datagrams of a relay, and how late it was.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RelaySummary {
    /// The fates of the datagrams.
    pub packets: EmulatedPackets,
    /// Refused datagrams that ports trimmed: a part is not handed on as if it were the whole.
    pub trimmed: u64,
    /// How long after they were due datagrams were handed on.
    pub late: Lateness,
    /// Whether it ran under `SCHED_FIFO`.
    pub is_real_time: bool,
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
        let resolve =
            |text: &str| text.to_socket_addrs().and_then(|mut all| all.next().ok_or_else(no_address));
        let near = resolve(listen).and_then(Socket::bind).map_err(failed(listen, "cannot be listened at"))?;
        let server = resolve(onward).map_err(failed(onward, "is no HOST:PORT"))?;
        if server.port() == 0 {
            return Err(RelayError::NoPort { address: onward.to_owned() });
        }
        let own = near.address().map_err(failed(listen, "cannot be listened at"))?;
        if leads_back(own, server) {
            return Err(RelayError::Loop { address: onward.to_owned() });
        }
        let any: IpAddr =
            if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let far = Socket::bind(SocketAddr::new(any, 0)).map_err(failed(onward, "cannot be reached"))?;
        Ok(Self {
            engine: Engine::new(spec),
            sockets: [near, far],
            peers: [None, Some(server)],
            ends: [HostId(from), HostId(to)],
            spray: None,
            read: Vec::new(),
            clock: Clock::start(),
            release: Late::default(),
            trimmed: 0,
            is_real_time: false,
        })
    }

    /// From now on each datagram takes a path of its own among those of equal cost, drawn by a seed.
    pub const fn spray(&mut self, seed: u64) {
        self.spray = Some(Random::new(seed, Purpose::Balance, 0));
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.sockets[0].address()
    }

    /// Relays until `is_over` says so, which is asked twenty times a second at least.
    ///
    /// # Errors
    /// If the sockets cannot be waited for, or read.
    pub fn run(&mut self, is_over: impl Fn() -> bool) -> Result<(), RelayError> {
        // Who may not is later, and hears that, and how much, at the end.
        self.is_real_time = run_in_real_time(PRIORITY).is_ok();
        self.clock = Clock::start();
        while !is_over() {
            self.wait().map_err(RelayError::Poll)?;
            self.deliver();
            for end in [0, 1] {
                self.read(end).map_err(RelayError::Poll)?;
                self.deliver();
            }
        }
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        let sleep = self.engine.next_at().since(self.clock.now()).min(LONGEST_SLEEP);
        let mut fds = self.sockets.each_ref().map(|socket| PollFd::new(socket, PollFlags::IN));
        match poll(&mut fds, Some(&timespec(sleep.as_ns()))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Datagrams that have come to an end enter the network. Who is not the server is no concern of the far end.
    fn read(&mut self, end: usize) -> io::Result<()> {
        let Self { engine, sockets, peers, ends, spray, read, clock, .. } = self;
        let (mut count, mut oversized, mut client) = (0, 0_u64, None);
        sockets[end].receive(|from, ecn, payload| {
            if end == 0 {
                client = Some(from);
            } else if peers[1] != Some(from) {
                return;
            }
            if read.len() == count {
                read.push(Vec::new());
            }
            let path = spray.as_mut().map_or(0, |random| random.bits() as u16);
            let hosts = [ends[end], ends[1 - end]];
            let is_packet = enclose(&mut read[count], hosts, ecn.map_or(0, |ecn| ecn as u8), path, payload);
            count += usize::from(is_packet);
            oversized += u64::from(!is_packet);
        })?;
        (0..oversized).for_each(|_| engine.take_oversized());
        peers[0] = client.or(peers[0]);
        read[..count].iter().for_each(|packet| engine.take(clock.now(), ends[end], packet));
        Ok(())
    }

    /// Hands on what is due.
    fn deliver(&mut self) {
        let now = self.clock.now();
        if self.engine.next_at() > now {
            return;
        }
        let Self { engine, sockets, peers, ends, clock, release, trimmed, .. } = self;
        engine.advance(now);
        engine.release(|host, at, packet| {
            let end = usize::from(host == ends[1]);
            let Some(to) = peers[end] else { return false };
            // It was sent with DSCP 0.
            if packet[1] >> 2 == TRIMMED_DSCP {
                *trimmed += 1;
                return false;
            }
            let ecn = EcnCodepoint::from_bits(packet[1] & ECN);
            let is_sent = sockets[end].send(to, ecn, &packet[HEADERS..]);
            release.add(clock.now().since(at));
            is_sent
        });
    }

    /// The fates of the datagrams so far, and how late they were handed on.
    #[must_use]
    pub fn summary(&mut self) -> RelaySummary {
        RelaySummary {
            packets: self.engine.fates(),
            trimmed: self.trimmed,
            late: self.release.summary(),
            is_real_time: self.is_real_time,
        }
    }

    /// Time since it began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.now().since(Time::ZERO)
    }
}

/// Whether what is sent to an address comes to a socket that listens at another one.
fn leads_back(own: SocketAddr, to: SocketAddr) -> bool {
    let (here, there) = (own.ip().to_canonical(), to.ip().to_canonical());
    // An address at which one can listen is one of this machine.
    let is_local = || Socket::bind(SocketAddr::new(to.ip(), 0)).is_ok();
    let is_same =
        here == there || here.is_unspecified() && is_local() || there.is_unspecified() && here.is_loopback();
    own.port() == to.port() && is_same
}

/// Writes a datagram as a packet of IPv4 between two hosts, which may be fragmented, so that nobody is told where it is too big; `path`
/// stands for its source port. `false`: it is too large for one.
fn enclose(packet: &mut Vec<u8>, [from, to]: [HostId; 2], ecn: u8, path: u16, payload: &[u8]) -> bool {
    let Ok(length) = u16::try_from(HEADERS + payload.len()) else { return false };
    packet.clear();
    packet.resize(HEADERS, 0);
    (packet[0], packet[1], packet[8], packet[9]) = (0x45, ecn, u8::MAX, UDP);
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[12..16].copy_from_slice(&v4(from).octets());
    packet[16..20].copy_from_slice(&v4(to).octets());
    packet[20..22].copy_from_slice(&path.to_be_bytes());
    packet[24..26].copy_from_slice(&(length - 20).to_be_bytes());
    packet.extend_from_slice(payload);
    true
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "no address")
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "a relay stands between real sockets")]
mod tests {
    use super::*;
    use farspan_scenario::Request;
    use farspan_world::World;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn spec(extra: &str) -> Spec {
        let text = format!(
            "host.jitter = \"0ns\"\ntopology = {{ kind = \"star\", hosts = 2, link_rate = \"100Mbps\", link_delay = \"5ms\" }}\n{extra}"
        );
        let request = Request { text: Some(text), is_idle: true, ..Request::new("relay") };
        World::idle(&request.resolve().unwrap()).unwrap().spec
    }

    /// The longest silence of a relay whose machine is busy.
    const QUIET: std::time::Duration = std::time::Duration::from_secs(2);

    /// Sends numbers through a relay to a server that echoes them; gives those that came back, and the shortest round trip.
    fn echoes(spec: &Spec, count: u8) -> (Vec<u8>, std::time::Duration) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut relay =
            Relay::bind(spec, "127.0.0.1:0", &server.local_addr().unwrap().to_string(), 0, 1).unwrap();
        let (address, is_over) = (relay.address().unwrap(), AtomicBool::new(false));
        server.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = [0; 64];
                while !is_over.load(Ordering::Relaxed) {
                    if let Ok((length, from)) = server.recv_from(&mut buffer) {
                        server.send_to(&buffer[..length], from).unwrap();
                    }
                }
            });
            scope.spawn(|| relay.run(|| is_over.load(Ordering::Relaxed)));
            let client = UdpSocket::bind("127.0.0.1:0").unwrap();
            client.set_read_timeout(Some(QUIET)).unwrap();
            let began = farspan_world::clock::now();
            (0..count).for_each(|n| drop(client.send_to(&[n, 7], address)));
            let (mut back, mut buffer, mut first) = (Vec::new(), [0; 64], None);
            while back.len() < usize::from(count)
                && let Ok(length) = client.recv(&mut buffer)
            {
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

    /// Sends numbered datagrams through a relay, each ECT(0) (RFC 3168), to a server; gives what came there, in order.
    fn arrivals(spec: &Spec, seed: Option<u64>, count: u8) -> Vec<(u8, Option<EcnCodepoint>)> {
        let mut server = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let onward = server.address().unwrap().to_string();
        let mut relay = Relay::bind(spec, "127.0.0.1:0", &onward, 0, spec.network.hosts - 1).unwrap();
        seed.into_iter().for_each(|seed| relay.spray(seed));
        let (to, is_over) = (relay.address().unwrap(), AtomicBool::new(false));
        let client = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| relay.run(|| is_over.load(Ordering::Relaxed)));
            for n in 0..count {
                let bytes = [&[n][..], &[0; 999]].concat();
                assert!(client.send(to, Some(EcnCodepoint::Ect0), &bytes));
            }
            let mut quiet = 0;
            while seen.len() < usize::from(count) && quiet < 200 {
                let came = server.receive(|_, ecn, bytes| seen.push((bytes[0], ecn))).unwrap();
                quiet = if came > 0 { 0 } else { quiet + 1 };
                std::thread::park_timeout(std::time::Duration::from_millis(10));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        seen
    }

    #[test]
    fn marks_of_ports_reach_the_server() {
        let ports = |marking: &str| {
            format!("scheme = {{ name = \"dctcp\", ports = {{ {marking}, at = \"enqueue\" }} }}\n")
        };
        let plain = arrivals(&spec(&ports("marking = \"red\", red = { min = 0.98, max = 0.99 }")), None, 20);
        assert_eq!(plain, (0..20).map(|n| (n, Some(EcnCodepoint::Ect0))).collect::<Vec<_>>());
        // A port that marks whatever finds a queue; the relay reads a burst at once, which waits at its host, and not there.
        let slow = "[[fault]]\nkind = \"rate\"\nlink = \"tor0->host1#0\"\nrate = \"5Mbps\"\n";
        let text = ports("marking = \"red\", red = { min = 0.0001, max = 0.0002 }") + slow;
        let marked = arrivals(&spec(&text), None, 20);
        assert_eq!(marked.len(), 20);
        assert!(marked.iter().filter(|(_, ecn)| *ecn == Some(EcnCodepoint::Ce)).count() >= 10, "{marked:?}");
    }

    #[test]
    fn sprayed_datagrams_overtake_each_other_and_others_do_not() {
        // One of two ways is ten times slower.
        let text = r#"
host.jitter = "0ns"
topology = { kind = "leaf_spine", leaves = 2, spines = 2, hosts = 1, link_rate = "100Mbps", link_delay = "1ms" }
[[fault]]
kind = "rate"
link = "*->spine0#0"
rate = "10Mbps"
"#;
        let request = Request { text: Some(text.to_owned()), is_idle: true, ..Request::new("relay") };
        let spec = World::idle(&request.resolve().unwrap()).unwrap().spec;
        let order = |seed| arrivals(&spec, seed, 40).into_iter().map(|(n, _)| n).collect::<Vec<_>>();
        assert_eq!(order(None), (0..40).collect::<Vec<_>>());
        let mut sprayed = order(Some(7));
        assert_ne!(sprayed, (0..40).collect::<Vec<_>>(), "some overtake others");
        sprayed.sort_unstable();
        assert_eq!(sprayed, (0..40).collect::<Vec<_>>(), "and each comes once");
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
        assert!(error("127.0.0.1:0", "127.0.0.1:0", 0, 1).contains("port 0"));
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for (listen, onward) in [
            ("127.0.0.1", "127.0.0.1"),
            ("0.0.0.0", "127.0.0.1"),
            ("127.0.0.1", "0.0.0.0"),
            ("[::]", "127.0.0.1"),
        ] {
            let [near, far] = [listen, onward].map(|host| format!("{host}:{port}"));
            let error = Relay::bind(&spec(""), &near, &far, 0, 1).unwrap_err().to_string();
            assert!(error.contains("relay's own address"), "{listen} to {onward}: {error}");
        }
    }

    /// Sends datagrams of these lengths through a relay to a server; gives those that came, and what the relay says.
    fn lengths(spec: &Spec, listen: &str, sent: &[usize]) -> (Vec<usize>, RelaySummary) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        server.set_read_timeout(Some(QUIET)).unwrap();
        let onward = server.local_addr().unwrap().to_string();
        let mut relay = Relay::bind(spec, listen, &onward, 0, 1).unwrap();
        let (address, is_over) = (relay.address().unwrap(), AtomicBool::new(false));
        let mut came = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| relay.run(|| is_over.load(Ordering::Relaxed)));
            let client = UdpSocket::bind(SocketAddr::new(address.ip(), 0)).unwrap();
            let payload = vec![7; 65_527];
            for length in sent {
                client.send_to(&payload[..*length], address).unwrap();
            }
            let mut buffer = vec![0; 65_536];
            while let Ok(length) = server.recv(&mut buffer) {
                came.push(length);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        (came, relay.summary())
    }

    #[test]
    fn an_empty_datagram_crosses_and_one_that_is_too_large_is_counted() {
        let spec = spec("transport = { payload = \"1436B\", header = \"64B\" }\n");
        // The MTU is 1,500 bytes, and headers have 28; a packet of IPv4 holds 65,507 at most.
        let (came, summary) = lengths(&spec, "[::1]:0", &[0, 1, 1472, 1473, 8000, 65_507, 65_508, 65_527]);
        assert_eq!(came, [0, 1, 1472]);
        let packets = summary.packets;
        assert_eq!((packets.read, packets.delivered, packets.too_big, packets.answered), (8, 3, 5, 0));
        assert!(packets.conserved());
    }

    #[test]
    fn a_trimmed_datagram_is_counted_and_not_handed_on() {
        let text = r#"
host.jitter = "0ns"
scheme = { name = "ndp", ports = { overflow = "trim" } }
topology = { kind = "star", hosts = 2, link_rate = "100Mbps", link_delay = "5ms", buffer = "10KB" }
[[fault]]
kind = "rate"
link = "tor0->host1#0"
rate = "10Mbps"
"#;
        let request = Request { text: Some(text.to_owned()), is_idle: true, ..Request::new("relay") };
        let spec = World::idle(&request.resolve().unwrap()).unwrap().spec;
        let (came, summary) = lengths(&spec, "127.0.0.1:0", &[1000; 200]);
        assert!(came.iter().all(|length| *length == 1000));
        let packets = summary.packets;
        assert!(summary.trimmed > 0 && summary.trimmed == packets.refused, "{summary:?}");
        assert!(packets.delivered >= came.len() as u64 && packets.conserved(), "{summary:?}");
    }
}
