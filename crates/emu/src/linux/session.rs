//! An emulation from `up` to `down`, in the process that moves its packets.

use super::clock::{ProcessorTime, monotonic_ns, sleep_until};
use super::host_queue::{self, QueueCounts};
use super::name::{Name, NameError, Namespace, remove_empty_folders};
use super::namespace::{self, NamespaceError};
use super::recorder;
use super::state::{Facts, Folder, Held, HostFacts, Verdict};
use super::sys::{packet_socket, run_in_real_time};
use super::tun::Tun;
use super::tun_loop::{PRIORITY, TunLoop};
use super::{probe, processor};
use crate::address::{v4, v6};
use crate::engine::{Engine, LARGEST_PACKET, Observer, PathTable};
use crate::lateness::{Bound, Judge, Paths};
use farspan_fabric::fault::FaultKind;
use farspan_scenario::Resolved;
use farspan_sim::Trace;
use farspan_units::{Bytes, Duration, HostId, PortId, Rate, Time};
use farspan_world::{Results, World};
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Hosts of an emulation, at most: each is a namespace, and the loop looks at the device of each.
pub const MOST_HOSTS: u32 = 256;

/// The least MTU: below it IPv4 itself need not work (RFC 791).
const LEAST_MTU: Bytes = Bytes::new(68);

/// The file of captured packets, in the folder of the results.
const CAPTURE: &str = "trace/ports.pcapng";

/// How often the main thread looks whether it is to stop.
const LOOK: Duration = Duration::from_ms(20);

/// For so long the queues of hosts may take to become empty.
const LONGEST_EMPTYING: Duration = Duration::from_ms(500);

/// Why an emulation cannot come up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpError {
    /// The name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It takes root.
    #[error(
        "network namespaces need root: run `sudo farspan emu up ...`, or use a container of your own with CAP_NET_ADMIN, \
         CAP_NET_RAW and CAP_SYS_ADMIN"
    )]
    NotRoot,
    /// There is no TUN.
    #[error(
        "/dev/net/tun cannot be opened ({0}): load the module (`modprobe tun`), or give the container the device"
    )]
    NoTun(#[source] io::Error),
    /// There are no packet sockets, by which probes are sent.
    #[error(
        "packet sockets cannot be opened ({0}): give the container CAP_NET_RAW, or load the module (`modprobe af_packet`)"
    )]
    NoPacketSocket(#[source] io::Error),
    /// One of this name is up.
    #[error(
        "an emulation {name} is already running: stop it with `farspan emu down --name {name}`, or start another one with --name NAME"
    )]
    Up {
        /// The name.
        name: Name,
    },
    /// It has too many hosts, or too few.
    #[error(
        "the scenario has {hosts} hosts, but an emulation can have 2 to {MOST_HOSTS}: choose a smaller topology, such as \
         --set topology.hosts=4"
    )]
    Hosts {
        /// How many it has.
        hosts: u32,
    },
    /// The scenario's packets cannot be those of a device.
    #[error(
        "packets have {mtu} (transport.payload + transport.header), but a device takes {LEAST_MTU} to {LARGEST_PACKET}; \
         change transport.payload"
    )]
    Mtu {
        /// Their size.
        mtu: Bytes,
    },
    /// A namespace, a device or an address cannot be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The folder of the emulation cannot be written.
    #[error("{}: cannot be written ({source})", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Whether this machine, and this user, can run emulations at all.
///
/// # Errors
/// What is missing: root, TUN, packet sockets or iproute2.
pub fn check() -> Result<(), UpError> {
    if !rustix::process::geteuid().is_root() {
        return Err(UpError::NotRoot);
    }
    Tun::check().map_err(UpError::NoTun)?;
    packet_socket().map_err(UpError::NoPacketSocket)?;
    Ok(namespace::check()?)
}

/// Whether a world can be emulated.
///
/// # Errors
/// If it has too many hosts, or packets that no device takes.
pub fn fits(world: &World) -> Result<(), UpError> {
    let hosts = world.spec.network.hosts;
    if !(2..=MOST_HOSTS).contains(&hosts) {
        return Err(UpError::Hosts { hosts });
    }
    let mtu = mtu(world);
    if !(LEAST_MTU..=LARGEST_PACKET).contains(&mtu) { Err(UpError::Mtu { mtu }) } else { Ok(()) }
}

fn mtu(world: &World) -> Bytes {
    world.spec.mss + world.spec.header
}

