//! The reference: one queue, two events a hop, no cleverness.

use super::{Channel, EventClass, Frame, Key, Map, Node, Outbox, Pause, Payload};
use farspan_units::Time;
use std::collections::BinaryHeap;

/// An event under way.
#[derive(Clone, Copy)]
struct Entry<M> {
    position: Position,
    node: u32,
    payload: Payload<M>,
}

/// The position of an entry in the queue: by key, then by how many were sent over its channel before it for
/// the same instant. Other events of one key are for different nodes, or are equal notifications.
///
/// time : 64 | class : 8 | id : 32 | kind : 8 | number : 16
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position(u128);

impl Position {
    const fn new(key: Key, number: u16) -> Self {
        let time = key.0 >> 64 << 64;
        Self(time | ((key.0 as u64) << 16) as u128 | number as u128)
    }

    const fn key(self) -> Key {
        Key(self.0 >> 64 << 64 | (self.0 as u64 >> 16) as u128)
    }
}

/// The earliest is the greatest: the queue gives the greatest first.
impl<M> Ord for Entry<M> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.position.cmp(&self.position)
    }
}
impl<M> PartialOrd for Entry<M> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<M> PartialEq for Entry<M> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<M> Eq for Entry<M> {}

/// Pending output: the sends, wake-ups and notifications that the running node has asked for.
struct PendingOutput<M> {
    sends: Vec<(u32, Time, EventClass, Payload<M>)>,
    wakes: Vec<Key>,
    notifications: Vec<(u32, Key)>,
}

impl<M> Outbox<M> for PendingOutput<M> {
    fn send(&mut self, channel: &Channel, at: Time, msg: M) {
        self.sends.push((channel.id, at, EventClass::Arrival, Payload::Message(msg)));
    }

    fn send_frame(&mut self, channel: &Channel, at: Time, frame: Frame) {
        self.sends.push((channel.id, at, EventClass::Frame, Payload::Frame(frame)));
    }

    fn wake(&mut self, key: Key) {
        self.wakes.push(key);
    }

    fn notify(&mut self, node: u32, key: Key) {
        self.notifications.push((node, key));
    }
}

/// An engine with one global event queue.
pub(crate) struct Oracle<M> {
    queue: BinaryHeap<Entry<M>>,
    /// The node at the end of each channel.
    ends: Vec<u32>,
    outbox: PendingOutput<M>,
    /// When what was sent last arrives, and how much was sent before it for that instant, by channel.
    sent: Vec<(Time, u16)>,
    /// Events under way that are not probes: when none is left, nothing more will happen.
    busy: usize,
    /// Time of the last event that was not a probe.
    last: Time,
}

impl<M: Copy> Oracle<M> {
    /// An engine for the nodes of a map of one part.
    pub(crate) fn new(map: &Map) -> Self {
        let ends = map.ends.to_vec();
        Self {
            queue: BinaryHeap::new(),
            ends,
            outbox: PendingOutput { sends: Vec::new(), wakes: Vec::new(), notifications: Vec::new() },
            sent: vec![(Time::MAX, 0); map.ends.len()],
            busy: 0,
            last: Time::ZERO,
        }
    }

    /// Hands `node` an event of its own.
    pub(crate) fn wake(&mut self, node: u32, key: Key) {
        self.push(key, node, Payload::None);
    }

    fn push(&mut self, key: Key, node: u32, payload: Payload<M>) {
        self.busy += usize::from(key.class() != EventClass::Probe);
        self.queue.push(Entry { position: Position::new(key, 0), node, payload });
    }

    /// Time of the last event that was not a probe.
    pub(crate) const fn last(&self) -> Time {
        self.last
    }

    /// Handles events before `until`, at most `budget` of them.
    pub(crate) fn run<N: Node<Msg = M>>(
        &mut self,
        nodes: &mut [N],
        shared: &mut N::Shared,
        until: Time,
        budget: u64,
    ) -> Pause {
        for _ in 0..budget {
            if self.busy == 0 {
                return Pause::idle(nodes);
            }
            let Some(&Entry { position, node, payload }) = self.queue.peek() else { return Pause::Reached };
            let key = position.key();
            if key.at() >= until {
                return Pause::Reached;
            }
            if key.class() != EventClass::Probe {
                self.busy -= 1;
                self.last = key.at();
            }
            nodes[node as usize].handle(key, payload, shared, &mut self.outbox);
            self.collect(key.at(), node);
        }
        Pause::Budget
    }

