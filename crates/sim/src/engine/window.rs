//! A window as a node sees it: its events, and an outbox to send.

use super::calendar::Calendar;
use super::order::Order;
use super::packed::{Arriving, Message, Packed};
use super::wakes::Wakes;
use super::{Channel, Frame, Key, Outbox, Payload};
use farspan_units::Time;

/// A window, or its part before something that cuts it short: equal for every node that runs it.
pub(super) struct Bounds {
    /// The window's number.
    pub(super) index: u64,
    /// The window's start: packed keys count from here. It may wrap: see [`Calendar::start`].
    pub(super) start: Time,
    /// The window's end; events at or after it wait.
    pub(super) end: Time,
    /// The end of the whole window, and of the one after it for the same nodes.
    pub(super) whole: [Time; 2],
    /// The next two windows of nodes that short links lead to, and when they begin.
    pub(super) windows: [u64; 2],
    pub(super) others: [Time; 2],
    /// The engine runs up to this time before nodes may be sampled.
    pub(super) until: Time,
    /// See [`Calendar::row`]: of this window.
    pub(super) row: usize,
    /// The rows of the two windows above.
    pub(super) rows: [usize; 2],
}

/// Messages, frames and notifications that have not reached their nodes yet.
pub(super) struct Remote<M> {
    /// Messages to other parts.
    pub(super) messages: Vec<(Channel, Time, M)>,
    /// Frames to other parts.
    pub(super) frames: Vec<(Channel, Time, Frame)>,
    /// Notifications to other parts, and the indices of the nodes there.
    pub(super) notifications: Vec<(u16, u32, Key)>,
    /// Notifications that nodes have sent in this window.
    pub(super) notified: Vec<(u32, Key)>,
}

// A node that is not in this part has an index beyond every row.
const _: () = assert!(usize::BITS >= 64, "the engine needs a machine of 64 bits");

/// A window as a node sees it: its events in order, and an outbox to send.
pub(crate) struct Window<'a, M> {
    pub(super) bounds: &'a Bounds,
    pub(super) part: u16,
    /// The messages before the end.
    pub(super) keys: &'a mut [Packed<M>],
    /// How many of them have been handled.
    pub(super) taken: usize,
    pub(super) channels: &'a [u32],
    pub(super) wakes: &'a mut Wakes,
    pub(super) calendar: &'a mut Calendar<M>,
    pub(super) remote: &'a mut Remote<M>,
    /// See [`super::Map`].
    pub(super) ends: &'a [u32],
    pub(super) order: Option<&'a mut Order<M>>,
}

impl<'a, M: Message> Window<'a, M> {
    /// Where the window ends.
    pub(crate) const fn end(&self) -> Time {
        self.bounds.end
    }

    /// No one samples the nodes before this time: events that are bound to happen by then may be counted now.
    #[inline]
    pub(crate) const fn until(&self) -> Time {
        self.bounds.until
    }

    /// Whether the node has asked for events in this window.
    pub(crate) fn has_wakes(&self) -> bool {
        self.wakes.next() < self.bounds.end
    }

    /// The window's start: see [`Packed::at`].
    pub(crate) const fn start(&self) -> Time {
        self.bounds.start
    }

