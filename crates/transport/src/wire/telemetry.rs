//! Telemetry as bytes, beside a header: version 2, network byte order. Nothing is rounded, so that a control does the same with
//! what came over a wire.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 1 | version (high 4 bits) and flags (low 4): 1: it says when the packet arrived; else 0 |
//! | 1 | 1 | number of ports, at most [`Telemetry::MOST_HOPS`] |
//! | 2 | 8 | if it does: when, by the receiver's clock, ps |
//!
//! Then follow 32 bytes a port, the first on the way first.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | when its service of the packet began, ps |
//! | 8 | 8 | bytes that left it before, this packet not among them (or bytes that had arrived, this packet among them) |
//! | 16 | 8 | bytes of data that waited behind the packet then |
//! | 24 | 8 | rate of its link, bit/s |

use alloc::vec::Vec;
use farspan_units::{Bytes, HopTelemetry, Rate, Telemetry, Time};

const VERSION: u8 = 2;
const FLAG_ARRIVAL: u8 = 1;

/// Why bytes are no telemetry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TelemetryError {
    /// There are fewer bytes than the telemetry takes.
    #[error(
        "{have} bytes are less than the {need} of this telemetry; drop the datagram, it was cut short or is not ours"
    )]
    Truncated {
        /// Bytes that the telemetry takes, as far as is known.
        need: usize,
        /// Bytes that there are.
        have: usize,
    },
    /// Another version of the layout.
    #[error(
        "version {version} of telemetry is not known here, only {VERSION}; run the same release at both ends"
    )]
    Version {
        /// The version.
        version: u8,
    },
    /// More ports than a packet has room for.
    #[error(
        "{ports} ports are more than the {} that telemetry has room for; drop the datagram, it is not ours",
        Telemetry::MOST_HOPS
    )]
    Ports {
        /// How many.
        ports: u8,
    },
    /// Flags that this version does not have.
    #[error(
        "flags {flags:#04x} of telemetry are not known in version {VERSION}; run the same release at both ends"
    )]
    Flags {
        /// All flags.
        flags: u8,
    },
}

/// Appends the telemetry to `bytes`.
pub fn encode(telemetry: &Telemetry, bytes: &mut Vec<u8>) {
    let flags = if telemetry.received_at.is_some() { FLAG_ARRIVAL } else { 0 };
    bytes.extend([VERSION << 4 | flags, telemetry.hops().len() as u8]);
    let arrival = telemetry.received_at.map(Time::as_ps);
    let ports = telemetry.hops().iter().flat_map(|hop| {
        let HopTelemetry { at, sent, queued, rate } = *hop;
        [at.as_ps(), sent.get(), queued.get(), rate.as_bps()]
    });
    bytes.extend(arrival.into_iter().chain(ports).flat_map(u64::to_be_bytes));
}

