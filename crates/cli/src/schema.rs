//! `farspan schema`.

use clap::Args;
use farspan_terminal::output;

/// Arguments of `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Print the JSON Schema of topology files
    #[arg(long)]
    pub topology: bool,
}

/// Prints every key.
pub fn schema(args: &SchemaArgs) {
    if args.topology {
        output::json(&farspan_scenario::topology::schema());
    } else {
        output::json(&farspan_scenario::schema());
    }
}
