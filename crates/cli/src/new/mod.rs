//! `farspan new`.

mod control;

use crate::Failure;
use crate::args::NewArgs;
use farspan_scenario::{STARTER, TOPOLOGY_STARTER};
use farspan_terminal::output;
use std::io::ErrorKind;
use std::path::Path;

/// Writes a starter to a file that does not exist yet, or the crate of a control.
pub fn new(args: &NewArgs) -> Result<(), Failure> {
    let asked = args.file.as_deref().or(args.output.as_deref());
    if let Some(name) = &args.control {
        return control::control(name, asked, args.farspan.as_deref());
    }
    let (text, name) = match args.topology {
        true => (TOPOLOGY_STARTER, "topology.toml"),
        false => (STARTER, "scenario.toml"),
    };
    let path = asked.unwrap_or(Path::new(name));
    let file = path.display();
    farspan_files::create(path, text.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::BadInput(format!("{file}: exists; give another name, or remove it"))
        }
        ErrorKind::StorageFull => {
            Failure::Failed(format!("{file}: the disk is full; make room, or give another folder"))
        }
        _ => Failure::BadInput(format!("{file}: cannot be written ({error}); give another name")),
    })?;
    let next = match args.topology {
        true => format!("a scenario with kind = \"from_file\" and file = \"{file}\" under [topology]"),
        false => format!("farspan check {file}"),
    };
    output::text(&format!("wrote {file}; next: {next}\n"));
    Ok(())
}
