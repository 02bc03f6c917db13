//! `farspan new`.

mod control;

use crate::Failure;
use clap::Args;
use farspan_scenario::{STARTER, TOPOLOGY_STARTER};
use farspan_terminal::output;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

/// Arguments of `new`.
#[derive(Args, Debug)]
pub struct NewArgs {
    /// The file to write, which must not exist, or the folder of a crate, which must be empty; default: scenario.toml,
    /// topology.toml, or the control's name
    pub file: Option<PathBuf>,
    /// Another way to name it
    #[arg(short, long, alias = "out", value_name = "FILE", conflicts_with = "file")]
    pub output: Option<PathBuf>,
    /// A topology file instead of a scenario
    #[arg(long)]
    pub topology: bool,
    /// The crate of a congestion control with this name, its tests, and the whole command with it
    #[arg(long, value_name = "NAME", conflicts_with = "topology")]
    pub control: Option<String>,
    /// The checkout of farspan whose crates the control's crate is built on; default: the one that this program was built
    /// from, or that the current folder is in
    #[arg(long, value_name = "DIR", requires = "control")]
    pub farspan: Option<PathBuf>,
}

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
