//! The fast engine: windows of time, one node at a time, no global event queue.
//!
//! Nothing that happens in a window reaches another node before its own window begins (see [`Turns`]). So each node that
//! has something to do runs once a window: its messages are gathered as plain integers, put in order as far as the
//! node needs it, merged with the node's own events, and handled as a batch while the node's state is in cache. Empty
//! stretches are skipped.
//!
//! One such engine runs one part of the world; what its nodes send to other parts it puts aside (see
//! [`super::Parallel`]).

use super::calendar::{Calendar, MAX_WINDOW, TIME_SHIFT, pack, rank};
use super::order::Order;
use super::wakes::Wakes;
use super::{Cargo, Channel, EventClass, Key, Lanes, Map, Node, Outbox, Pause, Turns};
use farspan_units::Time;
use std::sync::Arc;

/// A window, or its part before something that cuts it short: the same for every node whose turn it is.
struct Frame {
    /// The window's number.
    index: u64,
    /// The window's start: packed keys count from here. It may wrap: see [`Calendar::start`].
    start: Time,
    /// The window's end; events at or after it wait.
    end: Time,
    /// The end of the whole window, and of the one after it for the same nodes.
    whole: [Time; 2],
    /// The next two windows of nodes that short links lead to, and when they begin.
    windows: [u64; 2],
    others: [Time; 2],
    /// Until when the engine runs before someone may look at the nodes.
    until: Time,
    /// See [`Calendar::row`]: of this window.
    row: usize,
    /// Of these two.
    rows: [usize; 2],
}

// A node without a place here has one beyond every row.
const _: () = assert!(usize::BITS >= 64, "the engine needs a machine of 64 bits");

/// What a node sees of a window: its events in order, and a way to speak.
pub(crate) struct Window<'a, M> {
    frame: &'a Frame,
    part: u16,
    /// The messages before the end.
    keys: &'a mut [u64],
    /// How many of them have been handled.
    taken: usize,
    channels: &'a [u32],
    wakes: &'a mut Wakes,
    calendar: &'a mut Calendar,
    remote: &'a mut Remote<M>,
    /// See [`Map`].
    ends: &'a [u32],
    lanes: Option<&'a mut Lanes>,
    order: Option<&'a mut Order>,
}

/// When a packed message arrives in a window that begins at `start`.
#[inline(always)]
pub(crate) const fn at(start: Time, packed: u64) -> Time {
    Time::from_ps(start.as_ps().wrapping_add(packed >> TIME_SHIFT))
}

impl<'a, M: Copy + From<u32> + Into<u32>> Window<'a, M> {
    /// Where the window ends.
    pub(crate) const fn end(&self) -> Time {
        self.frame.end
    }

    /// Nobody looks at the nodes before: what is bound to happen by then may be counted now.
    #[inline]
    pub(crate) const fn until(&self) -> Time {
        self.frame.until
    }

    /// Whether the node has asked for events in this window.
    pub(crate) fn has_wakes(&self) -> bool {
        self.wakes.next() < self.frame.end
    }

    /// The window's start.
    pub(crate) const fn start(&self) -> Time {
        self.frame.start
    }

    /// When a packed message arrives.
    #[inline]
    pub(crate) const fn at(&self, packed: u64) -> Time {
        at(self.frame.start, packed)
    }

    /// Puts the messages in order, for what hands them out one by one.
    #[inline]
    pub(crate) fn sort(&mut self) {
        self.keys.sort_unstable();
    }

