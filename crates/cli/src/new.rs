//! `farspan new`.

use crate::args::NewArgs;
use crate::{Failure, output};
use farspan_scenario::STARTER;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

/// Writes the starter scenario to a file that does not exist yet.
pub fn new(args: &NewArgs) -> Result<(), Failure> {
    let file = args.file.display();
    let opened = OpenOptions::new().write(true).create_new(true).open(&args.file);
    let mut opened = opened.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::BadInput(format!("{file}: exists; give another name, or remove it"))
        }
        _ => Failure::BadInput(format!("{file}: cannot be written ({error}); give another name")),
    })?;
    opened.write_all(STARTER.as_bytes()).map_err(|error| Failure::Failed(format!("{file}: {error}")))?;
    output::text(&format!("wrote {file}; next: farspan check {file}\n"));
    Ok(())
}
