//! `farspan import`.

use crate::args::{CmArgs, ImportArgs, ImportFormat, TopoArgs, unknown_format};
use crate::{Failure, output};
use farspan_scenario::import::cm;
use farspan_scenario::list;
use farspan_scenario::topology::htsim;
use std::path::Path;

/// Whose constants an imported scenario takes, where they differ by scenario.
const CONSTANTS: &str =
    "under --profile artifact, constants = \"uno/permutation\" at its head names those it takes";

/// Turns another tool's workload into a flow list, or its topology into a topology file.
pub fn import(args: &ImportArgs) -> Result<(), Failure> {
    match &args.format {
        ImportFormat::Cm(args) => connection_matrix(args),
        ImportFormat::Topo(args) => topology(args),
        ImportFormat::Other(words) => Err(Failure::BadInput(unknown_format(words))),
    }
}

fn topology(args: &TopoArgs) -> Result<(), Failure> {
    let wan = args.wan_delay.map(|delay| htsim::TwoSites {
        delay,
        links: args.wan_links,
        core_border_links: args.core_border_links,
    });
    let topology =
        htsim::read(&args.file, wan.as_ref()).map_err(|error| Failure::BadInput(error.to_string()))?;
    for warning in &topology.warnings {
        output::note(&format!("warning: {warning}"));
    }
    let text = topology.to_toml(&args.file.file_name().unwrap_or_default().to_string_lossy());
    let Some(out) = &args.output else {
        output::text(&text);
        return Ok(());
    };
    farspan_scenario::write(out, &text)?;
    output::text(&format!(
        "wrote {}: {} hosts, {} switches; next: a scenario with kind = \"from_file\" and this file under [topology]; {CONSTANTS}\n",
        out.display(),
        topology.hosts,
        topology.switches,
    ));
    Ok(())
}

/// Why a unit is needed, and which.
fn no_time_unit(file: &Path) -> String {
    format!(
        "--time-unit is missing: {} does not say in what unit its `start` is, and htsim's programs differ. Write\n  \
         --time-unit us   (microseconds) if it was made for htsim_uec or htsim_swift\n  \
         --time-unit ps   (picoseconds) if it was made for htsim_ndp, htsim_eqds, htsim_hpcc or htsim_roce, or comes from \
         htsim's generators (connection_matrices/*.py)",
        file.display()
    )
}

fn connection_matrix(args: &CmArgs) -> Result<(), Failure> {
    let unit = args.time_unit.ok_or_else(|| Failure::BadInput(no_time_unit(&args.file)))?;
    let matrix =
        cm::read(&args.file, unit, args.nodes).map_err(|error| Failure::BadInput(error.to_string()))?;
    for warning in &matrix.warnings {
        output::note(&format!("warning: {warning}"));
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
        "wrote {}: {}, {}{hosts}; next: a scenario with kind = \"flows\" and this file; {CONSTANTS}\n",
        out.display(),
        count(matrix.rows.len(), "flow"),
        count(matrix.triggers, "trigger"),
    ));
    Ok(())
}