/// An emulation that is up.
#[derive(Debug)]
pub struct Session {
    name: Name,
    facts: Facts,
    folder: Folder,
    held: Held,
    tun_loop: TunLoop,
    sockets: probe::Sockets,
}

impl Session {
    /// Makes the namespaces of a world's hosts, and the network between them. `out`: where its results will go, and the packets of
    /// ports that the world [traces](World::trace). What an
    /// emulation of this name has left that was killed goes.
    ///
    /// # Errors
    /// If something is missing, or one of this name is up. Nothing of it is left then.
    pub fn up(
        name: &Name,
        resolved: &Resolved,
        world: &World,
        out: Option<PathBuf>,
    ) -> Result<Self, UpError> {
        check()?;
        fits(world)?;
        let folder = Folder::of(name);
        let io = |source| UpError::Io { path: name.folder(), source };
        folder.settle();
        let held = folder.hold().map_err(io)?.ok_or_else(|| UpError::Up { name: name.clone() })?;
        held.before.into_iter().for_each(namespace::end_orphans);
        folder.begin().map_err(io)?;
        namespace::remove(&name.namespaces())?;
        let paths = Paths::new(&world.spec);
        let facts = Facts {
            processor: processor::choose(&taken_processors(name)),
            is_real_time: can_run_in_real_time(),
            shortest_rtt_us: paths.shortest_rtt().as_us_f64(),
            ..facts(name, resolved, world, out)
        };
        let result = Self::equip(name, &facts, world).and_then(|(tuns, sockets, has_host_queues)| {
            let facts = Facts { has_host_queues, ..facts };
            folder.write_facts(&facts).map_err(io)?;
            Ok((tuns, sockets, facts))
        });
        let (tuns, sockets, facts) = match result {
            Ok(equipped) => equipped,
            Err(error) => {
                // If something stays, `down` removes it.
                let _ = clear(name, held);
                return Err(error);
            }
        };
        let judge = Judge::new(Bound::of_rtt(paths.shortest_rtt()));
        let tun_loop = TunLoop::new(Engine::new(&world.spec), judge, tuns, paths);
        Ok(Self { name: name.clone(), facts, folder, held, tun_loop, sockets })
    }

    /// The hosts: their devices, the sockets of probes, and whether queues lie before the devices.
    fn equip(name: &Name, facts: &Facts, world: &World) -> Result<(Vec<Tun>, probe::Sockets, bool), UpError> {
        let (namespaces, text, mtu) = (facts.namespaces(name), facts.names(), mtu(world));
        namespace::create(&namespaces)?;
        let hosts = (0..).map(HostId).zip(&namespaces);
        let tuns = hosts.map(|(host, namespace)| namespace::equip(namespace, host, mtu, &text));
        let tuns = tuns.collect::<Result<Vec<_>, _>>()?;
        let network = &world.spec.network;
        let queues = namespaces.iter().zip(&network.first_port).map(|(namespace, port)| {
            host_queue::equip(&namespace.to_string(), fastest(world, PortId(*port)), mtu)
        });
        let queues = queues.collect::<Result<Vec<_>, _>>()?;
        let no_socket = "cannot be entered, or no socket sends past the queue of its device";
        let sockets =
            namespaces.iter().map(|namespace| namespace::inside(namespace, no_socket, probe::socket));
        Ok((tuns, sockets.collect::<Result<Vec<_>, _>>()?, queues.into_iter().all(|is_there| is_there)))
    }

    /// Its facts.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Lets a table choose the links of the flows that it names.
    pub fn choose_paths(&mut self, table: PathTable) {
        self.tun_loop.engine.choose_paths(table);
    }

    /// Shows what hosts send, and what happens to packets at ports, to `observer`, on the thread that moves them: it must be quick.
    pub fn observe(&mut self, observer: Observer) {
        self.tun_loop.engine.observe(observer);
    }

