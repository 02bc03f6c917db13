//! Rows that wait for others: from columns to triggers, and back.

use super::{ListError, Place, Placed, Row};
use crate::trigger::{Stuck, stuck};
use crate::{Rule, Trigger};
use farspan_units::Duration;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The expected content of a column of row numbers.
pub(super) const ROWS: &str = "row numbers, separated by spaces";

/// Number of rows of a cycle that a message names.
const NAMED: usize = 10;

/// The numbers of a field; `None` if there is something else in it.
pub(super) fn row_numbers(field: &str) -> Option<Vec<u64>> {
    field.split_whitespace().map(|number| number.parse().ok()).collect()
}

/// The triggers that the rows describe, in the order of the rows that they start.
pub(super) fn triggers(rows: &[Placed], file: &str, part: u32) -> Result<Vec<Trigger>, ListError> {
    let mut triggers: Vec<Trigger> = Vec::new();
    let mut groups: BTreeMap<(Rule, &str), usize> = BTreeMap::new();
    for (number, (place, row)) in rows.iter().enumerate() {
        let group = group(*place, row, file)?;
        if group.is_none() && row.after.is_empty() && row.after_delivered.is_empty() {
            continue;
        }
        let fresh = triggers.len();
        let index = group.map_or(fresh, |group| *groups.entry(group).or_insert(fresh));
        if index == fresh {
            let rule = group.map_or(Rule::All, |group| group.0);
            let none = Vec::new;
            triggers.push(Trigger {
                part,
                rule,
                started: none(),
                finished: none(),
                delivered: none(),
                targets: none(),
                pause: Duration::ZERO,
            });
        }
        let trigger = &mut triggers[index];
        trigger.targets.push(number as u32);
        // A row of a queue may feed the queue itself.
        let not = (trigger.rule == Rule::All).then_some(number as u64);
        let check = |column, named: &[u64]| numbers(*place, file, column, named, not, rows.len());
        trigger.finished.extend(check("after", &row.after)?);
        trigger.delivered.extend(check("after_delivered", &row.after_delivered)?);
    }
    for trigger in &mut triggers {
        for ends in [&mut trigger.finished, &mut trigger.delivered] {
            ends.sort_unstable();
            ends.dedup();
        }
    }
    match stuck(rows.len(), &triggers) {
        None => Ok(triggers),
        Some(stuck) => Err(error(stuck, rows, file)),
    }
}

fn group<'a>(place: Place, row: &'a Row, file: &str) -> Result<Option<(Rule, &'a str)>, ListError> {
    match (&row.barrier, &row.queue) {
        (Some(_), Some(_)) => Err(ListError::TwoGroups { place: place.of(file) }),
        (Some(name), None) => Ok(Some((Rule::All, name))),
        (None, Some(name)) => Ok(Some((Rule::Next, name))),
        (None, None) => Ok(None),
    }
}

fn numbers(
    place: Place,
    file: &str,
    column: &'static str,
    named: &[u64],
    not: Option<u64>,
    rows: usize,
) -> Result<Vec<u32>, ListError> {
    let number = |&row: &u64| match u32::try_from(row) {
        Ok(number) if (number as usize) < rows && Some(row) != not => Ok(number),
        _ => Err(ListError::NoSuchRow { place: place.of(file), column, row, last: rows as u64 - 1 }),
    };
    named.iter().map(number).collect()
}

fn error(stuck: Stuck, rows: &[Placed], file: &str) -> ListError {
    match stuck {
        Stuck::Cycle(cycle) => ListError::Cycle { place: rows[cycle[0] as usize].0.of(file), rows: cycle },
        Stuck::Starved { flow, place: number, needed } => {
            let (place, row) = &rows[flow as usize];
            let group = if row.queue.is_some() { "queue" } else { "barrier" };
            ListError::Starved { place: place.of(file), group, number, needed }
        }
    }
}

/// Names the rows of a cycle.
pub(super) fn cycle(rows: &[u32]) -> String {
    if let [row] = rows {
        return format!("row {row} waits for itself");
    }
    let mut text = String::from("rows ");
    for (i, row) in rows.iter().take(NAMED).enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{row}");
    }
    if rows.len() > NAMED {
        let _ = write!(text, " and {} more", rows.len() - NAMED);
    }
    text + " wait for each other in a cycle"
}

