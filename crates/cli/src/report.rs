//! `farspan report`, and the report that a run with `--out` leaves.

use crate::Failure;
use clap::Args;
use farspan_report::{ReportError, write_report};
use farspan_terminal::output;
use std::path::Path;
use std::path::PathBuf;

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A folder written by `farspan run --out`, or a folder that contains such folders
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The page to write [default: report.html in the folder]
    #[arg(short, long, alias = "out", value_name = "FILE.html")]
    pub output: Option<PathBuf>,
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Write { .. } => Self::Failed(error.to_string()),
            _ => Self::BadInput(error.to_string()),
        }
    }
}

/// Makes the page of a folder of results.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let path = write_report(&args.folder, args.output.as_deref())?;
    output::text(&format!("wrote {}\n", path.display()));
    Ok(())
}

/// Puts `report.html` into the folder of a run that has just ended: what cannot be read back here failed while running.
pub fn beside(folder: &Path) -> Result<(), Failure> {
    write_report(folder, None).map(drop).map_err(|error| Failure::Failed(error.to_string()))
}