    /// Moves packets until `is_over` says so; gives the results of the time since.
    pub fn run(mut self, resolved: &Resolved, world: &World, is_over: impl Fn() -> bool) -> Finished {
        let (stop, due, state) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(None));
        let (before, processors) = (self.drops(), ProcessorTime::now());
        let file = self.facts.out.as_ref().map(|out| out.join(CAPTURE));
        let file = file.filter(|_| !world.spec.trace.ports.is_empty());
        let comment = format!(
            "emulation of {}, ports of {}, seed {}",
            self.facts.scenario, self.facts.scheme, self.facts.seed
        );
        let processor = self.facts.processor;
        processor::stay_off(processor);
        let (ended, recorded) = std::thread::scope(|scope| {
            let (tun_loop, sockets) = (&mut self.tun_loop, &self.sockets);
            let recorder = file.as_ref().map(|file| {
                let (to, from) = std::sync::mpsc::sync_channel(recorder::MOST_WAITING);
                tun_loop.engine.capture(world.spec.trace.ports.iter().copied(), to);
                scope.spawn(move || recorder::record(&world.spec, &comment, file, &from))
            });
            let (stop, state, due) = (&stop, &state, &due);
            let mover = scope.spawn(move || {
                processor::stay_on(processor);
                Captures(tun_loop).0.run(stop, state);
            });
            scope.spawn(move || {
                processor::stay_on(processor);
                probe::send(sockets, stop, due, PRIORITY + 1);
            });
            while !is_over() && !mover.is_finished() {
                std::thread::park_timeout(std::time::Duration::from_nanos(LOOK.as_ns()));
                let said = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
                // What nobody asks for may be missing.
                let _ = said.map(|said| self.folder.write_state(&said));
            }
            // They send no more, so that all they have sent is read.
            let ended = namespace::end_programs(&self.facts.namespaces(&self.name));
            stop.store(true, Ordering::Relaxed);
            mover.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let recorded = recorder.map(std::thread::ScopedJoinHandle::join);
            let recorded = recorded
                .map_or(Ok(()), |recorded| recorded.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            (ended, recorded)
        });
        let end = self.tun_loop.now();
        self.tun_loop.engine.advance(end);
        let uncounted = self.count_at_hosts();
        self.tun_loop.judge.probes = due.into_inner();
        match before.and_then(|before| Ok(self.drops()?.saturating_sub(before))) {
            Ok(drops) => self.tun_loop.judge.unread_drops = drops,
            Err(error) => {
                let failure = format!("packets that devices dropped could not be counted: {error}");
                self.tun_loop.judge.failure.get_or_insert(failure);
            }
        }
        self.tun_loop.judge.steal_share =
            processors.zip(ProcessorTime::now()).map(|(before, after)| after.stolen_since(before));
        let mut finished = self.finish(resolved, world, end);
        let warnings = &mut finished.results.summary.warnings;
        warnings.extend(uncounted);
        warnings
            .extend(ended.err().map(|error| format!("packets sent after the end are not counted: {error}")));
        if let Err(error) = recorded {
            warnings.push(format!("{CAPTURE}: cannot be written ({error})"));
        }
        finished
    }

    /// Counts the packets that hosts have sent and the network has not seen: those that still wait at them, and those that their queues
    /// dropped. Gives a warning for each host whose queue does not say.
    fn count_at_hosts(&mut self) -> Vec<String> {
        let namespaces = self.facts.namespaces(&self.name);
        // One whose namespace is gone took its packets with it.
        let hosts = (0..).map(HostId).zip(&namespaces).filter(|(_, namespace)| namespace.file().exists());
        let (mut left, mut warnings) = (Vec::new(), Vec::new());
        for (host, namespace) in hosts {
            let namespace = namespace.to_string();
            match host_queue::counts(&namespace) {
                Ok(counts) => left.push((host, namespace, counts)),
                Err(error) => {
                    warnings.push(format!("packets that waited at host {} are not counted: {error}", host.0));
                }
            }
        }
        // Packets that move meanwhile could be counted twice, or not at all: all that can go does.
        for (_, namespace, _) in left.iter().filter(|(.., counts)| counts.packets > 0) {
            // Packets that do not go are counted where they wait.
            let _ = host_queue::open(namespace);
        }
        let until = monotonic_ns() + LONGEST_EMPTYING.as_ns();
        while left.iter().any(|(.., counts)| counts.packets > 0) && monotonic_ns() < until {
            sleep_until(monotonic_ns() + LOOK.as_ns());
            self.tun_loop.count_at_hosts();
            for (_, namespace, counts) in left.iter_mut().filter(|(.., counts)| counts.packets > 0) {
                *counts = host_queue::counts(namespace).unwrap_or(*counts);
            }
        }
        self.tun_loop.count_at_hosts();
        for (host, _, QueueCounts { packets, dropped }) in left {
            self.tun_loop.engine.count_at_host(host, packets, dropped);
        }
        warnings
    }

    /// Packets that devices have dropped so far.
    fn drops(&self) -> Result<u64, NamespaceError> {
        let namespaces = self.facts.namespaces(&self.name);
        // One whose namespace is gone took its packets with it.
        let there = namespaces.iter().filter(|namespace| namespace.file().exists());
        there.map(namespace::unread_drops).sum()
    }

