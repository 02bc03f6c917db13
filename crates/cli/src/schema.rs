//! `farspan schema`.

use crate::args::SchemaArgs;
use crate::{Failure, output, reference};
use farspan_scenario::unknown_name;

/// Prints every key, or the constants of a component.
pub fn schema(args: &SchemaArgs) -> Result<(), Failure> {
    match &args.name {
        Some(name) => {
            let all: Vec<_> = reference::components().collect();
            let unknown =
                || Failure::BadInput(unknown_name("control, path selector or coding", name, &all, &[]));
            output::text(&reference::constants(name).ok_or_else(unknown)?);
        }
        None if args.markdown => output::text(&reference::reference()),
        None if args.topology => output::json(&farspan_scenario::topology::schema()),
        None => output::json(&farspan_scenario::schema()),
    }
    Ok(())
}