    /// All messages, packed and in order. The node handles them.
    #[inline]
    pub(crate) fn take_sorted(&mut self) -> &'a [u64] {
        let keys = self.take_packed();
        let order = self.order.take().expect("a node asks once a window");
        order.sort(keys, self.calendar.length)
    }

    /// All messages, packed and in any order; as integers they are in order of time, then channel. The node handles
    /// them.
    #[inline]
    pub(crate) fn take_packed(&mut self) -> &'a mut [u64] {
        self.taken = self.keys.len();
        std::mem::take(&mut self.keys)
    }

    /// Lanes to deal messages to. They are empty, and must be so again.
    #[inline]
    pub(crate) fn take_lanes(&mut self) -> &'a mut Lanes {
        self.lanes.take().expect("a node asks once a window")
    }

    /// When the next message arrives; [`Time::MAX`] if none is left in the window.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.keys.get(self.taken).map_or(Time::MAX, |&packed| self.at(packed))
    }

    /// When the next event comes of those that arrive or were asked for; [`Time::MAX`] if none is left in the window.
    pub(crate) fn next_at(&self) -> Time {
        let wake = Some(self.wakes.next()).filter(|&at| at < self.frame.end);
        self.next_arrival().min(wake.unwrap_or(Time::MAX))
    }

    /// The next event of those that arrive or were asked for, in the total order.
    pub(crate) fn next(&mut self) -> Option<(Key, Option<M>)> {
        let message = self
            .keys
            .get(self.taken)
            .map(|&packed| Key::new(self.at(packed), EventClass::Arrival, self.channels[rank(packed)], 0));
        if let Some(key) = self.wakes.take_before(self.frame.end, message) {
            return Some((key, None));
        }
        let key = message?;
        let msg = M::from(self.keys[self.taken] as u32);
        self.taken += 1;
        Some((key, Some(msg)))
    }

    /// Sends to another part or a node of the same side, or further ahead than two windows.
    #[inline(never)]
    fn send_slowly(&mut self, channel: &Channel, at: Time, msg: M) {
        assert!(at >= self.frame.others[0], "a message takes the lookahead at least");
        if channel.part != self.part {
            return self.remote.messages.push((*channel, at, msg));
        }
        let (node, ps) = (self.ends[channel.id as usize], at.as_ps().wrapping_sub(self.frame.start.as_ps()));
        let (window, offset) = self.calendar.place_of(node, self.frame.index, ps);
        assert!(window > self.frame.index, "a message arrives in a later window of its node");
        self.calendar.file(window, node, pack(offset, channel.rank, msg.into()));
    }

    /// Sends with a fresh chunk.
    #[inline(never)]
    fn send_afresh(&mut self, channel: &Channel, at: Time, msg: M) {
        let ahead = usize::from(at >= self.frame.others[1]);
        if channel.place == Channel::AWAY {
            return self.send_slowly(channel, at, msg);
        }
        let offset = at.as_ps() - self.frame.others[ahead].as_ps();
        let key = pack(offset, channel.rank, msg.into());
        let place = self.frame.rows[ahead] + channel.place as usize;
        let window = self.frame.windows[ahead];
        self.calendar.file_afresh(place, window, channel.place, key);
    }
}

impl<M: Copy + From<u32> + Into<u32>> Outbox<M> for Window<'_, M> {
    #[inline(always)]
    fn send(&mut self, channel: &Channel, at: Time, msg: M) {
        debug_assert!(at >= self.frame.others[0], "a message takes the lookahead at least");
        // Nearly all arrive in one of the next two windows of the other side.
        let ahead = usize::from(at >= self.frame.others[1]);
        let offset = at.as_ps().wrapping_sub(self.frame.others[ahead].as_ps());
        if offset >= self.calendar.length {
            return self.send_slowly(channel, at, msg);
        }
        // Nodes of other parts have no place here, nor have those of the same side.
        let place = self.frame.rows[ahead] + channel.place as usize;
        if !self.calendar.file_quickly(place, pack(offset, channel.rank, msg.into())) {
            self.send_afresh(channel, at, msg);
        }
    }

    fn wake(&mut self, key: Key) {
        self.wakes.push(key);
    }

    fn tell(&mut self, node: u32, key: Key) {
        assert!(key.at() >= self.frame.whole[0], "word comes in a later window of any node");
        self.remote.told.push((node, key));
    }
}

