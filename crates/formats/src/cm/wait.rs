//! From htsim's triggers to ours.

use super::parse::{Connection, Kind, Parsed};
use super::{CmError, Problem};
use farspan_units::Duration;
use farspan_workload::{Rule, Stuck, Trigger, stuck};
use std::collections::BTreeMap;

/// One of a trigger's lists of flows.
type List = fn(&mut Trigger) -> &mut Vec<u32>;

/// The triggers that start flows, by id. Flows are named by their row.
pub(super) fn triggers(file: &str, parsed: &Parsed) -> Result<BTreeMap<u64, Trigger>, CmError> {
    let mut triggers: BTreeMap<u64, Trigger> =
        parsed.triggers.iter().map(|(id, (_, kind))| (*id, empty(*kind))).collect();
    for (row, connection) in (0..).zip(&parsed.connections) {
        let named: [(_, _, List); 3] = [
            ("trigger", connection.trigger, |trigger| &mut trigger.targets),
            ("send_done_trigger", connection.send_done, |trigger| &mut trigger.finished),
            ("recv_done_trigger", connection.recv_done, |trigger| &mut trigger.delivered),
        ];
        for (keyword, id, list) in named {
            let Some(id) = id else { continue };
            let missing = || Problem::NoSuchTrigger { keyword, id }.at(file, Some(connection.line));
            list(triggers.get_mut(&id).ok_or_else(missing)?).push(row);
        }
    }
    for (id, trigger) in &triggers {
        let (line, kind) = parsed.triggers[id];
        activations(*id, kind, trigger, &parsed.connections)
            .map_err(|(flow, problem)| problem.at(file, Some(flow.unwrap_or(line))))?;
    }
    triggers.retain(|_, trigger| !trigger.targets.is_empty());
    let all: Vec<_> = triggers.values().cloned().collect();
    match stuck(parsed.connections.len(), &all) {
        None => Ok(triggers),
        Some(stuck) => Err(error(file, parsed, stuck)),
    }
}

const fn empty(kind: Kind) -> Trigger {
    let rule = match kind {
        Kind::Oneshot | Kind::Barrier(_) => Rule::All,
        Kind::Multishot => Rule::Next,
    };
    Trigger {
        part: 0,
        rule,
        started: Vec::new(),
        finished: Vec::new(),
        delivered: Vec::new(),
        targets: Vec::new(),
        pause: Duration::ZERO,
    }
}

/// Whether the flows that activate a trigger are as many as it takes; an error has the line of the flow concerned.
fn activations(
    id: u64,
    kind: Kind,
    trigger: &Trigger,
    connections: &[Connection],
) -> Result<(), (Option<u64>, Problem)> {
    let found = trigger.needed() as u64;
    let (kind, allowed, cure) = match kind {
        Kind::Oneshot => ("oneshot", 1, "make it \"barrier count N\" to wait for all of them, or multishot"),
        Kind::Barrier(count) => ("barrier", count, "correct its count, or take it from some of the flows"),
        Kind::Multishot => return Ok(()),
    };
    if found > allowed {
        return Err((None, Problem::Activations { id, kind, allowed, found, cure }));
    }
    match trigger.targets.first() {
        Some(flow) if found < allowed => {
            let line = connections[*flow as usize].line;
            Err((Some(line), Problem::NeverStarts { id, needed: allowed, found }))
        }
        _ => Ok(()),
    }
}

fn error(file: &str, parsed: &Parsed, stuck: Stuck) -> CmError {
    let connection = |flow: u32| &parsed.connections[flow as usize];
    match stuck {
        Stuck::Cycle(cycle) => {
            let lines: Vec<_> = cycle.iter().map(|flow| connection(*flow).line).collect();
            let line = lines[0];
            Problem::Cycle { lines }.at(file, Some(line))
        }
        Stuck::Starved { flow, place, needed } => {
            let Connection { line, trigger, .. } = connection(flow);
            let id = trigger.unwrap_or_default();
            Problem::NeverStarts { id, needed: place as u64, found: needed as u64 }.at(file, Some(*line))
        }
    }
}
