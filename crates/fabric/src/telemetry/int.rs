//! INT: "HPCC: High Precision Congestion Control" (SIGCOMM 2019), section 3.1 and figure 7.
//!
//! Each port writes its state behind those of the ports before it. Left out: the widths of the header's fields, which controls that
//! are sensitive to them apply themselves.

use farspan_units::{HopTelemetry, Telemetry};

#[inline]
pub(super) fn stamp(telemetry: &mut Telemetry, hop: HopTelemetry) {
    telemetry.push(hop);
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::Bytes;

    #[test]
    fn a_packet_carries_every_port_in_order() {
        let hop = |n| HopTelemetry { queued: Bytes::new(n), ..HopTelemetry::default() };
        let mut telemetry = Telemetry::default();
        [3, 1, 2].into_iter().for_each(|n| stamp(&mut telemetry, hop(n)));
        assert_eq!(telemetry.hops(), [3, 1, 2].map(hop));
    }
}
