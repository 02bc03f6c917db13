//! Ports without room for a data packet: whether they trim, and how.

use crate::error::ValueError;
use crate::model::{FullBuffer, Ports, PortsText};
use crate::value::{Overflow, TrimService, TrimVictim};

/// The fate of a packet that a buffer has no room for, as it is written, else as the scheme has it.
pub(super) fn full_buffer(written: &PortsText, base: &PortsText) -> Result<FullBuffer, ValueError> {
    match written.overflow.or(base.overflow).unwrap_or(Overflow::Drop) {
        Overflow::Drop => {
            refuse_keys(written)?;
            Ok(FullBuffer::Drops)
        }
        Overflow::Trim => Ok(FullBuffer::Trims {
            victim: written.trim_victim.or(base.trim_victim).unwrap_or(TrimVictim::Coin),
            header_buffer: written.header_buffer.or(base.header_buffer),
            service: written.trim_service.or(base.trim_service).unwrap_or(TrimService::Strict),
            return_to_sender: written.return_to_sender.or(base.return_to_sender).unwrap_or(false),
        }),
    }
}

/// Refuses keys of trimming, which mean nothing where ports drop.
fn refuse_keys(written: &PortsText) -> Result<(), ValueError> {
    let keys = [
        ("trim_service", written.trim_service.is_some()),
        ("trim_victim", written.trim_victim.is_some()),
        ("header_buffer", written.header_buffer.is_some()),
        ("return_to_sender", written.return_to_sender == Some(true)),
    ];
    match keys.into_iter().find(|(_, is_written)| *is_written) {
        None => Ok(()),
        Some((key, _)) => Err(ValueError::rule(
            format!("scheme.ports.{key}"),
            "the ports of this scheme drop packets that do not fit, and never trim them",
            "write scheme.ports.overflow = \"trim\", or leave this key out",
        )),
    }
}

/// Refuses to send headers back to other programs, whose packets an emulation has; `is_idle`: whether the traffic comes from there.
pub(super) fn check(ports: &Ports, is_idle: bool) -> Result<(), ValueError> {
    match ports.overflow {
        FullBuffer::Trims { return_to_sender: true, .. } if is_idle => Err(ValueError::rule(
            "scheme.ports.return_to_sender",
            "an emulation carries packets of other programs, which cannot handle a returned header",
            "write scheme.ports.return_to_sender = false, or leave this key out",
        )),
        _ => Ok(()),
    }
}
