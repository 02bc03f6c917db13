//! The counters and readings of a port.

use super::{Port, PortCounters, PortModel};
use farspan_units::{Bytes, Duration, Time};

impl Port {
    /// Bytes in the data queue, the packet in service included: whole, or what is left of it at a
    /// [FIFO](PortModel::is_fifo) port.
    #[must_use]
    pub fn queued(&self, now: Time) -> Bytes {
        if self.model.fifo { self.model.rate.bytes_in(self.backlog(now)) } else { self.data_bytes }
    }

    /// The phantom counter, if the port has one.
    #[must_use]
    pub fn phantom(&self, now: Time) -> Option<Bytes> {
        self.model.marking.phantom.as_ref().map(|model| self.phantom.level(now, model))
    }

    /// Packets trimmed here, and how many bytes were cut off them.
    #[must_use]
    pub fn trimmed(&self) -> (u64, Bytes) {
        let state = self.cold.as_ref().and_then(|cold| cold.trimming.as_ref());
        state.map_or((0, Bytes::ZERO), |state| (state.trimmed, state.cut_bytes))
    }

    /// Headers that found no room here and were sent back to the hosts that their packets came from, cut here or before.
    #[must_use]
    pub fn returned(&self) -> u64 {
        self.cold.as_ref().and_then(|cold| cold.trimming.as_ref()).map_or(0, |state| state.returned)
    }

    /// The counters of the port.
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        let (dropped, dropped_bytes) =
            self.cold.as_ref().map_or((0, Bytes::ZERO), |cold| (cold.dropped, cold.dropped_bytes));
        let Self { sent_bytes, sent_packets, marked, max_queue, .. } = *self;
        let max_queue = if self.model.fifo {
            self.model.rate.bytes_in(Duration::from_ps(max_queue))
        } else {
            Bytes::new(max_queue)
        };
        PortCounters { sent_bytes, sent_packets, dropped, dropped_bytes, marked, max_queue }
    }

    /// Time spent sending up to `now`: the packet in service counts as far as it has come.
    #[must_use]
    pub fn busy_until(&self, now: Time) -> Duration {
        self.busy.saturating_sub(self.free_at.since(now))
    }

    /// The model that the port shares with others of its kind.
    #[must_use]
    #[inline]
    pub fn model(&self) -> &PortModel {
        &self.model
    }

    /// Time-weighted mean of the data queue from the start to `now`, in bytes.
    #[must_use]
    pub fn mean_queue(&self, now: Time) -> f64 {
        if now == Time::ZERO {
            return 0.0;
        }
        let mut integral = self.queue_integral;
        if self.model.fifo {
            let backlog = self.backlog(now).as_ps();
            integral.subtract(backlog, backlog);
            let mean = integral.get() as f64 / 2.0 / now.as_ps() as f64;
            return mean * self.model.rate.bytes_per_sec_f64() / 1e12;
        }
        integral.add(self.data_bytes.get(), now.as_ps());
        integral.get() as f64 / now.as_ps() as f64
    }
}
