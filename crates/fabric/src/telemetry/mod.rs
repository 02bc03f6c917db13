//! Telemetry as ports write it: one file a kind, with its stamp.
//!
//! Adding a kind: its file, its module and a line in the registry below, and a line in that of `farspan_units`, between
//! controls and networks.

mod int;
mod mpd;

use farspan_units::{HopTelemetry, Telemetry, TelemetryKind};

/// Generates [`stamp`] from one line per kind: its variant and its module.
macro_rules! stamps {
    ($($variant:ident, $module:ident;)*) => {
        /// A port has sent a packet that carries `telemetry`, and is in state `hop`.
        #[inline]
        pub(crate) fn stamp(kind: TelemetryKind, telemetry: &mut Telemetry, hop: HopTelemetry) {
            match kind {
                TelemetryKind::None => {}
                $(TelemetryKind::$variant => $module::stamp(telemetry, hop),)*
            }
        }
    };
}

// The registry: variant, module.
stamps! {
    Mpd, mpd;
    Int, int;
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Bytes, Rate};

    #[test]
    fn no_packet_carries_more_ports_than_its_kind_says() {
        for &kind in TelemetryKind::ALL {
            let mut telemetry = Telemetry::default();
            for n in 0..40 {
                let (queued, rate) = (Bytes::new(n), Rate::from_gbps(100));
                stamp(kind, &mut telemetry, HopTelemetry { queued, rate, ..HopTelemetry::default() });
                assert!(telemetry.hops().len() <= kind.most_hops(), "{}", kind.name());
            }
            assert_eq!(
                telemetry.hops().len(),
                kind.most_hops(),
                "{}: nobody writes less than it may",
                kind.name()
            );
        }
    }
}