    fn finish(mut self, resolved: &Resolved, world: &World, end: Time) -> Finished {
        let verdict = self.tun_loop.verdict(end);
        let outcome = self.tun_loop.engine.outcome(end);
        // Real packets have a file of their own.
        let mut world = world.clone();
        world.spec.trace = Trace::default();
        let mut results = Results::of(resolved, &world, ("emulated", 1), outcome);
        results.summary.packets = self.tun_loop.engine.sums();
        let void = verdict.void.then(|| format!("the emulation is void: {}", verdict.reasons.join("; ")));
        results.summary.warnings.extend(void);
        results.summary.warnings.extend_from_slice(self.tun_loop.engine.warnings());
        results.summary.emulation = Some(verdict);
        Finished { results, folder: self.folder, _held: self.held }
    }
}

/// A loop whose captures end with its run, however that ends: who writes them waits for the end.
struct Captures<'a>(&'a mut TunLoop);

impl Drop for Captures<'_> {
    fn drop(&mut self) {
        self.0.engine.end_capture();
    }
}

/// An emulation that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its results, as those of a run.
    pub results: Results,
    folder: Folder,
    /// Whoever waits for the verdict waits for the end of the lock.
    _held: Held,
}

impl Finished {
    /// Leaves the verdict for the command that ends the emulation. `summary`: in words; `unwritten`: why results could not be
    /// written, if they could not.
    ///
    /// # Errors
    /// If its folder cannot be written.
    pub fn leave_verdict(&self, summary: String, unwritten: Option<String>) -> io::Result<()> {
        let judged = self.results.summary.emulation.clone().unwrap_or_default();
        let verdict = Verdict { void: judged.void, reasons: judged.reasons, summary, unwritten };
        self.folder.write_verdict(&verdict)
    }
}

/// The rate of a link, or the largest that a fault gives it.
fn fastest(world: &World, link: PortId) -> Rate {
    let faults = world.spec.faults.iter().filter(|fault| fault.links.contains(&link));
    let rates = faults.filter_map(|fault| match fault.kind {
        FaultKind::Rate(rate) => Some(rate),
        _ => None,
    });
    rates.fold(world.spec.network.links[link.index()].rate, Rate::max)
}

fn facts(name: &Name, resolved: &Resolved, world: &World, out: Option<PathBuf>) -> Facts {
    let (network, mtu) = (&world.spec.network, mtu(world));
    let namespace = |host| name.namespace(host).to_string();
    let host = |host: u32| HostFacts {
        name: network.nodes[host as usize].name.clone(),
        namespace: namespace(host),
        v4: v4(HostId(host)).to_string(),
        v6: (mtu >= namespace::LEAST_V6_MTU).then(|| v6(HostId(host)).to_string()),
    };
    Facts {
        name: name.to_string(),
        pid: std::process::id(),
        scenario: resolved.name().to_owned(),
        scheme: resolved.scheme().to_owned(),
        seed: resolved.seed(),
        mtu: mtu.get(),
        out,
        processor: None,
        is_real_time: false,
        has_host_queues: false,
        shortest_rtt_us: 0.0,
        hosts: (0..network.hosts).map(host).collect(),
    }
}

/// Ends what is left of an emulation: processes, namespaces, settings, its folder, its lock.
pub(super) fn clear(name: &Name, held: Held) -> Result<(), NamespaceError> {
    held.before.into_iter().for_each(namespace::end_orphans);
    let namespaces: Vec<Namespace> = name.namespaces();
    namespace::remove(&namespaces)?;
    let io = |source| NamespaceError::Io { path: name.folder(), task: "cannot be removed", source };
    Folder::of(name).remove().and_then(|()| held.remove()).map_err(io)?;
    remove_empty_folders();
    Ok(())
}

/// The processors of other emulations that are up.
fn taken_processors(name: &Name) -> Vec<usize> {
    let others = Name::known().into_iter().filter(|other| other != name).map(|other| Folder::of(&other));
    others.filter(Folder::is_up).filter_map(|other| other.facts().ok()?.processor).collect()
}

/// Whether a thread of this process may run under SCHED_FIFO.
fn can_run_in_real_time() -> bool {
    std::thread::scope(|scope| scope.spawn(|| run_in_real_time(PRIORITY).is_ok()).join()).unwrap_or(false)
}
