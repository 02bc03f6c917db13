//! Programs at the hosts of an emulation that measure the kernel's TCP.

use super::clock::{monotonic_ns, sleep_until, timespec};
use super::sys::tcp_info;
use farspan_metrics::median;
use farspan_units::{Bytes, Duration};
use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

/// Where a network namespace shows its settings to those who are in it.
const FOLDER: &str = "/proc/sys/net/ipv4";
/// The port at which a sink takes connections.
const PORT: u16 = 7000;
/// Connections that may wait for a sink.
const BACKLOG: i32 = 128;
/// Bytes of a write, and of a read.
const WRITE: usize = 1 << 16;
const READ: usize = 1 << 20;
/// How often flows are looked at.
const SAMPLE: Duration = Duration::from_ms(100);
/// The pause before each message.
const PAUSE: Duration = Duration::from_ms(200);
/// The most of its busy time for which a window or buffer of the hosts may hold a flow back.
const MOST_HELD: f64 = 0.01;
/// Settings of a host: connections learn nothing from those before, packets have time stamps, and buffers hold what a network does.
const SETTINGS: [(&str, &str); 4] = [
    ("tcp_no_metrics_save", "1"),
    ("tcp_timestamps", "1"),
    ("tcp_rmem", "4096 33554432 33554432"),
    ("tcp_wmem", "4096 33554432 33554432"),
];
/// How long a connection may take to come about.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Flows that send all the time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flows {
    /// Their control; `None`: that of the route or of the namespace.
    pub control: Option<String>,
    /// The host of the sink.
    pub to: Ipv4Addr,
    /// How many there are.
    pub count: usize,
    /// When they begin, after the program.
    pub start: Duration,
    /// From when on they are measured.
    pub since: Duration,
    /// When they end.
    pub until: Duration,
}

/// The numbers of flows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowsFound {
    /// The control that they had.
    pub control: String,
    /// The rate of each, by what was acknowledged while it was measured, in bit/s.
    pub bps: Vec<f64>,
    /// The median of their smoothed round trips, sampled ten times a second, in ms.
    pub rtt_ms: f64,
    /// The packets for which an ACK speaks in the mean. A super-packet counts with all its segments.
    pub packets_per_ack: f64,
    /// The mean time between two ACKs of a flow, in us.
    pub ack_gap_us: f64,
    /// Why the numbers do not count, if they do not: a window of the receiver or a buffer of the sender held a flow back for more than 1%
    /// of its busy time.
    pub held_back: Option<String>,
}

/// Messages on new connections, one after another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Messages {
    /// Their control.
    pub control: String,
    /// The host of the sink.
    pub to: Ipv4Addr,
    /// Their size.
    pub size: Bytes,
    /// How many there are.
    pub count: usize,
}

/// The numbers of messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MessagesFound {
    /// The control that they had.
    pub control: String,
    /// From connecting until the receiver has closed, in ms.
    pub ms: Vec<f64>,
    /// As of [`FlowsFound`].
    pub held_back: Option<String>,
}

/// The part of `struct tcp_info` (linux/tcp.h) that is looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Info {
    rtt_us: u32,
    bytes_acked: u64,
    /// Packets that came: ACKs, where nothing else is sent back.
    segs_in: u32,
    delivered: u32,
    busy_us: u64,
    /// The larger of the times in which the receiver's window and the sender's buffer were in the way.
    held_us: u64,
}

impl Info {
    fn of(socket: &Socket) -> io::Result<Self> {
        let raw = tcp_info(socket.as_fd())?;
        let u32_at = |at: usize| u32::from_ne_bytes(std::array::from_fn(|n| raw[at + n]));
        let u64_at = |at: usize| u64::from_ne_bytes(std::array::from_fn(|n| raw[at + n]));
        Ok(Self {
            rtt_us: u32_at(68),
            bytes_acked: u64_at(120),
            segs_in: u32_at(140),
            delivered: u32_at(192),
            busy_us: u64_at(168),
            held_us: u64_at(176).max(u64_at(184)),
        })
    }

    /// The share of its busy time in which the receiver's window or the sender's buffer was in the way.
    fn held(&self) -> f64 {
        self.held_us as f64 / self.busy_us.max(1) as f64
    }
}

fn held_back(share: f64) -> Option<String> {
    (share > MOST_HELD)
        .then(|| format!("windows or buffers of hosts held it back for {:.1}% of its time", 100.0 * share))
}

