//! Several parts of the world, each on a thread of its own: conservative and exact.
//!
//! An epoch is no longer than the shortest delay between parts, so a message from one part reaches another
//! after the epoch. All parts run an epoch independently, exchange messages at a barrier, and agree on the
//! next epoch from the pending events of each; idle stretches are skipped. The scheduling of threads never
//! shows in the outcome.
//!
//! Threads that share too few cores wait for each other more than they compute. So now and then a stretch is
//! run on one thread instead, and the faster mode is kept until the next try.

use super::{Channel, Frame, Key, Map, Node, Pause, Windowed};
use farspan_units::{Duration, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Polls of the barrier before a thread goes to sleep: about two microseconds.
const SPINS: u32 = 60;
/// Stretches before the slower mode is tried again: at first, and at most.
const FIRST_INTERVAL: u32 = 16;
const LAST_INTERVAL: u32 = 4096;
/// A stretch that is only a try is shorter by this factor.
const TRY_SHARE: u64 = 4;

/// A message, frame or notification that travels between parts.
enum Crossing<N: Node> {
    /// A message over a channel.
    Message(Channel, Time, <N::Shared as super::PartitionState<N::Msg>>::Moved),
    /// A frame over a channel.
    Frame(Channel, Time, Frame),
    /// A notification to the node at an index.
    Notification(u32, Key),
}

/// Nodes that one thread runs.
pub(crate) struct Part<N: Node> {
    pub(crate) engine: Windowed<N::Msg>,
    pub(crate) nodes: Vec<N>,
    pub(crate) shared: N::Shared,
}

/// An engine of one part or several.
pub(crate) struct Parallel<N: Node> {
    pub(crate) parts: Vec<Part<N>>,
    /// The longest epoch: the shortest delay of a channel between parts, or of a notification.
    epoch: Duration,
    /// Between the beginnings of windows.
    step: Duration,
    /// Everything before has been handled.
    now: Time,
    pace: Pace,
}

/// The exchange between the parts at the end of an epoch.
struct Exchange<N: Node> {
    parts: usize,
    /// Mailboxes by (parity of the epoch, from, to).
    mailboxes: Vec<Mutex<Vec<Crossing<N>>>>,
    /// When something happens next, ps, by (parity of the epoch, part).
    next: Vec<AtomicU64>,
    /// Whether anything but probes is left, by (parity of the epoch, part).
    idle: Vec<AtomicBool>,
    /// Events handled, by (parity of the epoch, part).
    handled: Vec<AtomicU64>,
    barrier: Barrier,
}

impl<N: Node> Exchange<N> {
    fn new(parts: usize) -> Self {
        let number = |_| AtomicU64::new(0);
        Self {
            parts,
            mailboxes: (0..2 * parts * parts).map(|_| Mutex::new(Vec::new())).collect(),
            next: (0..2 * parts).map(number).collect(),
            idle: (0..2 * parts).map(|_| AtomicBool::new(false)).collect(),
            handled: (0..2 * parts).map(number).collect(),
            barrier: Barrier::new(parts),
        }
    }

    fn mailbox(&self, parity: usize, from: usize, to: usize) -> std::sync::MutexGuard<'_, Vec<Crossing<N>>> {
        let place = (parity * self.parts + from) * self.parts + to;
        self.mailboxes[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes what `part` has done in an epoch, and its pending events.
    fn post(&self, parity: usize, part: usize, state: &mut Part<N>, handled: u64) {
        let (mut next, mut idle) = (state.engine.earliest(), state.engine.is_idle());
        let mut messages = std::mem::take(&mut state.engine.remote.messages);
        for (channel, at, msg) in messages.drain(..) {
            next = next.min(at);
            idle = false;
            let moved = super::PartitionState::pack(&mut state.shared, msg);
            self.mailbox(parity, part, usize::from(channel.part)).push(Crossing::Message(channel, at, moved));
        }
        state.engine.remote.messages = messages;
        for (channel, at, frame) in state.engine.remote.frames.drain(..) {
            next = next.min(at);
            idle = false;
            self.mailbox(parity, part, usize::from(channel.part)).push(Crossing::Frame(channel, at, frame));
        }
        for (to, place, key) in state.engine.remote.notifications.drain(..) {
            next = next.min(key.at());
            idle = false;
            self.mailbox(parity, part, usize::from(to)).push(Crossing::Notification(place, key));
        }
        let place = parity * self.parts + part;
        self.next[place].store(next.as_ps(), Ordering::Release);
        self.idle[place].store(idle, Ordering::Release);
        self.handled[place].store(handled, Ordering::Release);
    }

    /// Takes in what the others sent to `part`.
    fn collect(&self, parity: usize, part: usize, state: &mut Part<N>) {
        for from in 0..self.parts {
            for crossing in self.mailbox(parity, from, part).drain(..) {
                match crossing {
                    Crossing::Message(channel, at, moved) => {
                        let msg = super::PartitionState::unpack(&mut state.shared, moved);
                        state.engine.deliver(channel, at, msg);
                    }
                    Crossing::Frame(channel, at, frame) => state.engine.deliver_frame(channel, at, frame),
                    Crossing::Notification(place, key) => state.engine.wake(place, key),
                }
            }
        }
    }

    /// The common conclusion of all parts from the exchange.
    fn conclude(&self, parity: usize) -> Summary {
        let range = parity * self.parts..(parity + 1) * self.parts;
        let number = |a: &AtomicU64| a.load(Ordering::Acquire);
        Summary {
            next: Time::from_ps(self.next[range.clone()].iter().map(number).min().unwrap_or(u64::MAX)),
            idle: self.idle[range.clone()].iter().all(|a| a.load(Ordering::Acquire)),
            handled: self.handled[range].iter().map(number).sum(),
        }
    }
}

/// The state of all parts together.
#[derive(Clone, Copy)]
struct Summary {
    next: Time,
    idle: bool,
    handled: u64,
}

/// From where on, until when, and how far at most.
#[derive(Clone, Copy)]
struct Stretch {
    epoch: Duration,
    /// Between the beginnings of windows.
    step: Duration,
    until: Time,
    budget: u64,
}

impl Stretch {
    /// The end of the epoch that begins at `start`: the start of a window if there is one in reach, so that
    /// only windows of the other group are cut short.
    fn end(&self, start: Time) -> Time {
        let (latest, step) = (start.saturating_add(self.epoch).as_ps(), self.step.as_ps());
        let whole = latest - latest % step;
        Time::from_ps(if whole > start.as_ps() { whole } else { latest }).min(self.until)
    }

    /// Why to pause after an epoch up to `end`, if at all.
    fn pause(&self, summary: Summary, end: Time, handled: u64) -> Option<Pause> {
        match summary {
            Summary { idle: true, .. } => Some(Pause::Idle),
            _ if end >= self.until => Some(Pause::Reached),
            _ if handled >= self.budget => Some(Pause::Budget),
            _ => None,
        }
    }
}

impl<N: Node> Parallel<N> {
    /// An engine whose parts are those of `map`; `epoch`: the shortest delay of a channel between parts, or
    /// of a notification.
    pub(crate) fn new(parts: Vec<Part<N>>, epoch: Duration, step: Duration) -> Self {
        Self { parts, epoch, step, now: Time::ZERO, pace: Pace::default() }
    }

    /// Everything before has been handled.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Hands a node an event of its own.
    pub(crate) fn wake(&mut self, map: &Map, node: u32, key: Key) {
        let (part, place) = map.locations[node as usize];
        self.parts[usize::from(part)].engine.wake(place, key);
    }

    /// Handles events before `until`, pausing after about `budget` of them.
    pub(crate) fn run(&mut self, until: Time, budget: u64) -> Pause {
        if let [Part { engine, nodes, shared }] = &mut self.parts[..] {
            let pause = engine.run(nodes, shared, until, budget);
            self.now = engine.now();
            return pause;
        }
        let (in_parallel, share) = self.pace.plan();
        let stretch = Stretch { epoch: self.epoch, step: self.step, until, budget: budget / share };
        let clock = self.pace.start();
        let (pause, now, handled) = if in_parallel {
            run_threads(&mut self.parts, self.now, stretch)
        } else {
            run_serially(&mut self.parts, self.now, stretch)
        };
        self.pace.note(clock, in_parallel, handled);
        self.now = now;
        let is_held = || self.parts.iter().flat_map(|part| &part.nodes).any(Node::is_held);
        if pause == Pause::Idle && is_held() { Pause::Held } else { pause }
    }
}

/// Runs a stretch with a thread for each part.
fn run_threads<N: Node>(parts: &mut [Part<N>], from: Time, stretch: Stretch) -> (Pause, Time, u64) {
    let exchange = Exchange::<N>::new(parts.len());
    let start = first_start(parts, from);
    let Some((first, others)) = parts.split_first_mut() else { return (Pause::Idle, from, 0) };
    std::thread::scope(|scope| {
        // Threads that have begun must not wait for one that cannot.
        let _alarm = Alarm(&exchange.barrier);
        for (number, part) in (1..).zip(others) {
            let exchange = &exchange;
            scope.spawn(move || run_part(number, part, exchange, start, stretch));
        }
        run_part(0, first, &exchange, start, stretch)
    })
}

/// When the first epoch of a stretch begins.
fn first_start<N: Node>(parts: &[Part<N>], from: Time) -> Time {
    parts.iter().map(|part| part.engine.earliest()).min().map_or(from, |next| next.max(from))
}

/// Runs one part over the epochs of a stretch.
fn run_part<N: Node>(
    number: usize,
    part: &mut Part<N>,
    exchange: &Exchange<N>,
    mut start: Time,
    stretch: Stretch,
) -> (Pause, Time, u64) {
    let _alarm = Alarm(&exchange.barrier);
    let mut total = 0;
    for epoch in 0.. {
        let (parity, end) = (epoch % 2, stretch.end(start));
        let handled = part.engine.run_through(&mut part.nodes, &mut part.shared, end, stretch.until);
        exchange.post(parity, number, part, handled);
        exchange.barrier.wait();
        exchange.collect(parity, number, part);
        let summary = exchange.conclude(parity);
        total += summary.handled;
        if let Some(pause) = stretch.pause(summary, end, total) {
            return (pause, end, total);
        }
        start = summary.next.max(end);
    }
    unreachable!("a stretch ends")
}

/// Runs a stretch on this thread alone, one part after the other.
fn run_serially<N: Node>(parts: &mut [Part<N>], from: Time, stretch: Stretch) -> (Pause, Time, u64) {
    let exchange = Exchange::<N>::new(parts.len());
    let (mut start, mut total) = (first_start(parts, from), 0);
    loop {
        let end = stretch.end(start);
        for (number, part) in parts.iter_mut().enumerate() {
            let handled = part.engine.run_through(&mut part.nodes, &mut part.shared, end, stretch.until);
            exchange.post(0, number, part, handled);
        }
        parts.iter_mut().enumerate().for_each(|(number, part)| exchange.collect(0, number, part));
        let summary = exchange.conclude(0);
        total += summary.handled;
        if let Some(pause) = stretch.pause(summary, end, total) {
            return (pause, end, total);
        }
        start = summary.next.max(end);
    }
}

/// The barrier at which threads wait for each other: they poll for a moment, then sleep.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicU64,
    /// A thread has failed: nobody need wait for it.
    broken: AtomicBool,
    sleep: Mutex<()>,
    wake: Condvar,
}

/// Notifies the other threads if its thread fails.
struct Alarm<'a>(&'a Barrier);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _guard = self.0.sleep.lock();
            self.0.broken.store(true, Ordering::Release);
            self.0.wake.notify_all();
        }
    }
}

