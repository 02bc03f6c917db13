//! FIFO ports: their departures are known at enqueue, so that nothing need wait for a completion.

use super::Port;
use crate::packet::Packet;
use farspan_units::{Duration, Time};

impl Port {
    /// A packet arrives at a [FIFO](super::PortModel::is_fifo) port, where nothing overtakes: gives when its last bit leaves,
    /// and the port is done with it. `None` if it must be [queued](Self::enqueue): something waits, there is no room, or it
    /// would not leave before `horizon`, when the counters may be read.
    pub(crate) fn forward(&mut self, now: Time, packet: &mut Packet, horizon: Time) -> Option<Time> {
        let at = self.forward_unmarked(now, packet, horizon);
        at.or_else(|| self.forward_slowly(now, packet, horizon))
    }

    /// The fast path of [`Self::forward`]: nothing marks the packet, and the queue was longer before. `None`:
    /// nothing has happened, and the [slow path](Self::forward_slowly) is wanted.
    #[inline(always)]
    pub(crate) fn forward_unmarked(&mut self, now: Time, packet: &Packet, horizon: Time) -> Option<Time> {
        let (model, size) = (&*self.model, packet.size());
        let (time, starts) = (Duration::from_ps(model.byte_time * size.get()), self.free_at.max(now));
        let (at, backlog) = (starts + time, Duration::from_ps(starts.as_ps() - now.as_ps()));
        let level = backlog + time;
        let is_unmarked = level < model.unmarked && level.as_ps() <= self.max_queue;
        if !is_unmarked || at >= horizon || self.next_at != Time::MAX {
            return None;
        }
        self.integrate(backlog, time);
        self.free_at = at;
        self.count_sent(size, time);
        Some(at)
    }

    /// The slow path: the packet may be marked, or have to wait.
    #[inline(never)]
    pub(crate) fn forward_slowly(&mut self, now: Time, packet: &mut Packet, horizon: Time) -> Option<Time> {
        let (size, time) = (packet.size(), self.model.transmission(packet.size()));
        let starts = self.free_at.max(now);
        let (at, backlog) = (starts + time, Duration::from_ps(starts.as_ps() - now.as_ps()));
        if self.next_at != Time::MAX || at >= horizon || backlog + time > self.model.full {
            return None;
        }
        self.join(now, backlog, packet, time);
        self.free_at = at;
        self.count_sent(size, time);
        Some(at)
    }

    /// Counts a packet at a FIFO port that has `backlog` to send before it.
    #[inline(always)]
    fn join(&mut self, now: Time, backlog: Duration, packet: &mut Packet, time: Duration) {
        let (size, control, level) = (packet.size(), packet.control(), (backlog + time).as_ps());
        self.integrate(backlog, time);
        if level > self.max_queue {
            self.max_queue = level;
        }
        let model = &*self.model;
        if !control {
            if let Some(phantom) = &model.marking.phantom {
                self.phantom.add(now, size, phantom);
            }
            if model.marking.marks(now, level, self.phantom, &mut self.random) {
                packet.mark();
                self.marked += 1;
            }
        }
    }

    /// The backlog of a FIFO port falls from `backlog + time` to `backlog` in `time`, and is `time` more until then.
    #[inline(always)]
    const fn integrate(&mut self, backlog: Duration, time: Duration) {
        self.queue_integral.add(time.as_ps(), (backlog.as_ps() + time.as_ps()) + backlog.as_ps());
    }

    /// How long a FIFO port takes to send all that it holds.
    pub(super) fn backlog(&self, now: Time) -> Duration {
        let keeps = self.cold.as_ref().filter(|_| self.next_at != Time::MAX);
        keeps.map_or(self.free_at, |cold| cold.empty_at).since(now)
    }

    /// Counts a packet into a FIFO port that keeps it, if there is room for it.
    #[cold]
    pub(super) fn keep(&mut self, now: Time, packet: &mut Packet) -> bool {
        let (backlog, time) = (self.backlog(now), self.model.transmission(packet.size()));
        if backlog + time > self.model.full {
            return false;
        }
        self.join(now, backlog, packet, time);
        self.cold.get_or_insert_default().empty_at = now + backlog + time;
        true
    }
}
