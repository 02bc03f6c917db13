//! Telemetry as controls read it: how far each port of the path has come since the last ACK.

use farspan_units::{Duration, HopTelemetry, PerHop};

/// The state of a port as of the last ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Stamp {
    /// When its service of the acknowledged packet began, ps.
    at: u64,
    /// Bytes that had left it.
    sent: u64,
    /// Bytes in its queue.
    queued: u64,
}

/// How a port came from one stamp to the next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PortStep {
    /// Time between the two, in seconds; above zero.
    pub(crate) elapsed: f64,
    /// Bytes sent in between.
    pub(crate) sent: f64,
    /// Bytes in the queue at the first stamp, and at the second.
    pub(crate) queued: [f64; 2],
    /// The port's rate, in bytes a second.
    pub(crate) rate: f64,
}

/// The stamps of the ports of a path as of the last ACK.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamps {
    ports: PerHop<Stamp>,
}

impl Stamps {
    /// Takes the stamps of an ACK in; `each` sees the ports that have come further since the last ACK, in their order. There
    /// are none after a first ACK, and after one over a path of another length. `quantised`: whether fields have the widths of
    /// HPCC's header, and wrap (HPCC, figure 7): 24 bits of nanoseconds, 20 bits of 128 B sent, 17 bits of 80 B queued.
    ///
    /// A port has no name here: where packets of a flow take several paths, stamps of different ports are compared (OSCAR,
    /// section 4.4).
    pub(crate) fn take(&mut self, hops: &[HopTelemetry], quantised: bool, mut each: impl FnMut(PortStep)) {
        let is_known = self.ports.as_slice().len() == hops.len();
        self.ports.resize(hops.len());
        for (before, hop) in self.ports.as_mut_slice().iter_mut().zip(hops) {
            let after = Stamp { at: hop.at.as_ps(), sent: hop.sent.get(), queued: hop.queued.get() };
            let (elapsed, sent) = if quantised { wrapped(*before, after) } else { exact(*before, after) };
            if is_known && elapsed > 0 {
                let queued = [before.queued, after.queued];
                let queued = if quantised { queued.map(quantised_queue) } else { queued };
                each(PortStep {
                    elapsed: Duration::from_ps(elapsed).as_secs_f64(),
                    sent: sent as f64,
                    queued: queued.map(|bytes| bytes as f64),
                    rate: hop.rate.bytes_per_sec_f64(),
                });
            }
            *before = after;
        }
    }
}

/// Picoseconds and bytes between two stamps; of stamps that came in the wrong order none.
const fn exact(before: Stamp, after: Stamp) -> (u64, u64) {
    (after.at.saturating_sub(before.at), after.sent.saturating_sub(before.sent))
}

/// As [`exact`], of fields that wrap.
const fn wrapped(before: Stamp, after: Stamp) -> (u64, u64) {
    let ns = (after.at / 1000).wrapping_sub(before.at / 1000) & ((1 << 24) - 1);
    let units = (after.sent / 128).wrapping_sub(before.sent / 128) & ((1 << 20) - 1);
    (ns * 1000, units * 128)
}

/// A queue in a field of 17 bits.
const fn quantised_queue(bytes: u64) -> u64 {
    ((bytes / 80) & ((1 << 17) - 1)) * 80
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use farspan_units::{Bytes, Rate, Time};

    fn hop(ns: u64, sent: u64, queued: u64) -> HopTelemetry {
        let at = Time::ZERO + Duration::from_ns(ns);
        HopTelemetry { at, sent: Bytes::new(sent), queued: Bytes::new(queued), rate: Rate::from_gbps(100) }
    }

    fn read(stamps: &mut Stamps, hops: &[HopTelemetry]) -> Vec<(u64, u64, [u64; 2])> {
        read_as(false, stamps, hops)
    }

    fn read_as(quantised: bool, stamps: &mut Stamps, hops: &[HopTelemetry]) -> Vec<(u64, u64, [u64; 2])> {
        let mut all = vec![];
        stamps.take(hops, quantised, |p| {
            all.push(((p.elapsed * 1e9 + 0.5) as u64, p.sent as u64, p.queued.map(|bytes| bytes as u64)));
        });
        all
    }

    #[test]
    fn the_first_ack_and_one_over_a_path_of_another_length_only_leave_their_stamps() {
        let mut stamps = Stamps::default();
        assert_eq!(read(&mut stamps, &[hop(10, 1000, 5)]), []);
        assert_eq!(read(&mut stamps, &[hop(30, 3000, 7)]), [(20, 2000, [5, 7])]);
        assert_eq!(read(&mut stamps, &[hop(40, 4000, 0), hop(50, 9000, 0)]), []);
        assert_eq!(
            read(&mut stamps, &[hop(41, 4010, 0), hop(52, 9020, 0)]),
            [(1, 10, [0, 0]), (2, 20, [0, 0])]
        );
    }

    #[test]
    fn a_path_of_many_ports_has_a_stamp_of_each() {
        let mut stamps = Stamps::default();
        let at = |ns| (0..32).map(|n| hop(ns + n, 1000 * n + ns, n)).collect::<Vec<_>>();
        assert_eq!(read(&mut stamps, &at(10)), []);
        let steps: Vec<_> = (0..32).map(|n| (20, 20, [n, n])).collect();
        assert_eq!(read(&mut stamps, &at(30)), steps);
        assert_eq!(read(&mut stamps, &at(50)[..9]), [], "another path");
        assert_eq!(read(&mut stamps, &at(70)[..9]), steps[..9]);
    }

    #[test]
    fn a_stamp_that_is_no_newer_says_nothing() {
        let mut stamps = Stamps::default();
        read(&mut stamps, &[hop(30, 3000, 7)]);
        assert_eq!(read(&mut stamps, &[hop(30, 3000, 7)]), []);
        assert_eq!(read(&mut stamps, &[hop(10, 1000, 5)]), []);
    }

    #[test]
    fn fields_of_the_published_widths_wrap_and_come_in_steps() {
        let mut stamps = Stamps::default();
        let wrap = (1 << 24, 128 << 20);
        read_as(true, &mut stamps, &[hop(wrap.0 - 100, wrap.1 - 1280, 79)]);
        assert_eq!(
            read_as(true, &mut stamps, &[hop(wrap.0 + 100, wrap.1 + 1407, 161)]),
            [(200, 2560, [0, 160])]
        );
        // A queue of 10 MiB is beyond 17 bits of 80 B.
        assert_eq!(
            read_as(true, &mut stamps, &[hop(wrap.0 + 200, wrap.1 + 1407, 80 * (1 << 17) + 80)]),
            [(100, 0, [160, 80])]
        );
        // An older stamp looks like one from almost a whole wrap later.
        let older = read_as(true, &mut stamps, &[hop(wrap.0 + 100, wrap.1, 0)]);
        assert_eq!(older, [((1 << 24) - 100, 128 * ((1 << 20) - 10), [80, 0])]);
    }
}