impl Barrier {
    const fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            let guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.round.store(round + 1, Ordering::Release);
            drop(guard);
            return self.wake.notify_all();
        }
        for _ in 0..SPINS {
            if self.round.load(Ordering::Acquire) != round {
                return;
            }
            std::hint::spin_loop();
        }
        let mut guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.broken.load(Ordering::Acquire), "another part of the world has failed");
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The speed of each mode: on one thread, and on several.
struct Pace {
    /// Nanoseconds an event on one thread and on several, when last tried.
    cost: [Option<f64>; 2],
    /// Stretches until the slower mode is tried again, and how many there will be if it is slower again.
    until_try: u32,
    interval: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { cost: [None; 2], until_try: FIRST_INTERVAL, interval: FIRST_INTERVAL }
    }
}

impl Pace {
    /// Whether the next stretch runs in parallel, and the divisor of its budget: a try is short.
    const fn plan(&self) -> (bool, u64) {
        match self.cost {
            [_, None] => (true, 1),
            [None, _] => (false, TRY_SHARE),
            [Some(serial), Some(parallel)] => {
                let best = parallel <= serial;
                if self.until_try == 0 { (!best, TRY_SHARE) } else { (best, 1) }
            }
        }
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "how fast a run goes may depend on the clock; what it gives may not"
    )]
    fn start(&self) -> std::time::Instant {
        std::time::Instant::now()
    }

    fn note(&mut self, start: std::time::Instant, in_parallel: bool, handled: u64) {
        self.learn(in_parallel, start.elapsed().as_nanos() as f64 / handled.max(1) as f64);
    }

    /// A mode that is slower again is tried half as often from then on.
    fn learn(&mut self, in_parallel: bool, cost: f64) {
        let [serial, parallel] = self.cost;
        let best = serial.zip(parallel).map(|(serial, parallel)| parallel <= serial);
        self.cost[usize::from(in_parallel)] = Some(cost);
        if best.is_some_and(|best| best != in_parallel) {
            let lost = self.cost[usize::from(in_parallel)] > self.cost[usize::from(!in_parallel)];
            self.interval = if lost { (self.interval * 2).min(LAST_INTERVAL) } else { FIRST_INTERVAL };
            self.until_try = self.interval;
        } else {
            self.until_try = self.until_try.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_tried_and_the_one_that_loses_less_and_less_often() {
        let mut pace = Pace::default();
        let mut tries = vec![];
        for stretch in 0..10_000 {
            let (in_parallel, share) = pace.plan();
            if in_parallel {
                assert_eq!(share, if stretch == 0 { 1 } else { TRY_SHARE });
                tries.push(stretch);
            }
            pace.learn(in_parallel, if in_parallel { 30.0 } else { 1.0 });
        }
        assert_eq!(tries[0], 0);
        assert!(tries.len() < 12, "{tries:?}");
    }

    #[test]
    fn the_faster_way_is_kept() {
        let mut pace = Pace::default();
        let ways: Vec<_> = (0..100)
            .map(|_| {
                let (in_parallel, _) = pace.plan();
                pace.learn(in_parallel, if in_parallel { 1.0 } else { 1.8 });
                in_parallel
            })
            .collect();
        assert!(ways.iter().filter(|&&in_parallel| !in_parallel).count() < 6, "{ways:?}");
    }

    #[test]
    fn an_epoch_ends_where_a_window_begins_if_one_does_in_reach_and_never_after_the_limit() {
        let ps = Time::from_ps;
        let stretch = |epoch, until| Stretch {
            epoch: Duration::from_ps(epoch),
            step: Duration::from_ps(100),
            until: ps(until),
            budget: 1,
        };
        assert_eq!(stretch(250, 9999).end(ps(100)), ps(300));
        assert_eq!(stretch(100, 9999).end(ps(150)), ps(200));
        assert_eq!(stretch(30, 9999).end(ps(110)), ps(140));
        assert_eq!(stretch(250, 120).end(ps(100)), ps(120));
    }

    #[test]
    fn a_thread_that_fails_ends_the_wait_of_the_others() {
        let barrier = Barrier::new(2);
        let waited = std::thread::scope(|scope| {
            let fails = scope.spawn(|| {
                let _alarm = Alarm(&barrier);
                panic!("on purpose");
            });
            let waits = scope.spawn(|| barrier.wait());
            assert!(fails.join().is_err());
            waits.join()
        });
        assert!(waited.is_err());
    }
}
