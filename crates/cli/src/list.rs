//! `farspan list`.

use crate::args::ListArgs;
use crate::format::Table;
use crate::{Failure, output};
use farspan_ledger::items;

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