/// What has not reached its node yet.
pub(super) struct Remote<M> {
    /// Messages to other parts.
    pub(super) messages: Vec<(Channel, Time, M)>,
    /// Words to other parts, and the places of the nodes there.
    pub(super) words: Vec<(u16, u32, Key)>,
    /// What nodes have told others in this window.
    told: Vec<(u32, Key)>,
}

/// An engine that runs the nodes of one part, one at a time over windows.
pub(crate) struct Windowed<M> {
    part: u16,
    calendar: Calendar,
    /// The channels that end at each node, by rank.
    channels: Vec<Vec<u32>>,
    wakes: Vec<Wakes>,
    /// Nodes that wait for something of their own.
    waiting: usize,
    /// Everything before has been handled.
    now: Time,
    /// Nodes of one side have got this far.
    ahead: Time,
    /// Windows before are over.
    cursor: u64,
    pub(super) remote: Remote<M>,
    /// See [`Map`].
    ends: Arc<[u32]>,
    /// Part and place of every node of the world, for words.
    places: Vec<(u16, u32)>,
    /// Room for the messages of a window.
    keys: Vec<u64>,
    /// Room to deal them in.
    lanes: Lanes,
    /// Room to put them in order.
    order: Order,
}

impl<M: Copy + From<u32> + Into<u32>> Windowed<M> {
    /// An engine for the nodes of `part`. No node may have more than [`super::MAX_LINKS`] channels.
    pub(crate) fn new(map: &Map, part: u16, turns: &Turns) -> Self {
        assert!(
            turns.step.as_ps() > 1 && turns.length() <= MAX_WINDOW,
            "a window is longer than 1 ps, and has at most {MAX_WINDOW}"
        );
        let nodes = map.sizes[usize::from(part)] as usize;
        let mut channels: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for channel in map.channels.iter().filter(|channel| channel.part == part) {
            channels[map.ends[channel.id as usize] as usize].push(channel.id);
        }
        let own = map.places.iter().zip(&turns.side_of).filter(|((of, _), _)| *of == part);
        let calendar = Calendar::new(turns.step, turns.sides, own.map(|(_, &side)| side).collect());
        Self {
            part,
            calendar,
            channels,
            wakes: (0..nodes).map(|_| Wakes::new()).collect(),
            waiting: 0,
            now: Time::ZERO,
            ahead: Time::ZERO,
            cursor: 0,
            remote: Remote { messages: Vec::new(), words: Vec::new(), told: Vec::new() },
            ends: Arc::clone(&map.ends),
            places: map.places.clone(),
            keys: Vec::new(),
            lanes: Lanes::default(),
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
        debug_assert!(
            at >= self.now && channel.part == self.part,
            "a message comes in time and to the right part"
        );
        let node = self.ends[channel.id as usize];
        let window = self.calendar.window_of(node, at);
        let offset = at.as_ps().wrapping_sub(self.calendar.start(window).as_ps());
        self.calendar.file(window, node, pack(offset, channel.rank, msg.into()));
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
        let pause = if self.is_idle() { Pause::Idle } else { Pause::Budget };
        // All sides get as far as one of them has.
        self.run_through(nodes, shared, self.ahead, until);
        pause
    }

    /// Handles all events before `end`, also when only probes are left; gives about how many there were. Nobody looks at
    /// the nodes before `until`.
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
            (self.now, self.ahead, self.cursor) = (limit, limit, self.calendar.window(limit));
            return None;
        };
        let frame = self.frame(window, limit, until);
        (self.cursor, self.ahead) = (window + 1, frame.end);
        Some(self.run_window(nodes, shared, &frame))
    }

    fn frame(&self, window: u64, limit: Time, until: Time) -> Frame {
        let (start, row) = (|window| self.calendar.start(window), |window| self.calendar.row(window));
        let sides = self.calendar.sides();
        let windows = [window + 1, window + 1 + sides];
        let whole = [window + sides, window + 2 * sides].map(start);
        Frame {
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
    fn run_window<N>(&mut self, nodes: &mut [N], shared: &mut N::Shared, frame: &Frame) -> u64
    where
        N: Node<Msg = M>,
    {
        let mut handled = 0;
        for word in 0..self.calendar.words() {
            let mut bits = self.calendar.take_active(frame.index, word);
            while bits != 0 {
                let node = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                handled += self.run_node(&mut nodes[node as usize], node, shared, frame) + 1;
            }
        }
        if !self.remote.told.is_empty() {
            self.pass_words();
        }
        handled
    }

    fn run_node<N>(&mut self, state: &mut N, node: u32, shared: &mut N::Shared, frame: &Frame) -> u64
    where
        N: Node<Msg = M>,
    {
        let mut due = self.calendar.gather(frame.row + node as usize, &mut self.keys);
        if frame.end != frame.whole[0] {
            due = self.keep_back(due, node, frame);
        }
        // One after the other, they would each wait for memory: where a packet goes decides what is looked at next.
        for &key in &self.keys[..due] {
            shared.fetch(N::Msg::from(key as u32));
        }
        let wakes = &mut self.wakes[node as usize];
        let was_waiting = wakes.is_waiting();
        let mut view = Window {
            frame,
            part: self.part,
            keys: &mut self.keys[..due],
            taken: 0,
            channels: &self.channels[node as usize],
            wakes,
            calendar: &mut self.calendar,
            remote: &mut self.remote,
            ends: &self.ends,
            lanes: Some(&mut self.lanes),
            order: Some(&mut self.order),
        };
        let own = state.run(shared, &mut view);
        debug_assert_eq!(view.taken, due, "a node handles all messages of its window");
        wakes.own = own;
        self.waiting = self.waiting + usize::from(wakes.is_waiting()) - usize::from(was_waiting);
        if let Some(at) = wakes.book(frame.whole) {
            self.calendar.activate(self.calendar.window_of(node, at), node);
        }
        due as u64
    }

    /// Files messages again that arrive where a window is cut short or later; gives how many are left of the first `due`.
    #[cold]
    fn keep_back(&mut self, due: usize, node: u32, frame: &Frame) -> usize {
        let limit = frame.end.as_ps().wrapping_sub(frame.start.as_ps()) << TIME_SHIFT;
        let mut left = 0;
        for number in 0..due {
            let key = self.keys[number];
            if key < limit {
                self.keys[left] = key;
                left += 1;
            } else {
                self.calendar.file(frame.index, node, key);
            }
        }
        left
    }

    /// Hands on what nodes have told others.
    #[cold]
    fn pass_words(&mut self) {
        while let Some((node, key)) = self.remote.told.pop() {
            let (part, place) = self.places[node as usize];
            if part == self.part {
                self.wake(place, key);
            } else {
                self.remote.words.push((part, place, key));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Duration, Purpose, Random};

    /// The shortest way from an even node to an odd one or back; other ways are twice as long.
    const STEP: Duration = Duration::from_ps(50);

    /// Notes what comes, and sends each message on as its number says.
    #[derive(Default)]
    struct Post {
        seen: Vec<(Key, Option<u32>)>,
        by: Vec<Channel>,
    }

    impl Node for Post {
        type Msg = u32;
        type Shared = ();

        fn handle(&mut self, key: Key, msg: Option<u32>, (): &mut (), out: &mut impl Outbox<u32>) {
            self.seen.push((key, msg));
            let Some(left) = msg.filter(|&msg| msg > 0) else { return };
            // Far ones and near ones, always after the lookahead, and two of a channel never at one instant.
            let number = u64::from(left) * 7919;
            let late = Duration::from_ps(number % [90, 350, 5000][number as usize % 3] * 10 + number % 97);
            let channel = &self.by[left as usize % self.by.len()];
            let (start, end) = (channel.id / 3, channel.id % 3);
            let shortest = if start % 2 == end % 2 { STEP * 2 } else { STEP };
            out.send(channel, key.at() + shortest + late, left - 1);
            if left % 5 == 0 {
                out.wake(Key::new(key.at() + Duration::from_ps(number % 1000), EventClass::Timer, left, 0));
            }
            if left % 7 == 0 {
                out.tell(left % 3, Key::new(key.at() + STEP * 2, EventClass::Word, left, 0));
            }
        }

        fn run(&mut self, shared: &mut (), window: &mut Window<'_, u32>) -> Time {
            window.sort();
            while let Some((key, msg)) = window.next() {
                self.handle(key, msg, shared, window);
            }
            Time::MAX
        }
    }

    fn together() -> Turns {
        Turns::together(3, STEP)
    }

    fn by_turns() -> Turns {
        Turns { step: STEP, sides: 2, side_of: vec![0, 1, 0] }
    }

    /// Three nodes, each with a channel to all others, and to itself.
    fn world(turns: &Turns) -> (Map, Vec<Post>) {
        let ends: Vec<_> = (0..9).map(|link| (link / 3, link % 3)).collect();
        let map = Map::new(&[0; 3], turns, &ends);
        let node = |start: usize| Post { by: map.channels[3 * start..][..3].to_vec(), ..Post::default() };
        let nodes = (0..3).map(node).collect();
        (map, nodes)
    }

    fn start(wake: &mut dyn FnMut(u32, Key), nodes: &mut [Post]) {
        for node in 0..3 {
            wake(node, Key::new(Time::from_ps(10 + u64::from(node)), EventClass::Start, node, 0));
            nodes[node as usize].seen.clear();
        }
    }

    /// What the nodes see under the windowed engine, paused at times that `pauses` gives, and after `budget` messages.
    fn seen(turns: &Turns, budget: u64, pauses: impl Fn(u64) -> u64) -> Vec<Vec<(Key, Option<u32>)>> {
        let (map, mut nodes) = world(turns);
        let mut engine = Windowed::new(&map, 0, turns);
        start(&mut |node, key| engine.wake(node, key), &mut nodes);
        for (number, channel) in (0..).zip(&map.channels) {
            engine.deliver(*channel, Time::from_ps(20 + 350 * number), 300 + number as u32);
        }
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
    fn nodes_see_their_events_in_order_wherever_windows_are_cut_short() {
        let whole = seen(&together(), u64::MAX, |_| 1 << 40);
        assert!(whole.iter().map(Vec::len).sum::<usize>() > 2700, "all messages are sent on to their end");
        assert!(whole.iter().all(|seen| seen.is_sorted_by_key(|(key, _)| *key)));
        for turns in [together(), by_turns()] {
            assert_eq!(seen(&turns, u64::MAX, |_| 1 << 40), whole, "{turns:?}");
            assert_eq!(seen(&turns, u64::MAX, |_| 50), whole, "step by step, {turns:?}");
            for seed in 0..5 {
                let random = Random::new(seed, Purpose::Test, 0);
                let cut = seen(&turns, 3, |until| 1 + random.at(until) % 5000);
                assert_eq!(cut, whole, "cut by {seed}, {turns:?}");
            }
        }
    }

    #[test]
    fn idle_stretches_take_no_time() {
        for turns in [together(), by_turns()] {
            let (map, mut nodes) = world(&turns);
            let mut engine = Windowed::new(&map, 0, &turns);
            let late = Time::from_ps(1 << 60);
            engine.wake(2, Key::new(late, EventClass::Timer, 0, 0));
            let ahead = late.since(engine.earliest()).as_ps();
            assert!(ahead < 18 * STEP.as_ps(), "known to a coarse slot, and a window");
            assert_eq!(engine.run(&mut nodes, &mut (), Time::MAX, u64::MAX), Pause::Idle);
            assert_eq!(nodes[2].seen.len(), 1);
        }
    }
}
