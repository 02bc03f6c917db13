//! The fast engine: windows of time, one node at a time, no global event queue.
//!
//! A message never arrives before the receiver's next window begins (see [`Alternation`]). So each node that
//! has something to do runs once a window: its messages are gathered as plain integers, put in order as far
//! as the node needs it, merged with the node's own events, and handled as a batch. Empty stretches are
//! skipped.
//!
//! One such engine runs one part of the world; messages of its nodes to other parts are kept for the exchange
//! (see [`super::Parallel`]).

use super::calendar::Calendar;
use super::order::Order;
use super::packed::{MAX_WINDOW, Message, Packed};
use super::wakes::Wakes;
use super::window::{Bounds, Remote, Window};
use super::{Alternation, Channel, Frame, Key, Map, Node, PartitionState, Pause};
use farspan_units::Time;
use std::sync::Arc;

/// An engine that runs the nodes of one part, one at a time over windows.
pub(crate) struct Windowed<M> {
    part: u16,
    calendar: Calendar<M>,
    /// The channels that end at each node, by rank.
    channels: Vec<Vec<u32>>,
    wakes: Vec<Wakes>,
    /// Nodes that wait for something of their own.
    waiting: usize,
    /// Everything before has been handled.
    now: Time,
    /// The nodes of one group have got this far.
    reached: Time,
    /// Windows before are over.
    cursor: u64,
    pub(super) remote: Remote<M>,
    /// See [`Map`].
    ends: Arc<[u32]>,
    /// Part and index of every node of the world, for notifications.
    locations: Vec<(u16, u32)>,
    /// Room for the messages of a window.
    keys: Vec<Packed<M>>,
    /// Room to put them in order.
    order: Order<M>,
}

impl<M: Message> Windowed<M> {
    /// An engine for the nodes of `part`. No node may have more than [`super::MAX_LINKS`] channels.
    pub(crate) fn new(map: &Map, part: u16, alternation: &Alternation) -> Self {
        assert!(
            alternation.step.as_ps() > 1 && alternation.length() <= MAX_WINDOW,
            "a window is longer than 1 ps, and has at most {MAX_WINDOW}"
        );
        let nodes = map.sizes[usize::from(part)] as usize;
        let mut channels: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for channel in map.channels.iter().filter(|channel| channel.part == part) {
            channels[map.ends[channel.id as usize] as usize].push(channel.id);
        }
        let own = map.locations.iter().zip(&alternation.group_of).filter(|((of, _), _)| *of == part);
        let calendar =
            Calendar::new(alternation.step, alternation.groups, own.map(|(_, &side)| side).collect());
        Self {
            part,
            calendar,
            channels,
            wakes: (0..nodes).map(|_| Wakes::new()).collect(),
            waiting: 0,
            now: Time::ZERO,
            reached: Time::ZERO,
            cursor: 0,
            remote: Remote {
                messages: Vec::new(),
                frames: Vec::new(),
                notifications: Vec::new(),
                notified: Vec::new(),
            },
            ends: Arc::clone(&map.ends),
            locations: map.locations.clone(),
            keys: Vec::new(),
            order: Order::default(),
        }
    }

    /// Everything before has been handled.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Hands `node` of this part an event of its own.
    pub(crate) fn wake(&mut self, node: u32, key: Key) {
        let wakes = &mut self.wakes[node as usize];
        self.waiting -= usize::from(wakes.is_waiting());
        let is_first = key.at() < wakes.next();
        wakes.push(key);
        self.waiting += usize::from(wakes.is_waiting());
        // When the first has come, the next is booked.
        if is_first {
            self.calendar.activate(self.calendar.window_of(node, key.at()), node);
        }
    }

    /// Takes a message from another part.
    pub(super) fn deliver(&mut self, channel: Channel, at: Time, msg: M) {
        self.file(channel, at, |offset| Packed::message(offset, channel.rank, msg));
    }

    /// Takes a frame from another part.
    pub(super) fn deliver_frame(&mut self, channel: Channel, at: Time, frame: Frame) {
        self.calendar.has_frames = true;
        self.file(channel, at, |offset| Packed::frame(offset, channel.rank, frame));
    }

    fn file(&mut self, channel: Channel, at: Time, pack: impl Fn(u64) -> Packed<M>) {
        debug_assert!(
            at >= self.now && channel.part == self.part,
            "a message comes in time and to the right part"
        );
        let node = self.ends[channel.id as usize];
        let window = self.calendar.window_of(node, at);
        let offset = at.as_ps().wrapping_sub(self.calendar.start(window).as_ps());
        self.calendar.file(window, node, pack(offset));
    }