    /// Takes the pending output of the node of the first event. The first request replaces that event in the
    /// queue: most events lead to one other, and one sift down the queue is shorter than a removal and an
    /// insertion.
    fn collect(&mut self, now: Time, node: u32) {
        let mut first = true;
        let PendingOutput { sends, wakes, notifications } = &mut self.outbox;
        let (ends, sent) = (&self.ends, &mut self.sent);
        let arrival = |(channel, at, class, payload): (u32, _, _, _)| {
            let (last, number) = &mut sent[channel as usize];
            *number = if *last == at { *number + 1 } else { 0 };
            *last = at;
            (Position::new(Key::new(at, class, channel, 0), *number), ends[channel as usize], payload)
        };
        let sends = sends.drain(..).map(arrival);
        let wakes = wakes.drain(..).map(|key| (Position::new(key, 0), node, Payload::None));
        let notifications =
            notifications.drain(..).map(|(node, key)| (Position::new(key, 0), node, Payload::None));
        for (position, node, payload) in sends.chain(wakes).chain(notifications) {
            debug_assert!(position.key().at() >= now, "nothing can be asked for in the past");
            self.busy += usize::from(position.key().class() != EventClass::Probe);
            let entry = Entry { position, node, payload };
            if std::mem::take(&mut first) {
                *self.queue.peek_mut().expect("the event under way is still there") = entry;
            } else {
                self.queue.push(entry);
            }
        }
        if first {
            self.queue.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Alternation;
    use crate::engine::PartitionState;
    use farspan_units::Duration;

    /// Notes what it sees; replies each message after 10 ps until it has seen enough.
    #[derive(Default)]
    struct Echo {
        seen: Vec<(Time, EventClass, u32)>,
        replies: u32,
    }

    impl Node for Echo {
        type Msg = u32;
        type Shared = ();

        fn handle(&mut self, key: Key, payload: Payload<u32>, (): &mut (), out: &mut impl Outbox<u32>) {
            self.seen.push((key.at(), key.class(), key.id()));
            if key.class() == EventClass::Probe {
                out.wake(Key::new(key.at() + Duration::from_ps(1), EventClass::Probe, 0, 0));
            }
            if let Payload::Message(n) = payload
                && n < self.replies
            {
                let channels = Map::new(&[0, 0], &alternation(2), &[(0, 1), (1, 0)]).channels;
                out.send(&channels[key.id() as usize ^ 1], key.at() + Duration::from_ps(10), n + 1);
            }
        }

        fn run(&mut self, shared: &mut (), window: &mut crate::engine::Window<'_, u32>) -> Time {
            while let Some((key, payload)) = window.next() {
                self.handle(key, payload, shared, window);
            }
            Time::MAX
        }
    }

    #[allow(unsafe_code, reason = "any number is a message here")]
    impl crate::engine::Message for u32 {
        fn number(self) -> u32 {
            self
        }

        unsafe fn from_number(number: u32) -> Self {
            number
        }
    }

    impl PartitionState<u32> for () {
        type Moved = u32;

        fn pack(&mut self, msg: u32) -> u32 {
            msg
        }

        fn unpack(&mut self, moved: u32) -> u32 {
            moved
        }

        fn fetch(&self, _: u32) {}
    }

    fn alternation(nodes: usize) -> Alternation {
        Alternation::together(nodes, Duration::from_ps(10))
    }

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn events_of_one_instant_come_by_class_then_id_whatever_the_order_of_insertion() {
        let mut oracle = Oracle::<u32>::new(&Map::new(&[0], &alternation(1), &[]));
        let mut nodes = [Echo::default()];
        for (class, id) in [
            (EventClass::Timer, 0),
            (EventClass::Start, 9),
            (EventClass::Start, 3),
            (EventClass::Completion, 7),
            (EventClass::Probe, 0),
        ] {
            oracle.wake(0, Key::new(at(5), class, id, 0));
        }
        assert_eq!(oracle.run(&mut nodes, &mut (), at(6), u64::MAX), Pause::Idle);
        let order: Vec<_> = nodes[0].seen.iter().map(|&(_, class, id)| (class, id)).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(order, sorted);
        assert_eq!(order.len(), 5);
    }

    #[test]
    fn messages_travel_and_probes_alone_do_not_keep_a_run_alive() {
        let mut oracle = Oracle::new(&Map::new(&[0, 0], &alternation(2), &[(0, 1), (1, 0)]));
        let mut nodes = [Echo { replies: 5, ..Echo::default() }, Echo { replies: 5, ..Echo::default() }];
        oracle.wake(0, Key::new(at(0), EventClass::Probe, 0, 0));
        oracle.push(Key::new(at(10), EventClass::Arrival, 0, 0), 1, Payload::Message(0));
        assert_eq!(oracle.run(&mut nodes, &mut (), Time::MAX, u64::MAX), Pause::Idle);
        assert_eq!(oracle.last(), at(60));
        let arrivals = nodes.iter().flat_map(|n| &n.seen).filter(|e| e.1 == EventClass::Arrival).count();
        assert_eq!(arrivals, 6);
    }

    #[test]
    fn a_limit_is_exclusive_and_a_budget_is_kept() {
        let mut oracle = Oracle::<u32>::new(&Map::new(&[0], &alternation(1), &[]));
        let mut nodes = [Echo::default()];
        for ps in [1, 2, 3, 4] {
            oracle.wake(0, Key::new(at(ps), EventClass::Timer, 0, 0));
        }
        assert_eq!(oracle.run(&mut nodes, &mut (), at(3), u64::MAX), Pause::Reached);
        assert_eq!(nodes[0].seen.len(), 2);
        assert_eq!(oracle.run(&mut nodes, &mut (), Time::MAX, 1), Pause::Budget);
        assert_eq!(nodes[0].seen.len(), 3);
    }
}