/// Writes into rows what a trigger makes them wait for; `name` is that of its barrier or queue. The trigger names flows by
/// their row.
pub fn describe(rows: &mut [Row], trigger: &Trigger, name: &str) {
    let wide = |flows: &[u32]| flows.iter().map(|flow| u64::from(*flow)).collect::<Vec<_>>();
    // Rows that all wait for one end need no barrier, and a row that alone waits for all ends needs no group.
    let alone = trigger.needed() == 1 || trigger.rule == Rule::All;
    let (repeated, named) = match trigger.targets.len() {
        1 => (1, !alone),
        all if trigger.rule == Rule::All && trigger.needed() == 1 => (all, false),
        _ => (1, true),
    };
    for (i, target) in trigger.targets.iter().enumerate() {
        let row = &mut rows[*target as usize];
        if i < repeated {
            (row.after, row.after_delivered) = (wide(&trigger.finished), wide(&trigger.delivered));
        }
        if named {
            let group = if trigger.rule == Rule::All { &mut row.barrier } else { &mut row.queue };
            *group = Some(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn placed(rows: Vec<Row>) -> Vec<Placed> {
        rows.into_iter().zip(0..).map(|(row, number)| (Place::Row(number), row)).collect()
    }

    #[test]
    fn rows_of_a_group_share_what_they_name() {
        let row = |after: &[u64], delivered: &[u64], barrier: Option<&str>, queue: Option<&str>| Row {
            after: after.to_vec(),
            after_delivered: delivered.to_vec(),
            barrier: barrier.map(str::to_owned),
            queue: queue.map(str::to_owned),
            ..Row::default()
        };
        let rows = placed(vec![
            row(&[], &[], None, None),
            row(&[0], &[], Some("x"), None),
            row(&[0], &[], None, Some("x")),
            row(&[], &[0], Some("x"), None),
            row(&[3, 1, 3], &[], None, Some("x")),
            row(&[1], &[1], None, None),
        ]);
        let found = triggers(&rows, "f", 4).unwrap();
        let trigger = |rule, finished: &[u32], delivered: &[u32], targets: &[u32]| {
            let (finished, delivered, targets) = (finished.to_vec(), delivered.to_vec(), targets.to_vec());
            Trigger { part: 4, rule, started: vec![], finished, delivered, targets, pause: Duration::ZERO }
        };
        let expected = [
            trigger(Rule::All, &[0], &[0], &[1, 3]),
            trigger(Rule::Next, &[0, 1, 3], &[], &[2, 4]),
            trigger(Rule::All, &[1], &[1], &[5]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_long_cycle_is_not_named_in_full() {
        let rows: Vec<u32> = (0..12).collect();
        assert_eq!(
            cycle(&rows),
            "rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more wait for each other in a cycle"
        );
    }

    /// Triggers over 40 rows: the first 20 wait for nothing and feed, the others are started.
    fn any_triggers() -> impl Strategy<Value = Vec<Trigger>> {
        let ends = || prop::collection::btree_set(0_u32..20, 0..4);
        prop::collection::vec((any::<bool>(), ends(), ends(), 1_usize..4), 1..6).prop_map(|drawn| {
            let mut next = 20;
            let trigger = |(queue, finished, delivered, targets): (bool, _, _, usize)| {
                let rule = if queue { Rule::Next } else { Rule::All };
                let (finished, delivered) = (Vec::from_iter(finished), Vec::from_iter(delivered));
                let mut trigger = Trigger {
                    part: 0,
                    rule,
                    started: Vec::new(),
                    finished,
                    delivered,
                    targets: Vec::new(),
                    pause: Duration::ZERO,
                };
                let count = if queue { targets.min(trigger.needed()) } else { targets };
                trigger.targets = (next..next + count as u32).collect();
                next += count as u32;
                trigger
            };
            let all = drawn.into_iter().map(trigger);
            all.filter(|trigger| trigger.needed() > 0 && !trigger.targets.is_empty()).collect()
        })
    }

    proptest! {
        #[test]
        fn what_is_described_in_rows_is_read_back(drawn in any_triggers()) {
            let mut rows = vec![Row::default(); 40];
            for (i, trigger) in drawn.iter().enumerate() {
                describe(&mut rows, trigger, &i.to_string());
            }
            let read = triggers(&placed(rows), "f", 0).unwrap();
            // Rows that wait for the same single end come back one by one: that is the same.
            let split = |trigger: Trigger| {
                let single = trigger.needed() == 1;
                let count = if single && trigger.rule == Rule::All { trigger.targets.len() } else { 1 };
                let one = |i: usize| if count == 1 { trigger.clone() } else { Trigger { targets: vec![trigger.targets[i]], ..trigger.clone() } };
                let all: Vec<_> = (0..count).map(one).collect();
                all.into_iter().map(|t| if t.needed() == 1 && t.targets.len() == 1 { Trigger { rule: Rule::All, ..t } } else { t })
            };
            prop_assert_eq!(read, drawn.into_iter().flat_map(split).collect::<Vec<_>>());
        }
    }
}