    /// Whether nothing is left to happen here but probes, unless a message comes from another part.
    pub(super) const fn is_idle(&self) -> bool {
        self.waiting == 0 && self.calendar.is_empty()
    }

    /// Nothing happens here before.
    pub(super) fn earliest(&self) -> Time {
        let window = self.calendar.earliest(self.cursor);
        self.calendar.begins(window).max(self.now)
    }

    /// Handles events before `until`, pausing after about `budget` of them.
    pub(crate) fn run<N>(
        &mut self,
        nodes: &mut [N],
        shared: &mut N::Shared,
        until: Time,
        budget: u64,
    ) -> Pause
    where
        N: Node<Msg = M>,
    {
        let mut left = budget;
        while left > 0 && !self.is_idle() {
            let Some(handled) = self.advance(nodes, shared, until, until) else {
                return Pause::Reached;
            };
            left = left.saturating_sub(handled);
        }
        let pause = if self.is_idle() { Pause::idle(nodes) } else { Pause::Budget };
        // All groups get as far as one of them has.
        self.run_through(nodes, shared, self.reached, until);
        pause
    }

    /// Handles all events before `end`, also when only probes are left; returns about how many there were. No
    /// one samples the nodes before `until`.
    pub(super) fn run_through<N>(
        &mut self,
        nodes: &mut [N],
        shared: &mut N::Shared,
        end: Time,
        until: Time,
    ) -> u64
    where
        N: Node<Msg = M>,
    {
        let mut handled = 0;
        while let Some(more) = self.advance(nodes, shared, end, until) {
            handled += more;
        }
        handled
    }

    /// Runs the next window in which anything happens before `limit`, up to there; gives about how many events there
    /// were, or `None` if there is no such window.
    fn advance<N>(&mut self, nodes: &mut [N], shared: &mut N::Shared, limit: Time, until: Time) -> Option<u64>
    where
        N: Node<Msg = M>,
    {
        if self.now >= limit {
            return None;
        }
        let Some(window) = self.calendar.next_active(self.cursor, self.calendar.windows_before(limit)) else {
            // A window that the limit has cut short goes on after it.
            (self.now, self.reached, self.cursor) = (limit, limit, self.calendar.window(limit));
            return None;
        };
        let bounds = self.bounds(window, limit, until);
        (self.cursor, self.reached) = (window + 1, bounds.end);
        Some(self.run_window(nodes, shared, &bounds))
    }

    fn bounds(&self, window: u64, limit: Time, until: Time) -> Bounds {
        let (start, row) = (|window| self.calendar.start(window), |window| self.calendar.row(window));
        let groups = self.calendar.groups();
        let windows = [window + 1, window + 1 + groups];
        let whole = [window + groups, window + 2 * groups].map(start);
        Bounds {
            index: window,
            start: start(window),
            end: whole[0].min(limit),
            whole,
            windows,
            others: windows.map(start),
            until,
            row: row(window),
            rows: windows.map(row),
        }
    }

    /// Runs every active node over a window, or over its part before `end`; gives the number of messages handled.
    fn run_window<N>(&mut self, nodes: &mut [N], shared: &mut N::Shared, bounds: &Bounds) -> u64
    where
        N: Node<Msg = M>,
    {
        let mut handled = 0;
        for word in 0..self.calendar.row_len() {
            let mut bits = self.calendar.take_active(bounds.index, word);
            while bits != 0 {
                let node = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                handled += self.run_node(&mut nodes[node as usize], node, shared, bounds) + 1;
            }
        }
        if !self.remote.notified.is_empty() {
            self.flush_notifications();
        }
        handled
    }