/// The network namespace of a process; `None`: a container may not let the first process be looked at.
fn network(process: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

/// Whether this thread is in the namespace of the machine's first process. A thread has one of its own while it is at a host.
fn is_whole_machine(first: &Path) -> bool {
    network("thread-self").is_some_and(|own| own == first)
}

/// Sets the host at which this process is up for measurements of TCP. A control that is an eBPF program is to be named: both ends need it,
/// and ECN.
///
/// # Errors
/// If a setting is refused, such as without root, or this process is at no host.
pub fn prepare_host(control: Option<&str>) -> io::Result<()> {
    if network("1").is_some_and(|first| is_whole_machine(&first)) {
        return Err(io::Error::other(
            "this is not a host of an emulation, and settings would be the whole machine's: run it by `farspan emu exec`",
        ));
    }
    let own = control.into_iter().flat_map(|name| [("tcp_congestion_control", name), ("tcp_ecn", "1")]);
    for (key, value) in SETTINGS.into_iter().chain(own) {
        let refused = |error: io::Error| io::Error::new(error.kind(), format!("{key}={value}: {error}"));
        // This opens what is there, and makes no file.
        let file = std::fs::OpenOptions::new().write(true).open(Path::new(FOLDER).join(key));
        file.and_then(|mut file| file.write_all(value.as_bytes())).map_err(refused)?;
    }
    Ok(())
}

/// Takes connections, and reads what comes, until the process ends. `ready` is called when it can.
///
/// # Errors
/// If the port cannot be had.
#[expect(clippy::disallowed_methods, reason = "the threads end with the process, as this does")]
pub fn sink(ready: impl FnOnce()) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address(Ipv4Addr::UNSPECIFIED))?;
    socket.listen(BACKLOG)?;
    ready();
    loop {
        let (mut connection, _) = socket.accept()?;
        std::thread::spawn(move || {
            let mut buffer = vec![0; READ];
            // A sender that is done breaks off, so that no queue is left.
            while connection.read(&mut buffer).is_ok_and(|length| length > 0) {}
        });
    }
}

/// Sends, and measures.
///
/// # Errors
/// If a flow cannot connect, or breaks off.
pub fn send_flows(flows: &Flows) -> io::Result<FlowsFound> {
    let began = monotonic_ns();
    sleep_until(began + flows.start.as_ns());
    let connect = |_| {
        let socket = connected(flows.control.as_deref(), flows.to)?;
        // Closing breaks off.
        socket.set_linger(Some(std::time::Duration::ZERO))?;
        socket.set_nonblocking(true)?;
        Ok::<_, io::Error>(socket)
    };
    let sockets = (0..flows.count).map(connect).collect::<Result<Vec<_>, _>>()?;
    let look = || sockets.iter().map(Info::of).collect::<Result<Vec<_>, _>>();
    let (mut first, mut rtts, payload) = (None, Vec::new(), vec![0; WRITE]);
    let (until, mut next) = (began + flows.until.as_ns(), began + flows.since.as_ns());
    while monotonic_ns() < until {
        if monotonic_ns() >= next {
            let (now, infos) = (monotonic_ns(), look()?);
            rtts.extend(infos.iter().map(|info| f64::from(info.rtt_us)));
            first.get_or_insert((now, infos));
            next += SAMPLE.as_ns();
        }
        let mut fds: Vec<_> =
            sockets.iter().map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)).collect();
        poll(&mut fds, Some(&timespec(SAMPLE.as_ns() / 2)))?;
        let ready = fds.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>();
        for (mut socket, _) in sockets.iter().zip(ready).filter(|(_, is_ready)| *is_ready) {
            match socket.write(&payload) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }
    let (now, last) = (monotonic_ns(), look()?);
    rtts.sort_by(f64::total_cmp);
    let (first_at, first) = first.ok_or_else(|| io::Error::other("they end before they are measured"))?;
    let seconds = (now - first_at) as f64 / 1e9;
    let bps = |(last, first): (&Info, &Info)| (last.bytes_acked - first.bytes_acked) as f64 * 8.0 / seconds;
    let since = |of: fn(&Info) -> u32| {
        let both = last.iter().zip(&first);
        both.map(|(last, first)| f64::from(of(last).wrapping_sub(of(first)))).sum::<f64>()
    };
    let (acks, delivered) = (since(|info| info.segs_in).max(1.0), since(|info| info.delivered));
    Ok(FlowsFound {
        control: control_of(sockets.first().ok_or_else(|| io::Error::other("there is no flow"))?)?,
        bps: last.iter().zip(&first).map(bps).collect(),
        rtt_ms: median(&rtts) / 1e3,
        packets_per_ack: delivered / acks,
        ack_gap_us: seconds * 1e6 * sockets.len() as f64 / acks,
        held_back: held_back(last.iter().map(Info::held).fold(0.0, f64::max)),
    })
}

