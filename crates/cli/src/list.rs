//! `farspan list`.

use crate::args::ListArgs;
use crate::format::Table;
use crate::{Failure, output};
use farspan_scenario::catalog::{Item, catalog};

/// Everything of a kind, as `farspan list` has it.
///
/// # Errors
/// If there is no such kind: the message names the nearest.
pub fn items(kind: &str) -> Result<Vec<Item>, String> {
    if kind != "figures" {
        return catalog(kind);
    }
    let item = |figure: farspan_ledger::Figure| Item {
        name: figure.name,
        summary: figure.title,
        source: figure.place,
        available: true,
    };
    Ok(farspan_ledger::figures().map_err(|error| error.to_string())?.into_iter().map(item).collect())
}

/// Lists everything of a kind.
pub fn list(args: &ListArgs) -> Result<(), Failure> {
    let items = items(&args.kind).map_err(Failure::BadInput)?;
    if args.json {
        output::json(&items);
        return Ok(());
    }
    let mut table = Table::new(["name", "what", "source"]);
    for item in &items {
        let later = if item.available { "" } else { " (a later release)" };
        table.row([item.name.as_str(), &format!("{}{later}", item.summary), &item.source]);
    }
    output::text(&if items.is_empty() { "none in this release\n".to_owned() } else { table.render(&[1, 2]) });
    Ok(())
}