    fn run_node<N>(&mut self, state: &mut N, node: u32, shared: &mut N::Shared, bounds: &Bounds) -> u64
    where
        N: Node<Msg = M>,
    {
        let mut due = self.calendar.gather(bounds.row + node as usize, &mut self.keys);
        if bounds.end != bounds.whole[0] {
            due = self.keep_back(due, node, bounds);
        }
        // One after the other, they would each wait for memory: the destination of a packet decides which
        // state is read next.
        for key in &self.keys[..due] {
            shared.fetch(key.low());
        }
        let wakes = &mut self.wakes[node as usize];
        let was_waiting = wakes.is_waiting();
        let mut view = Window {
            bounds,
            part: self.part,
            keys: &mut self.keys[..due],
            taken: 0,
            channels: &self.channels[node as usize],
            wakes,
            calendar: &mut self.calendar,
            remote: &mut self.remote,
            ends: &self.ends,
            order: Some(&mut self.order),
        };
        let own = state.run(shared, &mut view);
        debug_assert_eq!(view.taken, due, "a node handles all messages of its window");
        wakes.own = own;
        self.waiting = self.waiting + usize::from(wakes.is_waiting()) - usize::from(was_waiting);
        if let Some(at) = wakes.book(bounds.whole) {
            self.calendar.activate(self.calendar.window_of(node, at), node);
        }
        due as u64
    }

    /// Files messages again that arrive where a window is cut short or later; gives how many are left of the
    /// first `due`.
    #[cold]
    fn keep_back(&mut self, due: usize, node: u32, bounds: &Bounds) -> usize {
        let limit = bounds.end.as_ps().wrapping_sub(bounds.start.as_ps());
        let mut left = 0;
        for number in 0..due {
            let key = self.keys[number];
            if key.is_before(limit) {
                self.keys[left] = key;
                left += 1;
            } else {
                self.calendar.file(bounds.index, node, key);
            }
        }
        left
    }

