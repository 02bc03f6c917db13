//! `farspan import`.

use crate::args::{CmArgs, ImportArgs, ImportFormat, TopoArgs, unknown_format};
use crate::{Failure, output};
use farspan_scenario::import::cm;
use farspan_scenario::list;
use farspan_scenario::topology::htsim;

/// Turns another tool's workload into a flow list, or its topology into a topology file.
pub fn import(args: &ImportArgs) -> Result<(), Failure> {
    match &args.format {
        ImportFormat::Cm(args) => connection_matrix(args),
        ImportFormat::Topo(args) => topology(args),
        ImportFormat::Other(words) => Err(Failure::BadInput(unknown_format(words))),
    }
}

fn topology(args: &TopoArgs) -> Result<(), Failure> {
    let topology = htsim::read(&args.file).map_err(|error| Failure::BadInput(error.to_string()))?;
    for warning in &topology.warnings {
        eprintln!("farspan: warning: {warning}");
    }
    let text = topology.to_toml(&args.file.file_name().unwrap_or_default().to_string_lossy());
    let Some(out) = &args.output else {
        output::text(&text);
        return Ok(());
    };
    farspan_scenario::write(out, &text)?;
    output::text(&format!(
        "wrote {}: {} hosts, {} switches; next: a scenario with kind = \"from_file\" and this file under [topology]\n",
        out.display(),
        topology.hosts,
        topology.switches,
    ));
    Ok(())
}

fn connection_matrix(args: &CmArgs) -> Result<(), Failure> {
    let matrix =
        cm::read(&args.file, args.time_unit).map_err(|error| Failure::BadInput(error.to_string()))?;
    for warning in &matrix.warnings {
        eprintln!("farspan: warning: {warning}");
    }
    let Some(out) = &args.output else {
        output::text(&list::to_csv(&matrix.rows));
        return Ok(());
    };
    list::save(out, &matrix.rows).map_err(|error| Failure::Failed(error.to_string()))?;
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let hosts =
        matrix.hosts.map_or(String::new(), |hosts| format!(", for {}", count(hosts as usize, "host")));
    output::text(&format!(
        "wrote {}: {}, {}{hosts}; next: a scenario with kind = \"flows\" and this file\n",
        out.display(),
        count(matrix.rows.len(), "flow"),
        count(matrix.triggers, "trigger"),
    ));
    Ok(())
}
