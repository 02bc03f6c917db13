//! `farspan schema`.

use crate::args::SchemaArgs;
use farspan_terminal::output;

/// Prints every key.
pub fn schema(args: &SchemaArgs) {
    if args.topology {
        output::json(&farspan_scenario::topology::schema());
    } else {
        output::json(&farspan_scenario::schema());
    }
}