    /// The channels that end at the node, by rank.
    pub(crate) const fn channels(&self) -> &'a [u32] {
        self.channels
    }

    /// Puts the messages in order, for [`Self::next`].
    #[inline]
    pub(crate) fn sort(&mut self) {
        self.keys.sort_by_key(|key| key.order());
    }

    /// Whether frames are among the messages: then only [`Self::next`] hands them out.
    #[inline]
    pub(crate) fn has_frames(&self) -> bool {
        self.calendar.has_frames && self.keys.iter().any(|key| key.is_frame())
    }

    /// All messages, in order. The node handles them.
    #[inline]
    pub(crate) fn take_sorted(&mut self) -> &'a mut [Arriving<M>] {
        let order = self.order.take().expect("a node asks once a window");
        let keys = std::mem::take(&mut self.keys);
        self.taken = keys.len();
        let keys = order.sort(keys, self.calendar.length);
        self.arriving(keys)
    }

    /// All messages, those of one channel in the order in which they were sent. The node handles them.
    #[inline]
    pub(crate) fn take_packed(&mut self) -> &'a mut [Arriving<M>] {
        let keys = std::mem::take(&mut self.keys);
        self.taken = keys.len();
        self.arriving(keys)
    }

    #[inline(always)]
    #[allow(unsafe_code, reason = "no frame is among the messages")]
    fn arriving(&self, keys: &'a mut [Packed<M>]) -> &'a mut [Arriving<M>] {
        let has_frames = self.calendar.has_frames && keys.iter().any(|key| key.is_frame());
        assert!(!has_frames, "a node that frames come to takes them one by one");
        // SAFETY: no frame was ever filed here, or each message was looked at.
        unsafe { Arriving::all(keys) }
    }

    /// When the next message arrives; [`Time::MAX`] if none is left in the window.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.keys.get(self.taken).map_or(Time::MAX, |packed| packed.at(self.bounds.start))
    }

    /// When the next event comes of those that arrive or were asked for; [`Time::MAX`] if none is left in the window.
    pub(crate) fn next_at(&self) -> Time {
        let wake = Some(self.wakes.next()).filter(|&at| at < self.bounds.end);
        self.next_arrival().min(wake.unwrap_or(Time::MAX))
    }

    /// The next event of those that arrive or were asked for, in the total order. The messages have been put in order.
    pub(crate) fn next(&mut self) -> Option<(Key, Payload<M>)> {
        let arrival = self.keys.get(self.taken).map(|packed| {
            let (class, payload) = packed.payload();
            (Key::new(packed.at(self.bounds.start), class, self.channels[packed.rank()], 0), payload)
        });
        if let Some(key) = self.wakes.take_before(self.bounds.end, arrival.map(|(key, _)| key)) {
            return Some((key, Payload::None));
        }
        self.taken += usize::from(arrival.is_some());
        arrival
    }

    /// Sends to another part or a node of the same group, or further ahead than two windows.
    #[inline(never)]
    fn send_slowly(&mut self, channel: &Channel, at: Time, msg: M) {
        assert!(at >= self.bounds.others[0], "a message takes the lookahead at least");
        if channel.part != self.part {
            return self.remote.messages.push((*channel, at, msg));
        }
        self.file(channel, at, |offset| Packed::message(offset, channel.rank, msg));
    }

    /// Files something for a node of this part, `pack`ed with its offset in the node's window.
    fn file(&mut self, channel: &Channel, at: Time, pack: impl Fn(u64) -> Packed<M>) {
        let (node, ps) = (self.ends[channel.id as usize], at.as_ps().wrapping_sub(self.bounds.start.as_ps()));
        let (window, offset) = self.calendar.place_of(node, self.bounds.index, ps);
        assert!(window > self.bounds.index, "a message arrives in a later window of its node");
        self.calendar.file(window, node, pack(offset));
    }

    /// Sends with a fresh chunk.
    #[inline(never)]
    fn send_afresh(&mut self, channel: &Channel, at: Time, msg: M) {
        let ahead = usize::from(at >= self.bounds.others[1]);
        if channel.node == Channel::AWAY {
            return self.send_slowly(channel, at, msg);
        }
        let offset = at.as_ps() - self.bounds.others[ahead].as_ps();
        let key = Packed::message(offset, channel.rank, msg);
        let place = self.bounds.rows[ahead] + channel.node as usize;
        let window = self.bounds.windows[ahead];
        self.calendar.file_afresh(place, window, channel.node, key);
    }
}

impl<M: Message> Outbox<M> for Window<'_, M> {
    #[inline(always)]
    fn send(&mut self, channel: &Channel, at: Time, msg: M) {
        debug_assert!(at >= self.bounds.others[0], "a message takes the lookahead at least");
        // Nearly all arrive in one of the next two windows of the other group.
        let ahead = usize::from(at >= self.bounds.others[1]);
        let offset = at.as_ps().wrapping_sub(self.bounds.others[ahead].as_ps());
        if offset >= self.calendar.length {
            return self.send_slowly(channel, at, msg);
        }
        // Nodes of other parts have no index here, nor have those of the same group.
        let place = self.bounds.rows[ahead] + channel.node as usize;
        if !self.calendar.file_quickly(place, Packed::message(offset, channel.rank, msg)) {
            self.send_afresh(channel, at, msg);
        }
    }

    #[cold]
    fn send_frame(&mut self, channel: &Channel, at: Time, frame: Frame) {
        assert!(at >= self.bounds.others[0], "a frame takes the lookahead at least");
        if channel.part != self.part {
            return self.remote.frames.push((*channel, at, frame));
        }
        self.calendar.has_frames = true;
        self.file(channel, at, |offset| Packed::frame(offset, channel.rank, frame));
    }

    fn wake(&mut self, key: Key) {
        self.wakes.push(key);
    }

    fn notify(&mut self, node: u32, key: Key) {
        assert!(key.at() >= self.bounds.whole[0], "a notification arrives in a later window of any node");
        self.remote.notified.push((node, key));
    }
}
