//! Captures as files: a thread of its own writes what ports have let go, so that the loop never waits for a disk.

use crate::engine::Captured;
use farspan_files::NewFile;
use farspan_sim::Spec;
use farspan_trace::pcapng::{Interface, PcapngWriter};
use farspan_units::PortId;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::mpsc::Receiver;

/// Packets that wait to be written, at most: half a second of 60,000 a second. What comes then is left out, and counted.
pub(super) const MOST_WAITING: usize = 1 << 15;

/// The captured ports of a spec.
fn interfaces(spec: &Spec) -> Vec<Interface> {
    let interface = |&port: &PortId| Interface {
        port,
        name: spec.network.port_name(port),
        rate: spec.network.links[port.index()].rate,
    };
    spec.trace.ports.iter().map(interface).collect()
}

/// Writes what comes until nobody sends any more; the file is whole once it has its name.
pub(super) fn record(spec: &Spec, comment: &str, path: &Path, from: &Receiver<Captured>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let application = concat!("farspan ", env!("CARGO_PKG_VERSION"));
    let out = BufWriter::new(NewFile::at(path)?);
    let mut writer = PcapngWriter::raw(out, application, comment, &interfaces(spec))?;
    for Captured { at, port, bytes, remarks } in from {
        writer.raw_packet(at, port, &bytes, &remarks)?;
    }
    writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}
