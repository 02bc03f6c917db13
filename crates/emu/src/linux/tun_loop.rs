//! The emulator's loop: one thread that sleeps until something is due or a host sends, and moves packets between devices and the engine.

use super::clock::{Clock, thread_cpu, timespec};
use super::probe::Probe;
use super::sys::run_in_real_time;
use super::tun::Tun;
use crate::engine::Engine;
use crate::lateness::{Judge, Paths};
use farspan_metrics::Emulation;
use farspan_units::{Duration, HostId, Time};
use rustix::event::{PollFd, PollFlags, poll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroU64;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The priority of this thread. That of probes is one above: they are late only if their common processor is held.
pub(super) const PRIORITY: i32 = 50;

/// The longest sleep: so soon a request to stop is seen, and so much of a stall can hide behind a sleep.
const LONGEST_SLEEP: Duration = Duration::from_ms(5);

/// The longest time in which packets are read that hosts have sent before the end.
const LONGEST_DRAIN: Duration = Duration::from_ms(500);

/// How often the state is published.
const PUBLISH: Duration = Duration::from_ms(500);

/// Packets that are read from one host before the next one is looked at.
const BATCH: usize = 32;

/// The longest packet that a device hands over.
const LONGEST: usize = 65_536;

/// A probe that waits for the end of its path: when it is due, and how late it was read.
type Waiting = Reverse<(Time, Duration)>;

/// Hosts' devices, the network between them, and what is seen of the emulation itself.
#[derive(Debug)]
pub(super) struct TunLoop {
    pub(super) engine: Engine,
    pub(super) judge: Judge,
    tuns: Vec<Tun>,
    paths: Paths,
    clock: Clock,
    probes: BinaryHeap<Waiting>,
    published: Time,
}

impl TunLoop {
    pub(super) fn new(engine: Engine, judge: Judge, tuns: Vec<Tun>, paths: Paths) -> Self {
        let clock = Clock::start();
        Self { engine, judge, tuns, paths, clock, probes: BinaryHeap::new(), published: Time::ZERO }
    }

    /// Time since the emulation is up.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Moves packets until `stop`. `state` is given what `status` shows.
    pub(super) fn run(&mut self, stop: &AtomicBool, state: &Mutex<Option<Emulation>>) {
        self.judge.is_real_time = run_in_real_time(PRIORITY).is_ok();
        // Others than real-time threads may be woken late, so that several are at once.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        // What came before is not late: it belongs to no emulation.
        self.clock = Clock::start();
        if let Err(error) = self.move_packets(stop, state) {
            self.judge.failure = Some(format!("the emulation broke off at {}: {error}", self.now()));
        }
        self.judge.cpu = thread_cpu();
    }

    fn move_packets(&mut self, stop: &AtomicBool, state: &Mutex<Option<Emulation>>) -> io::Result<()> {
        let tuns = std::mem::take(&mut self.tuns);
        let fd = |tun| PollFd::from_borrowed_fd(Tun::fd(tun), PollFlags::IN);
        // One per host; those whose devices are gone are looked at no more.
        let mut hosts: Vec<_> = (0..).map(HostId).zip(&tuns).collect();
        let mut fds: Vec<_> = tuns.iter().map(fd).collect();
        let mut buffer = vec![0; LONGEST];
        let mut awake_by = self.now();
        while !stop.load(Ordering::Relaxed) {
            let now = self.now();
            self.judge.stall = self.judge.stall.max(now.since(awake_by));
            let sleep = self.next_at().since(now).min(LONGEST_SLEEP);
            awake_by = now + sleep;
            match poll(&mut fds, Some(&timespec(sleep.as_ns()))) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.release(&tuns);
            let mut gone = Vec::new();
            for (fd, (host, tun)) in fds.iter().zip(&hosts) {
                if !fd.revents().is_empty() && self.read(*host, tun, &tuns, &mut buffer).is_err() {
                    gone.push(*host);
                }
            }
            if !gone.is_empty() {
                self.judge.gone += gone.len() as u64;
                hosts.retain(|(host, _)| !gone.contains(host));
                fds = hosts.iter().map(|(_, tun)| fd(tun)).collect();
            }
            self.publish(state);
        }
        self.judge.stall = self.judge.stall.max(self.now().since(awake_by));
        // What hosts have sent by now belongs to the run: it is read, so that no packet is without a fate.
        let until = self.now() + LONGEST_DRAIN;
        for (host, tun) in &hosts {
            while self.now() < until && self.read(*host, tun, &tuns, &mut buffer).is_ok_and(|count| count > 0)
            {
            }
        }
        self.release(&tuns);
        drop(fds);
        self.tuns = tuns;
        Ok(())
    }

    /// Counts what hosts have sent since the run ended: it counts as waiting at them.
    pub(super) fn count_at_hosts(&mut self) {
        let mut buffer = vec![0; LONGEST];
        for (host, tun) in (0..).map(HostId).zip(&self.tuns) {
            while let Ok(Some(length)) = tun.read(&mut buffer) {
                let is_probe = Probe::parse(&buffer[..length]).is_some();
                self.engine.count_at_host(host, u64::from(!is_probe), 0);
            }
        }
    }

    /// Reads what a host has sent, up to a batch; gives how many packets.
    fn read(&mut self, host: HostId, tun: &Tun, tuns: &[Tun], buffer: &mut [u8]) -> io::Result<usize> {
        for count in 0..BATCH {
            let Some(length) = tun.read(buffer)? else { return Ok(count) };
            self.take(host, &buffer[..length]);
            self.release(tuns);
        }
        Ok(BATCH)
    }

    /// When something is due next.
    fn next_at(&self) -> Time {
        let probe = self.probes.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
        self.engine.next_at().min(probe)
    }

    fn take(&mut self, host: HostId, bytes: &[u8]) {
        let now = self.now();
        let Some(probe) =
            Probe::parse(bytes).filter(|probe| probe.from == host && probe.to.0 < self.engine.hosts())
        else {
            return self.engine.take(now, host, bytes);
        };
        // One that was sent before the emulation began waits for nobody's fault.
        let sent = self.clock.at(probe.sent);
        if sent > Time::ZERO {
            let late = now.since(sent);
            self.judge.read.add(late);
            self.probes.push(Reverse((now + self.paths.one_way(host, probe.to), late)));
        }
    }

    /// Hands over what is due.
    fn release(&mut self, tuns: &[Tun]) {
        let now = self.now();
        if self.next_at() > now {
            return;
        }
        let Self { engine, judge, clock, probes, .. } = self;
        engine.advance(now);
        engine.release(|host, at, bytes| {
            let is_taken = tuns[host.index()].write(bytes);
            judge.release.add(clock.now().since(at));
            is_taken
        });
        while let Some(Reverse((at, read_late))) =
            probes.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            probes.pop();
            judge.excess.add(read_late + clock.now().since(at));
        }
    }

    fn publish(&mut self, state: &Mutex<Option<Emulation>>) {
        let now = self.now();
        if now.since(self.published) < PUBLISH {
            return;
        }
        self.published = now;
        // Nobody is waited for.
        if let Ok(mut state) = state.try_lock() {
            self.judge.cpu = thread_cpu();
            *state = Some(self.verdict(now));
        }
    }

    /// The verdict so far.
    pub(super) fn verdict(&mut self, end: Time) -> Emulation {
        let (fates, unmarked) = (self.engine.fates(), self.engine.unmarked());
        self.judge.verdict(end, fates, unmarked)
    }
}
