//! `farspan list`.

use crate::Failure;
use clap::Args;
#[cfg(feature = "ledger")]
use farspan_ledger::items;
use farspan_scenario::catalog::{Item, KINDS};
use farspan_terminal::format::Table;
use farspan_terminal::output;

/// Arguments of `list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// schemes, congestion, balance, coding, queues, topologies, workloads, scenarios or figures. Without it, the kinds are listed
    pub kind: Option<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// The kind of list that has the figures.
const FIGURES: &str = "figures";
/// Columns of a terminal that a list fits into.
const WIDTH: usize = 110;
/// The most columns of a source whose words are no longer.
const SOURCE: usize = 32;
/// Between two columns.
const GAP: usize = 2;

/// Lists everything of a kind; without one, the kinds.
pub fn list(args: &ListArgs) -> Result<(), Failure> {
    let listed = match &args.kind {
        Some(kind) => items(kind).map_err(Failure::BadInput)?,
        None => kinds(),
    };
    if args.json {
        output::json(&listed);
        return Ok(());
    }
    output::text(&if listed.is_empty() { "none in this release\n".to_owned() } else { text(&listed) });
    Ok(())
}

/// Everything of a kind.
#[cfg(not(feature = "ledger"))]
fn items(kind: &str) -> Result<Vec<Item>, String> {
    use farspan_scenario::{catalog::catalog, unknown_name};
    let missing = || match kind {
        FIGURES => "the figures of papers are not in this build: run `make release` in a checkout of farspan"
            .to_owned(),
        _ => unknown_name("kind of list", kind, KINDS, &[]),
    };
    catalog(kind).ok_or_else(missing)
}

/// The kinds of lists, and what is in each.
fn kinds() -> Vec<Item> {
    let what = |kind: &str| match kind {
        "schemes" => "congestion control with path selection, recovery, coding and settings of ports",
        "congestion" => "congestion controls, a part of schemes",
        "balance" => "path selectors, a part of schemes",
        "coding" => "erasure codes, a part of schemes",
        "queues" => "markers, overflow rules and buffers, the parts of a port",
        "topologies" => "kinds of networks",
        "workloads" => "kinds of traffic, mixes and distributions of sizes",
        "scenarios" => "built-in scenarios, for run, check and sweep",
        FIGURES => "figures of papers, for reproduce",
        _ => unreachable!("every kind says what it is"),
    };
    let figures = if cfg!(feature = "ledger") { &[FIGURES][..] } else { &[] };
    let item = |kind: &&str| Item {
        name: (*kind).to_owned(),
        summary: what(kind).to_owned(),
        source: String::new(),
        available: true,
    };
    KINDS.iter().chain(figures).map(item).collect()
}

/// A table that fits into a terminal: what is too long goes on in the next line.
fn text(items: &[Item]) -> String {
    let has_source = items.iter().any(|item| !item.source.is_empty());
    let mut table = Table::new(["name", "what", "source"].into_iter().take(if has_source { 3 } else { 2 }));
    let longest =
        |column: fn(&Item) -> &str| items.iter().map(|item| column(item).chars().count()).max().unwrap_or(0);
    let words = items.iter().flat_map(|item| item.source.split_whitespace());
    let word = words.map(|word| word.chars().count()).max().unwrap_or(0);
    let source = longest(|item| &item.source).min(SOURCE.max(word));
    let apart = GAP + if has_source { source + GAP } else { 0 };
    let what = WIDTH.saturating_sub(longest(|item| &item.name) + apart);
    for item in items {
        let later = if item.available { "" } else { " (a later release)" };
        let columns = [lines(&format!("{}{later}", item.summary), what), lines(&item.source, source)];
        for n in 0..columns[0].len().max(columns[1].len()).max(1) {
            let name = if n == 0 { item.name.as_str() } else { "" };
            let [what, source] = columns.each_ref().map(|lines| lines.get(n).map_or("", String::as_str));
            table.row([name, what, source].into_iter().take(if has_source { 3 } else { 2 }));
        }
    }
    table.render(&[1, 2])
}

/// A text in lines of so many characters, if no word is longer.
fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_fits_into_a_terminal_and_loses_no_word() {
        for kind in kinds() {
            assert!(!kind.summary.is_empty(), "{kind:?}");
            let items = items(&kind.name).unwrap();
            let text = text(&items);
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= WIDTH, "{}: {longest}\n{text}", kind.name);
            let words = |text: &str| text.split_whitespace().count();
            let said = |item: &Item| words(&item.name) + words(&item.summary) + words(&item.source);
            let later = 3 * items.iter().filter(|item| !item.available).count();
            let heading = words(text.lines().next().unwrap());
            assert_eq!(
                words(&text),
                heading + later + items.iter().map(said).sum::<usize>(),
                "{}",
                kind.name
            );
        }
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("incomprehensibilities", 5), ["incomprehensibilities"]);
        assert_eq!(lines("", 5), [""; 0]);
    }
}
