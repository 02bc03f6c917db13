//! [Fluid](super::PortModel::is_fluid) ports: what becomes of a packet is known when it arrives.

use super::Port;
use crate::packet::Packet;
use farspan_units::{Duration, Time};

impl Port {
    /// A packet arrives at a [fluid](super::PortModel::is_fluid) port: gives when its last bit leaves. The port is then
    /// done with it. `None` if it must be [queued](Self::enqueue): something is due, there is no room, or it would not
    /// have left before `horizon`, when someone may look at the counters.
    #[inline(never)]
    pub fn flow(&mut self, now: Time, packet: &mut Packet, horizon: Time) -> Option<Time> {
        debug_assert!(self.model.fluid, "departures are known on arrival");
        let (size, time) = (packet.size(), self.model.transmission(packet.size()));
        let starts = self.free_at.max(now);
        let (at, ahead) = (starts + time, Duration::from_ps(starts.as_ps() - now.as_ps()));
        if self.next_at != Time::MAX || at >= horizon || ahead + time > self.model.full {
            return None;
        }
        self.join(now, ahead, packet, time);
        self.free_at = at;
        self.count_sent(size, time);
        Some(at)
    }

    /// The same, and `None` also if the port would have to do more than to count the packet, or meets its largest queue.
    #[inline(always)]
    pub fn flow_calmly(&mut self, now: Time, packet: &Packet, horizon: Time) -> Option<Time> {
        let (model, size) = (&*self.model, packet.size());
        debug_assert!(model.fluid, "departures are known on arrival");
        let (time, starts) = (Duration::from_ps(model.byte_time * size.get()), self.free_at.max(now));
        let (at, ahead) = (starts + time, Duration::from_ps(starts.as_ps() - now.as_ps()));
        let level = ahead + time;
        let calm = level < model.calm && level.as_ps() <= self.max_queue;
        if !calm || at >= horizon || self.next_at != Time::MAX {
            return None;
        }
        self.integrate(ahead, time);
        self.free_at = at;
        self.count_sent(size, time);
        Some(at)
    }

    /// Counts a packet at a fluid port that has `ahead` to send before it.
    #[inline(always)]
    fn join(&mut self, now: Time, ahead: Duration, packet: &mut Packet, time: Duration) {
        let (size, control, level) = (packet.size(), packet.control(), (ahead + time).as_ps());
        self.integrate(ahead, time);
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

    /// What is left to send at a fluid port falls from `ahead + time` to `ahead` in `time`, and is `time` more until then.
    #[inline(always)]
    const fn integrate(&mut self, ahead: Duration, time: Duration) {
        self.queue_integral.add(time.as_ps(), (ahead.as_ps() + time.as_ps()) + ahead.as_ps());
    }

    /// How long a fluid port takes to send all that it holds.
    pub(super) fn ahead(&self, now: Time) -> Duration {
        let keeps = self.rare.as_ref().filter(|_| self.next_at != Time::MAX);
        keeps.map_or(self.free_at, |rare| rare.empty_at).since(now)
    }

    /// Counts a packet into a fluid port that keeps it, if there is room for it.
    #[cold]
    pub(super) fn keep(&mut self, now: Time, packet: &mut Packet) -> bool {
        let (ahead, time) = (self.ahead(now), self.model.transmission(packet.size()));
        if ahead + time > self.model.full {
            return false;
        }
        self.join(now, ahead, packet, time);
        self.rare.get_or_insert_default().empty_at = now + ahead + time;
        true
    }
}
