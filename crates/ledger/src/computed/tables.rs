//! A run's tables, as far as measures are computed from them.

use farspan_metrics::{FlowRow, ReadError, read_flows, read_series};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The samples of one id, in order of time: nanoseconds and value.
pub(crate) type Samples = Vec<(i64, f64)>;

/// The parts of a run's folder that measures are computed from.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Tables {
    /// The flows by id.
    pub(crate) flows: Vec<FlowRow>,
    /// The samples by probe, then by id.
    pub(crate) series: BTreeMap<String, BTreeMap<String, Samples>>,
    /// The busiest port, if one was sampled.
    pub(crate) bottleneck: Option<String>,
}

impl Tables {
    /// The flows of a run, and the samples of these probes.
    ///
    /// # Errors
    /// If a table is missing or damaged.
    pub(crate) fn read(
        folder: &Path,
        document: &Value,
        probes: &BTreeSet<&'static str>,
    ) -> Result<Self, ReadError> {
        let mut tables = Self {
            flows: read_flows(&folder.join("flows.parquet"))?,
            bottleneck: document.pointer("/queues/bottleneck").and_then(Value::as_str).map(str::to_owned),
            ..Self::default()
        };
        if !probes.is_empty() {
            read_series(&folder.join("series.parquet"), &mut |row| {
                if probes.contains(row.probe) {
                    tables.put(row.probe, row.id, (row.t_ns, row.value));
                }
            })?;
        }
        Ok(tables)
    }

    /// Adds a sample, later than those of its id before.
    pub(crate) fn put(&mut self, probe: &str, id: &str, sample: (i64, f64)) {
        if let Some(samples) = self.series.get_mut(probe).and_then(|ids| ids.get_mut(id)) {
            samples.push(sample);
            return;
        }
        self.series.entry(probe.to_owned()).or_default().insert(id.to_owned(), vec![sample]);
    }

    /// The flows of a tag.
    pub(crate) fn tagged<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a FlowRow> {
        self.flows.iter().filter(move |flow| &*flow.tag == tag)
    }
}