    /// Delivers the notifications that nodes have sent.
    #[cold]
    fn flush_notifications(&mut self) {
        while let Some((node, key)) = self.remote.notified.pop() {
            let (part, place) = self.locations[node as usize];
            if part == self.part {
                self.wake(place, key);
            } else {
                self.remote.notifications.push((part, place, key));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EventClass, Oracle, Outbox, Payload};
    use super::*;
    use farspan_units::{Duration, Purpose, Random};

    /// The shortest link from an even node to an odd one or back; other links are twice as long.
    const STEP: Duration = Duration::from_ps(50);

    /// Notes what comes, and sends each message on as its number says.
    #[derive(Default)]
    struct Post {
        seen: Vec<(Key, Payload<u32>)>,
        by: Vec<Channel>,
    }

    impl Post {
        /// Far ones and near ones, always after the lookahead; some at one instant with another message, or a frame.
        fn send_on(&self, now: Time, left: u32, out: &mut impl Outbox<u32>) {
            let number = u64::from(left) * 7919;
            let late = Duration::from_ps(number % [90, 350, 5000][number as usize % 3] * 10 + number % 97);
            let channel = &self.by[left as usize % self.by.len()];
            let (start, end) = (channel.id / 3, channel.id % 3);
            let shortest = if start % 2 == end % 2 { STEP * 2 } else { STEP };
            let at = now + shortest + late;
            out.send(channel, at, left - 1);
            if left.is_multiple_of(4) {
                out.send_frame(channel, at, Frame(left));
                out.send(channel, at, 0);
            }
            if left.is_multiple_of(5) {
                out.wake(Key::new(now + Duration::from_ps(number % 1000), EventClass::Timer, left, 0));
            }
            if left.is_multiple_of(7) {
                out.notify(left % 3, Key::new(now + STEP * 2, EventClass::Notification, left, 0));
            }
        }
    }

    impl Node for Post {
        type Msg = u32;
        type Shared = ();

        fn handle(&mut self, key: Key, payload: Payload<u32>, (): &mut (), out: &mut impl Outbox<u32>) {
            self.seen.push((key, payload));
            match payload {
                Payload::Message(left) if left > 0 => self.send_on(key.at(), left, out),
                Payload::None if key.class() == EventClass::Start => {
                    (300..303).for_each(|left| self.send_on(key.at(), 3 * left + key.id(), out));
                }
                _ => {}
            }
        }

        fn run(&mut self, shared: &mut (), window: &mut Window<'_, u32>) -> Time {
            window.sort();
            while let Some((key, payload)) = window.next() {
                self.handle(key, payload, shared, window);
            }
            Time::MAX
        }

        fn is_held(&self) -> bool {
            self.seen.last().is_some_and(|(key, _)| key.kind() == 1)
        }
    }

    fn together() -> Alternation {
        Alternation::together(3, STEP)
    }

    fn alternating() -> Alternation {
        Alternation { step: STEP, groups: 2, group_of: vec![0, 1, 0] }
    }

    /// Three nodes, each with a channel to all others, and to itself.
    fn world(alternation: &Alternation) -> (Map, Vec<Post>) {
        let ends: Vec<_> = (0..9).map(|link| (link / 3, link % 3)).collect();
        let map = Map::new(&[0; 3], alternation, &ends);
        let node = |start: usize| Post { by: map.channels[3 * start..][..3].to_vec(), ..Post::default() };
        let nodes = (0..3).map(node).collect();
        (map, nodes)
    }

    fn start(node: u32) -> Key {
        Key::new(Time::from_ps(10 + u64::from(node)), EventClass::Start, node, 0)
    }

    type Seen = Vec<Vec<(Key, Payload<u32>)>>;

    /// The events that the nodes see under the oracle.
    fn seen_by_oracle() -> Seen {
        let (map, mut nodes) = world(&together());
        let mut oracle = Oracle::new(&map);
        (0..3).for_each(|node| oracle.wake(node, start(node)));
        assert_eq!(oracle.run(&mut nodes, &mut (), Time::MAX, u64::MAX), Pause::Idle);
        nodes.into_iter().map(|node| node.seen).collect()
    }

    /// The events that the nodes see under the windowed engine, paused at times that `pauses` gives, and
    /// after `budget` messages.
    fn seen(alternation: &Alternation, budget: u64, pauses: impl Fn(u64) -> u64) -> Seen {
        let (map, mut nodes) = world(alternation);
        let mut engine = Windowed::new(&map, 0, alternation);
        (0..3).for_each(|node| engine.wake(node, start(node)));
        let mut until = 0;
        while !engine.is_idle() {
            until += pauses(until);
            while engine.run(&mut nodes, &mut (), Time::from_ps(until), budget) == Pause::Budget {
                let now = engine.now();
                let last = |post: &Post| post.seen.last().is_none_or(|(key, _)| key.at() < now);
                assert!(nodes.iter().all(last), "nobody is further than the others");
            }
        }
        nodes.into_iter().map(|node| node.seen).collect()
    }

    #[test]
    fn nodes_see_what_the_oracle_shows_them_wherever_windows_are_cut_short() {
        let whole = seen_by_oracle();
        assert!(whole.iter().map(Vec::len).sum::<usize>() > 8000, "all messages are sent on to their end");
        assert!(whole.iter().all(|seen| seen.is_sorted_by_key(|(key, _)| *key)));
        for alternation in [together(), alternating()] {
            assert_eq!(seen(&alternation, u64::MAX, |_| 1 << 40), whole, "{alternation:?}");
            assert_eq!(seen(&alternation, u64::MAX, |_| 50), whole, "step by step, {alternation:?}");
            for seed in 0..5 {
                let random = Random::new(seed, Purpose::Test, 0);
                let cut = seen(&alternation, 3, |until| 1 + random.at(until) % 5000);
                assert_eq!(cut, whole, "cut by {seed}, {alternation:?}");
            }
        }
    }

    #[test]
    fn of_one_instant_a_frame_comes_first_and_messages_of_one_channel_as_they_were_sent() {
        let whole = seen_by_oracle();
        let mut together = 0;
        for group in
            whole.iter().flat_map(|seen| seen.chunk_by(|(a, _), (b, _)| (a.at(), a.id()) == (b.at(), b.id())))
        {
            if let [(_, Payload::Frame(Frame(left))), (_, first), (_, second)] = *group {
                assert_eq!((first, second), (Payload::Message(left - 1), Payload::Message(0)));
                together += 1;
            }
        }
        assert!(together > 1000, "{together}");
    }

    #[test]
    fn idle_stretches_take_no_time_and_a_node_that_is_held_is_not_idle() {
        for alternation in [together(), alternating()] {
            for (kind, pause) in [(0, Pause::Idle), (1, Pause::Held)] {
                let (map, mut nodes) = world(&alternation);
                let mut engine = Windowed::new(&map, 0, &alternation);
                let late = Time::from_ps(1 << 60);
                engine.wake(2, Key::new(late, EventClass::Timer, 0, kind));
                let ahead = late.since(engine.earliest()).as_ps();
                assert!(ahead < 18 * STEP.as_ps(), "known to a coarse slot, and a window");
                assert_eq!(engine.run(&mut nodes, &mut (), Time::MAX, u64::MAX), pause);
                assert_eq!(nodes[2].seen.len(), 1);
            }
        }
    }
}