/// Reads the telemetry at the front of `bytes`; gives it, and the bytes behind it.
///
/// # Errors
/// Too few bytes, more ports than there is room for, or a version or flag that is not known.
pub fn decode(bytes: &[u8]) -> Result<(Telemetry, &[u8]), TelemetryError> {
    let have = bytes.len();
    let &[first, ports, ref rest @ ..] = bytes else {
        return Err(TelemetryError::Truncated { need: 2, have });
    };
    let (version, flags) = (first >> 4, first & 0xf);
    if version != VERSION {
        return Err(TelemetryError::Version { version });
    }
    if flags & !FLAG_ARRIVAL != 0 {
        return Err(TelemetryError::Flags { flags });
    }
    if usize::from(ports) > Telemetry::MOST_HOPS {
        return Err(TelemetryError::Ports { ports });
    }
    let arrivals = usize::from(flags & FLAG_ARRIVAL);
    let words = arrivals + 4 * usize::from(ports);
    let Some((fields, rest)) = rest.split_at_checked(8 * words) else {
        return Err(TelemetryError::Truncated { need: 2 + 8 * words, have });
    };
    let (fields, _) = fields.as_chunks::<8>();
    let (arrival, ports) = fields.split_at(arrivals);
    let word = |field: &[u8; 8]| u64::from_be_bytes(*field);
    let mut telemetry: Telemetry = ports
        .as_chunks::<4>()
        .0
        .iter()
        .map(|[at, sent, queued, rate]| HopTelemetry {
            at: Time::from_ps(word(at)),
            sent: Bytes::new(word(sent)),
            queued: Bytes::new(word(queued)),
            rate: Rate::from_bps(word(rate)),
        })
        .collect();
    telemetry.received_at = arrival.first().map(|at| Time::from_ps(word(at)));
    Ok((telemetry, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn hop(at: u64, sent: u64, queued: u64, rate: u64) -> HopTelemetry {
        let (at, sent, queued) = (Time::from_ps(at), Bytes::new(sent), Bytes::new(queued));
        HopTelemetry { at, sent, queued, rate: Rate::from_bps(rate) }
    }

    fn bytes(telemetry: &Telemetry) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(telemetry, &mut bytes);
        bytes
    }

    #[test]
    fn the_layout_is_frozen() {
        assert_eq!(bytes(&Telemetry::default()), [0x20, 0]);
        let mut telemetry: Telemetry = [hop(0x0102_0304_0506_0708, 2, 3, 4)].into_iter().collect();
        let port =
            [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4];
        assert_eq!(bytes(&telemetry), [&[0x20, 1], &port[..]].concat());
        telemetry.received_at = Some(Time::from_ps(0x1112_1314_1516_1718));
        let arrival = [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
        assert_eq!(bytes(&telemetry), [&[0x21, 1], &arrival[..], &port[..]].concat());
        let all: Telemetry = (0..32).map(|n| hop(n, n, n, n)).collect();
        assert_eq!((&bytes(&all)[..2], bytes(&all).len()), (&[0x20, 32][..], 2 + 32 * 32));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        assert_eq!(decode(&[0x20]), Err(TelemetryError::Truncated { need: 2, have: 1 }));
        assert_eq!(decode(&[0x11, 0]), Err(TelemetryError::Version { version: 1 }));
        assert_eq!(decode(&[0x20, 33]), Err(TelemetryError::Ports { ports: 33 }));
        assert_eq!(decode(&[0x22, 0]), Err(TelemetryError::Flags { flags: 2 }));
        let short = decode(&[0x21, 1, 0, 0]).unwrap_err();
        assert_eq!(short, TelemetryError::Truncated { need: 42, have: 4 });
        assert_eq!(
            short.to_string(),
            "4 bytes are less than the 42 of this telemetry; drop the datagram, it was cut short or is not ours"
        );
    }

    proptest! {
        #[test]
        fn decoding_what_was_encoded_gives_the_telemetry_back(
            hops in prop::collection::vec(any::<[u64; 4]>(), 0..=Telemetry::MOST_HOPS), received_at in any::<Option<u64>>(),
            behind in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut telemetry: Telemetry = hops.into_iter().map(|[at, sent, queued, rate]| hop(at, sent, queued, rate)).collect();
            telemetry.received_at = received_at.map(Time::from_ps);
            let mut given = bytes(&telemetry);
            given.extend(&behind);
            prop_assert_eq!(decode(&given), Ok((telemetry, &behind[..])));
        }

        #[test]
        fn arbitrary_bytes_never_panic_and_what_decodes_encodes_to_the_same_bytes(
            mut given in prop::collection::vec(any::<u8>(), 0..1100), make_known in any::<bool>(),
        ) {
            if let (true, [first, ports, ..]) = (make_known, &mut given[..]) {
                (*first, *ports) = ((VERSION << 4) | (*first % 2), *ports % 33);
            }
            if let Ok((telemetry, rest)) = decode(&given) {
                prop_assert_eq!([&bytes(&telemetry)[..], rest].concat(), given.clone());
            }
        }
    }
}