/// Sends messages, and waits for each until its receiver has it.
///
/// # Errors
/// If one cannot connect, or breaks off.
pub fn send_messages(messages: &Messages) -> io::Result<MessagesFound> {
    let payload = vec![0; messages.size.get() as usize];
    let (mut ms, mut control, mut held) = (Vec::new(), messages.control.clone(), 0.0_f64);
    for _ in 0..messages.count {
        sleep_until(monotonic_ns() + PAUSE.as_ns());
        let began = monotonic_ns();
        let mut socket = connected(Some(&messages.control), messages.to)?;
        socket.write_all(&payload)?;
        socket.shutdown(Shutdown::Write)?;
        let mut buffer = [0; 4096];
        while socket.read(&mut buffer)? > 0 {}
        ms.push((monotonic_ns() - began) as f64 / 1e6);
        (control, held) = (control_of(&socket)?, held.max(Info::of(&socket)?.held()));
    }
    Ok(MessagesFound { control, ms, held_back: held_back(held) })
}

fn address(to: Ipv4Addr) -> SockAddr {
    SocketAddr::V4(SocketAddrV4::new(to, PORT)).into()
}

fn connected(control: Option<&str>, to: Ipv4Addr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if let Some(control) = control {
        socket.set_tcp_congestion(control.as_bytes())?;
    }
    socket.connect_timeout(&address(to), PATIENCE)?;
    Ok(socket)
}

/// The kernel may have given it another.
fn control_of(socket: &Socket) -> io::Result<String> {
    let name = socket.tcp_congestion()?;
    Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_the_first_namespace_is_no_host() {
        let own = network("thread-self").unwrap();
        assert!(is_whole_machine(&own) && !is_whole_machine(Path::new("net:[1]")));
    }

    #[test]
    fn what_hosts_hold_back_for_more_than_a_hundredth_does_not_count() {
        assert_eq!(held_back(0.009), None);
        assert!(held_back(0.02).unwrap().contains("2.0%"));
    }

    #[test]
    fn flows_and_messages_cross_the_loopback_device() {
        let control = Some("reno".to_owned());
        let flows = Flows {
            control,
            to: Ipv4Addr::LOCALHOST,
            count: 2,
            start: Duration::from_ms(10),
            since: Duration::from_ms(100),
            until: Duration::from_ms(400),
        };
        // Nobody reads: the window of the receiver is in the way.
        let silent = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        silent.set_reuse_address(true).unwrap();
        silent.bind(&address(Ipv4Addr::LOCALHOST)).unwrap();
        silent.listen(BACKLOG).unwrap();
        assert!(send_flows(&flows).unwrap().held_back.is_some());
        drop(silent);
        let (to, from) = std::sync::mpsc::channel();
        #[expect(clippy::disallowed_methods, reason = "it ends with the process of the test")]
        std::thread::spawn(move || sink(|| to.send(()).unwrap()));
        from.recv().unwrap();
        let found = send_flows(&flows).unwrap();
        assert_eq!((found.control.as_str(), found.bps.len()), ("reno", 2));
        assert!(found.bps.iter().all(|bps| *bps > 1e6) && found.rtt_ms > 0.0, "{found:?}");
        // Receivers also say how their windows grow: there may be more ACKs than packets.
        assert!((0.1..1000.0).contains(&found.packets_per_ack) && found.ack_gap_us > 0.0, "{found:?}");
        let messages = Messages {
            control: "reno".to_owned(),
            to: Ipv4Addr::LOCALHOST,
            size: Bytes::new(100_000),
            count: 2,
        };
        let found = send_messages(&messages).unwrap();
        assert_eq!((found.control.as_str(), found.ms.len()), ("reno", 2));
        let refused = Flows { control: Some("nonsense".to_owned()), ..flows };
        assert_eq!(send_flows(&refused).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
