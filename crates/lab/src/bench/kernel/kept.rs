//! Runs that are kept, and what they say.

use super::cells::{Cell, Measure};
use crate::failure::Failure;
use farspan_metrics::median;
use serde::{Deserialize, Serialize};
use serde_json::to_string;
use std::collections::BTreeMap;
use std::path::Path;

/// The numbers of a run, by name.
pub(super) type Numbers = BTreeMap<String, f64>;

/// The runs of a cell.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Runs {
    pub(super) kernel: Vec<Numbers>,
    pub(super) simulated: Vec<Numbers>,
    /// Why runs of the kernel did not count, a text each.
    pub(super) void: Vec<String>,
}

/// The runs of all cells, by name.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Kept(BTreeMap<String, Runs>);

impl Kept {
    /// Those of a file; none where there is no file yet.
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text = match std::fs::read_to_string(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text.map_err(|error| Failure::BadInput(format!("{}: {error}", file.display())))?,
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::BadInput(format!("{}: no runs that `bench kernel` kept ({error})", file.display()))
        })
    }

    /// Writes them, a cell a line. A reader sees the old ones or the new ones.
    pub(super) fn write(&self, file: &Path) -> Result<(), Failure> {
        let json = |cell: &String, runs: &Runs| Ok(format!("{}: {}", to_string(cell)?, to_string(runs)?));
        let cells =
            self.0.iter().map(|(cell, runs)| json(cell, runs)).collect::<serde_json::Result<Vec<_>>>();
        let text = format!("{{\n{}\n}}\n", cells.expect("runs have a JSON form").join(",\n"));
        farspan_files::write(file, text.as_bytes())
            .map_err(|error| Failure::Failed(format!("{}: cannot be written ({error})", file.display())))
    }

    pub(super) fn of(&mut self, cell: &Cell) -> &mut Runs {
        self.0.entry(cell.key.clone()).or_default()
    }

    /// Whether a cell has so many runs on both clocks.
    pub(super) fn is_whole(&self, cell: &Cell, least: usize) -> bool {
        let runs = self.0.get(&cell.key);
        runs.is_some_and(|runs| runs.kernel.len() >= least && runs.simulated.len() >= least)
    }

    /// The cells that were begun and have less than so many runs.
    pub(super) fn unfinished(&self, cells: &[Cell], least: usize) -> Vec<Unfinished> {
        let begun = cells.iter().filter_map(|cell| Some((cell, self.0.get(&cell.key)?)));
        let few = begun
            .filter(|(cell, runs)| !self.is_whole(cell, least) && runs.kernel.len() + runs.void.len() > 0);
        let unfinished = |(cell, runs): (&Cell, &Runs)| Unfinished {
            cell: cell.key.clone(),
            runs: runs.kernel.len(),
            void: runs.void.len(),
        };
        few.map(unfinished).collect()
    }

    /// The cells that have so many runs, judged.
    pub(super) fn judged(&self, cells: &[Cell], least: usize) -> Vec<Judged> {
        let runs = |cell: &Cell| self.0.get(&cell.key).filter(|_| self.is_whole(cell, least.max(1))).cloned();
        let known = cells.iter().filter_map(|cell| Some((cell, runs(cell)?)));
        known
            .flat_map(|(cell, runs)| {
                cell.measures().iter().filter_map(move |&measure| Judged::of(cell, measure, &runs))
            })
            .collect()
    }
}

/// A cell that was begun and has too few runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Unfinished {
    /// Its name.
    pub(super) cell: String,
    /// Runs of the kernel that count.
    pub(super) runs: usize,
    /// Runs that did not.
    pub(super) void: usize,
}

/// A number of a cell on both clocks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Judged {
    pub(super) control: &'static str,
    /// The name of the cell behind that of its control.
    pub(super) cell: String,
    pub(super) measure: &'static str,
    pub(super) unit: &'static str,
    /// Digits behind the point that are worth showing.
    pub(super) digits: usize,
    pub(super) kernel_low: f64,
    pub(super) kernel_median: f64,
    pub(super) kernel_high: f64,
    pub(super) simulated_median: f64,
    /// Whether the simulator is within the band of the measure around the kernel's median, or in the kernel's own range.
    pub(super) agrees: bool,
    /// Runs of the kernel that count.
    pub(super) runs: usize,
    /// Runs that did not.
    pub(super) void: usize,
}

