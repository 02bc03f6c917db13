//! Traces as files: qlog for flows, pcapng for ports.

use super::SaveError;
use crate::assemble::World;
use farspan_files::NewFile;
use farspan_scenario::Resolved;
use farspan_sim::{Outcome, Traced};
use farspan_trace::{End, FlowEvent, pcapng, qlog};
use farspan_transport::coding::Layout;
use farspan_units::{Bytes, FlowId};
use std::io::{self, BufWriter};
use std::path::Path;

/// The traces of a run, and the description of the run in their files.
#[derive(Clone, PartialEq, Debug)]
pub struct Traces {
    /// Scenario, scheme, profile, seed.
    description: String,
    partial: bool,
    mss: Bytes,
    /// The traced flows, and how their packets make blocks.
    flows: Vec<(FlowId, Option<Layout>)>,
    /// The traced ports.
    ports: Vec<pcapng::Interface>,
    /// The events of the traced flows and ports.
    pub events: Traced,
}

impl Traces {
    pub(super) fn of(resolved: &Resolved, world: &World, outcome: &mut Outcome) -> Self {
        let spec = &world.spec;
        let flow = |&id: &FlowId| {
            let flow = &world.workload.flows[id.index()];
            let shape = spec.scheme(world.class(flow)).coding.shape();
            (id, shape.and_then(|shape| Layout::of_message(flow.size, spec.mss, shape)))
        };
        let port = |&port: &farspan_units::PortId| pcapng::Interface {
            port,
            name: spec.network.port_name(port),
            rate: spec.network.links[port.index()].rate,
        };
        let scheme = world.scheme_name(resolved.scheme());
        let (name, profile) = (resolved.name(), resolved.profile().name());
        Self {
            description: format!("{name}, scheme {scheme}, profile {profile}, seed {}", resolved.seed()),
            partial: outcome.interrupted,
            mss: spec.mss,
            flows: outcome.trace.of.iter().map(flow).collect(),
            ports: spec.trace.ports.iter().map(port).collect(),
            events: std::mem::take(&mut outcome.trace),
        }
    }

    /// Writes `trace/flow-N.sqlog` (the sender's end), `trace/flow-N-receiver.sqlog` and `trace/ports.pcapng` into a folder;
    /// nothing if nothing was traced.
    pub(super) fn save(&self, folder: &Path) -> Result<(), SaveError> {
        let folder = folder.join("trace");
        if self.flows.is_empty() && self.ports.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(&folder).map_err(|source| SaveError::Io { path: folder.clone(), source })?;
        let mut events = self.events.flows.as_slice();
        for &(flow, layout) in &self.flows {
            for (end, suffix) in [(End::Sender, ""), (End::Receiver, "-receiver")] {
                // Events stand in this order.
                let count = events.partition_point(|event| (event.flow, event.end) <= (flow, end));
                let (own, rest) = events.split_at(count);
                events = rest;
                let path = folder.join(format!("flow-{flow}{suffix}.sqlog"));
                write(&path, |out| self.write_flow(out, (flow, end, layout), own))?;
            }
        }
        if self.ports.is_empty() {
            return Ok(());
        }
        write(&folder.join("ports.pcapng"), |out| self.write_ports(out))
    }

    fn write_flow(
        &self,
        out: BufWriter<NewFile>,
        (flow, end, layout): (FlowId, End, Option<Layout>),
        events: &[FlowEvent],
    ) -> io::Result<BufWriter<NewFile>> {
        let head = qlog::Head { flow, end, description: &self.description, partial: self.partial };
        let mut writer = qlog::QlogWriter::new(out, &head, self.mss, layout)?;
        events.iter().try_for_each(|event| writer.event(event))?;
        writer.finish()
    }

    fn write_ports(&self, out: BufWriter<NewFile>) -> io::Result<BufWriter<NewFile>> {
        let application = concat!("farspan ", env!("CARGO_PKG_VERSION"));
        let partial = if self.partial { " (interrupted)" } else { "" };
        let comment = format!("{}{partial}", self.description);
        let mut writer = pcapng::PcapngWriter::new(out, application, &comment, &self.ports)?;
        self.events.packets.iter().try_for_each(|event| writer.packet(event))?;
        writer.finish()
    }
}

/// Writes a file that is complete once it has its name.
fn write(
    path: &Path,
    content: impl FnOnce(BufWriter<NewFile>) -> io::Result<BufWriter<NewFile>>,
) -> Result<(), SaveError> {
    let written = NewFile::at(path).and_then(|file| content(BufWriter::new(file)));
    let finished = written.and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error)?.finish());
    finished.map_err(|source| SaveError::Io { path: path.to_owned(), source })
}