impl Judged {
    fn of(cell: &Cell, measure: Measure, runs: &Runs) -> Option<Self> {
        let (name, word, unit, digits) = measure.words();
        let sorted = |runs: &[Numbers]| {
            let mut values: Vec<f64> = runs.iter().filter_map(|run| run.get(name).copied()).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (kernel, simulated) = (sorted(&runs.kernel), sorted(&runs.simulated));
        let (low, high) = (*kernel.first()?, *kernel.last()?);
        simulated.first()?;
        let (median, ours) = (median(&kernel), median(&simulated));
        let agrees = (ours - median).abs() <= measure.band(median) || (low..=high).contains(&ours);
        Some(Self {
            control: cell.control.name,
            cell: cell.key[cell.control.name.len()..].trim_start().to_owned(),
            measure: word,
            unit,
            digits,
            kernel_low: low,
            kernel_median: median,
            kernel_high: high,
            simulated_median: ours,
            agrees,
            runs: runs.kernel.len(),
            void: runs.void.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::all;
    use super::*;

    fn run(mbps: f64, wait_ms: f64) -> Numbers {
        Numbers::from([("mbps".to_owned(), mbps), ("wait_ms".to_owned(), wait_ms)])
    }

    #[test]
    fn a_cell_agrees_within_its_band_or_inside_the_kernel_s_own_range() {
        let cells = all();
        let judged = |kernel: &[f64], ours: f64, wait: f64| {
            let mut kept = Kept::default();
            let kernel = kernel.iter().map(|mbps| run(*mbps, 10.0)).collect();
            *kept.of(&cells[0]) = Runs { kernel, simulated: vec![run(ours, wait)], void: vec![] };
            let judged = kept.judged(&cells, 1);
            assert_eq!((judged.len(), judged[0].cell.as_str()), (2, "steady 0.1 0"));
            (judged[0].agrees, judged[1].agrees)
        };
        assert_eq!(judged(&[100.0, 100.0, 100.0], 104.9, 11.4), (true, true));
        assert_eq!(judged(&[100.0, 100.0, 100.0], 105.1, 11.6), (false, false));
        assert_eq!(judged(&[100.0, 100.0, 120.0], 119.0, 8.6), (true, true));
    }

    #[test]
    fn cells_with_too_few_runs_are_not_judged() {
        let cells = all();
        let mut kept = Kept::default();
        *kept.of(&cells[0]) =
            Runs { kernel: vec![run(1.0, 1.0)], simulated: vec![run(1.0, 1.0)], void: vec![] };
        assert_eq!((kept.judged(&cells, 2).len(), kept.judged(&cells, 1).len()), (0, 2));
        assert!(kept.is_whole(&cells[0], 1) && !kept.is_whole(&cells[0], 2) && !kept.is_whole(&cells[1], 0));
        kept.of(&cells[2]).kernel.push(run(1.0, 1.0));
        assert!(!kept.is_whole(&cells[2], 1), "the simulator has none");
        kept.of(&cells[2]).kernel.clear();
        let unfinished = [2, 1].map(|least| kept.unfinished(&cells, least));
        assert_eq!((unfinished[0][0].runs, unfinished[0].len(), unfinished[1].len()), (1, 1, 0));
    }

    #[test]
    fn kept_runs_come_back_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept.json");
        assert_eq!(Kept::read(&file).unwrap(), Kept::default());
        let mut kept = Kept::default();
        kept.of(&all()[3]).void.push("late".to_owned());
        kept.write(&file).unwrap();
        assert_eq!(Kept::read(&file).unwrap(), kept);
        std::fs::write(&file, "{\"cubic\": 3}").unwrap();
        assert!(Kept::read(&file).is_err());
    }
}
